"""Packet traces: as tables against what the run counted, as captures in Wireshark's eyes."""

import json
import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import marqueue as package
from conftest import COMMAND
from live_requirements import needs_tshark

SCENARIO = """\
name = "Traced"
duration = "15 s"
replications = 2

[topology]
kind = "dumbbell"
rtts = ["40 ms", "60 ms"]
access = { rate = "100 Mbit/s", delay = "5 ms", trace = true }
bottleneck = { rate = "5 Mbit/s", delay = "5 ms", buffer = "20 packets", aqm = "AQM", trace = true }

[transport.default]
ecn = ECN

[[traffic]]
name = "long"
kind = "tcp"
count = 3
trace = true

[[traffic]]
name = "short"
kind = "poisson"
rate = "3 /s"
size = "30 packets"

[[traffic]]
kind = "cbr"
rate = "200 kbit/s"
packet = "500 B"

[[traffic]]
kind = "packets"
rate = "20 /s"
packet = "100 B"
sizes = "exponential"
"""
CLASSES = ["40 ms", "60 ms"]
EPOCH = "frame.time_epoch"


def run(directory: Path, aqm: str, ecn: bool) -> Path:
    """Runs the scenario as people do; returns the result directory."""
    text = SCENARIO.replace("AQM", aqm).replace("ECN", str(ecn).lower())
    (directory / "traced.toml").write_text(text, encoding="utf-8")
    command = [*COMMAND, "run", "traced.toml", "--out", "out"]
    subprocess.run(command, cwd=directory, check=True, capture_output=True, timeout=120)
    return directory / "out"


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("lossy"), "droptail", ecn=False)


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("marked"), "codel", ecn=True)


def trace(directory: Path, link: str) -> pl.DataFrame:
    """What happened at a link in the first replication."""
    table = pl.read_parquet(directory / "trace.parquet")
    return table.filter(pl.col("replication") == 0, pl.col("link") == link)


CHECKED = [f"-o{protocol}.check_checksum:TRUE" for protocol in ("ip", "tcp", "udp")]


def tshark(capture: Path, shown: str, *fields: str) -> list[list[str]]:
    """The fields of the packets that the display filter shows."""
    command = ["tshark", "-r", str(capture), *CHECKED, "-Y", shown, "-T", "fields"]
    command += [f"-e{field}" for field in ("frame.number", *fields)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    return [line.split("\t")[1:] for line in done.stdout.splitlines()]


GOOD, UNVERIFIED = "1", "2"
EXPERT_ERROR = 0x00800000


def ns(epoch: str) -> int:
    """Nanoseconds since the start, of a time with nine decimals."""
    return int(epoch.replace(".", ""))


@needs_tshark
def test_every_traced_link_has_a_file_that_wireshark_reads(lossy: Path, marked: Path):
    for directory in (lossy, marked):
        captures = sorted(directory.glob("*.pcapng"))
        links = ["40-ms-sink", "40-ms-source", "60-ms-sink", "60-ms-source", "bottleneck"]
        assert [path.stem for path in captures] == links
        for path in captures:
            checks = [f"{protocol}.checksum.status" for protocol in ("ip", "tcp", "udp")]
            fields = ("_ws.malformed", "_ws.expert.severity", "tcp.len", "udp.length", *checks)
            seen = tshark(path, "frame", *fields)
            assert len(seen) > 1000
            for malformed, severity, payload, datagram, ip, tcp, udp in seen:
                assert not malformed
                assert str(EXPERT_ERROR) not in severity.split(",")
                assert ip == GOOD
                # Of what is not captured whole a checksum cannot be checked; headers always are.
                whole = payload == "0" or datagram == "8"
                assert (tcp or udp) == (GOOD if whole else UNVERIFIED)


@needs_tshark
def test_a_capture_has_both_directions_at_the_near_end_of_the_link(lossy: Path):
    seen = tshark(
        lossy / "bottleneck.pcapng",
        "frame",
        EPOCH,
        "frame.interface_name",
        "frame.packet_flags_direction",
        "frame.len",
        "frame.cap_len",
    )
    times = np.array([ns(row[0]) for row in seen])
    assert (np.diff(times) >= 0).all()
    assert {row[1] for row in seen} == {"bottleneck"}
    outbound = np.array([int(row[2], 0) == 2 for row in seen])
    departs = trace(lossy, "bottleneck").filter(pl.col("kind") == "depart")
    assert (times[outbound] == np.rint(departs["t"].to_numpy() * 1e9)).all()
    back = trace(lossy, "reverse").filter(pl.col("kind") == "depart")
    arrive = back["t"].to_numpy() + 5e-3 + back["bytes"].to_numpy() * 8 / 5e6
    inside = arrive <= 15
    assert times[~outbound] * 1e-9 == pytest.approx(arrive[inside], abs=2e-9)
    length = np.array([int(row[3]) for row in seen])
    captured = np.array([int(row[4]) for row in seen])
    assert (captured <= np.minimum(length, 80)).all()
    exact = ~departs["syn"].to_numpy() & (departs["bytes"].to_numpy() >= 28)
    assert (length[outbound][exact] == departs["bytes"].to_numpy()[exact]).all()


@needs_tshark
def test_an_arrival_on_the_way_back_is_where_the_next_link_begins(lossy: Path):
    """What the capture computes for the far end is what the simulator did."""
    seen = tshark(lossy / "60-ms-source.pcapng", "frame.packet_flags_direction == 1", EPOCH)
    arrivals = {ns(row[0]) for row in seen}
    sends = trace(lossy, "60 ms/source").filter(pl.col("kind") == "arrive", ~pl.col("syn"))
    tcp = pl.read_parquet(lossy / "flows.parquet").filter(
        pl.col("replication") == 0, pl.col("kind").is_in(["tcp", "poisson"])
    )
    at = sends.filter(pl.col("flow").is_in(tcp["flow"].to_list()))["t"].to_numpy() * 1e9
    answers = [int(t) in arrivals for t in np.rint(at)]
    assert np.mean(answers) > 0.95, "all but what timers send"


@needs_tshark
@pytest.mark.parametrize("name", CLASSES)
def test_wireshark_finds_the_retransmissions(lossy: Path, name: str):
    """Where data is sent, before any loss. Of a retransmission that follows new data by less than a
    round trip Wireshark says that it is out of order."""
    path = lossy / f"{name.replace(' ', '-')}-source.pcapng"
    sent = trace(lossy, f"{name}/source").filter(pl.col("kind") == "depart", pl.col("retransmit"))
    flows = pl.read_parquet(lossy / "flows.parquet")
    ours = flows.filter(pl.col("replication") == 0, pl.col("class") == name)
    assert sent.height == ours["retransmits"].sum() > 20
    found = tshark(path, "tcp.analysis.retransmission || tcp.analysis.out_of_order", EPOCH)
    assert [ns(row[0]) for row in found] == np.rint(sent["t"].to_numpy() * 1e9).tolist()
    assert len(tshark(path, "tcp.analysis.fast_retransmission")) > 5


@needs_tshark
@pytest.mark.parametrize("name", CLASSES)
def test_wireshark_counts_duplicate_acknowledgements_as_they_arrive(lossy: Path, name: str):
    path = lossy / f"{name.replace(' ', '-')}-source.pcapng"
    back = f"{name}/source/back"
    links = json.loads((lossy / "plan.json").read_text())["links"]
    [delay] = [link["delay"] / 1e9 for link in links if link["name"] == back]
    acks = trace(lossy, back).filter(
        pl.col("kind") == "depart", pl.col("ack"), pl.col("t") + delay + 1e-5 < 15
    )
    duplicates = acks.filter(pl.col("seq") == pl.col("seq").shift(1).over("flow")).height
    assert len(tshark(path, "tcp.analysis.duplicate_ack")) == duplicates > 50


@needs_tshark
def test_headers_say_what_the_packets_say(marked: Path):
    path = marked / "bottleneck.pcapng"
    data = trace(marked, "bottleneck").filter(pl.col("kind") == "depart")
    acks = trace(marked, "reverse").filter(pl.col("kind") == "depart")
    out = "frame.packet_flags_direction == 2"
    ce = data.filter(pl.col("ecn") == "ce").height
    assert ce > 20
    assert len(tshark(path, f"{out} && ip.dsfield.ecn == 3")) == ce
    ect = data.filter(pl.col("ecn") == "ect").height
    assert len(tshark(path, f"{out} && ip.dsfield.ecn == 2")) == ect
    cwr = data.filter(pl.col("cwr"), ~pl.col("syn")).height
    assert len(tshark(path, f"{out} && tcp.flags.cwr == 1 && tcp.flags.syn == 0")) == cwr > 5
    syns = tshark(path, f"{out} && tcp.flags.syn == 1", "tcp.options.mss_val", "tcp.flags.cwr")
    assert syns == [["1460", "1"]] * data.filter(pl.col("syn")).height
    answers = tshark(path, "tcp.flags.syn == 1 && tcp.flags.ack == 1 && tcp.flags.ece == 1")
    assert 0 < len(answers) <= acks.filter(pl.col("syn")).height


@needs_tshark
def test_sack_blocks_are_there(lossy: Path):
    acks = trace(lossy, "reverse").filter(pl.col("kind") == "depart", pl.col("ack"))
    blocks = acks["sack"].to_list()
    seen = tshark(
        lossy / "bottleneck.pcapng",
        "frame.packet_flags_direction == 1",
        "tcp.options.sack_le",
        "tcp.options.sack_re",
    )
    shown = [[int(x) for x in row[0].split(",") if x] for row in seen]
    expected = [[(n - 1) * 1460 + 1 for n in block[::2]] for block in blocks]
    assert sum(map(bool, expected)) > 50
    assert shown == expected[: len(shown)]


@needs_tshark
def test_udp_is_udp(lossy: Path):
    data = trace(lossy, "bottleneck").filter(pl.col("kind") == "depart")
    flows = pl.read_parquet(lossy / "flows.parquet").filter(pl.col("replication") == 0)
    udp = flows.filter(pl.col("kind").is_in(["cbr", "packets"]))["flow"].to_list()
    sent = data.filter(pl.col("flow").is_in(udp)).height
    assert len(tshark(lossy / "bottleneck.pcapng", "udp")) == sent > 100


@pytest.mark.parametrize("which", ["lossy", "marked"])
def test_every_event_is_counted_and_every_packet_accounted_for(
    which: str, request: pytest.FixtureRequest
):
    directory: Path = request.getfixturevalue(which)
    table = pl.read_parquet(directory / "trace.parquet").filter(pl.col("link") == "bottleneck")
    windows = pl.read_parquet(directory / "windows.parquet")
    for event, column in (("arrive", "arrivals"), ("depart", "departures")):
        assert table.filter(pl.col("kind") == event).height == windows[column].sum()
    for event, prefix in (("drop", "drops_"), ("mark", "marks_")):
        counted = {c: windows[c].sum() for c in windows.columns if c.startswith(prefix)}
        reasons = table.filter(pl.col("kind") == event)["reason"].to_list()
        assert sum(counted.values()) == len(reasons)
        assert all(reasons.count(c.removeprefix(prefix)) == n for c, n in counted.items())
    first = table.filter(pl.col("replication") == 0)
    step = {"arrive": 1, "depart": -1, "drop": -1, "mark": 0}
    level = np.cumsum([step[kind] for kind in first["kind"]])
    own = first["kind"].is_in(["arrive"]).to_numpy()
    assert (level[own] - 1 == first["queue"].to_numpy()[own]).all(), "what an arrival finds"
    left = (first["kind"] == "depart").to_numpy()
    assert (level[left] == first["queue"].to_numpy()[left]).all(), "what a departure leaves"


def test_flows_are_rows_of_the_flow_table(lossy: Path):
    """Also those of finished flows, whose slots others have used since."""
    flows = pl.read_parquet(lossy / "flows.parquet").filter(pl.col("replication") == 0)
    sent = trace(lossy, "40 ms/source").filter(pl.col("kind") == "arrive")
    counted = (
        sent.group_by("flow")
        .len()
        .join(
            flows.filter(pl.col("class") == "40 ms", pl.col("kind").is_in(["tcp", "poisson"])),
            on="flow",
        )
    )
    assert counted.height > 15
    assert (counted["len"] == counted["sent"]).all()


def test_senders_show_their_round_trip_times(lossy: Path):
    tcp = pl.read_parquet(lossy / "tcp.parquet").filter(pl.col("replication") == 0)
    assert set(tcp["flow"]) == {0, 1, 2}
    flows = package.Result.load(lossy).to_polars("flows")
    for flow in range(3):
        rows = tcp.filter(pl.col("flow") == flow)
        assert rows["t"].is_sorted()
        base = {"40 ms": 0.04, "60 ms": 0.06}[flows["class"][flow]]
        measured = rows["rtt"].drop_nulls()
        assert rows["rtt"][0] is None
        assert base < measured.min() < measured.max() < base + 0.15, (
            "a queue of 48 ms, and a delayed acknowledgement"
        )
        assert measured.min() <= rows["srtt"].drop_nulls().mean() <= measured.max()
        assert rows["rto"].min() >= 1.0


def test_models_of_the_path_show_their_states(tmp_path: Path):
    result = package.run(
        package.from_dict(
            {
                "name": "model",
                "duration": "3 s",
                "replications": 1,
                "topology": {
                    "kind": "dumbbell",
                    "rtts": ["40 ms"],
                    "bottleneck": {"rate": "10 Mbit/s", "delay": "1 ms", "buffer": "134 packets"},
                },
                "transport": {
                    "default": {"preset": "linux", "control": "bbr3"},
                    "other": {"preset": "linux"},
                },
                "traffic": [
                    {"kind": "tcp", "jitter": "0 s", "trace": True},
                    {"kind": "tcp", "name": "cubic", "transport": "other", "trace": True,
                     "start": "2 s", "size": "10 packets"},
                ],
            }
        )
    )  # fmt: skip
    models = result.to_polars("path_model")
    assert set(models["flow"]) == {0}, "CUBIC has no model"
    states = models["state"].to_list()
    changes = [state for before, state in pairwise(states) if before != state]
    assert states[0] == "startup"
    assert changes[0] == "drain"
    assert changes[1].startswith("probe-bw-")
    last = models.row(-1, named=True)
    # 10 Mbit/s in packets of 1500 bytes, within the draft's 2 %.
    assert last["max_bw"] == pytest.approx(10e6 / 12e3, rel=0.02)
    assert 0.04 < last["min_rtt"] < 0.045
    assert last["inflight_longterm"] is None, "nothing was lost"


def test_loading_gives_captures_again(lossy: Path, tmp_path: Path):
    result = package.Result.load(lossy)
    again = result.write_pcapng(tmp_path / "again.pcapng", "bottleneck")
    assert again.read_bytes() == (lossy / "bottleneck.pcapng").read_bytes()
    other = result.write_pcapng(tmp_path / "other.pcapng", "bottleneck", replication=1)
    assert other.read_bytes() != again.read_bytes()
    with pytest.raises(KeyError, match="expected a traced one"):
        result.write_pcapng(tmp_path / "none.pcapng", "neck")


def test_a_trace_that_grows_too_long_is_a_message(marqueue, tmp_path: Path):
    text = """
name = "Too long"
duration = "100 s"
sample = "0 s"
replications = 1
topology.kind = "graph"
topology.links = [
    { name = "a b", from = "a", to = "b", rate = "100 Gbit/s", delay = "1 ms", trace = true }
]
topology.classes = [{ name = "all", from = "a", to = "b" }]
traffic = [{ kind = "packets", rate = "1000000 /s", packet = "1000 B" }]
"""
    (tmp_path / "long.toml").write_text(text, encoding="utf-8")
    done = marqueue("run", "long.toml")
    assert done.returncode == 2
    assert done.stderr.startswith("trace: got more than 10000000 rows by 5.0")
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_matched_drop_is_called_so(tmp_path: Path):
    """A reason that only some queues have is in the table like any other."""
    lost = trace(run(tmp_path, "choke", ecn=False), "bottleneck").filter(pl.col("kind") == "drop")
    windows = pl.read_parquet(tmp_path / "out" / "windows.parquet").filter(
        pl.col("replication") == 0, pl.col("link") == "bottleneck"
    )
    assert lost.filter(pl.col("reason") == "matched").height == windows["drops_matched"].sum() > 0
