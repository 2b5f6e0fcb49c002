"""``marqueue theory buffer``: rules, statements of models, and the smallest sufficient buffer."""

import json
import math
import re
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from benches import buffer_grid
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.design.buffer_check import Measurement, check, scenario
from marqueue.design.buffer_recommendation import Row, recommend
from marqueue.errors import MarqueueError, ModelError
from marqueue.statistics.estimates import Estimate
from marqueue.theory.buffer_sizing import AQMS, RULES, Demand, Model, Statement, predict
from marqueue.theory.buffer_sizing.models import codel_rise
from marqueue.theory.buffer_sizing.statements import Quantity
from marqueue.units import Duration
from marqueue.validation import TaskRunner, buffers

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


def said(link: Demand, buffer: int) -> dict[tuple[str, str], Statement]:
    return {(each.model.name, each.model.quantity): each for each in predict(link, buffer)}


def value(link: Demand, buffer: int, model: str, quantity: str = "utilization") -> float:
    found = said(link, buffer)[model, quantity].value
    assert found is not None
    return found


def test_the_gaussian_bound_and_the_square_root_law_are_their_formulas() -> None:
    found = said(demand(), 200)
    gaussian, loss = found["Gaussian", "utilization"], found["square-root law", "loss"]
    assert (gaussian.model.kind, loss.model.kind) == ("lower bound", "lower bound")
    assert gaussian.value == pytest.approx(
        math.erf(3 * math.sqrt(3) / (2 * math.sqrt(2)) * 200 * 10 / 2200)
    )
    assert loss.value == pytest.approx(1.5 / 22**2)


def full(load: float, places: int) -> float:
    """Loss of M/D/1/B by its embedded chain: unnormalised probabilities, then
    1 - 1 / (pi_0 + rho)."""
    arrive = [math.exp(-load) * load**k / math.factorial(k) for k in range(2 * places)]
    matrix = np.zeros((places, places))
    for n in range(places):
        for k, p in enumerate(arrive):
            matrix[n, min(max(n - 1, 0) + k, places - 1)] += p
    system = np.vstack([(matrix.T - np.eye(places))[:-1], np.ones(places)])
    idle = np.linalg.solve(system, np.eye(places)[-1])[0]
    return float(1 - 1 / (idle + load))


@pytest.mark.parametrize(("model", "places"), [("smooth", 20), ("bursts", 10)])
def test_small_buffers_are_a_fixed_point_of_tcp_and_random_arrivals(
    model: str, places: int
) -> None:
    link = demand()
    utilization = value(link, 20, model)

    def excess(load: float) -> float:
        return full(load, places) - 1.5 / (load * link.window) ** 2

    load = brentq(excess, 0.5, 1.5)
    assert utilization == pytest.approx(load * (1 - full(load, places)), rel=1e-6)


@given(
    window=st.floats(1.5, 60), flows=st.integers(10, 3000), rtt=st.floats(0.01, 0.5),
    packets=st.lists(st.integers(1, 20_000), min_size=2, max_size=5, unique=True),
)  # fmt: skip
@settings(max_examples=30)
def test_no_model_loses_utilization_by_a_larger_buffer(
    window: float, flows: int, rtt: float, packets: list[int]
) -> None:
    link = demand(capacity=window * flows * 12_000 / rtt, flows=flows, rtt=rtt)
    every = [said(link, buffer) for buffer in sorted(packets)]
    for model, quantity in every[0]:
        values = [each[model, quantity].value for each in every]
        stated = np.array([value for value in values if value is not None])
        # Below a buffer that is too small a model says nothing, and from there on always something.
        assert values[len(values) - len(stated) :] == list(stated)
        sign = -1 if quantity == "loss" else 1
        assert np.all(sign * np.diff(stated) >= -1e-9), (model, quantity, stated)


def test_models_without_a_statement_say_why() -> None:
    few = said(demand(flows=4), 100)
    assert all(each.value is None and each.why for each in few.values())
    assert "synchronized" in few["Gaussian", "utilization"].why
    [codel] = predict(demand(aqm="codel"), 200)
    assert codel.value is None
    assert "not how long the queue is" in codel.why
    assert said(demand(aqm="codel"), 20).keys() == said(demand(), 20).keys()
    assert [each.value for each in predict(demand(aqm="red"), 2000)] == [None]
    assert "timeouts" in said(demand(flows=700), 20)["smooth", "utilization"].why
    assert "timeouts" in said(demand(flows=400), 20)["square-root law", "loss"].why
    assert "bursts" in said(demand(flows=50), 20)["bursts", "utilization"].why
    assert said(demand(), 1999)["rule of thumb", "utilization"].value is None
    assert value(demand(flows=4), 2000, "rule of thumb") == 1.0
    assert [each.value for each in predict(demand(aqm="avq"), 200)] == [pytest.approx(0.99)]
    assert [each.value for each in predict(demand(aqm="avq"), 199)] == [None]


def test_only_models_with_a_known_error_are_relied_upon() -> None:
    for aqm in AQMS:
        for each in predict(demand(aqm=aqm), 2000):
            known = each.model.error is not None and each.value is not None
            assert (each.reliable is not None) == known
    found = said(demand(), 48)
    for model, low in (("Gaussian", -0.006), ("bursts", -0.02), ("smooth", -0.135)):
        statement = found[model, "utilization"]
        assert statement.reliable == pytest.approx((statement.value or 0) + low)
    loss = found["square-root law", "loss"]
    assert loss.reliable == pytest.approx(3.7 * (loss.value or 0))


def test_scaled_is_the_chain() -> None:
    found = said(demand(aqm="scaled"), 48)
    assert 0.5 < (found["chain", "utilization"].value or 0) < 1
    assert 0 <= (found["chain", "loss"].value or 0) < 1e-3


def stated(utilization: float | None, loss: float | None) -> list[Statement]:
    exact = {"utilization": (0.0, 0.0), "loss": (1.0, 1.0)}
    models = {
        name: Model("", name, "approximation", "", "", "", exact[name])
        for name in get_args(Quantity)
    }
    return [
        models["utilization"].states(0.1),  # the worse of two guarantees does not count
        Statement(models["utilization"], utilization),
        Statement(models["loss"], loss),
    ]


def row(
    name: int, buffer: int, statements: list[Statement], measured: tuple[float, float] | None
) -> Row:
    if measured is None:
        return Row(RULES[name], buffer, statements, None)
    each = [Estimate(x, 0.001, 4) for x in measured]
    return Row(RULES[name], buffer, statements, Measurement(each[0], each[1]))


def test_the_smallest_sufficient_buffer_is_recommended_with_its_margin() -> None:
    good, bad, dumb = (stated(u, p) for u, p in ((1, 0), (0.9, 0), (None, None)))
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
    asked = [*LINK, "--utilization", "0.98", "--loss", "0.004", "--json"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [each["buffer_packets"] for each in found["rules"]] == [2000, 200, 20, 48]
    assert found["recommendation"]["rule"] == "C x RTT"
    assert found["recommendation"]["by"] == "models"
    shown = CliRunner().invoke(app, [*LINK, "--aqm", "codel"])
    assert "none applies" in shown.output
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


def test_a_bound_is_shown_as_a_bound() -> None:
    line = ["theory", "buffer", "--capacity", "200 Mbit/s", "--flows", "250", "--rtt", "150 ms"]
    done = CliRunner().invoke(app, [*line, "--loss", "0.02"])
    assert "≥ 0.6874" in done.output
    assert "≈ 0.9826" in done.output
    assert "Omitted for C x RTT / sqrt(N), O(1), N^b: rule of thumb: the buffer" in done.output
    assert "Recommended: C x RTT, 2500 packets (models)" in done.output


@pytest.fixture(scope="module")
def grid() -> dict[str, tuple[float, float]]:
    """The measured grid: mean and half width by name."""
    [rung] = json.loads((KEPT / "grid.json").read_text(encoding="utf-8"))["rungs"]
    return {
        check["what"]: (check["figure"]["mean"], check["figure"]["half_width"])
        for check in rung["checks"]
    }


def test_the_errors_in_force_are_those_of_the_stored_grid(
    grid: dict[str, tuple[float, float]],
) -> None:
    """Each error holds everywhere and is reached nearly somewhere, within its range."""
    found: dict[Model, list[tuple[float, float]]] = {}
    assert len(buffers.grid()) == 40
    for point in buffers.grid():
        for each in predict(buffers.demand(*point[:2]), point[2]):
            if each.value is not None:
                mean, half = grid[f"{buffers.place(*point)}: {each.model.quantity}"]
                low, high = (
                    (mean / each.value, mean / each.value)
                    if each.model.quantity == "loss"
                    else (mean - half - each.value, mean + half - each.value)
                )
                found.setdefault(each.model, []).append((low, high))
    assert {model.name for model in found} == {
        "rule of thumb", "Gaussian", "smooth", "bursts", "square-root law"
    }  # fmt: skip
    for model, errors in found.items():
        assert model.error is not None
        low, high = min(low for low, _ in errors), max(high for _, high in errors)
        loose = 0.1 if model.quantity == "loss" else 0.015
        assert model.error[0] - 1e-9 <= low <= model.error[0] + loose, (model.name, low)
        assert model.error[1] - loose <= high <= model.error[1] + 1e-9, (model.name, high)


def test_the_picture_of_the_grid_has_the_points_of_the_page() -> None:
    drawn = buffer_grid.errors(KEPT / "grid.json")
    page = (KEPT.parent / "buffer.md").read_text(encoding="utf-8")
    for (model, quantity), points in drawn.items():
        # The page includes the intervals of utilization only.
        unit, digits, part = (" times", 2, 0) if quantity == "loss" else ("", 3, 1)
        low = min(error - part * half for _, error, half in points)
        high = max(error + part * half for _, error, half in points)
        said = re.search(rf"\| {model} \| (\d+) \| ([−\d.]+)(?: to ([\d.]+))?{unit} \|", page)
        assert said is not None, model
        assert int(said[1]) == len(points), model
        assert abs(float(said[2].replace("−", "-")) - low) < 0.51 * 10**-digits, model
        assert abs(float(said[3] or said[2]) - high) < 0.51 * 10**-digits, model


def test_the_grid_is_measured_again_at_four_points(grid: dict[str, tuple[float, float]]) -> None:
    bench = TaskRunner()
    for point in buffers.QUICK:
        for found in buffers.checks(bench, *point):
            assert found.verdict == "pass", found.what
            assert grid[found.what][0] == pytest.approx(found.figure.mean)


def test_a_link_beside_the_grid_is_within_the_errors() -> None:
    """200 Mbit/s, 250 flows, 63 packets: the bound says 0.687, and was once taken for a
    prediction."""
    link = demand(capacity=2e8, flows=250, rtt=0.15)
    [found] = check(link, [63])
    assert found.utilization.mean > 0.98
    bursts = said(link, 63)["bursts", "utilization"]
    assert bursts.model.error is not None
    low, high = (value(link, 63, "bursts") + error for error in bursts.model.error)
    assert low <= found.utilization.mean <= high
    assert found.utilization.mean >= value(link, 63, "Gaussian")
    law = value(link, 63, "square-root law", "loss")
    assert law <= found.loss.mean <= 3.7 * law


def test_the_stored_data_agree_with_the_models() -> None:
    for aqm in AQMS:
        kept = json.loads((KEPT / f"{aqm}.json").read_text(encoding="utf-8"))
        link = demand(aqm=aqm)
        assert kept["demand"] == vars(link)
        for each in kept["rules"]:
            again = predict(link, each["buffer_packets"])
            for statement, stored in zip(again, each["statements"], strict=True):
                assert (statement.model.name, statement.why or None) == (
                    stored["name"],
                    stored["omitted"],
                )
                assert statement.value == (
                    None if stored["value"] is None else pytest.approx(stored["value"], rel=1e-6)
                )


@pytest.mark.parametrize("interval", [0.02, 0.1])
def test_codels_signals_rise_as_its_law_says(interval: float) -> None:
    # The times of the first n signals, summed; after n = 400 the approximation is within 3.7 %.
    n = 400
    elapsed = sum(interval / math.sqrt(k) for k in range(1, n + 1))
    assert codel_rise(math.sqrt(n) / interval, interval) == pytest.approx(elapsed, rel=0.038)
