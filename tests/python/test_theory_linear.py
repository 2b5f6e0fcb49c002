"""Linearized scenarios: roots compared with closed forms, loops with papers, margins with roots."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import lambertw
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.design import avq, pi
from marqueue.errors import ModelError, ScenarioError
from marqueue.scenario import from_dict
from marqueue.theory.linear.characteristic import Linear, polished, rightmost
from marqueue.theory.linear.margins import Loop
from marqueue.theory.linear.model import linearize

PI = {"name": "pi", "a": 1.822e-5, "b": 1.816e-5}


def dumbbell(aqm: dict[str, Any], **more: Any) -> dict[str, Any]:
    """60 flows over 3750 packets/s: the example of Hollot et al."""
    bottleneck = {
        "rate": "15 Mbit/s", "delay": "5 ms", "buffer": "800 packets", "packet": "500 B",
        "signal": "ecn", "aqm": aqm,
    }  # fmt: skip
    return {
        "name": "Example",
        "duration": "60 s",
        "topology": {
            "kind": "dumbbell",
            "rtts": ["232 ms"],
            "access": {"rate": "100 Gbit/s", "delay": "1 ms"},
            "bottleneck": bottleneck | more,
        },
        "transport": {"default": {"preset": "ns2", "ecn": True, "segment": "500 B"}},
        "traffic": [{"name": "long", "kind": "tcp", "count": 60}],
    }


def scalar(k: float, d: float = 1.0) -> Linear:
    """y' = -k y(t - d), whose roots are W(-k d)/d."""
    return Linear(np.zeros((1, 1)), [(d, np.array([[-k]]))])


@pytest.mark.parametrize("k", [0.2, 1.0, 3.0])
def test_polished_roots_are_lamberts_to_the_last_digits(k: float) -> None:
    found = rightmost(scalar(k), 4, degree=20)
    exact = [complex(lambertw(-k, branch)) for branch in (0, -1, 1, -2)]
    for root in found:
        near = min(exact, key=lambda z: abs(z - root))
        found_exactly = polished(scalar(k), complex(root))
        assert found_exactly is not None
        assert abs(found_exactly - near) < 1e-13 * abs(near)
    assert polished(scalar(k), 1000 + 1000j) is None


@pytest.mark.parametrize("k", [0.3, 1.0, 1.5])
def test_margins_of_a_pure_delay_are_known(k: float) -> None:
    # L = k e^-s / s: |L| = 1 at w = k, its angle is -pi at w = pi/2.
    margins = Loop(scalar(k), Linear(np.zeros((1, 1)), [])).margins()
    assert margins.gain == pytest.approx(math.pi / 2 / k, rel=1e-9)
    assert margins.phase == pytest.approx(math.degrees(math.pi / 2 - k), rel=1e-9)
    assert margins.delay == pytest.approx(math.pi / 2 / k - 1, rel=1e-6)


def test_pi_is_linearised_as_hollot_et_al_do() -> None:
    linear = linearize(from_dict(dumbbell(PI)))
    seen = linear.equilibrium.seen
    # Equilibrium, (2): p = 2 / W^2, q = q_ref.
    assert seen.queue[0, 0] == pytest.approx(50)
    assert seen.probability[0, 0] == pytest.approx(2 / seen.window[0, 0] ** 2)
    of_paper = pi.Pi(
        3750, 60, float(seen.rtt[0, 0]), gain=170 * (1.822e-5 - 1.816e-5),
        zero=170 * (1.822e-5 - 1.816e-5) / 1.822e-5, q_ref=50,
    )  # fmt: skip
    w = np.geomspace(0.02, 20, 30)
    # The model's growth of the queue in p' is the paper's a q'.
    assert linear.response(w) == pytest.approx(of_paper.loop.response(w), rel=1e-6)
    assert linear.roots[0] == pytest.approx(of_paper.root, rel=1e-6)
    assert linear.signals == 1
    for root in linear.roots:
        size = np.prod(np.abs(np.linalg.svd(linear.closed.matrix(root))[1][:-1]))
        assert abs(linear.polynomial(complex(root))) < 1e-9 * size


def test_avq_of_constant_round_trips_is_the_papers_system() -> None:
    scenario = from_dict(dumbbell({"name": "avq", "alpha": "0.05 /s"}))
    linear = linearize(scenario, "constant-rtt")
    d = float(linear.equilibrium.seen.rtt[0, 0])
    expected = avq.Avq(3750, 60, d, 0.98, 0.05)
    assert linear.equilibrium.seen.probability[0, 0] == pytest.approx(expected.marked, rel=1e-6)
    # (4): K12 is beta gamma C / N, of which marks are K12 - K11 (9).
    assert linear.roots[0] == pytest.approx(expected.root, rel=1e-5)
    assert linear.resting == ("queue bottleneck",)


def test_margins_are_where_roots_cross() -> None:
    linear = linearize(from_dict(dumbbell(PI)))
    margins = linear.margins()
    assert margins is not None
    opened, closed = linear.open, linear.closed

    def rate(factor: float, extra: float = 0.0) -> float:
        """Of the loop with so much more gain or delay."""
        [(delay, whole)], [(_, rest)] = closed.delayed, opened.delayed
        fed_back = factor * (whole - rest)
        late = [(delay, rest), (delay + extra, fed_back)]
        return float(rightmost(Linear(opened.now, late), degree=30)[0].real)

    assert rate(1.0) < 0
    assert rate(margins.gain * 0.999) < 0 < rate(margins.gain * 1.001)
    assert rate(1.0, margins.delay * 0.999) < 0 < rate(1.0, margins.delay * 1.001)


def test_the_model_decays_as_its_rightmost_root_says() -> None:
    linear = linearize(from_dict(dumbbell(PI | {"a": 1.1e-4, "b": 1.0964e-4})))
    model, rest = linear.equilibrium.model, linear.equilibrium.states
    off = rest * np.array([1.0 + 1e-5, 1, 1])
    period = linear.period
    times = np.arange(0.0, 12 * period, period / 200)
    run = model.integrate(times, off, tolerance=1e-9)
    queue = np.abs(run.states[:, 1] - rest[1])
    peaks = queue[400:].reshape(-1, 200).max(axis=1)
    slope, _ = np.polyfit(np.arange(len(peaks)) * period, np.log(peaks), 1)
    assert slope == pytest.approx(linear.roots[0].real, rel=0.03)


def test_several_links_have_a_locus_each() -> None:
    hop = {
        "rate": "20 Mbit/s", "delay": "10 ms", "buffer": "400 packets", "signal": "ecn",
        "aqm": {"name": "pi", "a": 1e-5, "b": 0.995e-5},
    }  # fmt: skip
    scenario = {
        "name": "Two hops", "duration": "60 s",
        "topology": {
            "kind": "parking-lot", "access": {"rate": "1 Gbit/s", "delay": "15 ms"},
            "hops": [hop, hop],
        },
        "transport": {"default": {"preset": "rfc", "ecn": True}},
        "traffic": [
            {"name": "through", "kind": "tcp", "classes": ["through"], "count": 10},
            {"name": "cross", "kind": "tcp", "classes": ["hop 1", "hop 2"], "count": 40},
        ],
    }  # fmt: skip
    linear = linearize(from_dict(scenario))
    assert linear.signals == 2
    seen = linear.equilibrium.seen
    assert seen.arrivals[0] == pytest.approx(seen.capacity[0], rel=1e-6)
    w = np.geomspace(0.1, 10, 12)
    loci = linear.loop.loci(w)
    assert np.prod(1 + loci, axis=1) == pytest.approx(1 + linear.response(w), rel=1e-6)
    assert linear.stable
    assert linear.margins() is not None


def test_the_command_prints_roots_and_margins(tmp_path) -> None:
    import tomli_w

    file = tmp_path / "pi.toml"
    file.write_text(tomli_w.dumps(dumbbell(PI)), encoding="utf-8")
    line = ["theory", "linearize", str(file), "--json", "--plot", str(tmp_path / "pi.svg")]
    found = json.loads(CliRunner().invoke(app, line).stdout)
    assert found["stable"]
    assert found["margins"]["phase_degrees"] == pytest.approx(73.8, abs=0.2)
    assert len(found["jacobian_delayed"]) == 1
    assert [state["name"] for state in found["states"]][1:] == [
        "queue bottleneck", "probability bottleneck",
    ]  # fmt: skip
    assert "<svg" in (tmp_path / "pi.svg").read_text(encoding="utf-8")
    shown = CliRunner().invoke(app, line[:3]).stdout
    assert "Stable; rightmost roots: -0.62" in shown


def test_scenarios_outside_the_model_are_refused() -> None:
    with pytest.raises(ScenarioError, match="outside the fluid model: codel"):
        linearize(from_dict(dumbbell({"name": "codel"})))
    with pytest.raises(ModelError, match="GKVQ marks all packets or none"):
        linearize(from_dict(dumbbell({"name": "gkvq"})))
    ended = dumbbell(PI)
    ended["traffic"][0]["stop"] = "30 s"
    with pytest.raises(ModelError, match="there are no flows at 60 s"):
        linearize(from_dict(ended))


def test_an_unstable_loop_has_no_margins() -> None:
    linear = linearize(from_dict(dumbbell({"name": "rem"})))
    assert not linear.stable
    assert linear.margins() is None
    assert linear.damping < 0
    assert replace(linear, signals=0).margins() is None
