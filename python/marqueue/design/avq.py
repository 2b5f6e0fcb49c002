"""AVQ: stable values of the smoothing alpha, delay d, number of flows N or utilization gamma.

Kunniyur and Srikant, IEEE/ACM ToN 12(2), 2004, sections II and IV. Rates x of N equal flows in
packets/s, virtual capacity C~:

    x' = 1/d^2 - beta x(t) x(t-d) p(t-d),  p = max(0, lambda - C~) / lambda,  beta = 2/3   (2), (6)
    C~' = alpha (gamma C - lambda),  lambda = N x                                          (3)

    s + K11 + e^(-sd) (K12 + alpha K2 / s) = 0,
    K11 = N / (gamma C d^2),  K12 = K2 = beta gamma C / N                                  (9), (12)

p* = N^2 / (beta (d gamma C)^2) must be below 1, which is equivalent to K11 < K12.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq

from marqueue.design.delayed_system import Nonlinear
from marqueue.design.design import REACH, Design, Rule, Side, Value, positive
from marqueue.design.stability_planes import rtt_by_flows
from marqueue.design.tcp_experiment import OverTcp
from marqueue.errors import ModelError
from marqueue.statistics.estimates import Floats
from marqueue.theory.linear.characteristic import Linear
from marqueue.theory.linear.margins import Loop

BETA = 2 / 3
SOURCE = "Kunniyur and Srikant 2004"
Quantity = Literal["alpha", "rtt", "flows", "gamma"]
UNITS = {"alpha": "1/s", "rtt": "s", "flows": "", "gamma": ""}
#: The theorem for each quantity, and the side of its bound that is stable.
THEOREM: dict[str, tuple[str, Side]] = {
    "alpha": ("Theorem 2.1", "below"),
    "rtt": ("Theorem 4.2", "below"),
    "flows": ("Theorem 4.6", "above"),
    "gamma": ("Theorem 4.7", "below"),
}
#: Number of values that are searched for the first crossing.
SCAN = 2000
#: Size of the virtual queue in scenarios, as in the paper's experiments.
VIRTUAL_BUFFER = "100 packets"


@dataclass(frozen=True)
class Avq(OverTcp):
    """AVQ with N equal flows of constant round trip d. All values must be above zero."""

    capacity: float
    """C, packets/s."""
    flows: float
    """N."""
    rtt: float
    """d, s."""
    gamma: float
    """Desired utilization, at most 1."""
    alpha: float
    """Smoothing, 1/s."""

    def __post_init__(self) -> None:
        positive(**vars(self))
        if self.gamma > 1:
            raise ModelError(f"gamma: got {self.gamma:g}, expected a utilization of at most 1")

    @property
    def marked(self) -> float:
        """p*, the share of marked packets."""
        return self.flows**2 / (BETA * (self.rtt * self.gamma * self.capacity) ** 2)

    @property
    def window(self) -> float:
        """gamma C d / N, packets."""
        return self.gamma * self.capacity * self.rtt / self.flows

    def _require_equilibrium(self) -> None:
        if self.marked >= 1:
            raise ModelError(
                f"flows: the model's assumption p* < 1 fails: p* = {self.marked:.4g} at windows of "
                f"{self.window:.3g} packets, expected windows above {math.sqrt(1 / BETA):.4g}: "
                "fewer flows, a longer round trip or more capacity"
            )

    @property
    def k11(self) -> float:
        """K11 (9), 1/s."""
        return self.flows / (self.gamma * self.capacity * self.rtt**2)

    @property
    def k2(self) -> float:
        """K2 = K12 (9), 1/s."""
        return BETA * self.gamma * self.capacity / self.flows

    @property
    def crossover(self) -> float:
        """omega (14), rad/s: where the loop has gain 1."""
        excess = self.k2**2 - self.k11**2
        root = math.sqrt(excess**2 + 4 * (self.k2 * self.alpha) ** 2)
        return math.sqrt((excess + root) / 2)

    @property
    def phase(self) -> float:
        """The left side of (15), rad; stable below pi."""
        w = self.crossover
        return w * self.rtt + math.atan(self.alpha / w) + math.atan(w / self.k11)

    @property
    def loop(self) -> Loop:
        """The loop of (4) and (5) in lambda and C~, cut at the delayed marks and windows."""
        self._require_equilibrium()
        return self.linearized

    @property
    def linearized(self) -> Loop:
        """The same by its coefficients alone: (4) and (5) can be written where p* >= 1, too."""
        now = np.array([[-self.k11, 0.0], [-self.alpha, 0.0]])
        marks = np.array([[-self.k2, self.k2], [0.0, 0.0]])
        return Loop(Linear(now, [(self.rtt, marks)]), Linear(now, []))

    @property
    def fluid(self) -> Nonlinear:
        """The equations (2), (3) and (6) in x and C~."""
        self._require_equilibrium()
        n, target = self.flows, self.gamma * self.capacity

        def f(_: float, y: Floats, delayed: Floats) -> Floats:
            x, ago = y[0], delayed[0]
            load = max(n * ago[0], 1e-12)
            p = max(0.0, load - ago[1]) / load
            rise = 1 / self.rtt**2 - BETA * x * ago[0] * p
            return np.array([rise, self.alpha * (target - n * x)])

        return Nonlinear(f, [self.rtt], np.array([target / n, target * (1 - self.marked)]))

    @property
    def aqm(self) -> dict[str, Any]:
        """The AQM as a table of a scenario."""
        return {
            "name": "avq",
            "gamma": self.gamma,
            "alpha": f"{self.alpha:.9g} /s",
            "buffer": VIRTUAL_BUFFER,
        }

    @property
    def settled_queue(self) -> float:
        """The queue at the equilibrium, packets."""
        return 0.0

    def guaranteed(self) -> bool:
        """Whether Theorem 2.1 holds; theorems 4.2, 4.6 and 4.7 are its forms for other
        quantities."""
        bound = theorem_2_1(self)
        return self.marked < 1 and bound is not None and self.alpha < bound


def theorem_2_1(at: Avq) -> float | None:
    """alpha-hat (7), 1/s; None if the radicand is negative."""
    inside = (math.pi / (2 * at.rtt)) ** 2 - at.k2**2 + at.k11**2
    if inside <= 0:
        return None
    return min(at.k11, math.pi / (2 * at.rtt * at.k2) * math.sqrt(inside))


def theorem_4_1(at: Avq, of: Quantity, start: float, end: float) -> float | None:
    """The first value from ``start`` at which (15) holds; None if there is none up to ``end``."""
    return _first(lambda x: _with(at, of, x).phase - math.pi, start, end)


def theorem_4_4(at: Avq) -> float | None:
    """The older alpha*, (24), 1/s; None if there is none."""

    def excess(alpha: float) -> float:
        with_it = replace(at, alpha=alpha)
        w = with_it.crossover
        return w * at.rtt + math.atan(w / at.k11) - math.pi / 2

    least = 1e-9 * at.k11
    if excess(least) >= 0:
        return None
    return _first(excess, least, 1e6 * at.k11)


def theorem_4_2(at: Avq) -> float:
    """d-hat (19), s."""
    crossing = _first(_to_quarter(at, "rtt"), 1e-6, 1e6)
    assert crossing is not None, "omega d rises from zero without bound"
    return min(math.sqrt(at.flows / (at.gamma * at.capacity * at.alpha)), crossing)


def theorem_4_6(at: Avq) -> float:
    """N-hat (26)."""
    most = 1e3 * at.gamma * at.capacity * at.rtt
    crossing = _first(_to_quarter(at, "flows"), most, 1e-9 * most)
    least = at.alpha * at.rtt**2 * at.gamma * at.capacity
    return max(least, crossing or 0.0)


def theorem_4_7(at: Avq) -> float:
    """gamma-hat (27), at most 1."""
    crossing = _first(_to_quarter(at, "gamma"), 1e-9, 1.0)
    return min(at.flows / (at.capacity * at.rtt**2 * at.alpha), crossing or 1.0, 1.0)


def _to_quarter(at: Avq, of: Quantity) -> Callable[[float], float]:
    """omega d - pi/2 (20), which rises with d and gamma and falls with N."""

    def excess(value: float) -> float:
        there = _with(at, of, value)
        return there.crossover * there.rtt - math.pi / 2

    return excess


def _with(at: Avq, of: Quantity, value: float) -> Avq:
    return replace(at, **{of: value})


def _first(f: Callable[[float], float], start: float, end: float) -> float | None:
    """The first root from ``start`` to ``end``, searched in logarithmic steps."""
    before, sign = start, f(start)
    for value in np.geomspace(start, end, SCAN)[1:]:
        now = f(float(value))
        if sign * now <= 0:
            return float(brentq(f, before, float(value), xtol=1e-13 * before, rtol=1e-13))
        before, sign = float(value), now
    return None


def design(
    capacity: float,
    flows: float | None = None,
    rtt: float | None = None,
    gamma: float | None = None,
    alpha: float | None = None,
) -> Design:
    """The bound on the one of ``flows``, ``rtt`` (s), ``gamma`` and ``alpha`` (1/s) that is None;
    ``capacity`` is in packets/s.

    Raises :class:`ModelError` if not exactly one is None, if there is no equilibrium (p* >= 1), or
    if the theorem guarantees no value.
    """
    given: dict[str, float | None] = {
        "flows": flows, "rtt": rtt, "gamma": gamma, "alpha": alpha
    }  # fmt: skip
    missing = [name for name, value in given.items() if value is None]
    if len(missing) != 1:
        got = ", ".join(name for name in given if name not in missing) or "none of them"
        raise ModelError(
            f"flows, rtt, gamma, alpha: got {got}, expected three of them: the fourth is designed"
        )
    of: Quantity = missing[0]  # type: ignore[assignment]
    known = {name: value for name, value in given.items() if value is not None}
    # The value 1.0 is a placeholder, which the theorems replace.
    at = Avq(capacity=capacity, **{of: 1.0}, **known)
    rules = _rules(at, of)
    _, side = THEOREM[of]
    bound = rules[0].bound
    if bound is None:
        raise ModelError(_no_alpha(at))
    setting = _with(at, of, bound)
    if setting.marked >= 1:
        raise ModelError(_none_with_equilibrium(setting, of))
    return Design(
        controller="avq",
        setting=setting,
        of=of,
        unit=UNITS[of],
        side=side,
        rules=rules,
        configure={"gamma": Value(setting.gamma), "alpha": Value(setting.alpha, "1/s")},
        equilibrium={
            "marked": Value(setting.marked),
            "window": Value(setting.window, "packets"),
            "rate": Value(setting.gamma * setting.capacity / setting.flows, "packets/s"),
        },
        assumptions=(
            "N long TCP flows with one constant round trip; no slow start, no timeouts",
            "the marked share is (lambda - C~)/lambda, (6): no queue, no buffer",
            f"p* = {setting.marked:.4g}, below 1",
        ),
        plane=rtt_by_flows(setting),
        largest=1.0 if of == "gamma" else math.inf,
    )


def _rules(at: Avq, of: Quantity) -> tuple[Rule, ...]:
    theorem, _ = THEOREM[of]
    bounds: dict[Quantity, Callable[[Avq], float | None]] = {
        "alpha": theorem_2_1, "rtt": theorem_4_2, "flows": theorem_4_6, "gamma": theorem_4_7
    }  # fmt: skip
    bound = bounds[of](at)
    rules = [Rule(theorem, SOURCE, bound, "sufficient")]
    if of == "alpha":
        at._require_equilibrium()
        rules.append(Rule("Theorem 4.4", SOURCE, theorem_4_4(at), "sufficient"))
    if bound is not None:
        end = bound / REACH if of == "flows" else 1.0 if of == "gamma" else bound * REACH
        exact = theorem_4_1(at, of, bound, end) if end != bound else None
        rules.append(Rule("Theorem 4.1", SOURCE, exact, "exact"))
    return tuple(rules)


def _no_alpha(at: Avq) -> str:
    exact = theorem_4_1(at, "alpha", 1e-9 * at.k11, 1e6 * at.k11)
    slow = replace(at, alpha=1e-9 * at.k11).phase < math.pi
    there = (
        f"the exact boundary (Theorem 4.1) is at alpha = {exact:.4g} 1/s"
        if slow and exact is not None
        else "no alpha at all is stable (Theorem 4.1)"
    )
    return (
        f"alpha: Theorem 2.1 guarantees none: K12^2 - K11^2 = {at.k2**2 - at.k11**2:.4g} is not "
        f"below pi^2/(4 d^2) = {(math.pi / (2 * at.rtt)) ** 2:.4g} 1/s^2, expected more flows or a "
        f"shorter round trip; {there}"
    )


def _none_with_equilibrium(setting: Avq, of: Quantity) -> str:
    """The bound is where p* >= 1. The exact boundary may be beyond the value at which p* = 1."""
    theorem, side = THEOREM[of]
    bound = float(getattr(setting, of))
    outward = 1.0 if side == "below" else -1.0
    edge = bound * setting.marked ** (outward / 2)
    assumed = (
        f"{of}: {theorem} guarantees none: its bound {bound:.4g} is where the model's assumption "
        f"p* < 1 fails, expected windows above {math.sqrt(1 / BETA):.4g} packets"
    )
    end = 1.0 if of == "gamma" else edge * REACH**outward
    if outward * (end - edge) <= 0:
        return f"{assumed}: fewer flows, a longer round trip or more capacity"
    there = f"where it holds, {'above' if outward > 0 else 'below'} {of} = {edge:.4g}"
    if _with(setting, of, edge).phase >= math.pi:
        return f"{assumed}; {there}, none is stable (Theorem 4.1)"
    exact = theorem_4_1(setting, of, edge, end)
    if exact is None:
        return f"{assumed}; {there}, all are stable (Theorem 4.1)"
    return f"{assumed}; {there}, the exact boundary (Theorem 4.1) is at {of} = {exact:.4g}"
