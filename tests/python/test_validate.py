"""The validation ladder: verdicts, laws, detection of wrong figures, the command."""

import dataclasses
import json
import math
from concurrent.futures import CancelledError
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import marqueue as package
from conftest import interrupted
from marqueue import ns2
from marqueue.cli import app
from marqueue.ns2.case import droptail
from marqueue.ns2.chokew import FIGURE_9
from marqueue.ns2.matrix import EXPLAINED, MATRIX, QUICK
from marqueue.ns2.simulator_output import marqueue_output
from marqueue.papers import PAPERS
from marqueue.scenario import compile
from marqueue.scenario.parameters import aqms
from marqueue.statistics.estimates import Estimate
from marqueue.theory.tcp import laws
from marqueue.validation import RUNGS, Check, Effort, TaskRunner, climb, queueing
from marqueue.validation.conservation import imbalance, scenarios
from marqueue.validation.ns2_comparison import compare

CHEAP = ["validate", "--quick", "--only", "conservation"]


def check(mean: float, half: float | None, tolerance: float, **more: object) -> Check:
    return Check("what", "a law", Estimate(mean, half, 5), 10.0, tolerance, "why", **more)


@pytest.mark.parametrize(
    ("of", "verdict"),
    [
        (check(10.4, 0.1, 0.5), "pass"),
        (check(10.55, 0.1, 0.5), "pass"),  # the interval reaches into the tolerance
        (check(10.7, 0.1, 0.5), "fail"),
        (check(9.3, 0.1, 0.5), "fail"),
        (check(10.7, 0.1, 0.5, explained="it is known"), "explained"),
        (check(10.0, 0.6, 0.5), "unclear"),  # half a law would have passed, too
        (check(10.0, 0.6, 0.0, resolution=0.7), "pass"),
        (check(10.0, None, 0.0), "pass"),
        (check(math.nextafter(10.0, 11.0), None, 0.0), "fail"),
        (check(math.nan, None, 0.5), "fail"),
        (dataclasses.replace(check(10.3, 0.1, 0.2), expected=Estimate(10.0, 0.1, 5)), "pass"),
        (dataclasses.replace(check(10.4, 0.1, 0.2), expected=Estimate(10.0, 0.1, 5)), "fail"),
    ],
)
def test_verdicts(of: Check, verdict: str):
    assert of.verdict == verdict
    assert of.as_dict()["verdict"] == verdict


def test_constants_of_the_loss_laws():
    """Mathis et al., table 1; RFC 9438, introduction of section 5."""
    assert laws.regular_aimd(1.0) == pytest.approx(1.22, abs=0.01)
    assert laws.regular_aimd(1.0, per_ack=2) == pytest.approx(0.87, abs=0.01)
    assert laws.random_aimd(1.0) == pytest.approx(1.31, abs=0.005)
    assert laws.random_aimd(1.0, per_ack=2) == pytest.approx(0.93, abs=0.005)
    assert laws.regular_cubic(1.0, 1.0) == pytest.approx(1.054, abs=0.001)


@pytest.mark.parametrize("p", [1e-4, 1e-3, 1e-2])
def test_an_aimd_flow_that_is_friendly_is_as_fast_as_reno(p: float):
    alpha = laws.friendly_alpha(0.7)
    assert laws.regular_aimd(p, a=alpha, beta=0.7) == pytest.approx(laws.regular_aimd(p))


def test_pftk_is_the_square_root_law_where_losses_are_rare():
    assert laws.pftk(1e-8, 0.1, 1.0) == pytest.approx(laws.regular_aimd(1e-8), rel=0.01)
    assert laws.pftk(0.05, 0.1, 1.0) < 0.5 * laws.regular_aimd(0.05)


def test_k_is_when_the_curve_is_back():
    k = laws.cubic_k(1000.0)
    assert 0.4 * (0.0 - k) ** 3 + 1000.0 == pytest.approx(700.0)


def test_the_drawn_curve_of_cubic_scales_as_its_formula():
    ratios = {laws.random_cubic(p, rtt) / laws.regular_cubic(p, rtt)
              for p, rtt in ((1e-3, 0.5), (1e-5, 0.02))}  # fmt: skip
    assert max(ratios) == pytest.approx(min(ratios), rel=1e-6)
    # Random losses favour a flow, as they do an AIMD flow (1.31 to 1.22).
    assert 1.0 < min(ratios) < 1.3


def test_alpha_is_the_fixed_point():
    for w in (5.0, 60.0, 1e6):
        alpha = laws.dctcp_alpha(w)
        assert alpha**2 * (1 - alpha / 4) == pytest.approx((2 * w + 1) / (w + 1) ** 2, rel=1e-6)
    assert laws.dctcp_alpha(1e6) == pytest.approx(math.sqrt(2 / 1e6), rel=1e-3)


def test_the_formula_of_pollaczek_and_khinchine():
    """M/M/1 at a load of one half waits for as long as a service takes; M/D/1 half as long."""
    assert queueing.waiting_time(0.5, (1.0, 2.0)) == pytest.approx(1.0)
    assert queueing.waiting_time(0.5, (1.0, 1.0)) == pytest.approx(0.5)


def test_a_packet_too_many_is_found():
    result = TaskRunner().run(next(scenarios(replications=2)))
    assert imbalance(result) == 0
    windows = result.tables["windows"]
    for column in ("arrivals", "departed_bytes"):
        values = windows[column].to_pylist()
        values[-1] += 1
        at = windows.column_names.index(column)
        tampered = windows.set_column(
            at, windows.schema.field(column), pa.array(values, pa.uint64())
        )
        wrong = package.Result(
            result.scenario, result.plan, result.provenance, result.tables | {"windows": tampered}
        )
        assert imbalance(wrong) == 1


def test_a_wrong_law_fails_and_the_command_says_so(monkeypatch: pytest.MonkeyPatch):
    """A tenth more than Pollaczek and Khinchine: about what forgetting the service time of a
    packet in a hundred would do."""
    right = queueing.waiting_time
    monkeypatch.setattr(queueing, "waiting_time", lambda *given: 1.1 * right(*given))
    done = CliRunner().invoke(app, ["validate", "--quick", "--only", "queueing", "--json"])
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert told["passed"] is False
    verdicts = {each["what"]: each["verdict"] for each in told["rungs"][0]["checks"]}
    assert verdicts["M/D/1, load 0.5: mean wait"] == "fail"
    assert verdicts["M/D/1, load 0.5: utilization"] == "pass"


def test_a_rung_passes_and_is_the_same_for_any_number_of_jobs(marqueue):
    one, two = (marqueue(*CHEAP, "--json", "--jobs", str(jobs)) for jobs in (1, 2))
    assert one.returncode == two.returncode == 0, one.stderr
    assert one.stderr == ""
    assert one.stdout == two.stdout
    told = json.loads(one.stdout)
    assert told["passed"] is True
    assert told["effort"] == "quick"
    [rung] = told["rungs"]
    assert rung["rung"] == "conservation"
    assert rung["skipped"] is None
    assert len(rung["checks"]) > 20
    for each in rung["checks"]:
        assert each["verdict"] == "pass"
        assert each["figure"] == {"mean": 0.0, "half_width": None, "n": 1}
        assert each["expected"]["mean"] == each["tolerance"] == 0.0
        assert each["against"]
        assert each["because"]


def test_the_table_and_the_report(marqueue, tmp_path: Path):
    done = marqueue(*CHEAP, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "arrivals = departures + losses + queue" in done.stdout
    assert "exact [1]" in done.stdout
    assert "[1] Packets and bytes are integers" in done.stdout
    assert "checks:" in done.stdout
    page = (tmp_path / "out/report.html").read_text()
    assert "parking lot" in page
    assert json.loads((tmp_path / "out/checks.json").read_text())["passed"] is True
    again = marqueue(*CHEAP, "--out", "out")
    assert again.returncode == 2
    assert "out: holds a result" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "loss-law"], 'did you mean "loss-laws"?'),
        (["--jobs", "0"], "--jobs: got 0, expected at least 1"),
    ],
)
def test_mistakes(marqueue, arguments: list[str], said: str):
    done = marqueue("validate", *arguments)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_without_ns2_its_rung_is_skipped(marqueue, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    ladder = climb([RUNGS["ns2"]], Effort.QUICK)
    assert ladder.passed
    assert ladder.verdicts == []
    assert "Debian's package ns2" in str(ladder.rungs[0].skipped)
    assert ladder.summary.endswith("skipped: ns2")
    asked = marqueue("validate", "--only", "ns2")
    assert asked.returncode == 2
    assert "Debian's package ns2" in " ".join(asked.stderr.split())


@pytest.mark.parametrize("name", ["conservation", "queueing", "loss-laws", "cubic", "dctcp"])
def test_a_stopped_bench_runs_nothing_more(name: str):
    bench = TaskRunner()
    bench.stop()
    [task, *_] = RUNGS[name].tasks(Effort.FULL)
    with pytest.raises(CancelledError):
        task.checks(bench)


def test_the_matrix_against_ns2():
    names = [case.name for case in MATRIX]
    assert len(set(names)) == len(names) >= 40
    assert {*QUICK, *EXPLAINED} <= set(names)
    queues = {case.queue.ns2 for case in MATRIX}
    assert queues == {"DropTail", "RED", "RED/RIO", "Vq", "GK", "REM", "PI"}
    for queue in queues - {"RED/RIO"}:
        assert {case.tcp for case in MATRIX if case.queue.ns2 == queue} == {
            "reno", "newreno", "sack"
        }  # fmt: skip


def test_a_queue_that_differs_from_ns2s_is_detected():
    """Droptail of 40 packets against one of 60, as if the one were ns-2's."""
    case = dataclasses.replace(MATRIX[0], duration=40.0, edges=(10.0,))
    shorter = dataclasses.replace(case, queue=droptail(40))
    here, there = (
        marqueue_output(each, TaskRunner().run(each.scenario(replications=3)))[1]
        for each in (case, shorter)
    )
    assert {each.verdict for each in compare(case, here, here)} == {"pass"}
    verdicts = {each.what: each.verdict for each in compare(case, here, there)}
    assert verdicts[f"{case.name}: queue"] == "fail"
    assert verdicts[f"{case.name}: utilization"] == "pass"


@pytest.mark.parametrize(("scheme", "n"), FIGURE_9)
def test_the_dumbbells_of_the_chokew_paper_are_those_that_its_experiment_runs(scheme: str, n: int):
    chokew = PAPERS["chokew"]
    main = chokew.experiment("9").setups(chokew.main_choice("9"))
    paper = compile(main[f"{scheme}-{n}"])
    twin = compile(FIGURE_9[scheme, n].scenario())
    for plan in (paper, twin):
        policy = plan["links"][0]["queue"]["policy"]
        defaults = {spec.name: spec.default for spec in aqms()[policy["name"]].params}
        policy["params"] = defaults | policy["params"]
    assert paper["links"] == twin["links"]
    assert paper["duration"] == twin["duration"]
    assert paper["boundaries"] == twin["boundaries"]
    if scheme == "rio-3":
        # Other schemes look at no code point: there all TCP flows are one group in ns-2's twin.
        kinds = [[(g["dscp"], g["kind"]) for g in plan["traffic"]] for plan in (paper, twin)]
        assert kinds[0] == kinds[1]
        assert [dscp for dscp, _ in kinds[1]] == [0, 10, 10]


@pytest.mark.skipif(not ns2.installed(), reason="needs ns-2")
def test_ns2_tells_what_tcp_and_udp_and_in_flows_get():
    case = dataclasses.replace(FIGURE_9["rio-3", 1], cbr_rate=470_000, duration=40.0, edges=(20.0,))
    window = TaskRunner().run_ns2(case, seed=1).windows[1]
    assert (len(window.tcp_bytes), len(window.udp_bytes)) == (100, 1)
    assert sum(window.tcp_bytes[50:]) > sum(window.tcp_bytes[:50]), "in flows are the last"
    assert window.tcp + window.udp == pytest.approx(window.utilization, abs=0.03)


@pytest.mark.skipif(not ns2.installed(), reason="needs ns-2")
def test_ns2_runs_and_can_be_stopped():
    case = dataclasses.replace(MATRIX[0], duration=5.0, edges=(2.0,))
    windows = TaskRunner().run_ns2(case, seed=1).windows
    assert [(w.begin, w.end) for w in windows] == [(0.0, 2.0), (2.0, 5.0)]
    stopped = TaskRunner()
    stopped.stop()
    with pytest.raises(CancelledError):
        stopped.run_ns2(dataclasses.replace(case, duration=10_000.0), seed=1)


def test_an_interrupt_ends_it_and_leaves_nothing(tmp_path: Path):
    code, stdout = interrupted("validate", "--only", "loss-laws", "--out", "out", cwd=tmp_path)
    assert code == 130
    assert stdout == ""
    assert list(tmp_path.iterdir()) == []
