"""Running scenarios. The result depends neither on the number of threads nor on interruptions.

The import is light: the package exports :func:`run`, and everything else is imported when it is
called.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
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
    threads: int | None = None,
    progress: Progress | None = None,
    limits: Limits = NO_LIMITS,
    checkpoints: Checkpoints | None = None,
) -> Result:
    """Runs a scenario and returns its result.

    ``seed`` and ``replications`` replace those of the scenario. ``jobs`` is the number of
    replications at a time, by default one per processor, and ``threads`` the most threads of each,
    by default as many as there are processors left, where several are faster than one; neither
    affects the result. With ``until``, such as
    ``["utilization ±0.5%"]``, replications are added until the 95% interval of every named figure
    is that narrow, and ``replications`` is their largest number. The scenario of the result is the
    one as run: it has the number of replications and the warm-up that was found. An interrupt
    (Ctrl-C) stops the run within a fraction of a second.

    If one of the ``limits`` is reached, the run ends with a partial result. Completed replications
    are stored in ``checkpoints``, and those already there do not run again. ``progress`` is called
    with the simulated seconds that are done, and their total.

    Raises ScenarioError or RunError for invalid arguments, if the checkpoints belong to another
    run, or if a limit is reached before anything was measured.
    """
    from marqueue.simulation.checkpoints import Checkpoints
    from marqueue.simulation.executor import Executor
    from marqueue.simulation.experiment import Experiment

    experiment = Experiment.of(scenario, seed, replications, until)
    checkpoints = checkpoints or Checkpoints()
    checkpoints.belong_to({"scenario": experiment.scenario.to_dict(), **experiment.rules(limits)})
    executor: Executor[Result | None] = Executor(jobs, checkpoints, limits, progress, threads)
    work = experiment.work(executor, limits)
    with closing(executor.complete([work], work.seconds)) as results:
        [(_, result)] = results
    if result is None:
        raise RunError(f"{executor.stopped} was reached before anything was measured")
    if result.partial:
        checkpoints.keep()
    return result


def run_each(
    scenarios: Sequence[Scenario],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
) -> list[Result]:
    """Runs several scenarios, which share threads and checkpoints. Returns their results in
    order."""
    with closing(completed(scenarios, jobs, progress, checkpoints)) as results:
        found = dict(results)
    return [found[index] for index in range(len(scenarios))]


def completed(
    scenarios: Sequence[Scenario],
    jobs: int | None = None,
    progress: Progress | None = None,
    checkpoints: Checkpoints | None = None,
) -> Generator[tuple[int, Result]]:
    """Runs several scenarios as :func:`run_each`, and yields each result as it completes, with the
    index of its scenario. Closing the iterator stops the runs."""
    from marqueue.simulation.executor import Executor
    from marqueue.simulation.experiment import Experiment

    executor: Executor[Result | None] = Executor(jobs, checkpoints, progress=progress)
    works = [Experiment.of(each, None, None, ()).work(executor, NO_LIMITS) for each in scenarios]
    with closing(executor.complete(works, sum(work.seconds for work in works))) as results:
        for index, result in results:
            assert result is not None, "without limits everything is measured"
            yield index, result
