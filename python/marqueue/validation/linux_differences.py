"""Where preset ``linux`` and the kernel disagree, and why.

docs/linux-differences.md has the figures."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

Place = tuple[str, str]
"""A case and a figure."""

QUICK = (
    "The kernel's receiver acknowledges each segment at the beginning, as long as its window "
    "grows; the model's delays from the first. So HyStart ends earlier in the kernel, and a last "
    "odd segment does not wait. With delayed_ack = 0 s the model agrees, or nearly."
)
ROUNDING = (
    "The kernel rounds DCTCP's reduction down, so that it is often zero, the model the window that "
    "is left. With whole_segments = false the model has marks of 0.024 and a queue of 12.4 "
    "packets; the rest is not known."
)
REORDERED = (
    "In slow start the model takes reordering for a loss in most runs, and the kernel does not, or "
    "undoes the reduction: at 0.3 s windows are 68 and 147 packets. So its overshoot is larger."
)
BURSTS = (
    "Probably the larger overshoot at the end of slow start, as without these losses (QUICK); not "
    "tried with delayed_ack = 0 s."
)
STEP = "One reduction at the end of slow start; not for delayed acknowledgements, nor rounding."


def _places(figures: Mapping[str, Iterable[str]]) -> list[Place]:
    return [(case, figure) for case, those in figures.items() for figure in those]


_SLOW_START = ("retransmissions", "cwnd at 0.3 s", "cwnd at 0.5 s", "cwnd at 1 s")
_BY_QUICK = _places(
    {
        "cubic, droptail": _SLOW_START,
        "cubic, codel": _SLOW_START,
        "cubic, fq_codel": _SLOW_START,
        "cubic, codel ecn": _SLOW_START,
        **{f"cubic, {aqm}": ("retransmissions",) for aqm in ("red", "pie", "red ecn", "pie ecn")},
        "reno, 1 % lost": ("goodput",),
        "cubic, 60 packets every 2 s": ("mean cwnd",),
        **{f"{size} packets, droptail": ("completion",) for size in (1, 11)},
        "300 packets, droptail": ("completion", "retransmissions"),
        **{f"{size} packets, 5 % lost": ("completion",) for size in (1, 10, 11, 40, 300)},
        "cubic, pie ecn, 4 flows": ("retransmissions",),
        "cubic, pie ecn, 16 flows": ("marks",),
    }
)

EXPLAINED: Mapping[Place, str] = MappingProxyType(dict.fromkeys(_BY_QUICK, QUICK))
"""Reasons."""

UNEXPLAINED: Mapping[Place, str] = MappingProxyType(
    {
        **dict.fromkeys(_places({"dctcp, red ecn": ("mean queue", "marks")}), ROUNDING),
        ("reno, 1 % reordered", "retransmissions"): REORDERED,
        ("cubic, bursts lost", "retransmissions"): BURSTS,
        ("dctcp, step ecn", "cwnd at 0.3 s"): STEP,
    }
)
"""What is known where the reason is not."""
