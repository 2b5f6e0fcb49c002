"""The engine as Python sees it."""

import json
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from marqueue import _core
from marqueue.scenario import Scenario, compile, with_overrides
from marqueue.scenario.catalogue import catalogue


@pytest.fixture
def plan(small: Scenario) -> str:
    return json.dumps(
        compile(
            with_overrides(small, ["topology.bottleneck.trace=true", "traffic.long.trace=true"])
        )
    )


def test_every_aqm_declares_its_parameters_in_full():
    entries = catalogue()["aqms"]
    assert {"droptail", "red"} <= {entry["name"] for entry in entries}
    for spec in [spec for entry in entries for spec in entry["params"]] + catalogue()["tcp"]:
        assert spec["doc"]
        assert spec["source"]
        assert spec["kind"] in {"number", "flag", "choice", "policy", "dscp", "per-dscp", "curve"}
        assert (spec["kind"] in {"number", "per-dscp"}) == (spec["unit"] is not None)
        assert (spec["kind"] == "choice") == (spec["choices"] is not None)


def test_presets_set_declared_parameters():
    declared = {spec["name"] for spec in catalogue()["tcp"]}
    presets = dict(catalogue()["tcp_presets"])
    assert set(presets) == {"rfc", "ns2", "linux"}
    assert all(set(values) <= declared for values in presets.values())


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**32 - 1))
@settings(max_examples=2000)
@example(0, 0)
@example(2**32 - 1, 2**32 - 1)
@example(2**32, 2**32)
def test_seeds_of_replications_are_those_of_numpy(seed: int, replication: int):
    expected = np.random.SeedSequence([seed, replication]).generate_state(1, np.uint64)[0]
    assert _core.replication_seed(seed, replication) == expected


def test_a_run_yields_arrays_of_the_documented_types(plan: str):
    raw = _core.run(plan, 1, _core.Control())
    assert raw["edges"].tolist() == [0.0, 1.0, 4.0]
    [link] = raw["links"]
    assert len(link["windows"]) == 2
    assert link["series"]["queue"].dtype == np.uint32
    assert link["series"]["t"].dtype == np.float64
    assert len(link["series"]["t"]) == len(link["series"]["probes"]["avg"])
    assert raw["traces"][0]["kind"].dtype == np.uint8
    flows = raw["flows"]
    assert flows["delivered"].shape == (len(flows["group"]), 2)
    assert flows["delivered"].dtype == np.uint64
    assert {each["flow"] for each in raw["senders"]} == set(range(5))


def test_a_window_accounts_for_every_packet(plan: str):
    raw = _core.run(plan, 1, _core.Control())
    windows = raw["links"][0]["windows"]
    waiting = sum(
        window["arrivals"] - window["departures"] - sum(window["drops"].values())
        for window in windows
    )
    assert 0 <= waiting <= 50
    for window, length in zip(windows, (1.0, 3.0), strict=True):
        assert window["queue_times"][1].sum() == pytest.approx(length, abs=1e-6)
        assert window["delay_bins"][1].sum() == window["departures"]
        assert window["capacity"] == pytest.approx(1e7 * length)


def test_the_same_seed_gives_the_same_run_and_another_seed_another(plan: str):
    first, again, other = (_core.run(plan, seed, _core.Control()) for seed in (1, 1, 2))
    assert np.array_equal(first["flows"]["start"], again["flows"]["start"])
    assert first["events"] == again["events"]
    assert not np.array_equal(first["flows"]["start"][:5], other["flows"]["start"][:5])


def test_a_function_looks_at_a_run(plan: str):
    seen: list[Any] = []

    def look(so_far: Any) -> int:
        seen.append(so_far)
        return so_far["events"] + 1000

    raw = _core.run(plan, 1, _core.Control(look=look))
    plain = _core.run(plan, 1, _core.Control())
    windows = plain["links"][0]["windows"]
    assert raw["links"][0]["windows"][1]["arrivals"] == windows[1]["arrivals"]
    assert [each["events"] for each in seen[:-1]] == list(range(0, raw["events"], 1000))
    end = seen[-1]
    assert (end["events"], end["seconds"]) == (plain["events"], 4.0)
    assert end["links"].dtype == np.uint64
    assert end["arrivals"].tolist() == [sum(window["arrivals"] for window in windows)]
    assert end["used"] == pytest.approx([sum(window["used"] for window in windows)])


def test_a_function_that_looks_may_end_the_run_or_fail(plan: str):
    calls = [1000, None]
    raw = _core.run(plan, 1, _core.Control(look=lambda _: calls.pop(0)))
    assert raw["events"] == 1000
    with pytest.raises(ZeroDivisionError):
        _core.run(plan, 1, _core.Control(look=lambda so_far: 1 // so_far["events"]))


def test_other_threads_go_on_during_a_run_and_may_cancel_it(small: Scenario):
    plan = json.dumps(compile(with_overrides(small, ["duration=100000 s", "sample=0 s"])))
    control = _core.Control()
    outcome: list[BaseException] = []

    def run() -> None:
        try:
            _core.run(plan, 1, control)
        except _core.Cancelled as cancelled:
            outcome.append(cancelled)

    thread = threading.Thread(target=run)
    thread.start()
    while control.done_secs() == 0.0 and thread.is_alive():
        pass
    control.cancel()
    thread.join(timeout=120)
    assert len(outcome) == 1
    assert control.done_secs() > 0.0


def test_a_plan_that_cannot_be_run_is_refused_with_its_path(small: Scenario):
    plan = compile(small)
    plan["links"][0]["queue"]["policy"]["params"]["max_th"] = 5.0
    for attempt in (
        lambda text: _core.check(text),
        lambda text: _core.run(text, 1, _core.Control()),
    ):
        with pytest.raises(_core.PlanError) as refused:
            attempt(json.dumps(plan))
        path, message = refused.value.args
        assert path.endswith("max_th")
        assert "expected" in message


def test_what_is_no_plan_is_refused():
    with pytest.raises(_core.PlanError, match="missing field"):
        _core.check("{}")
