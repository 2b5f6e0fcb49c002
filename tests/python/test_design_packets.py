"""Designs with packets on both sides of their boundaries."""

import json

import pytest
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.errors import ModelError
from marqueue.theory.design import avq, by_packets

RED = (
    "design red --capacity 15Mbit/s --packet 500B --flows 60 --rtt 246ms --min-th 150 --max-th 700 "
    "--max-p 0.1 --packets --json"
)


def test_packets_under_red_swing_more_beyond_the_boundary() -> None:
    found = json.loads(CliRunner().invoke(app, RED.split()).stdout)
    packets = found["packets"]
    assert packets["inside"] == found["bound"]
    assert packets["beyond"] == pytest.approx(4 * found["boundary"])
    swing, mean = (packets["figures"][name] for name in ("queue_std", "queue_mean"))
    assert swing["b"]["mean"] > 2 * swing["a"]["mean"]
    assert packets["swings_beyond"] == "more"
    # The equilibrium of the model, 196.5 packets, is on both sides that of packets.
    assert [mean[side]["mean"] for side in "ab"] == pytest.approx([196.5, 196.5], rel=0.05)


def test_runs_that_would_be_long_are_refused() -> None:
    with pytest.raises(ModelError, match="packets: a replication would take"):
        by_packets(avq.design(125000, 18000, 0.35, gamma=0.98))
