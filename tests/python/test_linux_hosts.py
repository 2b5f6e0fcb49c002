"""Linux kernels as end hosts: scenarios, and runs of a kernel where one has been built."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marqueue._core as _core
from conftest import COMMAND
from marqueue.errors import GuestError, MarqueueError, ScenarioError
from marqueue.kernels import find
from marqueue.scenario import Scenario, compile, from_dict, from_toml, kernels_of, on_kernel

KERNEL = "linux-7.3"

SCENARIO = """
name = "kernel"
duration = "{duration}"
warmup = "1 s"
replications = 1

[topology]
kind = "dumbbell"
rtts = ["24 ms"]

[topology.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
buffer = "50 packets"
{bottleneck}

[topology.access]
rate = "1 Gbit/s"
delay = "1 ms"

[transport.default]
{transport}

[[traffic]]
name = "flows"
kind = "tcp"
jitter = "{jitter}"
trace = true
sample_cwnd = true
{traffic}
"""


def scenario(
    transport: str = f'stack = "{KERNEL}"',
    traffic: str = "",
    bottleneck: str = "",
    duration: str = "3 s",
    jitter: str = "0 s",
) -> Scenario:
    """A dumbbell with one group of TCP flows."""
    return from_toml(
        SCENARIO.format(
            transport=transport,
            traffic=traffic,
            bottleneck=bottleneck,
            duration=duration,
            jitter=jitter,
        )
    )


def _missing() -> str | None:
    try:
        find(KERNEL)
    except MarqueueError as error:
        return str(error)
    return None


MISSING = _missing()
needs_kernel = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))


def digest(of: Scenario, seed: int = 1, messages: bool = False) -> str:
    """The digest of a run."""
    kernels = {KERNEL: find(KERNEL).paths}
    return _core.digest(json.dumps(compile(of)), seed, kernels, messages=messages)


@pytest.mark.parametrize(
    ("transport", "path", "expected"),
    [
        ('stack = "linux 7"', "transport.default.stack", "linux-7.3"),
        ("stack = 7", "transport.default.stack", "linux-7.3"),
        ('congestion_control = "bbr"', "transport.default.congestion_control", "expected a kernel"),
        ('stack = "k"\nmin_rto = "1 s"', "transport.default.min_rto", "the kernel decides it"),
        ('stack = "k"\npreset = "ns2"', "transport.default.preset", "linux"),
        ('stack = "k"\ncontrol = "aimd"', "transport.default.control", "cubic"),
        (
            'stack = "k"\ncontrol = "reno"\ncongestion_control = "bbr"',
            "transport.default.congestion_control",
            "one of them",
        ),
        *(
            (f'stack = "k"\nsysctl = {{ {name} = 1 }}', "transport.default.sysctl", got)
            for name, got in [
                ('"kernel.panic"', 'got "kernel.panic", expected names in quotes'),
                ("net.core.x", 'got "net", expected names in quotes'),
                ('"net.core.x y"', 'got "net.core.x y"'),
                ('"net.core.x\\n"', 'got "net.core.x'),
            ]
        ),
        *(
            (
                f'stack = "k"\nsysctl = {{ "net.core.x" = {value} }}',
                "transport.default.sysctl.net.core.x",
                f"got {got}, expected a whole number, or words with one blank",
            )
            for value, got in [
                (r'"1\nflow"', r'"1\nflow"'),
                ('"1  2"', '"1  2"'),
                ('" 1"', '" 1"'),
                ('"1 #2"', '"1 #2"'),
                ('""', '""'),
                ("1.5", "1.5"),
                ("true", "true"),
            ]
        ),
        (
            'stack = "k"\nsegment = "1500 B"',
            "transport.default.segment",
            "expected 76 to 1448 with a kernel",
        ),
    ],
)
def test_a_mistake_in_a_stack_is_named(transport: str, path: str, expected: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        compile(scenario(transport))
    [problem] = caught.value.problems
    assert problem.path == path
    assert expected in problem.message


def test_gaps_that_a_kernel_s_sender_has_not_are_refused_before_it_starts() -> None:
    pieces = 'write = "10 packets"\nevery = "1 s"\ngaps = "exponential"'
    with pytest.raises(ScenarioError) as caught:
        compile(scenario(traffic=pieces))
    [problem] = caught.value.problems
    assert problem.path == "traffic.flows.gaps"
    assert "expected constant ones with a kernel" in problem.message


def test_another_first_write_is_refused_with_a_kernel_and_kept_with_a_model() -> None:
    pieces = 'write = "10 packets"\nevery = "1 s"\nfirst = "30 packets"\nfirst_lasts = "2 s"'
    with pytest.raises(ScenarioError) as caught:
        compile(scenario(traffic=pieces))
    [problem] = caught.value.problems
    assert problem.path == "traffic.flows.first"
    assert "got 30 packets, expected none with a kernel" in problem.message
    compile(scenario("", traffic=pieces))


def test_a_stack_survives_writing_and_reading() -> None:
    given = scenario(
        f'stack = "{KERNEL}"\ncongestion_control = "bbr"\nsysctl = {{ "net.ipv4.tcp_ecn" = 3 }}'
    )
    again = from_toml(given.to_toml())
    assert again.hash == given.hash
    [transport] = compile(again)["transports"]
    assert transport["stack"] == {
        "kernel": KERNEL,
        "congestion_control": "bbr",
        "sysctl": {"net.ipv4.tcp_ecn": "3"},
    }
    assert kernels_of(compile(again)) == [KERNEL]


def test_models_without_a_stack_are_unchanged() -> None:
    given = scenario('preset = "linux"')
    assert "stack" not in given.to_dict()["transport"]["default"]
    assert "stack" not in compile(given)["transports"][0]
    assert kernels_of(compile(given)) == []


def test_a_scenario_of_models_is_put_on_a_kernel() -> None:
    given = scenario('preset = "ns2"\ncontrol = "reno"\necn = true\nmin_rto = "1 s"')
    there, remarks = on_kernel(given, KERNEL)
    [transport] = compile(there)["transports"]
    assert transport["stack"]["congestion_control"] == "reno"
    assert transport["stack"]["sysctl"] == {"net.ipv4.tcp_ecn": "1"}
    assert transport["params"]["segment"] == 1000
    assert [each.split(":")[0] for each in remarks] == [
        "transport.default.preset",
        "transport.default.min_rto",
    ]


def test_a_law_that_no_kernel_has_is_refused() -> None:
    with pytest.raises(ScenarioError) as caught:
        on_kernel(scenario('control = "aimd"'), KERNEL)
    assert caught.value.problems[0].path == "transport.default.control"


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (KERNEL, f"marqueue kernel build {KERNEL}"),
        ("linux-6.1", f"cannot be an end host yet, .* later: .*{KERNEL}"),
    ],
)
def test_a_kernel_that_is_not_there_or_no_host_is_named_before_anything_starts(
    tmp_path: Path, kernel: str, expected: str
) -> None:
    text = scenario(f'stack = "{kernel}"').to_toml()
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [*COMMAND, "run", "s.toml"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert re.search(expected, " ".join(done.stderr.split()))
    assert not (tmp_path / "results").exists()


def raw(of: Scenario, seed: int = 1) -> dict[str, Any]:
    """What the engine returns of a run."""
    kernels = {KERNEL: find(KERNEL).paths}
    return _core.run(json.dumps(compile(of)), seed, _core.Control(), kernels)


@needs_kernel
def test_one_flow_of_a_kernel_fills_the_link_with_full_segments() -> None:
    given = raw(scenario(duration="6 s"))
    [link] = given["links"]
    [_, window] = link["windows"]
    # All data packets are full and none is lost twice, so payload is 1448 bytes of 1500. What was
    # under way at the edges differs by the packets of the round trip, 35 ms at most beside the
    # queue of 50.
    assert window["departed_bytes"] == 1500 * window["departures"]
    delivered = given["flows"]["delivered"][0][1]
    assert abs(delivered / 1448 - window["departures"]) < 80
    assert window["used"] > 0.99 * window["capacity"]
    # Every data packet passed the link once; the SYN and an acknowledgement of the SYN-ACK too.
    arrivals = sum(each["arrivals"] for each in link["windows"])
    assert 0 <= arrivals - given["flows"]["sent"][0] <= 2


@needs_kernel
def test_the_trace_of_a_kernel_s_sender_has_its_tcp_info_at_the_samples() -> None:
    given = raw(scenario(duration="6 s"))
    [sender] = given["senders"]
    # Where the sender connected, then every 100 ms where anything changed.
    ticks = sender["t"][1:] * 10
    assert np.allclose(ticks, np.round(ticks), atol=1e-6)
    assert 0.024 < sender["t"][0] < 0.026
    assert (sender["cwnd"] == np.round(sender["cwnd"])).all()
    assert sender["cwnd"][0] == 10
    assert (sender["srtt"] > 0.024).all()
    assert np.isinf(sender["ssthresh"][0])
    assert np.isfinite(sender["ssthresh"][-1])
    [sampled] = given["cwnds"]
    at = dict(zip(sampled["t"], sampled["sum"], strict=True))
    assert len(at) == 60
    traced = dict(zip(sender["t"], sender["cwnd"], strict=True))
    assert all(at[t] == cwnd for t, cwnd in traced.items() if t in at)


@needs_kernel
def test_marks_reach_a_kernel_that_asked_for_ecn() -> None:
    aqm = 'signal = "ecn"\naqm = { name = "codel" }'
    [capable] = raw(scenario(f'stack = "{KERNEL}"\necn = true', bottleneck=aqm))["links"]
    [deaf] = raw(scenario(f'stack = "{KERNEL}"', bottleneck=aqm))["links"]
    marks = [sum(sum(w["marks"].values()) for w in each["windows"]) for each in (capable, deaf)]
    drops = [sum(sum(w["drops"].values()) for w in each["windows"]) for each in (capable, deaf)]
    assert marks[0] > 0
    assert marks[1] == 0
    assert drops[1] > 0
    assert drops[0] < drops[1]


@needs_kernel
def test_finite_and_application_limited_flows_complete() -> None:
    finite = raw(scenario(traffic='count = 3\nsize = "100 packets"'))["flows"]
    assert (finite["delivered"].sum(axis=1) == 144_800).all()
    assert ((finite["end"] > 0.1) & (finite["end"] < 1)).all()
    pieces = 'size = "20 packets"\nwrite = "10 packets"\nevery = "1 s"'
    limited = raw(scenario(traffic=pieces))["flows"]
    # The second piece is written after a second and acknowledged a round trip later.
    assert 1.024 < limited["end"][0] < 1.1
    assert limited["delivered"].sum() == 28_960


@needs_kernel
def test_flows_of_a_poisson_process_end_in_a_kernel_too() -> None:
    given = scenario()
    poisson = {"kind": "poisson", "rate": "10 /s", "size": "10 packets"}
    flows = raw(from_dict(given.to_dict() | {"traffic": [poisson]}))["flows"]
    model = {"transport": {"default": {"preset": "linux"}}}
    same = _core.run(
        json.dumps(compile(from_dict(given.to_dict() | {"traffic": [poisson]} | model))),
        1,
        _core.Control(),
    )["flows"]
    assert len(flows["start"]) > 10
    assert (flows["start"] == same["start"]).all()
    assert (flows["size"] == same["size"]).all()
    early = flows["start"] < 2
    assert (flows["end"][early] < flows["start"][early] + 0.5).all()


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Other processes that take all the time that they get."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


@needs_kernel
def test_a_run_is_the_same_beside_busy_loops_and_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mixed = scenario(traffic="count = 4", duration="2 s", jitter="100 ms")
    first = digest(mixed)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with busy(4):
        assert digest(mixed) == first
    assert digest(mixed, seed=2) != first
    assert list(tmp_path.iterdir()) == []


@needs_kernel
def test_what_guests_say_in_shared_memory_is_what_they_would_say_by_messages() -> None:
    mixed = scenario(traffic="count = 4", duration="2 s", jitter="100 ms")
    assert digest(mixed) == digest(mixed, messages=True)


ELSEWHERE = """
import json, os, sys
import marqueue._core as core
os.sched_setaffinity(0, {int(sys.argv[1])})
os.nice(int(sys.argv[2]))
kernels = {name: tuple(paths) for name, paths in json.loads(sys.argv[3]).items()}
print(core.digest(sys.stdin.read(), 1, kernels))
"""
"""Prints the digest of a plan: core, niceness, paths of kernels."""


@needs_kernel
def test_a_run_is_the_same_on_each_core_and_under_nice(tmp_path: Path) -> None:
    mixed = scenario(traffic="count = 2", duration="1.1 s", jitter="100 ms")
    kernels = json.dumps({KERNEL: [str(path) for path in find(KERNEL).paths]})
    found = {
        subprocess.run(
            [sys.executable, "-c", ELSEWHERE, str(core), niceness, kernels],
            input=json.dumps(compile(mixed)), cwd=tmp_path, text=True, check=True,
            stdout=subprocess.PIPE,
        ).stdout.strip()
        for core, niceness in zip(sorted(os.sched_getaffinity(0))[:2], ("0", "10"), strict=False)
    }  # fmt: skip
    assert found == {digest(mixed)}


def guests_of(parent: int) -> list[int]:
    """The guests that a process has started."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            stat = (each / "stat").read_text(encoding="utf-8", errors="replace")
            line = (each / "cmdline").read_bytes()
        except OSError:
            continue
        is_child = int(stat.rpartition(")")[2].split()[1]) == parent
        if is_child and b"time-travel=ext" in line:
            found.append(int(each.name))
    return found


def is_running(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def until(true: object, seconds: float = 60) -> None:
    """Waits until a function returns something true."""
    assert callable(true)
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


@contextmanager
def started(
    tmp_path: Path, given: Scenario | None = None, guests: int = 2
) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A long run with kernels that is under way, and its guests."""
    text = (given or scenario(duration="3600 s")).to_toml()
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    process = subprocess.Popen(
        [*COMMAND, "run", "s.toml"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        until(lambda: len(guests_of(process.pid)) == guests)
        yield process, guests_of(process.pid)
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


@needs_kernel
def test_a_killed_guest_ends_the_run_without_a_result(tmp_path: Path) -> None:
    with started(tmp_path) as (process, guests):
        os.kill(guests[1], signal.SIGKILL)
        _, said = process.communicate(timeout=60)
        assert process.returncode == GuestError.exit_code == 1
        assert "receivers" in said
        assert "SIGKILL" in said or "signal: 9" in said
        assert "console" in said
    assert not list((tmp_path / "results").glob("*/summary.json"))
    assert not any(is_running(each) for each in guests)


@needs_kernel
def test_no_process_is_left_when_the_simulator_is_killed(tmp_path: Path) -> None:
    with started(tmp_path) as (process, guests):
        process.kill()
        process.wait()
        until(lambda: not any(is_running(each) for each in guests))


@needs_kernel
def test_an_interrupt_ends_the_run_and_its_guests(tmp_path: Path) -> None:
    with started(tmp_path) as (process, guests):
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 130
        assert not any(is_running(each) for each in guests)
