"""Which claims stand beside which figure: those that say they are about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

#: ``Fig. 12 (b), (c)``, ``Figs. 6, 8-10``, ``Figure 4a``, ``Table I``.
_PLACE = re.compile(
    r"(fig|table)(?:ures?|s?\.)?\s*"
    r"((?:[0-9]+|[ivx]+\b)(?:\s*-\s*[0-9]+)?(?:,\s*[0-9]+(?:\s*-\s*[0-9]+)?)*)"
    r"\s*\(?([a-z]\b)?",
    re.IGNORECASE,
)


class Place(NamedTuple):
    """A figure or table of a paper."""

    kind: str
    """``fig`` or ``table``."""
    number: str
    letter: str
    """The part of a figure; empty for the whole."""


def beside(exhibits: Sequence[str], places: Sequence[str]) -> list[list[int]]:
    """For each place of a claim in the paper ("Fig. 12 (b)", "Figs. 6, 8-10"), the indices of the
    exhibits ("Figure 12 (b)") that it means, in its order; none for another place, and for a figure
    that is not there. A claim stands beside the first of them.

    A place with a letter means the exhibit with that letter, or that of the whole figure; one
    without means the first exhibit with its number.
    """
    known = [next(iter(_read(name)), None) for name in exhibits]
    return [
        list(dict.fromkeys(i for wanted in _read(place) for i in _meant(wanted, known)))
        for place in places
    ]


def _meant(wanted: Place, known: Sequence[Place | None]) -> Sequence[int]:
    """The index of the exhibit that is meant; none if it is not there."""
    exact = [i for i, each in enumerate(known) if each == wanted]
    alike = [
        i
        for i, each in enumerate(known)
        if each and each[:2] == wanted[:2] and not (wanted.letter and each.letter)
    ]
    return (exact or alike)[:1]


def _read(text: str) -> Iterable[Place]:
    """The figures and tables that a text begins with; none if it is about another place."""
    found = _PLACE.match(text)
    if found is None:
        return
    kind, listed, letter = (each.lower() for each in found.groups(default=""))
    for part in listed.split(","):
        first, _, last = (each.strip() for each in part.partition("-"))
        numbers = map(str, range(int(first), int(last) + 1)) if last else [first]
        for number in numbers:
            yield Place(kind, number, letter)
