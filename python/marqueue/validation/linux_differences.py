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
EXPLAINED: Mapping[Place, str] = MappingProxyType(
    {(f"cubic, {aqm}", "cwnd at 4 s"): PHASE for aqm in ("codel", "fq_codel")}
)
"""Reasons."""
