"""Stability under delays: Theorem 1 and its limits, conditions and exact boundaries, no loss."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marqueue.errors import ModelError
from marqueue.theory.mkc import (
    Aimd,
    Kelly,
    Loss,
    Mkc,
    Network,
    Power,
    StabilityWarning,
    Virtual,
    equilibrium,
    iterate,
    linear,
    lossfree,
    paper_data,
)
from marqueue.theory.mkc.delay_independent_stability import (
    jacobian,
    judge,
    least_norm,
    search,
    symmetriser,
)
from marqueue.theory.mkc.linear import delayed_system
from marqueue.theory.mkc.report import report

seeds = st.integers(0, 2**32 - 1)


def symmetric(rng: np.random.Generator, radius: float) -> np.ndarray:
    a = rng.standard_normal((4, 4))
    a = a + a.T
    return a * radius / np.abs(np.linalg.eigvalsh(a)).max()


@settings(max_examples=15)
@given(seeds)
def test_theorem_1_no_delays_make_a_symmetric_stable_matrix_unstable(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = symmetric(rng, 0.999)
    assert judge(a).answer == "stable under any delays"
    assert search(a, rng, tries=8, longest=5) is None


@settings(max_examples=15)
@given(seeds)
def test_theorem_1_delays_do_not_make_an_unstable_one_stable_for_all_of_them(seed: int) -> None:
    a = symmetric(np.random.default_rng(seed), 1.001)
    assert judge(a).answer == "unstable without delays"
    equal = delayed_system(a, np.full(4, 2), np.full(4, 1))
    assert equal.radius() == pytest.approx(1.001 ** (1 / 3))


def test_a_counterexample_that_is_not_symmetric() -> None:
    # Nilpotent: without delays it is at rest after two steps. With round trips of 2 and 1,
    # z^2 + 0.9 z - 0.9 = 0 has the root (-0.9 - sqrt(4.41)) / 2 = -1.5.
    a = np.array([[0.9, 0.9], [-0.9, -0.9]])
    verdict = judge(a)
    assert verdict.radius < 1e-7
    assert verdict.answer == "not decided"
    assert verdict.norm == pytest.approx(1.8, rel=1e-3)
    assert delayed_system(a, [1, 0], [1, 1]).radius() == pytest.approx(1.5)
    assert search(a, np.random.default_rng(1), tries=50, longest=3) is not None


@settings(max_examples=15)
@given(seeds)
def test_a_diagonal_that_makes_a_matrix_symmetric_is_found_and_suffices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = rng.uniform(0.2, 5, 4)
    a = symmetric(rng, 0.99) / s[:, None] * s[None, :]
    found = symmetriser(a)
    assert found is not None
    assert found / found[0] == pytest.approx(s / s[0], rel=1e-5)
    assert judge(a).answer == "stable under any delays"
    assert search(a, rng, tries=8, longest=5) is None


@settings(max_examples=15)
@given(seeds)
def test_a_norm_below_1_suffices_for_any_matrix(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((3, 3))
    a *= 0.99 / least_norm(a)
    assert judge(a).answer == "stable under any delays"
    assert search(a, rng, tries=8, longest=5) is None


def test_corollary_1_finds_the_jacobian_of_a_function() -> None:
    network = Network.single(1e6, 3)
    price = Loss(network.capacity)

    def emkc(x: np.ndarray) -> np.ndarray:
        return x + 1e4 - 0.5 * price(x.sum()) * x

    point = equilibrium.mkc_fixed_point(network, Mkc(1e4, 0.5), price)
    found = jacobian(emkc, point.rates)
    # (38): a - b = 1 - beta p*, and all of b is -beta x* C / X*^2.
    p, total = point.prices[0], point.arrivals[0]
    b = -0.5 * point.rates[0] * 1e6 / total**2
    assert found == pytest.approx(np.eye(3) * (1 - 0.5 * p) + b, abs=1e-6)
    assert judge(found).answer == "stable under any delays"
    assert judge(found).radius == pytest.approx(1 - 0.5 * p)


@pytest.mark.parametrize("delay", [1, 2, 3, 4, 9])
def test_condition_3_is_exact_for_one_source(delay: int) -> None:
    network = Network.single(1e9, 1, delay)
    price = Loss(network.capacity)
    found = report(network, Kelly(0.5, 10e6), price)
    third, fourth = found.conditions
    assert third.values == pytest.approx([0.5])  # p + p' X = 1 with the loss (5)
    assert third.high == pytest.approx([2 * math.sin(math.pi / (2 * (2 * delay - 1)))])
    assert found.scale == pytest.approx(found.allowed, rel=1e-6)
    assert found.stable == third.holds == (delay <= 3)
    # (4) is called necessary in the paper. It is not: between it and (3) the map is stable.
    assert fourth.high[0] < third.high[0]


@settings(max_examples=10)
@given(seeds)
def test_conditions_3_and_4_hold_only_where_kelly_is_stable(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    network = Network.of(rng.uniform(1, 9, 2), [[0], *([[0, 1]] * n)], rng.integers(1, 6, n + 1))
    price = Power(network.capacity, float(rng.uniform(0.5, 3)))
    law = Kelly(rng.uniform(0.5, 1.5, n + 1), rng.uniform(0.1, 1, n + 1))
    point = equilibrium.kelly_fixed_point(network, law, price)
    for condition in report(network, law, price).conditions:
        scale = 0.999 / condition.share
        assert linear.linearize_kelly(point, law, price, scale).radius() < 1


def test_theorem_4_bounds_beta_over_all_delays_not_over_each() -> None:
    price = Loss(np.array([1e6]))
    equal = report(Network.single(1e6, 3, 4), Mkc(1e4, 1.0), price)
    assert equal.scale == pytest.approx(2, rel=1e-6)
    assert equal.allowed == pytest.approx(2, rel=1e-6)
    with pytest.warns(StabilityWarning):
        beyond = report(Network.single(1e6, 2, [1, 2]), Mkc(1e5, 2.05), price)
    # det: z^3 - ... has its roots inside until beta = 2.069.
    assert beyond.stable
    assert not beyond.conditions[0].holds
    assert beyond.any_delay[0][1].answer == "unstable without delays"


@settings(max_examples=15)
@given(seeds)
def test_theorem_3_on_any_routes_under_any_delays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    routes = [[0], [1], *[[[0], [1], [0, 1]][int(rng.integers(3))] for _ in range(n)]]
    delay = rng.integers(1, 5, n + 2)
    forward = [[int(rng.integers(d)) for _ in r] for d, r in zip(delay, routes, strict=True)]
    network = Network.of(rng.uniform(1, 9, 2), routes, delay, forward)
    law = Mkc(rng.uniform(0.05, 0.3), float(rng.uniform(0.1, 1.9)))
    found = report(network, law, Loss(network.capacity))
    assert all(condition.holds for condition in found.conditions)
    assert found.stable
    assert all(each.answer == "stable under any delays" for _, each in found.any_delay)
    # On one bottleneck (32) is beta itself (48); others that pass through only lower it.
    assert found.conditions[2].values.max() <= np.max(law.beta) * (1 + 1e-12)


def test_with_a_steep_price_theorem_3_says_where_mkc_becomes_unstable() -> None:
    network = Network.single(1.0, 4, 3)
    found = report(network, Mkc(0.05, 0.5), Power(network.capacity, 4.0))
    assert found.scale == pytest.approx(found.allowed, rel=1e-6)
    # x* = alpha / (beta p*) and p = X^4: beta p (1 + 4) = 2 at the boundary.
    scaled = Mkc(0.05, 0.5 * found.allowed)
    point = equilibrium.mkc_fixed_point(network, scaled, Power(network.capacity, 4.0))
    assert 0.5 * found.allowed * point.prices[0] * 5 == pytest.approx(2)


@pytest.mark.parametrize("n", [1, 3, 40])
@pytest.mark.parametrize("delay", [1, 4, 12])
def test_adaptive_prices_settle_at_gamma_c_whatever_n_is(n: int, delay: int) -> None:
    network = Network.single(10e6, n, 1 + np.arange(n) % delay)
    price = Virtual(network.capacity, lossfree.safe_gain(delay) / 2, 0.98)
    done = iterate(network, Mkc(10e3, 0.5), price, 10e6 / n, 2500)
    assert done.arrivals[-1] == pytest.approx([9.8e6], rel=1e-6)
    point = lossfree.fixed_point(network, Mkc(10e3, 0.5), price)
    assert point.arrivals == pytest.approx([9.8e6])
    assert point.loss == pytest.approx([0])
    assert point.prices == pytest.approx([n * 10e3 / (0.5 * 9.8e6)])


@pytest.mark.parametrize("beta", [0.05, 0.5, 1.0, 1.4, 1.9])
@pytest.mark.parametrize("delay", [1, 2, 5, 9])
def test_the_critical_gain_is_where_the_companion_matrix_says(beta: float, delay: int) -> None:
    gain = lossfree.critical_gain(beta, delay)
    network = Network.single(1e6, 1, delay)
    point = lossfree.fixed_point(network, Mkc(1e3, beta), Virtual(network.capacity, 0.1))
    for share, stable in ((1 - 1e-4, True), (1 + 1e-4, False)):
        price = Virtual(network.capacity, gain * share)
        assert (linear.linearize_adaptive(point, Mkc(1e3, beta), price).radius() < 1) == stable
    if beta <= 1:
        assert lossfree.safe_gain(delay) <= gain * (1 + 1e-12) <= 2 / (delay + 1) * (1 + 1e-9)
    if beta == 1:
        assert gain == pytest.approx(lossfree.safe_gain(delay))


@settings(max_examples=40)
@given(seeds)
def test_any_gain_below_the_critical_one_of_the_longest_delay_is_stable(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, beta, target = int(rng.integers(1, 5)), float(rng.uniform(0.02, 1)), rng.uniform(0.7, 1)
    delay = rng.integers(1, 7, n)
    network = Network.single(1e6, n, delay, [int(rng.integers(d)) for d in delay])
    # Any alpha with V* >= 0.
    law = Mkc(float(rng.uniform(0.001, 1)) * target * 1e6 * beta / n, beta)
    price = Virtual(network.capacity, 0.999 * lossfree.critical_gain(beta, delay.max()), target)
    point = lossfree.fixed_point(network, law, price)
    assert linear.linearize_adaptive(point, law, price).radius() < 1


def test_the_map_with_adaptive_prices_agrees_with_its_boundary() -> None:
    network = Network.single(1e6, 2, 4)
    gain = lossfree.critical_gain(0.5, 4)
    amplitude = []
    for share in (0.9, 1.1):
        done = iterate(network, Mkc(1e3, 0.5), Virtual(network.capacity, share * gain), 4.9e5, 3000)
        amplitude.append(np.ptp(done.arrivals[-200:, 0]))
    # Beyond the boundary the bounds of V stop the growth of an oscillation, which stays.
    assert amplitude[0] < 1e-6 * amplitude[1]
    assert amplitude[1] > 1e4


def test_steady_loss_against_n() -> None:
    emkc, free = paper_data.steady_loss(False), paper_data.steady_loss(True)
    # The slowest mode, 1 - beta p* a round trip, keeps exp(-3000 0.002 / 2) = 5 % of a deviation at
    # N = 2, less at more; sources that start alike do not deviate by more than p*.
    assert emkc.iterated == pytest.approx(emkc.theory, rel=0.05)
    assert np.all(np.diff(emkc.theory) > 0)
    # V* < 0 from N = beta gamma C / alpha = 490 on; then alpha / beta each.
    assert free.iterated[free.sources < 490] == pytest.approx(0, abs=1e-9)
    assert free.theory == pytest.approx(free.iterated, abs=1e-9)


def test_cases_without_a_result_raise_errors() -> None:
    network = Network.single(1e6, 2)
    with pytest.raises(ModelError, match="law: got aimd"):
        report(network, Aimd(1, 0.5), Loss(network.capacity))
    with pytest.raises(ModelError, match=r"jacobian: got the shape \(2, 3\)"):
        judge(np.zeros((2, 3)))
    large = report(Network.single(1e9, 300, 100), Mkc(1e4, 0.5), Loss(np.array([1e9])))
    assert large.radius is None
    assert large.verdict == "not computed: 300 sources with delays of up to 100 are too many"
    tied = Network.of([1e6, 1e6], [[0, 1]])
    assert "has the same price at two" in report(tied, Mkc(1, 1.0), Loss(tied.capacity)).verdict
