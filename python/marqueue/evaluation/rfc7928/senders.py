"""Senders (RFC 7928, section 5) and round-trip time fairness (section 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from marqueue.evaluation.case import MAIN, Case, Effort
from marqueue.evaluation.criterion import Criterion
from marqueue.evaluation.measures import (
    BOTTLENECK,
    JITTER,
    LOSS,
    MARKS,
    UTILIZATION,
    Measure,
    completion,
    delay,
    delay_p99,
    delay_variation,
    flow_rates,
    goodput,
    goodput_of,
    loss_gap,
    packet_loss,
    share,
)
from marqueue.evaluation.pictures import PERIOD
from marqueue.evaluation.rfc7928 import limits, setup
from marqueue.evaluation.run_data import RunData
from marqueue.scenario import Aqm, Scenario
from marqueue.statistics.estimates import Floats

COMMON = (delay(), delay_p99(), JITTER, goodput(), UTILIZATION, LOSS, MARKS)
"""Measures of every scenario: section 2, and those at the queue that section 4.2 advises."""


def one(
    name: str,
    section: str,
    title: str,
    about: str,
    build: Callable[[str, Aqm, Effort], Scenario],
    criteria: Sequence[Criterion],
    measures: Sequence[Measure] = (),
) -> Case[Aqm]:
    """A case with one run, for which ``build`` gets the title, and whose packets are recorded."""
    return unrecorded(
        name, section, title, about, build, criteria, (*flow_rates(PERIOD), *measures)
    )


def unrecorded(
    name: str,
    section: str,
    title: str,
    about: str,
    build: Callable[[str, Aqm, Effort], Scenario],
    criteria: Sequence[Criterion],
    measures: Sequence[Measure] = (),
) -> Case[Aqm]:
    """A case with one run without the record of its packets."""

    def runs(aqm: Aqm, effort: Effort) -> Mapping[str, Scenario]:
        return {MAIN: build(title, aqm, effort)}

    return Case(name, section, title, about, runs, (*COMMON, *measures), lambda aqm: criteria)


FRIENDLY = "One unlimited Reno flow with SACK and an initial window of 3 packets."


def _friendly(title: str, aqm: Aqm, effort: Effort) -> Scenario:
    transport = {"default": setup.reno(initial_window="3 packets")}
    return setup.network(title, FRIENDLY, aqm, [setup.bulk()], effort, transport=transport)


def _shorts(effort: Effort) -> list[str]:
    return [f"short {i + 1}" for i in range(effort.pick(18, 6))]


SHORT = "50 packets"
WINDOWS = (
    "One unlimited Reno flow, and after it a flow of 50 packets every 10 s with an initial window "
    "of {} packets. The text has one such flow; several give a completion time with an interval."
)


def _windows(window: int, title: str, aqm: Aqm, effort: Effort) -> Scenario:
    shorts = [
        {
            "kind": "tcp", "name": name, "size": SHORT, "transport": "short",
            "start": f"{setup.WARMUP + 10 * i:g} s", "jitter": "2 s",
        }
        for i, name in enumerate(_shorts(effort))
    ]  # fmt: skip
    transport = {
        "default": setup.reno(initial_window="3 packets"),
        "short": setup.reno(initial_window=f"{window} packets"),
    }
    return setup.network(
        title, WINDOWS.format(window), aqm, [setup.bulk(), *shorts], effort, transport=transport
    )


def _completion(run: RunData) -> Floats:
    names = [name for name in run.result.groups if name.startswith("short ")]
    return completion(names).of(run)


SHORT_COMPLETION = Measure("completion", "Flow completion time, mean", "s", _completion)


def _different_windows(window: int) -> Case[Aqm]:
    return one(
        f"initial-window-{window}", "5.1.2", f"Different initial windows: 3 and {window}",
        WINDOWS.format(window), partial(_windows, window),
        [limits.shorter(), limits.keeps_of_one_reno(), limits.no_slower("completion")],
        [goodput("bulk"), SHORT_COMPLETION],
    )  # fmt: skip


CUBIC = "One unlimited CUBIC flow (RFC 9438)."


def _cubic(title: str, aqm: Aqm, effort: Effort) -> Scenario:
    transport = {"default": {"preset": "rfc", "control": "cubic"}}
    return setup.network(title, CUBIC, aqm, [setup.bulk()], effort, transport=transport)


UNRESPONSIVE = "One UDP flow of 12 Mbit/s, a fifth above the capacity."


def _unresponsive(title: str, aqm: Aqm, effort: Effort) -> Scenario:
    return setup.network(title, UNRESPONSIVE, aqm, [setup.cbr("udp", "12 Mbit/s")], effort)


UDP = 7.5
MIXED = "One UDP flow of 7.5 Mbit/s, between half and all of the capacity, and one Reno flow."
LEFT = (setup.RATE - UDP) * setup.MBIT * 1460 / 1500
"""Goodput that UDP leaves, bit/s."""


def _mixed(title: str, aqm: Aqm, effort: Effort) -> Scenario:
    traffic = [setup.cbr("udp", f"{UDP} Mbit/s"), setup.bulk("tcp")]
    return setup.network(title, MIXED, aqm, traffic, effort)


def _left(run: RunData) -> Floats:
    return goodput_of(run, "tcp") / LEFT


LBE = (
    "One Reno flow and one LEDBAT flow with a target of 5 ms, as section 5.4 recommends. The "
    "gain is "
    "1, the greatest that RFC 6817 (section 2.5) allows; section 5.4 recommends 10."
)


def _lbe(title: str, aqm: Aqm, effort: Effort) -> Scenario:
    transport = {
        "default": setup.reno(),
        "lbe": {"preset": "rfc", "control": "ledbat", "ledbat_target": "5 ms"},
    }
    traffic = [setup.bulk("reno"), setup.bulk("ledbat", transport="lbe")]
    return setup.network(title, LBE, aqm, traffic, effort, transport=transport)


RTTS = 5, 20, 100, 200, 560
"""Round-trip times of category II, ms: from 5 to 560 ms, that of category I among them."""
SECONDS = 300.0, 100.0


def fairness_scenario(
    rtt: float, title: str, about: str, aqm: Aqm, effort: Effort, ecn: bool = False
) -> Scenario:
    """Two Reno flows of 100 ms (category I) and of another round-trip time (category II). The
    buffer is the product for the longer one."""
    rtts = [setup.RTT, rtt] if rtt != setup.RTT else [setup.RTT]
    classes = [[f"{each:g} ms"] for each in (setup.RTT, rtt)]
    traffic = [
        setup.bulk(name, classes=of)
        for name, of in zip(("category I", "category II"), classes, strict=True)
    ]
    return setup.network(
        title, about, aqm, traffic, effort,
        seconds=SECONDS, rtts=rtts, buffer=setup.pipe(setup.RATE, max(rtts)),
        warmup=setup.WARMUP * max(rtts) / setup.RTT if rtt > setup.RTT else setup.WARMUP,
        transport={"default": setup.reno(ecn=True) if ecn else setup.reno()},
    )  # fmt: skip


def _exponent(rtt: float, run: RunData) -> Floats:
    """e in goodput as RTT^-e, the mean queueing delay being part of the round trip."""
    first, second = (goodput_of(run, name) for name in ("category I", "category II"))
    waiting = run.result.link(BOTTLENECK).values("delay_mean")
    trips = (rtt / 1e3 + waiting) / (setup.RTT / 1e3 + waiting)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.log(first / second) / np.log(trips)
    return found


def _weaker(run: RunData) -> Floats:
    first, second = (goodput_of(run, name) for name in ("category I", "category II"))
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.minimum(first, second) / np.maximum(first, second)
    return found


def _fairness(rtt: float) -> Case[Aqm]:
    equal = rtt == setup.RTT
    about = f"One Reno flow of {setup.RTT} ms (category I) and one of {rtt} ms (category II)."

    def build(title: str, aqm: Aqm, effort: Effort) -> Scenario:
        return fairness_scenario(rtt, title, about, aqm, effort)

    own = (
        Measure("weaker over stronger", "Weaker over stronger goodput", "", _weaker)
        if equal
        else Measure("exponent", "Exponent of the round-trip time", "", partial(_exponent, rtt))
    )
    return one(
        f"rtt-{rtt}", "6.2", f"Round-trip time fairness: {setup.RTT} and {rtt} ms", about, build,
        [
            limits.equal_shares() if equal else limits.rtt_exponent(),
            limits.shorter(),
            limits.keeps_of_one_reno(),
        ],
        [
            own,
            share("ratio", "Goodput of category II over I", "category II", "category I"),
            *(goodput(name) for name in ("category I", "category II")),
            *(packet_loss(name) for name in ("category I", "category II")),
        ],
    )  # fmt: skip


def cases() -> Iterator[Case[Aqm]]:
    """The cases of sections 5 and 6."""
    yield one(
        "tcp-friendly", "5.1.1", "TCP-friendly sender", FRIENDLY, _friendly,
        [limits.shorter(), limits.keeps_of_one_reno()], [loss_gap("bulk")],
    )  # fmt: skip
    yield from map(_different_windows, (3, 10))
    yield one(
        "aggressive", "5.2", "Aggressive sender: CUBIC", CUBIC, _cubic,
        [limits.shorter(), limits.keeps_of_one_cubic()], [loss_gap("bulk")],
    )  # fmt: skip
    yield one(
        "unresponsive", "5.3", "Unresponsive sender: UDP above the capacity", UNRESPONSIVE,
        _unresponsive, [limits.shorter(), limits.under_overload()],
    )  # fmt: skip
    yield one(
        "mixed-udp", "5.3", "UDP below the capacity, and TCP", MIXED, _mixed,
        [limits.shorter(), limits.keeps(), limits.responsive_share("part of what is left")],
        [
            goodput("tcp"), goodput("udp"), packet_loss("udp"), delay_variation("udp"),
            Measure("part of what is left", "TCP's part of what UDP leaves", "", _left),
        ],
    )  # fmt: skip
    yield one(
        "less-than-best-effort", "5.4", "Less-than-best-effort sender: LEDBAT", LBE, _lbe,
        [limits.shorter(), limits.keeps_of_one_reno(), limits.less_than_best_effort()],
        [
            goodput("reno"), goodput("ledbat"),
            share("reno over ledbat", "Goodput, Reno over LEDBAT", "reno", "ledbat"),
        ],
    )  # fmt: skip
    yield from map(_fairness, RTTS)
