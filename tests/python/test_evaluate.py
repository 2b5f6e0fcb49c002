"""``marqueue evaluate``: criteria, measures, suites, and the command."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from live_requirements import needs_links
from marqueue import load
from marqueue.cli import app
from marqueue.errors import MarqueueError
from marqueue.evaluation import (
    AQM_SUITES,
    SIMULATED,
    Effort,
    aqm_contender,
    control_contender,
    evaluate,
    evaluation_report,
    planned,
    split_names,
)
from marqueue.evaluation.criterion import Side, decide, worst
from marqueue.evaluation.league import league_json, league_page
from marqueue.evaluation.league_picture import league_picture
from marqueue.evaluation.live import LIVE
from marqueue.evaluation.pictures import ellipse
from marqueue.evaluation.rfc7928 import RFC7928, setup
from marqueue.evaluation.rfc7928.control_law import at_level, variants
from marqueue.evaluation.rfc9743 import RFC9743
from marqueue.evaluation.run_data import (
    DEPART,
    Packets,
    period_rates,
    synchronization_ratio,
)
from marqueue.scenario import Aqm, Scenario, from_dict
from marqueue.statistics.estimates import Estimate

DOCS = Path(__file__).parents[2] / "docs" / "evaluation"
DROPTAIL = aqm_contender("--baseline", "droptail")


def command(*arguments: str):
    return CliRunner().invoke(app, ["evaluate", *arguments])


# Constants and formulas


@pytest.mark.parametrize(("loss", "printed"), [(0.001, 0.036), (0.005, 0.081), (0.01, 0.114)])
def test_the_constants_of_rfc_7928_follow_from_its_formula(loss: float, printed: float) -> None:
    # Section 8.2: N = S sqrt(1/0.76) sqrt(l), printed with three digits (0.0362, 0.0811, 0.1147:
    # the last is cut, not rounded).
    exact = setup.flows_for(loss, 1.0)
    assert math.floor(exact * 1000) / 1000 == printed
    assert 0.76 * exact**2 == pytest.approx(loss)


def test_the_congestion_levels_of_the_set_up() -> None:
    # 10 Mbit/s times 100 ms is 83 packets of 1500 B; S is twice that.
    assert (setup.BUFFER, setup.SUM) == (83, 166)
    assert [setup.level(name) for name in setup.LEVELS] == [6, 13, 19]
    assert [round(0.036 * 166), round(0.081 * 166), round(0.114 * 166)] == [6, 13, 19]


def test_loss_synchronization_counts_the_flows_of_each_event() -> None:
    # Events of 0.1 s quiet: flows 1 and 2 of 4 lose, then flow 1 alone, twice.
    time = np.array([1.0, 1.05, 2.0, 2.01])
    flow = np.array([1, 2, 1, 1])
    assert synchronization_ratio(time, flow, 4, 0.1) == (2 / 4 + 1 / 4) / 2
    assert math.isnan(synchronization_ratio(np.empty(0), np.empty(0, np.int64), 4, 0.1))


def test_rates_of_flows_count_each_number_once_between_first_and_last_period() -> None:
    # Flow 1 is there from second 0 to 3: seconds 1 and 2 count. Number 2 leaves twice. Flow 2 is
    # there for two seconds, its first and its last.
    time = np.array([0.1, 1.1, 1.5, 1.6, 2.0, 2.5, 3.9])
    flow = np.array([1, 1, 2, 1, 2, 1, 1])
    seq = np.array([0, 2, 0, 2, 1, 3, 4])
    size = np.array([100, 100, 50, 100, 50, 200, 100])
    assert period_rates(time, flow, seq, size, 1.0).tolist() == [800.0, 1600.0]
    none = np.empty(0, np.int64)
    assert not len(period_rates(np.empty(0), none, none, none, 1.0))


def test_delay_variation_is_above_the_smallest_of_the_flow() -> None:
    # RFC 5481, section 4.2: flow 1 has 5 and 8 ms, flow 2 has 20 ms; an acknowledgement is no data.
    packets = Packets(
        time=[np.array([1.0, 2.0, 3.0, 4.0])], kind=[np.full(4, DEPART)],
        flow=[np.array([1, 1, 2, 2])], seq=[np.arange(4)],
        sojourn=[np.array([5e-3, 8e-3, 20e-3, 1e-3])],
        ack=[np.array([False, False, False, True])], size=[np.full(4, 1500)],
    )  # fmt: skip
    assert packets.variations()[0] == pytest.approx([0.0, 3e-3, 0.0])


def test_the_ellipse_has_the_standard_deviations_of_the_points() -> None:
    # Maximum likelihood divides by n: the variances of these points are 2 and 8.
    x, y = np.array([1.0, -1.0, 2.0, -2.0, 0.0]), np.array([0.0, 0.0, 0.0, 0.0, 0.0])
    contour = ellipse(10 + x, 20 + y)
    assert contour is not None
    assert contour[0].max() - 10 == pytest.approx(math.sqrt(2), rel=1e-2)
    assert contour[1] == pytest.approx(np.full(len(contour[1]), 20.0))
    assert ellipse(x[:2], y[:2]) is None


# Verdicts


@pytest.mark.parametrize(
    ("values", "side", "verdict"),
    [
        ([0.1, 0.11, 0.12], Side.AT_MOST, "pass"),
        ([0.9, 0.91, 0.92], Side.AT_MOST, "fail"),
        ([0.9, 0.91, 0.92], Side.AT_LEAST, "pass"),
        ([0.3, 0.5, 0.7], Side.AT_MOST, "not decided"),
        ([0.1], Side.AT_MOST, "not decided"),
        ([0.1, 0.1, math.nan], Side.AT_MOST, "not decided"),
        ([0.1, 0.1, math.inf], Side.AT_MOST, "fail"),
        ([0.9, 0.9, math.inf], Side.AT_LEAST, "pass"),
        ([], Side.AT_LEAST, "not decided"),
    ],
)
def test_a_verdict_needs_the_whole_interval(values, side: Side, verdict: str) -> None:
    found, note = decide(np.array(values), 0.5, side)
    assert found == verdict
    assert bool(note) == (len(values) < 2 or not np.isfinite(values).all())


def test_the_verdict_of_a_case_is_the_one_that_wants_attention_most() -> None:
    assert worst(["pass", "not decided", "fail"]) == "fail"
    assert worst(["pass", "not decided"]) == "not decided"
    assert worst(["not applicable", "pass"]) == "pass"
    assert worst([]) == "not applicable"


# Suites


@pytest.mark.parametrize("effort", Effort)
def test_every_case_measures_what_its_criteria_judge(effort: Effort) -> None:
    aqm = Aqm.of("codel")
    for case in RFC7928.cases:
        runs = case.runs(aqm, effort)
        measured = {each.name for each in case.measures}
        for each in case.criteria(aqm):
            assert each.run in runs, case.name
            assert each.measure in measured, case.name
            assert each.because
        assert len(measured) == len(case.measures), f"{case.name}: two measures of one name"


@pytest.mark.parametrize("control", ["reno", "cubic", "bbr1", "bbr3", "prague", "dctcp", "ledbat"])
def test_every_case_of_rfc_9743_has_a_scenario_for_each_control(control: str) -> None:
    for case in RFC9743.cases:
        runs = case.runs(control, Effort.QUICK)
        measured = {each.name for each in case.measures}
        for each in case.criteria(control):
            assert each.run in runs, case.name
            assert each.measure in measured, case.name


def test_bbr1_fails_where_the_rfc_says_that_it_failed() -> None:
    # RFC 9743, section 5.1.3: sustained loss in buffers below 1.5 bandwidth-delay products.
    found = evaluate(
        RFC9743,
        [control_contender("--control", name) for name in ("reno", "bbr1")],
        [control_contender("--baseline", "cubic")],
        effort=Effort.QUICK,
        only=["high-loss"],
    )
    assert [each.outcomes[0].verdict for each in found] == ["pass", "fail"]


def test_sensitivity_changes_each_parameter_and_leaves_out_what_is_refused() -> None:
    names = variants(Aqm.of("codel"))
    assert {"target halved", "target doubled", "interval halved", "interval doubled"} == set(names)
    assert names["target doubled"].table()["target"] == "10 ms"
    # A share cannot be doubled beyond its range, and droptail has nothing to change.
    assert "mark_p doubled" not in variants(Aqm.of("red"))
    assert not variants(Aqm.of("droptail"))


def test_theory_decides_where_it_has_a_model() -> None:
    assert at_level("mild", Aqm.of("red")).verdict == "fail"
    assert at_level("mild", Aqm.of("pi")).verdict == "pass"
    none = at_level("mild", Aqm.of("codel"))
    assert none.verdict == "no model"
    assert "outside the fluid model: codel" in none.note


def test_an_aqm_that_lets_the_queue_stand_fails_and_its_default_passes() -> None:
    asked = [aqm_contender("--aqm", text) for text in ("codel:target=500 ms,interval=1 s", "codel")]
    bad, good = evaluate(RFC7928, asked, [DROPTAIL], effort=Effort.QUICK, only=["mild"])
    by_what = {each.what: each.verdict for each in bad.outcomes[0].judgements}
    assert by_what["Queueing delay, mean, ratio"] == "fail"
    assert bad.failed
    by_what = {each.what: each.verdict for each in good.outcomes[0].judgements}
    assert by_what["Queueing delay, mean, ratio"] == "pass"


# On live links


#: Without records, as a live link, but simulated.
UNRECORDED = replace(SIMULATED, prepared=LIVE.prepared)


def test_all_scenarios_run_live_but_those_whose_senders_linux_has_not() -> None:
    codel = aqm_contender("--aqm", "codel")
    work = planned(RFC7928, [codel], [DROPTAIL], effort=Effort.QUICK, bench=LIVE)
    refused = {each.case.name: each.refused for each in work if each.refused}
    assert list(refused) == ["less-than-best-effort"]
    assert 'got "ledbat", expected one of Linux\'s' in refused["less-than-best-effort"]
    # Theory needs no link.
    assert {each.name for each in RFC7928.cases} - {each.case.name for each in work} == {
        "control-law"
    }


def test_what_a_live_link_does_not_record_is_not_judged() -> None:
    [found] = evaluate(
        RFC7928, [aqm_contender("--aqm", "codel")], [DROPTAIL],
        effort=Effort.QUICK, only=["less-than-best-effort", "packet-sizes"], bench=replace(
            UNRECORDED, refusal=LIVE.refusal
        ),
    )  # fmt: skip
    refused, sizes = found.outcomes
    assert refused.verdict == "not applicable"
    assert not refused.scenarios
    verdicts = {each.what: (each.verdict, each.note) for each in sizes.judgements}
    assert verdicts["Queueing delay, mean, ratio"] == ("pass", "")
    reason = "the packets of bottleneck were not recorded"
    assert verdicts["Loss ratio, small over large"] == ("not applicable", reason)
    # The page has the figures that there are.
    page = evaluation_report(found).render()
    assert "Goodput, small" in page
    assert "Loss ratio, small [" not in page
    measures = found.as_dict()["cases"][1]["measures"]["codel"]["main"]
    assert "delay_mean" in measures
    assert "loss of small" not in measures


def test_a_machine_that_did_not_keep_up_decides_nothing() -> None:
    busy = replace(UNRECORDED, complaint=lambda result: "the machine did not keep up: late")
    [found] = evaluate(
        RFC7928, [aqm_contender("--aqm", "codel")], [DROPTAIL],
        effort=Effort.QUICK, only=["unresponsive"], bench=busy,
    )  # fmt: skip
    assert {each.verdict for each in found.outcomes[0].judgements} == {"not decided"}
    assert {each.note for each in found.outcomes[0].judgements} == {busy.complaint(None)}


@needs_links
def test_a_scenario_runs_on_a_live_link() -> None:
    case = next(each for each in RFC7928.cases if each.name == "aggressive")

    def short(aqm: Aqm, effort: Effort) -> dict[str, Scenario]:
        [scenario] = case.runs(aqm, effort).values()
        data = scenario.to_dict()
        return {"": from_dict(data | {"duration": "2 s", "warmup": "1 s", "replications": 2})}

    suite = replace(RFC7928, cases=[replace(case, runs=short)])
    codel = aqm_contender("--aqm", "codel")
    [found] = evaluate(suite, [codel], [DROPTAIL], effort=Effort.QUICK, bench=LIVE)
    [outcome] = found.outcomes
    for label in ("codel", "droptail"):
        goodput = outcome.measured[label][""]["goodput"].estimate
        assert goodput is not None
        # However late a busy machine is: data arrives, and not faster than the link.
        assert 0 < goodput.mean < 10


# The command


def test_the_command_writes_verdicts_report_and_scenarios(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("aqm", "--aqm", "codel:target=10 ms", "--quick", "--only", "unresponsive")
    result = command(*arguments, "--json", "--out", str(out))
    assert result.exit_code == 1, result.output
    found = json.loads(result.stdout)
    assert found == json.loads((out / "evaluation.json").read_text())
    [case] = found["cases"]
    delay, utilization = case["criteria"]
    assert (case["verdict"], delay["verdict"], utilization["verdict"]) == ("fail", "fail", "pass")
    assert delay["value"]["half_width"] > 0
    assert {"codel:target=10 ms", "droptail"} == set(case["measures"])
    # The scenario files are what ran.
    for name, digest in case["scenarios"].items():
        assert load(out / "scenarios" / f"{name}.toml").hash == digest
    page = (out / "report.html").read_text()
    assert "Unresponsive sender" in page
    assert "Delay variation, distribution over packets" in page
    # In the table of scenarios and at the criterion, in the words of the documentation.
    assert page.count('<span class="outcome fails">fail</span>') == 2
    # The same seed gives the same verdicts, on any number of threads.
    assert json.loads(command(*arguments, "--json", "--jobs", "1").stdout) == found


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["cc", "--control", "cubic", "--suite", "ccwg-bbr"],
            '--control: got "cubic", expected one of bbr3, bbr1',
        ),
        (
            ["cc", "--control", "bbr1", "--suite", "ccwg-bbr", "--only", "15"],
            "--only 15: got a case that does not apply to bbr1",
        ),
        (["aqm", "--aqm", "cdoel"], '--aqm: got "cdoel", expected one of droptail'),
        (["aqm", "--aqm", "codel:target=5"], "--aqm codel: target: got 5, expected a time"),
        (["aqm", "--aqm", "codel:trget=5 ms"], 'trget: unknown key, expected one of target'),
        (["aqm", "--aqm", "codel:x"], '--aqm: got "x" in "codel:x", expected parameter=value'),
        (["aqm", "--aqm", "mkc"], "expected an AQM that drops or marks"),
        (["aqm", "--aqm", "codel", "--suite", "rfc1"], 'got "rfc1", expected one of rfc7928'),
        (["aqm", "--aqm", "codel", "--only", "foo"], 'got "foo", expected one of tcp-friendly'),
        (["aqm", "--aqm", "codel", "--baseline", "pie,foo"], '--baseline: got "foo"'),
        (["cc", "--control", "bbr9"], '--control: got "bbr9", expected one of reno, cubic'),
        (["cc", "--control", "reno", "--suite", "tcpevil"], '"tcpevil", expected one of rfc9743'),
        (
            ["aqm", "--aqm", "red:min_th=50 packets,max_th=10 packets"],
            "--aqm red:min_th=50 packets,max_th=10 packets: ",
        ),
    ],
)  # fmt: skip
def test_a_mistake_gets_one_line(arguments: list[str], expected: str) -> None:
    # The process, not the runner, turns errors of users into messages.
    result = command(*arguments, "--quick")
    assert isinstance(result.exception, MarqueueError)
    assert result.exception.exit_code == 2
    assert expected in str(result.exception)
    assert len(str(result.exception).splitlines()) == 1


def test_a_class_of_the_users_is_judged_like_any_aqm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, ["new", "aqm", "mine", "--python"]).exit_code == 0
    label = "python:mine.py:Mine:target=5 ms"
    given = ("aqm", "--aqm", label, "--quick", "--only", "sensitivity")
    [case] = json.loads(command(*given, "--json", "--out", "out").stdout)["cases"]
    own = [name for name in case["scenarios"] if "Mine" in name]
    assert any(name.endswith("target-doubled") for name in own)
    # The file is beside the scenarios, and these are what ran.
    assert all(
        load(Path("out/scenarios") / f"{name}.toml").hash == case["scenarios"][name] for name in own
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("python:none.py:Mine", "--aqm: none.py cannot be read: No such file or directory"),
        ("python:mine.py", 'got "python:mine.py", expected python:FILE.py:CLASS'),
    ],
)
def test_a_class_that_is_not_there_is_named(name: str, expected: str) -> None:
    result = command("aqm", "--aqm", name, "--quick")
    assert isinstance(result.exception, MarqueueError)
    assert expected in str(result.exception)


def test_the_cases_of_bbrs_draft_are_a_suite() -> None:
    given = "cc", "--suite", "ccwg-bbr", "--control"
    done = command(*given, "bbr3", "--only", "1", "--quick", "--json")
    assert done.exit_code == 0, done.output
    [rung] = json.loads(done.stdout)["rungs"]
    assert [check["verdict"] for check in rung["checks"]] == ["pass"] * 3
    assert all(check["what"].startswith("bbr3, startup") for check in rung["checks"])


def test_names_with_parameters_are_split_at_the_right_commas() -> None:
    texts = ["droptail,codel:target=10 ms,interval=50 ms", "pie"]
    assert split_names(texts) == ["droptail", "codel:target=10 ms,interval=50 ms", "pie"]


# The league table


def test_the_published_league_table_is_that_of_its_data() -> None:
    text = (DOCS / "league.json").read_text()
    data = json.loads(text)
    assert text == league_json(data)
    suite = AQM_SUITES[data["suite"]]
    assert (DOCS / "league.md").read_text() == league_page(data, suite, "marqueue evaluate league")
    # Rows and columns of the picture are those of the data.
    names = {*data["contenders"], *data["contenders"]["droptail"]}
    for picture in ((DOCS / "league.svg").read_text(), league_picture(data, suite)):
        shown = set(re.findall(r">([\w-]+)</text>", picture))
        assert names <= shown
    verdicts = data["contenders"]["droptail"]
    # Drop-tail is what verdicts compare with: its ratios are 1.
    assert verdicts["tcp-friendly"]["verdict"] == "fail"
    ratio = verdicts["tcp-friendly"]["criteria"]["Goodput, ratio"]["value"]
    assert Estimate.from_dict(ratio) == Estimate(1.0, 0.0, 5)
