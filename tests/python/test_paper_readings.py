"""Readings: what a paper leaves open, as data, and the choices under which claims are judged."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from marqueue.errors import MarqueueError
from marqueue.papers import PAPERS
from marqueue.papers.readings import Choice, Reading, Readings, choices, read_readings
from marqueue.papers.run import content, scenarios_of


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
        ("rtts", "expected main, all or NAME=VALUE with one of rtts=a|b|c; window=a|b|c"),
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
    with pytest.raises(MarqueueError, match="these experiments have none"):
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
    with pytest.raises(ValueError, match='experiments: got "12"'):
        read_readings(path, ["4"])


UNDER = [
    (key, number, choice)
    for key, paper in PAPERS.items()
    for number, each in choices(paper.readings, list(paper.experiments), "all").items()
    for choice in each
]


@pytest.mark.parametrize(("key", "number", "choice"), UNDER, ids=str)
def test_every_choice_has_valid_set_ups(key: str, number: str, choice: Choice):
    assert scenarios_of(PAPERS[key], number, choice, quick=False)


def test_a_reading_that_only_changes_what_is_measured_shares_its_runs():
    paper = PAPERS["chokew"]
    settled, whole, last = (
        {content(each) for each in scenarios_of(paper, "12", choice, quick=True).values()}
        for choice in choices(paper.readings, ["12"], "all")["12"]
    )
    assert settled == whole
    assert not settled & last


def test_the_command_names_the_readings_that_it_expects(marqueue):
    done = marqueue("paper", "run", "chokew", "12", "--quick", "--readings", "window=all")
    assert done.returncode == 2
    assert 'window: got "all", expected one of settled, paper, last-100' in done.stderr
