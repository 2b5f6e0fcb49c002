"""Senders and receiver of TCP flows with an end or pauses, and of UDP packets that nothing
controls: a program run in each namespace.

The file is run by its path and imports nothing of marqueue, so that it starts quickly. It reads a
task (a line of JSON), prints "ready", reads the start time of the run on the monotonic clock, and
prints its measurements as JSON at the end.
"""

import contextlib
import heapq
import json
import math
import os
import random
import selectors
import socket
import struct
import sys
import time
from typing import Any

PIECE = 1 << 16
ROOM = 8 << 20
"""Size of the receive buffer of UDP, bytes."""
HEADERS = {socket.AF_INET: 28, socket.AF_INET6: 48}
"""Headers of IP and UDP, bytes."""
LARGEST = 65_535
"""The largest packet, bytes."""
PRIORITY = 40
"""Real-time priority of senders of UDP packets: below that of the link."""
#: Offsets of tcpi_snd_mss, tcpi_data_segs_out and tcpi_bytes_retrans in struct tcp_info
#: (linux/tcp.h).
SEGMENT, SENT, RETRANSMITTED = 16, 156, 208


class Transfer:
    """A TCP connection that carries a given number of bytes. It ends when the receiver closes
    it."""

    def __init__(self, flow: dict[str, Any], now: float) -> None:
        self.left: float = flow["bytes"]
        """Bytes that the application has not written yet."""
        self.waiting = 0
        """Bytes written that the socket has not taken yet."""
        self.start, self.end = now, None
        self.sent = self.retransmitted = 0
        self.pieces = Pieces(flow, now)
        self.socket = _socket(flow, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, flow["law"].encode())
        # The last, partly filled packet must not wait for more data (Nagle).
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.socket.connect_ex((flow["far"], flow["to"]))

    def write(self, now: float) -> None:
        """The application writes what is due by ``now``."""
        piece = min(self.pieces.due_by(now), self.left)
        self.left -= piece
        self.waiting += int(piece)

    def send(self) -> bool:
        """Sends as much as the socket takes. Returns whether written data are left."""
        try:
            while self.waiting:
                self.waiting -= self.socket.send(bytes(min(self.waiting, PIECE)))
        except BlockingIOError:
            return True
        if not self.left:
            self.socket.shutdown(socket.SHUT_WR)
        return False

    def count_segments(self) -> None:
        """Reads the numbers of sent and retransmitted segments of data.

        The latter by their bytes: tcpi_total_retrans counts SYNs and FINs that are sent again too.
        """
        info = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, RETRANSMITTED + 8)
        if len(info) == RETRANSMITTED + 8:
            [segment] = struct.unpack_from("I", info, SEGMENT)
            [self.sent] = struct.unpack_from("I", info, SENT)
            [again] = struct.unpack_from("Q", info, RETRANSMITTED)
            self.retransmitted = math.ceil(again / segment)

    def record(self) -> list[Any]:
        """Start and end, s, segments sent, and segments retransmitted."""
        return [self.start, self.end, self.sent, self.retransmitted]


class Pieces:
    """The pieces in which an application writes its data: their bytes, and when the next is
    due."""

    def __init__(self, flow: dict[str, Any], start: float) -> None:
        self.plan, self.stop = flow.get("write"), flow["stop"]
        self.random, self.next, self.number = random.Random(flow["seed"]), start, 0

    def due_by(self, now: float) -> float:
        """The bytes of the pieces that are due by ``now`` and were not asked for before."""
        if self.plan is None:
            self.next = math.inf
            return math.inf
        total = 0
        while self.next <= now:
            first = self.plan["first"] if self.number == 0 else None
            piece = first or self.plan
            total += piece["bytes"]
            self.next += first["lasts"] if first else self._gap(self.plan)
            if self.next >= self.stop:
                self.next = math.inf
            self.number += 1
        return total

    def _gap(self, plan: dict[str, Any]) -> float:
        every: float = plan["every"]
        return self.random.expovariate(1 / every) if plan["random"] else every


class Packets:
    """UDP packets that nothing controls: when the next one is due, and its size."""

    def __init__(self, flow: dict[str, Any]) -> None:
        self.flow, self.number, self.random = flow, 0, random.Random(flow["seed"])
        self.due: float = flow["start"]
        if flow["random"]:
            self.due += self.random.expovariate(1 / flow["gap"])

    def advance(self) -> None:
        """Draws when the next packet is due."""
        self.number += 1
        if self.flow["random"]:
            self.due += self.random.expovariate(1 / self.flow["gap"])
        else:
            self.due = self.flow["start"] + self.number * self.flow["gap"]

    def payload(self) -> bytes:
        """The payload of a packet: its size on the wire is of the distribution of the flow, and at
        least that of the headers."""
        mean, sizes, headers = self.flow["wire"], self.flow["sizes"], self.flow["headers"]
        if sizes == "constant":
            return bytes(mean - headers)
        if sizes != "exponential":
            # Half of all bytes in each of two exponentials (balanced means).
            scv = sizes["hyperexponential"]["scv"]
            often = (1 + math.sqrt((scv - 1) / (scv + 1))) / 2
            mean /= 2 * (often if self.random.random() < often else 1 - often)
        size = math.ceil(self.random.expovariate(1 / mean))
        return bytes(min(max(size, headers), LARGEST) - headers)


def family(address: str) -> socket.AddressFamily:
    """The address family: IPv4 or IPv6."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _socket(flow: dict[str, Any], kind: socket.SocketKind) -> socket.socket:
    made = socket.socket(family(flow["near"]), kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if made.family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, flow["dscp"] << 2 | flow["ecn"])
    else:
        made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, flow["dscp"] << 2 | flow["ecn"])
    made.bind((flow["near"], flow["port"]))
    return made


def transfers(task: dict[str, Any], epoch: float) -> dict[int, Any]:
    """Starts each flow at its time. Returns the record of each flow by its port."""
    waiting = sorted(task["flows"], key=lambda flow: flow["start"], reverse=True)
    begun: dict[int, Transfer] = {}
    # When applications write next.
    agenda: list[tuple[float, int]] = []
    with selectors.DefaultSelector() as selector:

        def write(one: Transfer, port: int, now: float) -> None:
            one.write(now)
            if one.left and one.pieces.next < math.inf:
                heapq.heappush(agenda, (one.pieces.next, port))

        while (now := time.monotonic() - epoch) < task["duration"]:
            while waiting and waiting[-1]["start"] <= now:
                flow = waiting.pop()
                started = time.monotonic() - epoch
                begun[flow["port"]] = one = Transfer(flow, started)
                write(one, flow["port"], started)
                selector.register(one.socket, selectors.EVENT_WRITE, one)
            while agenda and agenda[0][0] <= now:
                port = heapq.heappop(agenda)[1]
                one = begun[port]
                if one.socket.fileno() >= 0:
                    write(one, port, now)
                    selector.modify(one.socket, selectors.EVENT_WRITE, one)
            until = min(
                waiting[-1]["start"] if waiting else now + 1,
                agenda[0][0] if agenda else now + 1,
                task["duration"],
            )
            for key, events in selector.select(max(until - now, 0)):
                one = key.data
                try:
                    if events & selectors.EVENT_WRITE and not one.send():
                        selector.modify(one.socket, selectors.EVENT_READ, one)
                    elif events & selectors.EVENT_READ and not one.socket.recv(1):
                        one.end = time.monotonic() - epoch
                        one.count_segments()
                except BlockingIOError:
                    continue
                except OSError:
                    # The connection was refused or reset: the flow stays without an end.
                    one.count_segments()
                    selector.unregister(one.socket)
                    one.socket.close()
                    continue
                if one.end is not None:
                    selector.unregister(one.socket)
                    one.socket.close()
    for one in begun.values():
        if one.socket.fileno() >= 0:
            one.count_segments()
    return {port: one.record() for port, one in begun.items()}


def packets(task: dict[str, Any], epoch: float) -> dict[str, Any]:
    """Sends UDP packets at their times. Returns the record of each flow by its port, and the 99th
    percentile of the lateness, s."""
    # Real-time priority is optional: without it packets may be late, which the audit reports.
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    flows = {flow["port"]: flow for flow in task["flows"]}
    sockets = {port: _socket(flow, socket.SOCK_DGRAM) for port, flow in flows.items()}
    streams = {port: Packets(flow) for port, flow in flows.items()}
    late: list[float] = []
    agenda = [(stream.due, port) for port, stream in streams.items()]
    heapq.heapify(agenda)
    while agenda:
        due, port = heapq.heappop(agenda)
        flow, stream = flows[port], streams[port]
        if due >= flow["stop"]:
            continue
        time.sleep(max(due + epoch - time.monotonic(), 0))
        late.append(time.monotonic() - epoch - due)
        sockets[port].sendto(stream.payload(), (flow["far"], flow["to"]))
        stream.advance()
        heapq.heappush(agenda, (stream.due, port))
    late.sort()
    records = {port: [flows[port]["start"], None, each.number, 0] for port, each in streams.items()}
    return {"flows": records, "late": late[len(late) * 99 // 100] if late else None}


class Counts:
    """Bytes received by source port, at each edge of the measuring windows."""

    def __init__(self, edges: list[float]) -> None:
        self.edges, self.bytes, self.seen = edges, dict[int, int](), list[dict[int, int]]()

    def close_windows(self, now: float) -> None:
        """Closes the windows that ended before ``now``, s."""
        while len(self.seen) < len(self.edges) and self.edges[len(self.seen)] <= now:
            self.seen.append(dict(self.bytes))

    def add(self, port: int, number: int) -> None:
        """Counts received bytes of a port."""
        self.bytes[port] = self.bytes.get(port, 0) + number

    def at_edges(self) -> dict[int, list[int]]:
        """The count of each port at each edge."""
        self.close_windows(self.edges[-1])
        return {port: [each.get(port, 0) for each in self.seen] for port in self.bytes}


def listen(task: dict[str, Any]) -> selectors.BaseSelector:
    """The listen TCP sockets and bound UDP sockets of the receiver."""
    selector = selectors.DefaultSelector()
    for address, law in task["hosts"]:
        kind = socket.SOCK_STREAM if law else socket.SOCK_DGRAM
        one = socket.socket(family(address), kind)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((address, task["to"]))
        one.setblocking(False)
        if law:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, law.encode())
            one.listen(4096)
        else:
            one.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_RCVBUFFORCE", 33), ROOM)
        selector.register(one, selectors.EVENT_READ, "connections" if law else "datagrams")
    return selector


def receive(task: dict[str, Any], epoch: float, selector: selectors.BaseSelector) -> Any:
    """Receives all flows until the last edge, and counts their bytes."""
    counts, last = Counts(task["edges"]), task["edges"][-1]
    while (now := time.monotonic() - epoch) < last:
        counts.close_windows(now)
        left = task["edges"][len(counts.seen)] - now
        for key, _ in selector.select(max(left, 0)):
            one = key.fileobj
            assert isinstance(one, socket.socket)
            try:
                if key.data == "connections":
                    made, place = one.accept()
                    made.setblocking(False)
                    selector.register(made, selectors.EVENT_READ, place[1])
                elif key.data == "datagrams":
                    data, place = one.recvfrom(PIECE)
                    counts.add(place[1], len(data) + HEADERS[one.family])
                elif data := one.recv(PIECE):
                    counts.add(key.data, len(data))
                else:
                    selector.unregister(one)
                    one.close()
            except BlockingIOError:
                continue
            except OSError:
                selector.unregister(one)
                one.close()
    return counts.at_edges()


def main() -> None:
    """Runs the role given by the first argument: transfers, packets or receive."""
    role = sys.argv[1]
    task = json.loads(sys.stdin.readline())
    selector = listen(task) if role == "receive" else None
    print("ready", flush=True)
    line = sys.stdin.readline()
    if not line:
        return
    epoch = float(line)
    if selector:
        report = receive(task, epoch, selector)
    else:
        report = {"transfers": transfers, "packets": packets}[role](task, epoch)
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
