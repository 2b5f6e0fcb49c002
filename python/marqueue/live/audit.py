"""Was it the network that was asked for? What makes a live result invalid, and why.

A link that releases packets half a packet time too late or more is not the link of the scenario:
it delivers in bunches, to which TCP and AQM react. Marks that nobody received, and packets lost
where no queue lost them, make its figures those of something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LATEST = 0.5
"""The largest 99th percentile of the release error, in packet times."""


def complaints(audit: Mapping[str, Any], packet_time: float | None) -> list[str]:
    """What makes the result invalid, a sentence each."""
    return [
        *_late(audit["release_error"], packet_time),
        *_uneven(audit.get("constant")),
        *_lost(audit),
        *_marks(audit),
    ]


def _uneven(constant: Mapping[str, Any] | None) -> list[str]:
    if constant is None or constant["late"] <= constant["gap"]:
        return []
    return [
        f"The 99th percentile by which packets of constant rate were late is "
        f"{constant['late'] * 1e6:.1f} us, expected at most the time between two "
        f"({constant['gap'] * 1e6:.1f} us): they came in bunches."
    ]


def _late(error: Mapping[str, Any], packet_time: float | None) -> list[str]:
    if packet_time is None or not error["packets"] or error["p99"] <= LATEST * packet_time:
        return []
    return [
        f"The 99th percentile of the release error is {error['p99'] * 1e6:.1f} us, expected at "
        f"most half a packet time ({LATEST * packet_time * 1e6:.1f} us): the machine did not keep "
        "up."
    ]


def _lost(audit: Mapping[str, Any]) -> list[str]:
    out = []
    for end in ("near", "far"):
        counts = audit[end]
        if counts["no_memory"]:
            out.append(
                f"{counts['no_memory']} packets were lost at the {end} end for want of memory."
            )
        if counts.get("tun_drops"):
            out.append(
                f"{counts['tun_drops']} packets were lost before the link, in the TUN device of "
                f"the {end} end: they came faster than they were read."
            )
        if counts.get("no_room"):
            out.append(
                f"{counts['no_room']} packets of UDP were lost behind the link, at the {end} end: "
                "they came faster than they were read."
            )
        if counts.get("bad_checksums"):
            out.append(f"{counts['bad_checksums']} packets had a wrong checksum at the {end} end.")
    return out


def _marks(audit: Mapping[str, Any]) -> list[str]:
    return [
        f"{counts['ce_sent']} packets left the link with CE at the {end} end, but "
        f"{counts['ce_received']} were received."
        for end, counts in ((end, audit[end]) for end in ("near", "far"))
        if counts.get("ce_received") not in (None, counts["ce_sent"])
    ]


def in_words(audit: Mapping[str, Any]) -> str:
    """How many packets there were, and the release error, in a sentence."""
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
    return text + ("." if audit["realtime"] else "; without real-time priority.")
