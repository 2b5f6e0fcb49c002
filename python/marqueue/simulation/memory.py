"""The memory that a run takes and the machine has. A run that would not fit is refused before it
starts, with what would."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from math import ceil, floor, inf, log10
from pathlib import Path
from typing import NamedTuple, Self

import marqueue._core as _core
from marqueue.errors import RunError
from marqueue.results.many_flows import MANY
from marqueue.simulation.limits import STATM
from marqueue.units import Duration

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
#: While the table of samples of a result is made, a quarter of it is copied: measured with samples
#: every millisecond.
COPIES = 1.25
_MEMINFO = Path("/proc/meminfo")
#: The limit of a container, and what it has used (cgroup v2).
_CGROUP = Path("/sys/fs/cgroup")
GB = 1e9
#: A part of the memory is named if it is more than this share of all.
WORTH_NAMING = 0.05


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


class Parts(NamedTuple):
    """What takes the memory of one run, bytes."""

    flows: float
    """Flows and their rows."""
    packets: float
    """Packets on links and in queues, and what is measured of these."""
    flow_queues: float
    """The state of queues that have a queue for each flow."""
    samples: float
    """Samples of queues."""


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
    parts: Parts
    """What takes most of it."""
    table: float
    """The samples of queues in the table of the result, bytes."""

    @classmethod
    def of(cls, plan: str) -> Self:
        """The estimate for a plan. Of samples it knows no probes and no names of links."""
        fields, parts = _core.estimated_memory(plan)
        parts = Parts(*parts)
        return cls(*fields, parts, table=parts.samples)

    def with_samples(self, samples: float, table: float) -> Self:
        """The same with so many bytes of samples of queues, in the engine and in the table."""
        of_engine = self.bytes - self.parts.samples + samples
        parts = self.parts._replace(samples=samples)
        return self._replace(bytes=of_engine, parts=parts, table=table)

    def added(self, jobs: int, replications: int, threads: int = 1, of_links: float = 0.0) -> float:
        """The memory that is taken at most while so many replications at a time run, each on so
        many threads, and then by the result of all, bytes. ``of_links`` are those of what the
        result has of links, without samples."""
        if replications * self.flows <= MANY:
            parts, of_flows = 0.0, self.flows * OF_FLOW
        else:
            parts, of_flows = PARTS, self.rows * (OF_ROW + 8 * self.windows)
        samples = self.parts.samples
        of_one = self.bytes - samples + (threads - 1) * self.of_thread
        running = jobs * of_one + max(replications - jobs, 0) * of_flows + replications * samples
        left = jobs * (of_one - threads * self.released)
        again = USED_AGAIN * min(left, of_links)
        of_result = replications * (of_flows + samples + COPIES * self.table) + of_links
        return max(running, left + LIBRARIES + parts + of_result - again)


def added_bytes(plan: str, jobs: int, replications: int, threads: int = 1) -> float:
    """What a run adds to the memory of this process at most while so many replications of a plan at
    a time run, each on so many threads, and its result is made, bytes."""
    return Estimate.of(plan).added(jobs, replications, threads)


def refuse_beyond_memory(
    estimate: Estimate, sample: Duration, jobs: int, replications: int, threads: int = 1
) -> None:
    """Raises RunError, with what would fit, if so many replications at a time, each on so many
    threads, and the flows of the result, take more memory than there is. ``sample``: the time
    between two samples of a queue."""
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
    unsampled = estimate.with_samples(0.0, 0.0).added(1, replications)
    parts = estimate.parts._replace(samples=of_one - unsampled)
    what = ", ".join(_largest(parts))
    fits = _what_fits(parts, of_one, free, sample)
    has = "even one replication at a time has" if jobs > 1 else "it has"
    raise RunError(f"{message}; {has} {what}; {fits}")


def _largest(parts: Parts) -> Iterator[str]:
    """What takes most of the memory, in words, the largest first."""
    names = ("flows", "packets", "queues of flows", "samples of queues")
    listed = sorted(zip(parts, names, strict=True), reverse=True)
    for size, name in listed:
        if size > WORTH_NAMING * sum(parts):
            yield f"{size / GB:.2g} GB for {name}"


def _what_fits(parts: Parts, of_one: float, free: float, sample: Duration) -> str:
    """With what changes one replication fits, in words."""
    rest, removed = of_one, []
    for name in sorted(("samples", "flow_queues"), key=lambda name: -getattr(parts, name)):
        if rest > free:
            rest -= getattr(parts, name)
            removed.append(name)
    if rest >= free:
        return f"with about {free / of_one:.0%} of its flows and its buffers it fits"
    longer = sample.seconds * parts.samples / (free - rest)
    changes = {
        "samples": f"a sample of {_rounded_up(longer):g} s or more",
        "flow_queues": "an AQM that has fewer of these queues, or none",
    }
    return f"with {' and '.join(changes[name] for name in removed)} it fits"


def _rounded_up(x: float) -> float:
    """To a number with one digit."""
    digit = 10.0 ** floor(log10(x)) if x > 0 else 1.0
    return digit * ceil(x / digit)
