"""Runs points as jobs in other processes, until all have a result.

A job whose process is gone without an answer (a node that died, a limit of its memory or time) is
submitted again, up to :data:`ATTEMPTS` times. It continues from the replications that it had
completed. Other points do not notice.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Protocol

from marqueue.errors import RunError
from marqueue.simulation.cluster.point_job import PointJob, Refused
from marqueue.simulation.executor import Progress

ATTEMPTS = 3
"""Times that a point is submitted."""

POLL = 0.5
"""Seconds at most between looks at what has ended."""

MOST_NAMED = 10
"""Points that a message names."""


@dataclass(frozen=True)
class Died:
    """A process is gone without an answer."""

    why: str
    """What is known of it, such as the place of its log."""


Ending = Died | Refused | None
"""How a job ended; None with a result."""


class Cluster(Protocol):
    """Where jobs run."""

    def submit(self, jobs: Mapping[int, PointJob]) -> None:
        """Starts jobs, by the numbers of their points."""

    def wait(self, seconds: float) -> None:
        """Waits for so long, or until a job may have ended."""

    def ended(self) -> Mapping[int, Ending]:
        """The jobs that have ended since the last call. Raises what a job raised that is a bug."""

    def cancel(self) -> None:
        """Ends all jobs that have not ended."""


def complete(
    cluster: Cluster, jobs: Mapping[int, PointJob], progress: Progress | None
) -> Generator[int]:
    """Runs jobs and yields the numbers of those that have a result, as they end. Closing the
    iterator ends the others.

    Raises RunError, or the error of a point, if one cannot be run; and RunError at the end if there
    are points whose processes died in all attempts.
    """
    waiting, lost = dict(jobs), dict[int, str]()
    attempts = dict.fromkeys(jobs, 1)
    total = sum(job.seconds for job in jobs.values())
    done = 0.0
    try:
        cluster.submit(waiting)
        while True:
            for number, ending in cluster.ended().items():
                match ending:
                    case None:
                        done += waiting.pop(number).seconds
                        yield number
                    case Refused(kind, message):
                        raise kind(f"point {number}: {message}")
                    case Died() if attempts[number] < ATTEMPTS:
                        attempts[number] += 1
                        cluster.submit({number: waiting[number]})
                    case Died(why):
                        del waiting[number]
                        lost[number] = why
            if progress:
                progress(done, total)
            if not waiting:
                break
            cluster.wait(POLL)
    finally:
        cluster.cancel()
    if lost:
        first = min(lost)
        named = ", ".join(map(str, sorted(lost)[:MOST_NAMED]))
        more = f" and {len(lost) - MOST_NAMED} more" if len(lost) > MOST_NAMED else ""
        raise RunError(
            f"points {named}{more}: their processes ended {ATTEMPTS} times without a result; "
            f"point {first}: {lost[first]}"
        )
