"""The candidates: AQMs with parameters from ``design``, or with the defaults of their sources.

Where Linux has the AQM, its parameters are rounded to what tc can set before anything is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from marqueue.design import codel, pi2, pie
from marqueue.errors import ModelError, RunError, unknown
from marqueue.recommend.linux_tc import (
    DUALPI2_STEP,
    PIE_MOST,
    PIE_STEP,
    microseconds,
    red_weight,
)
from marqueue.recommend.question import PACKET, Ecn, Question
from marqueue.scenario.parameters import aqms

#: Buffers in packets: at least, and in round trips of the link's rate.
LEAST_BUFFER, BUFFER = 100, 4.0
#: RED's thresholds: Floyd's for a target delay, s; max_p.
RED_DELAY, RED_LEAST, RED_MAX_P = 0.005, 5, 0.1


@dataclass(frozen=True)
class Candidate:
    """An AQM with its parameters and the buffer behind it."""

    name: str
    aqm: Mapping[str, Any]
    """As a table of a scenario."""
    buffer: int
    """Packets."""
    origin: str
    """Where its parameters come from."""


Made = tuple[Mapping[str, Any], str]


def _droptail(_: Question) -> Made:
    return {}, "no parameters; a buffer of the largest round trip, the rule of thumb"


def _codel(asked: Question) -> Made:
    made = codel.design(asked.capacity, asked.flows.low, asked.rtt.high)
    return _whole_microseconds(made.aqm), "design codel: RFC 8289, sections 4.2 and 4.3"


def _fq_codel(asked: Question) -> Made:
    low, high = asked.flows.low, asked.flows.high
    made = codel.design_fq(asked.capacity, low, asked.rtt.high, PACKET, high)
    return _whole_microseconds(made.aqm), "design fq_codel: RFC 8290, section 5"


def _cake(asked: Question) -> Made:
    made = codel.design(asked.capacity, asked.flows.low, asked.rtt.high)
    rtt = made.configure["interval"].number / 1e3
    table = {"rtt": microseconds(rtt), "diffserv": "besteffort", "isolation": "flows"}
    return table, "rtt as the interval of design codel; the rest of tc-cake(8)"


def _pie(asked: Question) -> Made:
    target = pie.TARGET
    try:
        made = pie.design(
            asked.capacity,
            asked.flows.low,
            asked.rtt.high + target,
            target,
            most_flows=asked.flows.high,
        )
        of = made.setting
        alpha, beta, period = of.alpha, of.beta, of.period
        origin = f"design pie: {made.rules[0].theorem} ({made.rules[0].source})"
    except ModelError as error:
        (alpha, beta), period = pie.gains(), pie.PERIOD
        origin = f"the defaults of RFC 8033; design pie: {error}"
    table = {
        "delay_ref": microseconds(target),
        "t_update": microseconds(period),
        "alpha": _stepped(alpha, PIE_STEP, PIE_MOST),
        "beta": _stepped(beta, PIE_STEP, PIE_MOST),
        # That of Linux.
        "delay_estimate": "timestamps",
    }
    return table, f"{origin}, in Linux's steps of 1/16 Hz"


def _fq_pie(asked: Question) -> Made:
    alpha, beta = pie.gains()
    queues = codel.queues_for(asked.flows.high)
    table = {
        "queues": min(queues, 65536),
        "quantum": f"{PACKET + codel.HARDWARE_HEADER} B",
        "target": microseconds(pie.TARGET),
        "t_update": microseconds(pie.PERIOD),
        "alpha": f"{alpha:.9g} /s",
        "beta": f"{beta:.9g} /s",
    }
    return table, "the defaults of RFC 8033; as many queues as design fq_codel"


def _pi2(asked: Question) -> Made:
    return _pi2_gains(asked), "design pi2: RFC 9332, appendix A.1"


def _dualpi2(asked: Question) -> Made:
    table = {
        name: value if "us" in value else _stepped(float(value.removesuffix("/s")), DUALPI2_STEP)
        for name, value in _pi2_gains(asked).items()
    }
    table |= {"likelihood": "random", "exempt": "2 packets"}
    return table, "design dualpi2: RFC 9332, appendix A.1, in Linux's steps of 1/256 Hz"


def _pi2_gains(asked: Question) -> dict[str, str]:
    longest = asked.rtt.high + pi2.TARGET
    period, alpha, beta = pi2.gains(pi2.TARGET, longest)
    return {
        "target": microseconds(pi2.TARGET),
        "t_update": microseconds(period),
        "alpha": f"{alpha:.9g} /s",
        "beta": f"{beta:.9g} /s",
    }


def _red(asked: Question) -> Made:
    low = max(RED_LEAST, round(RED_DELAY * asked.capacity / 2))
    high = 3 * low
    table = {
        "min_th": f"{low} packets",
        "max_th": f"{high} packets",
        "max_p": RED_MAX_P,
        "w_q": red_weight(low, high),
        "gentle": False,
    }
    return (
        table,
        "Floyd's thresholds for 5 ms, not gentle and with the weight that tc sets, as Linux",
    )


def _choke(asked: Question) -> Made:
    table, origin = _red(asked)
    return table, f"as RED: {origin}"


def _sfb(_: Question) -> Made:
    return {"bin_size": "20 packets", "max": "25 packets"}, "the defaults of Linux"


_MAKERS: Mapping[str, Callable[[Question], Made]] = {
    "droptail": _droptail,
    "red": _red,
    "pie": _pie,
    "codel": _codel,
    "fq_codel": _fq_codel,
    "fq_pie": _fq_pie,
    "cake": _cake,
    "dualpi2": _dualpi2,
    "pi2": _pi2,
    "choke": _choke,
    "sfb": _sfb,
}

#: What is tried unless AQMs are named.
DEFAULT = ("droptail", "red", "pie", "codel", "fq_codel", "fq_pie", "cake", "dualpi2")
#: What is tried beside these for senders that answer to the share of marks.
_FOR_L4S = ("step",)

_NO_SHARE = "its senders follow prices that routers write, which CUBIC does not"
#: Why others are not tried by default.
_REASONS = {
    "pi2": "without L4S traffic it is the Classic queue of dualpi2",
    "choke": "it acts against flows that do not respond, of which the mix has none",
    "sfb": "it acts against flows that do not respond, of which the mix has none",
    **dict.fromkeys(("chokew", "chokew_avg", "chokew_id", "chokew_red"),
                    "it favours flows by weights, which the mix has not"),
    **dict.fromkeys(("mkc", "mkc_lossfree", "drr_mkc"), _NO_SHARE),
    **dict.fromkeys(("drq",), "it is for links with CPUs"),
    **dict.fromkeys(("docsis_pie", "docsis_dualq", "docsis_dualq_unprotected"),
                    "it is of cable modems; Linux lacks it"),
    **dict.fromkeys(("sfq", "drr", "wfq"), "it schedules, and does not limit the queue of a flow"),
}  # fmt: skip
#: Why AQMs that mark every packet above a threshold are not tried.
_THRESHOLD = {
    Ecn.NONE: "it marks above a threshold, and the flows have no ECN",
    Ecn.CLASSIC: "it marks every packet above a threshold, and CUBIC answers to one mark as to a "
    "loss",
}
_NO_DESIGN = "it has no design for a range of flows; --aqm tries it with its defaults"


def candidates(asked: Question, names: Sequence[str] | None) -> list[Candidate]:
    """The candidates with these names, or the default ones. Raises RunError for an unknown name."""
    known = aqms()
    for name in names or ():
        if name not in known:
            raise RunError(f"--aqm: {unknown(name, known)}")
    default = DEFAULT + _FOR_L4S if asked.ecn is Ecn.L4S else DEFAULT
    return [_candidate(asked, name) for name in dict.fromkeys(names or default)]


def not_tried(tried: Sequence[str], ecn: Ecn = Ecn.NONE) -> dict[str, str]:
    """The other AQMs, each with the reason."""
    reasons = dict(_REASONS)
    if ecn in _THRESHOLD:
        reasons |= dict.fromkeys(("step", "scaled"), _THRESHOLD[ecn])
    if ecn is Ecn.L4S:
        reasons["pi2"] = "it has no queue for L4S; dualpi2 has its Classic queue beside one"
    return {name: reasons.get(name, _NO_DESIGN) for name in aqms() if name not in tried}


def _candidate(asked: Question, name: str) -> Candidate:
    maker = _MAKERS.get(name)
    made, origin = maker(asked) if maker else ({}, "the defaults of its source")
    round_trips = 1.0 if name == "droptail" else BUFFER
    pipe = round_trips * asked.rtt.high * asked.capacity
    buffer = max(math.ceil(pipe), LEAST_BUFFER)
    return Candidate(name, {**made, "name": name}, buffer, origin)


def _whole_microseconds(table: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: microseconds(float(value.removesuffix("s")))
        if isinstance(value, str) and value.endswith(" s")
        else value
        for key, value in table.items()
    }


def _stepped(gain: float, step: float, most: int | None = None) -> str:
    """A gain as the nearest whole number of steps, at least one."""
    steps = max(round(gain / step), 1)
    return f"{min(steps, most or steps) * step:.9g} /s"
