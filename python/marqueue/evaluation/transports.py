"""The senders of a congestion control in the suites for controls."""

from __future__ import annotations

from typing import Any

Table = dict[str, Any]

CLASSIC = ("reno", "cubic", "ledbat", "ledbat++", "bbr1", "bbr3", "aimd", "scalable")
"""Controls that answer to losses or delays; the others are made for ECN."""


def settings(control: str, ecn: bool | None = None) -> Table:
    """The senders of a control under the preset of Linux; with ECN where it is made for it."""
    with_ecn = control not in CLASSIC if ecn is None else ecn
    return {"preset": "linux", "control": control, **({"ecn": True} if with_ecn else {})}
