"""The lumped chain of windows compared with the unlumped chain, solved by linear algebra."""

from functools import lru_cache
from itertools import product
from math import exp, factorial

import numpy as np
import pytest
from numpy.typing import NDArray

from marqueue import _core
from marqueue.errors import ModelError
from marqueue.theory.marking_chain import Model, RttClass, simulate

Floats = NDArray[np.float64]


def red1(x: float) -> float:
    return 0.0 if x <= 2 else 0.2 * (x - 2) / 8 if x <= 10 else 1.0


@lru_cache
def queue_law(queue: str, rho: float, most: int = 200) -> Floats:
    """P(Q = n), n < most; of M/D/1 by the matrix of the chain that departures see."""
    if queue == "mm1":
        return (1 - rho) * rho ** np.arange(most)
    arrive = np.array([exp(-rho) * rho**k / factorial(k) for k in range(60)])
    matrix = np.zeros((most, most))
    for n in range(most):
        for k in range(60):
            matrix[n, min(max(n - 1, 0) + k, most - 1)] += arrive[k]
    return stationary(matrix)


def escapes(queue: str, rho: float, flows: int, packets: float) -> float:
    """E[(1 - p_N(Q))^packets], as it is written."""
    if rho >= 1:
        return 0.0
    law = queue_law(queue, rho)
    passed = np.array([1 - red1(n / flows**0.2) for n in range(len(law))])
    return float(law @ passed**packets)


def stationary(matrix: Floats) -> Floats:
    n = len(matrix)
    system = np.vstack([(matrix.T - np.eye(n))[:-1], np.ones(n)])
    return np.linalg.solve(system, np.eye(n)[-1])


def moved(window: int, marked: bool, greatest: int) -> int:
    return max(window // 2, 1) if marked else min(window + 1, greatest)


@pytest.mark.parametrize("queue", ["mm1", "md1"])
def test_windows_have_the_stationary_law_of_the_chain_of_single_flows(queue: str) -> None:
    flows, greatest, ct = 3, 5, 4.3
    states = list(product(range(1, greatest + 1), repeat=flows))
    at = {state: i for i, state in enumerate(states)}
    matrix = np.zeros((len(states), len(states)))
    for state in states:
        rho = sum(state) / (flows * ct)
        escape = [escapes(queue, rho, flows, w) for w in state]
        for marks in product([False, True], repeat=flows):
            chance = np.prod([1 - e if m else e for m, e in zip(marks, escape, strict=True)])
            to = tuple(moved(w, m, greatest) for w, m in zip(state, marks, strict=True))
            matrix[at[state], at[to]] += chance
    law = stationary(matrix)
    exact = np.zeros(greatest)
    sums: dict[int, float] = {}
    for state, p in zip(states, law, strict=True):
        for w in state:
            exact[w - 1] += p / flows
        sums[sum(state)] = sums.get(sum(state), 0.0) + p
    model = Model(flows, ct, queue=queue, greatest=greatest)
    result = simulate(model, length=100_000, warm_up=100, replications=2)
    # 2 × 10^5 correlated round trips leave 0.002 of chance, 2 × 10^6 a third of it.
    assert np.abs(result.windows[0] - exact).sum() / 2 < 0.005
    # The sum of windows too, which a wrong correlation between flows would change.
    seen = np.bincount(np.concatenate([each.windows for each in result.series]).astype(int))
    seen = seen / seen.sum()
    of_sums = np.array([sums.get(s, 0.0) for s in range(len(seen))])
    assert np.abs(seen - of_sums).sum() / 2 < 0.005


def test_groups_have_the_stationary_law_of_flows_that_are_marked_slot_by_slot() -> None:
    # Two flows, two slots in a round trip: one begins it when the other is half through. Here each
    # draws in each slot whether it was marked; the chain draws once, at the end.
    greatest, ct, flows = 4, 2.6, 2
    states = [
        (phase, mine, other, hit)
        for phase in (0, 1)
        for mine in range(1, greatest + 1)
        for other in range(1, greatest + 1)
        for hit in (False, True)
    ]
    at = {state: i for i, state in enumerate(states)}
    matrix = np.zeros((len(states), len(states)))
    for phase, ending, other, hit in states:
        # `ending` ends its round trip with this slot, and was marked in its first half if `hit`.
        rho = (ending + other) / (flows * ct)
        first, second = (escapes("mm1", rho, flows, w / 2) for w in (ending, other))
        for one, two in product([False, True], repeat=2):
            chance = (1 - first if one else first) * (1 - second if two else second)
            to = (1 - phase, other, moved(ending, hit or one, greatest), two)
            matrix[at[phase, ending, other, hit], at[to]] += chance
    # Periodic: the law over both phases together.
    law = stationary((matrix + np.eye(len(states))) / 2)
    exact = np.zeros(greatest)
    for (_, one, two, _), p in zip(states, law, strict=True):
        exact[[one - 1, two - 1]] += p / 2 if one != two else 0
        exact[one - 1] += p if one == two else 0
    model = Model(flows, ct, greatest=greatest, slots=2)
    result = simulate(model, length=50_000, warm_up=100, replications=2)
    assert np.abs(result.windows[0] - exact).sum() / 2 < 0.005


def test_the_checks_of_small_and_large_round_trips() -> None:
    """The issue's: at CT = 5 the chain itself synchronizes, at CT = 25 more flows fill the link."""
    five = simulate(Model(100_000, 5.0), length=3000, warm_up=1000, replications=2)
    assert five.utilization.mean == pytest.approx(0.70, abs=0.03)
    assert five.h.mean > 10_000
    more = [
        simulate(Model(n, 25.0), length=2000, warm_up=1000, replications=2)
        for n in (100, 1000, 10_000, 100_000)
    ]
    assert all(each.h.mean < 1 for each in more)
    filled = [each.utilization.mean for each in more]
    assert filled == sorted(filled)
    assert filled[-1] > 0.9


def test_the_queue_is_the_mixture_over_loads() -> None:
    result = simulate(Model(500, 12.0), length=500, warm_up=200, replications=2)
    lengths, tail = result.queue
    exact = np.mean(result.loads[:, None] ** lengths[None, :40], axis=0)
    assert np.allclose(tail[:40], exact, rtol=1e-12)
    for level, n in result.queue_quantiles.items():
        assert n is not None
        beyond = np.mean(result.loads ** (n + 1))
        assert beyond <= 1 - level < np.mean(result.loads**n)


def test_equilibrium_loses_no_more_than_the_bound() -> None:
    for queue in ("mm1", "md1"):
        result = simulate(Model(300, 8.0, queue=queue, buffer=2.0), 500, 200, 2)
        assert 0 < result.loss.mean <= result.loss_bound.mean


def test_the_spectrum_holds_the_variance_and_finds_the_beat() -> None:
    result = simulate(Model(1_000_000, 5.0), length=4096, warm_up=500, replications=2)
    found = result.spectrum
    width = found.frequency[1] - found.frequency[0]
    variance = np.mean([each.loads.var() for each in result.series])
    assert found.density.sum() * width == pytest.approx(variance, rel=0.1)
    # All halve together every fourth round trip.
    assert found.peak == pytest.approx(0.25, abs=0.01)


def test_h_is_one_for_a_single_flow_and_n_for_synchronized_flows() -> None:
    assert simulate(Model(1, 5.0), 500, 0, 2).h.mean == pytest.approx(1.0, rel=1e-9)
    together = simulate(Model(10**9, 5.0), 500, 1000, 2)
    assert together.h.mean > 0.8 * 10**9


def test_a_thousand_million_flows_draw_like_a_thousand() -> None:
    few, many = (simulate(Model(n, 25.0, a=1e-9), 1000, 300, 2) for n in (10_000, 1_000_000_000))
    assert few.load.mean == pytest.approx(many.load.mean, abs=1e-3)
    # Deviations of the load are smaller by the root of the number of flows.
    ratio = few.load_deviation.mean / many.load_deviation.mean
    assert ratio == pytest.approx(1e5**0.5, rel=0.15)


def test_classes_share_the_link_by_their_round_trips() -> None:
    classes = (RttClass(0.5, 1), RttClass(2.0, 3))
    result = simulate(Model(1000, 20.0, classes=classes), length=1000, warm_up=300, replications=2)
    size = np.arange(1, result.model.window + 1)
    short, long = result.windows @ size
    assert result.model.steps_per_rtt == [1, 4]
    by_rates = (250 * short / 0.5 + 750 * long / 2.0) / (1000 * 20.0)
    assert result.load.mean == pytest.approx(by_rates, rel=1e-9)
    assert short / 0.5 > long / 2.0


def test_runs_repeat_and_replications_differ() -> None:
    one, two, other = (simulate(Model(200, 6.0), 50, 0, 2, seed=s) for s in (1, 1, 2))
    assert np.array_equal(one.loads, two.loads)
    assert not np.array_equal(one.loads, other.loads)
    assert not np.array_equal(one.series[0].loads, one.series[1].loads)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flows": 0}, "flows: got 0"),
        ({"flows": 2**31}, "flows: got 2147483648"),
        ({"ct": float("nan")}, "ct: got nan"),
        ({"a": -0.1}, "a: got -0.1"),
        ({"queue": "mg1"}, "queue: got"),
        ({"marking": "blue"}, "marking: got"),
        ({"greatest": 1}, "greatest window: got 1"),
        ({"classes": ()}, "rtt-classes: got none"),
        ({"classes": (RttClass(0.12345, 1), RttClass(1, 1))}, "rtt-classes: got"),
        ({"classes": (RttClass(1, 1), RttClass(2, 1e-6))}, "leave one empty"),
        ({"slots": 0}, "slots: got 0"),
    ],
)
def test_invalid_models_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Model(**{"flows": 1000, "ct": 25.0, **change})  # type: ignore[arg-type]


def test_errors_of_the_extension_name_curve_and_queue() -> None:
    with pytest.raises(ValueError, match="a marking curve"):
        _core.ChainQueue(("no", 1.0, 0.2, 0.3, 12.0), "mm1")
    with pytest.raises(ValueError, match="mm1 or md1"):
        _core.ChainQueue(("exp:10:0.2", 1.0, 0.2, 0.3, 12.0), "x")
