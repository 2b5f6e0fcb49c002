"""What the results of a run will cost: the tables, the figures and the files of what the engine has
measured."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import numpy as np

from marqueue.garbage_collector import paused_collector
from marqueue.results import Result
from marqueue.results.output_file import unwritable
from marqueue.results.provenance import describe, here
from marqueue.scenario import Scenario
from marqueue.simulation.checkpoints import Checkpoints, Outcome

Raw = Mapping[str, Any]

ResultWriter = Callable[[Result, Path], object]
"""Writes what is kept of a result into an empty directory."""

#: Samples are repeated until there are as many as in a whole run, but not more than these.
MOST_SAMPLES = 1 << 20
#: Replications are added until their result takes so much longer than that of the first (s). A
#: smaller difference says little: thousands of replications multiply what it has by chance.
LONGER = 0.5
#: The first result takes longer than others by what it imports, and the first checkpoint by what it
#: reads. Where one takes less than this (s), it is made again.
QUICK = 1.0
#: Memory is measured at so many links at least, if there are as many.
SAMPLED_LINKS = 100
#: What objects take of memory, over their own sizes: measured for dumbbells and a parking lot.
ALLOCATED = 1.3
#: The memory that is taken while tables are made and written, over their size: 2.5 to 5 was
#: measured, likewise.
OF_TABLES = 3.0
COUNTED_ELSEWHERE = ("flows", "series")
"""Tables that the prediction of memory has already."""


@dataclass(frozen=True)
class ResultCost:
    """What the result of all replications costs."""

    seconds: float
    """CPU time of one thread, with what checkpoints take once, s."""
    of_checkpoint: float
    """CPU time of the checkpoint of each replication, s."""
    of_links: float
    """Memory of what was measured at links, without samples, bytes: in the output of the engine, in
    tables, and where these are made and written."""
    of_samples: float
    """The samples in the table of one replication, bytes."""


def predict_result(
    scenario: Scenario,
    plan: Mapping[str, Any],
    outcome: Outcome,
    replications: int,
    *,
    checkpoints: bool,
    write: ResultWriter | None,
) -> ResultCost:
    """Predicts what the result of so many replications will cost, from results of the first part of
    one: they are made, and written into a temporary directory.

    Measuring windows that the part did not reach are taken to be like its last, and samples are
    repeated. There are no more flows and no more of a trace than in the part. ``checkpoints``:
    whether replications are stored as they end.
    Raises RunError if the temporary directory cannot be written.
    """
    whole, times = _as_whole(outcome.raw, plan)
    try:
        cost = _measured(scenario, plan, outcome, whole, replications, write)
        once, of_checkpoint = _of_checkpoints(outcome) if checkpoints else (0.0, 0.0)
    except OSError as error:
        raise unwritable(error.filename or gettempdir(), error) from None
    seconds = once + times * cost.seconds
    return ResultCost(seconds, of_checkpoint, cost.of_links, times * cost.of_samples)


def _measured(
    scenario: Scenario,
    plan: Mapping[str, Any],
    outcome: Outcome,
    whole: Raw,
    replications: int,
    write: ResultWriter | None,
) -> ResultCost:
    """What a result of so many replications costs that are like a whole one."""

    def take(number: int) -> tuple[float, float, float]:
        """CPU time (s) of a result of so many replications, and bytes of its tables: of links, and
        of samples."""
        began = time.process_time()
        with TemporaryDirectory() as folder:
            result = _make(scenario, plan, outcome, [whole] * number, write, Path(folder))
        took = time.process_time() - began
        of_links = (table for name, table in result.tables.items() if name not in COUNTED_ELSEWHERE)
        return took, float(sum(table.nbytes for table in of_links)), result.tables["series"].nbytes

    # One replication has no intervals.
    few = min(2, replications)
    seconds, tables, samples = take(few)
    if seconds < QUICK:
        # The first result imports what others use.
        seconds, *_ = take(few)
    of_links = replications * (_bytes_of(outcome.raw["links"]) + OF_TABLES * tables / few)
    seconds = extrapolated(seconds, few, replications, lambda number: take(number)[0])
    return ResultCost(seconds, 0.0, of_links, samples / few)


def extrapolated(
    seconds: float, few: int, replications: int, time_of: Callable[[int], float]
) -> float:
    """What a result of so many replications takes (s), where one of ``few`` takes ``seconds``, and
    ``time_of`` measures one of any number."""
    if few == replications:
        return seconds
    more = few + 1
    while (longer := time_of(more) - seconds) < LONGER and more < replications:
        more = min(2 * more, replications)
    return seconds + (replications - few) / (more - few) * max(0.0, longer)


def _of_checkpoints(outcome: Outcome) -> tuple[float, float]:
    """CPU time of checkpoints (s): of all together, and of each replication."""

    def take() -> float:
        began = time.process_time()
        with TemporaryDirectory() as folder:
            checkpoints = Checkpoints(Path(folder))
            checkpoints.put(outcome)
            checkpoints.keep()
        return time.process_time() - began

    # The first reads the program's files, whose digest all have.
    first = take()
    each = take() if first < QUICK else first
    return max(0.0, first - each), each


@paused_collector()
def _make(
    scenario: Scenario,
    plan: Mapping[str, Any],
    outcome: Outcome,
    raws: Sequence[Raw],
    write: ResultWriter | None,
    folder: Path,
) -> Result:
    scenario = scenario.model_copy(update={"replications": len(raws)})
    seeds = [outcome.replication.seed] * len(raws)
    provenance = describe(scenario, seeds, here("", 0.0, outcome.cpu_seconds, 0))
    result = Result.from_raw(scenario, plan, provenance, raws)
    if write is not None:
        write(result, folder)
    return result


def _bytes_of(links: Sequence[Raw]) -> float:
    """The memory of what the engine has measured at links, from that of some of them."""
    some = links[:: max(1, len(links) // SAMPLED_LINKS)]
    sizes = [_size(link["windows"]) for link in some]
    return ALLOCATED * sum(sizes) * len(links) / max(1, len(some))


def _size(value: Any) -> int:
    own = sys.getsizeof(value)
    match value:
        case np.ndarray():
            return own if value.base is None else own + value.nbytes
        case dict():
            return own + sum(map(_size, value.values()))
        case list() | tuple():
            return own + sum(map(_size, value))
    return own


def _as_whole(raw: Raw, plan: Mapping[str, Any]) -> tuple[Raw, float]:
    """The output of the engine for a part, made as long as that for a whole replication; and how
    many times as many samples there are, beyond :data:`MOST_SAMPLES`."""
    duration, windows = float(raw["edges"][-1]), len(raw["edges"]) - 1
    if raw["ended"] >= duration:
        return raw, 1.0
    samples = round(duration * 1e9 / plan["sample"]) if plan["sample"] else 0
    links = len(raw["links"])
    some = min(samples, max(1, MOST_SAMPLES // max(1, links)))
    long = [
        link
        | {
            "windows": [*link["windows"], *link["windows"][-1:] * (windows - len(link["windows"]))],
            "series": _repeated(link["series"], some, duration),
        }
        for link in raw["links"]
    ]
    return {**raw, "ended": duration, "links": long}, samples / some if samples else 1.0


def _repeated(series: Mapping[str, Any], samples: int, duration: float) -> dict[str, Any]:
    """Series with so many samples, until the end (s)."""

    def longer(values: Any) -> Any:
        return np.resize(values, samples) if len(values) else values

    every = {
        name: longer(values) if isinstance(values, np.ndarray) else values
        for name, values in series.items()
    }
    if len(series["t"]):
        every["t"] = np.arange(1, samples + 1) * (duration / max(1, samples))
    return every | {"probes": {name: longer(each) for name, each in series["probes"].items()}}
