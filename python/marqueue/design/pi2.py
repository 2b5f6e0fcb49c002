"""PI2 and the Classic queue of DualPI2: the gains alpha and beta.

RFC 9332, appendix A.1, figure 2: from the target and the largest round-trip time,

    Tupdate = min(target, RTT_max / 3),   alpha = 0.1 Tupdate / RTT_max^2,   beta = 0.3 / RTT_max,

where every Tupdate p' <- p' + alpha (d - target) + beta (d - d_before), and Classic packets are
marked with p = p'^2. In continuous time, with d = q/C, this is a PI controller of the queue with
the gain K = alpha / (Tupdate C) and the zero z = alpha / (Tupdate beta) = 1 / (3 RTT_max). Around
the equilibrium of Hollot et al. p = 2/W^2, so dp = 2 p' dp' with p' = sqrt(2)/W: above the corner
of TCP the gain of the loop does not depend on the load, which is why one pair of gains serves a
wide range of loads (De Schepper, Bondarenko, Tsang and Briscoe, ACM CoNEXT 2016). There

    L(s) = sqrt(2)/R (alpha/Tupdate + beta s) e^(-s R) / (s^2 (s + 1/R)).

The RFC states no margin. The exact boundary and the margins are those of the linear model here, for
N flows of Reno at that round-trip time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from marqueue.design.delay_controller import DelayController
from marqueue.design.design import Design, Rule, Value, positive
from marqueue.design.stability_planes import rtt_by_flows
from marqueue.design.tcp import ASSUMPTIONS, Controller
from marqueue.errors import ModelError

SOURCE = "RFC 9332, appendix A.1, figure 2"
#: The default target of the RFC, s.
TARGET = 0.015


@dataclass(frozen=True)
class Pi2(DelayController):
    """PI2 with its gains, on a link."""

    @property
    def _controller(self) -> Controller:
        return Controller(
            a=0.0,
            b=self.alpha / (self.period * self.capacity),
            c=1.0,
            e=self.beta / self.capacity,
            power=2.0,
        )

    @property
    def aqm(self) -> dict[str, Any]:
        """The AQM as a table of a scenario."""
        return {
            "name": "pi2",
            "target": f"{self.target:.9f} s",
            "t_update": f"{self.period:.9f} s",
            "alpha": f"{self.alpha:.9g} /s",
            "beta": f"{self.beta:.9g} /s",
        }

    def guaranteed(self) -> bool:
        """Whether the gains are at most those of the RFC for this round-trip time."""
        _, alpha, beta = gains(self.target, self.rtt)
        return self.plant.marked < 1 and self.alpha <= alpha and self.beta <= beta * (1 + 1e-9)


def gains(target: float, rtt_max: float) -> tuple[float, float, float]:
    """Tupdate (s), alpha and beta (Hz) of figure 2; ``target`` and ``rtt_max`` in s.

    Raises :class:`ModelError` if one is not above zero.
    """
    positive(target=target, rtt=rtt_max)
    period = min(target, rtt_max / 3)
    return period, 0.1 * period / rtt_max**2, 0.3 / rtt_max


def design(capacity: float, flows: float, rtt: float, target: float = TARGET) -> Design:
    """alpha, beta and Tupdate for round-trip times of at most ``rtt`` (s, queueing included), with
    margins for ``flows``; ``capacity`` in packets/s, ``target`` in s.

    Raises :class:`ModelError` outside the assumptions.
    """
    period, alpha, beta = gains(target, rtt)
    setting = Pi2(capacity, flows, rtt, alpha, beta / alpha, target, period)
    return of_setting("pi2", setting)


def of_setting(controller: str, setting: Pi2) -> Design:
    """The design with these gains, for PI2 or the Classic queue of DualPI2.

    Raises :class:`ModelError` outside the assumptions.
    """
    plant = setting.plant
    plant.require_equilibrium()
    if setting.target >= setting.rtt:
        raise ModelError(
            f"target: got {setting.target:g} s, expected less than the round trip, which includes "
            f"it: {setting.rtt:g} s"
        )
    return Design(
        controller=controller,
        setting=setting,
        of="alpha",
        unit="Hz",
        side="below",
        rules=(
            Rule("0.1 Tupdate / RTT_max^2, with beta = 0.3 / RTT_max", SOURCE, setting.alpha,
                 "sufficient"),
        ),
        configure={
            "alpha": Value(setting.alpha, "/s"),
            "beta": Value(setting.beta, "/s"),
            "t_update": Value(1e3 * setting.period, "ms"),
            "target": Value(1e3 * setting.target, "ms"),
        },
        equilibrium=plant.equilibrium | {"base": Value(plant.marked**0.5)},
        assumptions=(
            *ASSUMPTIONS,
            "the controller is in continuous time: at most a third of a round trip passes between "
            "two updates",
        ),
        plane=rtt_by_flows(setting),
    )  # fmt: skip
