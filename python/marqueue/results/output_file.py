"""Single output files, such as a report, a figure or JSON: each appears whole or not at all.

A file is written under a temporary name beside its place, flushed to the disk and renamed. An
interrupted command therefore leaves the previous file as it was. Directories with several files are
the subject of :mod:`marqueue.results.output_directory`.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from marqueue.errors import RunError


def unwritable(path: str | os.PathLike[str], error: OSError) -> RunError:
    """The error to raise for an output that cannot be written, with the system's reason."""
    return RunError(f"{os.fspath(path)}: cannot be written: {error.strerror or error}")


def check_output_file(path: Path, *, replace: bool) -> None:
    """Checks, before any work is done, that a file can be written at ``path``.

    Raises RunError if its directory does not exist, if it is itself a directory, or if it exists
    and ``replace`` is false.
    """
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise RunError(f"{path}: cannot be written, expected a file in a directory that exists")
    if path.exists() and not replace:
        raise RunError(f"{path}: exists, expected a new file; --force replaces it")


def write_output_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Writes a file, or replaces it in one step; text is encoded in UTF-8.

    A replaced file keeps its permissions, and a symbolic link keeps pointing to it. Pipes and
    devices are written directly. Raises RunError if the file cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)
        else:
            _replace(target, data)
    except OSError as error:
        raise unwritable(path, error) from None


def write_output_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Writes files by their names into a folder, which is made if it does not exist.

    Raises RunError if the folder or a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    for name, content in files.items():
        write_output_file(folder / name, content)


def _replace(target: Path, data: bytes) -> None:
    staged = target.with_name(f".{target.name}.{secrets.token_hex(6)}.partial")
    try:
        with staged.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, staged)
        os.replace(staged, target)
    except BaseException:
        staged.unlink(missing_ok=True)
        raise
