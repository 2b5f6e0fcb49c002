"""From a script's sysctls and its handshake to the parameters of our sender."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from marqueue.conformance.packetdrill.script import NotModelled, Packet

TIMESTAMPS_BYTES = 12
"""What timestamps take from each segment (RFC 7323, appendix A)."""

SYSCTL = re.compile(r"net[./]ipv4[./]tcp_(\w+)\s*=\s*\"?([^\s\"`]+)")

FAIR_QUEUE = re.compile(r"\btc qdisc \w+ dev tun0 root fq\b")
"""The qdisc that paces what leaves."""

CLASSIC, ACCURATE = 0b011, 0b111
"""AE, CWR and ECE of a SYN that asks for ECN (RFC 3168) or for AccECN (RFC 9768)."""
ACCURATE_ANSWERS = range(0b010, 0b111)
"""Those of a SYN-ACK that agrees to AccECN (RFC 9768, section 3.1.2)."""

CONTROLS = {"cubic": "cubic", "reno": "reno", "dctcp": "dctcp", "bbr": "bbr"}
"""The congestion controls of Linux by our names."""


@dataclass
class Settings:
    """Parameters that differ from preset ``linux``, and what could not be translated."""

    parameters: dict[str, object] = field(default_factory=lambda: {"after_idle": "keep"})
    ignored: list[str] = field(default_factory=list)
    """Sysctls whose effect the model has not, as ``name=value``."""

    def read_commands(self, line: int, source: str) -> None:
        """Reads the sysctls in a block of shell commands, of which nothing is executed.

        Raises NotModelled for sysctls that ask for what the model has not.
        """
        if FAIR_QUEUE.search(source):
            self.parameters |= {"pacing": "window", "pacing_burst": 44.0}
        for name, value in SYSCTL.findall(source):
            self._sysctl(line, name, value)

    def _sysctl(self, line: int, name: str, value: str) -> None:
        match name, value:
            case "congestion_control", _:
                self.control(line, value)
            case "slow_start_after_idle", "0" | "1":
                self.parameters["after_idle"] = "keep" if value == "0" else "decay"
            case ("early_retrans", "0") | ("recovery", "0"):
                self.ignored.append(f"tcp_{name}={value}")
            case "syncookies", "2":
                raise NotModelled(line, "SYN cookies")
            case "fastopen_blackhole_timeout_sec" | "mtu_probing", "1" | "2":
                raise NotModelled(line, f"tcp_{name}={value}")
            case _:
                pass

    def control(self, line: int, name: str) -> None:
        """Takes a congestion control by Linux's name. Raises NotModelled for others."""
        if name not in CONTROLS:
            raise NotModelled(line, f"congestion control {name}")
        self.parameters["control"] = CONTROLS[name]

    def negotiate(self, syn: Packet, answer: Packet, largest: int | None) -> int:
        """Takes what both ends agree on; ``largest`` is TCP_MAXSEG. Returns the bytes of a segment.

        Source: RFC 9293, 3.7.1; RFC 2018, 2; RFC 7323, 3.2; RFC 3168, 6.1.1; RFC 9768, 3.1.
        """
        sizes = [p.mss if p.mss is not None else 536 for p in (syn, answer)]
        timestamps = syn.timestamp is not None and answer.timestamp is not None
        segment = min([*sizes, *([largest] if largest else [])])
        segment -= TIMESTAMPS_BYTES if timestamps else 0
        self.parameters |= {"timestamps": timestamps, "segment": float(segment)}
        if not (syn.sack_permitted and answer.sack_permitted):
            self.parameters |= {
                "recovery": "newreno",
                "loss_detection": "dupack",
                "reduction": "cut",
                "ecn_reduction": "cut",
                "dsack": False,
            }
        if syn.ace == ACCURATE and answer.ace in ACCURATE_ANSWERS:
            self.parameters |= {"ecn": True, "ecn_feedback": "accecn"}
        elif syn.ace & CLASSIC == CLASSIC and answer.ace == 0b001:
            self.parameters["ecn"] = True
        return segment
