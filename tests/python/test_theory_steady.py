"""Laws of TCP compared with limits; fixed points compared with closed forms and with packets."""

import json
import math
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.errors import ModelError, ScenarioError
from marqueue.scenario import Scenario, from_dict, load
from marqueue.simulation.run import run
from marqueue.theory.steady_state.model import steady
from marqueue.theory.tcp import laws
from test_theory_linear import dumbbell

RED = {
    "name": "red", "min_th": "20 packets", "max_th": "80 packets", "max_p": 0.1, "w_q": 0.002,
}  # fmt: skip

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def small(aqm: dict[str, Any], *, ecn: bool, seconds: int = 40) -> dict[str, Any]:
    """20 flows of 60 ms over 3750 packets/s."""
    data = dumbbell(aqm, buffer="200 packets", signal="ecn" if ecn else "drop")
    data |= {"duration": f"{seconds} s", "warmup": "10 s", "replications": 2}
    data["topology"]["rtts"] = ["60 ms"]
    data["traffic"][0] |= {"count": 20, "jitter": "1 s"}
    data["transport"]["default"] |= {"ecn": ecn, "recovery": "sack"}
    return data


def test_the_law_of_marks_goes_to_that_of_rare_losses() -> None:
    for per_ack in (1, 2):
        at, above = (laws.marked_aimd(p, per_ack) for p in (1.01e-6, 1e-3))
        assert at == pytest.approx(laws.random_aimd(1.01e-6, per_ack), rel=2e-3)
        # Several marks in a round trip are one, but the round trip of a cut has no growth.
        assert above == pytest.approx(laws.random_aimd(1e-3, per_ack), rel=0.05)
    assert laws.marked_aimd(0.99) == pytest.approx(1, abs=0.05)


def test_timeouts_are_what_pftk_adds() -> None:
    for p in (1e-5, 1e-3, 0.05):
        assert laws.pftk_no_timeouts(p) > laws.pftk(p, 0.1, 1.0)
    rare = laws.pftk_no_timeouts(1e-8)
    assert rare == pytest.approx(laws.regular_aimd(1e-8), rel=1e-3)


def test_one_link_under_the_square_root_law_is_solved_by_hand() -> None:
    found = steady(from_dict(small({"name": "pi", "q_ref": "50 packets"}, ecn=True)), "square-root")
    link = found.links["bottleneck"]
    [flows] = found.classes.values()
    window = 3750 * flows.rtt / 20
    assert flows.rtt == pytest.approx(0.060 + 50 / 3750, abs=1e-3)
    assert flows.window == pytest.approx(window, rel=1e-9)
    assert link.probability == pytest.approx(1.5 / window**2, rel=1e-9)
    assert link.utilization == pytest.approx(1)
    # All alike: every notion of fairness is the same.
    assert flows.proportionally_fair == pytest.approx(flows.rate, rel=1e-6)
    assert flows.max_min == pytest.approx(flows.rate, rel=1e-6)


@pytest.mark.parametrize("aqm", [{"name": "avq", "gamma": 0.9}, {"name": "gkvq", "theta": 0.9}])
def test_virtual_queues_hold_their_utilization_without_a_queue(aqm: dict[str, Any]) -> None:
    found = steady(from_dict(small(aqm, ecn=True)))
    link = found.links["bottleneck"]
    assert (link.queue, link.utilization) == (0.0, pytest.approx(0.9))


def test_a_scaled_curve_settles_where_poisson_arrivals_have_it_and_so_do_packets() -> None:
    paper = files("marqueue.papers.small_buffer") / "scenarios" / "dumbbell.toml"
    with as_file(paper) as file:
        rtts = ", ".join(f'"{rtt} ms"' for rtt in range(125, 285, 10))
        exp = [
            "topology.bottleneck.aqm.curve=exp:10:0.2",
            "traffic.long.sample_cwnd=false",
            f"topology.rtts=[{rtts}]",
        ]
        scenario = load(file, [*exp, "replications=2"])
    found = steady(scenario)
    link = found.links["bottleneck"]
    assert link.queue == pytest.approx(link.utilization / (1 - link.utilization))
    # 1 - p is E[exp(-Q/eta)] of the geometric Q; the table is linear between its loads.
    eta, rho = -10 * 200**0.2 / math.log(0.8), link.utilization
    unmarked = (1 - rho) / (1 - rho * math.exp(-1 / eta))
    assert link.probability == pytest.approx(1 - unmarked, rel=1e-3)
    measured = run(scenario).summary()["measured"]["links"]["bottleneck"]
    # Windows swing a little (h = 1.6), and Theorem 1's arrivals would not: 1.5% of the link idle
    # that should not be, and a queue that is shorter by as much of 1/(1 - rho).
    assert measured["utilization"]["mean"] == pytest.approx(rho, abs=0.025)
    assert measured["mark_ratio"]["mean"] == pytest.approx(link.probability, rel=0.08)
    assert measured["queue_mean"]["mean"] == pytest.approx(link.queue, rel=0.15)


def test_packets_under_drq_settle_where_the_fixed_point_is() -> None:
    data = small({"name": "drq", "w_q": 0.002, "max_p": 0.5}, ecn=True, seconds=60)
    data["transport"]["default"]["ecn_field"] = "initial"
    data["topology"]["bottleneck"]["buffer"] = "1000 packets"
    data["traffic"][0]["count"] = 60
    scenario = from_dict(data | {"warmup": "20 s"})
    link = steady(scenario).links["bottleneck"]
    # By hand: q where gentle RED, 50 to 550 packets, has the price; marks are (15).
    assert link.queue == pytest.approx(50 + 500 * link.probability / 0.5)
    measured = run(scenario).summary()["measured"]["links"]["bottleneck"]
    marked = link.probability**2 / (1 + link.probability**2)
    # Of windows of 7 packets the law of marks is right to 5% (first test), p to twice that.
    assert measured["mark_ratio"]["mean"] == pytest.approx(marked, rel=0.1)
    assert measured["queue_mean"]["mean"] == pytest.approx(link.queue, rel=0.05)


def test_flows_that_obey_prices_share_as_the_closed_forms_say_and_packets_do() -> None:
    scenario = load(SCENARIOS / "mkc.toml")
    found = steady(scenario)
    [link], c, n, alpha = found.links.values(), 1e7, 4, 1e5
    lost = n * alpha / (0.9 * c + n * alpha)  # (47)
    assert link.probability == pytest.approx(lost)
    assert [each.rate for each in found.classes.values()] == pytest.approx([c / n / 1600] * n)
    measured = run(scenario).summary()["measured"]["links"]["bottleneck"]
    # The buffer of 100 packets is full but for the one in transmission, and what just left.
    assert measured["loss_ratio"]["mean"] == pytest.approx(lost, rel=0.01)
    assert measured["queue_mean"]["mean"] == pytest.approx(link.queue, rel=0.02)


def test_kelly_control_overloads_a_link_by_what_its_flows_would_pay() -> None:
    data = load(SCENARIOS / "mkc.toml").to_dict()
    for group in data["traffic"]:
        group["control"] = {"name": "kelly", "kappa": 0.1, "omega": "50 kbit/s"}
    [link] = steady(from_dict(data)).links.values()
    # N omega = X p = X - C.
    assert link.probability == pytest.approx(4 * 5e4 / (1e7 + 4 * 5e4))


def test_max_min_shares_of_two_links_are_those_of_the_maps() -> None:
    data = load(SCENARIOS / "mkc.toml").to_dict()
    hop = data["topology"].pop("bottleneck")
    data["topology"] = {
        "kind": "parking-lot", "access": {"rate": "1 Gbit/s", "delay": "1 ms"},
        "hops": [hop, hop | {"rate": "4 Mbit/s"}],
    }  # fmt: skip
    flow = data["traffic"][0]
    data["traffic"] = [
        flow | {"name": name, "classes": [name], "count": count}
        for name, count in (("through", 2), ("hop 1", 3))
    ]
    found = steady(from_dict(data))
    through, beside = found.classes.values()
    # Two share the second link and alone know of it, three what they leave of the first: alpha =
    # beta x p, p = (X - C)/X.
    of_second = (4e6 + 2e5 / 0.9) / 2
    first, second = found.links.values()
    assert second.probability == pytest.approx(1 - 4e6 / (2 * of_second))
    x = beside.rate * 1600 / (1 - first.probability)
    load_of_first = 3 * x + 2 * of_second
    assert pytest.approx(0.9 * x * (load_of_first - 1e7) / load_of_first) == 1e5
    assert through.rate * 1600 == pytest.approx(
        of_second * (1 - first.probability) * (1 - second.probability)
    )


def lots(scenario: dict[str, Any]) -> Scenario:
    """A parking lot of two hops, the second of which is congested by the through flows alone."""
    hop = {"rate": "20 Mbit/s", "delay": "10 ms", "buffer": "100 packets", "signal": "drop"}
    scenario["topology"] = {
        "kind": "parking-lot", "access": {"rate": "1 Gbit/s", "delay": "5 ms"},
        "hops": [
            hop | {"aqm": {"name": "red"}},
            hop | {"rate": "100 Mbit/s", "aqm": {"name": "red"}},
        ],
    }  # fmt: skip
    scenario["transport"] = {"default": {"preset": "rfc"}}
    scenario["traffic"] = [{"name": "through", "kind": "tcp", "classes": ["through"], "count": 10}]
    return from_dict(scenario)


def test_a_link_that_is_not_full_sends_no_signals() -> None:
    found = steady(lots(small(RED, ecn=False)))
    first, second = found.links.values()
    assert first.utilization == pytest.approx(1)
    assert second.probability == second.queue == 0
    assert second.utilization == pytest.approx(0.2)


@pytest.mark.parametrize("ecn", [True, False])
def test_packets_settle_where_the_fixed_point_is(ecn: bool) -> None:
    scenario = from_dict(small(RED, ecn=ecn))
    # SACK repairs its losses without timeouts, which PFTK is about.
    found = steady(scenario, "ecn" if ecn else "random")
    measured = run(scenario).summary()["measured"]["links"]["bottleneck"]
    link = found.links["bottleneck"]
    told = measured["mark_ratio" if ecn else "loss_ratio"]["mean"]
    # The queue swings by 24 packets, empties, and wastes 3% of the link: windows are so much
    # smaller than those that would fill it, and p, which goes as 1/W^2, 6% larger. With losses the
    # law's own error comes on top, 3/W + pW/2 at W = 16 at a loss (validate's rung of loss laws),
    # of which there is half.
    assert told == pytest.approx(link.probability, rel=0.08 if ecn else 0.25)
    # A change of p is one of a queue between the thresholds, 20 + 600 p (1 + p/2): of p's error the
    # queue has a third.
    assert measured["queue_mean"]["mean"] == pytest.approx(link.queue, rel=0.1)
    assert measured["utilization"]["mean"] == pytest.approx(link.utilization, abs=0.05)


def test_the_command_and_what_it_refuses(tmp_path) -> None:
    file = tmp_path / "red.toml"
    file.write_text(tomli_w.dumps(small(RED, ecn=True)), encoding="utf-8")
    line = ["theory", "steady", str(file)]
    found = json.loads(CliRunner().invoke(app, [*line, "--json"]).stdout)
    assert found["law"] == "ecn"
    assert math.isclose(found["links"]["bottleneck"]["utilization"], 1, rel_tol=1e-6)
    assert "Law of TCP: pftk" in CliRunner().invoke(app, [*line, "--law", "pftk"]).stdout
    wrong = CliRunner().invoke(app, [*line, "--law", "reno"])
    assert wrong.exit_code == 2
    assert "expected one of" in wrong.output
    with pytest.raises(ScenarioError, match='outside the steady model of drq: ecn_field = "ect"'):
        steady(from_dict(small({"name": "drq"}, ecn=True)))
    with pytest.raises(ModelError, match="law: got pftk, expected none: flows that obey prices"):
        steady(load(SCENARIOS / "mkc.toml"), "pftk")
    mixed = load(SCENARIOS / "mkc.toml").to_dict()
    mixed["traffic"][1]["control"] = "kelly"
    with pytest.raises(ScenarioError, match="kelly beside mkc, expected one law"):
        steady(from_dict(mixed))
    with pytest.raises(ModelError, match="got ecn, expected a law of losses: a link drops"):
        steady(from_dict(small(RED, ecn=False)), "ecn")
