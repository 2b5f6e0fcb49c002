"""DualPI2: the gains of the Classic queue as those of PI2; the balance of L4S and Classic flows.

RFC 9332, appendix A.1 and section 2.1. While the Classic queue is backlogged its controller, a
PI2, also marks the L4S queue, with k p'. Margins are those of Classic flows alone; L4S flows beside
them respond to the same p' (:mod:`marqueue.theory.steady_state.l4s`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from marqueue.design import pi2
from marqueue.design.design import Design, Value, positive
from marqueue.theory.steady_state.l4s import Coupling

#: k of figure 2 of the RFC.
COUPLING = 2.0
#: The delay of the L4S queue: about where its ramp begins, s.
L4S_QUEUE = 0.0008


@dataclass(frozen=True)
class DualPi2(pi2.Pi2):
    """DualPI2 with the gains of its Classic queue."""

    k: float = COUPLING

    @property
    def aqm(self) -> dict[str, Any]:
        """The AQM as a table of a scenario."""
        return super().aqm | {"name": "dualpi2", "k": self.k}


def design(
    capacity: float,
    flows: float,
    rtt: float,
    target: float = pi2.TARGET,
    k: float = COUPLING,
    l4s_flows: float | None = None,
) -> Design:
    """The gains for Classic flows whose round trip is at most ``rtt`` (s, the Classic queue
    included), and how as many flows of Prague on the same path, or ``l4s_flows``, share with them.

    ``capacity`` in packets/s, ``target`` in s. Raises :class:`ModelError` outside the assumptions.
    """
    positive(k=k)
    period, alpha, beta = pi2.gains(target, rtt)
    setting = DualPi2(capacity, flows, rtt, alpha, beta / alpha, target, period, k)
    made = pi2.of_setting("dualpi2", setting)
    l4s_rtt = rtt - target + L4S_QUEUE
    shared = Coupling(capacity, flows, flows if l4s_flows is None else l4s_flows, rtt, l4s_rtt, k)
    return replace(
        made,
        configure={**made.configure, "k": Value(k)},
        equilibrium={
            **made.equilibrium,
            "with Prague: base": Value(shared.base),
            "Classic marked": Value(shared.classic),
            "L4S marked": Value(shared.coupled),
            "rate of Prague / Classic": Value(shared.ratio),
            "share of all Prague": Value(shared.share),
            "k for equal rates": Value(shared.fair),
        },
        assumptions=(
            *made.assumptions,
            "margins are of Classic flows alone",
            "beside Prague: p' does not swing, Reno or CUBIC that behaves as it, Prague with its "
            "reference round trip of 25 ms",
        ),
    )
