"""Beyond the paper: queueing delay of each class at the CPU."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from marqueue.papers.drq.measures import CPU, LINK, quotient
from marqueue.papers.drq.setups import CLASSES, dumbbell, label
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs, side_by_side, single
from marqueue.papers.readings import Choice
from marqueue.results import Result
from marqueue.scenario import Scenario

COMPARED = ("drq", "drr-red")
CLOCK = 10.0
#: Every packet at the CPU is recorded, therefore the run is short.
SHORT = ('duration="20 s"', 'warmup="12 s"', "topology.bottleneck.cpu.trace=true")
AXIS = "Density, cycles/bit"


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme."""
    return {scheme: dumbbell(scheme, CLOCK, overrides=SHORT) for scheme in COMPARED}


def waits(run: Result, of: str) -> Quantity:
    """Mean queueing delay of data packets of each class at CPU and link, ms, by density.

    The link is first in, first out, so that all classes have the same delay there.
    """
    begin, _ = run.span()
    groups = run.to_polars("flows").select("replication", "flow", "group")
    cpu = (
        run.to_polars("trace")
        .filter(pl.col("link") == CPU, pl.col("kind") == "depart", pl.col("t") > begin)
        .join(groups, on=["replication", "flow"])
        .group_by("replication", "group")
        .agg(pl.col("sojourn").mean())
    )
    link = [each.delays.mean for each in run.link(LINK).windows()]
    parts = {}
    for each in CLASSES:
        own = cpu.filter(pl.col("group") == each).sort("replication")["sojourn"].to_numpy()
        parts[float(each)] = single("Mean queueing delay", of, 1e3 * (own + np.array(link)), "ms")
    return side_by_side(parts, "w")


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Delays of classes, and the ratio of the densest to the lightest class."""
    out = {}
    for scheme in COMPARED:
        delay = waits(runs[scheme], label(scheme))
        out[f"delay.{scheme}"] = delay
        first, last = (
            replace(delay, values=delay.values[:, [i]], variable="", places=(0.0,)) for i in (0, -1)
        )
        out[f"delay-ratio.{scheme}"] = quotient(last, first, "Delay, w = 2 over w = 0.25")
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """A curve per scheme."""
    caption = "Mean time that packets of a class wait at CPU and link together."
    both = [quantities[f"delay.{scheme}"] for scheme in COMPARED]
    return [sweep_figure("Delay 1", caption, both, AXIS)]


EXPERIMENT = Experiment(
    readings=(
        "As in Experiment 5 with 10 Mcycles/s, where the CPU is the only bottleneck; 20 s, of "
        "which the first 12 s are left out.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
