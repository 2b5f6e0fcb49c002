"""The memory that a run takes and the machine has. A run that would not fit is refused before it
starts, with what would."""

from __future__ import annotations

import json
import os
import resource
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import marqueue._core as _core
from marqueue.errors import RunError
from marqueue.results.many_flows import MANY
from marqueue.simulation.limits import STATM

#: What the process takes besides the engine once it has made a result of a run: libraries, mainly.
LIBRARIES = 45e6
#: Of each flow of a result with a table of flows, at its largest: measured with 10^4 to 5 10^5.
OF_FLOW = 360.0
#: Of the flows of a result without a table of them: a part and what is made of it, measured with
#: 10^6 and 10^7.
PARTS = 30e6
#: What the engine leaves in the allocator is used again for tables of links; this share of it was
#: measured with 10^5 and 10^6 flows over 10^4 links, on one thread and two.
USED_AGAIN = 0.5
#: A row that the engine gave in memory, without its measuring windows.
OF_ROW = 56.0
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


class Estimate(NamedTuple):
    """What one run of a plan takes whose rows of flows leave it, and what its result has."""

    bytes: float
    """The largest memory of the run."""
    released: float
    """What of it goes back to the system when the run has ended, bytes."""
    of_thread: float
    """What each thread but the first takes, bytes."""
    flows: float
    """The mean number of flows."""
    rows: float
    """The number of their rows that the result has in memory."""
    windows: int
    """The number of measuring windows."""

    def added(self, jobs: int, replications: int, threads: int = 1, of_links: float = 0.0) -> float:
        """The memory that is taken at most while so many replications at a time run, each on so
        many threads, and then by the result of all, bytes. ``of_links`` are those of what the
        result has of links."""
        if replications * self.flows <= MANY:
            parts, of_flows = 0.0, self.flows * OF_FLOW
        else:
            parts, of_flows = PARTS, self.rows * (OF_ROW + 8 * self.windows)
        of_one = self.bytes + (threads - 1) * self.of_thread
        running = jobs * of_one + max(replications - jobs, 0) * of_flows
        left = jobs * (of_one - threads * self.released)
        again = USED_AGAIN * min(left, of_links)
        return max(running, left + LIBRARIES + parts + replications * of_flows + of_links - again)


def added_bytes(plan: str, jobs: int, replications: int, threads: int = 1) -> float:
    """What a run adds to the memory of this process at most while so many replications of a plan at
    a time run, each on so many threads, and its result is made, bytes; of the result without
    samples of links."""
    return Estimate(*_core.estimated_memory(plan)).added(jobs, replications, threads)


def refuse_beyond_memory(plan: str, jobs: int, replications: int, threads: int = 1) -> None:
    """Raises RunError, with what would fit, if so many replications of a plan at a time, each on so
    many threads, and the flows of the result, take more memory than there is."""
    estimate = Estimate(*_core.estimated_memory(plan))
    free = free_bytes()
    if (needed := estimate.added(jobs, replications, threads)) <= free:
        return
    beside = "" if jobs * threads == 1 else f" in {jobs * threads} threads"
    message = (
        f"the run takes about {needed / GB:.3g} GB of memory{beside}, and "
        f"{free / GB:.3g} GB are free"
    )
    for fewer in range(threads - 1, 0, -1):
        if estimate.added(jobs, replications, fewer) <= free:
            raise RunError(f"{message}; with --threads {fewer} it fits")
    for fewer in range(jobs - 1, 0, -1):
        if estimate.added(fewer, replications) <= free:
            raise RunError(f"{message}; with --jobs {fewer} it fits")
    of_one = estimate.added(1, replications)
    raise RunError(f"{message}; {_what_fits(json.loads(plan), of_one, free)}")


def _what_fits(plan: dict[str, Any], of_one: float, free: float) -> str:
    """The change of the plan's largest part with which it fits, in words."""
    engine, unsampled = (
        _core.estimated_bytes(json.dumps(each), rows_leave=True)
        for each in (plan, plan | {"sample": 0})
    )
    sampled = engine - unsampled
    if sampled > of_one / 2 and of_one - sampled < free:
        sample = plan["sample"] / 1e9 * sampled / (free - (of_one - sampled))
        return f"with a sample of {sample:.1g} s or more it fits"
    return f"with about {free / of_one:.0%} of its flows and its buffers it fits"
