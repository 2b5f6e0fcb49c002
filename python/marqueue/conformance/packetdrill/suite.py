"""Judges scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from marqueue.conformance.packetdrill.connection import Connection, Mismatch
from marqueue.conformance.packetdrill.parser import parse
from marqueue.conformance.packetdrill.script import NotModelled, ScriptError
from marqueue.errors import MarqueueError

Verdict = Literal["pass", "fail", "skipped", "unreadable"]

LARGEST_SCRIPT = 1 << 20
"""Bytes; the longest of the public suites has 60,000."""


@dataclass(frozen=True)
class Outcome:
    """What came of a script."""

    path: Path
    verdict: Verdict
    line: int | None = None
    """Where it fails, or where it asks for what is not modelled."""
    expected: str = ""
    got: str = ""
    reason: str = ""
    """Why it was skipped, or cannot be read; of a script that passed, what was not compared."""
    compared: int = 0
    """Number of segments and assertions that agreed."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "script": str(self.path),
            "verdict": self.verdict,
            "line": self.line,
            "expected": self.expected,
            "got": self.got,
            "reason": self.reason,
            "compared": self.compared,
        }


def find_scripts(paths: Iterable[Path]) -> list[Path]:
    """The scripts among files and below folders, sorted.

    Raises MarqueueError for a path that does not exist or a folder without scripts.
    """
    found: set[Path] = set()
    for path in paths:
        if path.is_dir():
            below = set(path.rglob("*.pkt"))
            if not below:
                raise MarqueueError(f"{path}: no file *.pkt in this folder")
            found |= below
        elif path.is_file():
            found.add(path)
        else:
            raise MarqueueError(f"{path}: no such file or folder")
    return sorted(found)


def judge(path: Path) -> Outcome:
    """Plays one script."""
    try:
        raw = path.read_bytes()
    except OSError as wrong:
        return Outcome(path, "unreadable", reason=str(wrong.strerror))
    if len(raw) > LARGEST_SCRIPT:
        return Outcome(path, "unreadable", reason=f"got {len(raw)} bytes, at most {LARGEST_SCRIPT}")
    connection: Connection | None = None
    try:
        connection = Connection(parse(raw.decode("utf-8", "replace")))
        connection.play()
    except ScriptError as wrong:
        return Outcome(path, "unreadable", wrong.line, reason=str(wrong))
    except NotModelled as missing:
        return Outcome(path, "skipped", missing.line, reason=str(missing))
    except Mismatch as wrong:
        ignored = _ignored(connection)
        return Outcome(
            path, "fail", wrong.line, wrong.expected, wrong.got, ignored, _count(connection)
        )
    if not connection.compared:
        return Outcome(
            path, "skipped", connection.closed, reason="nothing of a transfer to compare"
        )
    return Outcome(path, "pass", reason=_ignored(connection), compared=connection.compared)


def judge_all(
    paths: Iterable[Path], progress: Callable[[int], None] = lambda _: None
) -> list[Outcome]:
    """Plays scripts one after the other; tells ``progress`` how many are done."""
    outcomes = []
    for path in paths:
        outcomes.append(judge(path))
        progress(len(outcomes))
    return outcomes


def _count(connection: Connection | None) -> int:
    return connection.compared if connection else 0


def _ignored(connection: Connection | None) -> str:
    """What a script asked for and was not given."""
    if connection is None:
        return ""
    parts = [f"not modelled: {each}" for each in connection.settings.ignored]
    parts += [f"{n} × {name} not compared" for name, n in connection.evaluator.unchecked.items()]
    if connection.closed is not None:
        parts.append(f"compared up to line {connection.closed}, where the connection closes")
    return "; ".join(parts)
