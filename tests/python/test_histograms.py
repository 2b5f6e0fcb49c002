import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from marqueue.statistics.histograms import (
    BIN_WIDTH,
    DelayCounts,
    Delays,
    LevelTimes,
    merge_times,
)

shares = st.floats(0, 1)
#: Whole seconds at each queue length, not all of them zero.
times = arrays(float, st.integers(1, 30), elements=st.integers(0, 50).map(float)).filter(
    lambda t: t.sum() > 0
)


def delays_of(sample: list[float]) -> Delays:
    """A sample as the engine records it: bins of 1/128 of a power of two, by their upper edges."""
    x = np.array(sample)
    width = 2.0 ** np.floor(np.log2(x)) / 128
    upper, counts = np.unique((np.floor(x / width) + 1) * width, return_counts=True)
    return Delays(len(x), float(x.sum()), float((x**2).sum()), upper, counts.astype(np.int64))


samples = st.lists(st.floats(1e-6, 10), min_size=1, max_size=40)


def same(a: Delays, b: Delays) -> bool:
    return (
        a.count == b.count
        and math.isclose(a.total, b.total)
        and math.isclose(a.total_sq, b.total_sq)
        and np.array_equal(a.upper, b.upper)
        and np.array_equal(a.counts, b.counts)
    )


def mean(times: np.ndarray) -> float:
    return LevelTimes.of(times).means[0]


def std(times: np.ndarray) -> float:
    return LevelTimes.of(times).stds[0]


def level(times: np.ndarray, share: float) -> float:
    return LevelTimes.of(times).quantiles(share)[0]


class TestQueueHistogram:
    @given(times)
    def test_moments_are_those_of_the_sample(self, t: np.ndarray) -> None:
        sample = np.repeat(np.arange(len(t)), t.astype(int))
        assert mean(t) == pytest.approx(sample.mean())
        assert std(t) == pytest.approx(sample.std(), abs=1e-9)

    @given(times, shares)
    def test_quantiles_are_those_of_the_sample(self, t: np.ndarray, share: float) -> None:
        sample = np.repeat(np.arange(len(t)), t.astype(int))
        assume(abs(share * len(sample) - round(share * len(sample))) > 1e-6)
        assert level(t, share) == np.quantile(sample, share, method="inverted_cdf")

    @given(times, shares, shares)
    def test_quantiles_rise(self, t: np.ndarray, a: float, b: float) -> None:
        assert level(t, min(a, b)) <= level(t, max(a, b))

    @given(times, times, times)
    def test_merging_is_associative(self, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
        left = merge_times([merge_times([a, b]), c])
        assert np.array_equal(left, merge_times([a, merge_times([b, c])]))
        assert left.sum() == a.sum() + b.sum() + c.sum()

    def test_a_worked_example(self) -> None:
        """Empty for 2 s, one packet for 1 s, two for 1 s."""
        t = np.array([2.0, 1.0, 1.0])
        assert mean(t) == 0.75
        assert std(t) == pytest.approx(math.sqrt(5 / 4 - 0.75**2))
        levels = [level(t, share) for share in (0.0, 0.5, 0.50001, 0.75, 0.76, 1.0)]
        assert levels == [0, 0, 1, 1, 2, 2]
        assert list(merge_times([t, np.array([1.0])])) == [3, 1, 1]
        assert len(merge_times([])) == 0

    def test_without_time_there_is_no_figure(self) -> None:
        for figure in (
            level(np.zeros(0), 0.5),
            std(np.zeros(0)),
            mean(np.zeros(0)),
            std(np.zeros(3)),
            level(np.zeros(3), 0.5),
        ):
            assert math.isnan(figure)


class TestDelays:
    @given(samples, samples, samples)
    def test_merging_is_associative(self, a: list[float], b: list[float], c: list[float]) -> None:
        x, y, z = map(delays_of, (a, b, c))
        assert same((x + y) + z, x + (y + z))
        assert same(x + y, delays_of(a + b))

    @given(samples)
    def test_moments_are_those_of_the_sample(self, sample: list[float]) -> None:
        d = delays_of(sample)
        assert d.mean == pytest.approx(np.mean(sample))
        assert d.std == pytest.approx(np.std(sample), abs=1e-6 * max(sample))

    @given(samples, shares, shares)
    def test_quantiles_rise(self, sample: list[float], a: float, b: float) -> None:
        d = delays_of(sample)
        assert d.quantile(min(a, b)) <= d.quantile(max(a, b)) * (1 + 1e-12)

    @given(samples, st.floats(0.001, 1))
    def test_quantiles_are_within_a_bin_of_the_sample(
        self, sample: list[float], share: float
    ) -> None:
        exact = np.quantile(sample, share, method="inverted_cdf")
        assume(abs(share * len(sample) - round(share * len(sample))) > 1e-6)
        assert delays_of(sample).quantile(share) == pytest.approx(exact, rel=1.01 * BIN_WIDTH)

    def test_a_quantile_is_linear_within_a_bin(self) -> None:
        """Bins up to 1 and 2 s, which begin 1/128 below; the third begins where the second ends."""
        two = Delays(4, 0.0, 0.0, np.array([1.0, 2.0]), np.array([1, 3]))
        begin = [1 - 1 / 128, 2 - 2 / 128]
        assert two.quantile(0) == pytest.approx(begin[0])
        assert two.quantile(0.125) == pytest.approx((begin[0] + 1) / 2)
        assert two.quantile(0.25) == 1
        assert two.quantile(0.5) == pytest.approx(begin[1] + (2 - begin[1]) / 3)
        assert two.quantile(1) == 2
        next_to = Delays(2, 0.0, 0.0, np.array([1.0, 1.001]), np.array([1, 1]))
        assert next_to.quantile(0.75) == pytest.approx(1.0005)

    def test_without_packets_there_is_no_figure(self) -> None:
        none = Delays(0, 0.0, 0.0, np.zeros(0), np.zeros(0, dtype=np.int64))
        assert all(math.isnan(x) for x in (none.mean, none.std, none.quantile(0.5)))
        empty = Delays(0, 0.0, 0.0, np.array([1.0]), np.array([0]))
        assert math.isnan(empty.quantile(0.5))
        ahead = Delays(1, 1.0, 1.0, np.array([0.5, 1.0]), np.array([0, 1]))
        assert ahead.quantile(0) == pytest.approx(0.5 * (1 - 1 / 128))

    def test_equal_delays_have_no_deviation(self) -> None:
        """Rounding may take the mean of the squares below the square of the mean."""
        assert Delays(3, 0.3, 0.03 - 1e-17, np.array([0.1]), np.array([3])).std == 0


@given(
    st.lists(arrays(float, st.integers(0, 9), elements=st.integers(0, 5).map(float)), max_size=9),
    shares,
)
def test_the_times_of_many_queues_have_the_figures_of_each(
    each: list[np.ndarray], share: float
) -> None:
    alone = [LevelTimes.of(times) for times in each]
    together = LevelTimes(
        np.concatenate([np.empty(0, int), *(one.levels for one in alone)]),
        np.concatenate([np.empty(0), *(one.seconds for one in alone)]),
        np.cumsum([0, *(len(one.levels) for one in alone)]),
    )
    for figure in (
        lambda many: many.means,
        lambda many: many.stds,
        lambda many: many.quantiles(share),
    ):
        expected = [figure(one)[0] for one in alone]
        np.testing.assert_array_equal(figure(together), expected)


@given(st.lists(st.one_of(samples, st.just([])), max_size=9), shares)
def test_the_delays_of_many_queues_have_the_figures_of_each(
    each: list[list[float]], share: float
) -> None:
    alone = [delays_of(sample) for sample in each]
    together = DelayCounts(
        np.array([one.count for one in alone], dtype=np.int64),
        np.array([one.total for one in alone]),
        np.array([one.total_sq for one in alone]),
        np.concatenate([np.empty(0), *(one.upper for one in alone)]),
        np.concatenate([np.empty(0, int), *(one.counts for one in alone)]),
        np.cumsum([0, *(len(one.upper) for one in alone)]),
    )
    np.testing.assert_array_equal(together.mean, [one.mean for one in alone])
    np.testing.assert_array_equal(together.std, [one.std for one in alone])
    np.testing.assert_array_equal(together.quantile(share), [one.quantile(share) for one in alone])
