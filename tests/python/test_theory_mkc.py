"""Maps of MKC and related laws: numbers of the paper, closed forms, fixed points on any routes."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from marqueue.errors import ModelError
from marqueue.theory.mkc import (
    Aimd,
    Kelly,
    Loss,
    Mkc,
    Network,
    Power,
    Scalable,
    StabilityWarning,
    Virtual,
    convergence,
    equilibrium,
    iterate,
    paper_data,
)

C, ALPHA, BETA = 1e6, 10e3, 0.5


def random_network(seed: int) -> Network:
    """Up to 4 resources and 8 sources, all used, delays of up to 5 steps."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, 5)), int(rng.integers(4, 9))
    routes = [sorted({int(rng.integers(m)), i % m}) for i in range(n)]
    delay = rng.integers(1, 6, n)
    forward = [
        [int(rng.integers(d)) for _ in route] for d, route in zip(delay, routes, strict=True)
    ]
    return Network.of(rng.uniform(5, 50, m) * 1e6, routes, delay, forward)


def test_figure_1_kelly_is_stable_up_to_a_delay_of_3_and_diverges_at_4() -> None:
    # x* = C + omega = 1010 Mb/s (6). Oscillations shrink or grow by the spectral radius each step:
    # 0.98 at D = 3, 1.02 at D = 4.
    late = [np.abs(paper_data.figure_1(d, 600).arrivals[:, 0] / 1010e6 - 1) for d in (1, 2, 3, 4)]
    for error in late[:3]:
        assert error[-50:].max() < 1e-3
    assert late[3][-50:].max() > 1000
    # Each has oscillations that last longer than the one before.
    lasts = [int(np.flatnonzero(error > 0.01)[-1]) for error in late]
    assert lasts == sorted(lasts)


def test_figure_3_kelly_settles_at_23_436_and_16_042() -> None:
    # The capacities that the paper's numbers imply: C2 = 20, C4 = 15, x1 alone 27.5.
    network = Network.of([30, 20, 20, 15], [[0, 1], [1, 2, 3]])
    law, price = Kelly(0.1, 5), Loss(network.capacity)
    settled = iterate(network, law, price, 5, 500).rates[-1]
    assert settled == pytest.approx([23.436, 16.042], abs=5e-4)
    assert equilibrium.kelly_fixed_point(network, law, price).rates == pytest.approx(
        settled, rel=1e-9
    )
    assert settled @ [2, 3] == pytest.approx(95)  # (11)
    assert settled.sum() / 20 - 1 == pytest.approx(0.97, abs=0.005)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
# No Newton step from far away brings each of these equations closer.
@example(163)
def test_lemma_1_on_any_routes(seed: int) -> None:
    network = random_network(seed)
    omega = np.random.default_rng(seed).uniform(0.1, 5, network.sources) * 1e6
    point = equilibrium.kelly_fixed_point(network, Kelly(0.1, omega), Loss(network.capacity))
    # (10): multiply each source's equation out; omega may differ.
    assert network.hops @ point.rates == pytest.approx(network.capacity.sum() + omega.sum())
    assert point.rates * (network.usage.T @ point.prices) == pytest.approx(omega)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_the_fixed_point_of_mkc_is_where_the_map_stays(seed: int) -> None:
    network = random_network(seed)
    rng = np.random.default_rng(seed)
    law = Mkc(rng.uniform(0.5, 2, network.sources) * 1e5, rng.uniform(0.2, 1, network.sources))
    for price in (Loss(network.capacity), Power(network.capacity, 2.0)):
        point = equilibrium.mkc_fixed_point(network, law, price)
        there = iterate(network, law, price, point.rates, 20)
        assert there.rates[-1] == pytest.approx(point.rates[:10], rel=1e-9)
        # The bottleneck of each source is the resource on its route with the highest price.
        obeyed = np.where(network.usage.T.toarray() > 0, point.prices, -np.inf)
        assert obeyed[np.arange(network.sources), point.bottleneck] == pytest.approx(obeyed.max(1))


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_emkc_converges_from_anywhere_on_any_routes_under_any_delays(seed: int) -> None:
    network = random_network(seed)
    rng = np.random.default_rng(seed + 1)
    law, price = Mkc(2e6, 0.5), Loss(network.capacity)
    point = equilibrium.mkc_fixed_point(network, law, price)
    start = rng.uniform(0.2, 3, network.sources) * point.rates
    jitter = int(rng.integers(0, 6))
    done = iterate(network, law, price, start, 3000, jitter=jitter, seed=seed)
    assert done.rates[-1] == pytest.approx(point.rates[:10], rel=1e-4)


@pytest.mark.parametrize(("n", "delay", "beta"), [(1, 1, 0.5), (7, 4, 0.9), (3, 5, 1.6)])
def test_the_sum_of_rates_has_a_closed_form(n: int, delay: int, beta: float) -> None:
    # (52), from any rates; the split of the delay does not matter.
    start = np.linspace(1, 2, n) * 1e4
    network = Network.single(C, n, delay, [i % delay for i in range(n)])
    done = iterate(Network.single(C, n, delay), Mkc(ALPHA, beta), Loss(network.capacity), start, 60)
    steps = np.arange(61.0)
    expected = convergence.total_rate(steps, delay, C, n, ALPHA, beta, start.sum())
    assert done.total == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 50])
def test_emkc_settles_at_its_fixed_point_with_its_steady_loss(n: int) -> None:
    network = Network.single(C, n, 1 + np.arange(n) % 4)
    law, price = Mkc(ALPHA, BETA), Loss(network.capacity)
    point = equilibrium.mkc_fixed_point(network, law, price)
    assert point.rates == pytest.approx(C / n + ALPHA / BETA)  # (46)
    assert point.arrivals == pytest.approx([C + n * ALPHA / BETA])  # (47)
    assert point.loss == pytest.approx([n * ALPHA / (C * BETA + n * ALPHA)])
    last = iterate(network, law, price, ALPHA, 6000)
    assert last.rates[-1] == pytest.approx(point.rates[:10], rel=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "iterated", "formula"), [(0.1, 152, 155.8), (0.01, 273, 275.5)]
)
def test_steps_to_fairness(epsilon: float, iterated: int, formula: float) -> None:
    law = Mkc(ALPHA, BETA)
    assert convergence.iterated_steps(law, C, 2, epsilon) == iterated
    assert convergence.steps_mkc(C, 2, ALPHA, BETA, epsilon) == pytest.approx(formula, abs=0.05)
    # A delay of D takes D times as many steps of the map.
    delayed = convergence.iterated_steps(law, C, 2, epsilon, delay=3)
    assert delayed is not None
    assert math.ceil(delayed / 3) == iterated


def test_theorem_6_and_corollary_3() -> None:
    assert convergence.ratio(0.5) == pytest.approx(2 * math.log(2))
    # (54) takes 1 - min x / max x for 2 d / X, d the difference; with min x = X / 2 - d / 2 the
    # steps are fewer by -ln(1 - epsilon / 2) X* / (N alpha), which (54) counts to its error term.
    shift = np.log1p(-paper_data.EPSILONS / 2) * (C + 2 * ALPHA / BETA) / (2 * ALPHA)
    emkc, aimd = paper_data.steps_over_epsilon(Mkc), paper_data.steps_over_epsilon(Aimd)
    # -ln(1 - x) = x + x^2 / 2 at x = beta p* = 0.02: 1 % of 400 steps; X is X* after a few.
    assert np.abs(emkc.theory + shift - emkc.iterated).max() < 7
    # AIMD gets fairer by its cuts alone, which are beta C / (N alpha) + 1 = 26 steps apart.
    assert np.abs(aimd.theory + shift / convergence.ratio(BETA) - aimd.iterated).max() < 26


def test_figure_5_emkc_fills_a_gigabit_in_16_steps() -> None:
    emkc, scalable = paper_data.figure_5()
    assert paper_data.steps_to_saturation(emkc, 1e9) == 16
    # ln(1 Gb/s / 10 kb/s) / ln 1.01 = 1157.
    assert paper_data.steps_to_saturation(scalable, 1e9) == 1158


def test_figure_4_is_fair_in_the_end_without_oscillations() -> None:
    for random in (False, True):
        done = paper_data.figure_4(random, steps=6000)
        settled = 10e9 + 2 * 200e6 / 0.5
        if not random:
            assert done.total.max() <= settled * (1 + 1e-6)
        # beta p* = 0.037: each round trip, of 50.5 steps at random, leaves 0.963 of the difference
        # of 4 Gb/s, in 118 of them 1.2 % of it: less than 1 % of a rate, or of the sum.
        assert done.fairness[-1] > 0.98
        assert np.abs(done.total[-500:] / settled - 1).max() < 0.01


def test_figure_6_is_monotone_up_to_beta_1_and_oscillates_beyond() -> None:
    for beta in (0.5, 1.0):
        assert np.all(np.diff(paper_data.figure_6(beta).total) >= -1e-6)
    beyond = paper_data.figure_6(1.5)
    assert np.all(np.diff(np.sign(np.diff(beyond.total[:20]))) != 0)
    assert beyond.total[-1] == pytest.approx(C + ALPHA / 1.5, rel=1e-6)


def test_random_delays_come_from_named_streams() -> None:
    def rates(sources: int, seed: int) -> np.ndarray:
        network = Network.single(C, sources, 2)
        done = iterate(
            network, Kelly(0.01, 1e3), Loss(network.capacity), 1e4, 3, jitter=9, seed=seed
        )
        return done.rates

    assert np.array_equal(rates(2, 1), rates(2, 1))
    varied = [paper_data.figure_4(True, 200, seed).rates for seed in (1, 2)]
    assert not np.array_equal(*varied)


def test_only_watched_rates_are_stored() -> None:
    network = Network.single(1e9, 5000, 3)
    done = iterate(network, Mkc(1e4, 0.5), Loss(network.capacity), 1e4, 50, watch=[4999, 7])
    assert done.rates.shape == (51, 2)
    assert done.rates[-1] == pytest.approx(done.total[-1] / 5000)
    assert done.jain[-1] == pytest.approx(1)


def test_a_beta_that_cannot_be_stable_warns_with_theorem_4() -> None:
    network = Network.single(C, 2)
    with pytest.warns(StabilityWarning, match=r"beta\[0\]: got 2.1, .*\(Theorem 4\)"):
        done = iterate(network, Mkc(ALPHA, 2.1), Loss(network.capacity), ALPHA, 4000)
    assert done.diverged is None or done.diverged > 100
    assert not np.all(np.isfinite(done.total)) or np.abs(done.total[-1]) > 1e100
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        iterate(network, Mkc(ALPHA, 1.9), Loss(network.capacity), ALPHA, 4)


def test_invalid_networks_are_refused_with_their_place() -> None:
    refused = {
        r"capacity\[1\]: got 0, expected more than 0": lambda: Network.of([1, 0], [[0, 1]]),
        r"delay\[1\]: got -2, expected a whole": lambda: Network.single(1, 2, [1, -2]),
        r"forward\[0\]: got -1, expected 0 to 2": lambda: Network.single(1, 1, 3, -1),
        r"forward\[0\]: got 3, expected 0 to 2": lambda: Network.single(1, 1, 3, 3),
        r"routes\[1\]: got no resource": lambda: Network.of([1], [[0], []]),
        r"routes\[0\]: got resource 2, expected 0 to 1": lambda: Network.of([1, 1], [[2]]),
        r"routes\[0\]: got a resource twice": lambda: Network.of([1], [[0, 0]]),
        r"capacity\[1\]: the resource is on no route": lambda: Network.of([1, 1], [[0]]),
        r"delay\[0\]: got 1000000000, .* to 100000": lambda: Network.single(1, 1, 10**9),
        r"sources: got 0": lambda: Network.single(1, 0),
        r"delay: got 3 values, expected one, or 2": lambda: Network.single(1, 2, [1, 2, 3]),
    }
    for message, make in refused.items():
        with pytest.raises(ModelError, match=message):
            make()


def test_invalid_iterations_are_refused() -> None:
    network = Network.single(1.0, 2)
    price = Loss(network.capacity)
    for law, message in (
        (Mkc(0, 0.5), r"alpha\[0\]: got 0"),
        (Mkc([1, -1], 0.5), r"alpha\[1\]: got -1"),
        (Kelly(-1, 1), r"kappa\[0\]: got -1"),
        (Aimd(1, 1.5), r"beta\[0\]: got 1.5, expected less than 1"),
        (Scalable(a=math.nan), r"a\[0\]: got nan"),
    ):
        with pytest.raises(ModelError, match=message):
            iterate(network, law, price, 1, 1)
    with pytest.raises(ModelError, match="start: nothing arrives at resource 0"):
        iterate(network, Mkc(1, 0.5), price, 0, 1)
    with pytest.raises(ModelError, match="watch: got source 2, expected 0 to 1"):
        iterate(network, Mkc(1, 0.5), price, 1, 1, watch=[2])
    with pytest.raises(ModelError, match="seed: got 18446744073709551616, expected 0 to"):
        iterate(network, Mkc(1, 0.5), price, 1, 1, seed=2**64)
    with pytest.raises(ModelError, match="delay: got 300000000 rates of 3000 sources"):
        iterate(Network.single(1.0, 3000, 10**5), Mkc(1, 0.5), price, 1, 1)
    with pytest.raises(ModelError, match="gain: got 0"):
        Virtual(network.capacity, 0)
