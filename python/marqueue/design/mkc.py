"""MKC: its gain beta, and the gain of adaptive prices.

Zhang, Kang and Loguinov, SIGCOMM 2004. Whatever the delays are, MKC is stable if and only if
0 < beta p* < 2 and 0 < beta (p* + N x* dp/dx) < 2 (Theorem 3, Corollary 2); with the packet loss as
price (EMKC) that is 0 < beta < 2 (Theorem 4), and X(n) = (1 - beta)^(n/D) (X_0 - X*) + X* goes
there without oscillation if beta <= 1. Adaptive prices (without loss) are stable for gains below
2 sin(pi/(2 (2D + 1))), as derived in docs/theory/mkc.md. Time is in control steps.

N equal sources have two modes, that of their sum and that of their differences. Two sources with
N/2 times alpha have the same modes, and represent them here.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.linalg import eigvals

from marqueue.design.design import Axis, Design, Plane, Rule, Value, positive
from marqueue.design.packets import Experiment
from marqueue.design.stability_planes import axis
from marqueue.errors import ModelError
from marqueue.statistics.estimates import Floats
from marqueue.theory.linear.characteristic import Roots
from marqueue.theory.linear.margins import Margins, margins
from marqueue.theory.mkc import conditions, equilibrium, laws, linear, lossfree
from marqueue.theory.mkc.equilibrium import FixedPoint
from marqueue.theory.mkc.maps import iterate
from marqueue.theory.mkc.network import Network
from marqueue.theory.mkc.price import Loss, Power, Virtual
from marqueue.theory.mkc.report import LARGEST_SCALED, report_mkc

SOURCE = "Zhang, Kang and Loguinov 2004"
Price = Literal["loss", "power", "virtual"]
#: Relative deviation from the fixed point at the start of a run.
DISTURBANCE = 1e-6
#: Number of delays in a map.
DELAYS = 12
#: Simulated packets: size in bits, packets per source and interval at an equal share, the excess
#: of a round trip over D - 1 intervals (in intervals), and the least number of intervals in a run.
PACKET_BITS, A_STEP, LONGER, STEPS = 1600, 25, 0.02, 150
#: Frequencies of a response per step of the longest delay; L makes one turn in each.
FREQUENCIES = 500
#: Factor beyond the boundary for packets. A small one is enough because rates have no noise; with a
#: large one they reach hundreds of times the link rate.
BEYOND = 1.1


@dataclass(frozen=True)
class Mkc:
    """N equal sources on one resource, spread evenly over the delays."""

    capacity: float
    """C, bits/s."""
    flows: float
    """N."""
    delays: tuple[int, ...]
    """D of each class of sources, steps."""
    alpha: float
    """bits/s."""
    beta: float
    price: Price
    exponent: float = 4.0
    """Exponent of the price ``power``."""
    gain: float = 1.0
    """Gain of the price ``virtual``."""
    target: float = 0.98
    """Utilization, of the price ``virtual``."""

    @property
    def network(self) -> Network:
        """Two sources of each delay."""
        each = [d for d in self.delays for _ in range(2)]
        return Network.single(self.capacity, len(each), each)

    @property
    def law(self) -> laws.Mkc:
        """The law, with alpha scaled to the number of sources that each one represents."""
        return laws.Mkc(self.alpha * self.flows / (2 * len(self.delays)), self.beta)

    @property
    def of_price(self) -> Loss | Power | Virtual:
        """The price."""
        capacity = np.array([self.capacity])
        match self.price:
            case "loss":
                return Loss(capacity)
            case "power":
                return Power(capacity, self.exponent)
            case "virtual":
                return Virtual(capacity, self.gain, self.target)

    @cached_property
    def point(self) -> FixedPoint:
        """Stationary rates of the representative sources."""
        price = self.of_price
        if isinstance(price, Virtual):
            point = lossfree.fixed_point(self.network, self.law, price)
            if point.prices[0] >= 1:
                raise ModelError(
                    f"alpha: N alpha / beta = {self.flows * self.alpha / self.beta:.4g} bit/s is "
                    f"more than target times capacity, {self.target * self.capacity:.4g} bit/s: "
                    "the virtual capacity would stay at 0"
                )
            return point
        return equilibrium.mkc_fixed_point(self.network, self.law, price)

    @property
    def root(self) -> complex:
        """1/step: the logarithm of the largest eigenvalue."""
        price = self.of_price
        if isinstance(price, Virtual):
            system = linear.linearize_adaptive(self.point, self.law, price)
        else:
            system = linear.linearize_mkc(self.point, self.law, price)
        if (size := system.size * max(system.lags)) > 4 * LARGEST_SCALED:
            raise ModelError(
                f"delay: got {max(self.delays)} steps, expected at most about "
                f"{4 * LARGEST_SCALED * max(self.delays) // size}: beyond, the exact boundary "
                "takes too long"
            )
        values = eigvals(system.companion().toarray()).astype(complex)
        # Of several eigenvalues of maximum size, the one with the lowest frequency.
        largest = np.abs(values).max()
        values = values[np.abs(values) > largest * (1 - 1e-9)]
        return complex(np.log(values[np.argmin(np.abs(np.angle(values)))]))

    def response(self, frequency: Floats) -> Roots:
        """L of the loop, cut at the price of the resource, at frequencies in rad/step, shape
        ``(n,)``:

            L = sum of beta x_i w_i / (1 - (1 - beta p) w_i) times dp/dX,   w_i = z^(-D_i),

        plus 1/X gain / (z - 1) in the last factor for the price ``virtual``. Only the total delay
        of a source matters. With the loss as price and equal delays L = -1 at z^D = -1, beta = 2.
        """
        price, point = self.of_price, self.point
        z = np.exp(1j * np.asarray(frequency))[:, np.newaxis]
        w = z**-self.network.delay
        held = 1 - self.beta * point.prices[0]
        answer = (self.beta * point.rates * w / (1 - held * w)).sum(axis=1)
        total = float(point.arrivals[0])
        if isinstance(price, Virtual):
            virtual = total * (1 - float(point.prices[0]))
            tells = virtual / total**2 + self.gain / total / (z[:, 0] - 1)
        else:
            tells = np.full(len(z), float(price.slope(point.arrivals)[0]))
        response: Roots = answer * tells
        return response

    @property
    def margins(self) -> Margins | None:
        """The margins of that loop, in steps; None if sources are unstable at constant prices.

        The delay margin is for a delay between price and answer that the reference rate does not
        have: if both have it, as in (12), any delay is stable (Theorem 3).
        """
        if abs(1 - self.beta * self.point.prices[0]) >= 1 - linear.MARGIN:
            return None
        # Odd about pi: a little beyond, an L that is real there changes sides.
        w = np.linspace(0.0, math.pi * (1 + 1e-9), FREQUENCIES * max(self.delays))[1:]

        def at(x: float) -> Roots:
            return self.response(np.array([x]))

        return margins(w, self.response(w)[:, np.newaxis], at)

    def guaranteed(self) -> bool:
        """Whether Theorem 3 or 4 holds, or for adaptive prices the condition derived here."""
        price = self.of_price
        if isinstance(price, Virtual):
            return self.beta <= 1 and self.gain < lossfree.safe_gain(max(self.delays))
        if isinstance(price, Loss):
            return conditions.theorem_4(self.network, self.law).holds
        return all(each.holds for each in conditions.theorem_3(self.point, self.law, price))

    def disturbed(self, end: float) -> tuple[Floats, Floats]:
        """Steps and the deviation of the first source's rate (bit/s)."""
        start = self.point.rates.copy()
        price = self.of_price
        if isinstance(price, Virtual):
            virtual = self.point.arrivals[0] * (1 - self.point.prices[0])
            price = replace(price, begin=float(virtual) / self.capacity)
        start[0] *= 1 + DISTURBANCE
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", laws.StabilityWarning)
            done = iterate(self.network, self.law, price, start, int(end) + 1, watch=(0,))
        deviation = done.rates[:, 0] - self.point.rates[0]
        return np.arange(len(deviation), dtype=float), deviation

    def experiment(self) -> Experiment:
        """The packet simulation: paced sources under EMKC.

        A price belongs to the previous interval, and is answered D intervals later. A round trip is
        therefore slightly longer than D - 1 intervals, so that the first packet of an interval
        returns in time.
        """
        routers: dict[str, dict[str, Any]] = {
            "loss": {"name": "mkc"},
            "virtual": {"name": "mkc_lossfree", "gain": self.gain, "gamma": self.target},
        }
        if self.price not in routers:
            raise ModelError(
                f"price: got {self.price}, expected one that a router of packets has: "
                f"{', '.join(routers)}"
            )
        classes = len(self.delays)
        sources = classes * max(round(self.flows / classes), 1)
        interval = A_STEP * PACKET_BITS * sources / self.capacity
        trips = [(delay - 1 + LONGER) * interval for delay in self.delays]
        parts = {
            "topology": {
                "kind": "dumbbell",
                "rtts": [f"{trip:.9f} s" for trip in trips],
                "access": {"rate": "100 Gbit/s", "delay": f"{min(trips) / 8:.9f} s"},
                "bottleneck": {
                    "rate": f"{self.capacity:.0f} bit/s",
                    "delay": f"{min(trips) / 8:.9f} s",
                    # A queue delays the prices in packets, so it has one packet per source at most.
                    "buffer": f"{sources} packets",
                    "packet": f"{PACKET_BITS // 8} B",
                    "aqm": routers[self.price] | {"delta": f"{interval:.9f} s"},
                },
            },
            "traffic": [
                {
                    "name": "emkc",
                    "kind": "paced",
                    "count": sources,
                    "packet": f"{PACKET_BITS // 8} B",
                    "rate": f"{self.capacity / sources:.0f} bit/s",
                    "jitter": f"{interval:.9f} s",
                    "control": {
                        "name": "emkc",
                        "alpha": f"{self.alpha * self.flows / sources:.6f} bit/s",
                        "beta": self.beta,
                    },
                }
            ],
        }
        least = STEPS * interval
        load = self.capacity / PACKET_BITS
        return Experiment(parts, "bottleneck", load, BEYOND, least, least, interval)


def design(
    capacity: float,
    flows: float,
    delays: tuple[int, ...],
    alpha: float | None = None,
    loss: float | None = None,
    price: Price = "loss",
    exponent: float = 4.0,
    beta: float = 0.5,
    target: float = 0.98,
) -> Design:
    """The largest beta; for adaptive prices the largest gain of the price at this beta.

    ``capacity`` and ``alpha`` in bit/s. The steady ``loss`` p* can be given instead of alpha, with
    alpha = p* C beta / (N (1 - p*)). Raises :class:`ModelError` outside the assumptions.
    """
    positive(capacity=capacity, flows=flows, beta=beta)
    if not delays or min(delays) < 1:
        raise ModelError(f"delay: got {list(delays)}, expected at least 1 step each")
    if (alpha is None) == (loss is None):
        raise ModelError("alpha, loss: expected one of them: the other one follows")
    of = "gain" if price == "virtual" else "beta"
    start = beta if price == "virtual" else 1.0
    if alpha is None:
        assert loss is not None
        if price != "loss" or not 0 < loss < 1:
            raise ModelError(
                f"loss: got {loss:g} with the price {price}, expected a share between 0 and 1 and "
                "the price loss"
            )
        alpha = loss * capacity * start / (flows * (1 - loss))
    positive(alpha=alpha)
    at = Mkc(capacity, flows, tuple(delays), alpha, start, price, exponent, 1.0, target)
    rules = _rules(at)
    bound = rules[0].bound
    assert bound is not None, "the first rule has a bound"
    setting = _with(at, of, bound)
    total = float(setting.point.arrivals[0])
    configure = {"alpha": Value(alpha, "bit/s"), "beta": Value(setting.beta)}
    if price == "virtual":
        configure |= {"gain": Value(setting.gain), "target": Value(target)}
    return Design(
        controller="mkc",
        setting=setting,
        of=of,
        unit="",
        side="below",
        rules=rules,
        configure=configure,
        equilibrium={
            "rate": Value(total / flows, "bit/s"),
            "arrivals": Value(total, "bit/s"),
            "lost": Value(max(0.0, 1 - capacity / total)),
        },
        assumptions=(
            "sources that hear a price answer it D steps later, one answer a step",
            "one resource; rates are a fluid",
        ),
        plane=_plane(setting, of),
        time="1/step",
        reach=30.0,
    )


def _with(at: Mkc, of: str, value: float) -> Mkc:
    return replace(at, gain=value) if of == "gain" else replace(at, beta=value)


def _rules(at: Mkc) -> tuple[Rule, ...]:
    price, longest = at.of_price, max(at.delays)
    if isinstance(price, Virtual):
        if at.beta > 1:
            raise ModelError(f"beta: got {at.beta:g}, expected at most 1 with adaptive prices")
        critical = lossfree.critical_gain(at.beta, longest)
        alike: Literal["exact", "sufficient"] = "exact" if len(at.delays) == 1 else "sufficient"
        return (
            Rule("any beta up to 1", "derived in docs/theory/mkc.md",
                 lossfree.safe_gain(longest), "sufficient"),
            Rule("this beta and the longest delay", "derived in docs/theory/mkc.md",
                 critical, alike),
        )  # fmt: skip
    if isinstance(price, Loss):
        return (
            Rule("(1 - beta)^(n/D), without oscillation", SOURCE, 1.0, "sufficient"),
            Rule("Theorem 4", SOURCE, 2.0, "sufficient"),
        )
    allowed = report_mkc(at.network, at.law, price).allowed
    return (Rule("Theorem 3", SOURCE, at.beta * allowed, "sufficient"),)


def _plane(setting: Mkc, of: str) -> Plane:
    longest = max(setting.delays)
    steps = np.unique(np.round(np.geomspace(1, 4 * longest, DELAYS)))
    return Plane(
        axis(of, getattr(setting, of)),
        Axis("Delay [steps]", steps, longest),
        lambda value, delay: replace(_with(setting, of, value), delays=(round(delay),)),
    )
