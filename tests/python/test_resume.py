"""Runs that are killed in the middle and resumed, and runs that a limit ends."""

import json
import os
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from conftest import COMMAND
from marqueue import MarqueueError, Result, Scenario, from_toml, run, with_overrides
from marqueue.cli.console import resumable
from marqueue.errors import RunError
from marqueue.reports import report, save_with_report
from marqueue.results import PartialResult
from marqueue.results.comparison import compare
from marqueue.results.integrity import CIRCUMSTANCES, read_sealed, write_sealed
from marqueue.simulation.checkpoints import Checkpoints
from marqueue.simulation.limits import Limits
from small_scenario import SMALL

LONG = ["--set", "duration=60 s", "--set", "warmup=10 s", "--jobs", "2"]
"""A replication takes long enough to be killed, and not much longer."""
SWEEP = ["--over", "traffic.long.count=2,5,8", "--over", "topology.bottleneck.aqm=red,pie"]

ASKED = {
    "run": ["run", "small.toml", *LONG, "-r", "10"],
    "until": ["run", "small.toml", *LONG, "--until", "utilization ±0.0001%", "-r", "10"],
    "auto": ["run", "small.toml", *LONG[:2], "--set", "warmup=auto", "-r", "8"],
    "sweep": ["sweep", "small.toml", *LONG, "-r", "3", *SWEEP],
    "paper": ["paper", "run", "avq", "5", "--quick", "--jobs", "2"],
}

KEEPING_AT_ONCE = [
    *COMMAND[:1],
    "-c",
    "import marqueue.simulation.checkpoints as checkpoints; checkpoints.KEPT_AFTER = 0.0; "
    "from marqueue.cli import main; main()",
]
"""The command, which stores replications from the beginning: runs here take less than a second."""


def kill_when_something_is_completed(arguments: list[str], out: Path) -> None:
    """SIGKILL to the process and all it started, once replications, or points, are completed.

    On a busy machine the command may end before this process has its turn: then once more.
    """
    for _ in range(20):
        if killed_half_way(arguments, out):
            return
        shutil.rmtree(out)
        shutil.rmtree(checkpoints_of(out), ignore_errors=True)
    raise AssertionError("always killed too late to show anything")


def checkpoints_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.checkpoints")


def killed_half_way(arguments: list[str], out: Path) -> bool:
    """Starts the command and kills it; whether it had not ended by then."""
    process = subprocess.Popen(
        [*KEEPING_AT_ONCE, *arguments, "--out", str(out)],
        cwd=out.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wanted = "points/[0-9]/provenance.json" if arguments[0] == "sweep" else "*.checkpoint"
    deadline = time.monotonic() + 300
    while len(list(checkpoints_of(out).glob(wanted))) < 2 and process.poll() is None:
        assert time.monotonic() < deadline, "nothing was completed"
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    said = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), said
    return not out.exists()


def files(directory: Path) -> dict[str, bytes]:
    """All but what tells when and how long."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != CIRCUMSTANCES
    }


@pytest.mark.parametrize("arguments", ASKED.values(), ids=ASKED)
def test_killed_and_resumed_is_the_same_to_the_byte(
    marqueue, small_file: Path, tmp_path: Path, arguments: list[str]
):
    undisturbed = marqueue(*arguments, "--out", "undisturbed")
    assert undisturbed.returncode == 0, undisturbed.stderr
    kill_when_something_is_completed(arguments, tmp_path / "killed")
    refused = marqueue(*arguments, "--out", "killed")
    assert refused.returncode == 2
    assert "--resume continues it" in refused.stderr
    resumed = marqueue(*arguments, "--out", "killed", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    # If it was killed while it wrote its result, what is left of that is named first.
    said = resumed.stderr.splitlines()
    before = said[: said.index("Continuing from killed.checkpoints.")]
    assert all(".partial: probably left by a run that was killed" in line for line in before), said
    expected, found = files(tmp_path / "undisturbed"), files(tmp_path / "killed")
    assert found.keys() == expected.keys()
    assert [name for name in expected if expected[name] != found[name]] == []
    assert json.loads((tmp_path / "killed" / CIRCUMSTANCES).read_text())["from_checkpoints"] >= 1
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"small.toml", "undisturbed", "killed"}


@pytest.fixture
def checkpoints(small: Scenario, tmp_path: Path) -> Checkpoints:
    """Those of a run whose last replication is missing."""
    checkpoints = Checkpoints(tmp_path / "out.checkpoints")
    run(small, checkpoints=checkpoints)
    checkpoints.keep()
    assert checkpoints.path is not None
    sorted(checkpoints.path.glob("*.checkpoint"))[-1].unlink()
    return checkpoints


def test_many_threads_make_the_directory_together(tmp_path: Path):
    for attempt in range(50):
        checkpoints, barrier = Checkpoints(tmp_path / f"{attempt}.checkpoints"), Barrier(8)

        def begin(checkpoints: Checkpoints = checkpoints, barrier: Barrier = barrier) -> None:
            barrier.wait()
            checkpoints.begin()

        with ThreadPoolExecutor(8) as threads:
            begun = [threads.submit(begin) for _ in range(8)]
        assert [each.exception() for each in begun] == [None] * 8
        assert checkpoints.exists


def test_a_short_run_stores_nothing_and_all_of_it_when_it_fails(small: Scenario, tmp_path: Path):
    checkpoints = Checkpoints(tmp_path / "out.checkpoints")
    # The clock of this run is that of a run which has just begun, however busy the machine is.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("marqueue.simulation.checkpoints.KEPT_AFTER", float("inf"))
        run(small, checkpoints=checkpoints)
        assert not checkpoints.exists
        # What waits is found as if it were stored.
        again = run(small, checkpoints=checkpoints)
        assert again.provenance.circumstances.from_checkpoints == small.replications
        with pytest.raises(RunError, match="--resume continues"), resumable(checkpoints):
            raise RunError("the disk is full")
    stored = Checkpoints(checkpoints.path)
    assert run(small, checkpoints=stored).provenance.circumstances.from_checkpoints == 3


def test_only_what_is_missing_is_run(small: Scenario, checkpoints: Checkpoints):
    whole, resumed = run(small), run(small, checkpoints=checkpoints)
    assert resumed.provenance.circumstances.from_checkpoints == 2
    assert resumed.summary() == whole.summary()
    assert all(table.equals(resumed.tables[name]) for name, table in whole.tables.items())


def damage(path: Path) -> None:
    """Flips a bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("kind", ["cut", "flipped", "empty", "another seed's", "a directory"])
def test_a_bad_checkpoint_is_set_aside_and_its_replication_runs_again(
    small: Scenario, checkpoints: Checkpoints, kind: str
):
    assert checkpoints.path is not None
    bad, good = sorted(checkpoints.path.glob("*.checkpoint"))
    match kind:
        case "cut":
            bad.write_bytes(bad.read_bytes()[:-100])
        case "flipped":
            damage(bad)
        case "empty":
            bad.write_bytes(b"")
        case "another seed's":
            bad.write_bytes(good.read_bytes())
        case _:
            bad.unlink()
            bad.mkdir()
    told: list[str] = []
    checkpoints.report = told.append
    resumed = run(small, checkpoints=checkpoints)
    assert resumed.provenance.circumstances.from_checkpoints == 1
    assert resumed.summary() == run(small).summary()
    assert len(told) == 1
    assert bad.name in told[0]
    assert "set aside" in told[0]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", bytes(range(256))])
def test_a_bad_identity_is_set_aside(
    marqueue, small_file: Path, tmp_path: Path, checkpoints: Checkpoints, content: bytes
):
    assert checkpoints.path is not None
    (checkpoints.path / "run.json").write_bytes(content)
    done = marqueue("run", small_file, "--resume", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "run.json: damaged" in done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads((tmp_path / "out" / CIRCUMSTANCES).read_text())["from_checkpoints"] == 2
    assert not checkpoints.path.exists()


def test_foreign_files_among_checkpoints_are_refused(
    marqueue, small_file: Path, checkpoints: Checkpoints
):
    assert checkpoints.path is not None
    mine = checkpoints.path / "thesis.tex"
    mine.write_text("mine")
    for option in ("--resume", "--force"):
        done = marqueue("run", small_file, option, "--out", "out")
        assert done.returncode == 2
        assert "out.checkpoints: holds thesis.tex, which marqueue did not write" in done.stderr
        assert mine.read_text() == "mine"


def test_points_of_a_sweep_that_are_damaged_run_again(marqueue, small_file: Path, tmp_path: Path):
    arguments = ["sweep", "small.toml", *LONG, "-r", "3", *SWEEP]
    assert marqueue(*arguments, "--out", "undisturbed").returncode == 0
    kill_when_something_is_completed(arguments, tmp_path / "killed")
    point, *_ = (tmp_path / "killed.checkpoints/points").glob("[0-9]")
    damage(point / "windows.parquet")
    resumed = marqueue(*arguments, "--out", "killed", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert f"points/{point.name}: damaged: windows.parquet" in resumed.stderr
    expected, found = files(tmp_path / "undisturbed"), files(tmp_path / "killed")
    assert [name for name in expected if expected[name] != found[name]] == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("seed=2", "scenario.seed: was 1, now 2"),
        ("duration=5 s", 'scenario.duration: was "4 s", now "5 s"'),
    ],
)
def test_another_scenario_or_seed_is_refused(
    small: Scenario, checkpoints: Checkpoints, change: str, said: str
):
    with pytest.raises(MarqueueError, match="checkpoints of another run") as raised:
        run(with_overrides(small, [change]), checkpoints=checkpoints)
    assert said in str(raised.value)


def test_another_rule_is_refused(small: Scenario, checkpoints: Checkpoints):
    with pytest.raises(MarqueueError, match="max_events: was nothing, now 1000"):
        run(small, checkpoints=checkpoints, limits=Limits(max_events=1000))


@pytest.mark.parametrize("of", ["version", "commit", "code"])
def test_checkpoints_of_other_code_are_refused(small: Scenario, checkpoints: Checkpoints, of: str):
    """A result names the commit that it was made from."""
    assert checkpoints.path is not None
    identity = checkpoints.path / "run.json"
    found = read_sealed(identity) | {of: "another"}
    del found["sha256"]
    write_sealed(identity, found)
    with pytest.raises(MarqueueError, match=f'{of}: was "another", now '):
        run(small, checkpoints=checkpoints)


def test_resume_without_checkpoints_starts(marqueue, small_file: Path):
    done = marqueue("run", small_file, "--resume", "--out", "out")
    assert done.returncode == 0
    assert done.stderr == "No checkpoints in out.checkpoints: starting from the beginning.\n"


def test_force_begins_anew(marqueue, small_file: Path, tmp_path: Path, checkpoints: Checkpoints):
    done = marqueue("run", small_file, "--force", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out" / CIRCUMSTANCES).read_text())["from_checkpoints"] == 0
    assert checkpoints.path is not None
    assert not checkpoints.path.exists()


@pytest.fixture(scope="module")
def whole() -> Result:
    return run(from_toml(SMALL.replace('warmup = "1 s"', 'warmup = "1 s"\ncuts = ["2 s"]')))


@pytest.fixture(scope="module")
def cut(whole: Result) -> Result:
    """Ends in the second of the windows that are measured, from 2 to 4 s."""
    return run(Scenario.model_validate(whole.scenario), limits=Limits(max_events=5000), jobs=1)


class TestLimits:
    def test_a_limit_of_events_is_the_same_whatever_runs_at_a_time(self, cut: Result):
        again = run(Scenario.model_validate(cut.scenario), limits=Limits(max_events=5000), jobs=3)
        assert again.summary() == cut.summary()
        assert all(table.equals(again.tables[name]) for name, table in cut.tables.items())

    def test_windows_that_were_completed_are_those_of_the_whole(self, whole: Result, cut: Result):
        assert len(cut.begun) == 3
        for window in (0, 1):
            assert cut.link().figures(window) == whole.link().figures(window)
            assert cut.traffic(window) == whole.traffic(window)

    def test_the_window_that_is_cut_is_measured_up_to_there(self, whole: Result, cut: Result):
        seconds = [window.seconds for window in cut.link().windows(2)]
        assert np.all((cut.ends > 2) & (cut.ends < 4))
        assert seconds == pytest.approx(cut.ends - 2)
        t, queue = cut.link().series("queue")
        there = np.isfinite(queue)
        assert there.sum(axis=1).tolist() == [np.sum(t <= end) for end in cut.ends]
        full = whole.link().series("queue")[1][:, : len(t)]
        assert np.array_equal(queue[there], full[there])

    def test_it_says_so_everywhere(self, cut: Result, tmp_path: Path):
        said = "Partial result: the limit of 5,000 events a replication was reached."
        summary = cut.summary()
        assert summary["partial"]["ended"] == cut.ends.tolist()
        assert summary["warnings"][0].startswith(said)
        page = report(cut).render()
        assert said in page
        assert "<h1>Small (partial)</h1>" in page
        assert "Partial result" in repr(cut)
        with pytest.warns(PartialResult, match=said):
            assert Result.load(cut.save(tmp_path / "out")) == cut
        with pytest.raises(MarqueueError, match="expected complete results"):
            compare(cut, cut)

    def test_what_ends_in_the_warmup_has_no_figures(self, small: Scenario, tmp_path: Path):
        early = run(small, limits=Limits(max_events=500))
        assert early.ends.max() < early.warmup
        assert early.link().figures()["utilization"].n == 0
        assert json.loads(json.dumps(early.summary(), allow_nan=False))["windows"]
        assert (
            "Partial result"
            in (save_with_report(early, tmp_path / "out") / "report.html").read_text()
        )

    def test_a_pilot_that_is_cut_is_the_result(self, small: Scenario):
        auto = with_overrides(small, ["warmup=auto", "sample=10 ms"])
        partial = run(auto, limits=Limits(max_events=5000)).provenance.partial
        assert partial is not None
        assert partial["pilot"]

    def test_a_stopping_rule_ends_with_what_is_cut(self, small: Scenario):
        one, many = (
            run(small, until=["utilization ±1%"], limits=Limits(max_events=5000), jobs=jobs)
            for jobs in (1, 7)
        )
        assert one.replications == 1
        assert one.summary() == many.summary()

    @pytest.mark.parametrize(
        ("option", "value", "said"),
        [
            ("--max-events", "3000", "the limit of 3,000 events a replication was reached"),
            ("--max-time", "1 s", "the limit of 1 s of time was reached"),
            ("--max-memory", "50 MB", "the limit of 50 MB of memory was reached"),
        ],
    )
    def test_a_limit_is_exit_code_3_and_a_partial_result(
        self, marqueue, small_file: Path, tmp_path: Path, option: str, value: str, said: str
    ):
        done = marqueue(
            "run", small_file, "--set", "duration=100000 s", "--set", "sample=0 s", option, value
        )
        assert done.returncode == 3, done.stderr
        assert f"Error: Partial result: {said}" in done.stderr
        assert "Small (partial)" in done.stdout
        assert "Traceback" not in done.stderr
        summary = json.loads((tmp_path / "results/small/summary.json").read_text())
        assert said.startswith(summary["partial"]["limit"])

    def test_a_run_that_ran_out_of_time_goes_on(self, marqueue, small_file: Path, tmp_path: Path):
        """What had ended before the limit is not run again."""
        # A minute of work where a replication takes a hundredth of a second.
        arguments = ["run", small_file, *LONG, "-r", "5000", "--out", "out", "--max-time", "1 s"]
        summary, made = tmp_path / "out/summary.json", tmp_path / "out" / CIRCUMSTANCES
        assert marqueue(*arguments).returncode == 3
        before = json.loads(summary.read_text())["replications"]
        assert marqueue(*arguments, "--resume").returncode == 3
        known = json.loads(made.read_text())["from_checkpoints"]
        assert 0 < known <= before < json.loads(summary.read_text())["replications"]

    def test_a_run_without_enough_time_completes_when_it_has_more(
        self, marqueue, small_file: Path, tmp_path: Path
    ):
        arguments = ["run", small_file, *LONG, "-r", "30", "--out", "out"]
        assert marqueue(*arguments, "--max-time", "1 ms").returncode in (2, 3)
        assert marqueue(*arguments, "--resume").returncode == 0
        assert Result.load(tmp_path / "out").replications == 30

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--max-time", "10"], '--max-time: got "10", expected a time such as'),
            (["--max-memory", "4 apples"], '--max-memory: got "4 apples", expected a size'),
            (["--max-events", "0"], "--max-events"),
        ],
    )
    def test_nonsense_is_refused(self, marqueue, small_file: Path, arguments: list[str], said: str):
        done = marqueue("run", small_file, *arguments)
        assert done.returncode == 2
        assert said in done.stderr
