"""The set-ups: the dumbbell and the three routers, for a scheme, its exponent and a number of
flows."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from marqueue.scenario import Scenario, from_dict
from marqueue.theory.marking_chain.model import SCHEMES

FOLDER = Path(__file__).parent

#: Marking functions of one flow (Table I), in the order of Figure 4.
CURVES = {name: SCHEMES[name] for name in ("RED1", "EXP", "RED2")}
#: The exponent of thresholds in all figures but Figure 5, and what the buffer's is more.
A, EPS = 0.2, 0.1
#: Buffer of one flow, packets.
BUFFER = 12
#: Capacity a flow, kbit/s, and the packets of 500 bytes that are so much in a second.
EACH, PACKETS = 100, 25
#: The group of flows that is looked at.
GROUP = "long"
#: Numbers of flows: in both forms, and in the full form alone with so many replications.
FLOWS = (50, 200, 800)
MORE = {1300: 10, 10_000: 4, 100_000: 4}
#: Simulated time and the warm-up of it, s, from so many flows on. 100,000 flows still move as they
#: began after 8 s; what a million are run for is time and memory, not h.
TIMES = {0: (30, 10), 10_000: (25, 10), 100_000: (30, 15), 1_000_000: (12, 6)}
#: The fastest access link that is needed, Mbit/s, and how many times the bottleneck's rate it has.
ACCESS, TIMES_ACCESS = 1000, 10


def table(file: str) -> dict[str, Any]:
    """A scenario file as it is."""
    path = FOLDER / "scenarios" / f"{file}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def built(data: Mapping[str, Any], name: str, overrides: Sequence[str] = ()) -> Scenario:
    """The scenario of tables, under a name of its own."""
    return from_dict({**data, "name": name}, overrides, origin=name)


def named(scheme: str, flows: int, a: float = A, each: int = EACH) -> str:
    """Of a set-up."""
    return f"{scheme}-{a:g}-{each}-{flows}"


def aqm(curve: str, flows: int, a: float) -> dict[str, Any]:
    """Marking scaled for so many flows."""
    return {"name": "scaled", "curve": curve, "flows": flows, "a": a, "b": round(a + EPS, 12)}


def access(kbits: float) -> str:
    """The rate of access links in front of so many kbit/s."""
    return f"{max(ACCESS, TIMES_ACCESS * kbits / 1000):g} Mbit/s"


def dumbbell(
    scheme: str, flows: int, a: float = A, each: int = EACH, replications: int = 1
) -> Scenario:
    """``flows`` of ``each`` kbit/s."""
    data = table("dumbbell")
    topology, [long] = data["topology"], data["traffic"]
    rate = each * flows
    topology["bottleneck"] |= {"rate": f"{rate} kbit/s", "aqm": aqm(CURVES[scheme], flows, a)}
    topology["access"]["rate"] = access(rate)
    long["count"] = flows
    duration, warmup = next(t for least, t in reversed(TIMES.items()) if flows >= least)
    times = {"duration": f"{duration} s", "warmup": f"{warmup} s", "replications": replications}
    return built(data | times, f"{scheme}, {flows} flows of {each} kbit/s, a = {a:g}")


def inverse_rtt() -> float:
    """The mean of the inverse of the round-trip times of the dumbbell, 1/s."""
    rtts = [
        float(text.removesuffix(" ms")) / 1000 for text in table("dumbbell")["topology"]["rtts"]
    ]
    return sum(1 / rtt for rtt in rtts) / len(rtts)
