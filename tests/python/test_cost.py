"""What a run costs is predicted from its first part, and a run beyond memory is refused."""

import json
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import marqueue._core as _core
from marqueue import Result, load
from marqueue.cli import app
from marqueue.errors import RunError
from marqueue.reports import write_report
from marqueue.scenario import Scenario, from_dict
from marqueue.simulation import cost, measured_part, memory, result_cost
from marqueue.simulation.experiment import replications_of
from marqueue.simulation.limits import NO_LIMITS, Limits
from marqueue.simulation.sweep import SweepRequest
from marqueue.simulation.sweep_cost import predict_sweep
from marqueue.units import Duration

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.fixture
def short_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measures less than a run here takes, so that the rest is a prediction."""
    monkeypatch.setattr(measured_part, "LEAST", 0.0)
    monkeypatch.setattr(measured_part, "SHARE", 0.0)


def measured(scenario: Scenario) -> tuple[float, float]:
    """Events, and packets at the queues, of one replication."""
    each = replications_of(scenario, NO_LIMITS)[0]
    raw = _core.run(each.plan, each.seed, _core.Control(), {})
    windows = [window for link in raw["links"] for window in link["windows"]]
    return raw["events"], sum(window["arrivals"] for window in windows)


@pytest.mark.usefixtures("short_part")
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("dumbbell", ["duration=600 s"]),
        ("parking-lot", ["duration=200 s"]),
        ("mm1", ["duration=600 s"]),
        # The link has half of its rate in the second half, after what is measured.
        (
            "first",
            ["duration=400 s", 'topology.bottleneck.schedule=[{at="200 s", rate="5 Mbit/s"}]'],
        ),
    ],
)
def test_packets_and_events_are_those_of_the_run(name: str, changes: Sequence[str]) -> None:
    scenario = load(SCENARIOS / f"{name}.toml", [*changes, "replications=3", "warmup=20 s"])
    predicted = cost.predict(scenario)
    assert predicted.measured_share < 0.5
    events, packets = measured(scenario)
    assert predicted.events == pytest.approx(3 * events, rel=0.1)
    assert predicted.packets == pytest.approx(3 * packets, rel=0.1)


@pytest.mark.parametrize("name", ["incast", "quic"])
def test_a_run_that_was_measured_whole_is_no_prediction(name: str) -> None:
    scenario = load(SCENARIOS / f"{name}.toml")
    predicted = cost.predict(scenario, jobs=1)
    assert predicted.measured_share == 1.0
    assert predicted.wall_seconds == predicted.cpu_seconds + predicted.result_seconds > 0
    assert (predicted.events, predicted.packets) == tuple(
        scenario.replications * each for each in measured(scenario)
    )


def test_a_replication_on_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The part is run on them too. An application that writes once in that time still does."""
    # The first part is the last one, however fast the machine is.
    monkeypatch.setattr(measured_part, "MOST", 0.0)
    changes = ["replications=1", "duration=400 s", 'traffic.long.write="2 packets"']
    scenario = load(SCENARIOS / "dumbbell.toml", [*changes, "traffic.long.every=300 s"])
    predicted = cost.predict(scenario, jobs=1, threads=2)
    assert predicted.measured_share < 0.5
    assert (predicted.jobs, predicted.threads) == (1, 2)
    assert predicted.cpu_seconds >= predicted.wall_seconds > 0
    alone = cost.predict(scenario, jobs=1)
    assert alone.threads == 1
    assert alone.packets == predicted.packets


@pytest.mark.usefixtures("short_part")
@pytest.mark.parametrize("replications", [1, 5])
def test_the_cost_of_results_is_that_of_whole_ones(replications: int) -> None:
    """They have all measuring windows and samples, though the part ends before most of them."""
    changes = ["duration=600 s", "warmup=300 s", 'cuts=["400 s"]', f"replications={replications}"]
    scenario = load(SCENARIOS / "dumbbell.toml", changes)
    written: list[Result] = []

    def write(result: Result, directory: Path) -> None:
        assert not list(directory.iterdir())
        write_report(result, directory / "report.html")
        result.write_files(directory)
        written.append(result)

    predicted = cost.predict(scenario, write=write)
    assert predicted.measured_seconds < 300.0
    assert predicted.result_seconds > 0.0
    assert {result.replications for result in written} <= {min(2, replications), 3, 4, 5}
    assert written[-1].replications > replications / 2
    for result in written:
        assert not result.partial
        assert list(result.begun) == [0, 1, 2]
        times, _ = result.link("bottleneck").series("queue")
        assert (len(times), times[-1]) == (6000, pytest.approx(600.0))


def test_a_temporary_directory_that_cannot_be_written_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/proc/none")
    with pytest.raises(RunError, match=r"/proc/none/.*: cannot be written"):
        cost.predict(load(SCENARIOS / "incast.toml"))


def test_results_of_more_replications_take_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that advances only as results are written: by 3 ms, and 1 ms a replication."""
    now = 0.0

    def write(result: Result, _: Path) -> None:
        nonlocal now
        now += 3e-3 + 1e-3 * result.replications

    monkeypatch.setattr(result_cost, "time", SimpleNamespace(process_time=lambda: now))
    for number in (1, 2, 3, 20, 2000):
        changes = ["duration=11 s", f"replications={number}"]
        predicted = cost.predict(load(SCENARIOS / "first.toml", changes), write=write)
        assert predicted.result_seconds == pytest.approx(3e-3 + 1e-3 * number)


def test_a_result_that_takes_a_little_longer_by_chance_is_not_multiplied() -> None:
    """Even if the first measurement is 0.1 s off."""

    def time_of(number: int) -> float:
        return 0.3 + 4e-3 * number

    for chance in (-0.1, -0.05, 0.05, 0.1):
        predicted = result_cost.extrapolated(time_of(2) - chance, 2, 3000, time_of)
        assert predicted == pytest.approx(time_of(3000), rel=0.25)
    assert result_cost.extrapolated(1.5, 2, 2, lambda _: 0.0) == 1.5


def test_memory_of_results_of_more_replications() -> None:
    first, short = str(SCENARIOS / "first.toml"), ("--set", "duration=11 s")
    few, many = (
        predicted_by_command(first, *short, "-r", number)["memory"] for number in ("20", "2000")
    )
    # The run adds 118 kB for each replication.
    assert 1980 * 80e3 < many - few < 1980 * 160e3


def predicted_by_command(*arguments: str) -> dict[str, Any]:
    """What the command predicts. It runs in a process of its own: memory of one that has done other
    work depends on what that has left."""
    command = [sys.executable, "-m", "marqueue", "run", *arguments, "--estimate", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    cost: dict[str, Any] = json.loads(done.stdout)
    return cost


def test_memory_of_quic_that_grows_is_predicted(tmp_path: Path) -> None:
    """Packets that wait in an access link without a limit are kept by their senders."""
    text = """
name = "downloads"
duration = "60 s"
replications = 1
topology.kind = "dumbbell"
topology.rtts = ["40 ms"]
topology.bottleneck = { rate = "100 Mbit/s", delay = "5 ms", buffer = "100 packets" }
traffic = [{ kind = "quic", count = 20 }]
"""
    (path := tmp_path / "downloads.toml").write_text(text)
    slow, fast = (
        predicted_by_command(str(path), "--set", f"topology.access.rate={rate}")["memory"]
        for rate in ("100 Mbit/s", "1 Gbit/s")
    )
    # The run adds 700 MB.
    assert 300e6 < slow - fast < 2e9


@pytest.mark.usefixtures("short_part")
def test_what_comes_later_is_named() -> None:
    predicted = cost.predict(load(SCENARIOS / "dumbbell.toml"))
    assert predicted.later == ("group short starts at 40 s",)


@pytest.mark.usefixtures("short_part")
@pytest.mark.parametrize("change", ["topology.rtts=['80 ms']", "topology.rtts=['40 ms', '80 ms']"])
def test_groups_whose_flows_start_later_are_named_once(change: str) -> None:
    """A group has an entry in the plan for each class of flows."""
    starting = cost.predict(
        load(
            SCENARIOS / "dumbbell.toml",
            ["traffic.long.jitter=60 s", change, "traffic.short.start=0 s"],
        )
    )
    assert starting.later == ("flows of group long go on starting until 60 s",)
    later = load(SCENARIOS / "dumbbell.toml", [change, "traffic.short.start=0 s"]).to_dict()
    late = {"name": "late", "kind": "tcp", "count": 10, "start": "50 s"}
    predicted = cost.predict(from_dict(later | {"traffic": [*later["traffic"], late]}))
    assert predicted.later == ("group late starts at 50 s",)


@pytest.mark.usefixtures("short_part")
def test_many_groups_that_start_later_are_counted() -> None:
    scenario = load(SCENARIOS / "dumbbell.toml").to_dict()
    [long] = [each for each in scenario["traffic"] if each.get("name") == "long"]
    many = [long | {"name": f"g{i}", "count": 1, "start": f"{i} s"} for i in range(20, 30)]
    predicted = cost.predict(from_dict(scenario | {"traffic": [long, *many]}))
    [said] = predicted.later
    assert re.fullmatch(r"groups start or stop 10 times after \S+ s", said)


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["run", *arguments])


def test_the_command_predicts_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = str(SCENARIOS / "incast.toml")
    done = invoke(scenario, "--estimate")
    assert done.exit_code == 0, done.output
    assert "CPU time of 10 replications" in done.output
    assert "CPU time of results and files" in done.output
    predicted = json.loads(invoke(scenario, "--estimate", "--json").stdout)
    assert predicted["replications"] == 10
    assert predicted["reading_seconds"] > 0.0
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("short_part")
@pytest.mark.parametrize("most", [5_000, 300_000])
def test_a_limit_of_events_is_in_the_prediction(most: int) -> None:
    """The first is reached before what is measured at least, the second after it."""
    scenario = load(SCENARIOS / "dumbbell.toml", ["duration=600 s"])
    predicted = cost.predict(scenario, limits=Limits(max_events=most))
    each = replications_of(scenario, NO_LIMITS)[0]
    ended = _core.run(each.plan, each.seed, _core.Control(most), {})["ended"]
    assert (predicted.events, predicted.threads) == (scenario.replications * most, 1)
    assert predicted.measured_seconds / predicted.measured_share == pytest.approx(ended, rel=0.1)
    assert predicted.packets == pytest.approx(
        scenario.replications * packets_until(scenario, most), rel=0.1
    )
    [limit] = predicted.limits
    assert f"{most:,} events" in limit


def packets_until(scenario: Scenario, most: int) -> float:
    """The packets at the queues before a replication has done so many events."""
    each = replications_of(scenario, NO_LIMITS)[0]
    raw = _core.run(each.plan, each.seed, _core.Control(most), {})
    return float(sum(window["arrivals"] for link in raw["links"] for window in link["windows"]))


def test_limits_that_are_not_reached_are_not_named() -> None:
    limits = Limits(max_events=10**12, max_seconds=1e6, max_bytes=10**12)
    predicted = cost.predict(load(SCENARIOS / "incast.toml"), limits=limits)
    assert (predicted.limits, predicted.measured_share) == ((), 1.0)


def test_what_ends_a_run_early_is_named() -> None:
    scenario = str(SCENARIOS / "incast.toml")
    done = invoke(scenario, "--estimate", "--max-time", "1 ms", "--max-memory", "1 MB")
    assert "cut off by the limit of 0.001 s of time." in done.output
    assert "cut off by the limit of 1 MB of memory." in done.output
    done = invoke(scenario, "--estimate", "--until", "utilization ±1%", "-r", "7")
    assert "CPU time of 7 replications" in done.output
    assert "fewer replications may be enough for utilization ±1%" in done.output
    with pytest.raises(RunError, match="utilisation"):
        cost.predict(load(scenario), until=["utilisation ±1%"])


def test_it_can_be_interrupted_while_it_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next look would be days away."""

    def look_again_never(*_: object) -> int:
        signal.raise_signal(signal.SIGINT)
        return sys.maxsize

    monkeypatch.setattr(measured_part.MeasuredPart, "_events_to_go", look_again_never)
    with pytest.raises(KeyboardInterrupt):
        cost.predict(load(SCENARIOS / "dumbbell.toml", ["duration=10000 h", "sample=0 s"]))


def test_kernels_are_refused() -> None:
    with pytest.raises(RunError, match=r"--estimate: .* got linux-"):
        cost.predict(load(SCENARIOS / "linux-router.toml"))


def crowd(tmp_path: Path, groups: int) -> Path:
    """A scenario with a million flows in each group, of about a kilobyte each."""
    flows = "".join(
        f'[[traffic]]\nname = "g{i}"\nkind = "tcp"\ncount = 1_000_000\n' for i in range(groups)
    )
    text = (SCENARIOS / "first.toml").read_text()
    (path := tmp_path / "crowd.toml").write_text(text[: text.index("[[traffic]]")] + flows)
    return path


def within(gigabytes: float, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, with a limit of the memory that it can have."""
    bytes_ = round(gigabytes * 1e9)
    return subprocess.run(
        [sys.executable, "-m", "marqueue", "run", *arguments],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_)),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_run_beyond_memory_is_refused_before_it_starts(tmp_path: Path) -> None:
    scenario = crowd(tmp_path, 9)
    done = within(4, str(scenario), "-r", "1", "-o", str(tmp_path / "out"))
    assert done.returncode == 2, done.stderr
    assert re.search(
        r"takes about \S+ GB of memory, and \S+ GB are free; it has \S+ GB for flows; with about "
        r"\d\d% of its flows",
        done.stderr,
    )
    assert not (tmp_path / "out").exists()


def test_a_run_beyond_memory_is_not_measured_either(tmp_path: Path) -> None:
    done = within(4, str(crowd(tmp_path, 9)), "-r", "1", "--estimate")
    assert done.returncode == 2, done.stderr
    assert re.search(r"takes about \S+ GB of memory, and \S+ GB are free", done.stderr)


def test_samples_beyond_memory_are_refused_with_those_that_fit(tmp_path: Path) -> None:
    """The result has the samples of all replications, and not only of those that run at a time."""
    first = str(SCENARIOS / "first.toml"), "--set", "duration=100 s", "--set", "sample=50 us"
    done = within(2.5, *first, "-r", "20", "--jobs", "1", "-o", str(tmp_path / "out"))
    assert done.returncode == 2, done.stderr
    found = re.search(r"it has \S+ GB for samples of queues; with a sample of (\S+) s", done.stderr)
    assert found, done.stderr
    assert 50e-6 < float(found[1]) < 1e-3
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("parts", "fits"),
    [
        (memory.Parts(5e8, 5e8, 1e8, 4e9), r"with a sample of (\S+) s or more it fits"),
        (memory.Parts(5e8, 5e8, 4e9, 1e8), "with an AQM that has fewer of these queues"),
        (memory.Parts(5e8, 5e8, 4e9, 5e9), r"with a sample of (\S+) s or more and an AQM that has"),
        (memory.Parts(4e9, 5e8, 1e8, 1e8), r"with about \d\d% of its flows and its buffers"),
    ],
)
def test_the_part_that_takes_most_is_the_one_to_change(
    parts: memory.Parts, fits: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, sample, replications = 3e9, Duration(100_000_000), 2
    monkeypatch.setattr(memory, "free_bytes", lambda: free)
    estimate = memory.Estimate(sum(parts), 0.0, 1e6, 100.0, 100.0, 2, parts, parts.samples)
    with pytest.raises(RunError) as refused:
        memory.refuse_beyond_memory(estimate, sample, 1, replications)
    found = re.search(fits, str(refused.value))
    assert found, refused.value
    if found.groups():
        samples = parts.samples * sample.seconds / float(found[1])
        changed = estimate.with_samples(samples, samples)
        if "AQM" in fits:
            changed = changed._replace(bytes=changed.bytes - parts.flow_queues)
        memory.refuse_beyond_memory(changed, sample, 1, replications)


def test_threads_of_a_replication_that_fit_are_named(tmp_path: Path) -> None:
    """Each of two threads has all flows: one fits. More are not measured either."""
    run = str(crowd(tmp_path, 2)), "-r", "1", "--threads", "2"
    for rest in (("-o", str(tmp_path / "out")), ("--estimate",)):
        done = within(3.8, *run, *rest)
        assert done.returncode == 2, done.stderr
        assert "in 2 threads" in done.stderr
        assert "with --threads 1 it fits" in done.stderr


def test_jobs_that_fit_are_named(tmp_path: Path) -> None:
    """Of two replications side by side, one fits."""
    done = within(5, str(crowd(tmp_path, 2)), "-r", "2", "-j", "2", "-o", str(tmp_path / "out"))
    assert done.returncode == 2, done.stderr
    assert "in 2 threads" in done.stderr
    assert "with --jobs 1 it fits" in done.stderr


def request(*over: str, replications: int | None = None) -> SweepRequest:
    return SweepRequest.of(load(SCENARIOS / "incast.toml"), over, replications, ())


def test_the_cost_of_a_sweep_is_that_of_its_points() -> None:
    grid = request("topology.bottleneck.buffer=20 packets,200 packets", replications=2)
    predicted = predict_sweep(grid, jobs=1)
    each = [measured(run.scenario) for run in grid.runs]
    assert (predicted.points, predicted.measured, predicted.replications) == (2, (1, 2), 4)
    assert predicted.events == 2 * sum(events for events, _ in each)
    assert predicted.packets == 2 * sum(packets for _, packets in each)
    assert predicted.wall_seconds == predicted.cpu_seconds + predicted.result_seconds > 0
    assert predicted.memory > 0


def test_some_points_of_a_large_grid_are_measured() -> None:
    buffers = ",".join(f"{n} packets" for n in range(20, 40))
    grid = request(f"topology.bottleneck.buffer={buffers}")
    predicted = predict_sweep(grid, jobs=2)
    assert predicted.points == 20
    assert len(predicted.measured) == 8
    assert (predicted.measured[0], predicted.measured[-1]) == (1, 20)
    some = [measured(grid.runs[number - 1].scenario)[0] for number in predicted.measured]
    replications = grid.runs[0].scenario.replications
    assert predicted.events == pytest.approx(20 * replications * sum(some) / 8)
    assert predicted.replications == 20 * replications


def test_a_sweep_is_predicted_by_the_command(tmp_path: Path) -> None:
    file, out = str(SCENARIOS / "incast.toml"), tmp_path / "out"
    grid = ["--over", "topology.bottleneck.buffer=20 packets,200 packets", "--estimate"]
    limits = ["--max-events", "1000", "--max-memory", "1 MB"]
    shown = CliRunner().invoke(app, ["sweep", file, *grid, *limits, "-o", str(out)])
    assert shown.exit_code == 0, shown.output
    assert not out.exists()
    said = " ".join(shown.output.split())
    assert "the first part of one replication of each point" in said
    assert "the sweep will be cut off by the limit of 1,000 events a replication" in said
    assert "the sweep will be cut off by the limit of 1 MB of memory" in said
    asked = CliRunner().invoke(app, ["sweep", file, *grid, "--json"])
    assert json.loads(asked.stdout)["points"] == 2
