"""Water-filling: the defining property of max-min fairness, and textbook cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from marqueue.errors import ModelError
from marqueue.theory.allocation.maxmin import max_min


def test_a_parking_lot() -> None:
    # A long source over two links, one short source on each: the narrow link gives 5 each.
    usage = csr_array(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    filling = max_min(usage, np.array([10.0, 30.0]))
    assert filling.rates == pytest.approx([5, 5, 25])
    assert list(filling.bottleneck) == [0, 0, 1]


def test_weights_and_densities() -> None:
    # One CPU of 100 cycles/s, 1 and 4 cycles/bit, weights 2 and 1: 2t + 4t = 100.
    usage = csr_array(np.array([[1.0, 4.0]]))
    filling = max_min(usage, np.array([100.0]), np.array([2.0, 1.0]))
    assert filling.rates == pytest.approx([100 / 3, 50 / 3])


def test_a_source_without_a_limit_is_refused() -> None:
    usage = csr_array(np.array([[1.0, 0.0], [0.0, 1.0]]))
    with pytest.raises(ModelError, match="source 1: no resource"):
        max_min(usage, np.array([1.0, np.inf]))


@settings(max_examples=60)
@given(st.integers(1, 6), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_each_source_has_a_full_bottleneck_where_its_level_is_largest(
    m: int, n: int, seed: int
) -> None:
    # Bertsekas and Gallager: an allocation is max-min fair iff every source has a bottleneck.
    rng = np.random.default_rng(seed)
    routes = rng.random((m, n)) < 0.4
    routes[rng.integers(0, m, n), np.arange(n)] = True
    density = np.where(routes, rng.uniform(0.5, 3, (m, n)), 0.0)
    capacity, weight = rng.uniform(1, 50, m), rng.uniform(0.5, 2, n)
    filling = max_min(csr_array(density), capacity, weight)
    load = density @ filling.rates
    assert np.all(load <= capacity * (1 + 1e-9))
    share = filling.rates / weight
    for i, j in enumerate(filling.bottleneck):
        assert routes[j, i]
        assert load[j] == pytest.approx(capacity[j], rel=1e-9)
        assert share[i] >= share[routes[j]].max() * (1 - 1e-9)
