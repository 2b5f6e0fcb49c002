"""Random and mutated frames through a link: all are counted, whatever becomes of them.

``MARQUEUE_FRAMES`` is the number of frames (``make frames`` for millions). Needs root; skipped
where the machine lacks something.
"""

import json
import os
import sys
from pathlib import Path

import pytest

from live_requirements import needs_links

FRAMES = int(os.environ.get("MARQUEUE_FRAMES", "5000"))

SEND = """
import random, socket, struct, sys
draw = random.Random(7)
out = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
udp4 = bytes([0x45, 2, 0, 76]) + bytes(5) + b"\\x11" + bytes(2) + bytes([100, 64, 0, 2]) * 2
udp4 += struct.pack(">HHHH", 9, 9, 56, 0) + b"MQD\\1" + bytes(44)
udp6 = bytes([0x60, 0x20, 0, 0, 0, 56, 17, 64]) + bytes(32) + udp4[20:]
seeds = udp4, udp6, udp4[:20] + bytes(20)
kinds = 0x0800, 0x86DD, 0x0806, 0x88B5
sent = 0
while sent < int(sys.argv[1]):
    if draw.random() < 0.25:
        frame = draw.randbytes(draw.randrange(1, 1500))
    else:
        frame = bytearray(draw.choice(seeds))
        for _ in range(draw.randrange(4)):
            frame[draw.randrange(len(frame))] = draw.randrange(256)
        if draw.random() < 0.3:
            frame = frame[: draw.randrange(1, len(frame))]
    try:
        out.sendto(frame, ("mq0", draw.choice(kinds)))
        sent += 1
    except BlockingIOError:
        pass
    except OSError as error:
        # ENOBUFS: the queue of the device is full.
        if error.errno != 105:
            raise
print(sent)
"""


@needs_links
@pytest.mark.parametrize("aqm", ["fq_codel", "dualpi2", "cake"])
def test_every_frame_is_counted(marqueue, tmp_path: Path, aqm: str):
    """What the device took is received, and what is received leaves, is dropped, or is refused by
    the far end."""
    file = tmp_path / "link.json"
    command = (sys.executable, "-c", SEND, str(FRAMES))
    options = ("--rate", "1Gbit/s", "--aqm", aqm, "--buffer", "1000 packets", "--json", str(file))
    done = marqueue("link", *options, "--", *command)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{FRAMES}\n"
    assert "panicked" not in done.stderr
    told = json.loads(file.read_text())
    near, far = told["audit"]["near"], told["audit"]["far"]
    # Linux itself sends a few packets when the device comes up.
    assert FRAMES <= near["received"] + near["tun_drops"] < FRAMES + 100
    assert near["malformed"] > 0
    assert near["no_memory"] == near["no_route"] == 0
    [uplink] = [link for link in told["links"] if link["name"] == "uplink"]
    lost = sum(uplink["drops"].values())
    waiting = near["received"] - far["sent"] - far["refused"] - lost
    assert 0 <= waiting <= 1000
