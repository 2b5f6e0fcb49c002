"""The command that reproduces a result, with all options that affect its numbers.

The output directory, the number of threads and limits that were not reached are left out.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from marqueue.programs.registry import named
from marqueue.simulation.stopping_rule import MOST
from marqueue.simulation.sweep_result import DEFAULT_FIGURES

if TYPE_CHECKING:
    from marqueue.reports.builder import Report
    from marqueue.results import Result
    from marqueue.simulation.sweep_result import Sweep

SCENARIO = "scenario.toml"

#: Characters of a scenario that a page shows.
LARGEST_SCENARIO = 200_000


def add_reproduction(page: Report, scenario: str, command: str, remarks: Sequence[str]) -> None:
    """Adds the command that reproduces a result and its scenario, or where that is."""
    if shown := len(scenario) <= LARGEST_SCENARIO:
        page.text(f"Save the scenario below as {SCENARIO} and run it with the same version:")
    else:
        page.text(
            f"Run {SCENARIO}, which is beside this page and too long to show here, with the same "
            "version:"
        )
    page.text(*remarks)
    page.code(command)
    if shown:
        page.code(scenario, SCENARIO, folded=True)


def programs_remark(scenario: Mapping[str, Any], where: str) -> list[str]:
    """What else the command needs, as a sentence: programs in Python, which are ``where``. Empty if
    the scenario names none."""
    files = [file for file, _ in named(scenario)]
    return [f"It needs {' and '.join(files)} from {where}."] if files else []


def run_command(result: Result) -> str:
    """The command of a run, simulated or live, with the scenario in :data:`SCENARIO`."""
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


def sweep_command(swept: Sweep, figures: Sequence[str]) -> str:
    """The command of a sweep with the scenario in :data:`SCENARIO`."""
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
    """The options of a stopping rule and of a limit of events."""
    words: list[str] = []
    if stopping:
        words += [word for bound in stopping["until"] for word in ("--until", bound)]
        words += ["--replications", str(stopping["cap"])] if stopping["cap"] != MOST else []
    if partial and partial.get("max_events"):
        words += ["--max-events", str(partial["max_events"])]
    return words
