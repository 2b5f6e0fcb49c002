"""Experiment 3: long flows leave and others come. Figures 9, 10 and 11."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from marqueue.papers.avq.setups import label, under
from marqueue.papers.figures import PaperFigure, over_time
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import (
    STEP,
    Quantities,
    Quantity,
    Runs,
    Span,
    over_span,
    peak,
    settling,
    stepped,
)
from marqueue.papers.readings import Choice
from marqueue.plots import Curve
from marqueue.results import Result
from marqueue.scenario import Scenario

DRAWN = {"pi": "Figure 9", "avq": "Figure 10", "rem": "Figure 11"}

#: Events at the beginning of each span of time, s.
PHASES = {"start": (0.0, 100.0), "leave": (100.0, 150.0), "join": (150.0, 250.0)}
CHANGES = (100.0, 150.0)

#: Reference level of the queue, packets; AVQ has none.
LEVELS = {"pi": 50.0, "rem": 50.0}
#: Utilization that AVQ regulates, and what is close to it: half of what is left to a full link.
GAMMA, CLOSE = 0.98, 0.01


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme."""
    return {scheme: under("experiment-3", scheme, choice) for scheme in DRAWN}


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Times to settle, peaks and means of the queue after each change."""
    settle = {
        f"settle-{phase}.{scheme}": replace(
            settling(run, label(scheme), *times, LEVELS.get(scheme)),
            label=f"Time to settle after flows {phase} [s]",
        )
        for phase, times in PHASES.items()
        for scheme, run in runs.items()
    }
    aims = {
        f"aim-{phase}.{scheme}": replace(
            to_aim(run, scheme, times), label=f"Time to the aim after flows {phase} [s]"
        )
        for phase, times in list(PHASES.items())[1:]
        for scheme, run in runs.items()
    }
    rest = {
        f"{name}-{phase}.{scheme}": quantity
        for phase, times in list(PHASES.items())[1:]
        for scheme, run in runs.items()
        for name, quantity in {
            "peak": peak(run, label(scheme), *times),
            "queue": over_span(run, label(scheme), "queue_mean", *times),
        }.items()
    }
    before = {
        f"queue-before.{scheme}": over_span(run, label(scheme), "queue_mean", 50.0, 100.0)
        for scheme, run in runs.items()
    }
    return settle | aims | rest | before


def to_aim(run: Result, scheme: str, times: Span) -> Quantity:
    """The time until a scheme has reached what it regulates: the queue or, under AVQ, utilization,
    with the queue settled, too."""
    queue = settling(run, label(scheme), *times, LEVELS.get(scheme))
    if scheme != "avq":
        return queue
    t, used = stepped(run.link().series("utilization"), STEP, np.mean)
    inside = (times[0] < t) & (t <= times[1])
    seconds = STEP * np.arange(1, inside.sum() + 1)
    away = (abs(used[:, inside] - GAMMA) > CLOSE) * seconds
    return replace(queue, values=np.maximum(queue.values, away.max(axis=1, keepdims=True)))


def draw(runs: Runs, _: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """A figure per scheme."""
    return [
        over_time(
            name,
            f"Queue under {label(scheme)}. 105 of 140 flows leave at 100 s, 105 come at 150 s.",
            Curve(*runs[scheme].link().series("queue")),
            "Queue",
            "packets",
            CHANGES,
        )
        for scheme, name in DRAWN.items()
    ]


EXPERIMENT = Experiment(
    readings=(
        "The run lasts 250 s. Flows leave by sending nothing new from 100 s on.",
        "Everything else is as in Experiment 2: AVQ holds at most 50 packets.",
        "A scheme has settled when the mean queue of every 5 s stays within 10 packets of a level. "
        "The level is 50 for PI and REM, and for AVQ the mean of the last fifth of the phase. "
        "If a scheme never settles, its time is the length of the phase.",
        "Where schemes are compared, each must reach its aim, which under AVQ is a utilization of "
        "0.98 ± 0.01 in every 5 s as well.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
