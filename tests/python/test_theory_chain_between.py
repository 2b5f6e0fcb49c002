"""Models between the chain and packets: the effect of each assumption, and the stored data."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.cli.theory.chain import _write
from marqueue.design import chain_assumptions, chain_packets
from marqueue.errors import RunError
from marqueue.theory.marking_chain import Model, simulate
from marqueue.theory.marking_chain.packet_level_chain import (
    Assumptions,
    simulate_packet_level_chain,
    spread_rtts,
)
from marqueue.theory.marking_chain.phases import SPREADS

KEPT = Path(__file__).parents[2] / "docs/theory/chain"
WIDE = spread_rtts(chain_packets.HALF)
TINY = chain_packets.Form(most=32, length=40, warm_up=20, replications=1)


def h(flows: int, sending: str, queue: str, ct: float = 5.0) -> float:
    found = simulate_packet_level_chain(
        Model(flows, ct), Assumptions(sending, queue), WIDE, 200, 100, 2
    )
    return found.h.mean


def test_packet_by_packet_is_the_chain_with_the_same_classes() -> None:
    of = SPREADS["T ± 40 %"]
    model = Model(200, 5.0, classes=of.classes, slots=of.slots)
    lumped = simulate(model, 1000, 200, 1)
    rtts = [each.rtt for each in of.classes]
    single = simulate_packet_level_chain(
        model, Assumptions("rounds", "stationary"), rtts, 500, 200, 1
    )
    # In slots of T/5 a flow of 4 sends a packet or so: there each slot has its queue, here each
    # packet.
    assert single.utilization.mean == pytest.approx(lumped.utilization.mean, abs=0.01)
    assert 0.4 < lumped.h.mean < 1
    assert 0.4 < single.h.mean < 1


def test_late_feedback_or_a_common_queue_synchronizes_flows() -> None:
    apart = h(200, "rounds", "stationary")
    late, common, both = (
        h(200, *each) for each in (("poisson", "stationary"), ("rounds", "mm1"), ("poisson", "mm1"))
    )
    assert apart < 1
    assert min(late, common) > 10 * apart
    assert both > 10 * apart
    # Flows that send as answers come send packets in clumps, which a queue sees at lower loads.
    assert apart < h(200, "ack_clocked", "mm1") < both / 3


def test_far_from_the_boundary_the_common_queue_matters_more_than_late_answers() -> None:
    # 25 packets in the pipe, far from where the mean window oscillates.
    late, common = (h(50, *each, 25.0) for each in (("poisson", "stationary"), ("rounds", "mm1")))
    assert late < 1
    assert common > 1.5 * late


def test_points_are_simulated_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_packets, "QUICK", TINY)
    done = CliRunner().invoke(app, ["theory", "chain", "packets", str(tmp_path), "--quick"])
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "packets.json").read_text("utf-8"))
    assert [(p["a"], p["ct"], p["flows"]) for p in found] == [
        each for each in chain_packets.POINTS if each[2] <= 32
    ]
    assert [chain_packets.Point.of(each).as_dict() for each in found] == found
    assert [each.name for each in tmp_path.glob("*.svg")] == ["packets.svg"]
    assert "around it: packets" in (KEPT / "phases.svg").read_text("utf-8")


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(RunError, match="cannot be written"):
        _write(tmp_path / "file", "packets", [])


def test_rows_are_printed_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_assumptions, "QUICK", chain_assumptions.Form(50, 20, 10, 1))
    done = CliRunner().invoke(app, ["theory", "chain", "between", "--quick", "--json"])
    assert done.exit_code == 0, done.output
    plain = json.loads(done.stdout)
    assert (plain["ct_packets"], plain["a"]) == (5.0, 0.2)
    whats = [row["what"] for row in plain["rows"]]
    assert (
        len(whats)
        == len(set(whats))
        == 3 + len(chain_assumptions.STEPS) + len(chain_assumptions.SHARES)
    )
    shown = CliRunner().invoke(app, ["theory", "chain", "between", "--quick"])
    assert "h, N = 50" in shown.output.replace("\n", " ")


def near(figures: dict[str, Any], kept: dict[str, Any]) -> None:
    for name, each in kept.items():
        assert figures[name]["mean"] == pytest.approx(each["mean"], rel=1e-6), name


def test_the_stored_points_agree_with_the_code() -> None:
    kept = json.loads((KEPT / "packets.json").read_text("utf-8"))
    full = chain_packets.FULL
    expected = [each for each in chain_packets.POINTS if each[2] <= full.most]
    assert [(p["a"], p["ct"], p["flows"]) for p in kept] == expected
    [small] = [p for p in kept if (p["a"], p["ct"], p["flows"]) == (0.2, 5.0, 32)]
    model = Model(32, 5.0)
    shape = full.length, full.warm_up
    [again] = chain_packets.measured([chain_packets.scenario(model, *shape, full.replications)])
    near(vars(again) | {k: v.as_dict() for k, v in vars(again).items()}, small["packets"])
    least = simulate_packet_level_chain(model, chain_packets.MINIMAL, WIDE, *shape, 1)
    near({k: v.as_dict() for k, v in vars(least).items()}, small["minimal"])
    # What docs/theory/chain.md says of them.
    for p in kept:
        ratio = p["minimal"]["h"]["mean"] / p["packets"]["h"]["mean"]
        assert 1 / 3.5 < ratio < 3.5
        assert abs(p["minimal"]["utilization"]["mean"] - p["packets"]["utilization"]["mean"]) < 0.07


def test_the_stored_rows_agree_with_the_code() -> None:
    kept = json.loads((KEPT / "between.json").read_text("utf-8"))["rows"]
    by = {(row["what"], row["flows"]): row["figures"] for row in kept}
    form = chain_assumptions.FULL
    times = form.length, form.warm_up, form.replications
    again = simulate_packet_level_chain(
        Model(50, 5.0), chain_assumptions.STEPS["both"], WIDE, *times
    )
    near({k: v.as_dict() for k, v in vars(again).items()}, by["both", 50])
    for flows in chain_assumptions.FLOWS:
        apart = by["packet by packet", flows]["h"]["mean"]
        for enough in ("answered a round trip after the mark", "or: one queue for all"):
            assert by[enough, flows]["h"]["mean"] > 5 * apart
