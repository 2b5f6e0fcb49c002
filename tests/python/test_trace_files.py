"""Traces as qlog and for Perfetto: what is in the files is what the tables of the result have."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from marqueue.results import Result
from marqueue.results.rows import rows_where
from marqueue.scenario import from_toml
from marqueue.simulation.run import run
from marqueue.traces.choice import Choice
from marqueue.traces.perfetto import perfetto
from marqueue.traces.qlog import qlog
from marqueue.traces.qlog_0_3 import qlog_0_3

SCENARIO = """
name = "traced"
duration = "4 s"
seed = 3
replications = 2

[topology]
kind = "dumbbell"
rtts = ["40 ms"]
access = { rate = "100 Mbit/s", trace = true }

[topology.bottleneck]
rate = "5 Mbit/s"
delay = "5 ms"
buffer = "20 packets"
aqm = "codel"
trace = true

[transport.default]
preset = "linux"
control = "cubic"
ecn = true

[[traffic]]
name = "long"
kind = "tcp"
count = 2
trace = true

[[traffic]]
name = "unresponsive"
kind = "cbr"
rate = "0.5 Mbit/s"
packet = "500 B"
"""

Records = list[dict[str, Any]]


@pytest.fixture(scope="module")
def result() -> Result:
    return run(from_toml(SCENARIO))


def records(content: bytes) -> Records:
    assert content.startswith(b"\x1e")
    return [json.loads(text) for text in content.split(b"\x1e")[1:]]


@pytest.fixture(scope="module")
def first(result: Result) -> Records:
    """The records of flow 0."""
    return records(qlog(Choice(result), 0))


def table(result: Result, name: str) -> pa.Table:
    """The rows of the first replication."""
    return rows_where(result.tables[name], "replication", 0)


def of(name: str, found: Records) -> Records:
    return [each for each in found if each.get("name") == name]


def test_a_qlog_is_a_json_text_sequence_whose_first_record_names_the_schemas(
    result: Result, first: Records
):
    header, *rest = first
    assert header["file_schema"] == "urn:ietf:params:qlog:file:sequential"
    assert header["serialization_format"] == "application/qlog+json-seq"
    namespaces = {uri.split(":")[-1].split("-")[0] for uri in header["trace"]["event_schemas"]}
    assert {each["name"].split(":")[0] for each in rest} == namespaces
    times = [each["time"] for each in rest]
    assert times == sorted(times)
    assert qlog(Choice(result), 0).endswith(b"\n")


def test_windows_and_round_trip_times_are_those_of_the_table(result: Result, first: Records):
    rows = rows_where(table(result, "tcp"), "flow", 0)
    payload = float(str(result.provenance.transports["default"]["values"]["segment"]))
    changes = of("quic:recovery_metrics_updated", first)
    windows = [e["data"]["congestion_window"] for e in changes if "congestion_window" in e["data"]]
    cwnd = rows["cwnd"].to_numpy()
    kept = np.concatenate([[True], np.diff(cwnd) != 0])
    assert windows == [round(w * payload) for w in cwnd[kept]]
    smoothed = [e["data"]["smoothed_rtt"] for e in changes if "smoothed_rtt" in e["data"]]
    assert smoothed[-1] == pytest.approx(1e3 * rows["srtt"].to_numpy()[-1])


def test_every_transmission_has_a_number_and_is_acknowledged_at_most_once(
    result: Result, first: Records
):
    sent = of("quic:packet_sent", first)
    [flow] = rows_where(table(result, "flows"), "flow", 0).to_pylist()
    assert len(sent) == flow["sent"]
    assert [e["data"]["header"]["packet_number"] for e in sent] == list(range(len(sent)))
    assert len(of("quic:packet_lost", first)) == flow["retransmits"] > 0
    acked = Counter(
        number
        for e in of("quic:packet_received", first)
        for frame in e["data"]["frames"]
        for ends in frame.get("acked_ranges", ())
        for number in range(ends[0], ends[-1] + 1)
    )
    assert max(acked.values()) == 1
    assert set(acked) <= set(range(len(sent)))


def test_bytes_in_flight_are_what_is_sent_and_neither_acknowledged_nor_sent_again(first: Records):
    flying: dict[int, int] = {}
    for each in first[1:]:
        data = each["data"]
        match each["name"]:
            case "quic:packet_sent":
                flying[data["header"]["packet_number"]] = data["raw"]["length"]
            case "quic:packet_lost":
                del flying[data["header"]["packet_number"]]
            case "quic:packet_received":
                for ends in data["frames"][0].get("acked_ranges", ()):
                    for number in range(ends[0], ends[-1] + 1):
                        del flying[number]
            case "quic:recovery_metrics_updated" if "bytes_in_flight" in data:
                assert data["bytes_in_flight"] == sum(flying.values())


def test_marks_drops_and_echoes_are_in_the_qlog(result: Result, first: Records):
    rows = rows_where(rows_where(table(result, "trace"), "flow", 0), "link", "bottleneck")
    for kind in ("mark", "drop"):
        shown = [e for e in of("simulation:marker", first) if e["data"]["type"] == kind]
        assert len(shown) == rows_where(rows, "kind", kind).num_rows > 0
    assert any(e.get("ece") for e in of("quic:packet_received", first))
    assert {e["ecn"] for e in of("quic:packet_sent", first)} <= {"not-ect", "ect"}


def test_state_is_slow_start_until_the_window_reaches_the_threshold(first: Records):
    begin, then, *_ = of("quic:congestion_state_updated", first)
    assert begin["data"] == {"new": "slow_start"}
    assert then["data"] == {"old": "slow_start", "new": "congestion_avoidance"}


def test_qlog_0_3_has_the_same_events_in_the_older_form(result: Result, first: Records):
    header, *events = records(qlog_0_3(Choice(result), 0))
    assert (header["qlog_version"], header["qlog_format"]) == ("0.3", "JSON-SEQ")
    assert [(e["time"], e["name"].split(":")[1]) for e in events] == [
        (e["time"], OLDER.get(e["name"], e["name"].split(":")[1])) for e in first[1:]
    ]
    assert {e["name"].split(":")[0] for e in events} == {"transport", "recovery", "simulation"}
    for now, before in zip(
        of("transport:packet_sent", events), of("quic:packet_sent", first), strict=True
    ):
        assert now["data"]["header"] == before["data"]["header"]
        [frame], [same] = now["data"]["frames"], before["data"]["frames"]
        assert frame.get("length") == same.get("raw", {}).get("payload_length")
    acks = [
        [e["data"] for e in of(f"{space}:packet_received", found)]
        for space, found in (("transport", events), ("quic", first))
    ]
    assert acks[0] == acks[1] != []


OLDER = {
    "quic:recovery_parameters_set": "parameters_set",
    "quic:recovery_metrics_updated": "metrics_updated",
}
"""The names in qlog 0.3 that differ by more than their namespace."""

QUIC = """
[[traffic]]
name = "quic"
kind = "quic"
trace = true
"""


def of_quic() -> Result:
    """A run with one flow, of QUIC."""
    traffic = SCENARIO.index("[[traffic]]")
    return run(from_toml(SCENARIO[:traffic] + QUIC, ["replications=1", "duration=3 s"]))


def test_the_qlog_of_a_quic_flow_has_datagrams_and_what_quinn_tells():
    result = of_quic()
    found = records(qlog(Choice(result), 0))
    assert found[0]["trace"]["vantage_point"]["type"] == "server"
    packets = rows_where(table(result, "trace"), "link", Choice(result).route(0)[0][0])
    sent = [e for e in found if e.get("name") == "quic:udp_datagrams_sent"]
    sizes = rows_where(packets, "kind", "arrive")["bytes"].to_pylist()
    assert [e["data"]["raw"][0]["length"] for e in sent] == [size - 28 for size in sizes]
    assert {e["data"]["ecn"][0] for e in sent} == {"ECT(0)"}
    tcp = table(result, "tcp")
    metrics = [e["data"] for e in found if e.get("name") == "quic:recovery_metrics_updated"]
    windows = [each["congestion_window"] for each in metrics if "congestion_window" in each]
    assert windows[0] == 12000
    assert windows[-1] == round(tcp["cwnd"].to_pylist()[-1] * 1168)
    assert not any({"latest_rtt", "rto"} & each.keys() for each in metrics)
    states = [e["data"]["new"] for e in found if "congestion_state" in e.get("name", "")]
    assert states[:2] == ["slow_start", "congestion_avoidance"]


def test_without_access_links_a_qlog_has_what_the_sender_computes():
    untraced = SCENARIO.replace('access = { rate = "100 Mbit/s", trace = true }', "")
    found = records(qlog(Choice(run(from_toml(untraced))), 1))
    assert of("quic:recovery_metrics_updated", found)
    assert not of("quic:packet_sent", found)


Tracks = dict[str, list[Any]]


def read(content: bytes) -> Tracks:
    """Events by PROCESS/TRACK, read with the definitions of the format."""
    trace = Trace()
    trace.ParseFromString(content)
    descriptors = [p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")]
    names = {d.uuid: d.name for d in descriptors}
    paths = {d.uuid: f"{names.get(d.parent_uuid, '')}/{d.name}" for d in descriptors}
    assert len(set(paths.values())) == len(paths)
    out: Tracks = {path: [] for path in paths.values()}
    for packet in trace.packet:
        if packet.HasField("track_event"):
            out[paths[packet.track_event.track_uuid]].append((packet.timestamp, packet.track_event))
    return out


@pytest.fixture(scope="module")
def tracks(result: Result) -> Tracks:
    return read(perfetto(Choice(result)))


def test_counters_of_a_flow_are_the_table(result: Result, tracks: Tracks):
    rows = rows_where(table(result, "tcp"), "flow", 1)
    cwnd = rows["cwnd"].to_numpy()
    kept = np.concatenate([[True], np.diff(cwnd) != 0])
    shown = tracks["flow 1 (long)/cwnd"]
    assert [e.double_counter_value for _, e in shown] == cwnd[kept].tolist()
    assert [t for t, _ in shown] == np.rint(rows["t"].to_numpy()[kept] * 1e9).tolist()


def test_counters_of_a_quic_flow_are_the_table():
    result = of_quic()
    tracks, rows = read(perfetto(Choice(result))), rows_where(table(result, "tcp"), "flow", 0)
    cwnd = rows["cwnd"].to_numpy()
    kept = np.concatenate([[True], np.diff(cwnd) != 0])
    [path] = [path for path in tracks if path.startswith("flow 0") and path.endswith("/cwnd")]
    assert [e.double_counter_value for _, e in tracks[path]] == cwnd[kept].tolist()
    assert len(cwnd[kept]) > 10


def test_a_link_transmits_one_packet_at_a_time_and_each_that_departs(
    result: Result, tracks: Tracks
):
    rows = rows_where(table(result, "trace"), "link", "bottleneck")
    events = tracks["link bottleneck/transmission"]
    kinds = [e.type for _, e in events]
    departures = rows_where(rows, "kind", "depart")
    assert kinds == [TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END] * departures.num_rows
    times = [t for t, _ in events]
    assert times == sorted(times)
    size = departures["bytes"].to_pylist()[0]
    assert times[1] - times[0] == round(size * 8e9 / 5e6)
    for kind, track in (("mark", "packets marked"), ("drop", "packets dropped")):
        of_kind = rows_where(rows, "kind", kind)
        assert len(tracks[f"link bottleneck/{track}"]) == of_kind.num_rows > 0


def test_a_part_of_the_time_and_of_the_links_can_be_chosen(result: Result):
    part = read(perfetto(Choice(result, links=("bottleneck",), flows=(0,), begin=1.0, end=2.0)))
    assert not any(path.startswith(("link 40 ms", "flow 1")) for path in part)
    times = [t for events in part.values() for t, e in events]
    assert min(times) >= 1e9
    assert max(times) < 2e9 + 500 * 8e9 / 5e6 * 3  # The last transmission ends later.
    flows = {
        note.int_value
        for _, e in part["link bottleneck/transmission"]
        for note in e.debug_annotations
        if note.name == "flow"
    }
    assert flows == {0}


def command(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "marqueue", *arguments], cwd=folder, capture_output=True, text=True
    )


def test_run_writes_the_files_that_trace_writes(tmp_path: Path):
    (tmp_path / "traced.toml").write_text(SCENARIO)
    traces = ("--trace", "qlog", "--trace", "perfetto")
    ran = command(tmp_path, "run", "traced.toml", "--out", "r", "--no-report", *traces)
    assert ran.returncode == 0, ran.stderr
    assert command(tmp_path, "check", "r").returncode == 0
    assert command(tmp_path, "trace", "r", "--out", "q").returncode == 0
    later = command(tmp_path, "trace", "r", "--format", "perfetto", "--out", "later.pftrace")
    assert later.returncode == 0, later.stderr
    older = command(tmp_path, "trace", "r", "--format", "qlog-0.3", "--out", "q", "--flow", "1")
    assert older.stdout.split() == ["q/flow-1-0.3.sqlog"], older.stderr
    for number in (0, 1):
        name = f"flow-{number}.sqlog"
        assert (tmp_path / "q" / name).read_bytes() == (tmp_path / "r" / name).read_bytes()
    assert (tmp_path / "later.pftrace").read_bytes() == (
        tmp_path / "r" / "trace.pftrace"
    ).read_bytes()
    mistakes = {
        ("--flow", "7"): "flow 7: not traced, expected one of: 0, 1",
        ("--link", "x"): "link x: not traced, expected one of: bottleneck, reverse",
        ("--from", "3"): '--from: got "3", expected a time',
        ("--from", "3 s", "--to", "2 s"): "from 3 s to 2 s, expected an end after the begin",
        ("--replication", "3"): "replication 3, expected a number below 2",
        ("--format", "pcap"): '--format: got "pcap", expected one of qlog, qlog-0.3, perfetto',
    }
    for given, message in mistakes.items():
        refused = command(tmp_path, "trace", "r", "--out", "new", *given)
        assert refused.returncode == 2
        assert message in refused.stderr
        assert not (tmp_path / "new").exists()
    again = command(tmp_path, "trace", "r", "--out", "q")
    assert (again.returncode, "exists, expected a new file" in again.stderr) == (2, True)


def test_a_trace_of_nothing_is_refused_before_the_run(tmp_path: Path):
    (tmp_path / "plain.toml").write_text(SCENARIO.replace("trace = true", "trace = false"))
    refused = command(tmp_path, "run", "plain.toml", "--out", "r", "--trace", "qlog")
    assert refused.returncode == 2
    assert "qlog: nothing is traced, expected trace = true on TCP or QUIC traffic" in refused.stderr
    assert not (tmp_path / "r").exists()
