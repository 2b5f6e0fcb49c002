"""DualPI2 under real senders: the signals of both kinds of packets are coupled, and L4S packets do
not wait; CAKE's shaper as a bottleneck of its own."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import marqueue
from marqueue.results.result import Result

SCENARIO = """\
name = "Coupled"
duration = "20 s"
warmup = "5 s"
replications = 1
sample = "5 ms"

[topology]
kind = "dumbbell"
rtts = ["20 ms"]
access = { rate = "1 Gbit/s", delay = "1 ms" }

[topology.bottleneck]
rate = "20 Mbit/s"
delay = "1 ms"
buffer = "500 packets"
aqm = AQM
trace = true

[transport.drops]

[transport.marks]
ecn = true

[transport.scalable]
control = "dctcp"
ecn = true
ecn_field = "ect1"

[[traffic]]
name = "not-ect"
kind = "tcp"
transport = "drops"
count = 3

[[traffic]]
name = "ect"
kind = "tcp"
transport = "marks"
count = 3

[[traffic]]
name = "ect1"
kind = "tcp"
transport = "scalable"
count = 3

[[traffic]]
name = "unresponsive"
kind = "cbr"
rate = "200 kbit/s"
packet = "500 B"
ecn = "ect1"
"""
AFTER = 5.0


def run(aqm: str, path: Path) -> tuple[Result, pl.DataFrame]:
    """The result, and what happened at the bottleneck after the warm-up."""
    result = marqueue.run(marqueue.from_toml(SCENARIO.replace("AQM", aqm)))
    result.save(path)
    rows = pl.read_parquet(path / "trace.parquet").filter(pl.col("link") == "bottleneck")
    return result, rows.filter(pl.col("t") > AFTER)


@pytest.fixture(scope="module")
def coupled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, pl.DataFrame]:
    """Without native marks, so that all L4S marks are coupled."""
    aqm = '{ name = "dualpi2", min_th = "100 s", likelihood = "random" }'
    return run(aqm, tmp_path_factory.mktemp("coupled") / "out")


def kinds(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """What became of packets by the ECN field with which they arrived."""
    key = ["flow", "seq", "retransmit"]
    arrived = rows.filter(pl.col("kind") == "arrive").unique(key).select(*key, field="ecn")
    gone = rows.filter(
        pl.col("kind").is_in(["depart", "drop"]), ~pl.col("syn"), pl.col("bytes") > 100
    )
    joined = gone.join(arrived, on=key)
    return {field: joined.filter(pl.col("field") == field) for field in ("not-ect", "ect", "ect1")}


def test_classic_packets_are_signalled_with_the_square_of_the_coupled_probability(
    coupled: tuple[Result, pl.DataFrame],
):
    result, rows = coupled
    t, p = result.link("bottleneck").series("p_base")
    p = p[0, t > AFTER]
    of = kinds(rows)
    signalled = {
        field: ((of[field]["kind"] == "drop") | (of[field]["ecn"] == "ce")).mean() for field in of
    }
    # Departures sample p' more often when queues are short, and samples of time do not: within a
    # tenth. Each share is of thousands of packets, with a few hundred signals of Classic packets.
    assert signalled["ect1"] == pytest.approx(2 * p.mean(), rel=0.1)
    packets = {field: of[field].height for field in ("ect", "not-ect")}
    signals = sum(packets[field] * signalled[field] for field in packets)
    classic = signals / sum(packets.values())
    assert classic == pytest.approx(np.square(p).mean(), rel=0.25)
    assert classic == pytest.approx((signalled["ect1"] / 2) ** 2, rel=0.4)


def test_ecn_capable_packets_are_marked_and_the_others_dropped(
    coupled: tuple[Result, pl.DataFrame],
):
    of = kinds(coupled[1])
    for field, has_drops, has_marks in [
        ("not-ect", True, False),
        ("ect", False, True),
        ("ect1", False, True),
    ]:
        drops = of[field].filter(pl.col("kind") == "drop", pl.col("reason") != "overflow").height
        marks = of[field].filter(pl.col("kind") == "depart", pl.col("ecn") == "ce").height
        assert (drops > 0, marks > 0) == (has_drops, has_marks), field


def test_l4s_packets_wait_for_less_than_a_millisecond_or_so(tmp_path: Path):
    _, rows = run('"dualpi2"', tmp_path / "out")
    of = kinds(rows)
    departed = {field: of[field].filter(pl.col("kind") == "depart")["sojourn"] for field in of}
    # A packet of 1500 bytes takes 0.6 ms. The ramp begins at 0.8 ms, PI2's target is 15 ms.
    assert departed["ect1"].median() < 0.002
    assert 0.008 < departed["not-ect"].mean() < 0.025


def test_cakes_shaper_is_the_bottleneck(tmp_path: Path):
    aqm = '{ name = "cake", bandwidth = "10 Mbit/s", isolation = "flows" }'
    result, rows = run(aqm, tmp_path / "out")
    departed = rows.filter(pl.col("kind") == "depart")
    rate = 8 * departed["bytes"].sum() / (20.0 - AFTER)
    # Half of the link, up to a packet at each end.
    assert rate == pytest.approx(1e7, rel=2e-3)
    t, utilization = result.link("bottleneck").series("utilization")
    assert utilization[0, t > AFTER].mean() == pytest.approx(0.5, abs=0.01)
    of_flows = departed.filter(pl.col("bytes") > 600).group_by("flow").agg(pl.col("bytes").sum())
    shares = of_flows["bytes"].to_numpy().astype(float)
    # Not all equal: at 90 packets a second a flow's queue runs empty after a signal, and others use
    # its turns. Jain's index of nine flows, one of which had twice as much, would be 0.93.
    assert len(shares) == 9
    assert shares.sum() ** 2 / (9 * (shares**2).sum()) > 0.98
