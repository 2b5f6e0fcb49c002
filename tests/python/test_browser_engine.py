"""The engine and the scenario compiler of the browser do what those of the command line do.

They run under node. ``make web-engine`` builds them.
"""

import json
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marqueue._core as _core
from marqueue.scenario import compile, from_toml, load
from marqueue.scenario.outline import examples, outline, program, toml
from marqueue.theory.fluid.solution import solve_fluid
from marqueue.theory.linear.model import linearize

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
ENGINE, COMPILER = WEB / "built" / "engine", WEB / "built" / "compiler"

#: Without those that need a Linux kernel or the QUIC library, which no browser runs.
SCENARIOS = [
    path
    for path in sorted((ROOT / "scenarios").glob("*.toml"))
    if "stack = " not in path.read_text() and 'kind = "quic"' not in path.read_text()
]

MISTAKES = [
    ("syntax", "name = [1"),
    ("quantity", 'name = "x"\nduration = "1 parsec"\n'),
    ("key", SCENARIOS[0].read_text().replace("duration", "duraton")),
    ("aqm", (ROOT / "scenarios/dumbbell-avq.toml").read_text().replace("gamma", "gama")),
    ("range", (ROOT / "scenarios/dumbbell-avq.toml").read_text().replace("0.98", "9.8")),
    ("missing", 'name = "x"\n[topology]\nkind = "dumbbell"\n'),
]
"""Scenarios with one or more mistakes each."""

needs_build = pytest.mark.skipif(
    shutil.which("node") is None or not (COMPILER / "packages.zip").is_file(),
    reason="needs node and `make web-engine`",
)


def node(script: str, *folders: Path, given: object) -> Any:
    """What a script of ``web/tests/engine`` prints."""
    done = subprocess.run(
        ["node", WEB / "tests" / "engine" / script, *folders],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def asked(*calls: tuple[str, object]) -> list[Any]:
    """What the compiler of the page answers."""
    answers = node("calls.mjs", ENGINE, COMPILER, given=calls)
    return [each["value"] for each in answers]


@needs_build
def test_results_in_webassembly_are_the_native_ones_to_the_last_bit() -> None:
    plans = [(json.dumps(compile(load(path))), 2**63 + 1) for path in SCENARIOS]
    there = node("digests.mjs", ENGINE, given=[[plan, str(seed)] for plan, seed in plans])
    here = [_core.digest(plan, seed) for plan, seed in plans]
    assert dict(zip(SCENARIOS, there, strict=True)) == dict(zip(SCENARIOS, here, strict=True))
    assert len(set(here)) == len(SCENARIOS)


@needs_build
def test_the_compiler_of_the_page_says_what_the_command_says() -> None:
    texts = [each["toml"] for each in examples()] + [text for _, text in MISTAKES]
    there = asked(*(("compile", text) for text in texts))
    here = json.loads(json.dumps([outline(text) for text in texts]))
    for each in (*there, *here):
        # A flow takes less there: addresses have half the size.
        each.get("compiled", {}).pop("estimatedBytes", None)
    assert there == here


LOOP = """
name = "One loop"
duration = "20 s"
[topology]
kind = "dumbbell"
rtts = ["100 ms"]
bottleneck = { rate = "10 Mbit/s", delay = "5 ms", buffer = "500 packets", signal = "ecn" }
[transport.default]
preset = "rfc"
control = "reno"
ecn = true
[[traffic]]
kind = "tcp"
count = 10
"""

AQM = "topology.bottleneck.aqm"
LOOPS = [
    [f'{AQM}={{ name = "avq", alpha = "0.05 /s" }}'],
    [f'{AQM}={{ name = "avq", alpha = "1 /s" }}'],
    [f"{AQM}=pi"],
    [f"{AQM}=rem"],
    [f'{AQM}={{ name = "red", min_th = "20 packets", max_th = "300 packets", w_q = 0.0001 }}'],
]
"""Overrides of :data:`LOOP`, stable and not."""


@needs_build
def test_the_theory_of_the_page_is_that_of_the_package() -> None:
    scenarios = [from_toml(LOOP, overrides) for overrides in LOOPS]
    roots, *theories = asked(
        ("stability", {"toml": LOOP, "overrides": LOOPS}),
        *(("theory", each.to_toml()) for each in scenarios),
    )
    verdicts = set()
    for scenario, there, root in zip(scenarios, theories, roots, strict=True):
        here = linearize(scenario)
        # Roots near zero are few digits of larger numbers.
        assert root == there["root"] == pytest.approx(here.roots[0].real, rel=1e-5, abs=1e-6)
        assert there["margins"]["stable"] == here.stable
        verdicts.add(here.stable)
        seen = here.equilibrium.seen
        assert there["equilibrium"] == pytest.approx(
            {
                "queue": seen.queue[0, 0],
                "window": seen.window[0, 0],
                "probability": seen.probability[0, 0],
                "rtt": seen.rtt[0, 0],
            },
            rel=1e-6,
            abs=1e-6,
        )
        nyquist = there["nyquist"]
        gains = [complex(*z) for z in zip(nyquist["real"], nyquist["imaginary"], strict=True)]
        assert gains == pytest.approx(here.response(np.array(nyquist["frequency"])), rel=1e-6)
        if (margins := here.margins()) is not None:
            assert there["margins"]["gain"] == pytest.approx(margins.gain, rel=1e-6)
            assert there["margins"]["phase"] == pytest.approx(math.radians(margins.phase), rel=1e-6)
            assert there["margins"]["delay"] == pytest.approx(margins.delay, rel=1e-6)
        solved = solve_fluid(scenario).solution
        assert there["fluid"]["queue"][-1] == pytest.approx(solved.seen.queue[-1, 0], rel=1e-2)
    assert verdicts == {True, False}


@pytest.mark.parametrize(("name", "text"), MISTAKES, ids=[name for name, _ in MISTAKES])
def test_mistakes_have_a_place_in_the_text(name: str, text: str) -> None:
    given = outline(text)
    assert not given["ok"]
    lines = text.split("\n")
    for problem in given["problems"]:
        if problem["path"] and "missing" not in problem["message"]:
            key = problem["path"].split(".")[-1]
            assert key in lines[problem["line"] - 1], (name, problem)


@pytest.mark.parametrize("path", SCENARIOS, ids=[path.stem for path in SCENARIOS])
def test_exported_scenarios_are_the_same_scenario(path: Path) -> None:
    compiled = outline(path.read_text())["compiled"]
    again = outline(toml(compiled["normalized"]))
    assert again["compiled"]["plan"] == compiled["plan"]
    names: dict[str, Any] = {}
    exec(program(compiled["normalized"]).replace("print(run(scenario).summary())", ""), names)
    assert names["scenario"].to_dict() == compiled["normalized"]


def test_a_run_is_estimated_to_take_more_memory_with_more_flows() -> None:
    plan = compile(load(ROOT / "scenarios/dumbbell.toml"))
    estimate = _core.estimated_bytes(json.dumps(plan))
    plan["traffic"][0]["kind"]["tcp"]["count"] = 1_000_000
    more = _core.estimated_bytes(json.dumps(plan)) - estimate
    # A flow takes half a kilobyte (docs/performance.md).
    assert 0.4e9 < more < 0.8e9
