"""Sender and receiver of finite and constant-rate flows: a program run in each namespace.

The file is run by its path and imports nothing of marqueue, so that it starts quickly. It reads a
task (a line of JSON), prints "ready", reads the start time of the run on the monotonic clock, and
prints its measurements as JSON at the end.
"""

import contextlib
import heapq
import json
import os
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
PRIORITY = 40
"""Real-time priority of constant-rate senders: below that of the link."""
#: Offsets of tcpi_total_retrans and tcpi_data_segs_out in struct tcp_info (linux/tcp.h).
RETRANSMITTED, SENT = 100, 156


class Transfer:
    """A TCP connection that carries a given number of bytes. It ends when the receiver closes
    it."""

    def __init__(self, flow: dict[str, Any], now: float) -> None:
        self.left: int = flow["bytes"]
        self.start, self.end = now, None
        self.sent = self.retransmitted = 0
        self.socket = _socket(flow, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, flow["law"].encode())
        # The last, partly filled packet must not wait for more data (Nagle).
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.socket.connect_ex((flow["far"], flow["to"]))

    def write(self) -> bool:
        """Sends as much as the socket takes. Returns whether data are left."""
        try:
            while self.left:
                self.left -= self.socket.send(bytes(min(self.left, PIECE)))
        except BlockingIOError:
            return True
        self.socket.shutdown(socket.SHUT_WR)
        return False

    def count_segments(self) -> None:
        """Reads the numbers of sent and retransmitted segments."""
        info = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SENT + 4)
        if len(info) == SENT + 4:
            [self.retransmitted] = struct.unpack_from("I", info, RETRANSMITTED)
            [self.sent] = struct.unpack_from("I", info, SENT)

    def record(self) -> list[Any]:
        """Start and end, s, segments sent, and segments retransmitted."""
        return [self.start, self.end, self.sent, self.retransmitted]


def family(address: str) -> socket.AddressFamily:
    """The address family: IPv4 or IPv6."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _socket(flow: dict[str, Any], kind: socket.SocketKind) -> socket.socket:
    made = socket.socket(family(flow["near"]), kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if made.family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, flow["dscp"] << 2)
    else:
        made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, flow["dscp"] << 2)
    made.bind((flow["near"], flow["port"]))
    return made


def transfers(task: dict[str, Any], epoch: float) -> dict[int, Any]:
    """Starts each flow at its time. Returns the record of each flow by its port."""
    waiting = sorted(task["flows"], key=lambda flow: flow["start"], reverse=True)
    begun: dict[int, Transfer] = {}
    with selectors.DefaultSelector() as selector:
        while (now := time.monotonic() - epoch) < task["duration"]:
            while waiting and waiting[-1]["start"] <= now:
                flow = waiting.pop()
                begun[flow["port"]] = one = Transfer(flow, time.monotonic() - epoch)
                selector.register(one.socket, selectors.EVENT_WRITE, one)
            until = min(waiting[-1]["start"] if waiting else now + 1, task["duration"])
            for key, events in selector.select(max(until - now, 0)):
                one = key.data
                try:
                    if events & selectors.EVENT_WRITE and not one.write():
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


def constant(task: dict[str, Any], epoch: float) -> dict[str, Any]:
    """Sends packets at constant intervals. Returns the record of each flow by its port, and the
    99th percentile of the lateness, s."""
    # Real-time priority is optional: without it packets may be late, which the audit reports.
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    flows = {flow["port"]: flow for flow in task["flows"]}
    sockets = {port: _socket(flow, socket.SOCK_DGRAM) for port, flow in flows.items()}
    sent, late = dict.fromkeys(flows, 0), []
    agenda = [(flow["start"], port) for port, flow in flows.items()]
    heapq.heapify(agenda)
    while agenda:
        due, port = heapq.heappop(agenda)
        flow = flows[port]
        if due >= flow["stop"]:
            continue
        time.sleep(max(due + epoch - time.monotonic(), 0))
        late.append(time.monotonic() - epoch - due)
        sockets[port].sendto(bytes(flow["bytes"]), (flow["far"], flow["to"]))
        sent[port] += 1
        at = flow["start"] + sent[port] * flow["gap"]
        heapq.heappush(agenda, (at, port))
    late.sort()
    return {
        "flows": {port: [flow["start"], None, sent[port], 0] for port, flow in flows.items()},
        "late": late[len(late) * 99 // 100] if late else None,
    }


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
        selector.register(one, selectors.EVENT_READ, "connections" if law else "packets")
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
                elif key.data == "packets":
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
    """Runs the role given by the first argument: transfers, constant or receive."""
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
        report = {"transfers": transfers, "constant": constant}[role](task, epoch)
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
