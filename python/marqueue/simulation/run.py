"""Running a scenario: replications in parallel, with one result that does not depend on how many at
a time, nor on whether it was interrupted and resumed.

Importing this brings nothing that runs: the package has :func:`run` as its own, and the command
answers before all else is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from marqueue.errors import RunError
from marqueue.simulation.limits import NO_LIMITS, Limits

if TYPE_CHECKING:
    from marqueue.results import Result
    from marqueue.scenario import Scenario
    from marqueue.simulation.checkpoints import Checkpoints
    from marqueue.simulation.executor import Executor, Progress


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    replications: int | None = None,
    until: Sequence[str] = (),
    jobs: int | None = None,
    progress: Progress | None = None,
    limits: Limits = NO_LIMITS,
    checkpoints: Checkpoints | None = None,
) -> Result:
    """Runs a scenario and gives its result.

    ``seed`` and ``replications`` replace the scenario's own; ``jobs`` is how many replications run
    at a time, by default one a processor. With ``until``, such as ``["utilization ±0.5%"]``,
    replications are added until the 95% interval of every figure named is that narrow;
    ``replications`` is then how many there may be. The result is the same for any ``jobs``, and
    its scenario is the one as run: with the number of replications and with the warm-up, if that
    was to be found. An interrupt (Ctrl-C) stops the run within a fraction of a second.

    A limit that is reached ends the run; the result is then partial, and says so. Completed
    replications are stored in ``checkpoints``, and those that are there do not run again.

    Raises ScenarioError or RunError if it cannot be run as asked, if the checkpoints are of another
    run, or if a limit is reached before anything was measured.
    """
    from marqueue.simulation.checkpoints import Checkpoints
    from marqueue.simulation.executor import Executor
    from marqueue.simulation.experiment import Experiment

    asked = Experiment.of(scenario, seed, replications, until)
    checkpoints = checkpoints or Checkpoints()
    checkpoints.belong_to({"scenario": asked.scenario.to_dict(), **asked.rules(limits)})
    pool: Executor[Result | None] = Executor(jobs, checkpoints, limits, progress)
    work = asked.work(pool, limits)
    with closing(pool.complete([work], work.seconds)) as results:
        [(_, result)] = results
    if result is None:
        raise RunError(f"{pool.stopped} was reached before anything was measured")
    return result


def run_each(
    scenarios: Sequence[Scenario],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
) -> list[Result]:
    """The results of several scenarios, whose replications share threads and checkpoints."""
    from marqueue.simulation.executor import Executor
    from marqueue.simulation.experiment import Experiment

    pool: Executor[Result | None] = Executor(jobs, checkpoints, progress=progress)
    works = [Experiment.of(each, None, None, ()).work(pool, NO_LIMITS) for each in scenarios]
    found: dict[int, Result] = {}
    with closing(pool.complete(works, sum(work.seconds for work in works))) as results:
        for index, result in results:
            assert result is not None, "without limits everything is measured"
            found[index] = result
    return [found[index] for index in range(len(works))]
