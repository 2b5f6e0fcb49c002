"""The pages of a reproduction: its report, and its verdicts and ledger as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from marqueue import __version__
from marqueue.papers.figures import PaperFigure
from marqueue.papers.ledger import Note
from marqueue.papers.readings import MAIN
from marqueue.papers.reproduction import Reproduction
from marqueue.reports import Report
from marqueue.reports.builder import OUTCOMES, Cell, show
from marqueue.results.integrity import CIRCUMSTANCES
from marqueue.results.provenance import commit

#: How a page of the documentation begins.
ABOUT = (
    "This page compares the claims of the paper with what marqueue measures: a verdict for each "
    "claim, a ledger of what does not reproduce and why, and how open points of the paper are "
    "read. It is for readers of the paper and for users of its schemes."
)


def page(of: Reproduction) -> Report:
    """The report."""
    report = Report(f"{of.paper.title}, reproduced", of.paper.source, byline(of))
    report.highlights([(OUTCOMES[o], of.counts[o], "claims") for o in OUTCOMES if of.counts[o]])
    for number in of.runs:
        _experiment(report, of, number)
    _ledger(report, of)
    _reproduce(report, of)
    return report


def byline(of: Reproduction) -> str:
    """Replications, version and seed, as a sentence."""
    if not of.results:
        return f"Theory alone: no packets are simulated. marqueue {__version__}."
    return (
        f"{_form(of)}: {of.replications} replications of every set-up{of.fewer}; ± is the half "
        "width of the 95% confidence interval over them (Student). "
        f"marqueue {__version__}, seed {of.seed}."
    )


def _form(of: Reproduction) -> str:
    return "Quick form" if of.form.quick else "Full form"


def _numbers(of: Reproduction, note: Note) -> tuple[Sequence[str], list[Sequence[Cell]]]:
    """The table of a ledger entry, with a column for the reference if there is one."""
    rows = of.ledger_rows(note)
    if of.reference is None:
        return ("", "Paper", "Here"), [(what, paper, here) for what, paper, _, here in rows]
    return ("", "Paper", of.reference.name, "Here"), list(rows)


def _made(of: Reproduction) -> list[str]:
    return [f"Reference: {of.reference.name}. {of.reference.made}"] if of.reference else []


def _experiment(report: Report, of: Reproduction, number: str) -> None:
    report.section(f"Experiment {number}: {of.paper.experiments[number]}")
    report.notes(of.paper.experiment(number).readings, "How the paper is read")
    report.verdicts(of.verdicts[c.id] for c in of.claims if c.experiment == number)
    report.text(*of.paper.experiment(number).found)
    for figure in of.figures[number]:
        if isinstance(figure, PaperFigure):
            report.figure(figure.figure, figure.caption, figure.name)
        else:
            report.table(figure.columns, figure.rows, f"{figure.name}. {figure.caption}")


def _ledger(report: Report, of: Reproduction) -> None:
    if not of.notes:
        return
    report.section("Ledger")
    for made in _made(of):
        report.text(made)
    for note in of.notes:
        report.notes(note.text, note.title)
        if note.number:
            report.table(*_numbers(of, note))


def _reproduce(report: Report, of: Reproduction) -> None:
    report.section("How to reproduce this")
    report.code(command(of))
    report.text(
        "The set-ups as run are in scenarios/, each a file for marqueue run; the figures are in "
        "figures/, as SVG, and the data behind each in data/, as Parquet; quantities and verdicts "
        "are in summary.json."
    )
    facts: dict[str, Cell] = {
        "Version": __version__,
        "Commit": commit(),
        "Runs": sum(run.replications for run in of.results),
        "When, where and how long": CIRCUMSTANCES,
    }
    report.facts(facts)


def command(of: Reproduction) -> str:
    """The command that reproduces the results."""
    numbers = [] if list(of.runs) == list(of.paper.experiments) else list(of.runs)
    readings = [] if of.form.readings == MAIN else ["--readings", of.form.readings]
    quick = ["--quick"] * of.form.quick
    words = ["marqueue", "paper", "run", of.paper.key, *numbers, *quick, *readings]
    return " ".join(words)


def ledger_page(of: Reproduction) -> str:
    """Verdicts and ledger as a page for the documentation."""
    lines = [
        f"# {of.paper.title}",
        "",
        ABOUT,
        "",
        f"{of.paper.source} Reproduced by `{command(of)}`, which wrote this page. {byline(of)}",
        "",
        "## Verdicts",
        "",
        *_markdown(
            ("Claim", "Experiment", "Paper", "Here", "Verdict"),
            (
                (f"{c.says} (`{c.id}`)", c.experiment, v.expected, v.measured, OUTCOMES[v.outcome])
                for c in of.claims
                for v in [of.verdicts[c.id]]
            ),
        ),
        "",
        "## Ledger",
        *(line for made in _made(of) for line in ("", made)),
    ]
    for note in of.notes:
        lines += ["", f"### {note.title}", *_note(of, note)]
    lines += ["", "## How the paper is read"]
    for number in of.runs:
        readings = of.paper.experiment(number).readings
        lines += ["", f"Experiment {number}:", "", *(f"- {reading}" for reading in readings)]
    return "\n".join(lines) + "\n"


def _note(of: Reproduction, note: Note) -> Iterable[str]:
    for paragraph in note.text:
        yield from ("", paragraph)
    if note.number:
        yield from ("", *_markdown(*_numbers(of, note)))


def _markdown(heads: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterable[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(show(cell).replace('|', '/') for cell in row)} |"
