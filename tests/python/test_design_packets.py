"""Designs with packets on both sides of their boundaries."""

import json

import pytest
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.design import avq, by_packets, drq, mkc
from marqueue.errors import ModelError
from marqueue.scenario import load
from marqueue.theory.drq.from_scenario import network
from test_design_rates import CPU

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
    arrivals = packets["figures"]["arrival_swing"]
    assert arrivals["b"]["mean"] > 2 * arrivals["a"]["mean"]
    # The equilibrium of the model, 196.5 packets, is on both sides that of packets.
    assert [mean[side]["mean"] for side in "ab"] == pytest.approx([196.5, 196.5], rel=0.05)


def test_runs_that_would_be_long_are_refused() -> None:
    with pytest.raises(ModelError, match="packets: a replication would take"):
        by_packets(avq.design(125000, 18000, 0.35, gamma=0.98))


@pytest.mark.parametrize(("price", "delays"), [("loss", (2, 3)), ("virtual", (3,))])
def test_packets_under_mkc_swing_beyond_the_boundary_and_not_inside(
    price: mkc.Price, delays: tuple[int, ...]
) -> None:
    found = by_packets(mkc.design(1e7, 4, delays, alpha=2e5, price=price))
    assert found.verdict == "more"
    swing = found.figures[-1]
    # A tenth beyond the boundary a map without noise grows until something bounds it; packets that
    # come one by one swing by themselves.
    assert swing.b.mean > 3 * swing.a.mean


def test_packets_of_drq_have_the_slope_that_is_tried() -> None:
    scenario = load(CPU, ["traffic.forward.count=40"])
    model = network(scenario)
    found = drq.design(model, scenario)
    setting = found.at(0.5)
    bottleneck = setting.experiment().parts["topology"]["bottleneck"]
    packets = [bottleneck["aqm"], bottleneck["cpu"]["aqm"]]
    for name, aqm in zip(("bottleneck", "bottleneck/cpu"), packets, strict=True):
        i = model.sharing.index[name]
        max_th = float(aqm["max_th"].removesuffix(" packets")) * model.flows[0].packet
        capacity = model.sharing.capacity[i] / model.mean_density[i]
        assert aqm["max_p"] / max_th * capacity == pytest.approx(0.5)
        # The price is in the middle.
        assert aqm["max_p"] == pytest.approx(2 * found.equilibrium[f"{name}: price"].number)
    with pytest.raises(ModelError, match="packets: got a network, expected a scenario"):
        by_packets(drq.design(model))


def test_a_price_that_no_router_has_is_refused() -> None:
    with pytest.raises(ModelError, match="price: got power, expected one that a router of packets"):
        by_packets(mkc.design(1e7, 4, (2,), alpha=1e5, price="power"))
