"""Output directories of runs, sweeps, reproduced papers and reports.

An output directory is *claimed* before the work begins. The claim checks everything that could
prevent writing the output, and holds a lock until the work ends. The output is written into a
*staging directory* beside it and moved into place in one step, so it appears whole or not at all.

Files that marqueue did not write are never replaced or removed. A directory is replaced only if its
provenance lists every file in it, unchanged (see :mod:`marqueue.results.integrity`).
"""

from __future__ import annotations

import errno
import glob
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path

import marqueue._core as _core
from marqueue.errors import ResultError, RunError
from marqueue.results.directory_lock import Occupied, locked
from marqueue.results.integrity import (
    PROVENANCE,
    Fault,
    check_directory,
    read_provenance,
    written_paths,
)
from marqueue.results.output_file import unwritable

LATEST = "latest"
"""The name of the symbolic link to the newest of several numbered output directories."""

POINTS = "points"
"""The directory with the results of the points of a sweep, in its output and its checkpoints."""

_LONGEST_NAME = 200
"""Bytes. Linux allows 255, and temporary names are longer than the name of the directory."""

_MOST_FLUSHED_SINGLY = 100
"""Files of a directory that are flushed one by one. For more, one flush of the whole file system is
faster, although other programs write there too: .04 s instead of .7 s for 5000 files."""

_NO_EXCHANGE = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}
"""Error codes of renameat2 on file systems that cannot exchange two names."""


@dataclass
class OutputDirectory:
    """A claimed output directory."""

    path: Path
    """The absolute path."""
    shown: Path
    """The path as the user wrote it, for messages."""
    replaces: bool
    """Whether an existing result will be replaced."""
    link: Path | None = None
    """A symbolic link that will point to the directory once it is written."""
    notes: list[str] = field(default_factory=list)
    """Notes for the user about temporary files of interrupted runs, one sentence each."""

    @property
    def checkpoints(self) -> Path:
        """The directory of the checkpoints that belong to this output."""
        return checkpoints_of(self.shown)

    @contextmanager
    def staged(self, points: Path | None = None) -> Iterator[Path]:
        """A new directory to write the output into. At the end of the block it is moved to
        :attr:`path`. If the block fails, it is removed and the output directory is unchanged.

        ``points`` is a directory in the checkpoints that becomes a part of the output. It is moved
        there at once, and back if the block fails.

        Raises RunError if the output cannot be written, or if other files have appeared in the
        output directory since the claim. In the latter case the output is put beside it, and the
        message has its path.
        """
        try:
            with staging_directory(self.path) as fresh, _moved(points, fresh / POINTS):
                yield fresh
                _flush(fresh)
                self._publish(fresh)
        except OSError as error:
            raise unwritable(self.shown, error) from None

    def _publish(self, fresh: Path) -> None:
        found = _occupation(self.path, replace=self.replaces)
        if found:
            self._publish_beside(fresh, found)
        if self.replaces and self.path.exists():
            self._exchange(fresh)
        else:
            # This fails unless the target is missing or an empty directory.
            os.rename(fresh, self.path)
        _flush_one(self.path.parent)
        if self.link is not None:
            _point(self.link, self.path)

    def _exchange(self, fresh: Path) -> None:
        """Replaces the old output by the new one, and removes the old one."""
        old = _temporary(self.path, "replaced")
        # The staging directory is removed with its content, so the old output needs another name.
        os.rename(fresh, old)
        try:
            _core.exchange_paths(old, self.path)
        except OSError as error:
            os.rename(old, fresh)
            if error.errno not in _NO_EXCHANGE:
                raise
            # After an interruption between the two steps, the next claim undoes the first.
            os.rename(self.path, old)
            os.rename(fresh, self.path)
        remove_result(old)
        if old.exists():
            leftover = _free_name(self.path, "-old")
            os.rename(old, leftover)
            self.notes.append(
                f"{leftover} holds files that appeared while the result was replaced."
            )

    def _publish_beside(self, fresh: Path, found: str) -> None:
        beside = _free_name(self.path, "")
        os.rename(fresh, beside)
        raise RunError(
            f"{self.shown}: {found}, which appeared during the run; the result is in "
            f"{self.shown.with_name(beside.name)}"
        )


@contextmanager
def claim(
    directory: str | os.PathLike[str], *, replace: bool = False, resume: bool = False
) -> Iterator[OutputDirectory]:
    """Claims a directory that does not exist or is empty; with ``replace`` also one that contains
    only a result; with ``resume`` also one that contains only a partial result.

    Raises Occupied if it contains anything else or another process has claimed it, RunError if it
    cannot be written.
    """
    shown = Path(directory)
    path = _resolved(shown)
    with _parents(path), locked(path, shown):
        notes = _recover(path)
        replace = replace or (resume and _is_partial(path))
        found = _occupation(path, replace=replace)
        if found:
            raise Occupied(f"{shown}: {found}, expected a new or an empty directory")
        replaces = path.is_dir() and any(path.iterdir())
        yield OutputDirectory(path, shown, replaces, notes=notes)


@contextmanager
def claim_next(folder: Path, name: str, *, resume: bool = False) -> Iterator[OutputDirectory]:
    """Claims the first free directory of NAME, NAME-2, NAME-3, ... in ``folder``; with ``resume``,
    the last one that has checkpoints.

    Raises RunError if the folder cannot be written.
    """
    with ExitStack() as stack:
        output = None
        for path in _begun(folder, name) if resume else ():
            output = stack.enter_context(claim(path, resume=True))
        numbers = count(1)
        while output is None:
            path = folder / _numbered(name, next(numbers))
            # Only a claim shows whether another process is about to write there.
            with suppress(Occupied):
                if not os.path.lexists(checkpoints_of(path)):
                    output = stack.enter_context(claim(path))
        yield output


def checkpoints_of(directory: Path) -> Path:
    """The directory of the checkpoints of a run whose output goes to ``directory``."""
    return directory.with_name(f"{directory.name}.checkpoints")


def remove_result(path: Path) -> None:
    """Removes the files that marqueue wrote into a directory, and the directory if it is then
    empty.

    Raises ResultError, and removes nothing, if the directory has no valid provenance.
    """
    for each in list(written_paths(path)):
        if each.is_dir() and not each.is_symlink():
            with suppress(OSError):
                each.rmdir()
        else:
            each.unlink()
    with suppress(OSError):
        path.rmdir()


@contextmanager
def staging_directory(directory: Path) -> Iterator[Path]:
    """A new directory beside ``directory``. It is removed at the end of the block if it still
    exists."""
    fresh = _temporary(directory, "partial")
    fresh.mkdir(parents=True)
    try:
        yield fresh
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


@contextmanager
def _moved(source: Path | None, target: Path) -> Iterator[None]:
    """Moves a directory, and back at the end of the block if it is still at ``target``."""
    if source is not None:
        os.rename(source, target)
    try:
        yield
    finally:
        if source is not None and target.exists():
            os.rename(target, source)


def _resolved(shown: Path) -> Path:
    """The absolute path of an output directory.

    Raises RunError if no output can be written there.
    """
    try:
        os.fspath(shown).encode()
    except UnicodeEncodeError:
        raise RunError(f"{os.fspath(shown)!r}: not valid UTF-8, expected a name in UTF-8") from None
    named = shown.name not in ("", "..")
    path = shown.parent.resolve() / shown.name if named else shown.resolve()
    if Path.cwd().is_relative_to(path):
        raise RunError(f"{shown}: is or holds the current directory, expected a new directory")
    if len(path.name.encode()) > _LONGEST_NAME:
        raise RunError(f"{shown}: expected a name of at most {_LONGEST_NAME} bytes")
    above = next(each for each in path.parents if each.exists())
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise RunError(f"{shown}: cannot be written, expected a place in a writable directory")
    return path


@contextmanager
def _parents(path: Path) -> Iterator[None]:
    """Makes the missing parents of a path, and removes those at the end that are still empty."""
    missing = [each for each in path.parents if not each.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):
            for each in missing:
                each.rmdir()


def _occupation(path: Path, *, replace: bool) -> str | None:
    """The reason why an output cannot be put at ``path``, for messages; None if it can."""
    if path.is_symlink():
        return f"is a symbolic link to {os.readlink(path)}"
    if not path.exists():
        return None
    if not path.is_dir():
        return "is a file"
    entries = sorted(os.listdir(path))
    if not entries:
        return None
    try:
        read_provenance(path)
        if not replace:
            return "holds a result (--force replaces it)"
        findings = check_directory(path)
    except ResultError:
        return f"holds {_some(entries)}, not a result of marqueue"
    others = [finding.path for finding in findings if finding.fault is not Fault.MISSING]
    if not others:
        return None
    return f"holds files that marqueue did not write or that were changed ({_some(others)})"


def _some(names: list[str]) -> str:
    """The first three names, and the number of others."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _is_result(path: Path) -> bool:
    """Whether a directory contains an unchanged result and nothing else."""
    try:
        return not check_directory(path)
    except (ResultError, OSError):
        return False


def _is_newer_result(path: Path, other: Path) -> bool:
    """Whether both directories contain unchanged results and nothing else, and ``path`` was written
    after ``other``."""
    written = [each / PROVENANCE for each in (path, other)]
    if not all(each.is_file() for each in written):
        return False
    times = [each.stat().st_mtime_ns for each in written]
    return times[0] > times[1] and _is_result(path) and _is_result(other)


def _is_partial(path: Path) -> bool:
    """Whether a directory contains a partial result."""
    try:
        return read_provenance(path).get("partial") is not None
    except (ResultError, OSError):
        return False


def _recover(path: Path) -> list[str]:
    """Undoes an interrupted replacement, or completes it if the new result was about to be swapped
    with the old one. Returns notes about what interrupted runs have left.

    The caller holds the lock of ``path``.
    """
    notes = []
    replaced, partial = (
        sorted(path.parent.glob(f".{glob.escape(path.name)}.*.{kind}"))
        for kind in ("replaced", "partial")
    )
    kept = checkpoints_of(path) / POINTS
    for moved in (left / POINTS for left in partial):
        # A sweep that was killed before it was in place: its checkpoints need the points again.
        if moved.is_dir() and kept.parent.is_dir() and not kept.exists():
            os.rename(moved, kept)
    whole = [each for each in replaced if _is_result(each)]
    if whole and not path.exists():
        replaced.remove(whole[0])
        os.rename(whole[0], path)
        notes.append(f"{path.name} was moved back: its replacement had been interrupted.")
    for new in [each for each in replaced if _is_newer_result(each, path)]:
        with suppress(OSError):
            _core.exchange_paths(new, path)
            replaced.remove(new)
            remove_result(new)
            notes.append(f"{path.name} was replaced: its replacement had been interrupted.")
    notes += [
        f"{left}: probably left by a run that was killed; it is not used and can be removed."
        for left in [*replaced, *partial]
    ]
    return notes


def _temporary(path: Path, kind: str) -> Path:
    """A unique temporary name beside ``path``."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.{kind}")


def _free_name(path: Path, suffix: str) -> Path:
    """The first of NAME-2, NAME-3, ... beside ``path`` that does not exist."""
    names = (path.with_name(f"{path.name}{suffix}-{number}") for number in count(2))
    return next(each for each in names if not os.path.lexists(each))


def _numbered(name: str, number: int) -> str:
    """NAME, NAME-2, NAME-3, ... for 1, 2, 3, ..."""
    return name if number == 1 else f"{name}-{number}"


def _begun(folder: Path, name: str) -> list[Path]:
    """The last of NAME, NAME-2, ... that has checkpoints, in a list; empty if none has."""
    pattern = re.compile(rf"({re.escape(name)}(?:-([0-9]+))?)\.checkpoints")
    found = [pattern.fullmatch(each) for each in (os.listdir(folder) if folder.is_dir() else ())]
    numbers = {int(match[2] or 1): folder / match[1] for match in found if match}
    return [numbers[max(numbers)]] if numbers else []


def _point(link: Path, path: Path) -> None:
    """Makes ``link`` a symbolic link to ``path``, unless it exists and is not a link."""
    if link.exists() and not link.is_symlink():
        return
    fresh = _temporary(link, "link")
    os.symlink(path.name, fresh)
    os.replace(fresh, link)


def _flush(directory: Path) -> None:
    """Flushes all files of a directory to the disk, before it gets the name of an output."""
    every = (
        os.path.join(folder, name)
        for folder, _, files in os.walk(directory)
        for name in [*files, "."]
    )
    paths = list(islice(every, _MOST_FLUSHED_SINGLY + 1))
    if len(paths) > _MOST_FLUSHED_SINGLY:
        _core.flush_file_system(directory)
    else:
        for path in paths:
            _flush_one(path)


def _flush_one(path: str | Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
