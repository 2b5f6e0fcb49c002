"""The fluid model of DRQ: solver and roots compared with closed forms, equilibrium with optimum.

The bound of Proposition 2 is compared with the exact boundary.
"""

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from scipy.special import lambertw
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.errors import ModelError
from marqueue.scenario import from_dict
from marqueue.theory.allocation.resources import Resource
from marqueue.theory.dde import solve
from marqueue.theory.drq.fluid import Drq, Red, Reno
from marqueue.theory.drq.from_scenario import network
from marqueue.theory.drq.stability import bound, stability
from marqueue.theory.linear.characteristic import Linear, boundary, rightmost
from test_theory_pf import scenario

PACKET = 4000.0


def steps_of_y(t: float) -> float:
    """y' = -y(t - 1) from a history of 1, by the method of steps."""
    return sum((-1) ** k * (t - (k - 1)) ** k / math.factorial(k) for k in range(int(t) + 2))


def hayes(k: float) -> Linear:
    """y' = -k y(t - 1), stable for k below pi/2."""
    return Linear(np.zeros((1, 1)), [(1.0, np.array([[-k]]))])


@pytest.mark.parametrize("smooth", [True, False])
def test_the_error_falls_with_the_fourth_power_of_the_step(smooth: bool) -> None:
    errors = []
    for step in (0.1, 0.05, 0.025):
        if smooth:
            cosine = solve(
                lambda _t, _y, delayed: -np.pi / 2 * delayed[0],
                lambda t: np.array([np.cos(np.pi * t / 2)]),
                [1.0],
                6.0,
                step,
            )
            errors.append(abs(float(cosine.y[-1, 0]) - np.cos(3 * np.pi)))
        else:
            found = solve(lambda _t, _y, delayed: -delayed[0], np.ones(1), [1.0], 6.0, step)
            errors.append(abs(float(found.y[-1, 0]) - steps_of_y(6.0)))
    # 16 to first order; the next order is a step smaller.
    assert all(a / b == pytest.approx(16, rel=0.1) for a, b in pairwise(errors))


def test_a_state_stays_above_its_floor_and_a_long_step_is_refused() -> None:
    drained = solve(lambda _t, y, _d: -np.ones_like(y), np.ones(1), [1.0], 3.0, 0.5, floor=0.0)
    assert drained.y[:, 0] == pytest.approx([1, 0.5, 0, 0, 0, 0, 0])
    with pytest.raises(ModelError, match="at most the shortest delay, 1 s"):
        solve(lambda _t, y, _d: y, np.ones(1), [1.0], 3.0, 1.5)
    with pytest.raises(ModelError, match="without bound"), np.errstate(all="ignore"):
        solve(lambda _t, y, _d: y**3, np.ones(1), [1.0], 30.0, 0.5)


def test_roots_are_those_of_lamberts_function() -> None:
    for k in (0.3, 1.0, 2.0):
        found = rightmost(hayes(k), 4, degree=24)
        exact = sorted((lambertw(-k, b) for b in (0, -1, 1, -2)), key=lambda z: -z.real)
        assert sorted(found.real) == pytest.approx(sorted(z.real for z in exact), abs=1e-9)
        for root in found:
            assert abs(np.linalg.det(hayes(k).matrix(root))) < 1e-8
    assert boundary(hayes, 0.5, 5, 1e-12) == pytest.approx(math.pi / 2, rel=1e-10)
    with pytest.raises(ModelError, match="expected 2 to be stable"):
        boundary(hayes, 2, 5)


def test_several_delays_and_none() -> None:
    # y'' = -y' - 2 y(t - 0.3) - y(t - 1): each root makes the determinant vanish.
    system = Linear(
        np.array([[0.0, 1.0], [0.0, -1.0]]),
        [(0.3, np.array([[0.0, 0.0], [-2.0, 0.0]])), (1.0, np.array([[0.0, 0.0], [-1.0, 0.0]]))],
    )
    for root in rightmost(system, 4, degree=24):
        assert abs(root**2 + root + 2 * np.exp(-0.3 * root) + np.exp(-root)) < 1e-8
    assert rightmost(Linear(np.diag([-1.0, -3.0]), []))[0] == -1


def dumbbell(count: int = 10, cpu: float = 25e6) -> Drq:
    """The paper's."""
    red = Red.of_packets(50, 550, 0.1, 1e-4, PACKET, 40e6)
    return Drq(
        (Resource("cpu", "cpu", cpu), Resource("link", "link", 40e6)),
        tuple(
            Reno(f"w {w:g}", {"cpu": w, "link": 1}, PACKET, 0.04, count)
            for w in (0.25, 0.5, 1.0, 2.0)
        ),
        (red, red),
    )


def one(per_ack: float = 2.0, gain: float = 1.0, rtt: float = 0.04) -> Drq:
    """One flow on one link of 1 Mbit/s, RED of this slope times capacity."""
    red = Red(0.0, 1e6 / gain, 1.0, -math.log1p(-1e-4) * 1e6 / PACKET)
    flows = (Reno("one", {"link": 1}, PACKET, rtt, per_ack=per_ack),)
    return Drq((Resource("link", "link", 1e6),), flows, (red,))


@pytest.mark.parametrize("cpu", [10e6, 25e6, 50e6])
def test_the_optimum_is_the_equilibrium(cpu: float) -> None:
    model = dumbbell(cpu=cpu)
    state = model.equilibrium
    at_rest = model.field(0.0, state, np.tile(state, (len(model.delays), 1)))
    # Relative to what the terms of each equation are: packets a round trip squared; capacities.
    assert np.abs(at_rest[:4]).max() < 1e-8 * PACKET / 0.04**2
    assert np.abs(at_rest[4:6]).max() < 1e-8 * 40e6
    assert np.abs(at_rest[6:]).max() < 1e-8 * 40e6
    free = {"cpu", "link"} - set(model.optimum.congested)
    assert all(state[4 + model.sharing.index[name]] == 0 for name in free)


def test_the_fluid_model_goes_to_the_optimum_where_it_is_stable() -> None:
    # Proposition 1: from other rates and queues, with slopes inside the boundary.
    paper = dumbbell(count=60)
    red = Red(0.0, 40e6 / 1.5, 1.0, 10.0)
    stable = Drq(paper.resources, paper.flows, (red, red))
    slowest = rightmost(stable.linear(stable.gains))[0].real
    assert slowest < 0
    start = stable.equilibrium * np.array([0.8, 1.2, 0.8, 1.2, 1.1, 0.9, 1.1, 0.9])
    found = stable.run(start, -7 / slowest, 0.02)
    assert found.y[-1] == pytest.approx(stable.equilibrium, rel=1e-3)


def test_the_linearization_is_the_derivative_of_the_fluid_model() -> None:
    model = dumbbell()
    state, size = model.equilibrium, 8
    rest = np.tile(state, (len(model.delays), 1))

    def derivative(j: int, delay: int | None) -> np.ndarray:
        # Central differences, exact to the square of 1e-5; averages become probabilities.
        sides = []
        for sign in (1, -1):
            y, delayed = state.copy(), rest.copy()
            off = sign * 1e-5 * state[j]
            if delay is None:
                y[j] += off
            else:
                delayed[delay, j] += off
            sides.append(model.field(0.0, y, delayed))
        slope = (sides[0] - sides[1]) / (2e-5 * state[j])
        slopes = [
            red.slope(price) for red, price in zip(model.red, model.optimum.prices, strict=True)
        ]
        unit = np.concatenate([np.ones(6), slopes])
        return slope * unit / unit[j]

    linear = model.linear(model.gains)
    now = np.stack([derivative(j, None) for j in range(size)], axis=1)
    scale = np.abs(linear.now).max(axis=1, keepdims=True) + np.abs(now).max(axis=1, keepdims=True)
    assert (np.abs(linear.now - now) <= 1e-6 * scale).all()
    delayed = sum(
        np.stack([derivative(j, d) for j in range(size)], axis=1) for d in range(len(model.delays))
    )
    # All delays of this network are 20 ms.
    [(delay, expected)] = linear.delayed
    assert delay == 0.02
    assert delayed == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_proposition_2_by_hand() -> None:
    # One flow, one link: sigma = R = w = 1, L = 250 packets/s, tau = 40 ms.
    assert bound(one()) == pytest.approx(math.sqrt(1.5) / (250**2 * 0.04**3))
    # Two resources: the least eigenvalue of Gamma Gamma', 40 flows.
    a = np.array([[0.25, 0.5, 1, 2], [1, 1, 1, 1]]) * math.sqrt(10)
    least = np.linalg.svd(a, compute_uv=False)[-1] ** 2
    largest = max(25e6 / 0.25, 40e6) / PACKET
    expected = math.sqrt(1.5) * least / (2 * largest**2 * 0.04**3 * 2)
    assert bound(dumbbell()) == pytest.approx(expected)


def test_proposition_2_does_not_hold_for_constant_round_trips() -> None:
    # Its proof counts on queues that lengthen round trips (Omega in (38)), which assumption A2 and
    # (7) to (15) exclude. One flow, with an acknowledgement for two packets as the paper says is
    # typical: a slope below the bound is unstable.
    for per_ack in (2.0, 4.0):
        found = stability(one(per_ack))
        assert found.boundary < found.bound < found.boundary_with_queueing
        model = one(per_ack, gain=0.95 * found.bound)
        assert rightmost(model.linear(model.gains))[0].real > 0


def test_the_bound_is_far_from_the_boundary_with_many_flows() -> None:
    for count in (2, 50):
        found = stability(dumbbell(count))
        assert found.bound < found.boundary / 1000
        assert found.boundary < found.boundary_with_queueing
        # The slopes of section IV are above either boundary.
        assert found.configured > found.boundary


def test_prices_above_one_have_no_equilibrium() -> None:
    # Windows of less than 2 packets: 40 Mbit/s over 100 flows a class, 40 ms.
    crowded = dumbbell(count=100)
    assert crowded.violations() == ("cpu",)
    with pytest.raises(ModelError, match="cpu: its price is"):
        crowded.linear(1.0)


def test_one_red_for_each_resource() -> None:
    with pytest.raises(ModelError, match="red: got 0, expected one for each of 1"):
        Drq(one().resources, one().flows, ())
    red = Red(10.0, 110.0, 0.1, 1.0)
    assert red.probability(np.array([0, 10, 60, 110, 165, 300])) == pytest.approx(
        [0, 0, 0.05, 0.1, 0.55, 1]
    )
    assert [red.average(p) for p in (0.05, 0.55)] == pytest.approx([60, 165])
    assert [red.slope(p) for p in (0.05, 0.5)] == pytest.approx([0.001, 0.9 / 110])


def test_a_scenario_becomes_its_fluid_model(tmp_path: Path) -> None:
    model = network(from_dict(scenario()))
    assert [r.name for r in model.resources] == ["bottleneck/cpu", "bottleneck"]
    assert model.red[1] == Red.of_packets(50, 550, 0.1, 1e-4, PACKET, 40e6)
    assert model.optimum.rates == pytest.approx(dumbbell().optimum.rates, rel=1e-6)
    file = tmp_path / "s.toml"
    file.write_text(tomli_w.dumps(scenario()))
    done = CliRunner().invoke(app, ["theory", "drq-stability", str(file), "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    edge = said["models"]["constant round trips"]
    assert not edge["stable"]
    assert said["bound_per_s"] < edge["boundary_per_s"] < said["steepest_configured_per_s"]
    shown = CliRunner().invoke(app, ["theory", "drq-stability", str(file)])
    assert "Proposition 2" in shown.output
    red = ["--set", "topology.bottleneck.aqm=red"]
    done = CliRunner().invoke(app, ["theory", "drq-stability", str(file), *red])
    assert done.exit_code != 0
    assert "bottleneck is congested, and has no DRQ" in str(done.exception)
