"""Qdiscs of Linux kernels as queues: scenarios, and runs of a kernel where one has been built."""

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

import marqueue._core as _core
from marqueue.errors import GuestError, ScenarioError
from marqueue.kernels import find
from marqueue.scenario import Scenario, compile, from_dict, from_toml, kernels_of
from marqueue.simulation.run import run
from test_linux_hosts import KERNEL, busy, digest, is_running, needs_kernel, started

UDP: dict[str, Any] = {
    "name": "udp", "kind": "cbr", "rate": "11.3 Mbit/s", "packet": "1500 B", "jitter": "0 s",
    "ecn": "ect",
}  # fmt: skip


def scenario(
    aqm: Any, transport: Any = None, traffic: Any = None, duration: str = "3 s", **link: Any
) -> Scenario:
    """Four CUBIC flows on 10 Mbit/s, two of them in a kernel, unless ``transport`` or ``traffic``
    is given."""
    groups = {"kernel": {"stack": KERNEL}, "model": {"preset": "linux"}}
    transports = groups if transport is None else {"default": transport}
    bottleneck = {"rate": "10 Mbit/s", "delay": "9 ms", "buffer": "200 packets", "aqm": aqm}
    flows = {"kind": "tcp", "count": 4 // len(transports)}
    return from_dict(
        {
            "name": "qdisc",
            "duration": duration,
            "warmup": "1 s",
            "sample": "100 ms",
            "replications": 1,
            "topology": {
                "kind": "dumbbell",
                "rtts": ["20 ms"],
                "bottleneck": bottleneck | link,
                "access": {"rate": "1 Gbit/s", "delay": "500 us"},
            },
            "transport": transports,
            "traffic": traffic
            or [flows | {"name": each, "transport": each} for each in transports],
        }
    )


def told(of: Scenario) -> list[str]:
    """What tc is told."""
    [queue] = [link["queue"] for link in compile(of)["links"] if link["queue"]]
    commands: list[str] = queue["router"]["tc"]
    return commands


@pytest.mark.parametrize(
    ("aqm", "link", "expected"),
    [
        ("linux:fq_codel", {}, "fq_codel limit 200"),
        ("linux:fq_codel", {"signal": "drop"}, "fq_codel limit 200 noecn"),
        ("linux:codel", {}, "codel limit 200 ecn"),
        ("linux:codel", {"signal": "drop"}, "codel limit 200"),
        ("linux:cake", {"buffer": "300 kB"}, "cake"),
        ("linux:bfifo", {"buffer": "300 kB"}, "bfifo limit 300000"),
        (
            {"name": "linux:red", "options": "min 30000 max 90000"},
            {"packet": "1500 B"},
            "red min 30000 max 90000 limit 302800 avpkt 1514 bandwidth 10000000bit ecn",
        ),
        ({"name": "linux:pie", "options": "limit 9 noecn"}, {}, "pie limit 9 noecn"),
    ],
)
def test_the_keys_of_a_link_are_options_of_its_qdisc(
    aqm: Any, link: dict[str, Any], expected: str
) -> None:
    assert told(scenario(aqm, **link)) == [f"qdisc add root {expected}"]


def test_a_tree_is_told_command_by_command_and_survives_writing() -> None:
    commands = ["class add parent 1: classid 1:1 htb rate 4mbit"]
    aqm = {"name": "linux:htb", "options": "default 1", "commands": commands, "kernel": "mine"}
    given = scenario(aqm)
    assert told(given) == ["qdisc add root handle 1: htb default 1", *commands]
    again = from_toml(given.to_toml())
    assert (again.hash, told(again)) == (given.hash, told(given))
    assert kernels_of(compile(given)) == [KERNEL, "mine"]


@pytest.mark.parametrize(
    ("aqm", "link", "path", "message"),
    [
        ("linux:fq_codell", {}, "aqm", 'did you mean "linux:fq_codel"'),
        ({"name": "linux:pie", "option": "x"}, {}, "aqm.option", "unknown key"),
        ({"name": "linux:pie", "options": "target 1ms\n"}, {}, "aqm.options", "options of tc"),
        ({"name": "linux:pie", "options": "limit 9 # x"}, {}, "aqm.options", "options of tc"),
        ({"name": "linux:htb", "commands": ["class"]}, {}, "aqm.commands", "commands of tc"),
        ({"name": "linux:pie", "ring": 0}, {}, "aqm.ring", "got 0, expected packets, 1 to 100"),
        (
            {"name": "linux:red", "max_p": 0.1},
            {},
            "aqm.max_p",
            'got 0.1, expected it as "probability" in options, in the units of tc: '
            'options = "probability ..."',
        ),
        ({"name": "linux:pie", "delay_ref": "9 ms"}, {}, "aqm.delay_ref", 'as "target" in options'),
        ({"name": "linux:pie", "kernel": "a b"}, {}, "aqm.kernel", "expected the name of a kernel"),
        ("linux:pie", {"buffer": "300 kB"}, "buffer", "linux:pie counts them"),
        ("linux:cake", {"signal": "drop"}, "signal", "got drop, expected ecn"),
        ("linux:codel", {"signal": "ecn-only"}, "signal", "expected ecn or drop"),
    ],
)
def test_a_mistake_is_named(aqm: Any, link: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        compile(scenario(aqm, **link))
    [problem] = caught.value.problems
    assert problem.path == f"topology.bottleneck.{path}"
    assert message in problem.message


def test_packets_that_no_frame_holds_are_refused_before_a_kernel_starts() -> None:
    with pytest.raises(ScenarioError, match="expected 40 to 1500 bytes") as caught:
        compile(scenario("linux:pie", {"segment": "4000 B"}))
    assert caught.value.problems[0].path == "transport.default.segment"


@needs_kernel
def test_each_packet_that_a_kernel_drops_is_known_and_runs_are_repeated() -> None:
    given = scenario({"name": "linux:fq_codel", "options": "target 2ms interval 20ms"})
    link = run(given).link("bottleneck")
    [whole] = [sum(w.drops["kernel"] for w in windows) for windows in link.by_replication]
    [said] = link.tc
    assert whole > 20
    assert f"(dropped {whole}," in said
    assert "target 2ms interval 20ms" in said
    # The kernel has the packets that it sent and those that wait; we have those and no others.
    [departed] = [sum(w.departures for w in windows) for windows in link.by_replication]
    sent = re.search(r"Sent \d+ bytes (\d+) pkt", said)
    assert sent is not None
    assert 0 <= int(sent[1]) - departed < 5
    digests = {
        _core.digest(json.dumps(compile(given)), seed, {KERNEL: find(KERNEL).paths})
        for seed in (1, 1, 2)
    }
    assert len(digests) == 2


@needs_kernel
def test_a_run_with_a_router_is_the_same_beside_busy_loops_and_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two hosts and a router whose signals are random.
    mixed = scenario("linux:pie", duration="1.5 s")
    first = digest(mixed)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with busy(4):
        assert digest(mixed) == first
    assert digest(mixed, seed=2) != first
    assert list(tmp_path.iterdir()) == []


@needs_kernel
def test_a_router_without_messages_does_what_it_does_by_messages() -> None:
    mixed = scenario("linux:fq_codel", duration="2 s")
    assert digest(mixed) == digest(mixed, messages=True)


@needs_kernel
def test_a_killed_router_ends_the_run_without_a_result(tmp_path: Path) -> None:
    given = scenario("linux:pie", {"preset": "linux"}, duration="3600 s")
    with started(tmp_path, given, guests=1) as (process, [router]):
        os.kill(router, signal.SIGKILL)
        _, said = process.communicate(timeout=60)
        assert process.returncode == GuestError.exit_code == 1
        assert "queue of bottleneck" in said
        assert "SIGKILL" in said or "signal: 9" in said
        assert "console" in said
    assert not list((tmp_path / "results").glob("*/summary.json"))
    assert not is_running(router)


def fates(of: Scenario) -> list[tuple[str, int, int]]:
    """The packets that were dropped, marked and sent."""
    trace = run(of).tables["trace"].to_pydict()
    rows = zip(trace["kind"], trace["flow"], trace["seq"], strict=True)
    return sorted(row for row in rows if row[0] in ("drop", "mark", "depart"))


@needs_kernel
@pytest.mark.parametrize("more", [{"ecn": "ect"}, {"kind": "paced", "ecn": True}])
def test_udp_meets_the_same_fate_in_our_codel_and_in_the_kernel_s(more: dict[str, Any]) -> None:
    # The network card takes one packet, and the square root is the kernel's.
    flow = UDP | more
    both = [
        fates(scenario(aqm, {"preset": "linux"}, [flow], trace=True))
        for aqm in ({"name": "linux:codel", "ring": 1}, {"name": "codel", "square_root": "newton"})
    ]
    kinds = {kind for kind, *_ in both[0]}
    assert {"mark", "depart"} <= kinds
    assert both[0] == both[1]


@needs_kernel
def test_choke_of_a_kernel_drops_an_unresponsive_flow_by_pairs() -> None:
    options = "min 10 max 60 probability 0.02 burst 24"
    transport, flow = {"preset": "linux"}, {"name": "tcp", "kind": "tcp"}
    given = scenario(
        {"name": "linux:choke", "options": options}, transport, [UDP | {"ecn": "not-ect"}, flow]
    )
    [said] = run(given).link("bottleneck").tc
    assert "min 10p max 60p" in said
    matched = re.search(r"matched (\d+)", said)
    assert matched is not None
    assert int(matched[1]) > 100


@needs_kernel
def test_a_kernel_marks_models_that_are_ecn_capable() -> None:
    transport = {"preset": "linux", "ecn": True}
    link = run(scenario("linux:codel", transport)).link("bottleneck")
    figures = link.figures()
    assert figures["marks"].mean > 5
    assert figures["drops"].mean == 0
    assert 0.002 < figures["delay_mean"].mean < 0.03


@needs_kernel
def test_what_tc_refuses_is_a_mistake_of_the_scenario() -> None:
    with pytest.raises(ScenarioError) as caught:
        run(scenario({"name": "linux:codel", "options": "limitt 3"}))
    [problem] = caught.value.problems
    assert problem.path == "topology.bottleneck.aqm"
    assert problem.message == f'{KERNEL} refuses it: tc: What is "limitt"?'
