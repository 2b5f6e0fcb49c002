"""Traffic of a mix, as groups of a scenario.

The users of a link are divided evenly over the kinds. A bulk user is a CUBIC flow without end. A
video user fetches a segment every four seconds over one connection; a web user opens connections as
a Poisson process, with Pareto sizes (shape 1.5, mean 40 packets, as in the example access-link).
Video and web users ask for 3 Mbit/s on average, or for half of their fair share of the link if that
is less, as players and readers adapt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from marqueue.recommend.question import PACKET

#: What a video or a web user asks for on average, at most, bit/s, and as a share of its fair share.
ASKED, OF_SHARE = 3e6, 0.5
#: Seconds between the segments of a video.
SEGMENT = 4
#: Mean size of a web object, packets, and the shape of its distribution.
OBJECT, SHAPE = 40, 1.5


def counts(users: int, kinds: Sequence[str]) -> dict[str, int]:
    """Users of each kind, at least one; what is left over goes to the last kinds."""
    each, more = divmod(users, len(kinds))
    late = len(kinds) - more
    return {kind: max(each + (i >= late), 1) for i, kind in enumerate(kinds)}


def asked(rate: float, users: int) -> float:
    """What a video or a web user asks for on average, bit/s."""
    return min(ASKED, OF_SHARE * rate / users)


def groups(rate: float, users: int, kinds: Sequence[str]) -> list[dict[str, Any]]:
    """The groups of traffic of so many users of a link of ``rate`` bit/s."""
    per_user = asked(rate, users)
    of = counts(users, kinds)
    made: dict[str, dict[str, Any]] = {}
    if "web" in of:
        objects = of["web"] * per_user / (8 * PACKET * OBJECT)
        made["web"] = {
            "kind": "poisson",
            "rate": f"{objects:.6g} /s",
            "size": f"{OBJECT} packets",
            "sizes": "pareto",
            "shape": SHAPE,
        }
    if "video" in of:
        segment = max(round(per_user * SEGMENT / (8 * PACKET)), 1)
        made["video"] = {
            "kind": "tcp",
            "count": of["video"],
            "write": f"{segment} packets",
            "every": f"{SEGMENT} s",
            "jitter": f"{SEGMENT} s",
        }
    if "bulk" in of:
        made["bulk"] = {"kind": "tcp", "count": of["bulk"], "jitter": "2 s"}
    return [{"name": kind, **made[kind]} for kind in kinds]
