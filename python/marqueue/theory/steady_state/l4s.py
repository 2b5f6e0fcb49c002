"""Prague, and its balance with Classic senders under coupled queues.

Prague grows by one segment a round trip and gives up alpha/2 of its window once a round trip, where
alpha is the share p of its packets that are marked. At the equilibrium 1 = p W / 2, so

    W = 2 / p                        (draft-briscoe-iccrg-prague-congestion-control-04)

Round trips R below the reference R_0 = 25 ms grow by (R/R_0)^2 and are cut once in R_0: W = 2 R /
(R_0 p), which is the rate of a flow whose round trip is R_0.

A coupled AQM (RFC 9332, section 2.1) marks Classic packets with p'^2 and L4S packets with at least
k p'. Classic windows are c / p' with c = 1.22 = sqrt(3/2) for Reno, and for CUBIC where it behaves
as Reno (RFC 9438, section 4.3); Prague's are 2 / (k p'). With N_C and N_L flows that fill C

    p' = (N_C c / R_C + 2 N_L / (k R_L)) / C,    rate of Prague / Classic = 2 R_C / (k c R_L),

which is one for k = 1.63 R_C / R_L (appendix C of the RFC, equations 5 to 7 and 10: 1.64). R_C
includes the Classic target, R_L hardly any queue. The RFC counts 0.75 (Reno) or 0.85 (CUBIC) of
R_C, for a target that is the tip of the saw-tooth; here the controller holds its mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from marqueue.errors import ModelError, show

CLASSIC = math.sqrt(1.5)
"""c: Reno's window times sqrt(p); see :func:`marqueue.theory.tcp.laws.regular_aimd`."""
REFERENCE = 0.025
"""R_0, s."""


def prague_window(p: float) -> float:
    """Packets, at a share ``p`` of marked packets. Raises :class:`ModelError` outside (0, 1]."""
    if not 0 < p <= 1:
        raise ModelError(f"p: got {show(p)}, expected a share above 0, at most 1")
    return 2 / p


@dataclass(frozen=True)
class Coupling:
    """Long flows of Prague and Classic ones under coupled queues, where marks of Prague come from
    the coupling (not from its own queue's threshold).
    """

    capacity: float
    """packets/s."""
    classic_flows: float
    l4s_flows: float
    classic_rtt: float
    """s, with the queue of the Classic target."""
    l4s_rtt: float
    """s, with the little queue that there is."""
    k: float = 2.0
    reference: float = REFERENCE
    """R_0, s; zero for none."""

    def __post_init__(self) -> None:
        """Raises :class:`ModelError` for a value that is out of its range, and where p' would be so
        large that Prague has no room: k p' above 1 is overload.
        """
        for name in ("capacity", "classic_flows", "l4s_flows", "classic_rtt", "l4s_rtt", "k"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ModelError(f"{name}: got {show(value)}, expected a finite number above 0")
        if not (math.isfinite(self.reference) and self.reference >= 0):
            raise ModelError(f"reference: got {show(self.reference)}, expected at least 0 s")
        if self.coupled > 1:
            raise ModelError(
                f"k p': got {self.coupled:.4g}, expected at most 1: in overload packets are "
                "dropped; fewer flows, more capacity or longer round trips"
            )

    @property
    def _paces_as(self) -> float:
        """The round trip whose rate Prague has, s."""
        return max(self.l4s_rtt, self.reference)

    @property
    def base(self) -> float:
        """p'."""
        classic = self.classic_flows * CLASSIC / self.classic_rtt
        return (classic + 2 * self.l4s_flows / (self.k * self._paces_as)) / self.capacity

    @property
    def classic(self) -> float:
        """p_C, the share of Classic packets that are signalled."""
        return self.base**2

    @property
    def coupled(self) -> float:
        """p_CL, the share of L4S packets that are marked."""
        return self.k * self.base

    @property
    def ratio(self) -> float:
        """The rate of a Prague flow over that of a Classic one."""
        return 2 * self.classic_rtt / (self.k * CLASSIC * self._paces_as)

    @property
    def share(self) -> float:
        """Of all Prague flows together."""
        prague, classic = self.l4s_flows * self.ratio, self.classic_flows
        return prague / (prague + classic)

    @property
    def fair(self) -> float:
        """k for equal rates at these round trips."""
        return self.k * self.ratio
