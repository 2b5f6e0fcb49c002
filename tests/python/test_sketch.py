"""The quantile sketch: its error against exact quantiles, and that parts may be merged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marqueue.statistics.estimates import ecdf, quantile
from marqueue.statistics.sketch import ERROR, QuantileSketch

values = st.lists(
    st.one_of(st.just(0.0), st.floats(1e-300, 1e300), st.floats(1e-6, 1e3)), max_size=200
)
shares = st.floats(0.0, 1.0)


@given(values, shares)
def test_a_quantile_is_within_the_error(of: list[float], share: float) -> None:
    found = QuantileSketch.of(np.array(of)).quantile(share)
    exact = quantile(of, share)
    if not of:
        assert np.isnan(found)
        assert np.isnan(exact)
    else:
        # What remains is the rounding of the interpolation.
        assert abs(found - exact) <= ERROR * exact * (1 + 1e-12)


@given(st.lists(values, max_size=5), shares)
def test_merged_sketches_are_that_of_all_values(parts: list[list[float]], share: float) -> None:
    together = QuantileSketch.of(np.array([value for part in parts for value in part]))
    merged = sum((QuantileSketch.of(np.array(part)) for part in parts), QuantileSketch())
    assert len(merged) == len(together)
    np.testing.assert_equal(merged.quantile(share), together.quantile(share))
    np.testing.assert_equal(merged.distribution(), together.distribution())


@given(values.filter(bool))
def test_the_distribution_is_within_the_error(of: list[float]) -> None:
    at, share = QuantileSketch.of(np.array(of)).distribution()
    exact, exact_share = ecdf(of)
    place = np.searchsorted(share, exact_share - 1e-12)
    assert np.all(np.abs(at[place] - exact) <= ERROR * exact * (1 + 1e-12))


def test_its_memory_does_not_grow_with_the_number_of_values() -> None:
    random = np.random.default_rng(1)
    sizes = [
        QuantileSketch.of(random.uniform(1e-3, 1e3, n)).counts.nbytes for n in (10_000, 1_000_000)
    ]
    # Six powers of ten are 691 bins of eight bytes.
    assert max(sizes) <= 8 * 692


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_it_refuses_what_it_has_no_bin_for(value: float) -> None:
    with pytest.raises(ValueError, match="finite values from 0"):
        QuantileSketch.of(np.array([1.0, value]))
