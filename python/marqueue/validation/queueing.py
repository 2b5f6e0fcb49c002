"""Queueing theory: Poisson arrivals at an unlimited queue.

L. Kleinrock, *Queueing Systems*, volume 1, 1975: the Pollaczek-Khinchine formula (section 5.6),
with M/M/1 and M/D/1 as cases; Little's law (section 2.1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from marqueue.results import Link
from marqueue.results.window import Window
from marqueue.scenario import from_dict
from marqueue.statistics.estimates import Estimate
from marqueue.validation.check import EXACT, Check
from marqueue.validation.rung import Effort, Rung, Task, TaskRunner

RATE = 8_000_000
"""bit/s."""
MEAN = 1000
"""Bytes."""
SCV = 4.0
WARMUP = 5.0
"""Warm-up, s: many times the relaxation time of the queue."""

BECAUSE = (
    "Theory is exact: the 99.9% interval must contain it, its half width no more than a tenth of "
    "it (at the highest load, and with hyperexponential sizes, a fifth)."
)
EDGES = (
    "Exact but for packets that wait while a window begins or ends: the 99.9% interval must "
    "contain it, its half width no more than 0.1%."
)

Moments = tuple[float, float]


def constant() -> Moments:
    """The first two moments of a size of :data:`MEAN` bytes."""
    return float(MEAN), float(MEAN**2)


def exponential(mean: float = MEAN) -> Moments:
    """The same for an exponential size rounded up to whole bytes, which is geometric."""
    p = -math.expm1(-1 / mean)
    return 1 / p, (2 - p) / p**2


def hyperexponential() -> Moments:
    """The same for one of two exponential sizes, each with half of all bytes."""
    p = 0.5 * (1 + math.sqrt((SCV - 1) / (SCV + 1)))
    parts = [(share, exponential(MEAN / (2 * share))) for share in (p, 1 - p)]
    first, second = (sum(share * moments[i] for share, moments in parts) for i in (0, 1))
    return first, second


LAWS: Mapping[str, tuple[str, Callable[[], Moments], Mapping[str, Any]]] = MappingProxyType(
    {
        "M/M/1": ("exponential", exponential, {}),
        "M/D/1": ("constant", constant, {}),
        "M/G/1": ("hyperexponential", hyperexponential, {"scv": SCV}),
    }
)


def waiting_time(arrivals: float, service: Moments) -> float:
    """The mean waiting time of the Pollaczek-Khinchine formula, s; ``arrivals`` per second, moments
    of the service time in s and s^2."""
    first, second = service
    return arrivals * second / (2 * (1 - arrivals * first))


def queue(
    bench: TaskRunner,
    sizes: str,
    settings: Mapping[str, Any],
    arrivals: float,
    seconds: float,
    replications: int,
) -> Link:
    """An unlimited queue directly after the source."""
    scenario = from_dict(
        {
            "name": sizes,
            "duration": f"{WARMUP + seconds} s",
            "warmup": f"{WARMUP} s",
            "replications": replications,
            "sample": "0 s",
            "topology": {
                "kind": "graph",
                "links": [
                    {
                        "name": "queue", "from": "a", "to": "b", "rate": f"{RATE} bit/s",
                        "delay": "1 ms", "buffer": "1000000000 packets",
                    }
                ],
                "classes": [{"name": "way", "from": "a", "to": "b"}],
            },
            "traffic": [
                {
                    "kind": "packets", "rate": f"{arrivals} /s", "packet": f"{MEAN} B",
                    "sizes": sizes, **settings,
                }
            ],
        }
    )  # fmt: skip
    return bench.run(scenario).link()


def checks(
    bench: TaskRunner, name: str, load: float, seconds: float, replications: int
) -> list[Check]:
    """The checks of one queue at one load."""
    sizes, moments, settings = LAWS[name]
    first, second = moments()
    byte = 8 / RATE
    service = first * byte, second * byte**2
    arrivals = load / service[0]
    link = queue(bench, sizes, settings, arrivals, seconds, replications)
    figures = link.figures(confidence=EXACT)
    wait = waiting_time(arrivals, service)
    what = f"{name}, load {load}"
    share = 0.2 if load > 0.8 or sizes == "hyperexponential" else 0.1
    found = [
        Check(f"{what}: mean wait", "Pollaczek-Khinchine", figures["delay_mean"].scaled(1e3),
              1e3 * wait, 0.0, BECAUSE, share * 1e3 * wait, "ms", place=(name, load)),
        Check(f"{what}: mean queue", "Pollaczek-Khinchine", figures["queue_mean"],
              arrivals * wait, 0.0, BECAUSE, share * arrivals * wait, "packets"),
        Check(f"{what}: utilization", "load", figures["utilization"], load, 0.0, BECAUSE,
              0.1 * load),
    ]  # fmt: skip
    little = Estimate.of([_little(window) for window in link.windows()], EXACT)
    law = "Little's law, L = λW"
    return [*found, Check(f"{what}: queue / (rate x wait)", law, little, 1.0, 0.0, EDGES, 1e-3)]


def _little(window: Window) -> float:
    """L / (lambda W) with the departure rate as lambda: 1 except for packets that wait at the
    edges."""
    return window.queue_mean * window.seconds / (window.departures * window.delays.mean)


def tasks(effort: Effort) -> list[Task]:
    """A task per queue and load. Means converge more slowly at higher loads."""
    replications = 20
    out = []
    for name in LAWS:
        for load in effort.pick((0.3, 0.5, 0.7, 0.9), (0.5, 0.8)):
            seconds = effort.pick(1000.0, 400.0) * (5 if load > 0.8 else 1)
            of = partial(checks, name=name, load=load, seconds=seconds, replications=replications)
            out.append(Task(f"{name} at {load}", 1.5e-4 * load * seconds * replications, of))
    return out


QUEUEING = Rung(
    "queueing",
    "M/M/1, M/D/1, M/G/1 and Little's law",
    "Poisson arrivals at an endless queue of 8 Mbit/s with packets of 1000 bytes on average; the "
    f"sizes of M/G/1 are hyperexponential with a squared coefficient of variation of {SCV:g}.",
    tasks,
)
