"""Runs that the lab starts on this machine."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from marqueue.errors import RunError
from marqueue.lab.folder import Folder
from marqueue.scenario import from_toml

MOST = 2
"""Runs at the same time. Each uses all processors."""


@dataclass
class Job:
    """A run of the command in a process of its own."""

    path: str
    """Its result directory, relative to the folder."""
    name: str
    process: subprocess.Popen[str]
    said: str = ""
    """What the command wrote on standard error."""

    @property
    def state(self) -> str:
        """``running``, ``done`` or ``failed``."""
        code = self.process.poll()
        return "running" if code is None else "done" if code == 0 else "failed"

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"path": self.path, "name": self.name, "state": self.state, "said": self.said}


@dataclass
class Jobs:
    """All runs that were started since the server began."""

    folder: Folder
    jobs: list[Job] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def start(self, toml: str) -> Job:
        """Runs a scenario with all its replications into a new directory of the folder.

        Raises ScenarioError if the scenario has mistakes, RunError if too many runs are at work.
        """
        name = from_toml(toml).name
        with self._lock:
            if sum(job.state == "running" for job in self.jobs) >= MOST:
                raise RunError(f"{MOST} runs are at work, expected fewer; wait until one has ended")
            directory = self._free()
            process = subprocess.Popen(
                [sys.executable, "-m", "marqueue", "run", "-", "--out", str(directory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                cwd=self.folder.root,
            )
            job = Job(self.folder.name(directory), name, process)
            self.jobs.append(job)
        Thread(target=_feed, args=(job, toml), daemon=True).start()
        return job

    def stop(self) -> None:
        """Interrupts what still runs, and waits until it has stored its checkpoints."""
        for job in self.jobs:
            with suppress(OSError):
                job.process.send_signal(signal.SIGINT)
        for job in self.jobs:
            with suppress(subprocess.TimeoutExpired):
                job.process.wait(10)

    def _free(self) -> Path:
        """The first directory lab-run-1, lab-run-2, ... that neither a result nor a job has."""
        taken = {job.path for job in self.jobs}
        names = (f"lab-run-{i}" for i in count(1))
        return next(
            self.folder.root / name
            for name in names
            if name not in taken and not (self.folder.root / name).exists()
        )


def _feed(job: Job, toml: str) -> None:
    """Gives the scenario to the command, and keeps what it says."""
    _, said = job.process.communicate(toml)
    job.said = said.strip()
