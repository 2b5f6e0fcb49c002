"""The command that gives the same result again, with every option that was given and matters.

What changes no number is left out: where the result went, how many threads there were, a limit that
was not reached.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from marqueue.simulation.stopping_rule import MOST
from marqueue.simulation.sweep_result import DEFAULT_FIGURES

if TYPE_CHECKING:
    from marqueue.results import Result
    from marqueue.simulation.sweep_result import Sweep

SCENARIO = "scenario.toml"


def of_result(result: Result) -> str:
    """That of a run, simulated or live, whose scenario is saved as :data:`SCENARIO`."""
    made = result.provenance
    stopping, live = made.stopping, made.live
    words = ["marqueue", "live" if live else "run", SCENARIO, "--seed", str(made.seed)]
    words += [] if stopping else ["--replications", str(made.replications)]
    words += _rules(stopping, made.partial)
    if live:
        words += ["--law", live["law"]] if live["law"] else []
        words += ["--ipv6"] if live.get("ipv6") else []
    if result.theory is not None:
        words.append("--theory")
    return shlex.join(words)


def of_sweep(swept: Sweep, figures: Sequence[str]) -> str:
    """That of a sweep whose scenario is saved as :data:`SCENARIO`."""
    words = ["marqueue", "sweep", SCENARIO]
    for axis in swept.axes:
        words += ["--over", f"{axis.path}={','.join(axis.values)}"]
    if list(figures) != list(DEFAULT_FIGURES):
        for name in figures:
            words += ["--figure", name]
    summaries = [each.summary for each in swept.points]
    stopping = next((s["stopping"] for s in summaries if s["stopping"]), None)
    partial = next((s["partial"] for s in summaries if s["partial"]), None)
    return shlex.join(words + _rules(stopping, partial))


def _rules(stopping: Mapping[str, Any] | None, partial: Mapping[str, Any] | None) -> list[str]:
    """Rules that ended the replications, or a replication."""
    words: list[str] = []
    if stopping:
        words += [word for bound in stopping["until"] for word in ("--until", bound)]
        words += ["--replications", str(stopping["cap"])] if stopping["cap"] != MOST else []
    if partial and partial.get("max_events"):
        words += ["--max-events", str(partial["max_events"])]
    return words
