"""PI, RED and REM against the examples of their papers, and against exact roots."""

import json
import math
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.design import check, pi, red, rem
from marqueue.design.tcp import Controller, Plant
from marqueue.errors import ModelError

EXAMPLE = (3750.0, 60.0, 0.246)
"""Packets/s, flows and round trip of both papers of Hollot et al."""


def test_pi_of_the_paper() -> None:
    # It prints w_g = 0.53, K = 9.64e-6, a = 1.822e-5, b = 1.816e-5, from z = 0.53 rounded; (3) of
    # its own proposition gives 9.80e-6 for that w_g.
    plant = Plant(*EXAMPLE)
    assert plant.corner == pytest.approx(0.53, abs=0.002)
    k = pi.gain(plant, 0.53 * 0.246)
    assert k == pytest.approx(9.64e-6, rel=0.02)
    a, b = pi.sampled(9.64e-6, 0.53, 170.0)
    assert (round(a, 8), round(b, 8)) == (1.822e-5, 1.816e-5)


@pytest.mark.parametrize("phase", [10.0, 45.0, 75.0])
def test_pi_has_the_phase_margin_that_was_asked_for(phase: float) -> None:
    # Windows of 154 packets: what the paper's plant leaves out is of the order of 1/W.
    found = pi.design(3750, 6, 0.246, phase=phase)
    margins = found.margins
    assert margins is not None
    assert margins.phase == pytest.approx(phase, abs=0.6)
    assert margins.gain_crossover == pytest.approx(pi.theta(phase) / 0.246, rel=0.01)


def test_the_loop_is_the_papers_plant_where_windows_are_large() -> None:
    plant = Plant(3750, 6, 0.246)
    w = np.geomspace(0.01, 30, 40)
    s = 1j * w
    loop = plant.close(Controller(a=0.0, b=1e-5, c=1.0, e=1e-4)).response(w)
    of_pi = 1e-5 / s + 1e-4
    of_plant = 3750**2 / 12 * np.exp(-0.246 * s) / ((s + plant.corner) * (s + 1 / 0.246))
    assert loop == pytest.approx(of_pi * of_plant, rel=0.02)


def test_the_limit_of_proposition_2_is_beyond_the_exact_boundary_where_windows_are_small() -> None:
    found = pi.design(*EXAMPLE)
    limit = found.rules[1].bound
    assert limit is not None
    assert found.boundary is not None
    assert found.chosen < found.boundary < limit < 1.02 * found.boundary


def test_red_of_the_paper() -> None:
    plant = Plant(*EXAMPLE)
    # It prints L = 1.86e-4 and K = 0.005, with w_q = 1.33e-6.
    assert -3750 * math.log1p(-1.33e-6) == pytest.approx(0.005, rel=0.01)
    assert red.largest_weight(plant, 1.86e-4) == pytest.approx(1.33e-6, rel=0.06)
    assert red.steepest(plant, 1.33e-6) == pytest.approx(1.86e-4, rel=0.06)


def test_weight_and_slope_of_red_say_the_same() -> None:
    by_slope = red.design(*EXAMPLE, 150, 700, max_p=0.1)
    by_weight = red.design(*EXAMPLE, 150, 700, w_q=by_slope.chosen)
    assert by_weight.chosen == pytest.approx(0.1, rel=1e-9)
    assert by_slope.setting.guaranteed()
    assert by_slope.boundary is not None
    assert by_slope.boundary > by_slope.chosen


def test_rem_is_the_pi_that_it_was_designed_as() -> None:
    as_pi, found = pi.design(*EXAMPLE), rem.design(*EXAMPLE)
    assert found.setting.as_pi.gain == pytest.approx(as_pi.chosen)
    assert found.setting.as_pi.zero == pytest.approx(as_pi.setting.zero)
    assert found.boundary / found.chosen == pytest.approx(as_pi.boundary / as_pi.chosen, rel=1e-6)


@pytest.mark.parametrize("module", [pi, rem])
def test_the_nonlinear_model_grows_and_decays_as_roots_say(module) -> None:
    inside, outside = check(module.design(*EXAMPLE))
    assert inside.linear < 0 < outside.linear
    for trial in (inside, outside):
        assert trial.measured == pytest.approx(trial.linear, rel=0.02)


def test_outside_its_assumptions_a_design_is_refused() -> None:
    with pytest.raises(ModelError, match="assumption p < 1 fails"):
        pi.design(1250, 200, 0.1)
    with pytest.raises(ModelError, match="at least the queueing delay"):
        pi.design(1250, 10, 0.03, q_ref=50)
    with pytest.raises(ModelError, match=r"sampling: got 10 1/s, expected at least"):
        pi.design(*EXAMPLE, frequency=10)
    with pytest.raises(ModelError, match="above max_th, where RED has another slope"):
        red.design(*EXAMPLE, 150, 700, max_p=0.001)
    with pytest.raises(ModelError, match="max-p, w-q: got both"):
        red.design(*EXAMPLE, 150, 700, max_p=0.1, w_q=1e-6)
    with pytest.raises(ModelError, match="phase-margin: got 90"):
        rem.design(*EXAMPLE, phase=90)


def test_the_commands() -> None:
    link = "--capacity 15Mbit/s --packet 500B --flows 60 --rtt 246ms --json"

    def run(name: str, more: str = "") -> Any:
        return json.loads(CliRunner().invoke(app, f"design {name} {link} {more}".split()).stdout)

    found = run("pi")
    assert found["configure"]["a"] == {
        "unit": "1/packet",
        "value": pytest.approx(1.87e-5, rel=1e-3),
    }
    found = run("red", "--min-th 150 --max-th 700 --max-p 0.1")
    assert found["bound"] == pytest.approx(1.43e-6, rel=1e-3)
    missing = CliRunner().invoke(app, ["design", "rem", "--capacity", "15Mbit/s", "--flows", "60"])
    assert "--rtt: missing, expected a value" in str(missing.exception)
