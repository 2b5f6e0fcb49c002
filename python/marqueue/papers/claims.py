"""Claims of papers as data: each with the checks that decide it."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from marqueue.papers.quantity import Quantities, Quantity
from marqueue.papers.toml_table import Text, TomlTable
from marqueue.statistics.estimates import Estimate, Floats


class ClaimCheck(TomlTable):
    """Common parts of all checks."""

    quantity: Text
    """Name of the measured quantity."""
    at: list[float] | None = None
    """Places of a sweep that are checked; by default all."""

    def places(self, quantities: Quantities) -> list[int]:
        """The indices of the places that are checked."""
        of = quantities[self.quantity]
        return list(range(len(of.places))) if self.at is None else [of.place(at) for at in self.at]

    def judged(self, quantities: Quantities, place: int) -> Floats:
        """The values that must lie within the permitted range, one per replication."""
        return quantities[self.quantity].values[:, place]

    def where(self, quantities: Quantities, place: int) -> str:
        """The place as text; empty if there is only one."""
        of = quantities[self.quantity]
        return f"{of.variable} {of.places[place]:g}: " if of.variable else ""

    def shown(self, quantities: Quantities, place: int) -> list[tuple[str, Estimate]]:
        """The estimates shown for the check, with labels if there are several."""
        return [("", quantities[self.quantity].estimates[place])]


class Value(ClaimCheck):
    """The quantity equals the expected value within the tolerance."""

    kind: Literal["value"]
    expected: float
    tolerance: Annotated[float, Field(gt=0)]

    @property
    def permitted(self) -> tuple[float, float]:
        """The range that satisfies the check."""
        return self.expected - self.tolerance, self.expected + self.tolerance

    def criterion(self, quantities: Quantities) -> str:
        """The check as a sentence."""
        return f"{name(quantities[self.quantity])} is {self.expected:g} ± {self.tolerance:g}"


class AtMost(ClaimCheck):
    """The quantity is at most the bound."""

    kind: Literal["at-most"]
    bound: float

    @property
    def permitted(self) -> tuple[float, float]:
        """The range that satisfies the check."""
        return -math.inf, self.bound

    def criterion(self, quantities: Quantities) -> str:
        """The check as a sentence."""
        return f"{name(quantities[self.quantity])} is at most {self.bound:g}"


class AtLeast(ClaimCheck):
    """The quantity is at least the bound."""

    kind: Literal["at-least"]
    bound: float

    @property
    def permitted(self) -> tuple[float, float]:
        """The range that satisfies the check."""
        return self.bound, math.inf

    def criterion(self, quantities: Quantities) -> str:
        """The check as a sentence."""
        return f"{name(quantities[self.quantity])} is at least {self.bound:g}"


class Below(ClaimCheck):
    """The quantity is at most another quantity, compared in each replication."""

    kind: Literal["below"]
    other: Text
    """Name of the other quantity."""
    slack: Annotated[float, Field(ge=0)] = 0.0
    """Permitted excess over the other quantity."""

    @property
    def permitted(self) -> tuple[float, float]:
        """The range of the difference that satisfies the check."""
        return -math.inf, self.slack

    def judged(self, quantities: Quantities, place: int) -> Floats:
        """The differences."""
        first, second = quantities[self.quantity], quantities[self.other]
        return first.values[:, place] - second.values[:, second.place(first.places[place])]

    def shown(self, quantities: Quantities, place: int) -> list[tuple[str, Estimate]]:
        """Both."""
        first, second = quantities[self.quantity], quantities[self.other]
        there = second.place(first.places[place])
        return [(first.of, first.estimates[place]), (second.of, second.estimates[there])]

    def criterion(self, quantities: Quantities) -> str:
        """The check as a sentence."""
        first, second = quantities[self.quantity], quantities[self.other]
        more = f" + {self.slack:g}" if self.slack else ""
        return f"{first.label}: {first.of} ≤ {second.of}{more}"


class Monotone(ClaimCheck):
    """Along a sweep the quantity does not fall, or does not rise, from one place to the next."""

    kind: Literal["rising", "falling"]

    permitted: ClassVar[tuple[float, float]] = (0.0, math.inf)
    """The permitted range of the steps, with the sign of the kind."""

    def places(self, quantities: Quantities) -> list[int]:
        """The indices of all places but the first."""
        return list(range(1, len(quantities[self.quantity].places)))

    def judged(self, quantities: Quantities, place: int) -> Floats:
        """The step to the place, one value per replication."""
        values = quantities[self.quantity].values
        step = values[:, place] - values[:, place - 1]
        return step if self.kind == "rising" else -step

    def where(self, quantities: Quantities, place: int) -> str:
        """Empty: the estimates are labelled by their places."""
        return ""

    def shown(self, quantities: Quantities, place: int) -> list[tuple[str, Estimate]]:
        """The estimates at the previous place and at this one."""
        of = quantities[self.quantity]
        pair = (place - 1, place)
        return [(f"{of.variable} {of.places[i]:g}:", of.estimates[i]) for i in pair]

    def criterion(self, quantities: Quantities) -> str:
        """The check as a sentence."""
        of = quantities[self.quantity]
        return f"{name(of)} is {self.kind} with {of.variable}"


Check = Annotated[Value | AtMost | AtLeast | Below | Monotone, Field(discriminator="kind")]


class Claim(TomlTable):
    """A statement of a paper that can be checked."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    experiment: Text
    """Number of the experiment in the paper."""
    where: Text
    """Page, figure or section of the statement."""
    says: Text
    """The statement in our own words."""
    paper: Text
    """The paper's number, or its ordering, in short."""
    reason: Text
    """Reason for these checks: what the paper leaves open, and how it was settled."""
    check: Annotated[list[Check], Field(min_length=1)]
    """The checks; all must hold."""


class Claims(TomlTable):
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
    """The claims of a file, in order."""
    return Claims.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).claim


def name(quantity: Quantity) -> str:
    """A quantity as text."""
    return f"{quantity.label} ({quantity.of})" if quantity.of else quantity.label
