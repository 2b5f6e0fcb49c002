"""The pages of a reproduction: its report, and its verdicts and ledger as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from marqueue import __version__
from marqueue.papers.beside import beside
from marqueue.papers.figures import PaperFigure, PaperTable
from marqueue.papers.ledger import Note
from marqueue.papers.paper import Form
from marqueue.papers.readings import MAIN, NOTHING, Reading
from marqueue.papers.reproduction import Reproduction
from marqueue.papers.verdict import COUNTED, ORDER, Decision, counted
from marqueue.reports import Report, Verdict
from marqueue.reports.builder import OUTCOMES, Cell, show
from marqueue.results.integrity import CIRCUMSTANCES
from marqueue.results.provenance import commit

LEFT_OPEN = "What the paper leaves open"
UNDER_EACH = "Verdicts under each reading."
#: Which choices were tried.
TRIED = (
    "Each alternative was tried with all other readings at their main value, not all products of "
    f"alternatives. The numbers count comparisons: {COUNTED}."
)
#: How a page of the documentation begins.
ABOUT = (
    "This page compares the claims of the paper with what marqueue measures: a verdict for each "
    "claim, what the paper leaves open and what hangs on it, and a ledger of what does not "
    "reproduce and why. It is for readers of the paper and for users of its schemes."
)


def page(of: Reproduction) -> Report:
    """The report."""
    report = Report(f"{of.paper.title}, reproduced", of.paper.source, byline(of))
    report.answer(of.sentence)
    report.highlights(
        [(OUTCOMES[o], of.counts[o], "claims") for o in reversed(ORDER) if of.counts[o]]
    )
    for number in of.runs:
        _experiment(report, of, number)
    _left_open(report, of)
    _ledger(report, of)
    _reproduce(report, of)
    return report


def byline(of: Reproduction) -> str:
    """Replications, intervals, version and seed, as sentences."""
    if not of.results:
        return f"Theory alone: no packets are simulated. marqueue {__version__}."
    return " ".join(
        filter(
            None,
            (
                f"{_form(of)}: {of.replicated}; ± is the half width of the 95% confidence interval "
                "over them (Student).",
                of.looks,
                f"marqueue {__version__}, seed {of.seed}.",
            ),
        )
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
    figures = of.figures[number]
    claims = [claim for claim in of.claims if claim.experiment == number]
    places = beside([figure.name for figure in figures], [claim.where for claim in claims])
    below = f"The numbers below a verdict count comparisons: {COUNTED}."
    if any(places):
        report.text(below)
    for i, figure in enumerate(figures):
        about = [c for c, place in zip(claims, places, strict=True) if place[:1] == [i]]
        _exhibit(report, figure, [of.verdicts[claim.id].verdict for claim in about], below)
    others = [claim for claim, place in zip(claims, places, strict=True) if not place]
    if others:
        report.verdicts((of.verdicts[claim.id].verdict for claim in others), below)
    if number in of.several:
        table = under_each(of.judged_claims, number, _labels(of, number))
        report.table(*table, f"{UNDER_EACH} {TRIED}")
    report.text(*of.paper.experiment(number).found)


def _exhibit(
    report: Report, figure: PaperFigure | PaperTable, about: Sequence[Verdict], below: str
) -> None:
    """A figure beside the claims about it and their verdicts; a table above them."""
    if isinstance(figure, PaperFigure):
        report.figure(figure.svg, figure.caption, figure.name, about)
        return
    report.table(figure.columns, figure.rows, f"{figure.name}. {figure.caption}")
    if about:
        report.verdicts(about, below)


def under_each(
    claims: Sequence[Mapping[str, Any]], number: str, labels: Sequence[str]
) -> tuple[Sequence[str], list[Sequence[Cell]]]:
    """The verdicts on the claims of an experiment under each choice, with a column for each: heads
    and rows. ``claims`` are those of a summary, ``labels`` the choices in order."""
    rows: list[Sequence[Cell]] = [
        (
            each["id"],
            *(judged(each["readings"][label]) for label in labels),
            each["overall"]["text"],
        )
        for each in claims
        if each["experiment"] == number
    ]
    return ("Claim", *labels, "Over all"), rows


def judged(under: Mapping[str, Any]) -> str:
    """The verdict under a choice in a summary, with its numbers of comparisons."""
    return f"{OUTCOMES[cast(Decision, under['verdict'])]}: {counted(under)}"


def _labels(of: Reproduction, number: str) -> list[str]:
    return [case.choice.label for case in of.cases[number]]


def _left_open(report: Report, of: Reproduction) -> None:
    if not of.readings:
        return
    report.section(LEFT_OPEN)
    for reading in of.readings:
        report.notes([says(reading), because(reading)], reading.question)
        rows = [(alternative(reading, each.value), each.text) for each in reading.alternative]
        report.table((reading.id, "What it means"), rows)


def says(reading: Reading) -> str:
    """What the paper says on a reading, and the experiments that depend on it, as sentences."""
    said = "The paper says nothing" if reading.says == NOTHING else f"“{reading.says}”"
    s = "s" * (len(reading.experiments) > 1)
    return f"{said} ({reading.where}). Experiment{s} {', '.join(reading.experiments)}."


def because(reading: Reading) -> str:
    """The main alternative, and why it is that, as sentences."""
    return f"Main: {reading.main}. {reading.because}"


def alternative(reading: Reading, value: str) -> str:
    """The name of an alternative, marked if it is the main one."""
    return f"{value} (main)" if value == reading.main else value


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
        "figures/, as SVG, and the data behind each in data/, as Parquet; figures.md has each "
        "beside what the paper says of it; quantities and verdicts are in summary.json."
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
    form = of.form
    quick = ["--quick"] * form.quick
    usual = form.looks == Form(form.quick).looks
    most = [] if usual else [f"--most-replications {form.looks[-1]}"]
    options = [*quick, *readings, *most]
    words = ["marqueue", "paper", "run", of.paper.key, *numbers, *options]
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
        *markdown(
            ("Claim", "Experiment", "Paper", "Here", "Verdict", COUNTED.capitalize()),
            (
                (
                    f"{c.says} (`{c.id}`)",
                    c.experiment,
                    c.paper,
                    v.measured,
                    OUTCOMES[v.outcome],
                    v.counted,
                )
                for c in of.claims
                for v in [of.verdicts[c.id]]
            ),
        ),
        *_readings(of),
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


def _readings(of: Reproduction) -> Iterable[str]:
    """What is left open, and the verdicts under each reading."""
    if of.several:
        yield from ("", f"## {UNDER_EACH.rstrip('.')}", "", TRIED)
    for number in of.several:
        table = under_each(of.judged_claims, number, _labels(of, number))
        yield from ("", f"Experiment {number}:", "", *markdown(*table))
    if of.readings:
        yield from ("", f"## {LEFT_OPEN}")
    for reading in of.readings:
        yield from ("", f"### {reading.question}", "", f"{says(reading)} {because(reading)}", "")
        for each in reading.alternative:
            yield f"- `{reading.id}={each.value}`: {each.text}"


def _note(of: Reproduction, note: Note) -> Iterable[str]:
    for paragraph in note.text:
        yield from ("", paragraph)
    if note.number:
        yield from ("", *markdown(*_numbers(of, note)))


def markdown(heads: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterable[str]:
    """A table."""
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(show(cell).replace('|', '/') for cell in row)} |"
