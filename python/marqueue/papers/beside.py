"""Which claims stand beside which figure: those that say they are about it."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PLACE = re.compile(r"(fig|table)(?:ure|\.)?\s*([0-9]+|[ivx]+\b)\s*\(?([a-z]\b)?", re.IGNORECASE)


def beside(figures: Sequence[str], places: Sequence[str]) -> list[int | None]:
    """For each place of a claim in the paper ("Fig. 12 (b)"), the index of the figure whose name
    ("Figure 12 (b)") it means, None if there is none. A place with a letter means the figure with
    it, or the whole figure; one without means the first figure with its number."""
    known = [_read(name) for name in figures]
    out: list[int | None] = []
    for place in places:
        wanted = _read(place)
        if wanted is None:
            out.append(None)
            continue
        kind, number, letter = wanted
        exact = [i for i, each in enumerate(known) if each == wanted]
        alike = [
            i
            for i, each in enumerate(known)
            if each and each[:2] == (kind, number) and not (letter and each[2])
        ]
        out.append(next(iter(exact or alike), None))
    return out


def _read(text: str) -> tuple[str, str, str] | None:
    """Kind, number and letter of a figure or table; None for another place."""
    found = _PLACE.match(text)
    return (found[1].lower(), found[2].lower(), (found[3] or "").lower()) if found else None
