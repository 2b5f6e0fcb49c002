"""Where preset ``linux`` and the kernel disagree, and why.

docs/linux-differences.md has the figures."""

from collections.abc import Mapping
from types import MappingProxyType

Place = tuple[str, str]
"""A case and a figure."""

PHASE = (
    "The same sawtooth at another phase: the third cut is at 4.0 s in the model and at 4.1 s in "
    "the kernel, both from 42 packets. The first window after slow start is 31.4 and 30 packets."
)
WITHIN_A_CUT = (
    "The same sawtooth some tens of milliseconds apart: at 4.0 s the kernel is within its third "
    "cut and the model at its beginning. At 3.9 and 4.1 s the windows are 41.6 and 41, 29.7 and "
    "31 packets."
)
EXPLAINED: Mapping[Place, str] = MappingProxyType(
    {(f"cubic, {aqm}", "cwnd at 4 s"): PHASE for aqm in ("codel", "fq_codel")}
    | {("cubic, codel ecn", "cwnd at 4 s"): WITHIN_A_CUT}
)
"""Reasons."""
