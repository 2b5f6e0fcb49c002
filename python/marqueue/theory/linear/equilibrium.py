"""The equilibrium of a fluid model: where no state changes.

Where a model rests does not depend on how long its messages take. So the model without delays,
which hardly ever oscillates, is followed by implicit steps that grow as states change less, until
they are those of Newton's method (pseudo-transient continuation: Kelley and Keyes, SIAM J. Numer.
Anal. 35(2), 1998). States at a bound whose slopes point outwards rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from marqueue.errors import ModelError
from marqueue.statistics.estimates import Floats
from marqueue.theory.fluid.model import Description, Model, Observables

#: The first step, in the longest round trips; how much a state may change in one, of its size or of
#: its range; by what steps shrink where one changes more, and grow where none does; how many.
FIRST, CHANGE, OF_RANGE, SHRINK, GROW, STEPS = 0.05, 0.3, 0.05, 0.3, 1.5, 4000
#: To what slopes are zero: of a state's size in a round trip.
ZERO = 1e-9
#: Of its range, how close to a bound a state is there.
CLOSE = 1e-12


@dataclass(frozen=True)
class Equilibrium:
    """Where a model rests."""

    model: Model
    states: Floats
    """``(n,)``, in the units of the model's states."""

    @property
    def seen(self) -> Observables:
        """What is seen of links and classes."""
        return self.model.observe(self.states)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        seen, of = self.seen, self.model.description
        return {
            "links": {
                link["name"]: {
                    "queue_packets": float(seen.queue[0, i]),
                    "probability": float(seen.probability[0, i]),
                    "loss": float(seen.loss[0, i]),
                    "arrivals_packets_per_s": float(seen.arrivals[0, i]),
                    "capacity_packets_per_s": float(seen.capacity[0, i]),
                }
                for i, link in enumerate(of["links"])
            },
            "classes": {
                each["name"]: {
                    "window_packets": float(seen.window[0, i]),
                    "rate_packets_per_s": float(seen.rate[0, i]),
                    "rtt_s": float(seen.rtt[0, i]),
                    "heard": float(seen.heard[0, i]),
                }
                for i, each in enumerate(of["classes"])
            },
        }


def settled(description: Description, time: float) -> dict[str, Any]:
    """The description of what there is at a time, s, for ever: capacities and flows of then.

    Raises :class:`ModelError` if there are no flows.
    """
    links = []
    for link in description["links"]:
        past = [capacity for at, capacity in link.get("schedule", ()) if at <= time]
        links.append({**link, "capacity": past[-1] if past else link["capacity"], "schedule": []})
    classes = [
        {**each, "start": 0.0, "jitter": 0.0, "stop": None}
        for each in description["classes"]
        if each.get("start", 0.0) < time and (each.get("stop") is None or each["stop"] >= time)
    ]
    if not classes:
        raise ModelError(f"traffic: there are no flows at {time:g} s, expected some")
    return {"links": links, "classes": classes}


def equilibrium(description: Description, time: float) -> Equilibrium:
    """The equilibrium of what there is at ``time``, s.

    Raises :class:`ModelError` if none is found, as with AQMs that mark all or nothing (GKVQ).
    """
    of = settled(description, time)
    for link in of["links"]:
        if link["aqm"]["name"] == "gkvq":
            raise ModelError(
                f"{link['name']}: GKVQ marks all or nothing, expected an AQM with an equilibrium"
            )
    model = Model(of)
    found = _follow(model, max(each["rtt"] for each in of["classes"]))
    if found is None:
        raise ModelError(
            "no equilibrium was found: there is none where a link marks all or nothing, or rests "
            "on a corner of its AQM's curve"
        )
    return Equilibrium(model, found)


def _follow(model: Model, longest: float) -> Floats | None:
    """From the beginning until nothing moves; None if that does not end."""
    lower = np.array([s.lower for s in model.states])
    upper = np.array([s.upper for s in model.states])
    width = np.where(np.isfinite(upper), upper - lower, 20.0)
    y, step = model.start, FIRST * longest
    for _ in range(STEPS):
        of = model.jacobian(y)
        free = ~(((y <= lower) & (of.slopes <= 0)) | ((y >= upper) & (of.slopes >= 0)))
        slopes, size = of.slopes[free], np.maximum(np.abs(y), OF_RANGE * width)[free]
        moving = np.abs(slopes) * longest / np.maximum(np.abs(y[free]), 1e-3)
        if moving.max(initial=0.0) < ZERO:
            return y
        whole = (of.now + of.then.sum(axis=0))[np.ix_(free, free)]
        move = np.linalg.solve(np.eye(len(whole)) / step - whole, slopes)
        if (np.abs(move) > CHANGE * size).any():
            step *= SHRINK
            continue
        step *= GROW
        y = y.copy()
        y[free] += move
        near = CLOSE * width
        y = np.where(y < lower + near, lower, np.where(y > upper - near, upper, y))
    return None
