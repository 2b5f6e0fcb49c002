"""The traffic of an attack: victims, and a UDP sender that sends in bursts.

The attacker chooses within bounds: the period, length and rate of its bursts, the time of the
first, the size and the ECN field of its packets, when the victims start, their shortest round trip
and how far the others are above it. Whatever it chooses, its mean rate stays within a share of the
link: bursts that would exceed it become shorter. Victims are long TCP flows (Reno, a least timeout
of 1 s as in RFC 6298); where the AQM writes prices, flows that follow them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from marqueue.errors import RunError, show, unknown
from marqueue.programs.registry import is_program
from marqueue.scenario import Scenario, from_dict
from marqueue.scenario.parameters import aqms
from marqueue.scenario.syntax import read_toml

LINK, VICTIMS = "bottleneck", "victims"
#: Bytes of a full packet of TCP.
PACKET = 1500
#: RFC 6298, section 2.4, s.
MIN_RTO = 1.0
ECN_FIELDS = ("not-ect", "ect", "ect1")
#: The share of the shortest round trip on each side that is the bottleneck's.
SHARED = 1 / 8
#: Of senders under prices: bytes of a packet, as in the paper, and the sender for other laws.
PRICED_PACKET = 200


@dataclass(frozen=True)
class Setting:
    """What is attacked, and the attacker's means."""

    aqm: Mapping[str, Any]
    """As a table of a scenario."""
    rate: float = 10e6
    """Of the link, bit/s."""
    buffer: str = "100 packets"
    """In packets, or in bytes, which small packets cannot fill cheaply."""
    victims: int = 5
    share: float = 0.1
    """The attacker's mean rate, at most, as a share of the link."""
    duration: float = 25.0
    """s."""
    warmup: float = 5.0
    """s; the attack begins within it."""
    ecn: bool = False
    """Whether the victims use ECN."""
    fixed: Mapping[str, float] = field(default_factory=dict)
    """Choices that the attacker does not have, by name, in the units of the bounds."""

    @property
    def follows_prices(self) -> bool:
        """Whether the victims follow prices that the AQM writes."""
        return aqms()[self.aqm["name"]].prices


@dataclass(frozen=True)
class Parameter:
    """What the attacker chooses, from its neutral value to either bound."""

    name: str
    unit: str
    low: float
    high: float
    neutral: float
    spaced: bool = True
    """Whether equal ratios are equal steps; otherwise equal differences."""

    def at(self, share: float) -> float:
        """The value at a share of the way from low to high."""
        if self.spaced:
            return float(self.low * (self.high / self.low) ** share)
        return self.low + share * (self.high - self.low)

    def share(self, value: float) -> float:
        """The reverse of :meth:`at`."""
        if self.spaced:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


#: The bounds of the search. Rates are shares of the link's.
PARAMETERS = (
    Parameter("period", "s", 0.2, 2.0, 2.0),
    Parameter("length", "s", 0.005, 0.5, 0.005),
    Parameter("burst_rate", "of the link", 0.25, 5.0, 1.0),
    Parameter("first", "of a period", 0.0, 1.0, 0.0, spaced=False),
    Parameter("packet", "B", 64, 1500, 1500),
    Parameter("ecn", "", 0.0, 2.999, 0.0, spaced=False),
    Parameter("starts", "s", 0.01, 2.0, 1.0),
    Parameter("rtt", "s", 0.01, 0.1, 0.05),
    Parameter("rtt_ratio", "", 1.0, 2.0, 1.0),
)
NAMES = tuple(each.name for each in PARAMETERS)


@dataclass(frozen=True)
class Traffic:
    """The choices of the attacker."""

    period: float
    """Between the starts of two bursts, s."""
    length: float
    """Of a burst, s."""
    burst_rate: float
    """Of the link's."""
    first: float
    """When the first burst starts, as a share of a period."""
    packet: float
    """Bytes."""
    ecn: float
    """The index of an ECN field, rounded down."""
    starts: float
    """Within which victims start, s."""
    rtt: float
    """The victims' shortest round trip, s."""
    rtt_ratio: float
    """The longest over the shortest."""

    def within(self, share: float) -> Traffic:
        """With bursts so long that the mean rate is at most a share of the link."""
        longest = min(share * self.period / self.burst_rate, 0.99 * self.period)
        return replace(self, length=min(self.length, longest))

    @property
    def mean_rate(self) -> float:
        """Of the link's."""
        return self.burst_rate * self.length / self.period

    @property
    def ecn_field(self) -> str:
        """The ECN field of its packets."""
        return ECN_FIELDS[int(self.ecn)]


def free(setting: Setting) -> list[Parameter]:
    """What the attacker chooses."""
    return [each for each in PARAMETERS if each.name not in setting.fixed]


def traffic_at(setting: Setting, shares: Any) -> Traffic:
    """From shares of the ways through the bounds, one for each parameter that is :func:`free`."""
    chosen = {each.name: each.at(float(s)) for each, s in zip(free(setting), shares, strict=True)}
    return Traffic(**chosen, **setting.fixed)


def read_fixed(texts: Iterable[str]) -> dict[str, float]:
    """``NAME=VALUE`` in the units of the bounds, by name. Raises RunError."""
    known = {each.name: each for each in PARAMETERS}
    found = {}
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        if name not in known:
            raise RunError(f"--fix: {unknown(name, known)}")
        bounds = known[name]
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not bounds.low <= number <= bounds.high:
            raise RunError(
                f"--fix: got {show(text)}, expected {name}= a number from {bounds.low:g} to "
                f"{bounds.high:g} {bounds.unit}".rstrip()
            )
        found[name] = number
    return found


#: The traffic from which a minimized attack differs as little as it can.
NEUTRAL = Traffic(**{each.name: each.neutral for each in PARAMETERS})


def read_aqm(text: str) -> dict[str, Any]:
    """``NAME`` or ``NAME:KEY=VALUE,...`` as a table of a scenario. Raises RunError."""
    if is_program(text):
        expected = "expected an AQM of the engine; marqueue evaluate aqm takes a class in Python"
        raise RunError(f"--aqm: got {show(text)}, {expected}")
    name, _, given = text.partition(":")
    known = aqms()
    if name not in known:
        raise RunError(f"--aqm: {unknown(name, known)}")
    table: dict[str, Any] = {"name": name}
    for part in filter(None, given.split(",")):
        key, equals, value = (each.strip() for each in part.partition("="))
        if not equals or not value:
            raise RunError(f"--aqm: got {show(part)}, expected KEY=VALUE, as in codel:target=5ms")
        try:
            table[key] = read_toml(f"value = {value}")["value"]
        except ValueError:
            table[key] = value
    return table


def scenario(
    setting: Setting, traffic: Traffic | None, seed: int, replications: int = 1
) -> Scenario:
    """The scenario of an attack; without traffic, of the victims alone with neutral round trips.

    Raises ScenarioError for parameters that the AQM does not take.
    """
    chosen = NEUTRAL if traffic is None else traffic.within(setting.share)
    rtts = [chosen.rtt, chosen.rtt * chosen.rtt_ratio]
    data: dict[str, Any] = {
        "name": f"Attack on {setting.aqm['name']}",
        "description": _description(setting, traffic),
        "duration": f"{setting.duration:g} s",
        "warmup": f"{setting.warmup:g} s",
        "sample": "100 ms",
        "seed": seed,
        "replications": replications,
        "topology": {
            "kind": "dumbbell",
            "rtts": [f"{rtt:.6f} s" for rtt in (rtts if chosen.rtt_ratio > 1.001 else rtts[:1])],
            "access": {"rate": f"{max(10 * setting.rate, 1e9):.0f} bit/s"},
            LINK: {
                "rate": f"{setting.rate:.0f} bit/s",
                "delay": f"{SHARED * chosen.rtt:.9f} s",
                "buffer": setting.buffer,
                "packet": f"{PACKET} B",
                "signal": "ecn" if setting.ecn else "drop",
                "aqm": dict(setting.aqm),
            },
        },
        "transport": {
            "default": {"preset": "rfc", "min_rto": f"{MIN_RTO:g} s", "ecn": setting.ecn}
        },
        "traffic": [_victims(setting, chosen), *(_bursts(setting, chosen) if traffic else ())],
    }
    return from_dict(data)


def _victims(setting: Setting, chosen: Traffic) -> dict[str, Any]:
    common = {"name": VICTIMS, "count": setting.victims, "jitter": f"{chosen.starts:.6f} s"}
    if setting.follows_prices:
        law = {"name": "emkc", "alpha": f"{setting.rate / 100:.0f} bit/s", "beta": 0.9}
        start = f"{setting.rate / 100:.0f} bit/s"
        return {**common, "kind": "paced", "control": law, "rate": start,
                "packet": f"{PRICED_PACKET} B"}  # fmt: skip
    return {**common, "kind": "tcp", "sample_cwnd": True}


def _bursts(setting: Setting, chosen: Traffic) -> list[dict[str, Any]]:
    """One group for each burst; a burst has at least one packet."""
    packet = max(round(chosen.packet), 1)
    rate = chosen.burst_rate * setting.rate
    length = max(chosen.length, 1e-9)
    start = chosen.first * chosen.period
    groups: list[dict[str, Any]] = []
    while start + length < setting.duration:
        groups.append(
            {
                "name": f"burst {len(groups) + 1}",
                "kind": "cbr",
                "rate": f"{rate:.0f} bit/s",
                "packet": f"{packet} B",
                "ecn": chosen.ecn_field,
                "start": f"{start:.9f} s",
                "stop": f"{start + length:.9f} s",
                "jitter": "0 s",
            }
        )
        start += chosen.period
    return groups


def _description(setting: Setting, traffic: Traffic | None) -> str:
    if traffic is None:
        return "The victims of an attack alone. Written by marqueue attack."
    chosen = traffic.within(setting.share)
    return (
        f"Bursts of {1e3 * chosen.length:.4g} ms at {chosen.burst_rate:.3g} of the link every "
        f"{1e3 * chosen.period:.4g} ms, {chosen.mean_rate:.1%} of the link on average. Written by "
        "marqueue attack."
    )
