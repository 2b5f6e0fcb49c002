"""The wireless LAN of section 4.4.5: an access network of 802.11g behind a wired link."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from marqueue.evaluation.tcpeval.network import MBIT, PACKET, Central
from marqueue.evaluation.transports import Table

PHY_RATE = 54.0
"""Peak rate of 802.11g, Mbit/s, which the draft names."""
OVERHEAD = 36
"""Bytes of a frame beside the packet: header 24, LLC/SNAP 8, FCS 4 (IEEE 802.11-2020, 9.3.2.1)."""
SYMBOL = 4e-6
PREAMBLE, SIFS, ACK, DIFS, SLOT, CW_MIN = 20e-6, 16e-6, 28e-6, 28e-6, 9e-6, 15
"""Times of the extended-rate PHY with OFDM, s, and the largest first backoff in slots (IEEE
802.11-2020, 17.4.4 and 18.3). SIFS has the 6 us of the signal extension; the acknowledgement has 14
bytes at 24 Mbit/s."""

WIRELESS = (
    "Wired links of 100 Mbit/s, 2 ms and buffers of 100 ms to a base station, and 802.11g behind "
    "it: single frames at 54 Mbit/s, which wait for other stations before each access so long that "
    "full packets have 6 Mbit/s, the nominal rate of the draft. The two directions do not contend "
    "with each other; their loads add up to the load."
)


def contention(rate: float) -> float:
    """The mean time for which others hold the medium before an access, s, that leaves full packets
    ``rate`` Mbit/s: what an access takes without it is missing to that rate."""
    bits = 8 * 4 * ceil((PACKET + OVERHEAD) / 4)
    frame = PREAMBLE + ceil(bits / (PHY_RATE * MBIT) / SYMBOL) * SYMBOL
    return 8 * PACKET / (rate * MBIT) - (frame + SIFS + ACK + DIFS + SLOT * CW_MIN / 2)


@dataclass(frozen=True)
class WirelessLan(Central):
    """A central link whose two ends are a base station, at which the wired link of 100 Mbit/s
    begins, and the stations. The rate is that of full packets on the medium."""

    def links(self) -> list[Table]:
        """Both directions of the medium and of the wire."""
        medium = {
            "model": "wifi", "max_mpdus": "1 packet", "mpdu_overhead": f"{OVERHEAD} B",
            "preamble": _time(PREAMBLE), "sifs": _time(SIFS), "block_ack": _time(ACK),
            "aifs": _time(DIFS), "slot": _time(SLOT), "cw_min": CW_MIN,
            "contention": _time(contention(self.rate)),
        }  # fmt: skip
        ends = {"bottleneck": ("base", "left"), "back": ("left", "base")}
        air = [
            {
                **link, "from": ends[link["name"]][0], "to": ends[link["name"]][1],
                "rate": f"{PHY_RATE:g} Mbit/s", "medium": medium,
            }
            for link in super().links()
        ]  # fmt: skip
        ends = {"bottleneck": ("right", "base"), "back": ("base", "right")}
        wired = [
            {
                **link, "name": f"wire {link['name']}",
                "from": ends[link["name"]][0], "to": ends[link["name"]][1],
            }
            for link in Central(100.0, 2.0, 100.0).links()
        ]  # fmt: skip
        return [*air, *wired]


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.6g} us"
