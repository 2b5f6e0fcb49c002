"""Checks that the live network had the rates and delays of the scenario.

If the link releases packets half a packet time late or more, it delivers bursts, to which TCP and
AQM react. What they can have changed is weighed (:mod:`marqueue.live.lateness`); if it is not small
or cannot be told, the result is invalid. It is also invalid if ECN marks or packets were lost
outside the queues of the scenario.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marqueue.live.lateness import Effect

MAX_RELEASE_ERROR = 0.5
"""The highest 99th percentile of the release error that is not weighed, in packet times."""


def invalid_reasons(audit: Mapping[str, Any], packet_time: float | None) -> list[str]:
    """The reasons why the result is invalid, a sentence each."""
    return [
        *_late(audit, packet_time),
        *_packets_late(audit.get("packets")),
        *_paced_late(audit.get("paced")),
        *_lost(audit),
        *_marks(audit),
    ]


def _packets_late(packets: Mapping[str, Any] | None) -> list[str]:
    if packets is None or packets["late"] <= packets["gap"]:
        return []
    return [
        f"The 99th percentile of the lateness of packets without control is "
        f"{packets['late'] * 1e6:.1f} us, expected at most the time between two of a flow "
        f"({packets['gap'] * 1e6:.1f} us): they were sent in bursts."
    ]


def _paced_late(paced: Mapping[str, Any] | None) -> list[str]:
    if paced is None or paced["late"] <= 1:
        return []
    return [
        f"The 99th percentile of the lateness of paced packets is {paced['late']:.2f} times the "
        "time between two of their flow, expected at most 1: they were sent in bursts."
    ]


def remarks(audit: Mapping[str, Any], packet_time: float | None) -> list[str]:
    """What readers of a valid result must know, a sentence each: by how much lateness can have
    changed it."""
    late, effect = _lateness(audit, packet_time), Effect.of(audit)
    if late is None or effect is None or not effect.is_small:
        return []
    return [f"{late} {effect.in_words()}"]


def _late(audit: Mapping[str, Any], packet_time: float | None) -> list[str]:
    late, effect = _lateness(audit, packet_time), Effect.of(audit)
    if late is None or (effect is not None and effect.is_small):
        return []
    return [late if effect is None else f"{late} {effect.in_words()}"]


def _lateness(audit: Mapping[str, Any], packet_time: float | None) -> str | None:
    """How late packets left, a sentence; None if they were in time."""
    error = audit["release_error"]
    if (
        packet_time is None
        or not error["packets"]
        or error["p99"] <= MAX_RELEASE_ERROR * packet_time
    ):
        return None
    return (
        f"The 99th percentile of the release error is {error['p99'] * 1e6:.1f} us, expected at "
        f"most half a packet time ({MAX_RELEASE_ERROR * packet_time * 1e6:.1f} us): the machine "
        f"did not keep up{_who_was_it(audit)}."
    )


def _who_was_it(audit: Mapping[str, Any]) -> str:
    """Who had the processor while the link's thread was ready, in parentheses; empty if Linux does
    not report it."""
    waited = audit.get("waited")
    if waited is None:
        return ""
    others = [
        f"{what} {audit[name] * 1e3:.1f} ms"
        for name, what in (
            ("stolen", "the hypervisor took, of all processors,"),
            ("throttled", "a CPU quota stopped this process for"),
        )
        if audit.get(name)
    ]
    ready = f"its thread was ready and had no processor for {waited * 1e3:.1f} ms"
    return f" ({'; '.join([ready, *others])})"


def _lost(audit: Mapping[str, Any]) -> list[str]:
    out = []
    for end in ("near", "far"):
        counts = audit[end]
        if counts["no_memory"]:
            out.append(f"{counts['no_memory']} packets were lost at the {end} end: out of memory.")
        if counts.get("tun_drops"):
            out.append(
                f"{counts['tun_drops']} packets were lost before the link, in the TUN device of "
                f"the {end} end: they arrived faster than the link read them. Those that the link "
                "was to cut into segments count as one."
            )
        if counts.get("backlog_drops"):
            out.append(
                f"{counts['backlog_drops']} packets were lost after the link, at the {end} end: "
                "more waited to be handled than net.core.netdev_max_backlog allows."
            )
        if counts.get("no_room"):
            out.append(
                f"{counts['no_room']} UDP packets were lost after the link, at the {end} end: "
                "they arrived faster than the receiver read them."
            )
        if counts.get("bad_checksums"):
            out.append(f"{counts['bad_checksums']} packets had a wrong checksum at the {end} end.")
    return out


def _marks(audit: Mapping[str, Any]) -> list[str]:
    return [
        f"{counts['ce_sent']} packets left the link with CE at the {end} end, but "
        f"{counts['ce_received']} arrived with CE."
        for end, counts in ((end, audit[end]) for end in ("near", "far"))
        if counts.get("ce_received") not in (None, counts["ce_sent"])
    ]


def audit_summary(audit: Mapping[str, Any]) -> str:
    """The number of packets and the release error, as a sentence."""
    error = audit["release_error"]
    if not error["packets"]:
        return "No packet crossed the link."
    p50, p99, largest = (error[q] * 1e6 for q in ("p50", "p99", "max"))
    lost = sum(audit[end].get("tun_drops", 0) for end in ("near", "far"))
    before = f" and {lost} lost before the link" if lost else ""
    text = (
        f"{error['packets']} packets{before}; release error p50 {p50:.1f} us, p99 {p99:.1f} us, "
        f"largest {largest:.0f} us"
    )
    if (own := audit.get("isolated")) is not None:
        return f"{text}; on processor {own}, which it had for itself."
    return text + ("." if audit["realtime"] else "; without real-time priority.")
