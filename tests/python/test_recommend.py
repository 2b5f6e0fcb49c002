"""``marqueue recommend``: what is asked, the mixes, tc's commands, and the decision."""

import json
import math
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.errors import RunError
from marqueue.recommend import Question, recommend
from marqueue.recommend.candidates import DEFAULT, candidates, not_tried
from marqueue.recommend.goals import Goal
from marqueue.recommend.linux_tc import red_weight, tc_commands, tc_time
from marqueue.recommend.mixes import counts, groups
from marqueue.recommend.question import Ecn, Range, subjects_of
from marqueue.recommend.recommendation import Effort, points, times
from marqueue.results.integrity import check_directory
from marqueue.scenario import load
from marqueue.scenario.parameters import aqms
from marqueue.statistics.estimates import Estimate

LINK = {"rate": "50 Mbit/s", "rtt": "10..80ms", "flows": "5..200"}
GOALS = ("delay_p99 < 20 ms", "utilization > 0.95")


def asked(**given: object) -> Question:
    return Question.parse(**{"mix": "web,video,bulk", "goals": GOALS, **LINK, **given})


def goal(text: str) -> Goal:
    return Goal.parse(text, subjects_of(("web",)))


def test_ranges_take_the_unit_of_the_high_end() -> None:
    assert asked().rtt == Range(0.01, 0.08)
    assert asked(rtt="500 us..2 ms").rtt == Range(0.0005, 0.002)
    assert asked(rtt="40 ms").rtt == Range(0.04, 0.04)
    assert asked().flows == Range(5, 200)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": "50"}, '--rate: got "50", expected a rate such as'),
        ({"rtt": "10..80"}, '--rtt: got "10", expected a time such as'),
        ({"rtt": "80..10ms"}, '--rtt: got "80..10ms", an empty range, expected a range'),
        ({"rtt": "10ms.."}, '--rtt: got "10ms..", expected a range of times'),
        ({"flows": "0..9"}, '--flows: got "0", expected a whole number, 1 to 10,000'),
        (
            {"mix": "web,vidoe"},
            '--mix: got "vidoe", expected one of web, video, bulk; did you mean',
        ),
        ({"ecn": "l5s"}, '--ecn: got "l5s", expected one of none, classic, l4s'),
        ({"goals": ()}, "--goal: missing, expected at least one"),
        ({"goals": ("delay_p99",)}, '--goal: got "delay_p99", expected a figure and a bound'),
        ({"goals": ("delay_p98 < 1 ms",)}, '--goal: figure: got "delay_p98", expected one of'),
        ({"goals": ("delay_p99 < 20",)}, "expected as bound a time such as"),
        ({"goals": ("call.fct_p95 < 2 s",)}, '--goal: group or class: got "call"'),
    ],
)
def test_a_mistake_is_named_with_its_option_and_what_was_expected(
    given: dict[str, object], message: str
) -> None:
    with pytest.raises(RunError) as error:
        asked(**given)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_aqm_is_named() -> None:
    with pytest.raises(
        RunError, match=r'--aqm: got "codle", expected one of .*did you mean "codel"'
    ):
        candidates(asked(), ["codle"])


@pytest.mark.parametrize(
    ("text", "mean", "half", "verdict", "margin"),
    [
        # 20 ms less 14 ms, of 20 ms to the best value, 0.
        ("delay_p99 < 20 ms", 0.012, 0.002, "meets", 0.3),
        ("delay_p99 < 20 ms", 0.019, 0.002, "not decided", -0.05),
        ("delay_p99 < 20 ms", 0.030, 0.002, "fails", -0.6),
        # 0.96 less 0.95, of 0.05 to the best value, 1.
        ("utilization > 95 %", 0.97, 0.01, "meets", 0.2),
        ("utilization > 0.95", 0.93, 0.01, "fails", -0.6),
        ("web.fct_p95 <= 2 s", 1.0, None, "not decided", 0.5),
        ("goodput > 10 Mbit/s", 12e6, 1e6, "meets", 0.1),
    ],
)
def test_a_goal_is_judged_by_the_interval_and_its_margin_by_the_end_next_to_the_bound(
    text: str, mean: float, half: float | None, verdict: str, margin: float
) -> None:
    estimate = Estimate(mean, half, 4 if half else 1)
    assert goal(text).verdict(estimate) == verdict
    assert goal(text).margin(estimate) == pytest.approx(margin)


def test_without_a_value_nothing_is_decided() -> None:
    nothing = Estimate(math.nan, None, 0)
    assert goal("jain > 0.9").verdict(nothing) == "not decided"
    assert goal("jain > 0.9").margin(nothing) == -math.inf


def test_users_are_divided_and_ask_for_no_more_than_half_of_their_share() -> None:
    assert counts(5, ("web", "video", "bulk")) == {"web": 1, "video": 2, "bulk": 2}
    assert counts(1, ("web", "bulk")) == {"web": 1, "bulk": 1}
    web, video, bulk = groups(50e6, 200, ("web", "video", "bulk"))
    # Half of 250 kbit/s each: 66 web users, in objects of 40 packets of 1500 bytes.
    assert float(web["rate"].split()[0]) == pytest.approx(66 * 125e3 / (40 * 12e3))
    assert video["write"] == "42 packets", "four seconds of 125 kbit/s"
    assert (video["count"], bulk["count"]) == (67, 67)


def test_points_are_corners_and_a_middle() -> None:
    found = points(asked())
    assert [(each.rtts, each.users) for each in found[:4]] == [
        ((0.01,), 5), ((0.01,), 200), ((0.08,), 5), ((0.08,), 200),
    ]  # fmt: skip
    assert found[4].rtts == pytest.approx((0.01, math.sqrt(0.0008), 0.08))
    assert found[4].users == 32
    assert len(points(asked(rtt="40 ms", flows="9"))) == 1


def test_runs_become_shorter_on_fast_links_and_too_fast_ones_are_refused() -> None:
    effort = Effort(10, 20, 4, 1e6)
    warmup, measured = times(asked(rate="2 Mbit/s"), effort, 40)
    assert warmup + measured == pytest.approx(30), "800,000 packets"
    warmup, measured = times(asked(rate="4 Mbit/s"), effort, 40)
    assert (warmup + measured) * 160 * 4e6 / 12e3 == pytest.approx(1e6)
    with pytest.raises(RunError, match=r"--rate: got 1000 Mbit/s, .* exceed 1e\+06 packets"):
        times(asked(rate="1 Gbit/s"), effort, 40)


@pytest.mark.parametrize(("text", "told"), [("5 ms", "5ms"), ("4.167 ms", "4167us")])
def test_times_of_tc(text: str, told: str) -> None:
    assert tc_time(text) == told


def test_commands_have_the_units_of_tc() -> None:
    made = {each.name: each for each in candidates(asked(), [*DEFAULT, "choke", "sfb", "avq"])}

    def last(name: str) -> str:
        of = made[name]
        found = tc_commands(of.aqm, of.buffer, 1500, 50e6)
        assert found is not None
        return found[-1].partition("handle 10: ")[2] or found[-1]

    # Four round trips of 80 ms at 50 Mbit/s are 1334 packets.
    assert last("codel") == "codel limit 1334 target 5ms interval 80ms noecn"
    assert last("fq_codel") == (
        "fq_codel limit 1334 flows 2048 quantum 1514 target 5ms interval 80ms noecn"
    )
    # The design's gains, 0.029 and 0.29 Hz, in steps of a sixteenth.
    assert last("pie") == "pie limit 1334 target 15ms tupdate 15ms alpha 1 beta 5 noecn"
    assert " alpha 2 beta 20 " in last("fq_pie")
    assert last("cake") == (
        "tc qdisc replace dev eth0 root cake rtt 80ms besteffort flows bandwidth 50000000bit"
    )
    assert last("droptail") == "pfifo limit 334"
    # 5 ms hold 20.8 packets: thresholds of 10 and 30.
    assert last("red") == (
        "red limit 2001000 min 15000 max 45000 avpkt 1500 burst 17 probability 0.1 "
        "bandwidth 50000000bit"
    )
    avq = made["avq"]
    assert tc_commands(avq.aqm, avq.buffer, 1500, 50e6) is None


def test_the_weight_of_red_is_the_largest_whose_average_stays_below_the_threshold() -> None:
    # tc-red(8): burst + 1 - min/avpkt = 8 <= (1 - (1 - W)^17) / W; W = 1/8 has 7.2, 1/16 has 10.7.
    assert red_weight(10, 30) == 1 / 16


def _tc_without_root(command: str) -> str:
    words = ["unshare", "-rn", *command.replace(" dev eth0", " dev lo").split()]
    return subprocess.run(words, capture_output=True, text=True, check=False).stderr


@pytest.mark.skipif(not (shutil.which("tc") and shutil.which("unshare")), reason="no tc, unshare")
@pytest.mark.parametrize("name", [*(n for n in DEFAULT if n != "dualpi2"), "choke", "sfb"])
def test_tc_reads_the_commands(name: str) -> None:
    """A kernel without the qdisc refuses it, but only what tc has understood reaches the kernel."""
    if "not permitted" in _tc_without_root("tc qdisc show dev lo"):
        pytest.skip("no user namespaces")
    [made] = candidates(asked(), [name])
    commands = [
        command
        for ecn in (False, True)
        for command in tc_commands(made.aqm, made.buffer, 1500, 50e6, ecn=ecn) or ()
    ]
    assert commands
    for command in dict.fromkeys(commands):
        said = _tc_without_root(command)
        of_the_kernel = ("Specified qdisc kind is unknown", "Parent Qdisc doesn't exists",
                         "RTNETLINK answers", "Specified qdisc not found",
                         "Failed to find specified qdisc", "Class or Qdisc")  # fmt: skip
        assert not said or any(each in said for each in of_the_kernel), said


def test_every_other_aqm_has_a_reason() -> None:
    assert {*not_tried(DEFAULT), *DEFAULT} == set(aqms())
    assert "no ECN" in not_tried(DEFAULT)["step"]
    assert "as to a loss" in not_tried(DEFAULT, Ecn.CLASSIC)["step"]
    of_prague = [each.name for each in candidates(asked(ecn="l4s"), None)]
    assert of_prague == [*DEFAULT, "step"]
    assert "no design" in not_tried(of_prague, Ecn.L4S)["scaled"]


def test_with_ecn_the_link_marks_and_tc_says_so() -> None:
    ask = asked(rate="2 Mbit/s", rtt="20 ms", flows="3", mix="bulk", goals=GOALS[:1], ecn="l4s")
    found = recommend(ask, ["pie"], effort=SMALL)
    made = found.judged[0].points[0].scenario
    assert made.to_dict()["transport"]["default"]["control"] == "prague"
    assert made.topology.bottleneck.signal == "ecn"
    assert found.commands is not None
    assert found.commands[-1].endswith(" ecn")
    # tc-pie(8), tc-red(8): marking is asked for.
    [red] = candidates(ask, ["red"])
    assert " ecn " in tc_commands(red.aqm, red.buffer, 1500, 2e6, ecn=True)[-1]


SMALL = Effort(warmup=2.0, measured=4.0, replications=2, packets=1e6)


def test_a_goal_that_one_candidate_meets_decides_and_its_scenario_is_there(tmp_path: Path) -> None:
    link = "--rate 4Mbit/s --rtt 20ms --flows 4..6 --mix bulk"
    options = "--aqm droptail,codel --quick --json --seed 3 -o"
    line = ["recommend", *link.split(), *options.split()]
    goals = ["--goal", "delay_mean < 15 ms", "--goal", "utilization > 0.8"]
    done = CliRunner().invoke(app, [*line, str(tmp_path / "out"), *goals])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["winner"] == "codel"
    assert [each["verdict"] for each in found["candidates"]] == ["meets", "fails"]
    assert found["tc"][-1].endswith("noecn")
    assert found["not_tried"]["pie"]
    first = found["candidates"][0]
    assert first["margin"] == min(each["margin"] for each in first["goals"])
    for name in ("best", "worst-point"):
        scenario = load(tmp_path / "out" / f"{name}.toml")
        assert scenario.topology.bottleneck.aqm.name == "codel"
    assert check_directory(tmp_path / "out") == []
    assert "codel meets all goals" in (tmp_path / "out" / "report.html").read_text()


def test_the_same_seed_gives_the_same_figures_whatever_the_threads() -> None:
    ask = asked(rate="2 Mbit/s", rtt="20 ms", flows="3", mix="bulk,web", goals=GOALS[:1])
    a, b = (recommend(ask, ["pie"], effort=SMALL, jobs=jobs) for jobs in (1, 2))
    assert a.judged[0].points[0].figures == b.judged[0].points[0].figures


def test_an_error_is_one_line_and_exit_code_two() -> None:
    line = [
        *["recommend", "--rate", "50Mbit/s", "--rtt", "80..10ms", "--flows", "5"],
        "--goal",
        GOALS[0],
    ]
    done = CliRunner().invoke(app, line)
    assert '--rtt: got "80..10ms", an empty range' in str(done.exception)
    assert getattr(done.exception, "exit_code", None) == 2
