"""Takes a processor from everything else on the machine, for the thread of a link.

The kernel's word for it is an isolated partition (Documentation/admin-guide/cgroup-v2.rst, cpuset):
a control group below the root that owns a processor, which the scheduler then gives to no other
thread. The link's thread alone enters it. This process moves to the root group meanwhile, because
threads of a process can only be in groups of one subtree. Kernel threads that belong to the
processor, and interrupts, stay.

What is changed is written down before, in a file that this process keeps locked. The next start of
any link finds it unlocked after a kill, and undoes what is there.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from marqueue.errors import RunError, show
from marqueue.live.termination import deferred

OPTION = "--realtime strict"
MOUNTS = Path("/proc/self/mountinfo")
GROUPS = Path("/proc/self/cgroup")
RECORD = Path("/run/marqueue/processor")
NAME = "marqueue-processor"
"""The name of the group."""
PATIENCE = 2.0
"""Seconds in which threads that have ended leave the group."""
STEP = 0.01
"""Seconds between two attempts."""


@dataclass(frozen=True)
class OwnProcessor:
    """A processor that is isolated for the thread of a link."""

    number: int
    threads: Path
    """The file by which a thread enters its group: it writes 0."""
    former: Path
    """The file by which a process enters the group that this one was in."""

    def outside(self, command: Sequence[str]) -> list[str]:
        """The command line that runs a command in the group that this process was in, whose limits
        hold for it."""
        enter = '{ echo 0 > "$0"; } 2> /dev/null; exec "$@"'
        return ["sh", "-c", enter, str(self.former), *command]


_mine: OwnProcessor | None = None


def is_isolated() -> bool:
    """Whether the link of this process has a processor of its own, which is then none of those that
    this process may use."""
    return _mine is not None


@contextmanager
def isolated_processor() -> Iterator[OwnProcessor]:
    """Context manager: isolates the last processor that this process may use, and undoes everything
    at the end. One at a time on a machine.

    Raises RunError, with the kernel's reason, if the machine does not allow it.
    """
    global _mine
    if os.geteuid() != 0:
        raise RunError(f"{OPTION}: not root: control groups need it")
    root = _hierarchy()
    group = root / NAME
    with _record() as record:
        if record is None:
            raise RunError(f"{OPTION}: another link has a processor of its own, expected none")
        _undo(record)
        mine = sorted(os.sched_getaffinity(0))
        if len(mine) < 2:
            raise RunError(f"{OPTION}: got one processor ({mine[0]}), expected two at least")
        former = _own_group(root) / "cgroup.procs"
        try:
            with deferred():
                _isolate(root, group, mine[-1], record)
                _write(root / "cgroup.procs", str(os.getpid()))
                _mine = OwnProcessor(mine[-1], group / "cgroup.threads", former)
            yield _mine
        finally:
            with deferred():
                _mine = None
                # Its threads too, if the link's has not ended.
                with suppress(RunError):
                    _write(former, str(os.getpid()))
                _undo(record)


def remove_leftovers() -> None:
    """Undoes what a killed process has left. Raises RunError if threads stay in its group."""
    if RECORD.exists():
        with _record() as record:
            if record is not None:
                _undo(record)


def _hierarchy() -> Path:
    """Where control groups of version 2 are. Raises RunError if they are not, or without the
    controller."""
    mounts = (line.partition(" - ") for line in MOUNTS.read_text("utf-8").splitlines())
    root = next(
        (Path(left.split()[4]) for left, _, right in mounts if right.split()[0] == "cgroup2"), None
    )
    if root is None:
        raise RunError(f"{OPTION}: no control groups of version 2 are mounted (cgroup2)")
    file = root / "cgroup.controllers"
    told = file.read_text("ascii").split()
    if "cpuset" not in told:
        raise RunError(
            f"{OPTION}: {file}: got {show(' '.join(told))}, expected cpuset among them: control "
            "groups of version 1 have it, or a container hides it"
        )
    return root


def _own_group(root: Path) -> Path:
    """The group of this process."""
    lines = GROUPS.read_text("utf-8").splitlines()
    mine = next(line.removeprefix("0::") for line in lines if line.startswith("0::"))
    return root / mine.lstrip("/")


@contextmanager
def _record() -> Iterator[IO[str] | None]:
    """The file of what was changed, locked; None if another process has locked it."""
    try:
        RECORD.parent.mkdir(exist_ok=True)
        file = RECORD.open("a+", encoding="utf-8")
    except OSError as error:
        raise RunError(f"{RECORD}: {error.strerror or error}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
        else:
            yield file


def _isolate(root: Path, group: Path, processor: int, record: IO[str]) -> None:
    """Makes the group of a processor. Raises RunError if the kernel refuses."""
    switches = root / "cgroup.subtree_control"
    had = "cpuset" in switches.read_text("ascii").split()
    json.dump({"group": str(group), "switches": None if had else str(switches)}, record)
    record.flush()
    try:
        group.mkdir()
    except OSError as error:
        raise RunError(f"{OPTION}: {group}: {error.strerror}") from None
    _write(group / "cgroup.type", "threaded")
    _write(switches, "+cpuset")
    _write(group / "cpuset.cpus", str(processor))
    _write(group / "cpuset.cpus.partition", "isolated")
    told = (group / "cpuset.cpus.partition").read_text("ascii").strip()
    if told != "isolated":
        raise RunError(f"{OPTION}: Linux does not isolate processor {processor}: it says {told!r}")


def _write(file: Path, text: str) -> None:
    """Raises RunError if the kernel does not take it."""
    try:
        file.write_text(text, "ascii")
    except OSError as error:
        raise RunError(f"{OPTION}: {file}: {error.strerror} (written: {text})") from None


def _undo(record: IO[str]) -> None:
    """Undoes what the record says, and empties it. Raises RunError if threads stay in the group."""
    record.seek(0)
    if text := record.read():
        # A process that was killed while it wrote has not changed anything.
        with suppress(ValueError):
            done = json.loads(text)
            _remove(Path(done["group"]))
            if done["switches"]:
                _switch_off(Path(done["switches"]))
        record.truncate(0)


def _remove(group: Path) -> None:
    """Removes a group. Its threads may just be ending."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            if time.monotonic() > until:
                raise RunError(f"{group}: {error.strerror}, expected no thread in it") from None
            time.sleep(STEP)
        else:
            return


def _switch_off(switches: Path) -> None:
    """Switches the controller off, unless somebody else uses it by now."""
    if not any(each.read_text().strip() for each in switches.parent.glob("*/cpuset.cpus")):
        with suppress(OSError):
            switches.write_text("-cpuset", "ascii")
