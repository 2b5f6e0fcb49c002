"""Sequential stopping: replications are added until intervals are as narrow as was asked.

Source: A. M. Law, *Simulation Modeling and Analysis*, 5th ed., section 9.4.1. A rule that looks at
the spread stops sooner where the spread happens to be small, so its intervals cover the truth less
often than they say. With normal values, from four replications on, 95% become 91 to 95, least where
about fifteen replications are needed (tests/python/test_until.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from marqueue.errors import RunError, one_of, show
from marqueue.results import CONFIDENCE, Figure, Subject, choose
from marqueue.statistics.estimates import Estimate
from marqueue.units import RATE, TIME

#: Replications before a rule is looked at.
FEWEST = 4
#: Replications after which a rule is given up, where nothing else is said.
MOST = 100

EXAMPLES = '"utilization ±0.5%", "bottleneck.queue_mean ±2%" or "delay_mean ±0.2 ms"'
#: Base units of figures whose widths are written with a unit, and how much of it is in one.
WRITTEN_OUT = {"s": (TIME, 1e9), "bit/s": (RATE, 1.0)}
_NUMBER = re.compile(r"\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+")

Measured = Mapping[Subject, Sequence[Any]]
"""What figures of each subject are made of: an entry a replication, after the warm-up."""


@dataclass(frozen=True)
class Bound:
    """How narrow the interval of one figure must be."""

    text: str
    subject: Subject
    figure: Figure[Any]
    half_width: float
    """In the figure's base unit, or a share of the mean."""
    relative: bool

    @classmethod
    def parse(cls, text: str, among: Sequence[Subject]) -> Bound:
        """Reads ``NAME.FIGURE ±WIDTH``, of a link, group or class.

        The name may be left out where there is only one link, and of figures of all flows. Raises
        RunError with the text and what was expected.
        """
        parts = [part.strip() for part in re.split(r"±|\+/?-", text)]
        if len(parts) != 2 or not all(parts):
            raise RunError(f"until: got {show(text)}, expected a figure and a width: {EXAMPLES}")
        place, width = parts
        found = choose(place, among, "until")
        if not found:
            raise RunError(
                f"until: got {show(text)} without a queue, expected a link with a buffer"
            )
        if len(found) > 1:
            raise RunError(
                f"until: got {show(place)} without a link, expected LINK.{place} with "
                f"{one_of(each.subject.name for each in found)}"
            )
        [chosen] = found
        half_width, relative = _width(width, chosen.figure, text)
        return cls(f"{place} ±{width}", chosen.subject, chosen.figure, half_width, relative)

    def met(self, estimate: Estimate) -> bool:
        """Whether an estimate is as sharp as that; one without an interval never is."""
        if estimate.half_width is None:
            return False
        allowed = self.half_width * (abs(estimate.mean) if self.relative else 1.0)
        return estimate.half_width <= allowed


def _width(text: str, figure: Figure[Any], rule: str) -> tuple[float, bool]:
    """The width and whether it is a share of the mean."""
    relative = text.endswith("%")
    written = None if relative else WRITTEN_OUT.get(figure.base_unit)
    value: float | None = None
    if written:
        dimension, base = written
        try:
            value = float(dimension.read(text)) / base
        except ValueError:
            value = None
    else:
        bare = text.removesuffix("%" if relative else figure.unit).strip()
        if _NUMBER.fullmatch(bare):
            value = float(bare) / (100 if relative else 1)
    if value is None or value <= 0:
        plain = f"a number{f' of {figure.unit}' if figure.unit else ''}"
        kind = written[0].noun if written else plain
        raise RunError(
            f"until: got {show(rule)}, expected as width a percentage or {kind}, above zero, as in "
            f"{EXAMPLES}"
        )
    return value, relative


def enough(bounds: Iterable[Bound], measured: Measured, seen: int) -> int | None:
    """The least number of replications, above those ``seen`` before, that meets every bound.

    Replications are taken in their order, so that the number does not depend on how many ran at a
    time.
    """
    rules = list(bounds)
    total = len(next(iter(measured.values())))
    for n in range(max(FEWEST, seen + 1), total + 1):
        if all(b.met(b.figure.estimate(measured[b.subject][:n], CONFIDENCE)) for b in rules):
            return n
    return None
