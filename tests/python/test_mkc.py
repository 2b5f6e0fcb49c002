"""Max-min Kelly control in packet simulation: scenarios, warnings, stationary rates."""

import json
import subprocess
from pathlib import Path

import pytest

from conftest import COMMAND, EXAMPLES
from marqueue import run
from marqueue.errors import ScenarioError
from marqueue.plots import Plots
from marqueue.scenario import compile, from_toml, load, scenario_warnings
from small_scenario import SMALL

EMKC = 'traffic=[{{kind="paced", rate="1 Mbit/s", control={{name="emkc"{}}}}}]'


def example(name: str, *overrides: str):
    [path] = [path for path in EXAMPLES if path.stem == name]
    return load(path, list(overrides))


def test_the_example_comes_to_the_fixed_point_and_draws_rates():
    result = run(example("mkc"))
    # C/N + alpha/beta is sent, C/N arrives.
    goodput = [result.traffic(group=group)["goodput"].mean for group in result.groups]
    assert goodput == pytest.approx([2.5e6] * 4, rel=0.02)
    loss = 4 * 1e5 / (1e7 * 0.9 + 4 * 1e5)
    assert result.link().figures()["loss_ratio"].mean == pytest.approx(loss, rel=0.02)
    table = result.to_pandas("paced")
    assert (table.groupby("flow")["rate"].max() < 1e7 + 1e5 / 0.9 + 16_000).all()
    [axes] = Plots(result).rates().axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == result.groups


def test_tcp_yields_to_mkc_in_one_queue_and_has_its_half_in_its_own():
    shares = {}
    for name in ("mkc-tcp", "mkc-tcp-two-queues"):
        result = run(example(name, "replications=1"))
        rate = {group: result.traffic(group=group)["goodput"].mean for group in ("mkc", "tcp")}
        shares[name] = rate["tcp"] / (rate["mkc"] + rate["tcp"])
    assert shares["mkc-tcp"] < 0.1
    assert shares["mkc-tcp-two-queues"] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("beta", [0, 2, 2.5])
def test_a_beta_that_is_not_stable_is_accepted_with_a_warning(beta: float):
    scenario = from_toml(SMALL, [EMKC.format(f", beta={beta}"), "topology.bottleneck.aqm='mkc'"])
    [said] = scenario_warnings(scenario)
    assert "Theorem 4" in said
    assert f"beta = {beta:g}" in said


def test_the_command_prints_the_warning(tmp_path: Path):
    path = tmp_path / "unstable.toml"
    overrides = [EMKC.format(", beta=2.5"), "topology.bottleneck.aqm='mkc'", "duration='300 ms'"]
    scenario = from_toml(SMALL, [*overrides, "warmup='0 s'", "replications=1"])
    path.write_text(scenario.to_toml())
    command = [*COMMAND, "run", str(path), "--out", str(tmp_path / "out"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Warning: emkc with beta = 2.5" in done.stderr
    assert any("Theorem 4" in said for said in json.loads(done.stdout)["warnings"])


def test_a_law_without_a_price_on_its_route_gets_a_warning():
    [said] = scenario_warnings(from_toml(SMALL, [EMKC.format("")]))
    assert "no queue on its way tells a" in said
    assert "mkc_lossfree" in said
    mended = from_toml(SMALL, [EMKC.format(""), "topology.bottleneck.aqm='mkc'"])
    assert not scenario_warnings(mended)


@pytest.mark.parametrize(
    ("given", "path", "expected"),
    [
        ("alpha='100 ms'", "control.alpha", "expected a rate"),
        ("beta=-1", "control.beta", "expected a number, 0 to 100"),
        ("kappa=1", "control.kappa", "unknown"),
    ],
)
def test_an_error_names_its_place(given: str, path: str, expected: str):
    with pytest.raises(ScenarioError) as refused:
        from_toml(SMALL, [EMKC.format(f", {given}")])
    [problem] = refused.value.problems
    assert problem.path == f"traffic.0.{path}"
    assert expected in problem.message


def test_a_packet_too_small_for_the_header_is_refused():
    small = EMKC.format("").replace('rate="1 Mbit/s"', 'rate="1 Mbit/s", packet="47 B"')
    with pytest.raises(ScenarioError) as refused:
        compile(from_toml(SMALL, [small]))
    assert "at least 48 bytes" in str(refused.value)
