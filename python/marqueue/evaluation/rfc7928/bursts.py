"""Burst absorption (RFC 7928, section 7)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from marqueue.evaluation.case import Case, Effort
from marqueue.evaluation.measures import (
    STARTUP,
    Measure,
    delay_variation,
    goodput,
    packet_loss,
    page_load,
)
from marqueue.evaluation.rfc7928 import limits, setup
from marqueue.evaluation.rfc7928.senders import one
from marqueue.evaluation.run_data import RunData
from marqueue.scenario import Aqm, Scenario
from marqueue.statistics.estimates import Floats

CASES = {"I": (False, False), "II": (False, True), "III": (True, False), "IV": (True, True)}
"""Figure 2 of the text: whether there are video and bulk traffic."""

VIDEO = setup.bulk("video", write="60 packets", every="500 ms", transport="video")
"""Bursty frames: 60 packets every half second, 1.4 Mbit/s, from a window that stays open."""
TRANSPORTS = {"default": setup.reno(), "video": setup.reno(after_idle="keep")}
ABOUT = (
    "A web page of 50 objects of 6 kB every 4 s on six connections with a window of 10 packets, "
    "and "
    "UDP of 1 Mbit/s"
)


def _about(video: bool, bulk: bool) -> str:
    more = [
        "video of 60 packets every 500 ms" if video else "",
        "an unlimited Reno flow" if bulk else "",
    ]
    # A page begins at a fixed time, not when the one before ends: traffic of a scenario is open.
    return f"{', '.join([ABOUT, *filter(None, more)])}. Pages begin at fixed times."


def _burst(video: bool, bulk: bool, title: str, aqm: Aqm, effort: Effort) -> Scenario:
    traffic = [
        *setup.pages(setup.page_starts(effort)),
        setup.cbr("cbr", "1 Mbit/s", "500 B"),
        *([VIDEO] if video else []),
        *([setup.bulk()] if bulk else []),
    ]
    seconds = (30 * setup.PAGE_EVERY + 10, 10 * setup.PAGE_EVERY + 10)
    return setup.network(
        title, _about(video, bulk), aqm, traffic, effort, seconds=seconds, transport=TRANSPORTS
    )


def loads(run: RunData) -> Floats:
    """Mean page load time of all pages, s."""
    return page_load([name for name in run.result.groups if name.startswith("page ")]).of(run)


PAGE_LOAD = Measure("page load", "Page load time, mean", "s", loads)


def _case(name: str, video: bool, bulk: bool) -> Case[Aqm]:
    criteria = (
        [
            limits.shorter(),
            limits.no_slower("page load"),
            limits.no_slower("startup"),
            limits.steadier("pdv of cbr"),
            limits.keeps_of_one_reno("goodput of bulk"),
        ]
        if bulk
        else [limits.burst_passes(), limits.burst_no_slower("page load")]
    )
    return one(
        f"burst-{name}", "7.2", f"Burst absorption, case {name}", _about(video, bulk),
        partial(_burst, video, bulk), criteria,
        [
            PAGE_LOAD, STARTUP, packet_loss("cbr"), delay_variation("cbr"),
            *([goodput("video"), packet_loss("video")] if video else []),
            *([goodput("bulk")] if bulk else []),
        ],
    )  # fmt: skip


def cases() -> Iterator[Case[Aqm]]:
    """The four cases of figure 2."""
    for name, (video, bulk) in CASES.items():
        yield _case(name, video, bulk)
