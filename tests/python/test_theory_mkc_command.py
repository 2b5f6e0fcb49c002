"""The command ``marqueue theory mkc``."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.errors import MarqueueError

MKC = ["theory", "mkc"]
FIGURE_3 = ["--law", "kelly", "--kappa", "0.1", "--omega", "5 Mbit/s"]
for capacity in (30, 20, 20, 15):
    FIGURE_3 += ["--capacity", f"{capacity} Mbit/s"]
FIGURE_3 += ["--route", "0,1", "--route", "1,2,3"]


def answer(*arguments: str) -> Any:
    done = CliRunner().invoke(app, [*MKC, *arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_numbers_of_the_paper() -> None:
    rows = {row["name"]: row for row in answer()}
    assert len(rows) == 9
    for name, row in rows.items():
        # The paper rounds to three digits; its formulas of steps have an error term, and Scalable
        # TCP's 1,200 is an estimate.
        assert row["here"] == pytest.approx(row["paper"], rel=0.05), name


def test_a_trajectory_with_its_figure(tmp_path: Path) -> None:
    figure = tmp_path / "rates.svg"
    found = answer("trajectory", "--delay", "3,5", "--steps", "300", "--figure", str(figure))
    assert len(found["arrivals_bit_per_s"][0]) == 301
    # C + N alpha / beta = 10.04 Mb/s.
    assert found["total_bit_per_s"][-1] == pytest.approx(10.04e6, rel=1e-3)
    assert figure.read_text(encoding="utf-8").count("source 1") == 1


def test_divergence_is_reported_and_json_stays_valid() -> None:
    kelly = ["--law", "kelly", "--kappa", "1.9", "--delay", "4", "--sources", "1"]
    found = answer("trajectory", *kelly, "--steps", "3000")
    assert found["diverged_at_step"] is not None
    assert found["total_bit_per_s"][-1] is None
    done = CliRunner().invoke(app, [*MKC, "trajectory", *kelly, "--steps", "3000"])
    assert "Diverged" in done.output


def test_the_fixed_point_of_figure_3() -> None:
    found = answer("fixed-point", *FIGURE_3)
    assert [round(x / 1e6, 3) for x in found["rates_bit_per_s"]] == [23.436, 16.042]
    settled = answer("trajectory", *FIGURE_3, "--start", "5 Mbit/s", "--steps", "500")
    assert [x[-1] for x in settled["rates_bit_per_s"]] == pytest.approx(found["rates_bit_per_s"])


@pytest.mark.parametrize(
    ("arguments", "verdict"),
    [
        (["--law", "kelly", "--sources", "1", "--delay", "3"], "stable"),
        (["--law", "kelly", "--sources", "1", "--delay", "4"], "unstable"),
        (["--delay", "7,4", "--beta", "1.9"], "stable"),
        (["--price", "virtual", "--delay", "4"], "stable"),
        (["--price", "virtual", "--delay", "4", "--gain", "0.5"], "unstable"),
        (["--price", "power", "--exponent", "2"], "stable"),
    ],
)
def test_stability(arguments: list[str], verdict: str) -> None:
    found = answer("stability", *arguments)
    assert found["exact"]["verdict"] == verdict
    assert found["conditions"][0]["holds"] == (verdict == "stable")
    spoken = CliRunner().invoke(app, [*MKC, "stability", *arguments])
    assert f"delays: {verdict}" in spoken.output


@pytest.mark.parametrize(
    ("delays", "omega", "kappa"),
    [
        ("3,8", "100 kbit/s", 0.452),
        ("2,8", "100 kbit/s", 0.742),
        ("3,8", "10 kbit/s", 0.443),
        ("3,8", "1 Mbit/s", 0.664),
        ("3,8", "5 Mbit/s", 0.316),
    ],
)
def test_the_exact_boundary_with_unequal_delays(delays: str, omega: str, kappa: float) -> None:
    """Numbers of docs/theory/mkc.md: the boundary depends on omega, condition (3) does not."""
    law = ["--law", "kelly", "--kappa", "0.1", "--omega", omega]
    found = answer("stability", *law, "--delay", delays)
    assert 0.1 * found["gain_may_be_scaled_by"] == pytest.approx(kappa, abs=0.0005)
    assert 0.1 * found["condition_allows_scale"] == pytest.approx(0.209, abs=0.0005)
    assert found["conditions"][0]["kind"] == "conjectured sufficient"


def test_convergence() -> None:
    found = answer("convergence", "--epsilon", "0.01")
    assert found["emkc"]["iterated_steps"] == 273
    assert found["emkc"]["theory_steps"] == pytest.approx(275.5, abs=0.05)


@pytest.mark.parametrize("beta", ["2.5", "2"])
def test_a_beta_outside_0_to_2_warns_with_theorem_4(beta: str) -> None:
    done = CliRunner().invoke(app, [*MKC, "stability", "--beta", beta])
    assert done.exit_code == 0
    assert "Theorem 4" in done.stderr
    assert "delays: stable" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trajectory", "--capacity", "0 Mbit/s"], "capacity[0]: got 0, expected more than 0"),
        (["trajectory", "--capacity", "ten"], 'capacity[0]: got "ten", expected a rate'),
        (
            ["stability", "--delay=-1"],
            "delay[0]: got -1, expected a whole number",
        ),
        (["stability", "--delay", "1,x"], '--delay: got "1,x", expected whole numbers'),
        (["stability", "--delay", "2", "--forward", "2"], "forward[0]: got 2, expected 0 to 1"),
        (["fixed-point", "--route", "0", "--route", ""], "routes[1]: got no resource"),
        (["fixed-point", "--route", "1"], "routes[0]: got resource 1, expected 0 to 0"),
        (["fixed-point", "--sources", "0"], "--sources: got 0, expected at least 1"),
        (["fixed-point", "--law", "akl"], '--law: got "akl", expected one of mkc'),
        (["fixed-point", "--law", "aimd"], "--law: got aimd with this price, expected mkc"),
        (["fixed-point", "--price", "los"], '--price: got "los", expected one of loss'),
        (["stability", "--kappa", "1"], "--kappa: got 1.0, expected nothing"),
        (["stability", "--beta", "-1"], "beta: got -1, expected more than 0"),
        (["stability", "--price", "virtual", "--target", "2"], "target: got 2, expected"),
        (["stability", "--price", "virtual", "--beta", "2"], "beta: got 2, expected more than 0"),
        (["trajectory", "--start", "0 bit/s"], "start: nothing arrives at resource 0"),
        (["convergence", "--sources", "1"], "sources: got 1, expected at least 2"),
        (["convergence", "--epsilon", "1"], "epsilon: got 1, expected more than 0"),
        (["trajectory", "--figure", "/no/such/place.svg"], "cannot be written"),
    ],
)
def test_errors_have_one_line(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(app, [*MKC, *arguments])
    # The command turns this into its message and exit code 2 (tests of the command line).
    assert isinstance(done.exception, MarqueueError)
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)
