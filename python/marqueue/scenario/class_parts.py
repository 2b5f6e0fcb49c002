"""How a group's flows, or its rate, are divided over its classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self


@dataclass(frozen=True)
class ClassParts:
    """A group's flows in proportion to the weights of its classes."""

    weights: tuple[float, ...]
    count: int
    """Number of flows."""

    @classmethod
    def of(cls, weights: Sequence[float], count: int | None) -> Self:
        """The parts of classes with these weights; without a count there are only rates."""
        return cls(tuple(weights), count or 0)

    @cached_property
    def _total(self) -> float:
        return sum(self.weights)

    @cached_property
    def counts(self) -> list[int]:
        """The number of flows of each class, by the method of the largest remainder: rounded down,
        and what is left goes to the largest fractions, of equal ones to the first classes."""
        exact = [self.count * each / self._total for each in self.weights]
        counts = [int(each) for each in exact]
        order = sorted(range(len(exact)), key=lambda i: (counts[i] - exact[i], i))
        for i in order[: self.count - sum(counts)]:
            counts[i] += 1
        return counts

    def rate(self, position: int, rate: float) -> float:
        """The part of a rate that one class has."""
        return rate * self.weights[position] / self._total

    @property
    def are_equal(self) -> bool:
        """Whether all classes have the same weight."""
        return len(set(self.weights)) <= 1
