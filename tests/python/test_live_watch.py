"""The display of a running link, and its recorded results.

Needs root; skipped where the machine lacks something.
"""

import json
import math
import re
import shlex
import subprocess
from xml.etree import ElementTree

import pytest

from conftest import COMMAND, called
from live_requirements import needs_links
from marqueue.cli.link_page import curve, fitted
from marqueue.live import namespaces, requirements
from marqueue.results import Result
from terminal import Terminal

LINK = [*COMMAND, "link", "--rate", "5Mbit/s"]
LINE = r"uplink [\d.]+ Mbit/s, queue \d+, delay \S+ ms, dropped \d+, marked \d+"


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Where a link of two seconds has put what it measured: link.json and the directory report."""
    where = tmp_path_factory.mktemp("link")
    with namespaces.namespaces("outside") as [outside]:
        serve = requirements.inside(outside, ["iperf3", "-s", "--forceflush"])
        with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
            assert any("listening" in line for line in server.stdout)
            script = "iperf3 -c $MARQUEUE_OUTSIDE -C cubic -t 2"
            options = "--delay", "5ms", "--aqm", "red", "--loss", "0.5%"
            changes = "--schedule", "1s=4Mbit/s", "--schedule", "50min=1Mbit/s"
            where_to = "--json", "link.json", "--report", "report"
            command = [*LINK, *options, *changes, *where_to, "--", "sh", "-c", script]
            done = called(where, *requirements.inside(outside, command))
            server.kill()
    assert done.returncode == 0, done.stderr
    (where / "said").write_text(done.stderr)
    return where


@needs_links
def test_quantities_have_units_and_series_are_of_100_ms(kept):
    told = json.loads((kept / "link.json").read_text())
    up, down = told["links"]
    assert (up["name"], down["name"]) == ("uplink", "downlink")
    figures, series = up["figures"], up["series"]
    units = {name: each["unit"] for name, each in figures.items()}
    assert units["rate"] == "bit/s"
    assert {units[f"delay_{p}"] for p in ("p5", "p50", "p95", "p99", "mean")} == {"s"}
    assert {units[f"queue_{p}"] for p in ("p50", "p99", "mean")} == {"packets"}
    assert figures["rate"]["value"] == pytest.approx(up["departed_bytes"] * 8 / told["seconds"])
    assert figures["drops"]["value"] == sum(up["drops"].values())
    assert figures["delay_p50"]["value"] <= figures["delay_p99"]["value"] < 1
    times = series["t"]["values"]
    assert times == pytest.approx([(n + 1) / 10 for n in range(len(times))])
    assert times[-1] > told["seconds"] - 0.2
    names = {
        "rate": "bit/s",
        "delay_p50": "s",
        "delay_p99": "s",
        "queue": "packets",
        "avg": "packets",
    }
    for name, unit in names.items():
        assert (series[name]["unit"], len(series[name]["values"])) == (unit, len(times))
    # What left by the last sample, and what did in all.
    left = sum(series["rate"]["values"]) * 0.1 / 8
    assert up["departed_bytes"] / 2 < left <= up["departed_bytes"] * (1 + 1e-9)
    assert sum(series["drops"]["values"]) <= figures["drops"]["value"]


@needs_links
def test_a_table_tells_of_each_direction(kept):
    said = (kept / "said").read_text()
    assert re.search(r"^ +uplink +downlink$", said, re.MULTILINE)
    assert re.search(r"^Rate \[Mbit/s\] +\d+\.\d+ +\d+\.\d+$", said, re.MULTILINE)
    assert re.search(r"^Queueing delay, p99 \[ms\] +[\d.]+ +[\d.]+$", said, re.MULTILINE)
    assert re.search(r"^Lost on the wire +\d+ +\d+$", said, re.MULTILINE)


@needs_links
def test_a_report_is_a_result_that_can_be_read_and_compared(kept):
    result = Result.load(kept / "report")
    told = json.loads((kept / "link.json").read_text())
    [window] = result.link("uplink").windows()
    assert window.departed_bytes == told["links"][0]["departed_bytes"]
    assert result.edges[-1] == pytest.approx(told["seconds"])
    t, delays = result.link("uplink").series("delay_p99")
    assert len(t) == delays.shape[1] == len(told["links"][0]["series"]["t"]["values"])
    page = (kept / "report" / "report.html").read_text()
    assert "Queueing delay since the previous sample, 99th percentile" in page
    # Nothing is known of its flows.
    assert "Goodput" not in page
    done = called(kept, *COMMAND, "compare", "report", "report")
    assert done.returncode == 0, done.stderr
    assert "downlink" in done.stdout


@needs_links
@pytest.mark.parametrize("source", ["link.json", "report"])
def test_a_recorded_result_can_be_plotted(kept, source):
    done = called(kept, *COMMAND, "plot", source, "--out", f"{source}.svg")
    assert done.returncode == 0, done.stderr
    assert ElementTree.parse(kept / f"{source}.svg").getroot().tag.endswith("svg")
    text = (kept / f"{source}.csv").read_text()
    for label in ("Rate [Mbit/s]", "Queue [packets]", "Delay, p99 [ms]", "uplink", "downlink"):
        assert label in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere.json", "-o", "x.svg"), "nowhere.json: cannot be read"),
        (("other.json", "-o", "x.svg"), "other.json: expected a file of marqueue link --json"),
        (("other.json", "-o", "x.gif"), "x.gif: expected a name that ends in .svg, .png, .pdf"),
        (("other.json", "-o", "there.svg"), "there.svg: exists, expected a new file"),
    ],
)
def test_files_that_cannot_be_plotted_are_refused(marqueue, tmp_path, arguments, said):
    (tmp_path / "other.json").write_text('{"links": [{"name": "uplink"}]}')
    (tmp_path / "there.svg").touch()
    done = marqueue("plot", *arguments)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


@needs_links
def test_the_state_line_keeps_out_of_the_way_of_the_command(tmp_path):
    """It has the last row, and leaves the cursor where it was."""
    seen = tmp_path / "seen"
    script = (
        f"n=0; until [ -e {seen} ] && [ $n -ge 40 ]; do n=$((n+1)); echo line $n; sleep 0.1; done;"
        "printf done; exit 3"
    )
    terminal = Terminal(*LINK, "--", "sh", "-c", script)
    shown = terminal.read_until(LINE)
    seen.touch()
    shown += terminal.read_until("done")
    draws = re.findall(rf"\x1b7\x1b\[24;1H\x1b\[2K\x1b\[7m{LINE}.*?\x1b\[0m\x1b8", shown)
    assert draws
    assert "\x1b[1;23r" in shown
    without = re.sub(r"\x1b7.*?\x1b8|\x1bD\x1b\[1A", "", shown)
    count = without.count("line")
    assert without == "".join(f"line {n}\r\n" for n in range(1, count + 1)) + "done"
    terminal.read_until(re.escape("\x1b7\x1b[r\x1b[24;1H\x1b[2K\x1b8"))
    assert terminal.wait() == 3


@needs_links
def test_a_link_that_is_stopped_gives_the_row_back_until_it_goes_on():
    terminal = Terminal("bash", "--norc", "-i")
    terminal.type("PS1='ready> '\n")
    terminal.read_until("\nready> |hready> ")
    terminal.type(f"{shlex.join(LINK)} -- sh -c 'while :; do sleep 0.1; done'\n")
    terminal.read_until(LINE)
    terminal.type("\x1a")
    terminal.read_until(r"\x1b\[r.*Stopped.*ready> ")
    terminal.type("fg\n")
    terminal.read_until(LINE)
    terminal.type("\x03")
    terminal.read_until(r"\x1b\[r.*Packets dropped.*ready> ")
    terminal.type("exit\n")
    terminal.wait()


@needs_links
@pytest.mark.parametrize(
    "command",
    [
        ["--no-status", "--", "sh", "-c", "echo mine; sleep 2.5; echo over"],
        # Whoever reads keys one by one has the screen.
        ["--", "sh", "-c", "stty -icanon; echo mine; sleep 4; stty icanon; echo over"],
        # A shell with job control has the terminal.
        ["--", "bash", "--norc", "-ic", "set -m; sleep 1; echo mine; sleep 4; echo over"],
    ],
)
def test_no_state_line_is_shown_while_the_command_uses_the_terminal(command):
    terminal = Terminal(*LINK, *command)
    # On a busy machine a line is drawn before the command takes the terminal, and one at that time.
    terminal.read_until("mine")
    assert terminal.read_until("over").count("Mbit/s, queue") <= 1
    assert terminal.wait() == 0


@needs_links
def test_nothing_moves_where_there_is_no_terminal(tmp_path):
    done = called(tmp_path, *LINK, "--", "sleep", "2.5")
    assert done.returncode == 0
    assert "\x1b" not in done.stderr
    assert "Mbit/s, queue" not in done.stderr


@needs_links
def test_a_page_shows_curves_and_then_what_the_command_wrote(tmp_path):
    seen = tmp_path / "seen"
    script = f"echo written; until [ -e {seen} ]; do sleep 0.05; done; exit 3"
    terminal = Terminal(*LINK, "--watch", "--", "sh", "-c", script)
    terminal.read_until(rf"\x1b\[\?1049h.*{LINE}.*Rate \[Mbit/s\].*Delay, p99 \[ms\]")
    seen.touch()
    terminal.read_until(r"\x1b\[\?1049l.*written\r\n")
    assert terminal.wait() == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--watch", "--", "true"), "--watch: expected standard error to be a terminal"),
        (("--status", "--", "true"), "--status: expected standard error to be a terminal"),
        (("--json", "no/link.json", "--", "true"), "no/link.json: cannot be written"),
        (("--report", "there", "--", "true"), "there: holds thesis.tex"),
    ],
)
def test_what_cannot_be_shown_or_kept_is_refused_before_the_command_runs(
    marqueue, tmp_path, options, said
):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "thesis.tex").touch()
    done = marqueue("link", "--rate", "1Mbit/s", *options)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert (tmp_path / "there" / "thesis.tex").exists()


def test_a_page_needs_a_command():
    terminal = Terminal(*LINK, "--watch")
    terminal.read_until("--watch: got no command, expected one")
    assert terminal.wait() == 2


def test_a_curve_is_as_high_as_its_values():
    assert curve([0, 4, 8, math.nan, 16], 16, 2) == ["    █", " ▄█ █"]


def test_a_curve_ends_at_the_right_and_shows_the_largest_of_each_column():
    shown = fitted([1, 5, 2, 3], columns=3, most=6)
    assert math.isnan(shown[0])
    assert shown[1:] == [5, 3]
