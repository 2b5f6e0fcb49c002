"""Runs experiments of a paper and writes the results."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import tomli_w

from marqueue.papers.figures import PaperFigure
from marqueue.papers.page import ledger_page, page
from marqueue.papers.paper import FULL, QUICK, Paper, replicated
from marqueue.papers.reproduction import Reproduction
from marqueue.plots.style import svg
from marqueue.results import Result
from marqueue.results.integrity import seal_directory, write_json
from marqueue.results.output_directory import OutputDirectory
from marqueue.results.provenance import here
from marqueue.results.tables import write_parquet
from marqueue.simulation.checkpoints import Checkpoints
from marqueue.simulation.executor import Progress
from marqueue.simulation.run import run_each

REPORT = "report.html"


def run_paper(
    paper: Paper,
    experiments: Sequence[str],
    quick: bool,
    output: OutputDirectory,
    jobs: int | None,
    progress: Progress | None,
    checkpoints: Checkpoints,
) -> Reproduction:
    """Runs experiments and writes data, figures and a report into ``output``.

    Completed replications are stored in ``checkpoints`` and not run again. Raises RunError if the
    checkpoints belong to another run.
    """
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    started = time.perf_counter()
    setups = {number: paper.experiment(number).setups() for number in experiments}
    each = {
        (number, name): replicated(scenario, QUICK if quick else FULL)
        for number, named in setups.items()
        for name, scenario in named.items()
    }
    if not quick:
        each |= {
            (number, name): scenario
            for number in experiments
            for name, scenario in paper.experiment(number).full().items()
        }
    checkpoints.belong_to(
        {
            "paper": paper.key,
            "setups": {f"{n} {name}": setup.to_dict() for (n, name), setup in each.items()},
        }
    )
    runs: dict[str, dict[str, Result]] = {number: {} for number in setups}
    results = run_each(list(each.values()), jobs=jobs, progress=progress, checkpoints=checkpoints)
    for (number, name), result in zip(each, results, strict=True):
        runs[number][name] = result
    parts = [result.provenance.circumstances for result in results]
    made = here(
        started_at,
        time.perf_counter() - started,
        sum(part.cpu_seconds for part in parts),
        sum(part.from_checkpoints for part in parts),
    )
    reproduction = Reproduction(paper, quick, runs, made)
    with output.staged() as fresh:
        write_files(reproduction, fresh)
    return reproduction


def write_files(reproduction: Reproduction, out: Path) -> None:
    """Writes report, ledger, summary, figures with their data, and the set-ups into an empty
    directory.

    All files except the circumstances depend on paper, version, commit and form only.
    """
    for name in ("data", "figures", "scenarios"):
        (out / name).mkdir()
    for figure in (each for every in reproduction.figures.values() for each in every):
        slug = figure.name.lower().replace(",", "").replace(" ", "-")
        write_parquet(figure.data, out / "data" / f"{slug}.parquet")
        if isinstance(figure, PaperFigure):
            (out / "figures" / f"{slug}.svg").write_text(svg(figure.figure), encoding="utf-8")
    for number, runs in reproduction.runs.items():
        for name, run in runs.items():
            path = out / "scenarios" / f"experiment-{number}-{name}.toml"
            path.write_text(tomli_w.dumps(run.scenario), encoding="utf-8")
    write_json(out / "summary.json", reproduction.summary())
    (out / "ledger.md").write_text(ledger_page(reproduction), encoding="utf-8")
    page(reproduction).write(out / REPORT)
    first = next(iter(next(iter(reproduction.runs.values())).values())).provenance
    made = {"kind": "paper", "version": first.version, "commit": first.commit}
    what = {
        "paper": reproduction.paper.key,
        "experiments": list(reproduction.runs),
        "quick": reproduction.quick,
    }
    seal_directory(out, {**made, **what, "partial": None}, dataclasses.asdict(reproduction.made))
