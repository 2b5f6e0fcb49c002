"""Claims of papers as data: what is claimed, and the checks by which it stands or falls."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from marqueue.papers.quantity import Quantities, Quantity
from marqueue.stats import Floats, plain

Text = Annotated[str, Field(min_length=1)]


class Entry(BaseModel):
    """A table of claims.toml; a key that it does not know is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Checked(Entry):
    """What every check has: a quantity, and why the criterion is what it is."""

    quantity: Text
    """The name of the quantity that the experiment measures."""
    at: list[float] | None = None
    """Only at these places of a sweep; otherwise at all."""
    reason: Text
    """Why this criterion: what the paper leaves open and how that was settled."""

    def compared(self, quantities: Quantities) -> list[Quantity]:
        """The quantities that the check speaks of."""
        return [quantities[self.quantity]]

    def judged(self, quantities: Quantities) -> Floats:
        """The values that must lie within :attr:`permitted`, by replication and place."""
        return quantities[self.quantity].values


class Value(Checked):
    """The quantity has the expected value, give or take the tolerance."""

    kind: Literal["value"]
    expected: float
    tolerance: Annotated[float, Field(gt=0)]

    @property
    def permitted(self) -> tuple[float, float]:
        """The range that satisfies the check."""
        return self.expected - self.tolerance, self.expected + self.tolerance

    def criterion(self, quantities: Quantities) -> str:
        """The check in words."""
        [of] = self.compared(quantities)
        return f"{name(of)} is {plain(self.expected)} ± {plain(self.tolerance)}"


class AtMost(Checked):
    """The quantity is not above the bound."""

    kind: Literal["at-most"]
    bound: float

    @property
    def permitted(self) -> tuple[float, float]:
        """The range that satisfies the check."""
        return -math.inf, self.bound

    def criterion(self, quantities: Quantities) -> str:
        """The check in words."""
        [of] = self.compared(quantities)
        return f"{name(of)} is at most {plain(self.bound)}"


class AtLeast(Checked):
    """The quantity is not below the bound."""

    kind: Literal["at-least"]
    bound: float

    @property
    def permitted(self) -> tuple[float, float]:
        """The range that satisfies the check."""
        return self.bound, math.inf

    def criterion(self, quantities: Quantities) -> str:
        """The check in words."""
        [of] = self.compared(quantities)
        return f"{name(of)} is at least {plain(self.bound)}"


class Below(Checked):
    """The quantity is not above another one, compared replication by replication."""

    kind: Literal["below"]
    other: Text
    """The name of the other quantity."""
    slack: float = 0.0
    """By how much the quantity may exceed the other (negative: must be less)."""

    @property
    def permitted(self) -> tuple[float, float]:
        """The range of the difference that satisfies the check."""
        return -math.inf, self.slack

    def compared(self, quantities: Quantities) -> list[Quantity]:
        """The quantities that the check speaks of."""
        return [quantities[self.quantity], quantities[self.other]]

    def judged(self, quantities: Quantities) -> Floats:
        """The differences, by replication and place."""
        return np.subtract(*(each.values for each in self.compared(quantities)))

    def criterion(self, quantities: Quantities) -> str:
        """The check in words."""
        first, second = self.compared(quantities)
        by = f" + {plain(self.slack)}" if self.slack > 0 else ""
        by = f" − {plain(-self.slack)}" if self.slack < 0 else by
        return f"{name(first)} ≤ {name(second)}{by}"


Check = Annotated[Value | AtMost | AtLeast | Below, Field(discriminator="kind")]


class Claim(Entry):
    """Something that a paper says, which can be checked."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    experiment: Text
    """The experiment's number in the paper."""
    where: Text
    """Where the paper says it."""
    says: Text
    """What it says, in words of our own."""
    paper: Text
    """The paper's number, or its ordering in short."""
    check: Annotated[list[Check], Field(min_length=1)]
    """All of them must hold."""


class Claims(Entry):
    """A claims.toml."""

    claim: list[Claim]

    @model_validator(mode="after")
    def _ids_are_unique(self) -> Claims:
        ids = [claim.id for claim in self.claim]
        twice = sorted({each for each in ids if ids.count(each) > 1})
        if twice:
            raise ValueError(f"claims with one id: {', '.join(twice)}")
        return self


def read_claims(path: Path) -> list[Claim]:
    """The claims of a file, in its order."""
    return Claims.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).claim


def name(quantity: Quantity) -> str:
    """A quantity in words."""
    return f"{quantity.label} ({quantity.of})" if quantity.of else quantity.label
