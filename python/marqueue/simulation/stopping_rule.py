"""Sequential stopping: replications are added until intervals are as narrow as requested.

Source: A. M. Law, *Simulation Modeling and Analysis*, 5th ed., section 9.4.1. The rule stops early
when the sample variance happens to be small, so the coverage of its intervals is lower than
nominal. For normal values and at least four replications, 95% intervals cover 91 to 95%; the
coverage is lowest when about fifteen replications are needed (tests/python/test_until.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from marqueue.errors import RunError, one_of, show
from marqueue.results import CONFIDENCE, Figure, Subject, choose
from marqueue.results.figure import Amounts
from marqueue.statistics.estimates import Estimate
from marqueue.units import RATE, TIME

#: Replications before the first check.
FEWEST = 4
#: Replications at most, unless another number is given.
MOST = 100

EXAMPLES = '"utilization ±0.5%", "bottleneck.queue_mean ±2%" or "delay_mean ±0.2 ms"'
#: Base units with which a width is written out: the dimension, and its base units in one.
WRITTEN_OUT = {"s": (TIME, 1e9), "bit/s": (RATE, 1.0)}
_NUMBER = re.compile(r"\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+")


@dataclass(frozen=True)
class Bound:
    """The largest half width of the interval of one figure."""

    text: str
    subject: Subject
    figure: Figure[Any]
    half_width: float
    """In the figure's base unit, or a share of the mean."""
    relative: bool

    @classmethod
    def parse(cls, text: str, among: Sequence[Subject]) -> Bound:
        """Reads ``NAME.FIGURE ±WIDTH``, of a link, group or class.

        The name may be omitted if there is only one link, and for figures of all flows. Raises
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
        """Whether the interval of an estimate is narrow enough; false without an interval."""
        if estimate.half_width is None:
            return False
        allowed = self.half_width * (abs(estimate.mean) if self.relative else 1.0)
        return estimate.half_width <= allowed


def _width(text: str, figure: Figure[Any], rule: str) -> tuple[float, bool]:
    """The half width, and whether it is a share of the mean."""
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


def sufficient_replications(
    bounds: Sequence[Bound], measured: Sequence[Amounts], seen: int
) -> int | None:
    """The least number of replications, above the ``seen`` ones, that meets every bound; None if
    there are too few. ``measured`` has the figure of each bound.

    Replications are counted in their order, so the number does not depend on the threads.
    """
    pairs = list(zip(bounds, measured, strict=True))
    for n in range(max(FEWEST, seen + 1), len(measured[0].amounts) + 1):
        if all(bound.met(amounts.first(n).estimate(CONFIDENCE)) for bound, amounts in pairs):
            return n
    return None
