"""Set-ups: the dumbbell and the three routers, for a scheme, its exponent and a number of flows."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario, from_dict
from marqueue.theory.marking_chain.model import SCHEMES

FOLDER = Path(__file__).parent

#: Marking functions of one flow (Table I), in the order of Figure 4.
CURVES = {name: SCHEMES[name] for name in ("RED1", "EXP", "RED2")}
#: Exponent of thresholds in all figures but Figure 5, and the difference of the buffer's exponent.
A, EPS = 0.2, 0.1
#: Buffer of one flow, packets.
BUFFER = 12
#: Capacity per flow, kbit/s, and in packets of 500 bytes per second.
EACH, PACKETS = 100, 25
#: The measured group of flows.
GROUP = "long"
#: Numbers of flows in both forms; and in the full form only, with numbers of replications.
FLOWS = (50, 200, 800)
MORE = {1300: 10, 10_000: 4, 100_000: 4}
#: Simulated time and warm-up, s, from this number of flows on. With 100,000 flows the start still
#: shows after 8 s; a million flows serve to measure time and memory, not h.
TIMES = {0: (30, 10), 10_000: (25, 10), 100_000: (30, 15), 1_000_000: (12, 6)}
#: Two-way propagation delays are uniform between these, ms.
RTTS = (120.0, 280.0)
#: Number of equally spaced classes by value of the reading `rtts`; none: a draw for each flow.
CLASSES = {"uniform": None, "classes-16": 16}
#: Smallest rate of access links, Mbit/s, and their rate relative to the bottleneck's.
ACCESS, TIMES_ACCESS = 1000, 10
#: Rate of a flow's own access link relative to its share of the bottleneck, by value of the reading
#: `access`; none: a fast link.
SHARES = {"fast": None, "four-shares": 4}


def table(file: str) -> dict[str, Any]:
    """The tables of a scenario file."""
    path = FOLDER / "scenarios" / f"{file}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def built(data: Mapping[str, Any], name: str, overrides: Sequence[str] = ()) -> Scenario:
    """The scenario of tables, with a name and overrides."""
    return from_dict({**data, "name": name}, overrides, origin=name)


def named(scheme: str, flows: int, a: float = A, each: int = EACH) -> str:
    """Name of a set-up."""
    return f"{scheme}-{a:g}-{each}-{flows}"


def aqm(curve: str, flows: int, a: float) -> dict[str, Any]:
    """Marking scaled for a number of flows."""
    return {"name": "scaled", "curve": curve, "flows": flows, "a": a, "b": round(a + EPS, 12)}


def middles(low: float, high: float, classes: int) -> list[float]:
    """The middles of equal parts of a range."""
    return [low + (high - low) * (i + 0.5) / classes for i in range(classes)]


def access(kbits: float, choice: Choice, each: float = EACH) -> str:
    """The rate of access links for a bottleneck of ``kbits`` kbit/s, ``each`` per flow."""
    shares = SHARES[choice["access"]]
    if shares is not None:
        return f"{shares * each:g} kbit/s"
    return f"{max(ACCESS, TIMES_ACCESS * kbits / 1000):g} Mbit/s"


def rtts(choice: Choice) -> Any:
    """The round-trip times of the dumbbell."""
    classes = CLASSES[choice["rtts"]]
    if classes is None:
        return {"uniform": [f"{rtt:g} ms" for rtt in RTTS]}
    return [f"{rtt:g} ms" for rtt in middles(*RTTS, classes)]


def dumbbell(
    scheme: str,
    flows: int,
    choice: Choice,
    a: float = A,
    each: int = EACH,
    replications: int = 1,
) -> Scenario:
    """``flows`` flows with a capacity of ``each`` kbit/s per flow."""
    data = table("dumbbell")
    topology, [long] = data["topology"], data["traffic"]
    rate = each * flows
    topology["rtts"] = rtts(choice)
    topology["bottleneck"] |= {"rate": f"{rate} kbit/s", "aqm": aqm(CURVES[scheme], flows, a)}
    topology["access"] |= {
        "rate": access(rate, choice, each),
        "per_flow": choice["access"] != "fast",
    }
    long["count"] = flows
    duration, warmup = next(t for least, t in reversed(TIMES.items()) if flows >= least)
    times = {"duration": f"{duration} s", "warmup": f"{warmup} s", "replications": replications}
    return built(data | times, f"{scheme}, {flows} flows of {each} kbit/s, a = {a:g}")


def inverse_rtt() -> float:
    """The mean of the inverse of the round-trip times of the dumbbell, 1/s."""
    low, high = (rtt / 1000 for rtt in RTTS)
    return math.log(high / low) / (high - low)
