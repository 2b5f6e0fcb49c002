"""``theory.fluid`` and ``run --theory``: from a scenario to its model, compared with packets."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np
import pytest
import tomli_w
from typer.testing import CliRunner

import marqueue as package
from marqueue import theory
from marqueue.cli import app
from marqueue.errors import MarqueueError, ScenarioError
from marqueue.scenario import Transport, from_dict
from marqueue.theory.fluid.from_scenario import describe

Command = Callable[..., CompletedProcess[str]]

SCENARIO: dict[str, Any] = {
    "name": "Fluid",
    "duration": "30 s",
    "warmup": "10 s",
    "replications": 2,
    "sample": "100 ms",
    "topology": {
        "kind": "dumbbell",
        "rtts": ["60 ms", "100 ms"],
        "bottleneck": {
            "rate": "20 Mbit/s",
            "delay": "5 ms",
            "buffer": "200 packets",
            "signal": "ecn",
            "aqm": {"name": "red", "min_th": "40 packets", "max_th": "120 packets"},
        },
        "access": {"rate": "1 Gbit/s", "delay": "5 ms"},
    },
    "transport": {"default": {"preset": "ns2", "ecn": True}},
    "traffic": [{"name": "long", "kind": "tcp", "count": 20, "jitter": "1 s"}],
}


def with_aqm(**aqm: Any) -> dict[str, Any]:
    """The scenario under another AQM."""
    made: dict[str, Any] = json.loads(json.dumps(SCENARIO))
    made["topology"]["bottleneck"]["aqm"] = aqm
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fluid.toml"
    path.write_text(tomli_w.dumps(SCENARIO), encoding="utf-8")
    return path


def test_a_description_has_the_scenario_in_base_units() -> None:
    made = describe(from_dict(SCENARIO))
    [link] = made["links"]
    assert (link["capacity"], link["buffer"], link["signal"]) == (2500.0, 200.0, "ecn")
    # Weight: 1 - exp(-1 / (10 R C)), R = 0.1 s.
    assert link["aqm"]["curve"]["w_q"] == pytest.approx(1 - np.exp(-1 / 2500.0))
    assert link["aqm"]["gaps"] == "wait"
    short, long = made["classes"]
    assert short["count"] == long["count"] == 10
    # Three transmissions: at 20 Mbit/s and twice at 1 Gbit/s.
    assert short["rtt"] == pytest.approx(0.06 + 8000 / 20e6 + 2 * 8000 / 1e9)
    assert short["jitter"] == 1.0


def test_packets_have_their_timestamps() -> None:
    made: Any = json.loads(json.dumps(SCENARIO))
    made["transport"]["default"] = {"preset": "rfc", "ecn": True, "timestamps": True}
    # 12 bytes more than 40 of headers (RFC 7323, appendix A): no other size than the queue's own.
    wire = from_dict(made).transport["default"].wire_bytes
    assert wire == Transport("rfc", {"ecn": True}).wire_bytes + 12
    [link] = describe(from_dict(made))["links"]
    assert link["capacity"] == pytest.approx(20e6 / 8 / wire)


def test_the_model_is_near_the_packets_and_nearer_with_sawteeth() -> None:
    # docs/theory/fluid.md has the reasons: marks are spread, so that they find windows at their
    # peaks; 2/3 instead of 1/2. The rest is that two marks in a round trip are one cut.
    scenario = from_dict(SCENARIO)
    result = package.run(scenario, jobs=1)
    beside = result.add_theory()
    errors = beside.errors["bottleneck"]
    assert errors["queue"].packets.mean == pytest.approx(
        result.link().figures()["queue_mean"].mean, rel=0.03
    )
    marked = result.link().figures()["mark_ratio"].mean
    assert errors["probability"].packets.mean == pytest.approx(marked, rel=0.03)
    assert abs(errors["queue"].relative or 1) < 0.2
    assert abs(errors["window"].relative or 1) < 0.08
    published = errors["probability"].relative or 0.0
    sawtooth = theory.solve_fluid(scenario, "reno-sawtooth").means()["links"]["bottleneck"]
    assert abs(sawtooth["probability_mean"] / marked - 1) < abs(published) < 0.6
    assert errors["queue"].rms > abs(errors["queue"].difference)


def test_what_settles_under_avq_has_the_paper_s_equilibrium() -> None:
    # p* = N^2 / (beta (d gamma C)^2) of constant round trips; alpha is below the bound.
    scenario = with_aqm(name="avq", gamma=0.95, alpha="0.15 /s")
    scenario["topology"]["rtts"] = ["100 ms"]
    scenario["traffic"][0]["count"] = 150
    scenario |= {"duration": "200 s", "warmup": "190 s"}
    found = theory.solve_fluid(from_dict(scenario), "constant-rtt")
    rtt = found.model.description["classes"][0]["rtt"]
    p = 150**2 / (2 / 3 * (rtt * 0.95 * 2500) ** 2)
    assert found.probability[-1] == pytest.approx(p, rel=1e-3)
    assert found.link().utilization[-1] == pytest.approx(0.95, rel=1e-4)
    assert found.queue[-1] == 0.0


@pytest.mark.parametrize(
    ("aqm", "reference"),
    [
        ({"name": "pi", "a": 1e-4, "b": 9.9e-5, "q_ref": "60 packets"}, 60.0),
        ({"name": "rem", "gamma": 0.01, "q_ref": "60 packets"}, 60.0),
    ],
)
def test_controllers_settle_at_their_reference_and_are_stable_there(
    aqm: dict[str, Any], reference: float
) -> None:
    scenario = with_aqm(**aqm) | {"duration": "120 s", "warmup": "100 s"}
    found = theory.solve_fluid(from_dict(scenario))
    assert found.queue[-1] == pytest.approx(reference, rel=0.02)
    assert found.linearize().roots[0].real < 0
    margins = found.margins()
    assert margins is not None
    assert margins.delay > 0


def test_flows_that_come_and_go_and_a_rate_that_changes_are_in_the_model() -> None:
    made = with_aqm(name="pi", a=1e-4, b=9.9e-5, q_ref="60 packets")
    made["topology"]["bottleneck"]["schedule"] = [{"at": "20 s", "rate": "10 Mbit/s"}]
    late = {"name": "late", "kind": "tcp", "count": 10, "start": "8 s", "stop": "16 s"}
    made["traffic"].append(late)
    found = theory.solve_fluid(from_dict(made))
    count = sum(each.count for each in found.classes.values())
    assert [count[np.searchsorted(found.times, t)] for t in (5, 12, 18)] == [20, 30, 20]
    assert found.link().capacity[[0, -1]].tolist() == [2500.0, 1250.0]
    assert found.queue[np.searchsorted(found.times, 21)] > 80


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "aqm": ({"topology.bottleneck.aqm": {"name": "codel"}}, "codel, expected one of droptail"),
    "finite": ({"traffic.0.size": "100 packets"}, "flows that end or wait"),
    "poisson": (
        {"traffic.0": {"kind": "poisson", "rate": "5 /s", "size": "20 packets"}},
        "flows that end, expected long flows",
    ),
    "udp": (
        {"traffic.0": {"kind": "cbr", "count": 1, "rate": "1 Mbit/s", "packet": "1000 B"}},
        "UDP, expected long flows",
    ),
    "cubic": ({"transport.default.control": "cubic"}, "cubic, expected the window of reno"),
    "cpu": (
        {"topology.bottleneck.cpu": {"clock": "100 MHz", "buffer": "100 packets"}},
        "a CPU, expected links only",
    ),
    "loss": (
        {"topology.bottleneck.loss": {"model": "random", "probability": 0.01}},
        "an impaired link",
    ),
    "wire": ({"topology.bottleneck.packet": "500 B"}, "expected packets of one size"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_assumption_that_is_broken_is_named(case: str) -> None:
    changes, message = REFUSED[case]
    made: Any = json.loads(json.dumps(SCENARIO))
    for path, value in changes.items():
        *way, last = path.split(".")
        at = made
        for step in way:
            at = at[int(step) if step.isdigit() else step]
        at[int(last) if last.isdigit() else last] = value
    with pytest.raises(ScenarioError, match="outside the fluid model") as raised:
        theory.solve_fluid(from_dict(made))
    assert message in str(raised.value)


def test_inaccurate_models_have_warnings() -> None:
    few = with_aqm(name="droptail")
    few["traffic"][0]["count"] = 4
    assert any(
        "4 flows, fewer than" in each for each in theory.solve_fluid(from_dict(few)).warnings
    )
    many = with_aqm(name="scaled", flows=300)
    many["topology"]["bottleneck"]["signal"] = "drop"
    many["traffic"][0]["count"] = 300
    said = " ".join(theory.solve_fluid(from_dict(many)).warnings)
    assert "N^a" in said
    assert "a loss brings a timeout" in said


def test_the_command_prints_means_series_and_a_figure(
    marqueue: Command, file: Path, tmp_path: Path
) -> None:
    shown = marqueue("theory", "fluid", file, "--plot", "fluid.svg")
    assert shown.returncode == 0, shown.stderr
    assert "bottleneck" in shown.stdout
    assert (tmp_path / "fluid.svg").read_text().startswith("<?xml")
    done = marqueue("theory", "fluid", file, "--source", "reno-sawtooth", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    link = found["means"]["links"]["bottleneck"]
    assert link["utilization"] == pytest.approx(1.0)
    assert len(found["times_s"]) == len(found["series"]["links"]["bottleneck"]["queue_packets"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--source", "vegas"], "got 'vegas', expected one of reno"),
        (["--plot", "fluid.pdf"], "expected FILE.svg or FILE.png"),
        (["--plot", "nowhere/fluid.svg"], "cannot be written"),
        (["--set", "transport.default.control=cubic"], "outside the fluid model: cubic"),
    ],
)
def test_a_mistake_gets_one_message(arguments: list[str], message: str, file: Path) -> None:
    done = CliRunner().invoke(app, ["theory", "fluid", str(file), *arguments])
    assert done.exit_code != 0
    said = done.stderr if isinstance(done.exception, SystemExit) else str(done.exception)
    assert message in " ".join(said.replace("│", " ").split())
    assert isinstance(done.exception, SystemExit | MarqueueError)


def test_a_run_can_include_the_fluid_model(marqueue: Command, file: Path, tmp_path: Path) -> None:
    done = marqueue("run", file, "--theory", "--out", "out", "--set", "duration=15 s")
    assert done.returncode == 0, done.stderr
    assert "fluid model" in done.stdout
    loaded = package.Result.load(tmp_path / "out")
    assert loaded.theory is not None
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert loaded.summary() == summary
    error = summary["theory"]["errors"]["bottleneck"]["queue"]
    assert error["difference"] == pytest.approx(error["fluid"] - error["packets"]["mean"])
    assert "Theory beside simulation" in (tmp_path / "out/report.html").read_text()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("topology.bottleneck.aqm=codel", "outside the fluid model: codel"),
        ("sample=0 s", "expected a time series to compare with the fluid model"),
    ],
)
def test_a_run_outside_the_model_is_refused_before_it_begins(
    override: str, message: str, file: Path, tmp_path: Path
) -> None:
    place = tmp_path / "no"
    run = ["run", str(file), "--theory", "--out", str(place), "--set", override]
    done = CliRunner().invoke(app, run)
    assert isinstance(done.exception, MarqueueError)
    assert message in str(done.exception)
    assert not place.exists()
