"""Packets that leave at the same moment are written together, but for those with CE: real packets
through a link, as they arrive behind it."""

import socket
import subprocess
import sys
from pathlib import Path

from conftest import COMMAND
from live_requirements import needs_links

BYTES, SEGMENTS, BURSTS = 100, 10, 20
ECT0, CE = 2, 3
MARKED = (4, 5, 9)
"""The packets of each burst that are marked, from 1."""
PROGRAM = f"""
import marqueue
from marqueue import MARK, PASS

@marqueue.aqm
class Some:
    \"\"\"Marks the same packets of each burst.\"\"\"

    seen = 0

    def on_departure(self, packet, queue, now):
        if packet.size != {BYTES} + 28:
            return PASS
        self.seen += 1
        return MARK if (self.seen - 1) % {SEGMENTS} + 1 in {MARKED} else PASS
"""
SEND = f"""
import os, socket
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, {ECT0})
# UDP_SEGMENT: Linux hands them over uncut.
out.setsockopt(socket.IPPROTO_UDP, 103, {BYTES})
print("on", flush=True)
for burst in range({BURSTS}):
    to = os.environ["MARQUEUE_OUTSIDE"], int(input())
    out.sendto(b"".join(bytes([burst, n]) * ({BYTES} // 2) for n in range({SEGMENTS})), to)
"""


EXPECTED = [(ECT0, 3), (CE, 1), (CE, 1), (ECT0, 3), (CE, 1), (ECT0, 1)]
"""How a burst arrives: ECN field and number of packets of what is written together."""


def captured(packets: socket.socket, port: int) -> tuple[int, bytes]:
    """ECN field and payload of what the link writes next for a UDP port."""
    while True:
        packet = packets.recv(65_535)
        # IPv4 without options, UDP.
        if packet[0] == 0x45 and packet[9] == 17 and packet[22:24] == port.to_bytes(2):
            return packet[1] & 3, packet[28:]


@needs_links
def test_packets_with_ce_leave_singly_between_others_that_are_joined(tmp_path: Path):
    """A burst is read at once, and all of it is due before any is written: at 1000 Gbit/s."""
    (tmp_path / "some.py").write_text(PROGRAM)
    options = ["--buffer", "100 packets", "--rate", "1000 Gbit/s", "--aqm", "python:some.py:Some"]
    command = [*COMMAND, "link", *options, "--", sys.executable, "-c", SEND]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as packets,
        subprocess.Popen(command, **pipes, text=True, cwd=tmp_path) as link,
    ):
        assert link.stdin
        assert link.stdout
        receiver.bind(("0.0.0.0", 0))
        port = receiver.getsockname()[1]
        assert link.stdout.readline() == "on\n"
        packets.bind((f"mq-{link.pid}", 0x0800))
        packets.settimeout(20)
        for burst in range(BURSTS):
            link.stdin.write(f"{port}\n")
            link.stdin.flush()
            written = [captured(packets, port) for _ in EXPECTED]
            assert [(ecn, len(payload) // BYTES) for ecn, payload in written] == EXPECTED
            sent = b"".join(bytes([burst, n]) * (BYTES // 2) for n in range(SEGMENTS))
            assert b"".join(payload for _, payload in written) == sent
        link.stdin.close()
        assert link.wait() == 0
