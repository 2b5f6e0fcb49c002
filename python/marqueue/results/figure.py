"""Figures: a name, a unit and a formula, and what the formula gives over replications."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from marqueue.statistics.estimates import Estimate, Floats, ratio_terms
from marqueue.statistics.histograms import ratio

T = TypeVar("T")


class Columns:
    """Several samples in one object: it has the attributes that figures read of a sample, as arrays
    with a value for each. Figures are computed for all of them together."""


@dataclass(frozen=True)
class Amounts:
    """A figure of several replications, as the amounts of which it is computed."""

    amounts: Floats
    per: Floats | None = None
    """If the figure is the ratio of two sums: what the amounts are divided by."""

    @property
    def values(self) -> Floats:
        """The figure of each replication, in the base unit; NaN if it has none."""
        return self.amounts if self.per is None else ratio(self.amounts, self.per)

    @property
    def terms(self) -> Floats:
        """One value per replication; their mean and interval are those of :meth:`estimate`."""
        return self.amounts if self.per is None else ratio_terms(self.amounts, self.per)

    def estimate(self, confidence: float) -> Estimate:
        """The estimate over replications, in the base unit."""
        if self.per is None:
            return Estimate.of(self.amounts.tolist(), confidence)
        return Estimate.ratio(self.amounts.tolist(), self.per.tolist(), confidence)

    def first(self, number: int) -> Amounts:
        """Those of the first replications."""
        per = None if self.per is None else self.per[:number]
        return Amounts(self.amounts[:number], per)

    def __add__(self, later: Amounts) -> Amounts:
        """These replications and later ones of the same figure."""
        amounts = np.concatenate([self.amounts, later.amounts])
        if self.per is None or later.per is None:
            return Amounts(amounts)
        return Amounts(amounts, np.concatenate([self.per, later.per]))


@dataclass(frozen=True)
class Figure(Generic[T]):
    """A figure of a sample, such as a window of a link: its name, its unit and its formula.

    A figure with ``per`` is the ratio of two sums, and is estimated as a ratio over replications.
    ``scale`` converts the base unit of data files to ``unit``, which reports show.
    """

    name: str
    label: str
    unit: str
    amount: Callable[[T], float]
    per: Callable[[T], float] | None = None
    scale: float = 1.0

    @property
    def base_unit(self) -> str:
        """The unit of data files."""
        return {"ms": "s", "Mbit/s": "bit/s"}.get(self.unit, self.unit)

    @property
    def title(self) -> str:
        """The label with the unit."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label

    @property
    def phrase(self) -> str:
        """The label within a sentence: "mean queueing delay" for "Queueing delay, mean"."""
        quantity, _, statistic = self.label.partition(", ")
        if quantity.startswith("Jain"):
            return f"{quantity} of {statistic}"
        lower = self.label[0].lower() + self.label[1:]
        # "p99 queueing delay", but "queueing delay, standard deviation".
        return lower if " " in statistic else f"{statistic} {lower.partition(', ')[0]}".strip()

    def shown(self, estimates: Mapping[str, Estimate]) -> Estimate:
        """The estimate of this figure, in ``unit``."""
        return estimates[self.name].scaled(self.scale)

    def value(self, sample: T) -> float:
        """The figure of one sample, in the base unit."""
        if self.per is None:
            return float(self.amount(sample))
        total = self.per(sample)
        return float(self.amount(sample)) / total if total > 0 else float("nan")

    def of(self, samples: Sequence[T] | Columns) -> Amounts:
        """The amounts of samples, one per replication."""
        per = None if self.per is None else _each(self.per, samples)
        return Amounts(_each(self.amount, samples), per)

    def estimate(self, samples: Sequence[T] | Columns, confidence: float) -> Estimate:
        """The estimate over samples, one per replication, in the base unit."""
        return self.of(samples).estimate(confidence)


def _each(formula: Callable[[Any], Any], samples: Sequence[T] | Columns) -> Floats:
    found = formula(samples) if isinstance(samples, Columns) else list(map(formula, samples))
    return np.array(found, dtype=float)
