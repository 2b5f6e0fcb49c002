"""Mean windows of TCP as functions of the share of lost or marked packets, for fixed points."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Literal

import numpy as np
from scipy.interpolate import CubicSpline

from marqueue.theory.tcp import laws

LawName = Literal["square-root", "random", "pftk", "pftk-no-timeouts", "ecn"]
"""Laws W(p): sqrt(3/(2bp)); random losses (1.31/sqrt(p)); Padhye et al. with and without timeouts;
and Reno with marked packets."""

#: Number of points in the table of :func:`marqueue.theory.tcp.laws.marked_aimd`.
POINTS = 60
#: Largest share in the table.
MOST = 0.999

Window = Callable[[float, float], float]
"""Packets delivered per round-trip time, by the share lost or marked and the round-trip time, s."""


def window(law: LawName, per_ack: int, min_rto: float, most: float) -> Window:
    """The window of a law with ``per_ack`` packets per acknowledgement, the smallest timeout
    ``min_rto``, s, and the largest window ``most``."""
    return partial(_limited, _window(law, per_ack, min_rto), most)


def _limited(window: Window, most: float, p: float, rtt: float) -> float:
    return min(window(p, rtt), most)


def _window(law: LawName, per_ack: int, min_rto: float) -> Window:
    match law:
        case "square-root":
            return lambda p, _: laws.regular_aimd(p, per_ack)
        case "random":
            return lambda p, _: laws.random_aimd(p, per_ack)
        case "pftk":
            return lambda p, rtt: laws.pftk(p, rtt, max(min_rto, rtt), per_ack)
        case "pftk-no-timeouts":
            return lambda p, _: laws.pftk_no_timeouts(p, per_ack)
        case "ecn":
            return lambda p, _: _marked(per_ack, p)


def _marked(per_ack: int, p: float) -> float:
    """The window from a table: solving the chain is too slow inside a root search."""
    scaled = float(_table(per_ack)(math.log(max(p, laws.RAREST))))
    return max(scaled / math.sqrt(p), 1.0)


@cache
def _table(per_ack: int) -> CubicSpline:
    p = np.geomspace(laws.RAREST, MOST, POINTS)
    scaled = [laws.marked_aimd(float(x), per_ack) * math.sqrt(x) for x in p]
    return CubicSpline(np.log(p), scaled)
