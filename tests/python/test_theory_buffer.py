"""``marqueue theory buffer``: rules, predictions of models, and the smallest sufficient buffer."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.design.buffer_check import Measurement, check, scenario
from marqueue.design.buffer_recommendation import Row, recommend
from marqueue.errors import MarqueueError, ModelError
from marqueue.statistics.estimates import Estimate
from marqueue.theory.buffer_sizing import AQMS, RULES, Demand, Prediction, predict
from marqueue.units import Duration

KEPT = Path(__file__).parents[2] / "docs/theory/buffer"
LINK = ["theory", "buffer", "--capacity", "100 Mbit/s", "--flows", "100", "--rtt", "240 ms"]


def demand(**change: Any) -> Demand:
    return Demand(
        **{
            "capacity": 1e8,
            "flows": 100,
            "rtt": 0.24,
            "utilization": 0.98,
            "loss": 0.01,
            **change,
        }
    )


def test_rules_are_their_formulas() -> None:
    assert [rule.buffer(demand()) for rule in RULES] == [2000, 200, 20, math.ceil(12 * 100**0.3)]


def test_droptail_is_gaussian_where_the_buffer_takes_windows() -> None:
    found = predict(demand(), 200)
    assert found.model == "Gaussian"
    assert found.utilization == pytest.approx(
        math.erf(3 * math.sqrt(3) / (2 * math.sqrt(2)) * 200 * 10 / 2200)
    )
    assert found.loss == pytest.approx(1.5 / 22**2)


def test_small_buffers_are_a_fixed_point_of_tcp_and_random_arrivals() -> None:
    link = demand()
    found = predict(link, 20)
    assert found.model == "Poisson"
    assert found.loss is not None
    assert found.utilization is not None
    load = math.sqrt(1.5 / found.loss) / link.window
    assert found.utilization == pytest.approx(load * (1 - found.loss))
    # M/D/1/20 by its embedded chain: unnormalised probabilities, then 1 - 1 / (pi_0 + rho).
    arrive = [math.exp(-load) * load**k / math.factorial(k) for k in range(40)]
    matrix = np.zeros((20, 20))
    for n in range(20):
        for k, p in enumerate(arrive):
            matrix[n, min(max(n - 1, 0) + k, 19)] += p
    system = np.vstack([(matrix.T - np.eye(20))[:-1], np.ones(20)])
    idle = np.linalg.solve(system, np.eye(20)[-1])[0]
    assert found.loss == pytest.approx(1 - 1 / (idle + load), rel=1e-6)


def test_models_without_a_prediction_say_why() -> None:
    few = predict(demand(flows=4), 100)
    assert (few.utilization, few.loss, few.model) == (None, None, "none")
    assert "halve together" in few.doubt
    codel = predict(demand(aqm="codel"), 200)
    assert codel.utilization is None
    assert "fixed point" in codel.doubt
    assert "target" in predict(demand(aqm="codel"), 20).doubt
    assert predict(demand(aqm="red", flows=1500), 20).utilization is None
    assert predict(demand(flows=700), 20).utilization is None


def test_scaled_is_the_chain() -> None:
    found = predict(demand(aqm="scaled"), 48)
    assert found.model == "chain"
    assert 0.5 < (found.utilization or 0) < 1
    assert 0 <= (found.loss or 0) < 1e-3


def row(name: int, buffer: int, predicted: Prediction, measured: tuple[float, float] | None) -> Row:
    if measured is None:
        return Row(RULES[name], buffer, predicted, None)
    each = [Estimate(x, 0.001, 4) for x in measured]
    return Row(RULES[name], buffer, predicted, Measurement(each[0], each[1]))


def test_the_smallest_sufficient_buffer_is_recommended_with_its_margin() -> None:
    good, bad, dumb = (Prediction(u, p, "", "") for u, p in ((1, 0), (0.9, 0), (None, None)))
    rows = [
        row(0, 100, good, None),
        row(1, 50, good, None),
        row(2, 9, bad, None),
        row(3, 3, dumb, None),
    ]
    best = recommend(demand(), rows)
    assert best is not None
    assert (best.row.buffer, best.loss_margin) == (50, 0.01)
    assert best.utilization_margin == pytest.approx(0.02)
    # What was measured decides, with the worse end of its interval.
    rows[1] = row(1, 50, good, (0.9805, 0.0))
    assert (recommend(demand(), rows) or best).row.buffer == 100
    rows[2] = row(2, 9, bad, (0.99, 0.001))
    assert (recommend(demand(), rows) or best).row.buffer == 9
    assert recommend(demand(), rows[3:]) is None


@pytest.mark.parametrize("aqm", AQMS)
def test_checks_are_scenarios_that_run(aqm: str) -> None:
    small = demand(capacity=2e6, flows=5, rtt=0.1, aqm=aqm)
    plan = scenario(small, 20)
    assert plan.name == f"20 packets under {aqm}"
    [found] = check(small, [20])
    assert 0.3 < found.utilization.mean <= 1
    assert 0 <= found.loss.mean < 0.2


def test_checks_of_fast_links_are_refused_if_they_take_too_long() -> None:
    # 16 runs of 60 round trips of 833,333 packets, at a million a second: 800 s.
    fast = demand(capacity=1e11, rtt=0.1, flows=10_000)
    with pytest.raises(ModelError, match=r"--check: 4 buffers, .* a core 13 min, .* at most 2 min"):
        check(fast, [1, 2, 3, 4])
    with pytest.raises(ModelError, match="at most 13 min"):
        check(fast, [1, 2, 3, 4], limit=799)
    assert Duration.parse(scenario(fast, 20).to_dict()["duration"]).seconds == pytest.approx(6.0)
    # Slow ones run longer, to have as many packets.
    slow = scenario(demand(), 20).to_dict()
    assert Duration.parse(slow["duration"]).seconds == pytest.approx(400 * 0.24)


def test_the_command_prints_its_results() -> None:
    asked = [*LINK, "--utilization", "0.98", "--loss", "0.001", "--json"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [each["buffer_packets"] for each in found["rules"]] == [2000, 200, 20, 48]
    assert found["recommendation"]["rule"] == "C x RTT"
    assert found["recommendation"]["by"] == "prediction"
    shown = CliRunner().invoke(app, [*LINK, "--aqm", "codel"])
    assert "no model" in shown.output
    assert "No rule is known to be sufficient" in shown.output


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--aqm", "pie2"], "--aqm: got"),
        (["--loss", "2"], "--loss: got 2.0"),
        (["--utilization", "1"], "--utilization: got 1.0"),
        (["--rtt", "fast"], "--rtt: got"),
        (["--capacity", "0 Mbit/s"], "--capacity"),
        (["--check-limit", "soon"], "--check-limit: "),
        (["--flows", "5000"], "--flows: 5000 flows have 0.4 packets"),
    ],
)
def test_mistakes_have_one_message(more: list[str], message: str) -> None:
    done = CliRunner().invoke(app, [*LINK, *more])
    assert isinstance(done.exception, MarqueueError)
    assert str(done.exception).startswith(message)


def test_the_stored_data_agree_with_the_models() -> None:
    for aqm in AQMS:
        kept = json.loads((KEPT / f"{aqm}.json").read_text(encoding="utf-8"))
        link = demand(aqm=aqm)
        assert kept["demand"] == vars(link)
        for each in kept["rules"]:
            said = predict(link, each["buffer_packets"])
            for name in ("utilization", "loss"):
                assert getattr(said, name) == (
                    None
                    if each["predicted"][name] is None
                    else pytest.approx(each["predicted"][name], rel=1e-6)
                )
