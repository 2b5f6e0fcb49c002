"""Scripts of packetdrill played against our sender: the language, verdicts, hostile scripts."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from marqueue.conformance.packetdrill import find_scripts, judge, parse
from marqueue.conformance.packetdrill.script import Packet, ScriptError
from marqueue.errors import MarqueueError

SCRIPTS = Path(__file__).parent / "packetdrill"

OPENING = """
    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
   +0 listen(3, 1) = 0
  +.1 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
   +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 8>
  +.1 < . 1:1(0) ack 1 win 500
   +0 accept(3, ..., ...) = 4
   +0 write(4, ..., 2000) = 2000
"""
"""A connection with two segments to send."""


def outcome(tmp_path: Path, rest: str, opening: str = OPENING):
    script = tmp_path / "script.pkt"
    script.write_text(opening + rest)
    return judge(script)


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.pkt")), ids=lambda path: path.stem)
def test_the_sender_does_what_the_rfcs_say(path: Path) -> None:
    found = judge(path)
    assert found.verdict == "pass", found
    assert found.compared >= 2


@pytest.mark.parametrize(
    ("rest", "line", "expected", "got"),
    [
        ("+0 > . 1:1001(1000) ack 1\n+0 > . 1001:1501(500) ack 1", 10, "1001:1501", "1001:2001"),
        ("+.2 > P. 1:2001(2000) ack 1", 9, "0.400 s", "0.200 s"),
        ("+0 > P. 1:3001(3000) ack 1", 9, "1:3001(3000)", "only 1:2001"),
        ("+0 > [ect0] P. 1:2001(2000) ack 1", 9, "[ect0]", "[noecn]"),
        ("+0 %{ assert tcpi_snd_cwnd == 11 }%", 9, "tcpi_snd_cwnd == 11", "tcpi_snd_cwnd = 10"),
    ],
)
def test_a_difference_has_its_line_and_both_sides(
    tmp_path: Path, rest: str, line: int, expected: str, got: str
) -> None:
    found = outcome(tmp_path, rest)
    assert (found.verdict, found.line) == ("fail", line)
    assert expected in found.expected
    assert got in found.got


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("+0 sendto(4, ..., 10, MSG_ZEROCOPY, ..., ...) = 10", "MSG_ZEROCOPY"),
        ("+0 < P. 1:11(10) ack 1 win 500", "data that arrives"),
        ("+0 < icmp unreachable [1:11(10)]", "packets of icmp"),
        ("+0 < R 1:1(0)", "resets"),
        ("+0 < . 1:1(0) ack 500 win 500", "middle of a segment"),
        ("+0 %{ import os }%", "import statement"),
        ("+0 %{ assert open('/etc/passwd') }%", "call"),
        ("+0 %{ x = ().__class__ }%", "attribute"),
        ("+0 %{ assert 9 ** 9 ** 9 }%", "pow"),
    ],
)
def test_what_is_not_modelled_is_skipped_with_the_reason(
    tmp_path: Path, rest: str, reason: str
) -> None:
    found = outcome(tmp_path, rest)
    assert (found.verdict, found.line) == ("skipped", 9)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("0 socket(..., [ = 3\n", 1, "a bracket is not closed"),
        ("\n\n+0 > S 0:5(0) ack 1\n", 3, "expected length 5"),
        ("+0 hello\n", 1, "expected a packet, a system call"),
        ("--tolerance_usecs=soon\n", 1, "expected microseconds"),
        ("+0 %{ assert 1 }\n", 1, "%{ has no }%"),
        ("0 < . 1:1(0) ack 1 win 5 <sack 1,nop,nop>\n", 1, "expected START:END"),
    ],
)
def test_a_script_that_cannot_be_read_has_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(ScriptError, match=re.escape(message)) as raised:
        parse(text)
    assert raised.value.line == line


def test_commands_are_not_executed(tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    found = outcome(tmp_path, "+0 > P. 1:2001(2000) ack 1", f"`touch {mark}`\n{OPENING}")
    assert found.verdict == "pass"
    assert not mark.exists()


def test_times_and_options_are_read() -> None:
    script = parse(
        "--tolerance_usecs=20000\n--mss=1000\n"
        "0.5...0.9 accept(3, ..., ...) = 4 // comes late\n"
        "+.3~+.303 > P. 1:1001(1000) ack 1 win 257 <nop,nop,TS val 100 ecr 7>\n"
        "* < . 1:1(0) ack 1001 win 257 <nop,nop,sack 2001:3001 4001:5001>\n"
    )
    assert (script.tolerance, script.options) == (0.02, ["mss=1000"])
    call, leaves, arrives = script.events
    assert isinstance(leaves, Packet)
    assert isinstance(arrives, Packet)
    assert (call.when.kind, call.when.earliest) == ("absolute", 0.5)
    assert (leaves.when.earliest, leaves.when.latest, leaves.timestamp) == (0.3, 0.303, (100, 7))
    assert (arrives.when.kind, arrives.sack) == ("any", [(2001, 3001), (4001, 5001)])


def test_a_folder_without_scripts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MarqueueError, match="no file"):
        find_scripts([tmp_path])


def test_the_command_lists_failures_first_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "a.pkt").write_bytes(b"\xff\xfe broken")
    (tmp_path / "b.pkt").write_text(OPENING + "+0 > P. 1:2001(2000) ack 1")
    command = [sys.executable, "-m", "marqueue", "conformance", "packetdrill", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "2 scripts: 1 passed, 100% of those played, 0 failed" in ran.stderr
    assert ran.stdout.index("unreadable") < ran.stdout.index("pass")
    told = json.loads(subprocess.run([*command, "--json"], capture_output=True, check=False).stdout)
    assert [each["verdict"] for each in told] == ["unreadable", "pass"]
    missing = subprocess.run(
        [*command[:-1], "nowhere"], capture_output=True, text=True, check=False
    )
    assert missing.returncode == 2
    assert "nowhere: no such file or folder" in missing.stderr
