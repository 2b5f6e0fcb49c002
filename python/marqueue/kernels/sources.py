"""A kernel's source on its way into a folder where it is built.

A tree of one's own is copied, and nothing in it changes. What has not changed since the last build
is left alone in the copy, so that make compiles only what depends on the rest.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from marqueue.errors import MarqueueError

PRODUCTS = (".o", ".a", ".ko", ".cmd", ".mod", ".order", ".orig", ".rej")
"""What builds leave beside sources, in trees that git does not know."""
GENERATED = ("include/generated/", "include/config/", "arch/x86/include/generated/")
ARCHITECTURES = ("um", "x86")
"""Folders of arch/ that a user-mode kernel on x86-64 needs."""


@dataclass(frozen=True)
class Copied:
    """A file as it was when it was copied."""

    size: int
    modified: int
    """Nanoseconds."""
    checksum: str


def require_tree(tree: Path) -> None:
    """Raises MarqueueError if this is not a kernel's source with user-mode Linux."""
    for each in ("Makefile", "Kconfig", "arch/um/os-Linux/util.c", "net/ipv4/tcp.c"):
        if not (tree / each).is_file():
            raise MarqueueError(f"--tree {tree}: no file {each}, expected the source of a kernel")


def copy_tree(tree: Path, work: Path, index: Path, patched: frozenset[str]) -> str:
    """Brings ``work`` to the state of ``tree``, except for files that patches replace.

    ``index`` is a file with what was copied before. Returns a checksum of all contents.
    """
    before = _read_index(index)
    # As long as the copying is not done, nothing is known of what is in `work`.
    index.unlink(missing_ok=True)
    after: dict[str, Copied] = {}
    for path in _files(tree):
        source, target = tree / path, work / path
        about = source.lstat()
        known = before.get(path)
        unchanged = known is not None and known.size == about.st_size
        unchanged = unchanged and known is not None and known.modified == about.st_mtime_ns
        if unchanged and known is not None and path not in patched and os.path.lexists(target):
            after[path] = known
            continue
        after[path] = Copied(about.st_size, about.st_mtime_ns, _checksum(source))
        if path not in patched:
            _copy(source, target)
    for path in before.keys() - after.keys() - patched:
        (work / path).unlink(missing_ok=True)
    lines = [f"{path}\0{each.checksum}\n" for path, each in sorted(after.items())]
    kept = {path: vars(each) for path, each in after.items() if path not in patched}
    part = index.with_suffix(".part")
    part.write_text(json.dumps(kept), encoding="utf-8")
    part.replace(index)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _read_index(index: Path) -> dict[str, Copied]:
    try:
        found = json.loads(index.read_text(encoding="utf-8"))
        return {path: Copied(**each) for path, each in found.items()}
    except (OSError, ValueError, TypeError):
        return {}


def _files(tree: Path) -> Iterator[str]:
    """The paths of all sources that a build needs."""
    for path in _known_to_git(tree) or _there(tree):
        parts = path.split("/")
        other = parts[0] == "arch" and len(parts) > 2 and parts[1] not in ARCHITECTURES
        # crypto/Kconfig reads those of all architectures.
        other = other and not parts[-1].startswith("Kconfig")
        manual = parts[0] == "Documentation" and not parts[-1].startswith(("Kconfig", "Makefile"))
        tests = parts[:2] == ["tools", "testing"]
        if not (other or manual or tests) and os.path.lexists(tree / path):
            yield path


def _known_to_git(tree: Path) -> list[str]:
    """Files that git tracks or would; empty if this is no tree of git's."""
    if not (tree / ".git").exists() or not shutil.which("git"):
        return []
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(words, cwd=tree, capture_output=True, text=True, check=False)
    return [each for each in done.stdout.split("\0") if each] if done.returncode == 0 else []


def _there(tree: Path) -> Iterator[str]:
    for folder, below, names in os.walk(tree):
        below[:] = sorted(each for each in below if each != ".git")
        base = os.path.relpath(folder, tree)
        for name in sorted(names):
            path = name if base == "." else f"{base}/{name}"
            # What begins with a dot is of the build (.config, .vmlinux.d) or of editors.
            product = path.endswith(PRODUCTS) or path.startswith(GENERATED) or name[0] == "."
            if not product:
                yield path


def _checksum(source: Path) -> str:
    if source.is_symlink():
        return hashlib.sha256(os.readlink(source).encode()).hexdigest()
    return hashlib.sha256(source.read_bytes()).hexdigest()


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.unlink(missing_ok=True)
        target.symlink_to(os.readlink(source))
    elif not target.is_file() or target.read_bytes() != source.read_bytes():
        # Not with the times of the source: make must see that it is new.
        shutil.copyfile(source, target)
        shutil.copymode(source, target)
