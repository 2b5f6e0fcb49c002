"""Papers: their folders and pages, and reproductions by the command."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import marqueue as package
from marqueue.papers import PAPERS
from marqueue.papers.cases import scenarios_of
from marqueue.papers.claims import read_claims
from marqueue.papers.ledger import read_ledger, read_reference
from marqueue.papers.paper import Form, theory_alone
from marqueue.papers.readings import Choice, choices
from marqueue.papers.verdict import judge
from marqueue.scenario import load, with_overrides

CLAIMS = [
    (key, claim) for key in PAPERS for claim in read_claims(PAPERS[key].folder / "claims.toml")
]
SCENARIOS = [
    path for paper in PAPERS.values() for path in (paper.folder / "scenarios").glob("*.toml")
]
EXPERIMENTS = [(key, number) for key, paper in PAPERS.items() for number in paper.experiments]


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
    done = marqueue("paper", "run", "drq", "theory", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Of 8 claims of the paper, checked by computing its theory again")
    assert "marqueue run" not in done.stdout
    summary = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
    assert (summary["replications"], summary["seed"]) == (1, None)
    [quantities] = summary["quantities"].values()
    estimates = [each for quantity in quantities.values() for each in quantity["estimates"]]
    assert all(each["n"] == 1 and each["half_width"] is None for each in estimates)
    assert not (tmp_path / "out/scenarios").exists()
    assert "no packets are simulated" in (tmp_path / "out/ledger.md").read_text(encoding="utf-8")


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
        name: package.run(with_overrides(scenario, CUT_SHORT.get(key, [])))
        for name, scenario in scenarios_of(paper, experiment, choice, Form(quick=True), 1).items()
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


def test_the_table_of_readings_counts_the_verdicts_of_their_pages():
    pages = Path(__file__).parents[2] / "docs" / "papers"
    table = (pages / "README.md").read_text(encoding="utf-8")
    overall = ("holds under all", "holds under", "holds under none", "not decided")
    for key, paper in PAPERS.items():
        [row] = [line for line in table.splitlines() if f"](readings/{key}.md) |" in line]
        cells = [int(cell) for cell in row.split("|")[2:-1]]
        page = (pages / "readings" / f"{key}.md").read_text(encoding="utf-8")
        found = Counter[str]()
        for number, every in choices(paper.readings, list(paper.experiments), "all").items():
            if len(every) == 1:
                continue
            part = page.split(f"## Experiment {number}: ")[1].split("\n## ")[0]
            heads, _, *lines = [line for line in part.splitlines() if line.startswith("|")]
            columns = ["Claim", *(each.label for each in every), "Over all"]
            assert [cell.strip() for cell in heads.split("|")[1:-1]] == columns
            claims = [c.id for of, c in CLAIMS if (of, c.experiment) == (key, number)]
            rows_of = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
            assert [each[0] for each in rows_of] == claims
            longest_first = sorted(overall, key=len, reverse=True)
            found += Counter(
                next(each for each in longest_first if cells_of[-1].startswith(each))
                for cells_of in rows_of
            )
        assert cells == [sum(found.values()), *(found[each] for each in overall)]
