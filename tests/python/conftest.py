"""Fixtures and helpers of several tests: example scenarios, and the command as users run it."""

import functools
import os
import pty
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, settings

from marqueue.papers import PAPERS
from marqueue.papers.claims import read_claims
from marqueue.papers.verdict import judge
from marqueue.scenario import Scenario, from_toml, schema
from marqueue.simulation.run import run
from small_scenario import SMALL

# A shell starts background jobs with SIGINT and SIGQUIT ignored, nohup with SIGHUP; programs
# started by tests would inherit this.
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGQUIT, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)

SYSTEM = Path(__file__).parents[2] / "requirements" / "system.txt"
"""Programs and headers that tests use, each with its Debian package."""

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("marqueue", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("marqueue")

# Mutation tests (`make mutants`) run every test in one process, many times, and want one answer. An
# example that fails is not made smaller: that takes minutes and tells a mutant nothing.
settings.register_profile(
    "mutants",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=50,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
)

EXAMPLES = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))

COMMAND = [sys.executable, "-m", "marqueue"]


@functools.cache
def schema_validator() -> jsonschema.Draft202012Validator:
    """Validates scenarios by their JSON schema. One for all: to check the schema itself, as
    ``jsonschema.validate`` does each time, takes a hundred times as long as a scenario."""
    return jsonschema.Draft202012Validator(schema())


def missing_packages() -> list[str]:
    """The packages that ``make system-packages`` would install."""
    lines = [line.split() for line in SYSTEM.read_text(encoding="utf-8").splitlines()]
    wanted = [line for line in lines if line and line[0] != "#"]
    return [
        package
        for what, package in wanted
        if not (Path(what).exists() if what.startswith("/") else shutil.which(what))
    ]


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """Ends the summary with what the skipped tests lack, if packages of the system have it."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    passed, skipped = (len(reporter.stats.get(each, ())) for each in ("passed", "skipped"))
    missing = missing_packages() if skipped else []
    if missing:
        reporter.write_line(
            f"{passed} passed, {skipped} skipped; not installed here: {', '.join(missing)} "
            "(make system-packages installs them)"
        )


def interrupted(*arguments: str, cwd: Path) -> tuple[int, str]:
    """Interrupts the command (Ctrl-C) once it shows how far it is: its exit code and what it
    printed. Raises TimeoutExpired if it goes on."""
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
    )
    os.close(terminal)
    shown = b""
    while b"%" not in shown:
        shown += os.read(master, 1024)
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=120)
    os.close(master)
    return process.returncode, stdout


def check_verdicts(key: str, experiment: str, expected: Mapping[str, str]) -> None:
    """Runs an experiment of a paper once, and judges the claims that this is enough for."""
    paper = PAPERS[key]
    part = paper.experiment(experiment)
    choice = paper.main_choice(experiment)
    runs = {
        name: run(scenario, replications=1, seed=7)
        for name, scenario in part.setups(choice).items()
    }
    quantities = part.measure(runs, choice)
    claims = {each.id: each for each in read_claims(paper.folder / "claims.toml")}
    for name, outcome in expected.items():
        assert judge(claims[name], quantities).outcome == outcome
    assert part.draw(runs, quantities, choice)


@pytest.fixture
def small() -> Scenario:
    return from_toml(SMALL)


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def called(where: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """What a command run in a directory says."""
    return subprocess.run(
        list(map(str, command)),
        cwd=where,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def marqueue(tmp_path: Path):
    """Runs the command in an empty directory."""

    return lambda *arguments: called(tmp_path, *COMMAND, *arguments)
