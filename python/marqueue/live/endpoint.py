"""Flows that end, and flows of constant rate: a program for each side, run in its namespace.

It is run by its path, with nothing of marqueue imported, so that it is ready in a moment. It reads
its task, a line of JSON, says "ready", reads at what time of the monotonic clock the run begins,
and when that is over tells what it saw as JSON.
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
"""Bytes that may wait at a receiver of UDP."""
HEADERS = {socket.AF_INET: 28, socket.AF_INET6: 48}
"""Of IP and UDP, bytes."""
PRIORITY = 40
"""Real-time priority of constant rates: below that of the link, which is to see them in time."""
#: struct tcp_info (linux/tcp.h): tcpi_total_retrans, and tcpi_data_segs_out.
RETRANSMITTED, SENT = 100, 156


class Transfer:
    """A TCP connection that carries so many bytes; it is over when the receiver has closed it."""

    def __init__(self, flow: dict[str, Any], now: float) -> None:
        self.left: int = flow["bytes"]
        self.start, self.end = now, None
        self.sent = self.retransmitted = 0
        self.socket = _socket(flow, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, flow["law"].encode())
        # What does not fill the last packet is not to wait.
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.socket.connect_ex((flow["far"], flow["to"]))

    def write(self) -> bool:
        """Sends what there is room for; is anything left?"""
        try:
            while self.left:
                self.left -= self.socket.send(bytes(min(self.left, PIECE)))
        except BlockingIOError:
            return True
        self.socket.shutdown(socket.SHUT_WR)
        return False

    def look(self) -> None:
        """Counts its segments."""
        info = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SENT + 4)
        if len(info) == SENT + 4:
            [self.retransmitted] = struct.unpack_from("I", info, RETRANSMITTED)
            [self.sent] = struct.unpack_from("I", info, SENT)

    def told(self) -> list[Any]:
        """When it began and ended, s, and its segments."""
        return [self.start, self.end, self.sent, self.retransmitted]


def family(address: str) -> socket.AddressFamily:
    """IPv4 or IPv6."""
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
    """Begins each flow at its time; by port what became of it."""
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
                        one.look()
                except BlockingIOError:
                    continue
                except OSError:
                    # Nobody answered, or it was reset: it has not ended well.
                    one.look()
                    selector.unregister(one.socket)
                    one.socket.close()
                    continue
                if one.end is not None:
                    selector.unregister(one.socket)
                    one.socket.close()
    for one in begun.values():
        if one.socket.fileno() >= 0:
            one.look()
    return {port: one.told() for port, one in begun.items()}


def constant(task: dict[str, Any], epoch: float) -> dict[str, Any]:
    """Sends packets at even distances; by port how many and since when, and how late they were."""
    # Without it they may be late, which is counted.
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
    """Bytes by the port that they came from, as of each edge of the measuring windows."""

    def __init__(self, edges: list[float]) -> None:
        self.edges, self.bytes, self.seen = edges, dict[int, int](), list[dict[int, int]]()

    def until(self, now: float) -> None:
        """Closes the windows that have ended."""
        while len(self.seen) < len(self.edges) and self.edges[len(self.seen)] <= now:
            self.seen.append(dict(self.bytes))

    def add(self, port: int, number: int) -> None:
        """Some bytes came."""
        self.bytes[port] = self.bytes.get(port, 0) + number

    def told(self) -> dict[int, list[int]]:
        """Of each port its count at each edge."""
        self.until(self.edges[-1])
        return {port: [each.get(port, 0) for each in self.seen] for port in self.bytes}


def listening(task: dict[str, Any]) -> selectors.BaseSelector:
    """Sockets that wait for connections and packets."""
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
    """Counts what comes."""
    counts, last = Counts(task["edges"]), task["edges"][-1]
    while (now := time.monotonic() - epoch) < last:
        counts.until(now)
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
    return counts.told()


def main() -> None:
    """What the first argument says: transfers, constant, receive."""
    role = sys.argv[1]
    task = json.loads(sys.stdin.readline())
    selector = listening(task) if role == "receive" else None
    print("ready", flush=True)
    line = sys.stdin.readline()
    if not line:
        return
    epoch = float(line)
    if selector:
        told = receive(task, epoch, selector)
    else:
        told = {"transfers": transfers, "constant": constant}[role](task, epoch)
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
