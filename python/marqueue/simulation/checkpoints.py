"""Checkpoints: completed replications of an interrupted run, stored next to its output directory.

The checkpoints of the output directory DIR are in ``DIR.checkpoints``: one file per completed
replication, the result of each completed point of a sweep, and ``run.json``, which identifies the
run.

A replication is a function of plan, seed and engine. Its file is named after plan and seed. The
first line is JSON with the identity of the replication and the digest of the rest: the output of
the engine (:mod:`~marqueue.simulation.array_tree`), and before it the records of flows that have
left the run, if any have. A file that does not match is moved to ``set-aside``, and its replication
runs again.

A result contains the commit that made it, so checkpoints from another commit, or from modified
sources of the same commit, are refused.

A run stores nothing in its first second: most runs have ended by then, and identifying the program,
which reads all of it, would take as long as the run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from io import BufferedRandom
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import marqueue._core as _core
from marqueue.errors import ResultError, RunError, differing_values
from marqueue.garbage_collector import paused_collector
from marqueue.results.integrity import (
    CIRCUMSTANCES,
    PROVENANCE,
    read_provenance,
    read_sealed,
    write_sealed,
)
from marqueue.results.output_directory import POINTS, checkpoints_of
from marqueue.results.output_file import unwritable
from marqueue.results.provenance import commit
from marqueue.results.raw_flows import ROWS
from marqueue.simulation.array_tree import read_tree, write_tree

if TYPE_CHECKING:
    from marqueue.kernels import Kernel

IDENTITY = "run.json"
SET_ASIDE = "set-aside"
JOBS = "jobs"

KEPT_AFTER = 1.0
"""Seconds for which a run has lasted before its replications are stored."""

_FILES = re.compile(r"run\.json|[0-9a-f]{16}-[0-9a-f]{16}\.checkpoint|.+\.part-[0-9a-f]{12}")
"""The names of files in the directory."""
_PARTIAL_POINT = re.compile(r"\.[0-9]+\.[0-9a-f]{12}\.partial")
"""The name of an incompletely written result of a point."""


@dataclass(frozen=True)
class Replication:
    """One run of the engine: a plan as JSON, a seed and a limit of events."""

    plan: str
    seed: int
    seconds: float
    """The duration in simulated time."""
    max_events: int | None = None
    kernels: tuple[Kernel, ...] = ()
    """The kernels that the plan names."""
    name: str = ""
    """Of the scenario, for messages."""

    @property
    def plan_digest(self) -> str:
        """The SHA-256 digest of the plan, the limit of events and the kernels."""
        kernels = "".join(f"{each.name} {each.identity}\n" for each in self.kernels)
        return hashlib.sha256(f"{kernels}{self.max_events}\n{self.plan}".encode()).hexdigest()

    @property
    def file_name(self) -> str:
        """The name of its checkpoint."""
        return f"{self.plan_digest[:16]}-{self.seed:016x}.checkpoint"


@dataclass(frozen=True)
class Outcome:
    """The output of the engine, and the CPU time that it took (s)."""

    replication: Replication
    raw: Mapping[str, Any]
    cpu_seconds: float
    from_checkpoint: bool = False
    """Whether it was read from a checkpoint."""


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=3)


@dataclass
class Checkpoints:
    """A directory of completed replications. Without a path, nothing is stored."""

    path: Path | None = None
    resume: bool = False
    """Whether the run continues from them, for messages."""
    report: Callable[[str], None] = _warn
    """Called with a sentence for each file that is set aside."""
    run: Mapping[str, Any] = field(init=False, default_factory=dict)
    """What tells this run from others of the same program."""
    _beginning: Lock = field(init=False, default_factory=Lock, repr=False, compare=False)
    _started: float = field(init=False, default_factory=time.monotonic, repr=False, compare=False)
    _waiting: dict[str, Outcome] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )
    """Outcomes that are not stored yet, by the names of their files."""

    @classmethod
    def beside(
        cls, directory: Path, resume: bool, force: bool, report: Callable[[str], None] = _warn
    ) -> Checkpoints:
        """The checkpoints of an output directory, which must be claimed.

        Raises RunError if there are checkpoints and neither ``resume`` nor ``force`` is given, or
        if the directory contains other files.
        """
        path = checkpoints_of(directory)
        found = cls(path, resume, report)
        found._refuse_others()
        if found.exists and not resume:
            if not force:
                raise RunError(
                    f"{path}: holds checkpoints of an interrupted run; --resume continues it, "
                    "--force starts again"
                )
            found.discard()
        return found

    @property
    def flows_in(self) -> Path:
        """The directory of files with flows that leave a run: where the output goes, since the
        temporary directory of the system may be in memory."""
        if self.path is not None:
            return self.path.absolute().parent
        # The command has a path.
        import tempfile

        return Path(tempfile.gettempdir())

    @property
    def exists(self) -> bool:
        """Whether there are checkpoints."""
        return self.path is not None and self.path.is_dir() and any(self.path.iterdir())

    @property
    def identity(self) -> dict[str, Any]:
        """The identity of the program and of the run; most runs end before it is needed."""
        return {**program_identity(), **json.loads(json.dumps(self.run))}

    @property
    def remark(self) -> str:
        """How to continue an interrupted run, as a sentence; empty without checkpoints."""
        if not self.exists:
            return ""
        return f"{self.path} holds the completed replications: --resume continues from them."

    @property
    def points(self) -> Path:
        """The directory of the results of completed points of a sweep."""
        assert self.path is not None, "a sweep has checkpoints"
        return self.path / POINTS

    @property
    def jobs(self) -> Path:
        """The directory of what jobs of a cluster are given, answer and say."""
        assert self.path is not None, "a sweep has checkpoints"
        return self.path / JOBS

    def belong_to(self, identity: Mapping[str, Any]) -> None:
        """Sets the identity of the run. Raises RunError if existing checkpoints have another."""
        self.run = identity
        self._started = time.monotonic()
        _files_at_start()
        if self.path is None or not (self.path / IDENTITY).exists():
            return
        try:
            found = read_sealed(self.path / IDENTITY)
            del found["sha256"]
        except (OSError, ResultError) as error:
            self._set_aside(self.path / IDENTITY, str(error))
            return
        differ = differing_values(found, self.identity)
        if differ:
            listed = "; ".join(f"{path}: was {a}, now {b}" for path, a, b in differ[:5])
            more = f"; {len(differ) - 5} more" if len(differ) > 5 else ""
            raise RunError(
                f"{self.path}: checkpoints of another run, expected those of this run ({listed}"
                f"{more}); without --resume, --force starts again"
            )

    def find(self, replication: Replication) -> Outcome | None:
        """The outcome of a replication from its checkpoint; None if there is none. A damaged
        checkpoint is set aside."""
        if self.path is None:
            return None
        waiting = self._waiting.get(replication.file_name)
        if waiting is not None:
            return replace(waiting, from_checkpoint=True)
        path = self.path / replication.file_name
        try:
            with path.open("rb") as file:
                header = file.readline(4096)
                expected = _header(replication, hashlib.file_digest(file, "sha256").hexdigest())
                if header != expected:
                    raise ResultError(_difference(header, expected))
                with paused_collector():
                    tree = read_tree(file)
                raw = tree["raw"]
                if "flow_file" in tree:
                    raw["flows"] = _core.FlowFile.open(path, len(header), *tree["flow_file"])
        except FileNotFoundError:
            return None
        except (OSError, ResultError) as error:
            self._set_aside(path, str(error))
            return None
        return Outcome(replication, raw, tree["cpu_seconds"], from_checkpoint=True)

    def put(self, outcome: Outcome) -> None:
        """Takes a replication, and stores it and those that wait if the run has lasted for
        :data:`KEPT_AFTER`."""
        if self.path is None:
            return
        self._waiting[outcome.replication.file_name] = outcome
        if time.monotonic() - self._started >= KEPT_AFTER:
            self.keep()

    def keep(self) -> None:
        """Stores the replications that wait: for a run that ends early."""
        for name in list(self._waiting):
            # Another thread may have stored it.
            outcome = self._waiting.pop(name, None)
            if outcome is not None:
                self._store(outcome)

    def _store(self, outcome: Outcome) -> None:
        """Stores a replication. Its file appears whole or not at all."""
        assert self.path is not None, "a replication waits only where there is a path"
        raw = dict(outcome.raw)
        flow_file = raw.pop("flows") if isinstance(raw["flows"], _core.FlowFile) else None
        tree = {"raw": raw, "cpu_seconds": outcome.cpu_seconds}
        if flow_file:
            tree["flow_file"] = flow_file.layout
        self.begin()
        name = outcome.replication.file_name
        try:
            with _staged_file(self.path / name) as file:
                header = _header(outcome.replication, "0" * 64)
                file.write(header)
                if flow_file:
                    for begin in range(0, len(flow_file), ROWS):
                        file.write(flow_file.records(begin, begin + ROWS))
                with paused_collector():
                    write_tree(file, tree)
                file.seek(len(header))
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                file.seek(0)
                file.write(_header(outcome.replication, digest))
        except OSError as error:
            raise unwritable(self.path, error) from None

    def begin(self) -> None:
        """Makes the directory and writes the identity of the run."""
        if self.path is None or (self.path / IDENTITY).exists():
            return
        # Several threads may store their first replication at the same time.
        with self._beginning:
            if (self.path / IDENTITY).exists():
                return
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                part = _part(self.path / IDENTITY)
                write_sealed(part, self.identity)
                part.replace(self.path / IDENTITY)
            except OSError as error:
                raise unwritable(self.path, error) from None

    def forget(self, replications: Iterable[Replication]) -> None:
        """Removes checkpoints of replications that are in the result of a point."""
        if self.path is not None:
            for each in replications:
                self._waiting.pop(each.file_name, None)
                (self.path / each.file_name).unlink(missing_ok=True)

    def discard(self) -> None:
        """Removes all checkpoints, after the output has been written. Other files stay, and are
        reported."""
        self._waiting.clear()
        if self.path is None or not self.path.is_dir():
            return
        for folder in (SET_ASIDE, JOBS):
            shutil.rmtree(self.path / folder, ignore_errors=True)
        if self.points.is_dir():
            self._discard_points()
        for entry in self.path.iterdir():
            if _FILES.fullmatch(entry.name) and entry.is_file():
                entry.unlink()
        try:
            self.path.rmdir()
        except OSError:
            self.report(
                f"{self.path} contains files that marqueue did not write, so it was not removed."
            )

    def _discard_points(self) -> None:
        for entry in self.points.iterdir():
            if _PARTIAL_POINT.fullmatch(entry.name):
                shutil.rmtree(entry)
            else:
                with suppress(ResultError):
                    _remove_listed(entry)
        with suppress(OSError):
            self.points.rmdir()

    def set_aside_point(self, path: Path, why: str) -> None:
        """Moves a damaged result of a point to the set-aside files."""
        self._set_aside(path, why)

    def _set_aside(self, path: Path, why: str) -> None:
        assert self.path is not None
        folder = self.path / SET_ASIDE
        folder.mkdir(exist_ok=True)
        os.rename(path, folder / f"{path.name}.{secrets.token_hex(6)}")
        reason = why.removeprefix(f"{path}: ")
        self.report(f"{path}: {reason}; it was set aside and runs again.")

    def _refuse_others(self) -> None:
        """Raises RunError if the directory has files that marqueue did not write, or is a file."""
        assert self.path is not None
        if not os.path.lexists(self.path):
            return
        if self.path.is_symlink() or not self.path.is_dir():
            raise RunError(f"{self.path}: not a directory, expected checkpoints or nothing")
        for entry in sorted(self.path.iterdir()):
            known = entry.name in (POINTS, SET_ASIDE, JOBS) and entry.is_dir()
            if not known and not _FILES.fullmatch(entry.name):
                raise RunError(
                    f"{self.path}: holds {entry.name}, which marqueue did not write; expected "
                    "checkpoints or nothing"
                )


def _remove_listed(point: Path) -> None:
    """Removes the files of a stored point, which the output has too: those that its provenance
    lists, without reading them."""
    for name in [*read_provenance(point)["files"], CIRCUMSTANCES, PROVENANCE]:
        (point / name).unlink(missing_ok=True)
    with suppress(OSError):
        point.rmdir()


@cache
def program_identity() -> dict[str, Any]:
    """The identity of the program: version, commit and the digest of engine and package, because
    two builds of one commit may differ."""
    digest = hashlib.sha256()
    for file in _files_at_start():
        digest.update(Path(file).read_bytes())
    changed = _files() != _files_at_start()
    code = f"changed during the run {secrets.token_hex(6)}" if changed else digest.hexdigest()
    return {"version": _core.version(), "commit": commit(), "code": code}


def _files() -> dict[str, tuple[int, int]]:
    """The files of the program in order, each with its size and the time of its last change."""
    extension = _core.__file__
    sources = [
        os.path.join(folder, name)
        for folder, _, names in os.walk(os.path.dirname(extension))
        for name in names
        if name.endswith(".py")
    ]
    found = [extension, *sorted(sources)]
    return {file: (stat.st_size, stat.st_mtime_ns) for file in found for stat in [os.stat(file)]}


_files_at_start = cache(_files)
"""Those at the first call, which is at the start of a run."""


def _header(replication: Replication, digest: str) -> bytes:
    """The first line of a checkpoint: its identity, and the digest of the rest."""
    header = {
        "plan": replication.plan_digest,
        "seed": replication.seed,
        **program_identity(),
        "sha256": digest,
    }
    return json.dumps(header).encode() + b"\n"


def _difference(found: bytes, expected: bytes) -> str:
    """The difference between the first line of a checkpoint and the expected one, for messages."""
    try:
        a, b = json.loads(found), json.loads(expected)
        names = [name for name in b if a.get(name) != b[name]]
    except (ValueError, AttributeError):
        return "damaged: its first line is not that of a checkpoint"
    if names == ["sha256"]:
        return "damaged: its content does not match its digest"
    return f"of another replication or program ({', '.join(names)})"


@contextmanager
def _staged_file(path: Path) -> Iterator[BufferedRandom]:
    """A file that gets its name at the end of the block. It is removed if the block fails."""
    part = _part(path)
    try:
        with part.open("w+b") as file:
            yield file
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _part(path: Path) -> Path:
    """A temporary name for a file that is being written."""
    return path.with_name(f"{path.name}.part-{secrets.token_hex(6)}")
