"""Runs experiments of a paper and writes the results."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tomli_w

from marqueue import __version__
from marqueue.papers.cases import Simulator, largest_runs, run_cases, scenarios_of
from marqueue.papers.figures import PaperFigure
from marqueue.papers.figures_page import figures_page, file_name
from marqueue.papers.page import ledger_page, page
from marqueue.papers.paper import Form, Paper
from marqueue.papers.readings import choices
from marqueue.papers.reproduction import Reproduction
from marqueue.results.integrity import seal_directory, write_json
from marqueue.results.output_directory import OutputDirectory
from marqueue.results.provenance import commit, here
from marqueue.results.tables import write_parquet
from marqueue.simulation.checkpoints import Checkpoints
from marqueue.simulation.executor import Progress

REPORT = "report.html"


def run_paper(
    paper: Paper,
    experiments: Sequence[str],
    form: Form,
    output: OutputDirectory,
    jobs: int | None,
    progress: Progress | None,
    checkpoints: Checkpoints,
    say: Callable[[str], None],
) -> Reproduction:
    """Runs experiments and writes data, figures and a report into ``output``.

    Scenarios that are equal run once, in whichever experiments and under whichever choices they
    occur. Completed replications are stored
    in ``checkpoints`` and not run again. Raises MarqueueError for unknown readings, and RunError if
    the checkpoints belong to another run.
    """
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    started = time.perf_counter()
    asked = choices(paper.readings, experiments, form.readings)
    checkpoints.belong_to(
        {
            "paper": paper.key,
            "most_replications": form.looks[-1],
            "setups": {
                f"{number} {choice.label} {name}": each.to_dict()
                for number, every in asked.items()
                for choice in every
                for name, each in scenarios_of(paper, number, choice, form, form.looks[0]).items()
            },
        }
    )
    simulator = Simulator(jobs, progress, checkpoints)
    cases = run_cases(paper, asked, form, simulator, say)
    runs = largest_runs([case for every in cases.values() for case in every])
    made = here(
        started_at,
        time.perf_counter() - started,
        sum(run.provenance.circumstances.cpu_seconds for run in runs),
        # Without a directory for checkpoints, later looks simulate all replications again.
        max(0, sum(run.replications for run in runs) - simulator.simulated),
    )
    reproduction = Reproduction(paper, form, cases, made)
    with output.staged() as fresh:
        write_files(reproduction, fresh)
    return reproduction


def write_files(reproduction: Reproduction, out: Path) -> None:
    """Writes report, ledger, summary, figures with their data and a page, and the set-ups into an
    empty directory.

    All files except the circumstances depend on paper, version, commit and form only.
    """
    for name in ("data", "figures", "scenarios"):
        (out / name).mkdir()
    for figure in (each for every in reproduction.figures.values() for each in every):
        slug = file_name(figure.name)
        write_parquet(figure.data, out / "data" / f"{slug}.parquet")
        if isinstance(figure, PaperFigure):
            (out / "figures" / f"{slug}.svg").write_text(figure.svg, encoding="utf-8")
    for file, scenario in _setup_files(reproduction).items():
        (out / "scenarios" / f"{file}.toml").write_text(tomli_w.dumps(scenario), encoding="utf-8")
    summary = reproduction.summary()
    write_json(out / "summary.json", summary)
    paper = reproduction.paper
    page_of_figures = figures_page(summary, paper.title, paper.experiments, "figures", "ledger.md")
    (out / "figures.md").write_text(page_of_figures, encoding="utf-8")
    (out / "ledger.md").write_text(ledger_page(reproduction), encoding="utf-8")
    page(reproduction).write(out / REPORT)
    made = {"kind": "paper", "version": __version__, "commit": commit()}
    what = {
        "paper": reproduction.paper.key,
        "experiments": list(reproduction.runs),
        "quick": reproduction.form.quick,
        "readings": reproduction.form.readings,
        "most_replications": reproduction.form.looks[-1],
    }
    seal_directory(out, {**made, **what, "partial": None}, dataclasses.asdict(reproduction.made))


def _setup_files(reproduction: Reproduction) -> dict[str, dict[str, Any]]:
    """The set-ups as run, by name of file: those of the leading choices, and under other choices
    those that differ."""
    out: dict[str, dict[str, Any]] = {}
    for number, (leading, *others) in reproduction.cases.items():
        for name, run in leading.runs.items():
            out[f"experiment-{number}-{name}"] = run.scenario
        for case in others:
            under = case.choice.label.replace("=", "-")
            for name, run in case.runs.items():
                if name not in leading.runs or run.scenario != leading.runs[name].scenario:
                    out[f"experiment-{number}-{name}-{under}"] = run.scenario
    return out
