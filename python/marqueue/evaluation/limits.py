"""Limits that several suites have, each once with its reason.

None of the suites' texts states limits: those of a suite alone are in its own ``limits`` module.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """A plain number, such as a ratio to the baseline."""

    value: float
    because: str
    """The end of a sentence that says what is compared."""


SLOWER = Limit(1.25, "a quarter longer is a clear harm")
"""Of times until data has arrived."""

LOSES_MORE = Limit(2.0, "twice as many lost packets is plainly more")
"""Of losses."""

UNEVEN = Limit(0.9, "a tenth of Jain's index is the most")
"""Of Jain's index of equal flows."""

WEAKER = Limit(0.8, "a fifth is left to chance, where losses are few")
"""Of the goodput of the weaker of two flows over that of the stronger one."""
