"""The model of CHOKeW: the paper's numbers, the equations at the fixed point, errors."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.errors import ModelError, ScenarioError
from marqueue.scenario import from_dict
from marqueue.theory.chokew.from_scenario import solve_scenario
from marqueue.theory.chokew.model import (
    Flows,
    entry_probability,
    equilibrium,
    fairness,
    starvation_bound,
    starvation_share,
    waiting_time,
)


def mix(udp: int = 0, high: float = 2.0, rto: float = 0.0) -> list[Flows]:
    flows = [
        Flows("low", "tcp", 50, 1.0, rtt=0.014, rto=rto),
        Flows("high", "tcp", 50, high, rtt=0.014, rto=rto),
    ]
    return flows + ([Flows("udp", "cbr", udp, 2.0, rate=1250.0)] if udp else [])


@pytest.mark.parametrize(
    ("r", "paper", "exact"), [(0.01, 68.9, 68.97), (0.017, 40.4, 40.43), (0.009, 76.7, 76.67)]
)
def test_the_starvation_bound_of_equation_9(r: float, paper: float, exact: float) -> None:
    assert starvation_bound(r) == pytest.approx(exact, abs=0.005)
    assert starvation_bound(r) == pytest.approx(paper, abs=0.1)
    assert starvation_share(starvation_bound(r)) == pytest.approx(r, rel=1e-12)


def test_chokes_starved_flow_holds_half_of_the_queue() -> None:
    # With p = 1 a flow is starved from half of the queue on, as known of CHOKe (section 3.1).
    assert starvation_share(1.0) == 0.5


def test_entry_probability_is_close_to_equation_5_for_small_shares() -> None:
    assert entry_probability(0.5, 2.25) == 0.5**2 * (1 - 0.25 * 0.5)
    for p in (0.3, 2.7, 40.5):
        assert entry_probability(0.001, p) == pytest.approx((1 - 0.001) ** p, rel=1e-6)


@pytest.mark.parametrize("udp", [0, 1, 5, 10])
@pytest.mark.parametrize("rto", [0.0, 0.2])
def test_the_fixed_point_satisfies_16a_to_16d_and_fills_the_link(udp: int, rto: float) -> None:
    capacity, queue = 125.0, 175.0
    solved = equilibrium(mix(udp, rto=rto), capacity, queue)
    alive = [share for share in solved.shares if not share.starved]
    entering = queue / solved.waiting_time
    assert sum(s.flows.count * s.matching_probability for s in solved.shares) == pytest.approx(1)
    assert sum(s.flows.count * s.delivered for s in alive) == pytest.approx(capacity)
    for share in alive:
        r, p = share.matching_probability, share.drawing_factor
        eta = (1 - r) ** p
        assert p == pytest.approx(solved.p0 / share.flows.weight)
        assert share.dropping_probability == pytest.approx(2 - 2 * eta)
        assert r == pytest.approx(share.sent * eta / entering, rel=1e-6)
        assert share.delivered == pytest.approx(share.sent * (1 - share.dropping_probability))
        assert p < share.starvation_bound


def test_littles_law_holds_for_the_leaky_buffer() -> None:
    solved = equilibrium(mix(5), 125.0, 175.0)
    alive = [share for share in solved.shares if not share.starved]
    # (13): packets that survive wait as long as any: L'_i = D lambda'_i is no more than L_i.
    for share in alive:
        assert solved.waiting_time * share.delivered <= 175.0 * share.matching_probability
    assert waiting_time(175.0, 350.0) == 0.5


def test_a_higher_weight_gets_more_and_udp_is_blocked() -> None:
    gains = []
    for high in (1.0, 1.5, 2.0, 3.0, 4.0):
        solved = equilibrium(mix(high=high), 125.0, 175.0)
        gains.append(solved.share("high").delivered / solved.share("low").delivered)
    assert gains[0] == pytest.approx(1.0)
    assert all(np.diff(gains) > 0), "section 3.4: a smaller p means a larger share"
    p0 = [equilibrium(mix(n), 125.0, 175.0).p0 for n in (1, 2, 5, 10)]
    assert all(np.diff(p0) > 0), "figure 10"
    assert equilibrium(mix(10), 125.0, 175.0).share("udp").starved


def test_dropping_rises_with_the_drawing_factor() -> None:
    # Section 3.4, dq/dp > 0, with everything else of the fixed point held: one flow among many.
    def dropping(p: float, others: float = 300.0, alpha: float = 2.0) -> float:
        low, high = 0.0, starvation_share(p)
        for _ in range(100):
            r = (low + high) / 2
            eta = (1 - r) ** p
            mu = alpha * math.sqrt(1.5 / (2 - 2 * eta)) * eta if r > 0 else math.inf
            low, high = (r, high) if mu / (mu + others) > r else (low, r)
        return 2 - 2 * (1 - low) ** p

    values = [dropping(p) for p in np.linspace(0.5, 60, 40)]
    assert all(np.diff(values) > 0)


@pytest.mark.parametrize("p", [0.5, 5.0, 30.0])
@pytest.mark.parametrize("ratio", [1.0, 1.5, 4.0])
def test_chokew_is_fairer_than_equal_losses_equation_22(p: float, ratio: float) -> None:
    under_chokew, under_red = fairness((ratio, 1.0), p, 150.0)
    assert under_red == ratio
    if ratio == 1.0:
        assert under_chokew == pytest.approx(1.0)
    else:
        assert under_chokew < under_red


def test_near_starvation_the_faster_flow_gets_less_which_22_does_not_exclude() -> None:
    assert 1 < fairness((4.0, 1.0), 5.0, 150.0)[0] < 4
    assert fairness((4.0, 1.0), 30.0, 150.0)[0] < 1


@pytest.mark.parametrize(
    ("flows", "capacity", "queue", "message"),
    [
        ([], 125.0, 175.0, "flows: got none"),
        (
            [Flows("a", "tcp", 1, 0.5, rtt=0.1)],
            125.0,
            175.0,
            "a.weight: got 0.5",
        ),
        ([Flows("a", "tcp", 1, 1.0)], 125.0, 175.0, "a.rtt: got 0, expected more than 0 s"),
        ([Flows("a", "cbr", 1, 1.0, rate=100.0)], 125.0, 175.0, "the model needs congestion"),
        (mix(), 0.0, 175.0, "capacity: got 0"),
        (mix(), 125.0, math.nan, "queue: got nan"),
        (mix(), 125.0, math.inf, "queue: got inf, expected a finite number"),
    ],
)
def test_flows_outside_the_model_are_refused(
    flows: list[Flows], capacity: float, queue: float, message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        equilibrium(flows, capacity, queue)


SCENARIO: dict[str, Any] = {
    "name": "two levels",
    "duration": "100 s",
    "topology": {
        "kind": "dumbbell",
        "rtts": ["6 ms"],
        "bottleneck": {
            "rate": "1 Mbit/s",
            "delay": "1 ms",
            "buffer": "500 packets",
            "aqm": {"name": "chokew", "weights": {"AF11": 2}},
        },
        "access": {"rate": "10 Mbit/s", "delay": "1 ms"},
    },
    "transport": {"default": {"preset": "ns2"}},
    "traffic": [
        {"kind": "tcp", "name": "low", "count": 50},
        {"kind": "tcp", "name": "high", "count": 50, "dscp": 10},
        {"kind": "cbr", "name": "udp", "rate": "10 Mbit/s", "packet": "1000 B", "dscp": "AF11"},
    ],
}


def test_a_scenario_gives_the_flows_of_the_model() -> None:
    solved = solve_scenario(from_dict(SCENARIO), law="sqrt")
    low, high, udp = (share.flows for share in solved.shares)
    assert (low.count, low.weight, high.weight) == (50, 1.0, 2.0)
    # 3 ms of propagation each way; 0.8 ms, 8 ms and 0.8 ms to send 1000 bytes.
    assert low.rtt == pytest.approx(0.006 + 0.0096)
    assert (udp.rate, udp.weight) == (1250.0, 2.0)
    assert solved.queue == 175.0


UNDER_RED = {"rate": "1 Mbit/s", "delay": "1 ms", "buffer": "9 packets", "aqm": "red"}
SMALL = {"kind": "cbr", "name": "b", "rate": "1 Mbit/s", "packet": "100 B"}
OUTSIDE: list[tuple[dict[str, Any], str]] = [
    (
        {"topology": SCENARIO["topology"] | {"bottleneck": UNDER_RED}},
        "expected one link with aqm = chokew, got 0",
    ),
    ({"traffic": [{"kind": "tcp", "size": "10 packets"}]}, "long TCP"),
    ({"traffic": [*SCENARIO["traffic"], SMALL]}, "one size, got 100, 1000 bytes"),
]


@pytest.mark.parametrize(("change", "message"), OUTSIDE)
def test_a_scenario_outside_the_model_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        solve_scenario(from_dict(SCENARIO | change))


def test_the_command_prints_json_and_refuses_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(tomli_w.dumps(SCENARIO))
    done = CliRunner().invoke(app, ["theory", "chokew", str(file), "--json"])
    assert done.exit_code == 0, done.output
    solved = json.loads(done.stdout)
    assert [flows["starved"] for flows in solved["flows"]] == [False, False, True]
    done = CliRunner().invoke(app, ["theory", "chokew", str(file), "--law", "cubic"])
    assert done.exit_code == 2
    assert "sqrt, pftk, pairs" in done.output
    done = CliRunner().invoke(app, ["theory", "chokew", str(file), "--queue", "inf"])
    assert isinstance(done.exception, ModelError)
    under_red = ["--set", "topology.bottleneck.aqm=red"]
    done = CliRunner().invoke(app, ["theory", "chokew", str(file), *under_red])
    assert str(done.exception).startswith(f"{file}: topology: outside the model")


def test_flows_that_take_a_matched_pair_for_one_loss_need_more_drawing() -> None:
    alone = equilibrium(mix(rto=0.2), 125.0, 150.0)
    paired = equilibrium([replace(f, lost_at_once=2.0) for f in mix(rto=0.2)], 125.0, 150.0)
    # They send at a loss of q as the others at q / 2, so that the link is full at a higher q.
    assert paired.p0 > 1.5 * alone.p0
    with pytest.raises(ModelError, match="lost_at_once"):
        equilibrium([replace(f, lost_at_once=0.5) for f in mix()], 125.0, 150.0)
