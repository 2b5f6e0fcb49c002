"""The command of Linux's tc for a candidate, with the units that tc takes.

tc takes times as whole microseconds, PIE's gains in sixteenths of a hertz, DualPI2's as numbers in
steps of 1/256, RED's queues in bytes. What a candidate is simulated with has been rounded to these
before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from marqueue.units import Duration, Size

#: Steps of PIE's and DualPI2's gains, Hz (sch_pie.c, sch_dualpi2.c).
PIE_STEP, PIE_MOST, DUALPI2_STEP = 1 / 16, 32, 1 / 256

Table = Mapping[str, Any]


def tc_time(text: str) -> str:
    """A time of a scenario as tc takes it: ``5ms`` or ``4167us``."""
    micros = round(Duration.parse(text).seconds * 1e6)
    return f"{micros // 1000}ms" if micros % 1000 == 0 else f"{micros}us"


def microseconds(seconds: float) -> str:
    """A time for a scenario that tc can take too."""
    return f"{max(round(seconds * 1e6), 1)} us"


def _gain(text: str, step: float) -> float:
    return float(text.removesuffix("/s")) / step


def _codel(aqm: Table, limit: int, packet: int) -> str:
    return (
        f"codel limit {limit} target {tc_time(aqm['target'])} interval {tc_time(aqm['interval'])}"
    )


def _fq_codel(aqm: Table, limit: int, packet: int) -> str:
    return (
        f"fq_codel limit {limit} flows {aqm['queues']} quantum {_bytes(aqm['quantum'])} "
        f"target {tc_time(aqm['target'])} interval {tc_time(aqm['interval'])}"
    )


def _pie(aqm: Table, limit: int, packet: int) -> str:
    return (
        f"pie limit {limit} target {tc_time(aqm['delay_ref'])} "
        f"tupdate {tc_time(aqm['t_update'])} {_sixteenths(aqm)}"
    )


def _fq_pie(aqm: Table, limit: int, packet: int) -> str:
    return (
        f"fq_pie limit {limit} flows {aqm['queues']} target {tc_time(aqm['target'])} "
        f"tupdate {tc_time(aqm['t_update'])} {_sixteenths(aqm)} "
        f"quantum {_bytes(aqm['quantum'])}"
    )


def _sixteenths(aqm: Table) -> str:
    return " ".join(f"{name} {round(_gain(aqm[name], PIE_STEP))}" for name in ("alpha", "beta"))


def _dualpi2(aqm: Table, limit: int, packet: int) -> str:
    gains = " ".join(
        f"{name} {float(aqm[name].removesuffix('/s')):.6g}" for name in ("alpha", "beta")
    )
    return (
        f"dualpi2 limit {limit} target {tc_time(aqm['target'])} "
        f"tupdate {tc_time(aqm['t_update'])} {gains}"
    )


def _red(aqm: Table, limit: int, packet: int) -> str:
    low, high = (packet * packets(aqm[name]) for name in ("min_th", "max_th"))
    return (
        f"red limit {limit * packet} min {low} max {high} avpkt {packet} "
        f"burst {red_burst(packets(aqm['min_th']), packets(aqm['max_th']))} "
        f"probability {aqm['max_p']}"
    )


def _choke(aqm: Table, limit: int, packet: int) -> str:
    low, high = (packets(aqm[name]) for name in ("min_th", "max_th"))
    return (
        f"choke limit {limit} min {low} max {high} burst {red_burst(low, high)} "
        f"probability {aqm['max_p']}"
    )


def _sfb(aqm: Table, limit: int, packet: int) -> str:
    return f"sfb limit {limit} target {packets(aqm['bin_size'])} max {packets(aqm['max'])}"


def _cake(aqm: Table, limit: int, packet: int) -> str:
    return f"cake rtt {tc_time(aqm['rtt'])} besteffort flows"


_WRITERS: Mapping[str, Callable[[Table, int, int], str]] = {
    "cake": _cake,
    "choke": _choke,
    "codel": _codel,
    "dualpi2": _dualpi2,
    "fq_codel": _fq_codel,
    "fq_pie": _fq_pie,
    "pie": _pie,
    "red": _red,
    "sfb": _sfb,
}

#: Words of qdiscs without ECN and with it. dualpi2, cake and sfb always mark ECN-capable packets.
_ECN = {
    **dict.fromkeys(("codel", "fq_codel", "pie", "fq_pie"), (" noecn", " ecn")),
    **dict.fromkeys(("red", "choke"), ("", " ecn")),
}

#: AQMs that need the rate of the link, as a tc option of their own.
_NEED_RATE = ("red", "choke")


def tc_commands(
    aqm: Table,
    limit: int,
    packet: int,
    rate: float,
    device: str = "eth0",
    *,
    ecn: bool = False,
) -> tuple[str, ...] | None:
    """The commands for a device that sends faster than ``rate`` (bit/s): a shaper, and the AQM
    below it. ``limit`` is the buffer in packets of ``packet`` bytes; with ``ecn`` ECN-capable
    packets are marked. None where Linux lacks the
    AQM."""
    name = aqm["name"]
    if name == "droptail":
        below = f"pfifo limit {limit}"
    elif name in _WRITERS:
        below = _WRITERS[name](aqm, limit, packet) + _ECN.get(name, ("", ""))[ecn]
    else:
        return None
    speed = f"{rate:.0f}bit"
    if name == "cake":
        return (f"tc qdisc replace dev {device} root {below} bandwidth {speed}",)
    if name in _NEED_RATE:
        below += f" bandwidth {speed}"
    # The bucket holds a packet and what the link sends in a tick of a millisecond.
    burst = math.ceil(max(2 * packet, rate / 8 / 1000))
    return (
        f"tc qdisc replace dev {device} root handle 1: htb default 1",
        f"tc class replace dev {device} parent 1: classid 1:1 htb rate {speed} burst {burst} "
        f"cburst {burst}",
        f"tc qdisc replace dev {device} parent 1:1 handle 10: {below}",
    )


def red_burst(low: int, high: int) -> int:
    """tc's burst for thresholds in packets: (2 min + max) / 3, as tc-red(8) advises."""
    return math.ceil((2 * low + high) / 3)


def red_weight(low: int, high: int) -> float:
    """The weight of RED's average that tc sets for that burst: the largest power of 1/2, W, for
    which a burst of so many packets does not bring the average to ``low`` (tc-red(8), burst)."""
    burst = red_burst(low, high)
    room = max(burst + 1 - low, 1)
    weight = 0.5
    while room > (1 - (1 - weight) ** burst) / weight:
        weight /= 2
    return weight


def packets(text: str) -> int:
    """A number of packets of a scenario."""
    return round(float(text.split()[0]))


def _bytes(text: str) -> int:
    return int(Size.parse(text).base)
