"""Plays a script against the sender of the simulator."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass

from marqueue import _core
from marqueue.conformance.packetdrill.assertions import Evaluator, Failed, Value
from marqueue.conformance.packetdrill.calls import Effect, effect_of
from marqueue.conformance.packetdrill.script import (
    Assertions,
    Call,
    Command,
    NotModelled,
    Packet,
    Script,
    When,
)
from marqueue.conformance.packetdrill.segments import Segments
from marqueue.conformance.packetdrill.settings import Settings

NS = 1_000_000_000
ENDLESS = 0x7FFFFFFF
"""ssthresh before the first loss in tcp_info."""

FIRST_COUNT = 5
"""r.cep before any mark (RFC 9768, section 3.2.1)."""
MARKED_SYN_ACK = 0b110
"""The ACK of a SYN-ACK that came with CE (RFC 9768, section 3.2.2.1)."""

OPTION = 12
"""Bytes of the option of AccECN, with one of padding."""

STATES = {"open": 0, "disorder": 1, "cwr": 2, "recovery": 3, "loss": 4}
"""tcpi_ca_state by the phase of loss recovery."""


class Mismatch(Exception):
    """What the sender does is not what the script expects: the line and both."""

    def __init__(self, line: int, expected: str, got: str) -> None:
        self.line, self.expected, self.got = line, expected, got
        super().__init__(f"expected {expected}, got {got}")


@dataclass(frozen=True)
class _Sent:
    """A segment that has left: when (ns), its bytes, and its ECN bits."""

    at: int
    start: int
    end: int
    ect: bool
    cwr: bool


class Connection:
    """One connection of a script, from its handshake to its close."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.settings = Settings()
        self.evaluator = Evaluator()
        self.now = 0
        """Time of the script, ns."""
        self.closed: int | None = None
        """The line at which the application closes: what follows is not modelled."""
        self.compared = 0
        """Number of segments and assertions compared."""
        self._previous = 0.0
        self._largest: int | None = None
        self._syn: Packet | None = None
        self._answer: Packet | None = None
        self._sender: _core.TcpSender | None = None
        self._segments = Segments(1)
        self._sent: deque[_Sent] = deque()
        self._timestamps: dict[int, int] = {}
        self._scale = 0
        self._marked = 0
        """Packets of the other end that came with CE, under AccECN."""
        self._opened = 0
        """When the SYN left that is ours, ns."""

    def play(self) -> None:
        """Plays all events up to the close.

        Raises Mismatch where the sender differs, NotModelled where the script leaves the model.
        """
        for event in self.script.events:
            if self.closed is not None:
                return
            at = self._time_of(event.when)
            match event:
                case Command():
                    self.settings.read_commands(event.line, event.source)
                case Assertions():
                    self._advance(at)
                    self._assert(event)
                case Call():
                    self._advance(at)
                    self._call(event)
                case Packet(arrives=True):
                    self._advance(at)
                    self._arrive(event)
                case Packet():
                    self._expect(event, at)

    def _time_of(self, when: When) -> int:
        """The time of an event, ns. Times follow each other by the script, not by what happened."""
        match when.kind:
            case "absolute":
                self._previous = when.earliest
            case "relative":
                self._previous += when.earliest
            case "any":
                pass
        return round(self._previous * NS)

    # The clock.

    def _advance(self, until: int) -> None:
        """Lets the timers expire that are due by then."""
        while self._sender and (due := self._sender.deadline()) is not None and due <= until:
            self._timer(due)
        self.now = max(self.now, until)

    def _timer(self, due: int) -> None:
        assert self._sender
        self.now = max(self.now, due)
        self._note(self._sender.on_timer(self.now))

    def _note(self, sent: list[tuple[int, bool, bool]]) -> None:
        for segment, ect, cwr in sent:
            start, end = self._segments.range(segment)
            self._sent.append(_Sent(self.now, start, end, ect, cwr))

    # Packets that arrive.

    def _arrive(self, packet: Packet) -> None:
        if "R" in packet.flags:
            raise NotModelled(packet.line, "resets")
        if packet.unknown_option:
            raise NotModelled(packet.line, f"TCP option {packet.unknown_option}")
        if "S" in packet.flags:
            return self._handshake(packet)
        if packet.length:
            raise NotModelled(packet.line, "data that arrives at our end")
        if "F" in packet.flags:
            self.closed = packet.line
            return None
        return self._acknowledge(packet)

    def _handshake(self, packet: Packet) -> None:
        if self._syn and (self._syn.arrives or self._answer):
            raise NotModelled(packet.line, "a second connection, or a SYN that comes again")
        if self._syn is None:
            self._syn = packet
        else:
            self._answer = packet
            self._open()
            self._acknowledge(packet)

    def _open(self) -> None:
        """Both SYNs are known: the sender begins, at the time of the one that is ours."""
        assert self._syn
        assert self._answer
        peer = self._syn if self._syn.arrives else self._answer
        size = self.settings.negotiate(self._syn, self._answer, self._largest)
        scaled = self._syn.window_scale is not None and self._answer.window_scale is not None
        self._scale = (peer.window_scale or 0) if scaled else 0
        self._segments = Segments(size)
        try:
            self._sender = _core.TcpSender("linux", json.dumps(self.settings.parameters))
        except ValueError as refused:
            raise NotModelled(peer.line, str(refused)) from None
        self._sender.start(self._opened)

    def _acknowledge(self, packet: Packet) -> None:
        if self._sender is None:
            raise NotModelled(packet.line, "an acknowledgement before the handshake")
        if packet.ack is None:
            raise NotModelled(packet.line, "a segment without an acknowledgement")
        timestamps = None
        if packet.timestamp and self.settings.parameters["timestamps"]:
            echo = self._timestamps.get(packet.timestamp[1])
            timestamps = None if echo is None else (packet.timestamp[0], echo)
        scale = 0 if "S" in packet.flags else self._scale
        window = ((packet.window or 0) << scale) // self._segments.size
        if not window:
            raise NotModelled(packet.line, "a window of less than a segment")
        self._note(
            self._sender.on_ack(
                self.now,
                self._segment(packet, packet.ack),
                [(self._segment(packet, a), self._segment(packet, b)) for a, b in packet.sack],
                timestamps,
                self._feedback(packet),
                window,
            )
        )

    def _feedback(self, packet: Packet) -> tuple[int, tuple[int, int, int] | None]:
        """What an acknowledgement says of ECN. That which opens the connection is, for the model,
        the SYN-ACK, whoever sent it."""
        assert self._sender
        assert self._answer
        self._marked += self._accurate and packet.ecn == "ce"
        if self._sender.info()["una"]:
            return packet.ace, packet.counters
        if self._accurate and packet is not self._answer:
            if packet.ace == MARKED_SYN_ACK:
                raise NotModelled(packet.line, "CE on our SYN-ACK")
            if packet.ace == 0:
                raise NotModelled(packet.line, "a path that clears the field of AccECN")
        return (self._answer.ace if "ecn" in self.settings.parameters else 0), None

    @property
    def _accurate(self) -> bool:
        return self.settings.parameters.get("ecn_feedback") == "accecn"

    def _segment(self, packet: Packet, byte: int) -> int:
        """The segment that begins at a byte."""
        found = self._segments.boundary(byte)
        if found is None:
            raise NotModelled(packet.line, f"byte {byte}, which is in the middle of a segment")
        return found

    # Packets that must leave.

    def _expect(self, packet: Packet, at: int) -> None:
        if packet.timestamp and self._sender:
            self._timestamps[packet.timestamp[0]] = self._sender.timestamp(max(self.now, at))
        if "S" in packet.flags:
            return self._expect_syn(packet, at)
        if "R" in packet.flags or "F" in packet.flags:
            raise NotModelled(packet.line, "a close by our end")
        if not packet.length:
            # The third packet of a handshake that we began.
            if self._syn and not self._syn.arrives and packet.ack == 1 and packet.start == 1:
                return None
            raise NotModelled(packet.line, "acknowledgements that our end sends")
        return self._expect_data(packet, at)

    def _expect_syn(self, packet: Packet, at: int) -> None:
        if packet.unknown_option:
            raise NotModelled(packet.line, f"TCP option {packet.unknown_option}")
        if self._answer or (self._syn and not self._syn.arrives):
            raise NotModelled(packet.line, "a SYN that is sent again")
        self.now = self._opened = max(self.now, at)
        if packet.timestamp:
            # The sender's clock has no offset.
            self._timestamps[packet.timestamp[0]] = _core.TcpSender("linux", "{}").timestamp(at)
        if self._syn is None:
            self._syn = packet
        else:
            self._answer = packet
            self._open()

    def _expect_data(self, packet: Packet, at: int) -> None:
        tolerance = round(self.script.tolerance * NS)
        latest = at if packet.when.latest is None else self._latest(packet.when, at)
        full = self._segments.size - OPTION
        if self._accurate and packet.counters is not None and packet.length >= full:
            raise NotModelled(packet.line, "the option of AccECN on our data, which takes its room")
        start, expected = packet.start, f"{packet.start}:{packet.end}({packet.length})"
        while start < packet.end:
            sent = self._next_sent(latest + tolerance)
            if sent is None:
                got = "nothing" if start == packet.start else f"only {packet.start}:{start}"
                raise Mismatch(packet.line, f"{expected} at {at / NS:.3f} s", got)
            seen = f"{sent.start}:{sent.end}({sent.end - sent.start})"
            if sent.start != start or sent.end > packet.end:
                raise Mismatch(packet.line, expected, f"{seen} at {sent.at / NS:.3f} s")
            if packet.when.kind != "any" and sent.at < at - tolerance:
                raise Mismatch(packet.line, f"{seen} at {at / NS:.3f} s", f"{sent.at / NS:.3f} s")
            self._compare_bits(packet, sent)
            start = sent.end
        self.now = max(self.now, at)
        self.compared += 1

    def _latest(self, when: When, at: int) -> int:
        """The end of the range of times, ns."""
        assert when.latest is not None
        return at + round((when.latest - when.earliest) * NS)

    def _next_sent(self, latest: int) -> _Sent | None:
        """The next segment that leaves by then, timers included."""
        while not self._sent:
            due = self._sender.deadline() if self._sender else None
            if due is None or due > latest:
                return None
            self._timer(due)
        return self._sent.popleft()

    def _compare_bits(self, packet: Packet, sent: _Sent) -> None:
        got = "ect0" if sent.ect else "noecn"
        if packet.ecn in ("ect0", "noecn") and packet.ecn != got:
            raise Mismatch(packet.line, f"[{packet.ecn}]", f"[{got}]")
        if packet.ecn == "ect1":
            raise NotModelled(packet.line, "ECT(1)")
        if self._accurate:
            own = (FIRST_COUNT + self._marked) % 8
            if packet.ace != own:
                raise Mismatch(packet.line, f"AE CWR ECE {packet.ace:03b}", f"{own:03b}")
        elif ("W" in packet.flags) != sent.cwr:
            raise Mismatch(
                packet.line,
                "CWR" if "W" in packet.flags else "no CWR",
                "CWR" if sent.cwr else "no CWR",
            )

    # The application.

    def _call(self, call: Call) -> None:
        effect = effect_of(call)
        match effect:
            case Effect(closes=True):
                self.closed = call.line
            case Effect(control=str(name)):
                self.settings.control(call.line, name)
            case Effect(largest_segment=int(size)):
                self._largest = size
            case Effect(writes=int(length)) if length:
                self._write(call, length)
            case _:
                pass

    def _write(self, call: Call, length: int) -> None:
        if self._sender is None:
            raise NotModelled(call.line, "data before the handshake (Fast Open)")
        more = self._segments.write(length, self._sender.info()["max"])
        self._note(self._sender.write(self.now, more))

    def _assert(self, block: Assertions) -> None:
        before = self.evaluator.checked
        try:
            self.evaluator.run(block, self._fields())
        except Failed as failed:
            condition, _, values = str(failed).partition(": ")
            raise Mismatch(block.line, condition, values) from None
        self.compared += self.evaluator.checked - before

    def _fields(self) -> dict[str, Value]:
        """The fields of tcp_info that the model has."""
        if self._sender is None:
            return {}
        info = self._sender.info()
        ssthresh = info["ssthresh"]
        fields: dict[str, Value] = {
            "tcpi_snd_cwnd": int(info["cwnd"]),
            "tcpi_snd_ssthresh": ENDLESS if ssthresh >= 1e5 else int(ssthresh),
            "tcpi_snd_mss": self._segments.size,
            "tcpi_unacked": info["max"] - info["una"],
            "tcpi_rtt": round(info["srtt"] * 1e6),
            "tcpi_rto": round(info["rto"] * 1e6),
        }
        if "state" in info:
            fields |= {
                "tcpi_ca_state": STATES[info["state"]],
                "tcpi_sacked": info["sacked"],
                "tcpi_lost": info["lost"],
                "tcpi_retrans": info["retransmitted"],
                "tcpi_delivered": info["una"] - 1 + info["sacked"],
            }
        if "marked" in info:
            fields |= {
                "tcpi_delivered_ce": info["marked"],
                "tcpi_delivered_ce_bytes": info["marked_bytes"],
            }
        return fields
