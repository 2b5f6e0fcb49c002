"""Readings: what a paper leaves open, as data, and the choices under which claims are judged."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from marqueue.errors import MarqueueError
from marqueue.papers import PAPERS
from marqueue.papers.cases import Simulator, content, run_cases, scenarios_of
from marqueue.papers.computing import Computing
from marqueue.papers.page import ledger_page, page
from marqueue.papers.paper import Experiment, Form, Paper, theory_alone
from marqueue.papers.quantity import Quantities, Runs, over_span
from marqueue.papers.readings import Choice, Reading, Readings, choices, read_readings
from marqueue.papers.readings_page import readings_page
from marqueue.papers.reproduction import Reproduction
from marqueue.results.provenance import here
from marqueue.scenario import Scenario, from_toml, with_overrides
from marqueue.simulation.checkpoints import Checkpoints
from small_scenario import SMALL


def reading(name: str, *experiments: str, **changed: object) -> dict[str, object]:
    """A reading with the alternatives a, b and c, a the main one."""
    return {
        "id": name,
        "experiments": list(experiments),
        "where": "Section 4",
        "says": "nothing",
        "question": "Which?",
        "main": "a",
        "because": "It is first.",
        "alternative": [{"value": each, "text": f"It is {each}."} for each in ("a", "b", "c")],
    } | changed


TWO = [Reading.model_validate(each) for each in (reading("rtts", "4", "8"), reading("window", "4"))]


def labels(asked: str, *experiments: str) -> dict[str, list[str]]:
    found = choices(TWO, experiments, asked)
    return {number: [choice.label for choice in each] for number, each in found.items()}


def test_all_is_the_main_choice_and_each_alternative_of_the_experiment_one_at_a_time():
    assert labels("main", "4", "9") == {"4": ["main"], "9": ["main"]}
    assert labels("all", "4", "8", "9") == {
        "4": ["main", "rtts=b", "rtts=c", "window=b", "window=c"],
        "8": ["main", "rtts=b", "rtts=c"],
        "9": ["main"],
    }


def test_chosen_values_hold_for_the_experiments_that_the_reading_names():
    assert labels("window=c, rtts=b", "4", "8", "9") == {
        "4": ["rtts=b,window=c"],
        "8": ["rtts=b"],
        "9": ["main"],
    }
    [choice] = choices(TWO, ["4"], "window=c")["4"]
    assert dict(choice) == {"rtts": "a", "window": "c"}
    assert labels("rtts=a", "4") == {"4": ["main"]}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("rtt=b", "'rtt', expected one of rtts=a|b|c; window=a|b|c"),
        ("rtts", "expected main, all or NAME=VALUE: rtts=a|b|c; window=a|b|c"),
        ("rtts=d", 'rtts: got "d", expected'),
        ("rtts=b,rtts=c", "rtts is given twice"),
    ],
)
def test_a_wrong_reading_is_refused_with_what_is_expected(asked: str, said: str):
    with pytest.raises(MarqueueError) as raised:
        choices(TWO, ["4"], asked)
    assert said in str(raised.value)


def test_a_reading_of_other_experiments_is_refused():
    with pytest.raises(MarqueueError, match="expected one of rtts=a"):
        choices(TWO, ["8"], "window=b")
    with pytest.raises(MarqueueError, match="these experiments have no readings"):
        choices(TWO, ["9"], "window=b")


def test_an_experiment_cannot_depend_on_a_reading_that_does_not_name_it():
    [choice] = choices(TWO, ["8"], "main")["8"]
    with pytest.raises(KeyError, match="window"):
        choice["window"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"main": "d"}, 'main: got "d", expected'),
        ({"alternative": [{"value": "a", "text": "The only one."}]}, "at least 2"),
        ({"alternative": [{"value": "a", "text": "x"}] * 2}, "given twice: a"),
        ({"experiments": ["4", "4"]}, "given twice: 4"),
        ({"experiments": []}, "at least 1"),
        ({"id": "a,b"}, "pattern"),
        ({"reason": "x"}, "Extra inputs"),
    ],
)
def test_an_invalid_reading_is_refused(changed: dict[str, object], said: str):
    with pytest.raises(ValidationError, match=said):
        Readings.model_validate({"reading": [reading("rtts", "4", **changed)]})


def test_two_readings_with_one_id_are_refused():
    with pytest.raises(ValidationError, match="one id: rtts"):
        Readings.model_validate({"reading": [reading("rtts", "4"), reading("rtts", "8")]})


def test_a_reading_of_an_experiment_that_does_not_exist_is_refused(tmp_path: Path):
    path = tmp_path / "readings.toml"
    path.write_text(PAPERS["chokew"].folder.joinpath("readings.toml").read_text("utf-8"), "utf-8")
    with pytest.raises(ValueError, match='experiments: got "5"'):
        read_readings(path, ["4"])


UNDER = [
    (key, number, choice)
    for key, paper in PAPERS.items()
    for number, each in choices(paper.readings, list(paper.experiments), "all").items()
    for choice in each
]


@pytest.mark.parametrize(("key", "number", "choice"), UNDER, ids=str)
def test_every_choice_has_valid_set_ups(key: str, number: str, choice: Choice):
    found = scenarios_of(PAPERS[key], number, choice, Form(), 10)
    assert found or PAPERS[key].experiment(number).setups is theory_alone


def test_a_reading_that_only_changes_what_is_measured_shares_its_runs():
    paper = PAPERS["chokew"]
    every = {
        choice.label: {
            content(each) for each in scenarios_of(paper, "12", choice, Form(), 10).values()
        }
        for choice in choices(paper.readings, ["12"], "all")["12"]
    }
    assert every["main"] == every["window=settled"]
    assert not every["main"] & every["window=last-100"]


def test_the_command_names_the_readings_that_it_expects(marqueue):
    done = marqueue("paper", "run", "chokew", "12", "--quick", "--readings", "window=all")
    assert done.returncode == 2
    assert 'window: got "all", expected one of paper, settled, last-100' in done.stderr


class Small(Paper):
    """A paper with one experiment of one small set-up, and one reading: the number of flows."""

    def experiment(self, number: str) -> Experiment:
        def setups(choice: Choice) -> Mapping[str, Scenario]:
            return {"one": with_overrides(from_toml(SMALL), [f"traffic.long.count={choice['n']}"])}

        def measure(runs: Runs, _choice: Choice) -> Quantities:
            return {"used": over_span(runs["one"], "", "utilization", 1.0, 4.0)}

        return Experiment((), setups, measure, draw=lambda *_: ())


def small_paper(folder: Path, bound: float) -> Small:
    """The claim is that the link is used to at least this share."""
    (folder / "claims.toml").write_text(
        '[[claim]]\nid="used"\nexperiment="1"\nwhere="x"\nsays="x"\npaper="x"\nreason="x"\n'
        f'check=[{{kind="at-least", quantity="used", bound={bound}}}]\n'
    )
    (folder / "readings.toml").write_text(
        '[[reading]]\nid="n"\nexperiments=["1"]\nwhere="x"\nsays="nothing"\nquestion="x"\n'
        'main="2"\nbecause="x"\n'
        'alternative=[{value="2", text="x"}, {value="40", text="x"}]\n'
    )
    return Small(folder, "Small", "x", {"1": "one"})


def simulated(paper: Paper, form: Form, simulator: Simulator) -> tuple[list[int], list[str]]:
    """The replications of each case, and what was said."""
    said: list[str] = []
    asked = choices(paper.readings, ["1"], form.readings)
    cases = run_cases(paper, asked, form, simulator, said.append)["1"]
    return [case.runs["one"].replications for case in cases], said


def test_what_is_not_decided_runs_again_and_no_more_than_asked_for(tmp_path: Path):
    form = Form(readings="all", most_replications=30)
    assert form.looks == (10, 20, 30)
    assert form.confidence == pytest.approx(1 - 0.05 / 3)
    easy = small_paper(tmp_path, 0.01)
    checkpoints = Checkpoints(tmp_path / "c")
    simulator = Simulator(None, None, checkpoints)
    assert simulated(easy, form, simulator) == ([10, 10], [])
    assert simulator.simulated == 20

    [case, _] = run_cases(easy, choices(easy.readings, ["1"], "all"), form, simulator, print)["1"]
    mean = float(case.quantities["used"].values[:10].mean())
    hard = small_paper(tmp_path, mean)
    checkpoints.keep()
    simulator = Simulator(None, None, Checkpoints(tmp_path / "c", resume=True))
    counts, said = simulated(hard, form, simulator)
    assert counts[0] == counts[1] > 10
    assert said[0] == (
        "Experiment 1: 1 comparison is not decided with 10 replications; running 20."
    )
    # The first ten are in the checkpoints.
    assert simulator.simulated == 2 * (counts[0] - 10)


def test_what_fails_beside_simulations_is_raised_and_nothing_follows_it():
    done: list[str] = []
    with Computing() as thread:
        thread.compute(lambda: done.append("first"))
        thread.wait()
        assert done == ["first"]
        thread.compute(lambda: 1 // 0)
        thread.compute(lambda: done.append("last"))
        with pytest.raises(ZeroDivisionError):
            thread.wait()
    assert done == ["first"]


def test_the_quick_form_looks_once_unless_more_is_asked_for():
    assert Form(quick=True).looks == (4,)
    assert Form(quick=True).confidence == pytest.approx(0.95)
    assert Form(quick=True, most_replications=16).looks == (4, 8, 16)
    assert Form(most_replications=10).looks == (10,)
    assert Form().looks == (10, 20, 40)


@pytest.mark.parametrize(("number", "seconds"), [("10", 26.0), ("delay", 20.0)])
def test_runs_of_the_quick_form_may_be_shorter(number: str, seconds: float):
    drq = PAPERS["drq"]
    choice = drq.main_choice(number)
    quick, full = (
        scenarios_of(drq, number, choice, Form(quick), 4).values() for quick in (True, False)
    )
    assert {each.duration.seconds for each in quick} == {seconds}
    assert {each.duration.seconds for each in full} == {40.0 if number == "10" else seconds}


def test_verdicts_under_each_reading_are_in_summary_and_pages(tmp_path: Path):
    paper = small_paper(tmp_path, 0.97)
    (tmp_path / "ledger.toml").write_text("note = []\n")
    form = Form(quick=True, readings="all")
    simulator = Simulator(None, None, Checkpoints())
    asked = choices(paper.readings, ["1"], "all")
    cases = run_cases(paper, asked, form, simulator, print)
    of = Reproduction(paper, form, cases, here("", 0.0, 0.0, 0))

    # Two flows do not fill the link in three seconds, and forty do.
    [claim] = of.summary()["claims"]
    verdicts = {name: each["verdict"] for name, each in claim["readings"].items()}
    assert verdicts == {"main": "fails", "n=40": "holds"}
    assert claim["readings"]["main"] | {"measured": ""} == {
        "verdict": "fails", "hold": 0, "open": 0, "fail": 1, "measured": "",
    }  # fmt: skip
    assert claim["overall"] == {"verdict": "depends", "under": ["n=40"], "text": "holds under n=40"}
    assert "under some: 1" in of.sentence
    assert "| used | does not hold: 0 / 0 / 1 | holds: 1 / 0 / 0 | holds under n=40 |" in (
        ledger_page(of)
    )
    # As read from a file, where names are sorted.
    summary = json.loads(json.dumps(of.summary(), sort_keys=True))
    readings = readings_page(summary, paper, "verdicts.md")
    assert "| hold under all | hold under some |" in readings
    assert "| `n=40` | `used`: does not hold: 0 / 0 / 1 → holds: 1 / 0 / 0 |" in readings
    assert "| used | does not hold: 0 / 0 / 1 | holds: 1 / 0 / 0 | holds under n=40 |" in readings
    with pytest.raises(MarqueueError, match="readings: got main, expected all"):
        readings_page(summary | {"readings": "main"}, paper, "verdicts.md")
    for text in (ledger_page(of), page(of).render()):
        assert "What the paper leaves open" in text
        assert "The paper says nothing (x). Experiment 1." in text
        assert "Main: 2. x" in text
        assert "--quick --readings all" in text
