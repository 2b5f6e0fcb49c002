"""What a model states about a buffer: a bound or an approximation, its range and its error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Quantity = Literal["utilization", "loss"]
Kind = Literal["lower bound", "approximation"]


@dataclass(frozen=True)
class Model:
    """A model of one quantity."""

    name: str
    quantity: Quantity
    kind: Kind
    source: str
    range: str
    """Where it applies."""
    assumption: str
    error: tuple[float, float] | None = None
    """The least and the largest error in its range: measured minus stated utilization, measured
    over stated loss. They were measured on a grid and at a link beside it
    (docs/theory/buffer.md); None if they were not."""

    def states(self, value: float) -> Statement:
        """The statement with this value."""
        return Statement(self, value)

    def omitted(self, why: str) -> Statement:
        """No statement, because the buffer, flows or round trip are out of its range."""
        return Statement(self, None, why)


@dataclass(frozen=True)
class Statement:
    """What a model states about one buffer; ``value`` is None if it does not apply."""

    model: Model
    value: float | None
    why: str = ""
    """Why the model does not apply."""

    @property
    def reliable(self) -> float | None:
        """The least utilization or the largest loss that the statement and its error leave
        possible; None if the error is unknown."""
        if self.value is None or self.model.error is None:
            return None
        low, high = self.model.error
        if self.model.quantity == "utilization":
            return max(0.0, self.value + low)
        return min(1.0, self.value * high)

    def __str__(self) -> str:
        """The value with its sign: a bound has another one than an approximation."""
        if self.value is None:
            return "does not apply"
        return f"{'≥' if self.model.kind == 'lower bound' else '≈'} {self.value:.4g}"
