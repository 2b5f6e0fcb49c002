"""Our AQMs beside the qdiscs of a Linux kernel, at the same link.

By packet, where nothing is random: the same packets arrive, and each is dropped, marked or neither
on both sides. By figures, where signals are random.

The network card of the kernel takes one packet at a time (``ring = 1``), so that a packet leaves
the qdisc when its transmission begins, as here. Our AQMs have the kernel's settings; those that
differ from ours by default say why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from marqueue.results import Result
from marqueue.scenario import Scenario, from_dict
from marqueue.statistics.estimates import Estimate
from marqueue.validation.check import Check
from marqueue.validation.linux_cases import KERNEL
from marqueue.validation.rung import Effort, Task, TaskRunner

Aqm = Mapping[str, Any]

CODEL: Aqm = {"name": "codel", "square_root": "newton"}
"""The kernel computes the root by Newton's method, a step a signal."""
FQ_CODEL: Aqm = {
    "name": "fq_codel", "square_root": "newton",
    # The kernel's packets of 1514 bytes and quantum of 1514: a packet a turn.
    "quantum": "1500 B",
}  # fmt: skip
PIE: Aqm = {
    "name": "pie",
    # 15 ms, as the kernel's timers have ticks of 10 ms.
    "t_update": "20 ms",
    "delay_estimate": "timestamps",
}
DUALPI2: Aqm = {
    "name": "dualpi2", "t_update": "16 ms", "alpha": "0.16 /s", "beta": "3.2 /s",
    "min_th": "1 ms", "range": "0 ms", "th_len": "0 packets", "exempt": "2 packets",
    # RFC 9332 spaces signals evenly.
    "likelihood": "random",
}  # fmt: skip
RED: Aqm = {
    "min_th": "10 packets", "max_th": "30 packets", "max_p": 0.1, "w_q": 0.0625, "gentle": False,
    "wait": False,
}  # fmt: skip
RED_OPTIONS = "probability 0.1 burst 17"
"""tc makes a weight of 1/16 of this burst."""


CUBIC: Mapping[str, Any] = {"kind": "tcp", "name": "cubic", "count": 4}
"""Four flows of the models, under preset ``linux``."""
REPLICATIONS = 6
"""Of cases by figures."""


@dataclass(frozen=True)
class QdiscCase:
    """An AQM of ours and a qdisc at one link."""

    name: str
    ours: Aqm
    qdisc: str
    options: str = ""
    buffer: str = "1000 packets"
    traffic: tuple[Mapping[str, Any], ...] = (CUBIC,)
    by_packet: bool = True

    def scenario(self, aqm: Aqm) -> Scenario:
        """The scenario with this AQM: ``ours`` or ``theirs``."""
        return from_dict(
            {
                "name": f"{self.name}, {aqm['name']}",
                "duration": "6 s" if self.by_packet else "25 s",
                "warmup": "0 s" if self.by_packet else "5 s",
                "replications": 1 if self.by_packet else REPLICATIONS,
                "sample": "100 ms",
                "topology": {
                    "kind": "dumbbell",
                    "rtts": ["20 ms"],
                    "bottleneck": {
                        "rate": "10 Mbit/s",
                        "delay": "5 ms",
                        "buffer": self.buffer,
                        "packet": "1500 B",
                        "trace": self.by_packet,
                        "aqm": dict(aqm),
                    },
                    "access": {"rate": "1 Gbit/s", "delay": "2 ms"},
                },
                "transport": {"default": {"preset": "linux"}},
                "traffic": [dict(each) for each in self.traffic],
            }
        )

    @property
    def theirs(self) -> Aqm:
        """The kernel's qdisc."""
        return {"name": f"linux:{self.qdisc}", "options": self.options, "ring": 1}


def _cbr(rate: float, name: str = "cbr", **more: object) -> Mapping[str, Any]:
    given = {"kind": "cbr", "name": name, "rate": f"{rate} Mbit/s", "packet": "1500 B"}
    return {**given, "jitter": "0 s", **more}


def _random(rate: int, name: str = "random") -> Mapping[str, Any]:
    return {"kind": "packets", "name": name, "rate": f"{rate} /s", "packet": "1500 B"}


QDISC_CASES: tuple[QdiscCase, ...] = (
    QdiscCase("pfifo, by packet", {"name": "droptail"}, "pfifo", buffer="20 packets",
              traffic=(_random(900),)),
    QdiscCase("codel, by packet", CODEL, "codel", traffic=(_cbr(12),)),
    QdiscCase("codel, by packet, random arrivals", CODEL, "codel", traffic=(_random(900),)),
    QdiscCase("codel ecn, by packet", CODEL, "codel", buffer="200 packets",
              traffic=(_cbr(12, ecn="ect"),)),
    # The first flow fills the link before the others come: a packet that finds the kernel's qdisc
    # empty passes it by.
    QdiscCase("fq_codel, by packet", FQ_CODEL, "fq_codel",
              traffic=(_cbr(10.57, "first"), _cbr(1.27, "second", start="200 ms"),
                       _cbr(0.71, "third", start="400 ms"))),
    QdiscCase("sfq, by packet", {"name": "sfq"}, "sfq", buffer="100 packets",
              traffic=(_random(500, "a"), _random(330, "b"), _random(120, "c"))),
    QdiscCase("codel, by packet, 4 flows", CODEL, "codel"),
    QdiscCase("fq_codel, by packet, 4 flows", FQ_CODEL, "fq_codel"),
    QdiscCase("pie, 4 flows", PIE, "pie", by_packet=False),
    QdiscCase("dualpi2, 4 flows", DUALPI2, "dualpi2", by_packet=False),
    QdiscCase("red, 4 flows", {"name": "red", **RED}, "red",
              f"min 15140 max 45420 {RED_OPTIONS}", by_packet=False),
    QdiscCase("choke, 4 flows", {"name": "choke", **RED}, "choke", f"min 10 max 30 {RED_OPTIONS}",
              by_packet=False),
)  # fmt: skip

VERDICTS = ("drop", "mark")


def verdicts(result: Result) -> Counter[tuple[int, int, str]]:
    """The packets that were dropped or marked, by flow and number."""
    trace = result.tables["trace"].to_pydict()
    rows = zip(trace["flow"], trace["seq"], trace["kind"], strict=True)
    return Counter(row for row in rows if row[2] in VERDICTS)


@dataclass(frozen=True)
class Figure:
    """A figure of a link with its tolerance."""

    name: str
    scale: float
    unit: str
    share: float
    least: float
    because: str

    def of(self, result: Result) -> Estimate:
        """Its mean over replications, at the link."""
        return Estimate.of(self.scale * np.asarray(result.link().values(self.name)))


FIGURES = (
    Figure("delay_mean", 1e3, "ms", 0.1, 1.2, "10 %, at least 1.2 ms: a packet."),
    Figure("delay_p99", 1e3, "ms", 0.15, 2.4, "15 %, at least 2.4 ms: two packets."),
    Figure("loss_ratio", 1.0, "", 0.15, 5e-4,
           "15 %, at least 0.0005: losses are as the inverse square of the window."),
    Figure("utilization", 1.0, "", 0.0, 0.02, "0.02: as for senders."),
)  # fmt: skip


def compare(case: QdiscCase, here: Result, there: Result) -> Iterator[Check]:
    """The checks of a case."""
    if case.by_packet:
        ours, theirs = verdicts(here), verdicts(there)
        differ = (ours - theirs).total() + (theirs - ours).total()
        yield Check(
            f"{case.name}: share of {theirs.total()} drops and marks that differ", KERNEL,
            Estimate(differ / max(ours.total() + theirs.total(), 1), None, 1), 0.0, 0.0,
            "Nothing is random: the same packets.",
        )  # fmt: skip
        return
    for figure in FIGURES:
        mine, its = (figure.of(result) for result in (here, there))
        most = max(figure.share * its.mean, figure.least)
        yield Check(
            f"{case.name}: {figure.name.replace('_', ' ')}", KERNEL, mine, its, most,
            figure.because, resolution=2 * most, unit=figure.unit,
        )  # fmt: skip


def checks(bench: TaskRunner, case: QdiscCase) -> list[Check]:
    """The checks of one case."""
    here, there = (bench.run(case.scenario(aqm)) for aqm in (case.ours, case.theirs))
    return list(compare(case, here, there))


def tasks(effort: Effort, packet_cost: float) -> list[Task]:
    """A task a case; in the quick form one by packet."""
    return [
        Task(case.name, packet_cost * (5e3 if case.by_packet else 2e4 * REPLICATIONS),
             partial(checks, case=case))
        for case in QDISC_CASES
        if effort is Effort.FULL or case.name == "codel, by packet"
    ]  # fmt: skip
