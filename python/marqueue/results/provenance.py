"""The provenance of a result: scenario, version, machine and time."""

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
from marqueue.scenario.model import Scenario, hash_of

SLOW = 3e-6
"""Seconds a packet from which a program in Python is called slow."""
SLOW_AT_ALL = 0.1
"""Seconds below which nobody waits for a program."""


@dataclass(frozen=True)
class Circumstances:
    """The machine and the times of a run, which differ between runs that are otherwise the same."""

    host: dict[str, str | int | None]
    """Machine, processor, number of processors, kernel."""
    python: str
    numpy: str
    started_at: str
    """UTC, ISO 8601; for a resumed run, of its last part."""
    wall_seconds: float
    """For a resumed run, of its last part."""
    cpu_seconds: float
    """CPU time of the engine over all replications, including a pilot."""
    from_checkpoints: int
    """Replications, or points of a sweep, that came from the checkpoints of an interrupted run."""
    programs: dict[str, dict[str, float]] | None = None
    """For each program in Python that the interpreter ran: the ``packets`` (or acknowledgements)
    that it decided about, and about how many ``seconds`` of CPU time it took."""

    @property
    def slow_programs(self) -> list[str]:
        """A remark on each program that took more than :data:`SLOW` a packet."""
        return [
            f"{name} took {of['seconds'] / of['packets'] * 1e6:.1f} us a packet, "
            f"{min(of['seconds'] / self.cpu_seconds, 1):.0%} of the run's CPU time; "
            "jit=True or Rust makes it faster (docs/howto/python-programs.md)."
            for name, of in (self.programs or {}).items()
            if of["seconds"] > SLOW * of["packets"] and of["seconds"] > SLOW_AT_ALL
        ]


@dataclass(frozen=True)
class Provenance:
    """How a result was made, in types that JSON has.

    All but the circumstances is a function of scenario, seed, version and options of the run.
    """

    version: str
    commit: str | None
    """The commit of the source tree, if it ran from one; with "-dirty" if tracked files differ."""
    scenario: dict[str, Any]
    scenario_hash: str
    seed: int
    seeds: list[int]
    """The seed of each replication."""
    replications: int
    transports: dict[str, dict[str, Any]]
    """The preset and the effective value of every parameter of TCP by name, in base units."""
    circumstances: Circumstances
    warmup_cut: dict[str, Any] | None = None
    """For ``warmup = "auto"``: the rule, the cut in s, the link that determined it, whether all
    queues had settled, and the replications of the pilot. The scenario contains the cut."""
    stopping: dict[str, Any] | None = None
    """If a stopping rule was given: its bounds (``until``), the ``cap`` on replications and whether
    the bounds were ``met``. The scenario contains the number of replications run."""
    partial: dict[str, Any] | None = None
    """If a limit ended the run: the ``limit`` in words, ``max_events`` per replication if given,
    the time at which each replication ``ended`` (s), the requested ``duration`` (s), the number of
    replications ``asked`` for, and whether it happened in the ``pilot`` of ``warmup = "auto"``."""
    kernels: dict[str, dict[str, str]] | None = None
    """The kernels in which flows ended, by name: version, and SHA-256 of the image."""
    live: dict[str, Any] | None = None
    """If packets were real: the window ``law`` that replaced those of the scenario, or the
    ``command`` that sent them; the ``audits`` of the replications (docs/live.md); and the
    ``invalid_reasons`` that make the result invalid, or ``remarks`` on a valid one. Such a result
    is not reproducible."""

    @property
    def command(self) -> list[str] | None:
        """The command behind a live link; the scenario's traffic is a placeholder for it, and its
        flows are not measured."""
        return None if self.live is None else self.live.get("command")

    @property
    def live_remark(self) -> str | None:
        """A remark on a live result; None for a simulated one."""
        if self.live is None:
            return None
        if self.live["invalid_reasons"]:
            return " ".join(["Invalid:", *self.live["invalid_reasons"]])
        # Results of earlier versions have no remarks.
        remarks = self.live.get("remarks", [])
        if self.command:
            told = f"Measured with the real packets of a command: {shlex.join(self.command)}"
            return " ".join([told + "." * bool(remarks), *remarks])
        worst = max(audit["release_error"]["p99"] for audit in self.live["audits"])
        return (
            "Measured with real packets. TCP senders have Linux's settings, except for law, ECN, "
            "timestamps, SACK, segment and initial window. Release error of the link: "
            f"99% within {worst * 1e6:.1f} us." + "".join(f" {each}" for each in remarks)
        )

    @property
    def partial_remark(self) -> str | None:
        """A remark on a result that a limit ended; None for a complete one."""
        if self.partial is None:
            return None
        ended, asked = self.partial["ended"], self.partial["asked"]
        text = (
            f"Partial result: {self.partial['limit']} was reached. {len(ended)} of {asked} "
            f"replications are included. They ended at {min(ended):g} to {max(ended):g} s of "
            f"{self.partial['duration']:g} s of simulated time. Measuring windows are cut there, "
            "later ones are missing, and replications of different length have the same weight."
        )
        if self.partial["pilot"]:
            text += " The warm-up was not found before the limit, so figures include the start."
        return text

    @property
    def warmup_remark(self) -> str | None:
        """A remark on a warm-up that was found in a pilot; None for a given one."""
        if self.warmup_cut is None:
            return None
        cut = self.warmup_cut
        text = (
            f"The warm-up ends at {cut['at']:g} s, by {cut['rule']}: found in the queue of "
            f"{cut['link']}, in a pilot of {cut['pilot_replications']} replications with the same "
            "seeds."
        )
        if cut["settled"]:
            return text
        return f"{text} Some queue had not settled in the first half: a longer run is needed."

    @property
    def stopping_remark(self) -> str | None:
        """A remark on a stopping rule; None without one."""
        if self.stopping is None:
            return None
        rules, cap = " and ".join(self.stopping["until"]), self.stopping["cap"]
        if not self.stopping["met"]:
            return (
                f"The cap of {cap} replications was reached before {rules}: intervals are wider "
                "than requested."
            )
        return (
            f"Replications were added until {rules}: {self.replications} of at most {cap}. The "
            "intervals of a stopping rule have a lower coverage than 95%: for normal values, 91 "
            "to 95%."
        )


def describe(
    scenario: Scenario,
    seeds: list[int],
    circumstances: Circumstances,
    warmup_cut: dict[str, Any] | None = None,
    stopping: dict[str, Any] | None = None,
    partial: dict[str, Any] | None = None,
    live: dict[str, Any] | None = None,
    kernels: dict[str, dict[str, str]] | None = None,
) -> Provenance:
    """The provenance of a run."""
    values = scenario.to_dict()
    return Provenance(
        version=_core.version(),
        commit=commit(),
        scenario=values,
        scenario_hash=hash_of(values),
        seed=scenario.seed,
        seeds=seeds,
        replications=len(seeds),
        transports={
            name: {"preset": transport.preset, "values": transport.resolved()}
            | ({} if transport.stack is None else {"stack": transport.stack.plan(transport.params)})
            for name, transport in scenario.transport.items()
        },
        circumstances=circumstances,
        warmup_cut=warmup_cut,
        stopping=stopping,
        partial=partial,
        kernels=kernels or None,
        live=live,
    )


def here(
    started_at: str,
    wall_seconds: float,
    cpu_seconds: float,
    from_checkpoints: int,
    programs: dict[str, dict[str, float]] | None = None,
) -> Circumstances:
    """The circumstances of a run on this machine; times in s."""
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
        programs=programs,
    )


HEAD = "# branch.oid "
"""How the line with the commit begins in the status that git prints for programs."""
NOT_TRACKED = 1
"""Exit code of ``git ls-files --error-unmatch``."""


@cache
def commit() -> str | None:
    """The commit of the working tree that tracks this package; None if there is none or git is not
    installed. Raises RunError if git fails."""
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
        lines = git("status", "--porcelain=v2", "--branch", "--untracked-files=no").splitlines()
        [head] = (line for line in lines if line.startswith(HEAD))
        dirty = any(not line.startswith("#") for line in lines)
        return head.removeprefix(HEAD) + ("-dirty" if dirty else "")
    except FileNotFoundError:
        return None
    except subprocess.CalledProcessError as error:
        if error.returncode == NOT_TRACKED or "not a git repository" in error.stderr:
            return None
        reason = error.stderr.strip() or f"exit code {error.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = str(error)
    raise RunError(f"commit: git does not report the commit of {here.parent}: {reason}")


@cache
def _cpu() -> str:
    """The processor's name according to Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
