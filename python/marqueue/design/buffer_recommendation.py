"""One recommendation with its margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from marqueue.design.buffer_check import Measurement
from marqueue.theory.buffer_sizing.models import Prediction
from marqueue.theory.buffer_sizing.rules import Demand, Rule


@dataclass(frozen=True)
class Row:
    """A rule with all that is known of it."""

    rule: Rule
    buffer: int
    predicted: Prediction
    checked: Measurement | None

    @property
    def utilization(self) -> float | None:
        """Measured if it was, with the lower end of the interval; else predicted."""
        if self.checked is None:
            return self.predicted.utilization
        return self.checked.utilization.mean - (self.checked.utilization.half_width or 0.0)

    @property
    def loss(self) -> float | None:
        """Measured if it was, with the upper end of the interval; else predicted."""
        if self.checked is None:
            return self.predicted.loss
        return self.checked.loss.mean + (self.checked.loss.half_width or 0.0)

    def meets(self, demand: Demand) -> bool:
        """Whether it is known to be enough."""
        enough = self.utilization is not None and self.utilization >= demand.utilization
        return enough and self.loss is not None and self.loss <= demand.loss


@dataclass(frozen=True)
class Recommendation:
    """The smallest buffer that is known to be enough."""

    row: Row
    utilization_margin: float
    """Above what was asked."""
    loss_margin: float
    """Below what was asked."""


def recommend(demand: Demand, rows: Sequence[Row]) -> Recommendation | None:
    """Of rules that meet the demand the one of the smallest buffer; None if no rule does."""
    enough = [row for row in rows if row.meets(demand)]
    if not enough:
        return None
    best = min(enough, key=lambda row: row.buffer)
    assert best.utilization is not None, "known, as it is enough"
    assert best.loss is not None, "known, as it is enough"
    return Recommendation(best, best.utilization - demand.utilization, demand.loss - best.loss)
