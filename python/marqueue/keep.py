"""Finished replications of a run that has not ended, kept beside its result: DIR.kept.

A replication is a function of plan, seed and engine, and its file is named by plan and seed. What
was killed in the middle of a file leaves one that no replication is named by.

A result names the commit that it was made from. So what another commit, or other sources of the
same one, have kept is refused: its numbers would stand under a name that is not theirs.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from marqueue import _core
from marqueue.errors import RunError, differing_values
from marqueue.manifest import commit

IDENTITY = "run.json"


@dataclass(frozen=True)
class Replication:
    """One run of the engine: a plan as JSON with a seed, cut off after so many events."""

    plan: str
    seed: int
    seconds: float
    """How long it lasts, in simulated time."""
    max_events: int | None = None

    @property
    def file(self) -> str:
        """What it is kept as."""
        text = f"{self.max_events}\n{self.plan}"
        return f"{hashlib.sha256(text.encode()).hexdigest()[:16]}-{self.seed:016x}.npz"


@dataclass(frozen=True)
class Outcome:
    """What the engine returned, and the CPU time that it took, s."""

    replication: Replication
    raw: Mapping[str, Any]
    cpu_seconds: float
    kept: bool = False
    """Whether it was there from an earlier run that was interrupted."""


@dataclass
class Keep:
    """A directory of finished replications; without a path it keeps nothing."""

    path: Path | None = None
    resume: bool = False
    identity: dict[str, Any] = field(init=False, default_factory=dict)
    _beginning: Lock = field(init=False, default_factory=Lock, repr=False, compare=False)

    @classmethod
    def beside(cls, result: Path, resume: bool, force: bool) -> Keep:
        """Where the replications of this result are kept.

        Raises RunError if there are some, and nothing was said of them.
        """
        keep = cls(result.with_name(f"{result.name}.kept"), resume)
        if keep.there and not resume:
            if not force:
                raise RunError(
                    f"{keep.path}: holds what an interrupted run has finished; --resume goes on "
                    "from there, --force begins anew"
                )
            keep.discard()
        return keep

    @property
    def there(self) -> bool:
        """Whether there is anything to go on from."""
        return self.path is not None and (self.path / IDENTITY).is_file()

    def belong_to(self, identity: Mapping[str, Any]) -> None:
        """Says what is kept here; raises RunError if what is there is of something else."""
        self.identity = {
            "version": _core.version(),
            "commit": commit(),
            "code": _code(),
            **json.loads(json.dumps(identity)),
        }
        if self.path is None or not self.there:
            return
        found = json.loads((self.path / IDENTITY).read_text(encoding="utf-8"))
        differ = differing_values(found, self.identity)
        if differ:
            listed = "; ".join(f"{path}: kept with {a}, now {b}" for path, a, b in differ[:5])
            more = f"; {len(differ) - 5} more" if len(differ) > 5 else ""
            raise RunError(
                f"{self.path}: kept of another run, expected the same ({listed}{more}); without "
                "--resume, --force begins anew"
            )

    def find(self, replication: Replication) -> Outcome | None:
        """What is kept of a replication, if it is there and in one piece."""
        if self.path is None:
            return None
        try:
            # Opened here, because numpy leaves a damaged file open.
            with (
                (self.path / replication.file).open("rb") as opened,
                np.load(opened, allow_pickle=False) as file,
            ):
                tree = json.loads(str(file["tree"]))
                raw = _filled(tree["raw"], file)
                return Outcome(replication, raw, tree["cpu_seconds"], kept=True)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def put(self, outcome: Outcome) -> None:
        """Keeps a replication; its file appears whole or not at all."""
        if self.path is None:
            return
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        raw = _hollow(outcome.raw, arrays)
        tree = json.dumps({"raw": raw, "cpu_seconds": outcome.cpu_seconds})
        self.begin()
        file_name = outcome.replication.file
        part = self.path / f"{file_name}.part"
        try:
            with part.open("wb") as file:
                np.savez(file, allow_pickle=False, tree=np.array(tree), **arrays)
            part.replace(self.path / file_name)
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def begin(self) -> None:
        """Makes the directory and says whose it is."""
        if self.path is None or self.there:
            return
        # Replications that end at the same time come here together.
        with self._beginning:
            if self.there:
                return
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                part = self.path / f"{IDENTITY}.part-{os.getpid()}"
                part.write_text(json.dumps(self.identity, indent=2) + "\n", encoding="utf-8")
                part.replace(self.path / IDENTITY)
            except OSError as error:
                raise _unwritable(self.path, error) from None

    def forget(self, replications: Iterable[Replication]) -> None:
        """Removes replications that are part of a result."""
        if self.path is not None:
            for each in replications:
                (self.path / each.file).unlink(missing_ok=True)

    def discard(self) -> None:
        """Removes all of it, once the result is there."""
        if self.path is not None:
            shutil.rmtree(self.path, ignore_errors=True)

    @property
    def remark(self) -> str:
        """What a user must know whose run did not end: where it may go on from."""
        return (
            f"{self.path} holds what has finished: --resume goes on from there."
            if self.there
            else ""
        )


def _unwritable(path: Path, error: OSError) -> RunError:
    return RunError(f"{path}: cannot be written: {error.strerror or error}")


@cache
def _code() -> str:
    """What runs: engine and package. Two of one version and commit may differ."""
    package = Path(_core.__file__).parent
    digest = hashlib.sha256(Path(_core.__file__).read_bytes())
    for file in sorted(package.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


ARRAY = "array"


def _hollow(value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    """What JSON can hold of a tree; its arrays go into ``arrays``, and their names stay."""
    match value:
        case np.ndarray():
            name = f"{ARRAY}_{len(arrays)}"
            arrays[name] = value
            return {ARRAY: name}
        case Mapping():
            return {key: _hollow(each, arrays) for key, each in value.items()}
        case list() | tuple():
            return [_hollow(each, arrays) for each in value]
    return value


def _filled(value: Any, arrays: Mapping[str, Any]) -> Any:
    """The reverse of :func:`_hollow`."""
    match value:
        case {"array": str(name)} if len(value) == 1:
            return arrays[name]
        case dict():
            return {key: _filled(each, arrays) for key, each in value.items()}
        case list():
            return [_filled(each, arrays) for each in value]
    return value
