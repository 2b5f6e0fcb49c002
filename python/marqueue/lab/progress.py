"""How far the runs are that write into a folder, by their checkpoints."""

from __future__ import annotations

import json
import math
import os
import socket
from pathlib import Path
from typing import Any

from marqueue.errors import ResultError
from marqueue.lab.folder import CHECKPOINTS, Folder
from marqueue.results.integrity import read_sealed
from marqueue.results.output_directory import POINTS

IDENTITY = "run.json"
"""The file that identifies the run (marqueue.simulation.checkpoints)."""


def unfinished(folder: Folder) -> list[dict[str, Any]]:
    """Runs and sweeps that have not ended, ready for JSON: how much is done, and whether a process
    is at work. One that was interrupted continues with ``--resume``."""
    return [_progress(folder, path) for path in folder.checkpoints()]


def _progress(folder: Folder, path: Path) -> dict[str, Any]:
    target = path.with_name(path.name.removesuffix(CHECKPOINTS))
    try:
        identity = read_sealed(path / IDENTITY)
    except (ResultError, OSError, ValueError):
        identity = {}
    scenario = identity.get("scenario") or {}
    over = identity.get("over")
    total: int | None
    if over:
        done, total, unit = _points(path), math.prod(map(len, over.values())), "points"
    else:
        done, total, unit = _replications(path), scenario.get("replications"), "replications"
    return {
        "path": folder.name(target),
        "name": scenario.get("name", target.name),
        "over": over,
        "done": done,
        "total": total,
        "unit": unit,
        "running": _is_written(target),
    }


def _points(path: Path) -> int:
    """Completed points of a sweep. Names of incomplete ones begin with a dot."""
    try:
        return sum(not name.startswith(".") for name in os.listdir(path / POINTS))
    except OSError:
        return 0


def _replications(path: Path) -> int:
    return sum(1 for _ in path.glob("*.checkpoint"))


def _is_written(target: Path) -> bool:
    """Whether a process writes an output directory, by its lock (results/directory_lock.py).

    The lock is only read: to try it would stop a run that begins at that moment.
    """
    try:
        lock = target.with_name(f".{target.name}.lock").read_text(encoding="utf-8")
        holder = json.loads(lock)
        if holder["host"] != socket.gethostname():
            return True
        os.kill(int(holder["pid"]), 0)
    except PermissionError:
        # A process of another user.
        return True
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True
