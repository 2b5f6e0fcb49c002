"""AQMs and congestion controls that are classes in Python (docs/howto/python-programs.md)."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import COMMAND
from marqueue import Result, Scenario, ScenarioError, from_dict, from_toml, load, run
from marqueue.errors import BrokenProgram, RunError
from marqueue.programs import registry
from marqueue.reports import report
from marqueue.scenario import compile
from marqueue.simulation.checkpoints import Checkpoints
from marqueue.simulation.sweep import sweep

PI2 = '''
import marqueue
from marqueue import CE, DROP, ECT1, MARK, PASS


@marqueue.aqm
class Pi2:
    """PI2 of RFC 9332, appendix A, as crates/aqm/src/algo/pi2.rs has it."""

    target = marqueue.parameter("15 ms", "Held", at_least="1 us", at_most="100 s")
    rtt_max = marqueue.parameter("100 ms", "Longest", at_least="1 us", at_most="100 s")
    k = marqueue.parameter(2.0, "Coupling", at_least=0.1, at_most=100)
    p = marqueue.probe("fraction")
    delay = marqueue.probe("s")
    t_update = alpha = beta = 0.0

    def start(self, queue):
        self.t_update = min(self.target, self.rtt_max / 3)
        self.alpha = 0.1 * self.t_update / (self.rtt_max * self.rtt_max)
        self.beta = 0.3 / self.rtt_max
        return self.t_update

    def on_timer(self, queue, now):
        delay = queue.delay
        step = self.alpha * (delay - self.target) + self.beta * (delay - self.delay)
        self.p = min(max(self.p + step, 0.0), 1.0)
        self.delay = delay
        return self.t_update

    def on_departure(self, packet, queue, now):
        p = self.p
        if p == 0.0:
            return PASS
        classic, coupled = p * p, min(self.k * p, 1.0)
        if packet.ecn != ECT1 and packet.ecn != CE:
            if classic > 0.0 and queue.uniform() < classic:
                return DROP if coupled >= 1.0 else MARK
            return PASS
        if coupled >= 1.0 and queue.uniform() < classic:
            return DROP
        return MARK if queue.uniform() < coupled else PASS
'''

AIMD = '''
import marqueue


@marqueue.congestion_control
class Aimd:
    """crates/cc/src/algo/aimd.rs."""

    a = marqueue.parameter(1.0, "Added", at_least=0.01, at_most=100)
    b = marqueue.parameter(0.5, "Taken", at_least=0.01, at_most=1)

    def on_ack(self, flow, now):
        return flow.cwnd + min(self.a * flow.acked / flow.cwnd, self.a)

    def on_loss(self, flow):
        return (1.0 - self.b) * flow.cwnd
'''

SCENARIO = """
name = "own"
duration = "6 s"
warmup = "1 s"
replications = 1

[topology]
kind = "dumbbell"
rtts = ["20 ms", "50 ms"]

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "5 ms"
buffer = "100 packets"
signal = "ecn"
aqm = "python:mine.py:Pi2"
trace = true

[transport.default]
ecn = true

[transport.scalable]
control = "prague"
ecn = true

[[traffic]]
name = "classic"
kind = "tcp"
count = 4
jitter = "1 s"

[[traffic]]
name = "l4s"
kind = "tcp"
transport = "scalable"
count = 2
jitter = "1 s"
"""

Mine = Callable[..., Scenario]


@pytest.fixture
def mine(tmp_path: Path) -> Mine:
    """Writes a program beside the scenario, and reads that."""

    def read(program: str, *overrides: str) -> Scenario:
        (tmp_path / "mine.py").write_text(program, encoding="utf-8")
        (tmp_path / "mine.toml").write_text(SCENARIO, encoding="utf-8")
        return load(tmp_path / "mine.toml", overrides)

    return read


def packets(result: Result) -> dict[str, Any]:
    """Every event at the bottleneck, and how often a packet was marked or dropped."""
    trace = result.to_arrow("trace").to_pydict()
    assert len(trace["t"]) > 1000
    return {key: each for key, each in trace.items() if key != "reason"}


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(
        np.array_equal(np.array(a[key], dtype=object), np.array(b[key], dtype=object))
        for key in a
        if key != "sojourn"
    )


def test_pi2_in_rust_python_and_numba_gives_the_same_packets(mine: Mine) -> None:
    in_python = run(mine(PI2))
    rust = packets(run(mine(PI2, "topology.bottleneck.aqm=pi2")))
    assert same(packets(in_python), rust)
    compiled = run(mine(PI2.replace("@marqueue.aqm", "@marqueue.aqm(jit=True)")))
    assert same(packets(compiled), rust)
    for result in (in_python, compiled):
        _, p = result.link("bottleneck").series("p")
        assert 0 < p.max() < 1
    table = '{ name = "python:mine.py:Pi2", target = "5 ms" }'
    shifted = packets(run(mine(PI2, f"topology.bottleneck.aqm={table}")))
    assert not same(shifted, rust)


def test_aimd_in_python_gives_the_packets_of_aimd(mine: Mine) -> None:
    settings = ["topology.bottleneck.aqm=pi2", "transport.default.control"]
    own = packets(run(mine(AIMD, settings[0], f"{settings[1]}=python:mine.py:Aimd")))
    assert same(own, packets(run(mine(AIMD, settings[0], f"{settings[1]}=aimd"))))


def test_a_control_sets_the_pacing_rate(mine: Mine) -> None:
    paced = AIMD.replace(
        "return flow.cwnd + min(self.a * flow.acked / flow.cwnd, self.a)", "return 50.0, 1e6"
    )
    settings = ["control=python:mine.py:Aimd", "pacing=window", "initial_window=10 packets"]
    overrides = [f"transport.default.{each}" for each in settings]
    result = run(mine(paced, "topology.bottleneck.aqm=droptail", *overrides, "warmup=4 s"))
    [_, rates] = [
        result.traffic(group=name)["goodput_per_flow"].mean for name in ("l4s", "classic")
    ]
    assert rates == pytest.approx(1e6, rel=0.1)


RAISES = PI2.replace("p = self.p\n", 'p = self.p\n        if now > 0.5: raise KeyError("here")\n')


def test_a_program_that_raises_ends_the_run_with_its_traceback(mine: Mine, tmp_path: Path) -> None:
    with pytest.raises(
        BrokenProgram, match=r"own, .*mine\.py:Pi2: on_departure, after \d+ packets"
    ):
        run(mine(RAISES))
    ended = subprocess.run(
        [*COMMAND, "run", "mine.toml", "--out", "out"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ended.returncode == 1
    assert "if now > 0.5: raise KeyError" in ended.stderr
    assert "KeyError: 'here'" in ended.stderr
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (PI2.replace("return PASS", "return None"), "returned None, expected marqueue.PASS"),
        (PI2.replace("return PASS", "return True"), "returned True, expected marqueue.PASS"),
        (PI2.replace("        return self.t_update", "        return -1"), "returned -1, expected"),
        (PI2.replace("self.p = min", "self.p = 'x' + min"), "can only concatenate str"),
        (PI2.replace("0.3 / self.rtt_max", "0.3 / 0"), "start, after 0 packets"),
    ],
    ids=["none", "flag", "timer", "error", "start"],
)
def test_nonsense_gets_one_message(mine: Mine, program: str, said: str) -> None:
    with pytest.raises(BrokenProgram, match=r"mine\.py:Pi2") as broken:
        run(mine(program))
    assert said in str(broken.value)


@pytest.mark.parametrize("window", ["-1.0", "float('nan')", "None", "(5.0, -1.0)"])
def test_a_window_that_is_none_gets_one_message(mine: Mine, window: str) -> None:
    program = AIMD.replace("return (1.0 - self.b) * flow.cwnd", f"return {window}")
    overrides = ["topology.bottleneck.aqm=pi2", "transport.default.control=python:mine.py:Aimd"]
    with pytest.raises(BrokenProgram, match=r"mine\.py:Aimd: on_(loss|ecn), .*expected a window"):
        run(mine(program, *overrides))


def refused(read: Callable[[], object]) -> str:
    with pytest.raises(ScenarioError) as error:
        read()
    return str(error.value)


def test_parameters_are_checked_as_those_of_the_engine(mine: Mine) -> None:
    def messages(given: str) -> list[str]:
        names = ("python:mine.py:Pi2", "pi2")
        tables = [f'{{ name = "{name}", {given} }}' for name in names]
        said = [refused(lambda t=t: mine(PI2, f"topology.bottleneck.aqm={t}")) for t in tables]
        return [each.replace("mine.py:Pi2", "pi2") for each in said]

    for given in ('target = "5 packets"', 'target = "200 s"', "k = 0", 'k = "much"'):
        own, engine = messages(given)
        assert own == engine
    table = '{ name = "python:mine.py:Pi2", tarrget = "5 ms" }'
    assert "target" in refused(lambda: mine(PI2, f"topology.bottleneck.aqm={table}"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("python:other.py:Pi2", "other.py cannot be read"),
        ("python:mine.py:Pi3", "mine.py has no class Pi3 with @marqueue.aqm"),
        ("python:../mine.py:Pi2", "with a file beside the scenario"),
        ("python:/mine.py:Pi2", "with a file beside the scenario"),
        ("python:Pi2", "with a file beside the scenario"),
        ("python:mine.py:Aimd", "expected a class that is an AQM"),
    ],
)
def test_what_is_no_program_is_refused(mine: Mine, name: str, said: str) -> None:
    assert said in refused(lambda: mine(PI2 + AIMD, f"topology.bottleneck.aqm={name}"))


def test_a_file_that_cannot_be_imported_says_where(mine: Mine) -> None:
    said = refused(lambda: mine("import marqueue\n1 / 0\n"))
    assert "mine.py cannot be imported" in said
    assert "line 2" in said
    assert "ZeroDivision" in said


def test_a_text_runs_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_LATEST", {})
    said = refused(lambda: from_toml(SCENARIO))
    assert "programs run only where a scenario is read from a file" in said
    unread = from_toml(
        SCENARIO.replace('"python:mine.py:Pi2"', '{ name = "python:mine.py:Pi2", sha256 = "0" }')
    )
    with pytest.raises(registry.ProgramError, match=r"mine\.py:Pi2: not read"):
        run(unread)


def test_a_program_that_has_changed_is_another(mine: Mine, tmp_path: Path) -> None:
    first = mine(PI2)
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    checkpoints.belong_to({"scenario": first.to_dict()})
    checkpoints.begin()
    second = mine(PI2 + "\n# changed\n")
    assert first.hash != second.hash
    assert compile(first) != compile(second)
    with pytest.raises(RunError, match=r"aqm\.sha256: was"):
        checkpoints.belong_to({"scenario": second.to_dict()})
    pinned = first.to_toml()
    (tmp_path / "mine.toml").write_text(pinned, encoding="utf-8")
    assert "it was changed" in refused(lambda: load(tmp_path / "mine.toml"))
    # What was read first still runs as it was.
    assert from_dict(first.to_dict()) == first


def test_a_result_carries_its_program(
    mine: Mine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run(mine(PI2, "duration=2 s"))
    assert result.provenance.circumstances.programs is not None
    result.save(tmp_path / "out")
    again = run(load(tmp_path / "out/scenario.toml"))
    assert again.tables == result.tables
    monkeypatch.setattr(registry, "_SOURCES", {})
    page = report(Result.load(tmp_path / "out")).write(tmp_path / "page.html")
    text = page.read_text(encoding="utf-8")
    assert "python:mine.py:Pi2" in text
    assert "It needs mine.py from the directory of this result." in text


def test_sweeps_run_programs(mine: Mine, tmp_path: Path) -> None:
    scenario = mine(PI2, "duration=2 s", "topology.bottleneck.trace=false")
    axes = ["topology.bottleneck.aqm=python:mine.py:Pi2,pi2", "traffic.classic.count=2,4"]
    frame = sweep(scenario, axes, tmp_path / "swept").to_pandas()
    delays = frame[(frame.link == "bottleneck") & (frame.figure == "delay_mean")]["mean"].tolist()
    assert len(delays) == 4
    assert delays[:2] == delays[2:]
    assert delays[0] != delays[1]


OVER_TARGETS = "topology.bottleneck.aqm.target=5 ms,10 ms"


@pytest.mark.parametrize("command", [["run"], ["sweep", "--over", OVER_TARGETS]])
def test_a_program_may_import_pandas(mine: Mine, tmp_path: Path, command: list[str]) -> None:
    mine("import pandas\n" + PI2)
    done = subprocess.run(
        [*COMMAND, command[0], "mine.toml", *command[1:], "--no-report"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_variables_of_a_module_are_those_of_one_queue(mine: Mine) -> None:
    counting = PI2.replace("import marqueue\n", "import marqueue\nseen = []\n", 1).replace(
        "p = self.p\n",
        "p = self.p\n        seen.append(now)\n        assert seen == sorted(seen)\n",
    )
    assert run(mine(counting, "replications=3", "duration=2 s")).replications == 3


def test_what_numba_cannot_compile_is_told(mine: Mine) -> None:
    program = PI2.replace("@marqueue.aqm", "@marqueue.aqm(jit=True)").replace(
        "p = self.p\n", "p = self.q\n"
    )
    with pytest.raises(registry.ProgramError, match="Numba cannot compile it"):
        run(mine(program))


@pytest.mark.parametrize("kind", ["aqm", "cc"])
def test_what_new_writes_runs_and_passes_its_test(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from marqueue.cli import app

    monkeypatch.chdir(tmp_path)
    written = CliRunner().invoke(app, ["new", kind, "my_own", "--python"])
    assert written.exit_code == 0
    scope = {"__file__": str(tmp_path / "test_my_own.py")}
    exec((tmp_path / "test_my_own.py").read_text(), scope)
    checks = [each for name, each in scope.items() if name.startswith("test_")]
    assert len(checks) == 2
    for check in checks:
        check()  # type: ignore[operator]


def test_new_writes_rust_only_into_the_source_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from marqueue.cli import app

    monkeypatch.chdir(tmp_path)
    refused = CliRunner().invoke(app, ["new", "aqm", "mine", "--rust"])
    assert isinstance(refused.exception, RunError)
    modules = tmp_path / "crates/aqm/src/algo/mod.rs"
    modules.parent.mkdir(parents=True)
    modules.write_text("        red::Red,\n")
    assert CliRunner().invoke(app, ["new", "aqm", "mine", "--rust"]).exit_code != 0  # no vectors/
    (tmp_path / "crates/aqm/vectors").mkdir()
    assert CliRunner().invoke(app, ["new", "aqm", "mine", "--rust"]).exit_code == 0
    assert "pub struct Mine" in (modules.parent / "mine.rs").read_text()
