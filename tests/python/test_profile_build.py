"""Which examples are run for the profile that `make fast` and `make build` compile by."""

import json
from pathlib import Path

import pytest
from benches.here import can_run

import marqueue._core as _core
from marqueue.scenario import compile, load

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))
# Why the engine has one thread, where the reason is something outside it.
OUTSIDE = {"QUIC flows or kernels take part", "programs take part"}


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_examples_with_something_outside_the_engine_are_left_out(path: Path) -> None:
    plan = compile(load(path))
    _, reason = _core.threads_for(json.dumps(plan), 2)
    assert can_run(plan) == (reason not in OUTSIDE)


def test_most_examples_are_run() -> None:
    assert sum(can_run(compile(load(path))) for path in SCENARIOS) > len(SCENARIOS) / 2
