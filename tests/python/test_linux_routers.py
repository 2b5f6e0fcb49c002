"""Qdiscs of Linux kernels as queues: scenarios, and runs of a kernel where one has been built."""

import json
import re
from typing import Any

import pytest

import marqueue._core as _core
from marqueue.errors import ScenarioError
from marqueue.kernels import find
from marqueue.scenario import Scenario, compile, from_dict, from_toml, kernels_of
from marqueue.simulation.run import run
from test_linux_hosts import KERNEL, needs_kernel


def scenario(aqm: Any, transport: Any = None, **link: Any) -> Scenario:
    """Four CUBIC flows on 10 Mbit/s, two of them in a kernel, unless ``transport`` is given."""
    groups = {"kernel": {"stack": KERNEL}, "model": {"preset": "linux"}}
    transports = groups if transport is None else {"all": transport}
    bottleneck = {"rate": "10 Mbit/s", "delay": "9 ms", "buffer": "200 packets", "aqm": aqm}
    flows = {"kind": "tcp", "count": 4 // len(transports)}
    return from_dict(
        {
            "name": "qdisc",
            "duration": "3 s",
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
            "traffic": [flows | {"name": each, "transport": each} for each in transports],
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
    assert caught.value.problems[0].path == "transport.all.segment"


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
