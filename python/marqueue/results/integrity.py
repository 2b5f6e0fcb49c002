"""Digests of the files of an output directory: they show which files are unchanged since marqueue
wrote them, and which it did not write.

Every output directory has two sealed JSON files. ``provenance.json`` describes how the output was
made and lists the SHA-256 digest of every other file. ``circumstances.json`` has the machine and
the time, and the digest of the provenance that it belongs to. A *sealed* file ends with the digest
of its own content, so every byte of an output directory is covered by a digest.

An output directory may contain others, such as the points of a sweep. Their provenance is listed
like any file, and their files are checked against it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from marqueue.errors import ResultError
from marqueue.json_text import dump_json

FORMAT = 1
"""The version of the layout of output directories."""

PROVENANCE = "provenance.json"
CIRCUMSTANCES = "circumstances.json"

_SEAL = re.compile(rb',\n  "sha256": "([0-9a-f]{64})"\n}\n')


def write_json(path: Path, value: Any, *, sort_keys: bool = True) -> None:
    """Writes a value as indented JSON."""
    path.write_text(dump_json(value, sort_keys=sort_keys), encoding="utf-8")


def write_sealed(path: Path, value: Mapping[str, Any]) -> str:
    """Writes a mapping as JSON. The last member, ``sha256``, is the digest of all bytes before it.

    Returns the digest.
    """
    body = dump_json(dict(value), sort_keys=False).removesuffix("\n}\n").encode()
    digest = hashlib.sha256(body).hexdigest()
    path.write_bytes(body + f',\n  "sha256": "{digest}"\n}}\n'.encode())
    return digest


def read_sealed(path: Path) -> dict[str, Any]:
    """Reads what :func:`write_sealed` wrote, with its ``sha256``.

    Raises OSError if the file cannot be read, ResultError if its content has changed.
    """
    content = path.read_bytes()
    seal = _SEAL.search(content, max(0, len(content) - 90))
    if seal is None or seal.end() != len(content):
        raise ResultError(f"{path}: damaged: it does not end with a digest of its content")
    if hashlib.sha256(content[: seal.start()]).hexdigest().encode() != seal[1]:
        raise ResultError(f"{path}: damaged: its content does not match the digest at its end")
    table: dict[str, Any] = json.loads(content)
    return table


def file_digest(path: Path) -> str:
    """The SHA-256 digest of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def seal_directory(
    directory: Path, provenance: Mapping[str, Any], circumstances: Mapping[str, Any]
) -> None:
    """Completes an output directory: writes its provenance, with the digests of all files, and its
    circumstances.

    This must come last: a directory is a result only with a valid provenance.
    """
    for folder, _, _ in os.walk(directory, topdown=False):
        if not os.listdir(folder):
            os.rmdir(folder)
    files = {
        str(path.relative_to(directory)): file_digest(path)
        for path in sorted(_own_files(directory))
    }
    digest = write_sealed(directory / PROVENANCE, {"format": FORMAT, **provenance, "files": files})
    write_sealed(directory / CIRCUMSTANCES, {**circumstances, "provenance": digest})


def _own_files(directory: Path) -> Iterator[Path]:
    """The files of an output directory; of each one in it only the provenance, which covers the
    rest."""
    for folder, folders, names in os.walk(directory):
        if PROVENANCE in names:
            folders.clear()
            yield Path(folder, PROVENANCE)
        else:
            yield from (Path(folder, name) for name in names)


def read_provenance(directory: Path) -> dict[str, Any]:
    """The provenance of an output directory, checked against its own digest.

    Raises ResultError if the directory has no provenance, or one of another format, or if the file
    is damaged.
    """
    try:
        provenance = read_sealed(directory / PROVENANCE)
    except (FileNotFoundError, NotADirectoryError):
        raise ResultError(
            f"{directory}: not a result, expected a directory with {PROVENANCE}"
        ) from None
    if provenance.get("format") != FORMAT:
        raise ResultError(
            f"{directory / PROVENANCE}: format {provenance.get('format')}, which marqueue "
            f"{provenance.get('version')} wrote; expected format {FORMAT}"
        )
    return provenance


def read_circumstances(directory: Path, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The circumstances of an output directory, without digests.

    Raises ResultError if the file is damaged or belongs to another result.
    """
    path = directory / CIRCUMSTANCES
    try:
        circumstances = read_sealed(path)
    except FileNotFoundError:
        raise ResultError(f"{path}: missing, expected a file of the result") from None
    del circumstances["sha256"]
    if circumstances.pop("provenance", None) != provenance["sha256"]:
        raise ResultError(f"{path}: belongs to another result than {PROVENANCE} beside it")
    return circumstances


def verified(directory: Path, provenance: Mapping[str, Any], name: str) -> Path:
    """The path of a file of an output directory, after checking its content against its digest.

    Raises ResultError if it is missing, changed or not listed in the provenance.
    """
    path = directory / name
    expected = provenance["files"].get(name)
    if expected is None:
        raise ResultError(f"{path}: not listed in {PROVENANCE}, expected a file of the result")
    try:
        found = file_digest(path)
    except FileNotFoundError:
        raise ResultError(f"{path}: missing, expected the file that {PROVENANCE} lists") from None
    if found != expected:
        raise ResultError(f"{path}: damaged: its content does not match its digest in {PROVENANCE}")
    return path


class Fault(Enum):
    """A fault of an entry of an output directory."""

    MISSING = "missing"
    CHANGED = "changed since marqueue wrote it"
    FOREIGN = "not written by marqueue"
    UNKNOWN = f"cannot be checked without the {PROVENANCE} beside it"


@dataclass(frozen=True)
class Finding:
    """An entry of an output directory that differs from what marqueue wrote."""

    path: str
    """Relative to the directory."""
    fault: Fault

    def __str__(self) -> str:
        return f"{self.path}: {self.fault.value}"


def check_directory(directory: Path) -> list[Finding]:
    """All entries of an output directory that differ from what marqueue wrote.

    Raises ResultError if the directory has no valid provenance to check them against.
    """
    provenance = read_provenance(directory)
    return sorted(_findings(directory, provenance), key=lambda finding: finding.path)


def written_paths(directory: Path) -> Iterator[Path]:
    """The unchanged files and folders of an output directory, each folder after its content, so
    they can be removed in this order."""
    wrong = {finding.path for finding in check_directory(directory)}
    for folder, folders, files in os.walk(directory, topdown=False):
        for name in [*files, *folders]:
            path = Path(folder, name)
            if str(path.relative_to(directory)) not in wrong:
                yield path


def _findings(directory: Path, provenance: Mapping[str, Any]) -> Iterator[Finding]:
    listed: dict[str, str] = provenance["files"]
    folders = {str(parent) for name in listed for parent in Path(name).parents}
    found = {PROVENANCE}
    waiting = [directory]
    while waiting:
        for entry in os.scandir(waiting.pop()):
            path = Path(entry.path)
            name = str(path.relative_to(directory))
            if entry.is_dir(follow_symlinks=False) and name in folders:
                if f"{name}/{PROVENANCE}" in listed:
                    found.add(f"{name}/{PROVENANCE}")
                    yield from _nested_findings(path, listed[f"{name}/{PROVENANCE}"], name)
                else:
                    waiting.append(path)
            elif not entry.is_file(follow_symlinks=False):
                yield Finding(name, Fault.FOREIGN)
            elif name == CIRCUMSTANCES:
                found.add(name)
                try:
                    read_circumstances(directory, provenance)
                except ResultError:
                    yield Finding(name, Fault.CHANGED)
            elif name in listed:
                found.add(name)
                if file_digest(path) != listed[name]:
                    yield Finding(name, Fault.CHANGED)
            elif name != PROVENANCE:
                yield Finding(name, Fault.FOREIGN)
    for name in {*listed, CIRCUMSTANCES} - found:
        yield Finding(name, Fault.MISSING)


def _nested_findings(directory: Path, expected: str, name: str) -> Iterator[Finding]:
    """The findings of a nested output directory; ``expected`` is the digest of its provenance."""
    try:
        provenance = read_provenance(directory)
        if file_digest(directory / PROVENANCE) != expected:
            raise ResultError("it is that of another result")
    except ResultError:
        missing = not (directory / PROVENANCE).exists()
        yield Finding(f"{name}/{PROVENANCE}", Fault.MISSING if missing else Fault.CHANGED)
        for path in sorted(directory.rglob("*")):
            if path != directory / PROVENANCE:
                yield Finding(f"{name}/{path.relative_to(directory)}", Fault.UNKNOWN)
        return
    for finding in _findings(directory, provenance):
        yield Finding(f"{name}/{finding.path}", finding.fault)
