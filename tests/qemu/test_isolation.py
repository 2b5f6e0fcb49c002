"""A live link with a processor that is isolated for it (--realtime strict), in a kernel that can do
it, on two processors: the command of this checkout, with its libraries and programs."""

import json
import os
import sys
from pathlib import Path

import pytest

import machine
import traced
from live_requirements import needs_links
from scripts import sections

SCENARIO = """
name = "strict"
duration = "1 s"
replications = 1
sample = "0 s"

[topology]
kind = "dumbbell"
rtts = ["20 ms"]

[topology.bottleneck]
rate = "4 Mbit/s"
delay = "5 ms"
buffer = "20 packets"

[[traffic]]
kind = "tcp"
count = 1
"""
COMMAND = [sys.executable, "-m", "marqueue"]
WHY_NOT = machine.missing()

pytestmark = [needs_links, pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory):
    """What the machine printed, by section."""
    folder = tmp_path_factory.mktemp("machine")
    scenario = folder / "scenario.toml"
    scenario.write_text(SCENARIO)
    link = ("link", "--rate", "10Mbit/s", "--json", str(folder / "link.json"), "--")
    # What the script in the machine does besides.
    uses = (
        "import json, pathlib, signal, subprocess; from marqueue.live.run import run_live; "
        f"from marqueue.scenario import load; load({str(scenario)!r})"
    )
    files = {
        # It is part of the interpreter, which looks for it nevertheless to find all others.
        Path(os.__file__),
        *traced.files_of([*COMMAND, *link, sys.executable, "-c", uses], folder),
        *traced.files_of([*COMMAND, "live", str(scenario), "-o", str(folder / "live")], folder),
    }
    files = {each for each in files if not each.is_relative_to(folder)}
    traced.copy(files, folder / "files")
    (folder / "files" / "run.py").write_bytes((machine.HERE / "isolation_run.py").read_bytes())
    (folder / "files" / "scenario.toml").write_text(SCENARIO)
    script = folder / "script.sh"
    script.write_text(
        f"export PATH=/usr/bin:/usr/sbin:$PATH\n{sys.executable} /run.py /scenario.toml\n"
        "echo '== log'\ndmesg | grep -E 'BUG|WARNING|Oops|Call Trace'\necho '== end'\n"
    )
    files = machine.archive(script, (), folder, ("tun",))
    printed = machine.boot(files, 2000, machine.TWO_PROCESSORS)
    (folder / "console").write_text(printed, encoding="utf-8")
    parts = sections(printed)
    assert "end" in parts, printed[-2000:]
    del parts["end"]
    return {"log": parts.pop("log"), **{name: json.loads(text) for name, text in parts.items()}}


def test_the_thread_of_the_link_has_a_processor_that_nobody_else_has(said):
    before, during = said["before"], said["during"]
    assert (before["processors"], before["isolated"]) == ([0, 1], "")
    assert (during["partition"], during["isolated"]) == ("isolated", "1")
    # The script's own, and those of the link's process, are all others.
    assert during["processors"] == [0]
    assert during["threads"] > 1
    assert not during["thread is main"]
    assert (during["thread"], during["main"], during["runs on"]) == ("1", "0", 1)
    # SCHED_OTHER, which Linux does not stop.
    assert (during["policy"], during["nice"]) == (0, -20)
    assert during["its processes' group"] == "0::/"
    assert said["result"] == {"isolated": 1, "realtime": False}
    code, table = said["said"]
    assert code == 0
    assert "on processor 1, which it had for itself" in table


@pytest.mark.parametrize(
    ("how", "codes"),
    [("after", []), ("interrupted", [130]), ("terminated", [143]), ("live, interrupted", [130])],
)
def test_nothing_of_it_stays(said, how: str, codes: list[int]):
    assert said[how] == (said["before"] if how == "after" else [*codes, said["before"]])


@pytest.mark.parametrize("following", ["strict", "plain"])
def test_the_next_link_removes_what_a_killed_one_has_left(said, following: str):
    code, left, after = said[f"killed before a {following} one"]
    assert left["groups"] == ["marqueue-processor", "own"]
    assert (left["isolated"], left["processors"]) == ("1", [0])
    assert (code, after) == (0, said["before"])


def test_a_scenario_has_it_too(said):
    assert said["live"] == [1, None, said["before"]]


def test_a_second_link_is_refused(said):
    assert said["second"] == [
        2,
        "--realtime strict: another link has a processor of its own, expected none\n",
    ]


def test_what_the_kernel_refuses_is_said_with_its_reason(said):
    code, message, after = said["taken"]
    assert code == 2
    assert message.count("\n") == 1
    assert message.startswith("--realtime strict: Linux does not isolate processor 1: it says ")
    assert "'isolated invalid (" in message
    assert (after["groups"], after["isolated"]) == (["other", "own"], "")
    assert (after["mine"], after["record"]) == ("0::/own", "")
    expected = "--realtime strict: got one processor (0), expected two at least\n"
    assert said["one processor"] == [2, expected]


def test_the_kernel_complains_of_nothing(said):
    assert said["log"] == ""
