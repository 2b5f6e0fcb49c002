"""Goals: a figure, on which side of a bound it shall be, and how safely it is."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from marqueue.errors import RunError, show
from marqueue.results import ChosenFigure, Subject, choose
from marqueue.statistics.estimates import Estimate
from marqueue.units import RATE, TIME

Verdict = Literal["meets", "fails", "not decided"]

EXAMPLES = '"delay_p99 < 20 ms", "utilization > 0.95" or "web.fct_p95 < 2 s"'
_FORM = re.compile(r"\s*(?P<place>[^<>=]+?)\s*(?P<side>[<>])=?\s*(?P<bound>[^<>=]+?)\s*")
#: Units of bounds by the base unit of the figure: the dimension, and its base units in one.
_WRITTEN = {"s": (TIME, 1e9), "bit/s": (RATE, 1.0)}
#: The best value of figures that are shares, by which side is better.
_BEST_SHARE = {"utilization": 1.0, "jain": 1.0}


@dataclass(frozen=True)
class Goal:
    """A figure of the link, of all flows or of a part of the traffic, below or above a bound."""

    text: str
    chosen: ChosenFigure
    below: bool
    bound: float
    """In the figure's base unit."""

    @classmethod
    def parse(cls, text: str, among: Sequence[Subject]) -> Goal:
        """Reads ``FIGURE < BOUND`` or ``NAME.FIGURE > BOUND``.

        Raises RunError with the text and what was expected.
        """
        match = _FORM.fullmatch(text)
        if match is None:
            raise RunError(f"--goal: got {show(text)}, expected a figure and a bound: {EXAMPLES}")
        [chosen] = choose(match["place"], among, "--goal")
        below = match["side"] == "<"
        bound = _bound(match["bound"], chosen, text)
        return cls(f"{match['place']} {match['side']} {match['bound']}", chosen, below, bound)

    def verdict(self, estimate: Estimate) -> Verdict:
        """By the 95 % interval; not decided if the bound is inside, or without an interval."""
        if estimate.interval is None or not math.isfinite(estimate.mean):
            return "not decided"
        low, high = estimate.interval
        if (high < self.bound) if self.below else (low > self.bound):
            return "meets"
        if (low > self.bound) if self.below else (high < self.bound):
            return "fails"
        return "not decided"

    def margin(self, estimate: Estimate) -> float:
        """How far the end of the interval next to the bound is inside it, as a share of the way
        from the bound to the best value: 1 is the best, 0 the bound, negative values are beyond.

        The best value is 1 for shares of which more is better, and 0 for what shall be small; for
        other figures the way is the bound itself. Minus infinity without a value.
        """
        if not math.isfinite(estimate.mean):
            return -math.inf
        low, high = estimate.interval or (estimate.mean, estimate.mean)
        inside = self.bound - high if self.below else low - self.bound
        best = 0.0 if self.below else _BEST_SHARE.get(self.chosen.figure.name, 2 * self.bound)
        way = abs(best - self.bound)
        return inside / way if way else math.copysign(math.inf, inside) if inside else 0.0

    @property
    def shown_bound(self) -> float:
        """The bound in the unit of reports."""
        return self.bound * self.chosen.figure.scale


def _bound(text: str, chosen: ChosenFigure, goal: str) -> float:
    figure = chosen.figure
    written = _WRITTEN.get(figure.base_unit)
    try:
        if written:
            dimension, base = written
            return float(dimension.read(text)) / base
        if text.endswith("%") and not figure.unit:
            return float(text[:-1]) / 100
        value = float(text.removesuffix(figure.unit) if figure.unit else text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        kind = written[0].expected if written else f"a number{figure.unit and ' of '}{figure.unit}"
        raise RunError(f"--goal: got {show(goal)}, expected as bound {kind}, as in {EXAMPLES}")
    return value
