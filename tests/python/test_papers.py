"""Papers: claims as data, verdicts on small numbers, and a reproduction by the command."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

import marqueue as package
from marqueue.papers import PAPERS
from marqueue.papers.claims import Claim, Claims, read_claims
from marqueue.papers.ledger import read_ledger, read_reference
from marqueue.papers.paper import theory_alone
from marqueue.papers.quantity import Quantity, single, stepped
from marqueue.papers.readings import Choice, choices
from marqueue.papers.verdict import Decision, Overall, decide, judge, together
from marqueue.scenario import load, with_overrides
from marqueue.statistics.estimates import Estimate

CLAIMS = [
    (key, claim) for key in PAPERS for claim in read_claims(PAPERS[key].folder / "claims.toml")
]
SCENARIOS = [
    path for paper in PAPERS.values() for path in (paper.folder / "scenarios").glob("*.toml")
]
EXPERIMENTS = [(key, number) for key, paper in PAPERS.items() for number in paper.experiments]

QUANTITIES = {
    "narrow": single("Utilization", "a", [0.979, 0.980, 0.981]),
    "wide": single("Utilization", "b", [0.90, 0.98, 1.06]),
    "rising": Quantity(
        "Queue", "a", np.array([[1, 2, 3], [1, 2, 3.01]]), "packets", "N", (20, 40, 60)
    ),
    "bent": Quantity(
        "Queue", "b", np.array([[2, 3, 1], [2, 3, 1.0]]), "packets", "N", (20, 40, 60)
    ),
}


def claim(*checks: dict[str, object]) -> Claim:
    return Claim.model_validate(
        {
            "id": "a-claim",
            "experiment": "1",
            "where": "Table I",
            "says": "Something.",
            "paper": "1",
            "reason": "Because.",
            "check": checks,
        }
    )


VERDICTS = {
    "within the tolerance": (
        "holds",
        {"kind": "value", "quantity": "narrow", "expected": 0.98, "tolerance": 0.01},
    ),
    "outside the tolerance": (
        "fails",
        {"kind": "value", "quantity": "narrow", "expected": 0.95, "tolerance": 0.01},
    ),
    "too wide to tell": (
        "open",
        {"kind": "value", "quantity": "wide", "expected": 0.98, "tolerance": 0.01},
    ),
    "below the bound": ("holds", {"kind": "at-most", "quantity": "narrow", "bound": 0.99}),
    "above the bound": ("fails", {"kind": "at-most", "quantity": "narrow", "bound": 0.9}),
    "above the least": ("holds", {"kind": "at-least", "quantity": "narrow", "bound": 0.9}),
    "below the least": ("fails", {"kind": "at-least", "quantity": "narrow", "bound": 0.99}),
    "one place of three": (
        "holds",
        {"kind": "at-most", "quantity": "rising", "bound": 1, "at": [20]},
    ),
    "some places of three": ("fails", {"kind": "at-most", "quantity": "rising", "bound": 2}),
    "less at some places": ("fails", {"kind": "below", "quantity": "rising", "other": "bent"}),
    "less with slack": (
        "holds",
        {"kind": "below", "quantity": "bent", "other": "rising", "slack": 1},
    ),
    "never less": (
        "fails",
        {"kind": "below", "quantity": "bent", "other": "rising", "at": [20, 40]},
    ),
    "rises": ("holds", {"kind": "rising", "quantity": "rising"}),
    "does not fall": ("fails", {"kind": "falling", "quantity": "rising"}),
    "rises and falls": ("fails", {"kind": "rising", "quantity": "bent"}),
}


@pytest.mark.parametrize(("outcome", "check"), VERDICTS.values(), ids=VERDICTS)
def test_verdicts_on_small_numbers(outcome: str, check: dict[str, object]):
    assert judge(claim(check), QUANTITIES).outcome == outcome


def test_all_checks_of_a_claim_must_hold():
    holds = VERDICTS["within the tolerance"][1]
    fails = VERDICTS["outside the tolerance"][1]
    assert judge(claim(holds, holds), QUANTITIES).outcome == "holds"
    assert judge(claim(holds, fails), QUANTITIES).outcome == "fails"
    is_open = VERDICTS["too wide to tell"][1]
    assert judge(claim(holds, is_open), QUANTITIES).outcome == "open"
    judged = judge(claim(holds, is_open, fails, fails), QUANTITIES)
    assert (judged.outcome, judged.counted) == ("fails", "1 / 1 / 2")


def test_a_verdict_shows_the_least_favourable_finding():
    verdict = judge(claim(VERDICTS["some places of three"][1]), QUANTITIES)
    assert verdict.measured.startswith("N 60: 3.0")
    assert verdict.counted == "2 / 0 / 1"


def test_intervals_decide_and_single_values_by_themselves():
    permitted = (0.0, 1.0)
    assert decide(Estimate(0.5, 0.4, 3), permitted) == "holds"
    assert decide(Estimate(0.5, 0.6, 3), permitted) == "open"
    assert decide(Estimate(1.5, 0.4, 3), permitted) == "fails"
    assert decide(Estimate(0.5, None, 1), permitted) == "holds"
    assert decide(Estimate.of([]), permitted) == "open"
    assert together(["holds", "open"]) == "open"
    assert together(["fails", "open", "holds"]) == "fails"


def test_a_higher_confidence_decides_less_and_shows_the_same():
    check = {"kind": "at-most", "quantity": "narrow", "bound": 0.983}
    often, seldom = (judge(claim(check), QUANTITIES, each) for each in (0.95, 0.99))
    assert (often.outcome, seldom.outcome) == ("holds", "open")
    assert often.measured == seldom.measured == "0.980 ± 0.002"


@pytest.mark.parametrize(
    ("outcomes", "overall", "text"),
    [
        (["holds", "holds"], "holds", "holds under all"),
        (["fails", "holds", "open"], "depends", "holds under x=b"),
        (["fails", "fails"], "fails", "holds under none"),
        (["fails", "open"], "open", "not decided"),
        (["fails"], "fails", "does not hold under main"),
    ],
)
def test_a_claim_over_all_readings(outcomes: list[Decision], overall: str, text: str):
    over = Overall(dict(zip(("main", "x=b", "x=c"), outcomes, strict=False)))
    assert (over.outcome, over.text) == (overall, text)


def test_differences_are_taken_replication_by_replication():
    # Each pair differs by 1 or a little more, while both spread over 100.
    first = np.array([[0.0], [50], [100]])
    pair = {
        "a": Quantity("Queue", "a", first),
        "b": Quantity("Queue", "b", first + np.array([[1.0], [1.2], [1]])),
    }
    check = {"kind": "below", "quantity": "a", "other": "b"}
    assert judge(claim(check), pair).outcome == "holds"


@pytest.mark.parametrize(
    "change",
    [{"kind": "equal"}, {"tolerance": 0}, {"quantity": ""}, {"bound": 1.0}],
    ids=["unknown kind", "no tolerance", "no quantity", "key of another kind"],
)
def test_an_invalid_check_is_refused(change: dict[str, object]):
    with pytest.raises(ValidationError):
        claim({**VERDICTS["within the tolerance"][1], **change})


def test_two_claims_with_one_id_are_refused():
    one = claim(VERDICTS["within the tolerance"][1]).model_dump()
    with pytest.raises(ValidationError, match="a-claim"):
        Claims.model_validate({"claim": [one, one]})


def test_series_in_longer_steps():
    t, total = stepped((np.arange(1, 8) / 10, np.arange(14.0).reshape(2, 7)), 0.3, np.sum)
    assert t == pytest.approx([0.3, 0.6])
    assert total.tolist() == [[3, 12], [24, 33]]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_scenario_file_is_valid(path: Path):
    assert load(path).name


@pytest.mark.parametrize(("key", "number"), EXPERIMENTS)
def test_every_experiment_has_claims_and_set_ups(key: str, number: str):
    setups = PAPERS[key].experiment(number).setups
    assert setups is theory_alone or setups(PAPERS[key].main_choice(number))
    assert any(c.experiment == number for k, c in CLAIMS if k == key)


@pytest.mark.parametrize("key", PAPERS)
def test_claims_and_ledger_speak_of_experiments_and_numbers_that_exist(key: str):
    paper = PAPERS[key]
    assert {c.experiment for k, c in CLAIMS if k == key} <= set(paper.experiments)
    path = paper.folder / "reference.toml"
    reference = read_reference(path) if path.exists() else None
    for note in read_ledger(paper.folder / "ledger.toml"):
        assert note.experiment is None or note.experiment in paper.experiments
        for number in note.number:
            if number.reference:
                assert reference is not None
                assert reference.estimate(number.reference, number.at).n > 1


@pytest.mark.parametrize("key", PAPERS)
def test_the_page_of_the_documentation_has_every_claim_and_every_note(key: str):
    page = (Path(__file__).parents[2] / "docs" / "papers" / f"{key}.md").read_text(encoding="utf-8")
    for each in (each for of, each in CLAIMS if of == key):
        assert f"{each.says} (`{each.id}`)" in page
    for note in read_ledger(PAPERS[key].folder / "ledger.toml"):
        assert f"### {note.title}" in page
        assert all(paragraph in page for paragraph in note.text)


#: What must come out of Experiment 2, whatever the seed.
MUST = {
    "exp2-utilization-avq": "holds",
    "exp2-utilization-full": "holds",
    "exp2-utilization-gkvq": "holds",
    "exp2-queue-overshoots": "fails",
    "exp2-utilization-red": "fails",
}


def test_experiment_2_from_end_to_end(marqueue, tmp_path: Path):
    done = marqueue("paper", "run", "avq", "2", "--quick", "--json", "--out", "out")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary == json.loads((tmp_path / "out/summary.json").read_text())
    verdicts = {each["id"]: each["verdict"] for each in summary["claims"]}
    assert {name: verdicts[name] for name in MUST} == MUST

    quantities = summary["quantities"]["2"]

    def mean(name: str, flows: int) -> float:
        quantity = quantities[name]
        value = quantity["estimates"][quantity["places"].index(flows)]["mean"]
        assert isinstance(value, float)
        return value

    assert mean("utilization.avq", 180) == pytest.approx(0.98, abs=0.01)
    assert mean("utilization.gkvq", 180) < 0.85
    for scheme in ("red", "rem", "pi"):
        assert mean("losses.avq", 180) <= mean(f"losses.{scheme}", 180)

    figure = pq.read_table(tmp_path / "out/data/figure-6.parquet").to_pylist()
    assert {row["of"] for row in figure} == {"AVQ", "RED", "REM", "PI", "GKVQ"}
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == 3
    assert "Ledger" in page
    assert load(tmp_path / "out/scenarios/experiment-2-pi.toml").replications == 4
    for each in summary["claims"]:
        [(label, judged)] = each["readings"].items()
        assert (label, judged["verdict"]) == ("main", each["verdict"])
        assert f'<p class="note">{judged["hold"]} / {judged["open"]} / {judged["fail"]}' in page
    assert marqueue("paper", "run", "avq", "2", "--out", "out").returncode == 2


def test_the_outcome_is_readable_without_other_documents(marqueue, tmp_path: Path):
    done = marqueue("paper", "run", "mkc", "1", "--quick", "--out", "out")
    assert done.returncode == 0, done.stderr
    experiment = PAPERS["mkc"].experiments["1"]
    assert f"Running experiment 1 of mkc: {experiment}." in done.stderr
    sentence, *rest = done.stdout.splitlines()
    assert re.fullmatch(r"Of \d+ claims? of the paper, checked by simulating .*\.", sentence)
    words = " ".join(" ".join(rest).split())
    assert "95% confidence interval" in words
    assert "Report: out/report.html" in rest
    [setup] = [each.split()[-1] for each in rest if "marqueue run" in each]
    assert load(tmp_path / setup).replications == 4


def test_an_experiment_of_theory_alone_has_no_set_ups_and_no_intervals(marqueue, tmp_path: Path):
    done = marqueue("paper", "run", "drq", "theory", "--json", "--out", "out")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["replications"], summary["seed"]) == (1, None)
    [quantities] = summary["quantities"].values()
    estimates = [each for quantity in quantities.values() for each in quantity["estimates"]]
    assert all(each["n"] == 1 and each["half_width"] is None for each in estimates)
    assert not (tmp_path / "out/scenarios").exists()
    assert "no packets are simulated" in (tmp_path / "out/ledger.md").read_text(encoding="utf-8")
    done = marqueue("paper", "run", "drq", "theory", "--out", "again")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Of 8 claims of the paper, checked by computing its theory again")
    assert "marqueue run" not in done.stdout


#: What must come out of theory, on whichever machine.
THEORY_MUST = {
    "theorem-2-1": "holds",
    "theorem-2-1-always": "fails",
    "theorem-4-1": "holds",
    "example-4-1": "fails",
    "proposition-1-optimum": "holds",
    "proposition-1-queues": "holds",
    "proposition-1-unique": "fails",
    "two-packets-suffice": "fails",
    "theorem-1-sufficient": "holds",
    "theorem-1-necessary": "fails",
    "theorem-4-sufficient": "holds",
    "theorem-4-boundary": "holds",
    "theorem-5-error": "fails",
    "eq-22-upper": "holds",
    "eq-22-fairer": "fails",
    "eq-26-sign": "holds",
    "theorem-1-any": "fails",
    "theorem-1-rate-fixed-point": "holds",
    "assumption-2-range": "holds",
    "eq-27": "holds",
}


def test_a_measurement_names_its_unit_and_its_place():
    check = {"kind": "below", "quantity": "queue.a", "other": "queue.b"}
    claim = Claim.model_validate(
        {
            "id": "a",
            "experiment": "1",
            "where": "Fig. 1",
            "says": "A's queue is the shorter.",
            "paper": "A < B",
            "reason": "Means.",
            "check": [check],
        }
    )
    places = (20.0, 40.0)
    quantities = {
        f"queue.{of}": Quantity(
            "Queue, mean", of.upper(), np.array([values]), "packets", "N", places
        )
        for of, values in {"a": (1.0, 9.0), "b": (5.0, 3.0)}.items()
    }
    shown = judge(claim, quantities).in_words
    assert shown == "Queue, mean [packets] with 40 flows: A 9, B 3 (worst of 2)"


#: What must come out of CHOKeW's experiments even in a single replication.
CHOKEW_MUST = {
    "fig4-chokew-starves-none": "holds",
    "fig5-high-above-low": "holds",
    "fig6-chokew-ordered": "holds",
    "fig6-wfq-inverted": "holds",
    "fig7-ordered": "holds",
    "fig9-udp-blocked": "holds",
    "fig9-rio-tcp-none": "holds",
    "fig11-chokew-fairer-than-red": "holds",
    "fig12-utilization": "fails",
    "model-p0-timeouts": "fails",
    "beyond-one-id": "holds",
}


#: Papers whose set-ups are cut short there: what becomes of their claims is tested elsewhere.
CUT_SHORT = {"drq": ["duration=4 s", "warmup=2 s"]}


CHOICES = [
    (key, number, choice)
    for key, paper in PAPERS.items()
    for number, each in choices(paper.readings, list(paper.experiments), "all").items()
    for choice in each
]


@pytest.mark.parametrize(("key", "experiment", "choice"), CHOICES, ids=str)
def test_every_claim_and_every_note_can_be_evaluated(key: str, experiment: str, choice: Choice):
    paper = PAPERS[key]
    one = {
        name: package.run(with_overrides(scenario, CUT_SHORT.get(key, [])), replications=1)
        for name, scenario in paper.experiment(experiment).setups(choice).items()
    }
    quantities = paper.experiment(experiment).measure(one, choice)
    for of, each in CLAIMS:
        if (of, each.experiment) == (key, experiment):
            outcome = judge(each, quantities).outcome
            if choice.label == "main" and experiment != "theory":
                assert outcome != "open", each.id
            if of == "chokew" and choice.label == "main":
                assert outcome == CHOKEW_MUST.get(each.id, outcome), each.id
            assert experiment != "theory" or outcome == THEORY_MUST.get(each.id, outcome), each.id
    for note in read_ledger(paper.folder / "ledger.toml"):
        for number in note.number:
            if note.experiment == experiment and number.here:
                quantity = quantities[number.here]
                assert np.isfinite(quantity.estimates[quantity.place(number.at)].mean)


COUNTED_ON_PAGES = {"holds": 2, "not decided": 3, "does not hold": 4}
"""The columns of the table of all papers, by verdict."""


def test_the_table_of_all_papers_counts_the_verdicts_of_their_pages():
    pages = Path(__file__).parents[2] / "docs" / "papers"
    table = (pages / "README.md").read_text()
    for key in PAPERS:
        [row] = [line for line in table.splitlines() if f"]({key}.md) |" in line]
        cells = [cell.strip() for cell in row.split("|")[1:-1]]
        verdicts = (pages / f"{key}.md").read_text().split("## Verdicts")[1].split("\n## ")[0]
        counts = {
            column: len(re.findall(rf"\| {verdict} \| \d", verdicts))
            for verdict, column in COUNTED_ON_PAGES.items()
        }
        assert [int(cell) for cell in cells[1:]] == [sum(counts.values()), *counts.values()]
