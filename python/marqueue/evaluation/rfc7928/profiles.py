"""Traffic profiles, two AQMs, packet sizes and ECN (RFC 7928, sections 9, 10, 4.4 and 4.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from marqueue.evaluation.case import MAIN, Case, Effort
from marqueue.evaluation.measures import (
    STARTUP,
    Measure,
    delay,
    delay_variation,
    fairness,
    goodput,
    of_link,
    packet_loss,
    share,
)
from marqueue.evaluation.rfc7928 import limits, setup
from marqueue.evaluation.rfc7928.bursts import PAGE_LOAD, TRANSPORTS, VIDEO
from marqueue.evaluation.rfc7928.senders import COMMON, fairness_scenario, one
from marqueue.evaluation.run_data import RunData
from marqueue.scenario import Aqm, Scenario, from_dict
from marqueue.statistics.estimates import Floats

MIX = (
    "The example of section 9.1: a call in both directions (80 kbit/s in packets of 200 B), web "
    "pages "
    "on six connections, UDP of 1 Mbit/s, video of 60 packets every 500 ms, and five Reno flows."
)


def _mix(title: str, aqm: Aqm, effort: Effort) -> Scenario:
    starts = setup.page_starts(effort)
    traffic = [
        setup.cbr("voice", "80 kbit/s", "200 B"),
        setup.cbr("voice back", "80 kbit/s", "200 B", direction="reverse"),
        *setup.pages(starts),
        setup.cbr("cbr", "1 Mbit/s", "500 B"),
        VIDEO,
        setup.bulk("bulk", 5),
    ]
    seconds = (30 * setup.PAGE_EVERY + 10, 10 * setup.PAGE_EVERY + 10)
    return setup.network(title, MIX, aqm, traffic, effort, seconds=seconds, transport=TRANSPORTS)


BOTH_WAYS = (
    "Mild congestion in both directions, {} Reno flows each, with the AQM in both. Data of one "
    "direction shares its queue with acknowledgements of the other."
)
BACK = "reverse"


def _both_ways(title: str, aqm: Aqm, effort: Effort) -> Scenario:
    count = setup.level("mild")
    back = {
        "rate": f"{setup.RATE} Mbit/s", "delay": "1 ms", "buffer": f"{setup.BUFFER} packets",
        "aqm": aqm.table(), "packet": f"{setup.PACKET} B",
    }  # fmt: skip
    traffic = [setup.bulk("there", count), setup.bulk("back", count, direction="reverse")]
    about = BOTH_WAYS.format(count)
    return setup.network(title, about, aqm, traffic, effort, reverse=back)


def _ack_losses(run: RunData) -> Floats:
    """Loss ratio of acknowledgements over that of data in the same queue; 0 where none is lost."""
    packets = run.packets("bottleneck")
    acks, data = packets.ack_loss_ratio(), packets.data_loss_ratio()
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = np.where(acks == 0, 0.0, acks / data)
    return ratio


ACK_LOSSES = Measure("ack loss", "Loss ratio, acknowledgements over data", "", _ack_losses)

TWO = (
    "The topology of section 10.2: {} Reno flows pass two routers with this AQM, of 5 and of 10 "
    "Mbit/s, and {} more pass the second alone. With equal shares both routers are congested."
)


def _two(title: str, aqm: Aqm, effort: Effort) -> Scenario:
    each = setup.level("mild") // 2

    def hop(rate: float) -> setup.Table:
        return {
            "rate": f"{rate:g} Mbit/s", "delay": "10 ms", "buffer": f"{setup.BUFFER} packets",
            "aqm": aqm.table(), "packet": f"{setup.PACKET} B",
        }  # fmt: skip

    return from_dict(
        {
            "name": title,
            "description": TWO.format(each, each),
            "duration": f"{setup.WARMUP + effort.pick(180, 60):g} s",
            "warmup": f"{setup.WARMUP:g} s",
            "replications": effort.pick(10, 5),
            "topology": {
                "kind": "parking-lot",
                "hops": [hop(setup.RATE / 2), hop(setup.RATE)],
                # Propagation of 100 ms through both, 80 ms through the second alone.
                "access": {"rate": "1 Gbit/s", "delay": "15 ms", "jitter": "0.6 ms"},
            },
            "transport": {"default": setup.reno()},
            "traffic": [
                setup.bulk("through", each, classes=["through"]),
                setup.bulk("second", each, classes=["hop 2"]),
            ],
        }
    )


HOPS = ["hop 1", "hop 2"]
TWO_MEASURES = (
    *(delay(link=hop) for hop in HOPS),
    *(of_link("loss_ratio", f"Loss ratio, {hop}", link=hop) for hop in HOPS),
    *(of_link("utilization", f"Utilization, {hop}", link=hop) for hop in HOPS),
    goodput(), goodput("through"), goodput("second"),
    share("through over second", "Goodput, through over second", "through", "second"),
)  # fmt: skip


def _two_runs(aqm: Aqm, effort: Effort) -> Mapping[str, Scenario]:
    return {MAIN: _two("Two AQMs in series", aqm, effort)}


SIZES = "Mild congestion: {} Reno flows with packets of 500 B, and {} with packets of 1500 B."


def _sizes(title: str, aqm: Aqm, effort: Effort) -> Scenario:
    half = setup.level("mild") // 2
    transport = {"default": setup.reno(), "small": setup.reno(segment="460 B")}
    traffic = [setup.bulk("large", half), setup.bulk("small", half, transport="small")]
    about = SIZES.format(half, half)
    return setup.network(title, about, aqm, traffic, effort, transport=transport)


def _loss_by_size(run: RunData) -> Floats:
    packets = run.packets("bottleneck")
    small, large = (packets.loss_ratio(run.flows_of(name)) for name in ("small", "large"))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = small / large
    return ratio


SIZE_BIAS = Measure("small over large loss", "Loss ratio, small over large", "", _loss_by_size)

WITH_ECN = "with ECN"
ECN = (
    "The fairness test of section 6.2 for 100 and 20 ms, without and with ECN at the senders "
    "(RFC 3168)."
)


def _ecn(aqm: Aqm, effort: Effort) -> Mapping[str, Scenario]:
    return {
        run: fairness_scenario(20, f"ECN{', ' * bool(run)}{run}", ECN, aqm, effort, ecn=bool(run))
        for run in (MAIN, WITH_ECN)
    }


def cases() -> Iterator[Case[Aqm]]:
    """The cases of sections 9, 10 and 4."""
    half = setup.level("mild") // 2
    yield one(
        "traffic-mix", "9.1", "Traffic mix", MIX, _mix,
        [
            limits.shorter(), limits.keeps(), limits.steadier("pdv of voice"), limits.voice_loss(),
            limits.no_slower("page load"),
        ],
        [
            PAGE_LOAD, STARTUP, delay_variation("voice"), packet_loss("voice"),
            delay_variation("cbr"), packet_loss("cbr"), goodput("video"), goodput("bulk"),
        ],
    )  # fmt: skip
    yield one(
        "bidirectional", "9.2", "Bidirectional traffic", BOTH_WAYS.format(setup.level("mild")),
        _both_ways,
        [
            limits.shorter(), limits.shorter(f"delay_mean at {BACK}"),
            limits.keeps("goodput of there"), limits.keeps("goodput of back"),
            limits.acks_survive("ack loss"),
        ],
        [delay(link=BACK), goodput("there"), goodput("back"), ACK_LOSSES],
    )  # fmt: skip
    yield Case(
        "two-aqms", "10.2", "Two AQMs in series", TWO.format(half, half), _two_runs, TWO_MEASURES,
        lambda aqm: [*(limits.shorter(f"delay_mean at {hop}") for hop in HOPS), limits.keeps()],
    )  # fmt: skip
    yield one(
        "packet-sizes", "4.4", "Packet sizes", SIZES.format(half, half), _sizes,
        [limits.shorter(), limits.keeps(), limits.no_favour_by_size()],
        [SIZE_BIAS, packet_loss("small"), packet_loss("large"), goodput("small"), goodput("large"),
         fairness()],
    )  # fmt: skip
    yield Case(
        "ecn", "4.5", "Interaction with ECN", ECN, _ecn, COMMON,
        lambda aqm: [limits.marks_replace_drops(WITH_ECN), limits.ecn_keeps(WITH_ECN)],
    )  # fmt: skip
