"""AVQ's design rules against the numbers of the paper, exact roots and the nonlinear model."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.design import check
from marqueue.design.avq import Avq, design, theorem_2_1, theorem_4_4, theorem_4_7
from marqueue.errors import ModelError

CAPACITY = 1250.0
"""Example 4.1: 10 Mbit/s, packets of 1000 bytes."""


@pytest.mark.parametrize(("rtt", "alpha"), [(0.15, 5.44), (0.25, 1.95)])
def test_example_4_1_is_right_for_150_flows(rtt: float, alpha: float) -> None:
    # The paper cuts 1.959 to 1.95.
    assert design(CAPACITY, 150, rtt, 0.98).chosen == pytest.approx(alpha, abs=0.01)


@pytest.mark.parametrize("rtt", [0.15, 0.25])
def test_example_4_1_as_printed_has_no_alpha(rtt: float) -> None:
    with pytest.raises(ModelError, match=r"Theorem 2.1 guarantees none.*no alpha at all is stable"):
        design(CAPACITY, 50, rtt, 0.98)


def test_the_older_rule_has_no_alpha_at_a_quarter_of_a_second() -> None:
    assert theorem_4_4(Avq(CAPACITY, 150, 0.25, 0.98, 1.0)) is None
    short = Avq(CAPACITY, 150, 0.15, 0.98, 1.0)
    older, newer = theorem_4_4(short), theorem_2_1(short)
    assert older is not None
    assert newer is not None
    assert older < newer  # Theorem 4.5
    at = replace(short, alpha=older)
    left = at.crossover * at.rtt + math.atan(at.crossover / at.k11)
    assert left == pytest.approx(math.pi / 2)  # (24)


def test_experiment_1_is_well_inside_its_boundary() -> None:
    found = design(CAPACITY, 180, 0.35, 0.98)
    assert found.chosen == pytest.approx(0.987, abs=5e-4)
    assert found.boundary == pytest.approx(1.141, abs=5e-4)
    assert found.rules[-1].kind == "exact"
    assert found.rules[-1].bound == pytest.approx(found.boundary, rel=1e-8)
    margins = found.margins
    assert margins is not None
    assert 1 < margins.gain < 1.1
    assert margins.delay == pytest.approx(math.radians(margins.phase) / margins.gain_crossover)


@pytest.mark.parametrize("of", ["rtt", "flows", "gamma"])
def test_the_other_three_follow_from_the_same_rule(of: str) -> None:
    """What Theorem 2.1 gives for alpha, 4.2, 4.6 and 4.7 give back."""
    known = {"rtt": 0.35, "flows": 180.0, "gamma": 0.98}
    alpha = design(CAPACITY, **known).chosen
    expected = known.pop(of)
    found = design(CAPACITY, alpha=alpha, **known)
    assert found.chosen == pytest.approx(expected, rel=1e-6)
    exact = found.rules[-1].bound
    if exact is None:  # gamma at most 1, and 1.141 1/s is the exact boundary of alpha at 0.98
        assert of == "gamma"
        assert replace(found.setting, gamma=1.0).phase < math.pi
        assert found.boundary is None
        return
    assert found.boundary == pytest.approx(exact, rel=1e-8)
    assert (exact > found.chosen) == (found.side == "below")


def exact_gamma(at: Avq, least: float) -> float | None:
    """Theorem 4.1 by bisection: the gamma at which the left side of (15) is pi, if there is one
    from ``least`` to 1."""

    def excess(gamma: float) -> float:
        return replace(at, gamma=gamma).phase - math.pi

    return brentq(excess, least, 1.0) if excess(least) < 0 < excess(1.0) else None


GRID = [
    Avq(capacity, capacity * rtt / window, rtt, 1.0, alpha)
    for window in (1.3, 1.7, 2.0, 2.4, 3.0, 5.0)
    for rtt, capacity in ((0.05, 20_000.0), (0.2, 2000.0), (0.5, 500.0))
    for alpha in (0.1, 0.8, 3.0)
]


def test_the_boundary_of_gamma_is_theorem_4_1_wherever_it_has_one() -> None:
    """Both ways to compute it, over flows, round trips, capacities and gains."""
    boundaries = refused = 0
    for at in GRID:
        least = math.sqrt(at.marked)  # p* = 1
        expected = exact_gamma(at, least)
        if theorem_4_7(at) <= least:
            refused += 1
            there = "stable (Theorem 4.1)" if expected is None else f"is at gamma = {expected:.4g}"
            with pytest.raises(ModelError, match=re.escape(there)):
                design(at.capacity, at.flows, at.rtt, None, at.alpha)
            continue
        found = design(at.capacity, at.flows, at.rtt, None, at.alpha)
        exact = found.rules[-1].bound if found.chosen < 1 else None
        assert (exact, found.boundary) == (
            (None, None)
            if expected is None
            else (pytest.approx(expected, rel=1e-9), pytest.approx(expected, rel=1e-9))
        )
        boundaries += expected is not None
    assert boundaries >= 10
    assert refused >= 5


def test_the_boundary_of_gamma_next_to_1_is_found() -> None:
    line = "design avq --packet 1000B --capacity 16Mbit/s --flows 150 --rtt 200ms --alpha 0.8"
    done = CliRunner().invoke(app, [*line.split(), "--json"])
    found = json.loads(done.stdout)
    assert found["boundary"] == pytest.approx(0.975708, abs=1e-6)
    assert found["rules"][-1]["bound"] == pytest.approx(found["boundary"], rel=1e-9)
    above = replace(Avq(2000.0, 150, 0.2, 1.0, 0.8), gamma=0.976)
    assert above.root.real > 0 > replace(above, gamma=0.9755).root.real


@settings(max_examples=60)
@given(
    window=st.floats(1.3, 30), rtt=st.floats(0.005, 2), capacity=st.floats(100, 1e6),
    gamma=st.floats(0.5, 1),
)  # fmt: skip
def test_no_theorem_promises_what_is_unstable(
    window: float, rtt: float, capacity: float, gamma: float
) -> None:
    flows = gamma * capacity * rtt / window
    at = Avq(capacity, flows, rtt, gamma, 1.0)
    bound = theorem_2_1(at)
    if bound is None:
        return
    assert replace(at, alpha=bound).phase < math.pi  # (15)
    assert replace(at, alpha=bound * 0.999).root.real < 0


def test_the_nonlinear_model_grows_and_decays_as_roots_say() -> None:
    inside, outside = check(design(CAPACITY, 180, 0.35, 0.98))
    assert inside.linear < 0 < outside.linear
    for trial in (inside, outside):
        # A millionth off the equilibrium the model is linear; the rest is how peaks are read.
        assert trial.measured == pytest.approx(trial.linear, rel=0.02)
        assert trial.agrees


def test_the_cut_loop_is_16() -> None:
    at = Avq(CAPACITY, 180, 0.35, 0.98, 0.5)
    w = np.geomspace(0.1, 100, 50)
    s = 1j * w
    expected = np.exp(-s * at.rtt) * (at.k2 + at.alpha * at.k2 / s) / (s + at.k11)
    assert at.loop.response(w) == pytest.approx(expected, rel=1e-9)


def test_the_command_gives_alpha_hat() -> None:
    line = "design avq --capacity 10Mbit/s --packet 1000B --flows 150 --rtt 150ms --gamma 0.98"
    done = CliRunner().invoke(app, [*line.split(), "--json"])
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["configure"]["alpha"]["value"] == pytest.approx(5.44, abs=0.005)
    assert found["theorem"] == "Theorem 2.1"
    assert found["boundary"] == pytest.approx(11.698, abs=1e-3)


def test_the_map_has_its_data_beside_it(tmp_path) -> None:
    line = "design avq --capacity 10Mbit/s --flows 180 --rtt 350ms --gamma 0.98 --check --map"
    done = CliRunner().invoke(app, [*line.split(), str(tmp_path / "map.svg")])
    assert done.stdout.count("agrees") == 2
    assert "NOT" not in done.stdout
    assert (tmp_path / "map.svg").read_text(encoding="utf-8").startswith("<?xml")
    rows = (tmp_path / "map.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "Round trip [ms],Flows,damping,guaranteed"
    values = [row.split(",") for row in rows[1:]]
    assert any(damping == "" for _, _, damping, _ in values)  # windows of less than 1.2 packets
    assert all(float(d) > 0 for _, _, d, promised in values if promised == "1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--flows 150 --rtt 150ms", "flows, rtt, gamma, alpha: got flows, rtt, expected three"),
        ("--flows 150 --rtt 100ms --gamma 0.98", "assumption p* < 1 fails"),
        ("--flows 50 --rtt 150ms --gamma 0.98", "Theorem 2.1 guarantees none"),
        ("--flows 150 --rtt 150 --gamma 0.98", '--rtt: got "150", expected a time'),
        ("--flows -1 --rtt 150ms --gamma 0.98", "flows: got -1.0, expected a finite number above"),
        ("--flows 150 --rtt 150ms --gamma 1.5", "gamma: got 1.5, expected a utilization"),
    ],
)
def test_a_mistake_is_one_message(arguments: str, message: str) -> None:
    line = ["design", "avq", "--capacity", "10Mbit/s", *arguments.split()]
    done = CliRunner().invoke(app, line)
    assert isinstance(done.exception, ModelError)
    assert message in str(done.exception)
    assert done.stdout == ""


def test_a_mistake_ends_the_command_with_2(marqueue) -> None:
    done = marqueue("design", "avq", "--capacity", "10Mbit", "--flows", "150")
    assert done.returncode == 2
    assert '--capacity: got "10Mbit", expected a rate' in done.stderr
    assert "Traceback" not in done.stderr
