"""Basic scenarios (section 4): six kinds of links, each at three loads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from marqueue.evaluation.case import MAIN, Case, Effort
from marqueue.evaluation.tcpeval import limits
from marqueue.evaluation.tcpeval.measures import BACKWARD, CENTRAL, COMPLETION
from marqueue.evaluation.tcpeval.network import Central, Edge, both_ways, dumbbell, edges
from marqueue.evaluation.tcpeval.wireless import WIRELESS, WirelessLan
from marqueue.scenario import Scenario

LOADS = {MAIN: 0.85, "60% load": 0.6, "110% load": 1.1}
"""High, moderate and overload (4.2), by the name of the run."""
BACK = 0.11
"""Load from left to right as a share of that from right to left, in bit/s. The draft only says that
it is less. The scales of tables 3 and 5 give 0.11, 0.10 and 0.11 for the three loads: the traces
are the same, and in the authors' ns-2 scripts the load of the satellite is that of the uplink."""


@dataclass(frozen=True)
class Link:
    """A basic scenario."""

    name: str
    section: str
    title: str
    about: str
    central: Central
    ends: Sequence[Edge]
    seconds: tuple[float, float]
    warmup: tuple[float, float]
    back: float = BACK


LINKS = (
    Link(
        "data-centre", "4.4.1", "Data centre",
        "All links 1 Gbit/s; edges of 10 or 100 us, a central link without delay and with buffers "
        "of 10 ms.",
        Central(1000, 0.0, 10.0), edges(1000, (0.01, 0.01, 0.1), (0.01, 0.1, 0.1)),
        (20.0, 1.5), (1.0, 0.5),
    ),
    Link(
        "access-link", "4.4.2", "Access link",
        "All links 100 Mbit/s; a central link of 2 ms with buffers of 100 ms.",
        Central(100, 2.0, 100.0), edges(100), (300.0, 20.0), (60.0, 10.0),
    ),
    Link(
        "trans-oceanic", "4.4.3", "Trans-oceanic link",
        "All links 1 Gbit/s; a central link of 65 ms with buffers of 100 ms.",
        Central(1000, 65.0, 100.0), edges(1000), (30.0, 5.0), (15.0, 5.0),
    ),
    Link(
        "satellite", "4.4.4", "Geostationary satellite",
        "A central link of 300 ms with 4 Mbit/s up and 40 Mbit/s down, buffers of 1000 ms and 100 "
        "ms, and edges of 100 Mbit/s. The load is that of the uplink, as in the authors' scripts; "
        "acknowledgements of the downlink come on top.",
        Central(4, 300.0, 1000.0, back_rate=40, back_buffer=100.0), edges(100),
        (600.0, 60.0), (100.0, 30.0), back=1 / BACK,
    ),
    Link(
        "wireless-lan", "4.4.5", "Wireless LAN", WIRELESS,
        WirelessLan(6, 0.0, 100.0), edges(100), (1000.0, 60.0), (60.0, 20.0),
    ),
    Link(
        "dial-up", "4.4.6", "Dial-up link",
        "A central link of 64 kbit/s and 5 ms with buffers of 1250 ms, and edges of 100 Mbit/s.",
        Central(0.064, 5.0, 1250.0), edges(100), (20000.0, 2000.0), (500.0, 200.0),
    ),
)  # fmt: skip


def load_of(link: Link, load: float) -> float:
    """The load in the direction of the bottleneck."""
    return load / (1 + link.back) if link.name == "wireless-lan" else load


def _runs(link: Link, control: str, effort: Effort) -> Mapping[str, Scenario]:
    return {
        run: dumbbell(
            f"{link.title}, load {load:.0%}", link.about, control, effort,
            link.central, link.ends, {},
            both_ways(load_of(link, load), link.central, link.back),
            seconds=link.seconds, warmup=link.warmup,
        )
        for run, load in LOADS.items()
    }  # fmt: skip


def _case(link: Link) -> Case[str]:
    def runs(control: str, effort: Effort) -> Mapping[str, Scenario]:
        return _runs(link, control, effort)

    criteria = [
        limit(run)
        for run in LOADS
        for limit in (
            limits.carries, limits.loses_no_more, limits.queues_no_more, limits.finishes,
        )
    ]  # fmt: skip
    return Case(
        link.name, link.section, link.title,
        f"{link.about} All connections are of the control. Loads of 85% (first), 60% and 110%.",
        runs, (*CENTRAL, *BACKWARD, COMPLETION), lambda control: criteria, baselines=runs,
        through=(("delay_mean", "utilization"), ("delay_mean", "loss_ratio")),
    )  # fmt: skip


def cases() -> Iterator[Case[str]]:
    """The six links."""
    yield from map(_case, LINKS)
