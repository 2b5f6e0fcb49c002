"""The memory that a run takes and the machine has. A run that would not fit is refused before it
starts, with what would."""

from __future__ import annotations

import json
import os
import resource
from math import inf
from pathlib import Path
from typing import Any

import marqueue._core as _core
from marqueue.errors import RunError
from marqueue.simulation.limits import STATM, resident_bytes

#: What the process takes besides the engine once it has made a result of a run: libraries, mainly.
LIBRARIES = 55e6
_MEMINFO = Path("/proc/meminfo")
#: The limit of a container, and what it has used (cgroup v2).
_CGROUP = Path("/sys/fs/cgroup")
GB = 1e9


def free_bytes() -> float:
    """The memory that this process can still have, bytes: what the machine, its container and its
    own limit (``ulimit -v``) leave; infinite where none is known."""
    return min(_of_machine(), _of_container(), _of_process())


def _of_machine() -> float:
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
    except OSError:
        return inf
    [available] = [line for line in lines if line.startswith("MemAvailable:")] or ["0 inf"]
    return 1024.0 * float(available.split()[1])


def _of_container() -> float:
    try:
        limit = (_CGROUP / "memory.max").read_text(encoding="ascii").strip()
        used = (_CGROUP / "memory.current").read_text(encoding="ascii")
    except OSError:
        return inf
    return inf if limit == "max" else float(int(limit) - int(used))


def _of_process() -> float:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return inf
    pages = int(STATM.read_text(encoding="ascii").split()[0])
    return float(limit - pages * os.sysconf("SC_PAGE_SIZE"))


def needed_bytes(plan: str, threads: int) -> float:
    """The largest memory of this process while as many threads run a plan, bytes."""
    return resident_bytes() + LIBRARIES + threads * _core.estimated_bytes(plan)


def refuse_beyond_memory(plan: str, threads: int) -> None:
    """Raises RunError, with what would fit, if as many threads that run a plan take more memory
    than there is."""
    of_one = _core.estimated_bytes(plan)
    free = free_bytes() - LIBRARIES
    if threads * of_one <= free:
        return
    beside = "" if threads == 1 else f" in {threads} threads"
    message = (
        f"the run takes about {threads * of_one / GB:.3g} GB of memory{beside}, and "
        f"{free / GB:.3g} GB are free"
    )
    fit = int(free // of_one)
    if fit >= 1:
        raise RunError(f"{message}; with --jobs {fit} it fits")
    raise RunError(f"{message}; {_what_fits(json.loads(plan), of_one, free)}")


def _what_fits(plan: dict[str, Any], of_one: float, free: float) -> str:
    """The change of the plan's largest part with which it fits, in words."""
    sampled = of_one - _core.estimated_bytes(json.dumps(plan | {"sample": 0}))
    if sampled > of_one / 2 and of_one - sampled < free:
        sample = plan["sample"] / 1e9 * sampled / (free - (of_one - sampled))
        return f"with a sample of {sample:.1g} s or more it fits"
    return f"with about {free / of_one:.0%} of its flows and its buffers it fits"
