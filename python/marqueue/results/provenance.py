"""The provenance of a result: what was run, by which version, and on which machine and when."""

import os
import platform
import shlex
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import marqueue._core as _core
from marqueue.errors import RunError
from marqueue.scenario.model import Scenario


@dataclass(frozen=True)
class Circumstances:
    """Where and when a result was made: what may differ between two runs of the same."""

    host: dict[str, str | int | None]
    """Machine, processor, number of processors, kernel."""
    python: str
    numpy: str
    started_at: str
    """UTC, ISO 8601; of the last part of a run that was resumed."""
    wall_seconds: float
    """Of the last part of a run that was resumed."""
    cpu_seconds: float
    """Spent by the engine, over all replications and a pilot."""
    from_checkpoints: int
    """How many replications, or points of a sweep, an earlier, interrupted part had completed."""


@dataclass(frozen=True)
class Provenance:
    """Everything that tells how a result came about. All fields are what JSON can hold.

    But for the circumstances it is a function of scenario, seed, version, and what was asked.
    """

    version: str
    commit: str | None
    """The commit of the source tree it ran from, if it did; "-dirty" if files differ from it."""
    scenario: dict[str, Any]
    scenario_hash: str
    seed: int
    seeds: list[int]
    """The seed of each replication."""
    replications: int
    transports: dict[str, dict[str, Any]]
    """By name: the preset, and every parameter of TCP with the value in force, in base units."""
    circumstances: Circumstances
    warmup_cut: dict[str, Any] | None = None
    """Where the warm-up was to be found: the rule, the cut in s, the link that asked for it,
    whether its queue had settled, and the replications of the pilot. The scenario has the cut."""
    stopping: dict[str, Any] | None = None
    """Where a rule added replications: ``until`` which intervals, the ``cap``, and whether the rule
    was ``met``. The scenario has the number that was run."""
    partial: dict[str, Any] | None = None
    """Where a limit ended the run: which ``limit``, in words; ``max_events`` a replication, if that
    was given; where each replication ``ended``, s;
    the ``duration`` asked for, s; of how many replications ``asked``; and whether it was in the
    ``pilot`` of a warm-up to be found."""
    live: dict[str, Any] | None = None
    """Where packets were real: the window ``law`` that replaced those of the scenario, or the
    ``command`` whose packets they were; the ``audits`` of the replications (docs/live.md), and the
    ``invalid_reasons`` if the result is invalid. Such a result is no function of scenario, seed and
    version."""

    @property
    def command(self) -> list[str] | None:
        """The command behind a link that was measured; the scenario's traffic stands for it, and
        nothing is known of its flows."""
        return None if self.live is None else self.live.get("command")

    @property
    def live_remark(self) -> str | None:
        """What a reader must know of a result that was measured, not simulated."""
        if self.live is None:
            return None
        if self.live["invalid_reasons"]:
            return " ".join(["Invalid:", *self.live["invalid_reasons"]])
        if self.command:
            return f"Measured with real packets, those of the command: {shlex.join(self.command)}"
        worst = max(audit["release_error"]["p99"] for audit in self.live["audits"])
        return (
            "Measured with real TCP senders, which have Linux's settings, not the scenario's, but "
            "for law, ECN, timestamps, SACK, segment and first window. Release error of the link: "
            f"99% within {worst * 1e6:.1f} us."
        )

    @property
    def partial_remark(self) -> str | None:
        """What a reader must know of a run that a limit ended."""
        if self.partial is None:
            return None
        ended, asked = self.partial["ended"], self.partial["asked"]
        text = (
            f"Partial result: {self.partial['limit']} was reached. Of {asked} replications "
            f"{len(ended)} have figures here, which were at {min(ended):g} to {max(ended):g} s of "
            f"{self.partial['duration']:g} s of simulated time when they ended. Measuring windows "
            "that were begun are cut there, later ones are missing, and figures weigh replications "
            "of different length alike."
        )
        if self.partial["pilot"]:
            text += " The warm-up had not been found: nothing is cut off the front."
        return text

    @property
    def warmup_remark(self) -> str | None:
        """What a reader must know of a warm-up that was found."""
        if self.warmup_cut is None:
            return None
        cut = self.warmup_cut
        text = (
            f"Warm-up cut by {cut['rule']} at {cut['at']:g} s: found in the queue of "
            f"{cut['link']}, in a pilot of {cut['pilot_replications']} replications with the same "
            "seeds."
        )
        if cut["settled"]:
            return text
        return f"{text} Not every queue had settled by half of the run: a longer run is needed."

    @property
    def stopping_remark(self) -> str | None:
        """What a reader must know of a rule that added replications."""
        if self.stopping is None:
            return None
        rules, cap = " and ".join(self.stopping["until"]), self.stopping["cap"]
        if not self.stopping["met"]:
            return (
                f"The cap of {cap} replications was reached before {rules}: intervals are wider "
                "than was asked."
            )
        return (
            f"Replications were added until {rules}: {self.replications} of at most {cap}. "
            "Intervals that stop a run cover the truth less often than they say: with normal "
            "values 91 to 95 times of a hundred."
        )


def describe(
    scenario: Scenario,
    seeds: list[int],
    circumstances: Circumstances,
    warmup_cut: dict[str, Any] | None = None,
    stopping: dict[str, Any] | None = None,
    partial: dict[str, Any] | None = None,
    live: dict[str, Any] | None = None,
) -> Provenance:
    """The provenance of a run."""
    return Provenance(
        version=_core.version(),
        commit=commit(),
        scenario=scenario.to_dict(),
        scenario_hash=scenario.hash,
        seed=scenario.seed,
        seeds=seeds,
        replications=len(seeds),
        transports={
            name: {"preset": transport.preset, "values": transport.resolved()}
            for name, transport in scenario.transport.items()
        },
        circumstances=circumstances,
        warmup_cut=warmup_cut,
        stopping=stopping,
        partial=partial,
        live=live,
    )


def here(
    started_at: str, wall_seconds: float, cpu_seconds: float, from_checkpoints: int
) -> Circumstances:
    """The circumstances of a run on this machine."""
    return Circumstances(
        host={
            "machine": platform.machine(),
            "cpu": _cpu(),
            "cpus": os.cpu_count(),
            "kernel": f"{platform.system()} {platform.release()}",
        },
        python=platform.python_version(),
        numpy=np.__version__,
        started_at=started_at,
        wall_seconds=wall_seconds,
        cpu_seconds=cpu_seconds,
        from_checkpoints=from_checkpoints,
    )


NOT_TRACKED = 1
"""Exit code of ``git ls-files --error-unmatch``."""


@cache
def commit() -> str | None:
    """The commit, where this package lies in a working tree that tracks it; None elsewhere, and
    where git is not installed. Raises :class:`RunError` where git fails to answer."""
    here = Path(__file__).resolve()
    if not any((parent / ".git").exists() for parent in here.parents):
        return None

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(here.parent), *arguments],
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", here.name)
        dirty = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("-dirty" if dirty else "")
    except FileNotFoundError:
        return None
    except subprocess.CalledProcessError as error:
        if error.returncode == NOT_TRACKED or "not a git repository" in error.stderr:
            return None
        reason = error.stderr.strip() or f"exit code {error.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = str(error)
    raise RunError(f"commit: git cannot tell of which commit {here.parent} is: {reason}")


@cache
def _cpu() -> str:
    """The processor's name as Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
