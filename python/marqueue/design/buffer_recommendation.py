"""The recommendation of a buffer, with its margins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from marqueue.design.buffer_check import Measurement
from marqueue.theory.buffer_sizing.rules import Demand, Rule
from marqueue.theory.buffer_sizing.statements import Quantity, Statement


@dataclass(frozen=True)
class Row:
    """A rule with what models state about its buffer, and its measurement."""

    rule: Rule
    buffer: int
    statements: Sequence[Statement]
    checked: Measurement | None

    @property
    def utilization(self) -> float | None:
        """The lower end of the measured interval, or the largest utilization that a model with a
        known error guarantees."""
        if self.checked is None:
            return max(self._reliable("utilization"), default=None)
        return self.checked.utilization.mean - (self.checked.utilization.half_width or 0.0)

    @property
    def loss(self) -> float | None:
        """The upper end of the measured interval, or the smallest loss that a model with a known
        error guarantees."""
        if self.checked is None:
            return min(self._reliable("loss"), default=None)
        return self.checked.loss.mean + (self.checked.loss.half_width or 0.0)

    def _reliable(self, quantity: Quantity) -> list[float]:
        said = (each.reliable for each in self.statements if each.model.quantity == quantity)
        return [value for value in said if value is not None]

    def meets(self, demand: Demand) -> bool:
        """Whether it is known to meet the demand."""
        enough = self.utilization is not None and self.utilization >= demand.utilization
        return enough and self.loss is not None and self.loss <= demand.loss


@dataclass(frozen=True)
class Recommendation:
    """The smallest buffer that is known to meet the demand."""

    row: Row
    utilization_margin: float
    """Margin above the demanded utilization."""
    loss_margin: float
    """Margin below the demanded loss."""


def recommend(demand: Demand, rows: Sequence[Row]) -> Recommendation | None:
    """The rule with the smallest buffer that meets the demand; None if no rule does."""
    enough = [row for row in rows if row.meets(demand)]
    if not enough:
        return None
    best = min(enough, key=lambda row: row.buffer)
    assert best.utilization is not None, "known, as it is enough"
    assert best.loss is not None, "known, as it is enough"
    return Recommendation(best, best.utilization - demand.utilization, demand.loss - best.loss)
