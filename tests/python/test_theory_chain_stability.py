"""The mean field compared with the map that it linearizes, and with the chain."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.errors import MarqueueError, ModelError
from marqueue.theory.marking_chain import Model, RttClass, mean_field, mean_window, simulate
from marqueue.theory.marking_chain.phases import boundary, cell, cells

KEPT = Path(__file__).parents[2] / "docs/theory/chain/phases.json"
DECAY = -np.log(0.8) / 10


@pytest.mark.parametrize("flows", [100, 100_000, 100_000_000])
def test_the_map_of_the_mean_window_has_its_closed_form_under_exp(flows: int) -> None:
    found = mean_window(Model(flows, 25.0, marking="EXP"))
    d = DECAY / flows**0.2

    def marked(rho: float) -> float:
        passed = -np.expm1(-rho * 25.0 * d)
        return float(rho * passed / (1 - rho + rho * passed))

    assert found.window * found.marked == pytest.approx(2, rel=1e-9)
    assert found.marked == pytest.approx(marked(found.load), rel=1e-9)
    step = 1e-6 * (1 - found.load)
    rise = np.log(marked(found.load + step) / marked(found.load - step)) / (2 * step)
    assert found.gain == pytest.approx(rise / 25.0, rel=1e-5)
    assert found.derivative == pytest.approx(1 - found.marked / 2 - found.gain)


def of_law(model: Model, law: np.ndarray) -> np.ndarray:
    """The map of the law of windows, one class of one slot, as it is written."""
    size = np.arange(1, len(law) + 1)
    rho = float(law @ size) / model.ct
    marked = model.at.marking(np.array([rho]), size.astype(float))[0]
    after = np.zeros(len(law))
    for w, x, p in zip(size, law, marked, strict=True):
        after[max(w // 2, 1) - 1] += x * p
        after[min(w + 1, len(law)) - 1] += x * (1 - p)
    return after


@pytest.mark.parametrize(("flows", "ct"), [(1000, 10.0), (30_000, 10.0), (10**6, 25.0), (500, 5.0)])
def test_one_class_has_the_eigenvalues_of_its_map(flows: int, ct: float) -> None:
    model = Model(flows, ct)
    found = mean_field(model)
    law = found.windows[0]
    assert np.abs(of_law(model, law) - law).max() < 1e-9
    # Its Jacobian by differences, without the sum that it conserves.
    jacobian = np.array(
        [
            (of_law(model, law + 1e-7 * e) - of_law(model, law - 1e-7 * e)) / 2e-7
            for e in np.eye(len(law))
        ]
    )
    jacobian -= np.outer(np.ones(len(law)), law)
    outside = int((np.abs(np.linalg.eigvals(jacobian)) > 1).sum())
    assert found.around == outside
    assert found.stable == (outside == 0)


def test_the_chain_is_quiet_if_and_only_if_its_mean_field_is_stable() -> None:
    for flows, rests in ((1000, True), (3_000_000, False)):
        model = Model(flows, 10.0)
        field, result = mean_field(model), simulate(model, 1500, 1000, 2)
        assert field.stable is rests
        assert (field.margin > 1) is rests
        assert (result.h.mean < 10) is rests
    calm = Model(1_000_000, 25.0)
    assert simulate(calm, 1500, 1000, 2).load.mean == pytest.approx(mean_field(calm).load, abs=5e-4)


def test_classes_of_other_round_trips_move_the_boundary() -> None:
    uniform = tuple(RttClass(rtt, 1) for rtt in (0.6, 0.8, 1.0, 1.2, 1.4))
    alike, spread = Model(20_000, 10.0), Model(20_000, 10.0, classes=uniform)
    assert mean_field(alike).margin < 1 < mean_field(spread).margin
    assert simulate(alike, 500, 500, 2).h.mean > 20 > simulate(spread, 500, 500, 2).h.mean


def test_models_without_a_fixed_point_are_refused() -> None:
    with pytest.raises(ModelError, match="overloaded"):
        mean_field(Model(100, 0.9))
    with pytest.raises(ModelError, match="one slot"):
        mean_window(Model(100, 10.0, slots=2))
    with pytest.raises(ModelError, match="more than 2"):
        mean_window(Model(100, 2.0))


def test_a_cell_of_the_diagram_knows_chain_and_mean_field() -> None:
    found = [cell("together", Model(n, 10.0), 300, 300) for n in (100, 10_000, 1_000_000)]
    assert [each.h > 3 for each in found] == [False, True, True]
    assert [(each.margin or 0) > 1 for each in found] == [True, False, False]
    assert 100 < (boundary(found) or 0) < 10_000
    assert boundary(found[:1]) is None
    assert boundary(found[1:]) == 0


def test_the_stored_diagram_agrees_with_the_code() -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert len(kept) == len(cells())
    for i in (20, 345, 610):
        again = cell(*cells()[i]).as_dict()
        for name, value in kept[i].items():
            assert again[name] == (
                pytest.approx(value, rel=1e-6) if isinstance(value, float) else value
            ), name
    # Chain and mean field agree on who is calm, but for cells next to the boundary.
    apart = [c for c in kept if c["margin"] and (c["margin"] < 1) != (c["h"] > 3)]
    assert len(apart) <= 15
    assert all(c["flows"] <= 32 or 0.8 < c["margin"] < 1.2 for c in apart)


def invoke(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["theory", "chain", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_the_command_prints_json() -> None:
    code, out, _ = invoke(
        *["--flows", "1000", "--flows", "1e9", "--a", "0.2", "--ct", "25"],
        *["--marking", "red:2:10:0.2"],
        *["--length", "300", "--warm-up", "200", "-r", "2", "--json"],
    )
    assert code == 0
    plain = json.loads(out)
    assert [run["flows"] for run in plain["runs"]] == [1000, 10**9]
    few, many = plain["runs"]
    assert few["mean_field"]["stable"] is True
    assert many["mean_field"]["stable"] is False
    assert 0.8 < few["utilization"]["mean"] < 0.85
    assert len(few["queue"]["probability"]) == len(few["queue"]["at_least_packets"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--flows 1.5", "--flows: got"),
        ("--flows many", "--flows: got"),
        ("--ct 0", "ct: got 0"),
        ("--rtt-classes 1:x", "--rtt-classes: got"),
        ("--length 1", "length: got 1"),
        ("-r 0", "replications: got 0"),
    ],
)
def test_mistakes_have_one_message(arguments: str, message: str) -> None:
    done = CliRunner().invoke(app, ["theory", "chain", *arguments.split()])
    assert isinstance(done.exception, MarqueueError)
    assert str(done.exception).startswith(message)
    assert done.stdout == ""


def test_exponents_outside_the_theorems_get_a_warning() -> None:
    code, _, err = invoke("--flows", "100", "--a", "0.45", "--length", "20", "--warm-up", "0")
    assert code == 0
    assert "0 < a < b < 1/2" in err
