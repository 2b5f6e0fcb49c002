"""PIE: the gains alpha and beta, for a target, T_UPDATE and a link.

RFC 8033, section 4.2. Every T_UPDATE, p <- p + k(p) (alpha (d - target) + beta (d - d_before)),
where the factor k(p) falls with p from 1 to 1/2048. alpha = 1/8 Hz and beta = 5/4 Hz are for
T_UPDATE = 15 ms and a target of 15 ms (appendix A). Half the T_UPDATE asks for half the alpha, and
for alpha/4 more of beta: this keeps alpha/T_UPDATE and beta + alpha/2, the integral and the
proportional gain of the controller in continuous time (Tustin's rule). A lower target asks for
gains that are higher in proportion; for a higher one the RFC has no rule, and gains stay.

The RFC states no margin and no round trip. Here the loop is that of Hollot et al. (2001) with d =
q/C and k(p) at the equilibrium: the gain K = k alpha / (T_UPDATE C), and the proportional part k
(beta + alpha/2) / C. The design is the RFC's gains where the linear model has a gain margin of 2,
and half of its boundary elsewhere. The loop gain follows k(p)/p, which jumps where k does, so that
the weakest number of flows is within a range, not at its end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from marqueue.design.delay_controller import DelayController
from marqueue.design.design import Design, Rule, Value, positive
from marqueue.design.stability_planes import rtt_by_flows
from marqueue.design.tcp import ASSUMPTIONS, Controller, Plant
from marqueue.errors import ModelError

SOURCE = "RFC 8033, section 4.2"
#: QDELAY_REF and T_UPDATE of section 4.2, s; alpha and beta of appendix A, Hz.
TARGET, PERIOD, ALPHA, BETA = 0.015, 0.015, 0.125, 1.25
#: MAX_BURST of section 4.4, s; the probability from which ECN-capable packets are dropped, 5.1.
MAX_BURST, DROPS_FROM = 0.15, 0.1
#: Section 4.2: the probability below which the gains are divided by so much; above the last, by 1.
TUNING = ((1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (1e-1, 2))
#: The gain margin of the linear model below which the gains are lowered.
GAIN_MARGIN = 2.0
#: The factor below the RFC's gains from which the boundary is searched.
SLOWER = 64.0
#: Updates in a round trip, at least, for a model in continuous time.
UPDATES = 3


@dataclass(frozen=True)
class Pie(DelayController):
    """PIE with its gains, on a link."""

    @property
    def tuning(self) -> float:
        """k(p) at the equilibrium."""
        return tuning(self.plant.marked)

    @property
    def _controller(self) -> Controller:
        return Controller(
            a=0.0,
            b=self.tuning * self.alpha / (self.period * self.capacity),
            c=1.0,
            e=self.tuning * (self.beta + self.alpha / 2) / self.capacity,
        )

    @property
    def aqm(self) -> dict[str, Any]:
        """The AQM as a table of a scenario."""
        return {
            "name": "pie",
            "delay_ref": f"{self.target:.9f} s",
            "t_update": f"{self.period:.9f} s",
            "alpha": f"{self.alpha:.9g} /s",
            "beta": f"{self.beta:.9g} /s",
        }

    def guaranteed(self) -> bool:
        """Whether the linear model has the gain margin of the rule."""
        return replace(self, alpha=GAIN_MARGIN * self.alpha).root.real < 0


def tuning(p: float) -> float:
    """k(p) of section 4.2."""
    return next((1 / by for below, by in TUNING if p < below), 1.0)


def gains(target: float = TARGET, period: float = PERIOD) -> tuple[float, float]:
    """alpha and beta (Hz) for a target and a T_UPDATE in s, scaled as section 4.2 says.

    Raises :class:`ModelError` if one is not above zero.
    """
    positive(**{"target": target, "t-update": period})
    lower = max(TARGET / target, 1.0)
    alpha = ALPHA * period / PERIOD
    return lower * alpha, lower * (BETA + ALPHA / 2 - alpha / 2)


def design(
    capacity: float,
    flows: float,
    rtt: float,
    target: float = TARGET,
    period: float | None = None,
    most_flows: float | None = None,
) -> Design:
    """alpha, beta and T_UPDATE for round trips of at most ``rtt`` (s, queueing included) and from
    ``flows`` to ``most_flows`` flows; ``capacity`` in packets/s, ``target`` in s.

    ``period``, T_UPDATE in s, is 15 ms by default, or a third of the round trip if that is less.
    The setting of the design has the number of flows in the range whose gain margin is least.
    Raises :class:`ModelError` outside the assumptions.
    """
    positive(rtt=rtt)
    if target >= rtt:
        raise ModelError(
            f"target: got {target:g} s, expected less than the round trip, which includes it: "
            f"{rtt:g} s"
        )
    period = min(PERIOD, rtt / UPDATES) if period is None else period
    alpha, beta = gains(target, period)
    if period > rtt / UPDATES:
        raise ModelError(
            f"t-update: got {period:g} s, expected at most a third of the round trip: "
            f"{rtt / UPDATES:g} s"
        )
    first = Pie(capacity, flows, rtt, alpha, beta / alpha, target, period)
    first.plant.require_equilibrium()
    most = flows if most_flows is None else most_flows
    if most < flows:
        raise ModelError(f"most-flows: got {most:g}, expected at least flows: {flows:g}")
    # The boundary is searched upward from gains that are far inside.
    slow = replace(first, alpha=alpha / SLOWER)
    made = [_of(replace(slow, flows=number)) for number in _numbers(first, most)]
    boundaries = [math.inf if each.boundary is None else each.boundary for each in made]
    weakest = made[boundaries.index(min(boundaries))]
    if weakest.root.real >= 0:
        raise ModelError(
            f"rtt: the model is unstable at {weakest.setting.flows:.4g} flows even with gains "
            f"{SLOWER:g} times lower than those of {SOURCE}"
        )
    half = None if weakest.boundary is None else weakest.boundary / GAIN_MARGIN
    by_rfc = Rule("1/8 Hz at 15 ms, scaled by T_UPDATE and target", SOURCE, alpha, "sufficient")
    by_margin = Rule(f"a gain margin of {GAIN_MARGIN:g}", "derived here", half, "sufficient")
    enough = half is None or alpha <= half
    chosen = alpha if half is None else min(alpha, half)
    setting = replace(weakest.setting, alpha=chosen)
    return replace(
        weakest,
        setting=setting,
        rules=(by_rfc, by_margin) if enough else (by_margin, by_rfc),
        configure={
            "alpha": Value(setting.alpha, "/s"),
            "beta": Value(setting.beta, "/s"),
            "t_update": Value(1e3 * period, "ms"),
            "delay_ref": Value(1e3 * target, "ms"),
            "max_burst": Value(1e3 * MAX_BURST, "ms"),
            "mark_ecnth": Value(DROPS_FROM),
        },
        plane=rtt_by_flows(setting),
    )


def _of(setting: Pie) -> Design:
    plant = setting.plant
    return Design(
        controller="pie",
        setting=setting,
        of="alpha",
        unit="Hz",
        side="below",
        rules=(),
        configure={},
        equilibrium=plant.equilibrium
        | {"flows": Value(setting.flows), "k(p)": Value(setting.tuning)},
        assumptions=(
            *ASSUMPTIONS,
            "the controller is in continuous time: at most a third of a round trip passes between "
            "two updates",
            "k(p) is that of the equilibrium; bursts, the decay and the cap of section 5.5 are not "
            "in the model",
            *(
                (f"p is above mark_ecnth = {DROPS_FROM:g}, where PIE drops instead of marking",)
                if plant.marked > DROPS_FROM
                else ()
            ),
        ),
        plane=rtt_by_flows(setting),
    )


def _numbers(first: Pie, most: float) -> Iterator[float]:
    """Numbers of flows among which the weakest is: the least, the most, and the first of each step
    of k(p), where k(p)/p is largest. Only those of the model, with p below 1."""
    pipe = first.rtt * first.capacity
    yield first.flows
    for p, _ in TUNING:
        # p = 2 (N / pipe)^2, not below the step.
        number = pipe * math.sqrt(p / 2) * (1 + 1e-9)
        if first.flows < number < most:
            yield number
    if first.flows < most and Plant(first.capacity, most, first.rtt).marked < 1:
        yield most
