"""Where a transient ends, and batch means, on series whose truth is known."""

import math

import numpy as np
import pytest
from scipy.signal import lfilter

from marqueue.statistics.estimates import Estimate
from marqueue.statistics.output_analysis import BatchMeans, mser5

SERIES, SAMPLES = 300, 1000


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def autoregressive(rng: np.random.Generator, phi: float, samples: int) -> np.ndarray:
    """Stationary AR(1) series of mean zero: x(t) = phi x(t-1) + noise."""
    noise = rng.normal(size=(SERIES, samples))
    noise[:, 0] /= math.sqrt(1 - phi**2)
    return lfilter([1], [1, -phi], noise, axis=1)


def cuts(series: np.ndarray) -> np.ndarray:
    return np.array([mser5(each).samples for each in series])


class TestMser5:
    def test_is_the_least_of_whites_statistic(self, rng: np.random.Generator) -> None:
        """Against the formula as it is written, batch by batch."""
        for _ in range(50):
            x = rng.normal(size=203) + 4 * np.exp(-np.arange(203) / 30)
            batches = [x[i : i + 5].mean() for i in range(0, 200, 5)]
            rest = [np.array(batches[d:]) for d in range(20)]
            error = [((r - r.mean()) ** 2).sum() / len(r) ** 2 for r in rest]
            assert mser5(x).samples == 5 * int(np.argmin(error))

    def test_white_noise_is_hardly_cut(self, rng: np.random.Generator) -> None:
        noise = rng.normal(size=(SERIES, SAMPLES))
        found = cuts(noise)
        assert all(mser5(each).settled for each in noise)
        assert np.median(found) <= 5
        assert np.quantile(found, 0.95) <= 0.05 * SAMPLES

    def test_a_step_is_cut_off_whole(self, rng: np.random.Generator) -> None:
        step = 5.0 * (np.arange(SAMPLES) < 150)
        found = cuts(step + rng.normal(size=(SERIES, SAMPLES)))
        assert found.min() >= 150
        assert np.quantile(found, 0.9) <= 200

    def test_of_a_decay_little_is_left(self, rng: np.random.Generator) -> None:
        """What is left of a decay of 20 sigma is at most a few percent of a sigma in the mean."""
        decay = 20 * np.exp(-np.arange(SAMPLES) / 40)
        found = cuts(decay + rng.normal(size=(SERIES, SAMPLES)))
        bias = np.array([decay[cut:].mean() for cut in found])
        assert bias.max() < 0.08 < 0.1 * decay.mean()

    def test_a_trend_never_settles(self) -> None:
        cut = mser5(np.arange(float(SAMPLES)))
        assert not cut.settled
        assert cut.samples == SAMPLES // 2 - 5

    def test_a_step_in_the_second_half_is_not_settled(self, rng: np.random.Generator) -> None:
        late = 20.0 * (np.arange(SAMPLES) > 0.7 * SAMPLES)
        assert not any(mser5(late + rng.normal(size=SAMPLES)).settled for _ in range(SERIES))

    def test_a_constant_tail_is_kept_whole(self) -> None:
        assert mser5(np.full(SAMPLES, 0.1)).samples == 0
        ramp = np.minimum(np.arange(SAMPLES) / 100, 1.0) * 0.1
        cut = mser5(ramp)
        assert (cut.samples, cut.settled) == (100, True)

    def test_what_settles_at_the_middle_has_not_settled_before(self) -> None:
        for last, settled in [(495, True), (500, False)]:
            found = mser5(5.0 * (np.arange(SAMPLES) < last))
            assert (found.samples, found.settled) == (495, settled)

    def test_twenty_batches_are_enough(self) -> None:
        assert mser5(np.arange(100.0) < 10).samples == 10

    def test_a_short_series_is_refused(self) -> None:
        with pytest.raises(ValueError, match="got 99 samples, expected at least 100"):
            mser5(np.zeros(99))


class TestBatchMeans:
    def test_a_worked_example(self) -> None:
        """0 to 22 in four batches: 3 to 7, 8 to 12, 13 to 17, 18 to 22."""
        e = BatchMeans.over(np.arange(23.0), 4)
        means = np.array([5, 10, 15, 20])
        assert (e.mean, e.half_width) == (12.5, Estimate.of(means).half_width)
        # Deviations -7.5, -2.5, 2.5, 7.5: products 18.75 - 6.25 + 18.75, squares 125.
        assert e.lag1 == pytest.approx(31.25 / 125)

    def test_two_batches_are_the_fewest_and_twenty_the_usual(self) -> None:
        two = BatchMeans.over(np.array([1.0, 3.0]), 2, 0.9)
        assert (two.mean, two.n, two.confidence) == (2, 2, 0.9)
        assert two.half_width == Estimate.of([1, 3], 0.9).half_width
        assert BatchMeans.over(np.arange(45.0)).n == 20
        assert BatchMeans.over(np.arange(45.0)).mean == 25 - 0.5, "the last forty"

    def test_autocorrelation_has_no_unit(self) -> None:
        series = np.arange(23.0)
        seconds, hours = BatchMeans.over(series, 4), BatchMeans.over(series / 3600, 4)
        assert hours.lag1 == pytest.approx(seconds.lag1)

    def test_correlated_samples_are_covered_where_batches_are_long(
        self, rng: np.random.Generator
    ) -> None:
        """With 200 samples in a batch and a memory of ten, batch means are nearly independent.

        Of 300 intervals 95% cover with a standard deviation of 1.3%: three of them are allowed.
        Intervals that take the samples for independent cover less than half as often.
        """
        series = autoregressive(rng, 0.9, 4000)
        batched = [BatchMeans.over(x) for x in series]
        assert np.mean([abs(e.mean) <= e.half_width for e in batched]) == pytest.approx(
            0.95, abs=0.04
        )
        assert np.mean([e.independent for e in batched]) > 0.9
        naive = [Estimate.of(x) for x in series]
        assert np.mean([abs(e.mean) <= e.half_width for e in naive]) < 0.5

    def test_short_batches_are_found_out(self, rng: np.random.Generator) -> None:
        """Batches no longer than the memory: the intervals are too narrow, and it shows."""
        batched = [BatchMeans.over(x) for x in autoregressive(rng, 0.99, 2000)]
        assert np.mean([abs(e.mean) <= e.half_width for e in batched]) < 0.9
        assert np.mean([e.independent for e in batched]) < 0.6

    def test_what_is_alike_has_no_autocorrelation(self) -> None:
        e = BatchMeans.over(np.ones(40))
        assert (e.mean, e.half_width, e.independent) == (1, 0, True)
        assert math.isnan(e.lag1)

    @pytest.mark.parametrize(("samples", "batches"), [(19, 20), (10, 1)])
    def test_too_little_is_refused(self, samples: int, batches: int) -> None:
        with pytest.raises(ValueError, match="expected"):
            BatchMeans.over(np.zeros(samples), batches)
