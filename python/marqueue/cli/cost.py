"""What ``marqueue run --estimate`` and ``marqueue sweep --estimate`` print."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from marqueue.cli.console import print_json, print_table, say, table
from marqueue.simulation.limits import peak_bytes

if TYPE_CHECKING:
    from marqueue.simulation.cost import Cost, RunCost
    from marqueue.simulation.sweep_cost import SweepCost


class Reading(NamedTuple):
    """What this command has taken to read its scenario."""

    seconds: float
    """CPU time."""
    memory: float
    """Bytes at the largest, which may be more than the run takes."""

    @classmethod
    def so_far(cls) -> Self:
        """What this process has taken so far."""
        return cls(time.process_time(), float(peak_bytes()))


def print_cost(cost: RunCost, reading: Reading, json: bool) -> None:
    """Prints what a run is predicted to cost."""
    cost = replace(cost, memory=max(cost.memory, reading.memory))
    if json:
        print_json(_as_dict(cost, reading))
        return
    _print_table(cost, reading)
    first, share = _simulated(cost.measured_seconds), f"{cost.measured_share:.0%}"
    say(f"Measured on this machine: the first {first} of one replication, {share} of it.")
    _print_warnings(cost, "run")


def print_sweep_cost(cost: SweepCost, reading: Reading, json: bool) -> None:
    """The same as :func:`print_cost`, of a sweep."""
    cost = replace(cost, memory=max(cost.memory, reading.memory))
    if json:
        print_json(_as_dict(cost, reading))
        return
    _print_table(cost, reading)
    whole = len(cost.measured) == cost.points
    which = "each point" if whole else f"points {', '.join(map(str, cost.measured))}"
    say(f"Measured on this machine: the first part of one replication of {which}.")
    if not whole:
        left = cost.points - len(cost.measured)
        say(f"The other {left} points are taken to cost what these cost on average.")
    _print_warnings(cost, "sweep")


def _as_dict(cost: Cost, reading: Reading) -> dict[str, Any]:
    return {"reading_seconds": reading.seconds, **cost.as_dict()}


def _print_table(cost: Cost, reading: Reading) -> None:
    listing = table("predicted", "")
    replications = _counted(cost.replications, "replication")
    listing.add_row("packets, counted at each queue", f"{cost.packets:.3g}")
    listing.add_row("events", f"{cost.events:.3g}")
    listing.add_row(f"CPU time of {replications}", _time(cost.cpu_seconds))
    listing.add_row("CPU time of results and files", _time(cost.result_seconds))
    listing.add_row("CPU time before, to read the scenario", _time(reading.seconds))
    threads = _counted(cost.jobs * cost.threads, "thread")
    listing.add_row(f"time in all, in {threads}", _time(reading.seconds + cost.wall_seconds))
    listing.add_row("memory", f"{cost.memory / 1e9:.2g} GB of {cost.free_memory / 1e9:.3g} GB free")
    print_table(listing)
    if cost.until:
        say(f"Note: fewer replications may be enough for {' and '.join(cost.until)}.")


def _print_warnings(cost: Cost, what: str) -> None:
    for each in cost.later:
        say(f"Warning: {each}: what that changes is not in the prediction.")
    for each in cost.limits:
        say(f"Warning: the {what} will be cut off by {each}.")
    if cost.memory > cost.free_memory:
        say(f"Warning: the {what} needs more memory than is free.")


def _counted(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number} {what}s"


def _simulated(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"


def _time(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 100 else str(timedelta(seconds=round(seconds)))
