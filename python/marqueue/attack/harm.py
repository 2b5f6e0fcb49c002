"""How much harm traffic does: a number from 0, the more the worse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from marqueue.attack.traffic import LINK, VICTIMS, Setting
from marqueue.results import Result
from marqueue.statistics.estimates import differences


@dataclass(frozen=True)
class Goal:
    """What an attacker is after."""

    name: str
    title: str
    """In a sentence, with its unit."""
    label: str
    """On an axis."""
    of: Callable[[Result, Setting], list[float]]
    """One value for each replication."""


def _delay(result: Result, _: Setting) -> list[float]:
    return [window.delays.quantile(0.99) for window in result.link(LINK).windows()]


def _utilization(result: Result, _: Setting) -> list[float]:
    used = [window.used / window.capacity for window in result.link(LINK).windows()]
    return [float(idle) for idle in differences(used, np.ones(len(used)))]


def _starvation(result: Result, setting: Setting) -> list[float]:
    """What the victims lack of what the attacker's largest mean rate leaves them."""
    fair = setting.rate * (1 - setting.share)
    goodputs = [
        8 * flows.delivered.sum() / (flows.end - flows.begin)
        for flows in result.flow_sets(None, group=VICTIMS)
    ]
    return [max(float(differences(float(goodput) / fair, 1.0)), 0.0) for goodput in goodputs]


def _synchronization(result: Result, setting: Setting) -> list[float]:
    """Var(sum of W) / (N sum of Var(W)): 1/N for independent windows, 1 for equal ones."""
    found = result.cwnds(group=VICTIMS)
    return [each.dependence / setting.victims if each.variance else 0.0 for each in found]


GOALS: Mapping[str, Goal] = {
    each.name: each
    for each in (
        Goal("delay", "p99 of the queueing delay, s", "Queueing delay, p99 [s]", _delay),
        Goal("starvation", "what the victims lack of their share", "Share lacking", _starvation),
        Goal("utilization", "share of the link that is not used", "Share not used", _utilization),
        Goal(
            "synchronization",
            "synchronization of the victims' windows",
            "Synchronization",
            _synchronization,
        ),
    )
}
