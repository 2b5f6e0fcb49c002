"""Warnings where the fluid model is inaccurate: it needs many flows with large windows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from marqueue.theory.fluid.model import Description, Solution

FEW_FLOWS = 10
"""With fewer flows, the windows of single flows move the queue. The sum of N independent windows
varies by about 1/sqrt(12 N), or 0.58/sqrt(N) of itself between W/2 and W: more than a twentieth
below this number."""

SMALL_WINDOW = 8.0
"""With smaller windows the model's share of marks is at least half as much again as that of packets
(docs/theory/fluid.md): several marks in one round trip are one reduction, and packets are whole."""

TIMEOUT_WINDOW = 4.0
"""With smaller windows a loss brings fewer than three duplicate acknowledgements, and a timeout
follows (RFC 5681, section 3.2)."""


def model_warnings(
    description: Description, solution: Solution, after: npt.NDArray[np.bool_]
) -> Iterator[str]:
    """A sentence for each warning, from the times ``after`` the warm-up."""
    if after.any():
        yield from _of_windows(description, solution, after)
        for i in range(len(description["links"])):
            yield from _of_link(description, solution, after, i)


def _of_windows(
    description: Description, solution: Solution, after: npt.NDArray[np.bool_]
) -> Iterator[str]:
    windows: dict[bool, dict[str, float]] = {True: {}, False: {}}
    for i, each in enumerate(description["classes"]):
        if each["law"]["name"] not in ("kelly", "mkc"):
            lossy = any(description["links"][h["link"]]["signal"] == "drop" for h in each["route"])
            windows[lossy][each["name"]] = float(np.median(solution.seen.window[after, i]))
    lost = {name: w for name, w in windows[True].items() if w < TIMEOUT_WINDOW}
    if lost:
        yield (
            f"Windows of {_range(lost)} are below {TIMEOUT_WINDOW:g} packets: a loss brings a "
            "timeout, which the model lacks."
        )
    small = {
        name: w
        for name, w in (windows[True] | windows[False]).items()
        if w < SMALL_WINDOW and name not in lost
    }
    if small:
        yield (
            f"Windows of {_range(small)} are below {SMALL_WINDOW:g} packets: several marks in a "
            "round trip are one reduction, but the model counts each."
        )


def _range(windows: dict[str, float]) -> str:
    low, high = min(windows.values()), max(windows.values())
    span = f"{low:.2g}" if f"{low:.2g}" == f"{high:.2g}" else f"{low:.2g} to {high:.2g}"
    names = list(windows)
    who = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"{span} packets ({who})"


def _of_link(
    description: Description, solution: Solution, after: npt.NDArray[np.bool_], i: int
) -> Iterator[str]:
    link = description["links"][i]
    crossing = [
        k
        for k, each in enumerate(description["classes"])
        if any(hop["link"] == i for hop in each["route"])
    ]
    flows = float(solution.seen.count[after][:, crossing].sum(axis=1).min())
    if flows < FEW_FLOWS:
        yield (
            f"{link['name']}: {flows:g} flows, fewer than {FEW_FLOWS}: the model is a mean over "
            "many flows, but here single windows move the queue."
        )
    if link["aqm"]["name"] == "scaled":
        yield (
            f"{link['name']}: thresholds that grow as N^a, a below 1/2, are within the random "
            "fluctuations of the queue, which grow as N^(1/2); the model has only its mean."
        )
    if link["aqm"]["name"] == "gkvq":
        yield (
            f"{link['name']}: GKVQ marks all packets or none, so that the model switches between "
            "the two where packets do so at random."
        )
