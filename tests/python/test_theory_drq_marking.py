"""The marking of DRQ over a path: the recursion compared with all sequences of draws; limits."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marqueue.theory.drq.marking import approximation, errors, marking, objective


def by_enumeration(u: list[float]) -> float:
    """The probability of 11: every sequence of draws, two a resource, by the rules of figure 3."""
    total = 0.0
    for draws in product((False, True), repeat=2 * len(u)):
        state, chance = "00", 1.0
        for each, marks, signals in zip(u, draws[::2], draws[1::2], strict=True):
            delta, epsilon = each**2, np.sqrt(2) * each
            chance *= (delta if marks else 1 - delta) * (epsilon if signals else 1 - epsilon)
            if marks:
                state = "11"
            elif signals and state != "11":
                state = {"00": "10", "10": "11"}[state]
        total += chance * (state == "11")
    return total


@given(st.lists(st.floats(0, 0.7), min_size=1, max_size=5))
def test_the_recursion_is_the_sum_over_all_draws(u: list[float]):
    states = marking(u)
    assert states.congested == pytest.approx(by_enumeration(u), abs=1e-12)
    assert states.initial + states.signalled + states.congested == pytest.approx(1, abs=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_for_small_prices_it_is_the_square_of_the_sum(u: list[float]):
    # What (30) leaves out is of the third order in u, relative to the second: sqrt(8) sum of u.
    small = [1e-4 * each for each in u]
    if sum(small) > 1e-6:
        relative = marking(small).congested / approximation(small) - 1
        assert abs(relative) < 6e-4 * np.sqrt(2) * 2


def test_one_resource_marks_the_square_and_the_objective_saturates():
    assert marking([0.3]).congested == pytest.approx(0.09)
    assert marking([2.0]).congested == 1.0
    assert objective([1.0]) == 0.5
    # One resource: exactly S^2, so that (15) is exceeded by S^2.
    sums = np.array([0.1, 0.5])
    assert errors(sums, 1) == pytest.approx(sums**2)


def test_a_negative_price_is_refused():
    with pytest.raises(ValueError, match="expected at least 0"):
        marking([0.1, -0.1])
