"""The equilibrium of a fluid model: the state at which all slopes are zero.

The equilibrium does not depend on feedback delays. The solver therefore follows the model without
delays, which hardly ever oscillates, by implicit steps that grow as changes become smaller, until
they are Newton steps (pseudo-transient continuation: Kelley and Keyes, SIAM J. Numer. Anal. 35(2),
1998). States at a bound rest while their slopes point outwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from marqueue.errors import ModelError
from marqueue.statistics.estimates import Floats
from marqueue.theory.fluid.model import Description, Model, Observables

#: First step, in longest round-trip times; largest change of a state in a step, relative to its
#: size or range; factors by which steps shrink after a larger change and grow otherwise; largest
#: number of steps.
FIRST, CHANGE, OF_RANGE, SHRINK, GROW, STEPS = 0.05, 0.3, 0.05, 0.3, 1.5, 4000
#: Slopes that count as zero: relative to a state's size, per round-trip time.
ZERO = 1e-9
#: Distance to a bound at which a state is at the bound, relative to its range.
CLOSE = 1e-12


@dataclass(frozen=True)
class Equilibrium:
    """The equilibrium of a model."""

    model: Model
    states: Floats
    """``(n,)``, in the units of the states."""

    @property
    def seen(self) -> Observables:
        """Observables of links and classes."""
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
                    "congestion_signal": float(seen.congestion_signal[0, i]),
                }
                for i, each in enumerate(of["classes"])
            },
        }


def constant_description(description: Description, time: float) -> dict[str, Any]:
    """The description with constant capacities and flows: those at a given time, s.

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
    """The equilibrium with the capacities and flows at ``time``, s.

    Raises :class:`ModelError` if none is found, as with AQMs that mark all packets or none (GKVQ).
    """
    of = constant_description(description, time)
    for link in of["links"]:
        if link["aqm"]["name"] == "gkvq":
            raise ModelError(
                f"{link['name']}: GKVQ marks all packets or none, expected an AQM with "
                "an equilibrium"
            )
    model = Model(of)
    found = _follow(model, max(each["rtt"] for each in of["classes"]))
    if found is None:
        raise ModelError(
            "no equilibrium was found: there is none where a link marks all packets or none, or "
            "rests on a corner of its AQM's curve"
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
