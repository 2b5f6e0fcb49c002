"""Traffic of kind recorded: the packets of captures and qlogs are sent again.

``crates/sim/tests/recorded.rs`` checks that sizes and times are kept in the network."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from conftest import schema_validator
from marqueue import from_dict, load, run
from marqueue.errors import ScenarioError
from marqueue.live.unsupported import refuse
from marqueue.scenario import Recorded, compile, from_toml
from marqueue.units import Duration, Size
from small_scenario import SMALL

INLINE = 'traffic=[{kind="recorded", packets=["0 s, 1500 B", "0 s, 40 B", "2.5 ms, 700 B"], %s}]'


def capture(packets: list[tuple[int, int]]) -> bytes:
    """A capture of Ethernet frames whose IP packets have these times, ns, and sizes, cut to 20."""
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 34, 1)
    each = [
        struct.pack("<IIII", time // 10**9, time % 10**9, 34, size + 14) + bytes(34)
        for time, size in packets
    ]
    return head + b"".join(each)


def scenario_file(folder: Path, name: str) -> Path:
    """A scenario whose traffic is the recording of this name."""
    path = folder / "scenario.toml"
    table = f'[[traffic]]\nname = "call"\nkind = "recorded"\npackets = "{name}"\nstart = "1 s"\n'
    path.write_text(SMALL.split("[[traffic]]")[0] + table)
    return path


def test_packets_are_read_written_and_compiled():
    scenario = from_toml(SMALL, [INLINE % "count=3"])
    [group] = scenario.traffic
    assert isinstance(group, Recorded)
    assert group.packets[2] == (Duration(2_500_000), Size(700))
    assert from_toml(scenario.to_toml()) == scenario
    schema_validator().validate(scenario.to_dict())
    near, far = compile(scenario)["traffic"]
    assert (near["kind"]["recorded"]["count"], far["kind"]["recorded"]["count"]) == (2, 1)
    assert near["kind"]["recorded"]["packets"] == [(0, 1500), (0, 40), (2_500_000, 700)]


def test_a_capture_is_sent_again(tmp_path: Path):
    sent = [(5_000_000_000, 1500), (5_000_000_000, 60), (5_012_345_678, 900)]
    (tmp_path / "call.pcap").write_bytes(capture(sent))
    scenario = load(scenario_file(tmp_path, "call.pcap"))
    [group] = scenario.traffic
    assert isinstance(group, Recorded)
    assert [(a.base, s.base) for a, s in group.packets] == [(t - sent[0][0], n) for t, n in sent]
    flows = run(scenario).flows.to_pandas()
    # Both classes exist; the one flow is of the first.
    assert flows.sent.sum() == 3 * scenario.replications


def test_a_qlog_gives_its_packets_with_headers(tmp_path: Path):
    events = [
        {"time": 10 * i, "name": "transport:packet_received", "data": {"raw": {"length": 1000 + i}}}
        for i in range(3)
    ]
    (tmp_path / "got.qlog").write_text(json.dumps({"traces": [{"events": events}]}))
    [group] = load(scenario_file(tmp_path, "got.qlog")).traffic
    assert isinstance(group, Recorded)
    assert [(a.base, s.base) for a, s in group.packets] == [
        (10_000_000 * i, 1028 + i) for i in range(3)
    ]


@pytest.mark.parametrize(
    ("given", "path", "said"),
    [
        ("[]", "packets", "got none, expected at least one packet"),
        ('["1 ms"]', "packets.0", 'a time and a size such as "30 ms, 700 B"'),
        ('["0 s, 40 B", "x, 40 B"]', "packets.1", "expected a time"),
        ('["2 ms, 40 B", "1 ms, 40 B"]', "packets.1", "times that do not decrease"),
        ('["0 s, 70 kB"]', "packets.0", "expected 1 to 65535 bytes"),
        ('"call.pcap"', "packets", "expected a list of packets"),
    ],
)
def test_a_mistake_is_told_with_its_place(given: str, path: str, said: str):
    with pytest.raises(ScenarioError) as refused:
        compile(from_toml(SMALL, [f'traffic=[{{kind="recorded", packets={given}}}]']))
    [problem] = refused.value.problems
    assert problem.path == f"traffic.0.{path}"
    assert said in problem.message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        (b"0\n1\n", "is neither a capture (pcap, pcapng) nor a qlog"),
        (capture([]), "has 0 packets, expected 1 to 1000000"),
        (capture([(1, 100)])[:-5], "packet 1: the file ends within it"),
    ],
)
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, content: bytes | None, said: str):
    if content is not None:
        (tmp_path / "call.pcap").write_bytes(content)
    with pytest.raises(ScenarioError) as refused:
        load(scenario_file(tmp_path, "call.pcap"))
    [problem] = refused.value.problems
    assert problem.path == "traffic.0.packets"
    assert said in problem.message


def test_it_is_simulated_only():
    scenario = from_toml(SMALL, [INLINE % "count=1"])
    with pytest.raises(ScenarioError, match="it is simulated only"):
        refuse(scenario, compile(scenario), [])


def test_each_replication_draws_its_own_starts():
    text = [INLINE % "jitter='1 s'", "replications=3"]
    starts = run(from_toml(SMALL, text)).flows.to_pandas().start
    assert len(np.unique(starts)) == 3
    assert from_dict(from_toml(SMALL, text).to_dict()).replications == 3
