import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from marqueue.statistics.estimates import (
    Estimate,
    differences,
    ecdf,
    jain,
    plain,
    quantile,
    ratio_terms,
    student_t,
)

#: Squares of less than 1e-150 lose digits, which no measured value comes near.
values = st.floats(-1e6, 1e6).map(lambda v: v if abs(v) > 1e-150 else 0.0)
shares = st.floats(0, 1)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99, 0.999])
@pytest.mark.parametrize("n", [2, 2.5, 3, 4.7, 10, 100, 1000.5, 1002, 10_000, 1e8])
def test_student_quantiles_are_those_of_scipy(n: float, confidence: float) -> None:
    expected = scipy.stats.t.ppf(0.5 + confidence / 2, n - 1)
    assert student_t(n, confidence) == pytest.approx(expected, rel=1e-11)


class TestEstimate:
    def test_a_worked_example(self) -> None:
        """The t table has 2.776 for 95% and 4 degrees of freedom."""
        e = Estimate.of([1, 2, 3, 4, 5])
        assert e.mean == 3
        assert e.half_width == pytest.approx(2.7764451 * math.sqrt(2.5 / 5))
        assert e.interval == pytest.approx((3 - e.half_width, 3 + e.half_width))

    def test_one_replication_has_no_interval(self) -> None:
        e = Estimate.of([0.5])
        assert (e.half_width, e.interval, str(e)) == (None, None, "0.5000")

    def test_what_does_not_exist_is_not_counted(self) -> None:
        assert Estimate.of([1.0, math.nan, 3.0]).n == 2
        nothing = Estimate.of([math.nan])
        assert str(nothing) == "–"
        assert nothing.as_dict() == {"mean": None, "half_width": None, "n": 0}

    def test_an_interval_keeps_its_confidence_and_its_number_of_replications(self) -> None:
        a, b = np.array([1.0, 2, 4]), np.array([2.0, 5])
        for e, n in [
            (Estimate.of(a, 0.9), 3),
            (Estimate.of([1.0], 0.9), 1),
            (Estimate.of([], 0.9), 0),
            (Estimate.ratio([1, 2, 5], [2, 0, 4], 0.9), 2),
            (Estimate.ratio([1, 2], [2, 0], 0.9), 1),
            (Estimate.ratio([1], [0], 0.9), 0),
            (Estimate.welch(a, b, 0.9), 2),
            (Estimate.welch(a, b[:1], 0.9), 1),
            (Estimate.welch(a, b[:0], 0.9), 0),
            (Estimate.welch(np.ones(3), np.ones(2), 0.9), 2),
        ]:
            assert (e.confidence, e.n) == (0.9, n)
            assert math.isnan(e.mean) == (n == 0)
            assert (e.half_width is None) == (n < 2)
            if e.half_width:
                wider = Estimate.from_dict(e.as_dict() | {"half_width": 1.0}, 0.9)
                assert wider == Estimate(e.mean, 1.0, n, 0.9)
        assert Estimate.welch(a, np.array([2.0])).mean == pytest.approx(2 - 7 / 3)
        assert Estimate.ratio([1, 2], [2, 0]).mean == 0.5

    def test_in_another_unit_the_interval_has_the_same_relative_width(self) -> None:
        e = Estimate(3.0, 0.5, 7, 0.9)
        assert e.scaled(1000) == Estimate(3000.0, 500.0, 7, 0.9)
        assert e.scaled(-2) == Estimate(-6.0, 1.0, 7, 0.9)
        assert Estimate(3.0, None, 1, 0.9).scaled(2) == Estimate(6.0, None, 1, 0.9)

    def test_what_is_written_to_json_is_read_back(self) -> None:
        for e in [Estimate(3.0, 0.5, 7), Estimate(3.0, None, 1)]:
            assert Estimate.from_dict(e.as_dict()) == e
        nothing = Estimate.from_dict({"mean": None, "half_width": None, "n": None}, 0.9)
        assert math.isnan(nothing.mean)
        assert (nothing.half_width, nothing.n, nothing.confidence) == (None, 0, 0.9)

    def test_intervals_cover_the_truth_as_often_as_they_say(self) -> None:
        rng = np.random.default_rng(1)
        intervals = [Estimate.of(rng.normal(7, 3, 4)).interval for _ in range(4000)]
        covered = np.mean([low <= 7 <= high for low, high in intervals if low is not None])
        assert covered == pytest.approx(0.95, abs=0.012)

    def test_intervals_of_a_queue_cover_its_mean(self) -> None:
        """1000 experiments of ten replications of the queue M/M/1, whose mean wait is known.

        What is averaged in a replication are 2000 correlated waits from Lindley's recursion,
        skewed to the right and nothing like normal: it shows that the mean of a replication is
        near enough to normal, at a load of one half, for Student's interval over ten of them. It
        does not show that a warm-up is long enough (each begins in its stationary state), nor
        that the same holds near saturation or for quantiles. The share of intervals that cover
        has a standard deviation of 0.7%.
        """
        experiments, replications, customers = 1000, 10, 2000
        arrival, service = 0.5, 1.0
        rng = np.random.default_rng(1)
        shape = experiments, replications
        busy = rng.random(shape) < arrival / service
        wait = np.where(busy, rng.exponential(1 / (service - arrival), shape), 0.0)
        total = np.zeros(shape)
        for _ in range(customers):
            total += wait
            change = rng.exponential(1 / service, shape) - rng.exponential(1 / arrival, shape)
            wait = np.maximum(wait + change, 0.0)
        truth = arrival / (service * (service - arrival))
        intervals = [Estimate.of(means).interval for means in total / customers]
        covered = np.mean([each is not None and each[0] <= truth <= each[1] for each in intervals])
        assert 0.93 < covered < 0.97

    @given(st.lists(st.tuples(values, st.floats(0, 100)), min_size=1, max_size=9))
    def test_the_terms_of_a_ratio_have_its_mean_and_interval(
        self, pairs: list[tuple[float, float]]
    ) -> None:
        pairs = [(y, x if x > 0.5 else 0.0) for y, x in pairs]
        y, x = zip(*pairs, strict=True)
        terms, ratio = Estimate.of(ratio_terms(y, x)), Estimate.ratio(y, x)
        scale = 1e-9 * max(1.0, *map(abs, y))
        assert terms.n == ratio.n
        assert terms.mean == pytest.approx(ratio.mean, abs=scale, nan_ok=True)
        assert terms.half_width == (
            None if ratio.half_width is None else pytest.approx(ratio.half_width, abs=100 * scale)
        )

    def test_a_ratio_needs_both_sums_of_each_replication(self) -> None:
        with pytest.raises(ValueError, match="argument 2 is shorter"):
            Estimate.ratio([1, 2], [1])

    def test_the_terms_of_a_ratio_are_those_of_its_replications(self) -> None:
        """r = 1/2; the second replication has more than its share, the third nothing to divide."""
        terms = ratio_terms([1, 3, 7], [4, 4, 0])
        assert terms[:2] == pytest.approx([0.5 - 1 / 4, 0.5 + 1 / 4])
        assert math.isnan(terms[2])

    def test_the_difference_of_independent_means(self) -> None:
        """Variances 1 and 4 of three values each.

        (1/3 + 4/3)^2 / ((1/3)^2 / 2 + (4/3)^2 / 2) = 50/17 degrees of freedom.
        """
        e = Estimate.welch(np.array([1.0, 2, 3]), np.array([2.0, 4, 6]))
        assert e.mean == 2
        assert e.half_width == pytest.approx(student_t(50 / 17 + 1, 0.95) * math.sqrt(5 / 3))
        assert Estimate.welch(np.array([1.0]), np.array([2.0, 4])).half_width is None
        assert Estimate.welch(np.array([math.nan]), np.array([2.0])).n == 0
        assert Estimate.welch(np.ones(3), np.ones(2)).interval == (0, 0)

    @given(st.lists(values, min_size=2, max_size=9), st.floats(0.5, 100))
    def test_with_equal_denominators_a_ratio_is_a_mean(self, y: list[float], x: float) -> None:
        ratio, mean = Estimate.ratio(y, [x] * len(y)), Estimate.of(np.array(y) / x)
        scale = max(map(abs, y)) / x
        assert ratio.mean == pytest.approx(mean.mean, abs=1e-9 * scale)
        assert ratio.half_width == pytest.approx(mean.half_width, abs=1e-6 * scale)

    def test_a_ratio_weighs_packets_alike(self) -> None:
        """10 of 100 and 0 of 900 packets are 1%, not 5%."""
        e = Estimate.ratio([10, 0], [100, 900])
        assert e.mean == pytest.approx(0.01)
        # Residuals 9 and -9 around it: s = sqrt(162), mean of the denominators 500, t = 12.706.
        assert e.half_width == pytest.approx(12.7062047 * math.sqrt(162) / (math.sqrt(2) * 500))

    @pytest.mark.parametrize(
        ("mean", "half", "text"),
        [
            (0.98031, 0.00042, "0.9803 ± 0.0004"),
            (0.98031, 0.00013, "0.98031 ± 0.00013"),
            (12345.6, 130, "12350 ± 130"),
            (12345.6, 900, "12300 ± 900"),
            (34.2, 6.1, "34 ± 6"),
            (8.17e-5, 2.1e-7, "(8.17 ± 0.02)·10⁻⁵"),
            (10, 0, "10 ± 0"),
            (0, 0, "0 ± 0"),
            (1 - 1e-15, 1e-13, "1 ± 0"),
            (1.5, None, "1.500"),
            (1490, None, "1490"),
            (3.2e-6, None, "3.200·10⁻⁶"),
            (math.inf, 1.0, "–"),
            (0.0012, 0.0003, "0.0012 ± 0.0003"),
            (0.00012, 0.00003, "(1.2 ± 0.3)·10⁻⁴"),
            (0.0001, 0.003, "0.000 ± 0.003"),
            (-34.2, 6.1, "-34 ± 6"),
            (1e6, 2e-3, "1000000.000 ± 0.002"),
            (0.1, 2e-9, "0.100000000 ± 0.000000002"),
            (0.1, 1.6e-10, "0.1000000000 ± 0.0000000002"),
            (0.1, 9e-11, "0.1000 ± 0"),
            # A link that is full but for what is rounded off of the last packet.
            (0.99999999998, 1.4e-10, "1 ± 0"),
            (1.23456e-8, 1e-20, "1.235·10⁻⁸ ± 0"),
            (0.002, 5e-12, "0.002000000000 ± 0.000000000005"),
        ],
    )
    def test_is_written_with_the_digits_that_mean_something(
        self, mean: float, half: float | None, text: str
    ) -> None:
        assert str(Estimate(mean, half, 3)) == text

    @given(st.floats(-1e300, 1e300))
    def test_plain_numbers_keep_four_digits(self, x: float) -> None:
        text = plain(x)
        for power, digit in zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True):
            text = text.replace(power, digit)
        read = float(text.replace("·10", "e"))
        assert read == pytest.approx(x, rel=6e-4, abs=1e-300)


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (math.nan, "–"),
        (0, "0"),
        (-3.0, "-3"),
        (999_999_999.0, "999999999"),
        (1e9, "1.000·10⁹"),
        (123_456_789.5, "123456790"),
        (12.345, "12.35"),
        (0.98765, "0.9877"),
        (0.001234, "0.001234"),
        (0.0009876, "9.876·10⁻⁴"),
    ],
)
def test_a_plain_number_has_an_exponent_where_it_is_shorter(x: float, text: str) -> None:
    assert plain(x) == text


class TestFairness:
    @given(arrays(float, st.integers(1, 50), elements=st.floats(0, 1e300)))
    def test_lies_between_one_of_n_and_one(self, x: np.ndarray) -> None:
        assume(x.any())
        assert 1 / len(x) - 1e-12 <= jain(x) <= 1 + 1e-12

    def test_extremes(self) -> None:
        assert jain([3, 3, 3]) == pytest.approx(1)
        assert jain([0, 0, 0, 9]) == pytest.approx(1 / 4)
        assert jain([0, 5e-324]) == 0.5
        assert math.isnan(jain([]))
        assert math.isnan(jain([0, 0]))

    def test_a_worked_example(self) -> None:
        assert jain([1, 2, 3]) == pytest.approx(36 / (3 * 14))


@given(st.lists(values, min_size=1))
def test_the_ecdf_counts_values_at_most_that_large(x: list[float]) -> None:
    v, share = ecdf(x)
    for value, f in zip(v, share, strict=True):
        assert np.mean(np.array(x) < value) < f <= np.mean(np.array(x) <= value) + 1e-12
    assert share[-1] == 1


def test_an_ecdf_leaves_out_what_does_not_exist() -> None:
    v, share = ecdf([3.0, math.nan, 1.0])
    assert (list(v), list(share)) == ([1, 3], [0.5, 1])
    assert [len(part) for part in ecdf([])] == [0, 0]


def test_a_sample_quantile_is_linear_between_values() -> None:
    assert quantile([4.0, 1.0, 2.0], 0.75) == 3
    assert math.isnan(quantile([], 0.5))


def test_a_difference_that_rounding_explains_is_zero() -> None:
    third = 0.1 + 0.2
    assert differences([third, 1.0, 0.0, -2.0], [0.3, 1 - 1e-16, 1e-17, -2.5]).tolist() == [
        0, 0, 1e-17, -0.5
    ]  # fmt: skip
    assert str(Estimate.welch(np.array([third, 0.3, 0.3]), np.array([0.3, 0.3]))) == "0 ± 0"
    assert str(Estimate.welch(np.array([1.0, 1.5]), np.array([1.0, 1.5]))) != "0 ± 0"
    assert math.isnan(differences([math.nan], [1.0])[0])
