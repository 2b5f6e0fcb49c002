"""Captures and qlogs as delivery traces of links."""

import json
import struct
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from marqueue import load, run
from marqueue.errors import ScenarioError
from marqueue.scenario.delivery_trace import of_arrivals, read
from marqueue.scenario.recorded import arrivals

START = 1_700_000_000 * 10**9
ARRIVED = [(START + 2_000_000 * i, 1500) for i in range(200)] + [(START + 500_000_000, 40)]
"""1500 bytes every 2 ms, 6 Mbit/s, and an acknowledgement."""


SCENARIO = """
name = "captured"
duration = "3 s"
warmup = "1 s"
replications = 1
[topology]
kind = "dumbbell"
rtts = ["40 ms"]
[topology.bottleneck]
rate = "RATE"
delay = "5 ms"
buffer = "8 packets"
delivery_trace = "down.pcap"
[[traffic]]
kind = "cbr"
rate = "10 Mbit/s"
packet = "1504 B"
jitter = "0 s"
"""


def pcap(order: str = "<", link: int = 1, header: int = 14, step: int = 1000) -> bytes:
    magic = 0xA1B2C3D4 if step == 1000 else 0xA1B23C4D
    out = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    for time, size in ARRIVED:
        seconds, rest = divmod(time, 10**9)
        out += struct.pack(order + "4I", seconds, rest // step, 34, size + header) + bytes(34)
    return out


def block(order: str, kind: int, body: bytes) -> bytes:
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def pcapng(order: str = "<", resolution: int | None = None) -> bytes:
    section = struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)
    clock = {None: 10**6, 9: 10**9, 0x80 | 30: 2**30}[resolution]
    options = b"" if resolution is None else struct.pack(order + "HHBxxxHH", 9, 1, resolution, 0, 0)
    out = block(order, 0x0A0D0D0A, section)
    out += block(order, 1, struct.pack(order + "HHI", 101, 0, 0) + options)
    for time, size in ARRIVED:
        # Up, so that a clock of 2^-30 s gives at most a step more.
        ticks = -(-time * clock // 10**9)
        body = struct.pack(order + "5I", 0, ticks >> 32, ticks & 0xFFFFFFFF, 20, size)
        out += block(order, 6, body + bytes(20))
    return out


def received(time: float, size: int, prefix: str) -> dict[str, object]:
    return {"time": time, "name": f"{prefix}:packet_received", "data": {"raw": {"length": size}}}


def qlog_sequence() -> bytes:
    head = {"file_schema": "urn:ietf:params:qlog:file:sequential", "trace": {"common_fields": {}}}
    sent = {"time": 0, "name": "quic:packet_sent", "data": {}}
    events = [received((time - START) / 1e6, size, "quic") for time, size in ARRIVED]
    return b"".join(b"\x1e" + json.dumps(each).encode() + b"\n" for each in [head, sent, *events])


def qlog_deltas() -> bytes:
    times = [0.0] + [time / 1e6 for time, _ in ARRIVED]
    deltas = [b - a for a, b in pairwise(times)]
    events = [received(d, size, "transport") for d, (_, size) in zip(deltas, ARRIVED, strict=True)]
    trace = {"common_fields": {"time_format": "delta"}, "events": events}
    return json.dumps({"qlog_version": "0.3", "traces": [trace]}).encode()


FORMS: dict[str, Callable[[], bytes]] = {
    "pcap": pcap,
    "pcap, big-endian, ns, any": lambda: pcap(">", 276, 20, 1),
    "pcapng": pcapng,
    "pcapng, big-endian, ns": lambda: pcapng(">", 9),
    "pcapng, binary clock": lambda: pcapng("<", 0x80 | 30),
    "qlog, JSON-SEQ": qlog_sequence,
    "qlog, JSON, deltas": qlog_deltas,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_same_arrivals_is_the_same_trace(form: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(FORMS[form]())
    expected = of_arrivals(ARRIVED)
    # What has arrived allows as much to leave, to less than one opportunity.
    assert len(expected) == sum(size for _, size in ARRIVED) // 1504
    assert expected[0] == 2_000_000, "the second packet completes the first 1504 bytes"
    # ns: a double of ms since 1970 has steps of 244 ns.
    assert read(file) == pytest.approx(expected, abs=250)


@pytest.mark.parametrize("form", FORMS)
def test_a_file_that_is_cut_anywhere_is_shorter_or_refused(form: str) -> None:
    content = FORMS[form]()
    whole = arrivals(content)
    for end in range(4, 700):
        try:
            found = arrivals(content[:end])
        except ValueError:
            continue
        assert found == whole[: len(found)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (pcap(link=147), "packet 1: got link type 147, expected Ethernet"),
        (pcap()[:-1], "packet 201: the file ends within it"),
        (pcap()[:24], "expected arrivals of at least 1504 bytes"),
        (pcapng()[:-2], "block 203: got a length of 52, which its file cannot have"),
        (b"\x1e{]", "record 1: is not JSON"),
        (b'\x1e{"time": 1, "name": "quic:packet_received"}', "record 1: expected data.raw.length"),
        (b"{}", "expected a qlog with one trace"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "down.pcap").write_bytes(content)
    (tmp_path / "one.toml").write_text(SCENARIO.replace("RATE", "1 Mbit/s"), encoding="utf-8")
    with pytest.raises(ScenarioError) as refused:
        load(tmp_path / "one.toml")
    assert f"topology.bottleneck.delivery_trace: down.pcap: {said}" in str(refused.value)


def test_a_link_carries_what_the_capture_shows(tmp_path: Path) -> None:
    (tmp_path / "down.pcap").write_bytes(pcap())
    times = read(tmp_path / "down.pcap")
    mean = f"{len(times) * 1504 * 8e9 / times[-1]:.0f} bit/s"
    (tmp_path / "one.toml").write_text(SCENARIO.replace("RATE", mean), encoding="utf-8")
    result = run(load(tmp_path / "one.toml"))
    delivered = sum(each.delivered.sum() for each in result.flow_sets())
    assert delivered * 8 / 2 == pytest.approx(6e6, rel=0.01)
