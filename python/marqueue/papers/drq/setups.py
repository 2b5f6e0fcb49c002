"""Set-ups: the three topologies of the paper under a scheme, with their groups of flows."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario, from_dict

FOLDER = Path(__file__).parent

SCHEMES = ("drq", "red-red", "drr-red")
#: Densities of the four classes, cycles/bit; they are the names of the classes.
CLASSES = ("0.25", "0.5", "1", "2")
#: Sources of the dumbbell react to marks and start at code point 00, DRQ's initial state.
ECN = (
    "transport.default.ecn=true",
    "transport.default.ecn_field=initial",
    "topology.bottleneck.signal=ecn",
    "topology.bottleneck.cpu.signal=ecn",
)
#: What values of readings change in a dumbbell or parking lot, by reading and value.
VARIED: Mapping[str, Mapping[str, Sequence[str]]] = {
    "acks": {"every": (), "delayed": ('transport.default.delayed_ack="100 ms"',)},
}
#: Set-ups in the quick form, by duration in the full form, s: of the dumbbell, the parking lot and
#: the edge. They send up to 25,000 packets a second through six queues. Warm-ups end where figures
#: stop to drift, by successive windows of 10 to 12 runs. The slowest are marks on 10 Mbit/s
#: (Experiment 2, share of density 2 at C/B = 2): 0.279 +- 0.006 from 16 to 20 s, 0.272 +- 0.009 to
#: 25 s, 0.268 +- 0.004 to 34 s, and 0.264 +- 0.002 from there to 100 s.
SHORTER: Mapping[float, Sequence[str]] = {
    60.0: ('duration="36 s"', 'warmup="20 s"'),
    40.0: ('duration="26 s"', 'warmup="12 s"'),
    45.0: ('duration="28 s"', 'warmup="14 s"'),
}
#: Round-trip propagation delay of the scenario files, ms.
RTT = 40
#: Of longer round trips in the parking lot and at the edge, in both forms: with 160 ms goodputs
#: settle within 3% of their later values after 26 s only (the slowest is 0.70 of it from 12 to 18 s
#: and 0.86 from 18 to 26 s; 8 runs).
LONGER = ('duration="58 s"', 'warmup="30 s"')
#: Flows of a class, and bits of a packet.
EACH, BITS = 10, 4000


def varied(choice: Choice, scheme: str) -> list[str]:
    """How a dumbbell or parking lot differs from the scenario file under a choice."""
    out = [
        each
        for reading, values in VARIED.items()
        if reading in choice
        for each in values[choice[reading]]
    ]
    if "signal" in choice and choice["signal"] == "marks":
        # Sources of RED are ECN-capable from the start; those of DRQ begin at code point 00.
        out += ECN if scheme.startswith("drq") else [each for each in ECN if "field" not in each]
    return out


def shorter(scenario: Scenario) -> Sequence[str]:
    """How a set-up differs in the quick form."""
    return SHORTER.get(scenario.duration.seconds, ())


def round_trip(choice: Choice) -> int:
    """The round-trip propagation delay outside the dumbbell, ms."""
    return int(choice["round-trip"].removesuffix("ms"))


def core_rate(choice: Choice) -> float:
    """The rate of L1 and L2 in the edge topology, Mbit/s."""
    return float(choice["core-rate"].removesuffix("-mbit"))


def settling(rtt: int) -> Sequence[str]:
    """How long set-ups outside the dumbbell run, if not as in the scenario file."""
    return LONGER if rtt > RTT else ()


def lengthen(links: Mapping[str, dict[str, Any]], rtt: int) -> None:
    """Gives each access link what round trips of ``rtt`` ms have more than those of the file."""
    for link in links.values():
        if link["name"].startswith("access"):
            delay = float(link["delay"].removesuffix(" ms")) + (rtt - RTT) / 2
            link["delay"] = f"{delay:g} ms"


@cache
def schemes() -> dict[str, dict[str, Any]]:
    """The schemes by name: label, and keys of the link and of the CPU."""
    return tomllib.loads((FOLDER / "schemes.toml").read_text(encoding="utf-8"))


def label(scheme: str) -> str:
    """The label of a scheme in figures."""
    return str(schemes()[scheme]["label"])


def table(file: str) -> dict[str, Any]:
    """The tables of a scenario file."""
    path = FOLDER / "scenarios" / f"{file}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def built(data: dict[str, Any], name: str, overrides: Sequence[str] = ()) -> Scenario:
    """The scenario of tables, with a name and overrides."""
    return from_dict(data | {"name": name}, overrides, origin=name)


def group(name: str, density: float, count: int = EACH, **keys: object) -> dict[str, Any]:
    """A group of long flows of a density, cycles/bit."""
    processing = f"{density:g} cycles/bit"
    return {"name": name, "kind": "tcp", "count": count, "processing": processing, **keys}


def dumbbell(
    scheme: str,
    clock: float,
    groups: Sequence[Mapping[str, Any]] | None = None,
    overrides: Sequence[str] = (),
    **bottleneck: object,
) -> Scenario:
    """The dumbbell with a CPU of ``clock`` Mcycles/s; by default with the paper's four classes.

    ``bottleneck`` replaces keys of the link.
    """
    data = table("dumbbell")
    if groups is not None:
        data["traffic"] = list(groups)
    under(scheme, data["topology"]["bottleneck"], clock)
    data["topology"]["bottleneck"] |= bottleneck
    return built(data, f"{label(scheme)}, dumbbell, C = {clock:g} Mcycles/s", overrides)


def parking_lot(
    scheme: str,
    rate: float,
    rtt: int = RTT,
    densities: Sequence[float] | None = None,
    overrides: Sequence[str] = (),
) -> Scenario:
    """The parking lot with a third link of ``rate`` Mbit/s; ``densities`` are those of SG1 to SG4,
    and of SG7 to SG10, if they are not those of the file."""
    data = table("parking-lot")
    links = named_links(data)
    lengthen(links, rtt)
    for name in ("L1", "L2", "L3"):
        under(scheme, links[name])
    links["L3"]["rate"] = f"{rate:g} Mbit/s"
    groups = {each["name"]: each for each in data["traffic"]}
    for i, density in enumerate(densities or ()):
        for first in (1, 7):
            groups[f"SG{first + i}"]["processing"] = f"{density:g} cycles/bit"
    name = f"{label(scheme)}, parking lot, B3 = {rate:g} Mbit/s"
    return built(data, name, [*settling(rtt), *overrides])


def edge(scheme: str, clock: float, densities: Sequence[float], core: float, rtt: int) -> Scenario:
    """Edge deployment: IE1 with ``clock`` Mcycles/s, SG1 and SG2 of these densities, L1 and L2 at
    ``core`` Mbit/s."""
    data = table("edge")
    links = edge_links(data, core, rtt)
    under(scheme, links["IE1"], clock)
    under(scheme, links["EE1"])
    data["traffic"][:2] = [
        group(f"SG{i}", w, classes=["IE1"]) for i, w in enumerate(densities, start=1)
    ]
    high = densities[0]
    at = f"C = {clock:g} Mcycles/s, w1 = {high:g}, core {core:g} Mbit/s"
    return built(data, f"{label(scheme)} at the edge, {at}", settling(rtt))


def two_edges(clock: float, densities: Sequence[float], core: float, rtt: int) -> Scenario:
    """DRQ at IE1 and RED-RED at IE2, each with its own SG1 and SG2 of these densities."""
    data = table("edge")
    links = edge_links(data, core, rtt)
    edges = {"1": "drq", "2": "red-red"}
    for number, scheme in edges.items():
        for end in ("IE", "EE"):
            links[end + number].setdefault("cpu", dict(links["EE1"]["cpu"]))
            under(scheme, links[end + number])
        links[f"IE{number}"]["cpu"]["clock"] = f"{clock:g} Mcycles/s"
    data["traffic"][:3] = [
        group(f"SG{i} by IE{number}", w, classes=[f"IE{number}"])
        for number in edges
        for i, w in enumerate(densities, start=1)
    ]
    at = f"w1 = {densities[0]:g}, core {core:g} Mbit/s"
    return built(data, f"DRQ at IE1 and RED-RED at IE2, {at}", settling(rtt))


def edge_links(data: Mapping[str, Any], core: float, rtt: int) -> dict[str, dict[str, Any]]:
    """The links of the edge topology, with L1 and L2 of ``core`` Mbit/s and round trips of ``rtt``
    ms."""
    links = named_links(data)
    lengthen(links, rtt)
    for each in ("L1", "L2"):
        links[each]["rate"] = f"{core:g} Mbit/s"
    return links


def named_links(data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The links of a graph by name."""
    return {link["name"]: link for link in data["topology"]["links"]}


def under(scheme: str, link: dict[str, Any], clock: float | None = None) -> None:
    """Puts a link and its CPU under a scheme."""
    keys = schemes()[scheme]
    link |= keys["link"]
    link["cpu"] = link["cpu"] | keys["cpu"]
    if clock is not None:
        link["cpu"]["clock"] = f"{clock:g} Mcycles/s"
