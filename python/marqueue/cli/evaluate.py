"""``marqueue evaluate``: the evaluations that standards ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from marqueue.cli import complete, options
from marqueue.cli.console import progress_bar, say
from marqueue.cli.judged import Work, run_and_show
from marqueue.cli.ladder import climb_and_print
from marqueue.errors import MarqueueError

if TYPE_CHECKING:
    from marqueue.evaluation import Contender, Planned, Suite

evaluate = typer.Typer(no_args_is_help=True)

Quick = Annotated[
    bool, typer.Option("--quick", help="Fewer and shorter replications: at most two minutes.")
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only", metavar="SCENARIO", help="Only this scenario (repeatable).", show_default="all"
    ),
]
Baseline = Annotated[
    list[str] | None,
    typer.Option(
        "--baseline",
        metavar="NAME,...",
        help="Others to show beside it (repeatable). The one that verdicts compare with is always "
        "there: droptail, cubic, or reno for tcpeval.",
        show_default="only that one",
    ),
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the random numbers.")]
Out = Annotated[
    Path | None, options.out(False, "Write a report, JSON and the scenario files to DIR.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace DIR if it exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print verdicts and measures as JSON only.")]


@evaluate.callback()
def _group() -> None:
    """Suites of scenarios that standards describe, with verdicts: for AQMs and for controls."""


@evaluate.command("aqm", no_args_is_help=True)
def evaluate_aqm(
    aqm: Annotated[
        str,
        typer.Option(
            "--aqm",
            metavar="NAME[:PARAMETER=VALUE,...]",
            help='The AQM, such as pie, or "codel:target=10 ms".',
            show_default=False,
            autocompletion=complete.aqms,
        ),
    ],
    suite: Annotated[str, typer.Option("--suite", metavar="SUITE", help="rfc7928.")] = "rfc7928",
    baseline: Baseline = None,
    quick: Quick = False,
    only: Only = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Run with Linux's TCP through a live link, in real time (root, iperf3).",
        ),
    ] = False,
    seed: Seed = 1,
    jobs: options.Jobs = None,
    out: Out = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Evaluate an AQM by the scenarios of RFC 7928 beside drop-tail.

    Every scenario ends in verdicts: a measure with its 95% interval over replications, a limit with
    its reason, and pass, fail, or not decided where the interval has the limit inside. The limits
    are ours, because the RFC states none. With --out there is a page with all of it and pictures,
    and the scenarios as files for marqueue run.

    [bold]Examples[/bold]

    marqueue evaluate aqm --aqm codel --quick --out results/codel

    marqueue evaluate aqm --aqm "pie:delay_ref=20 ms" --baseline codel,fq_codel --only rtt-100

    marqueue evaluate aqm --aqm codel --quick --live --only mild

    Exit codes: 0 no scenario failed, 1 some failed, 2 an error that the message explains, 130
    interrupted.
    """
    # Slow to import, and not needed for help.
    from marqueue.evaluation import AQM_SUITES, aqm_contender, checked_names, split_names

    checked_names("--suite", [suite], AQM_SUITES)
    asked = aqm_contender("--aqm", aqm)
    names = dict.fromkeys([AQM_SUITES[suite].baseline, *split_names(baseline or ())])
    beside = [aqm_contender("--baseline", name) for name in names]
    _run(AQM_SUITES[suite], "--aqm", asked, beside, quick, only, seed, jobs, out, force, json,
         live=live)  # fmt: skip


@evaluate.command("cc", no_args_is_help=True)
def evaluate_cc(
    control: Annotated[
        str,
        typer.Option(
            "--control",
            metavar="NAME",
            help="The congestion control, such as bbr3.",
            show_default=False,
        ),
    ],
    suite: Annotated[
        str,
        typer.Option("--suite", metavar="SUITE", help="rfc9743, tcpeval, or for BBR ccwg-bbr."),
    ] = "rfc9743",
    baseline: Baseline = None,
    quick: Quick = False,
    only: Only = None,
    seed: Seed = 1,
    jobs: options.Jobs = None,
    out: Out = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Evaluate a congestion control by a suite of scenarios beside a standard one.

    The suite rfc9743 has the criteria of RFC 9743 beside CUBIC: protection against congestion
    collapse, bufferbloat and loss; fairness; short flows; standard and real-time flows beside it;
    and paths: wireless, under AQMs, of varying delay, low rate, high delay, with reordering, sudden
    changes, and in data centres. Verdicts are as those of evaluate aqm, with limits of ours,
    because the RFC states none.

    The suite tcpeval is the common TCP evaluation suite (draft-irtf-iccrg-tcpeval) beside Reno: six
    kinds of links at three loads, delay and throughput by buffer, ramp-up, transients, impact on
    standard TCP, fairness, several bottlenecks.

    The suite ccwg-bbr has the 22 test cases of draft-ietf-ccwg-bbr, which verify what BBR's state
    machine does; --only takes their numbers.

    [bold]Examples[/bold]

    marqueue evaluate cc --control bbr3 --quick --out results/bbr3

    marqueue evaluate cc --control cubic --suite tcpeval --quick --out results/cubic

    marqueue evaluate cc --control bbr3 --suite ccwg-bbr --only 15

    marqueue evaluate cc --control ledbat --baseline reno,bbr3 --only beside-cubic

    Exit codes: 0 no scenario failed, 1 some failed, 2 an error that the message explains, 130
    interrupted.
    """
    # Slow to import, and not needed for help.
    from marqueue.evaluation import CC_SUITES, checked_names, control_contender, split_names
    from marqueue.validation.bbr.evaluation import NAME, draft_cases

    checked_names("--suite", [suite], [*CC_SUITES, NAME])
    if suite == NAME:
        from marqueue.validation import Effort

        if baseline:
            raise MarqueueError(f"--baseline: got one, expected none with --suite {NAME}")
        rung = draft_cases(control, only or (), seed)
        effort = Effort.QUICK if quick else Effort.FULL
        climb_and_print([rung], effort, jobs, out, force=force, json=json, what="evaluate")
        return
    asked = control_contender("--control", control)
    names = dict.fromkeys([CC_SUITES[suite].baseline, *split_names(baseline or ())])
    beside = [control_contender("--baseline", name) for name in names]
    _run(CC_SUITES[suite], "--control", asked, beside, quick, only, seed, jobs, out, force, json)


LEAGUE = "league"
NOT_IN_LEAGUE = ("sensitivity",)
"""Its runs are as many as an AQM has parameters, twice."""


@evaluate.command("league", no_args_is_help=True)
def evaluate_league(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Where league.json, league.md and league.svg go.",
            show_default=False,
        ),
    ],
    aqm: Annotated[
        list[str] | None,
        typer.Option(
            "--aqm",
            metavar="NAME,...",
            help="The AQMs (repeatable).",
            show_default="all that TCP can use",
        ),
    ] = None,
    only: Only = None,
    stored: Annotated[
        bool, typer.Option("--stored", help="Only make page and picture again from league.json.")
    ] = False,
    jobs: options.Jobs = None,
) -> None:
    """Evaluate every AQM that TCP can use by RFC 7928, in the quick form and without the scenario
    of sensitivity, and write the league table. Takes about fifteen minutes of a processor; --aqm
    and --only choose fewer.

    Example: marqueue evaluate league docs/evaluation
    """
    from json import loads

    from marqueue.evaluation import (
        AQM_SUITES,
        Effort,
        aqm_contender,
        checked_names,
        split_names,
    )
    from marqueue.evaluation import evaluate as run
    from marqueue.evaluation.league import league_data, league_json, league_page
    from marqueue.evaluation.league_picture import league_picture
    from marqueue.results.output_file import write_output_files
    from marqueue.scenario.parameters import aqms

    suite = AQM_SUITES["rfc7928"]
    if stored:
        data = loads((folder / f"{LEAGUE}.json").read_text(encoding="utf-8"))
    else:
        names = split_names(aqm or ()) or [
            name
            for name, each in aqms().items()
            if not each.prices and not any(declared.required for declared in each.params)
        ]
        entrants = [aqm_contender("AQM", name) for name in names]
        cases = [case.name for case in suite.cases]
        chosen = checked_names("--only", only or (), cases) or [
            name for name in cases if name not in NOT_IN_LEAGUE
        ]
        with progress_bar("league") as progress:
            found = run(
                suite, entrants, [aqm_contender("AQM", suite.baseline)],
                effort=Effort.QUICK, only=chosen, jobs=jobs, progress=progress,
            )  # fmt: skip
        data = league_data(found)
    page = league_page(data, suite, "marqueue evaluate league")
    files = {"json": league_json(data), "md": page, "svg": league_picture(data, suite)}
    write_output_files(folder, {f"{LEAGUE}.{end}": text for end, text in files.items()})


def _run(
    suite: Suite[Any],
    option: str,
    asked: Contender[Any],
    beside: list[Contender[Any]],
    quick: bool,
    only: list[str] | None,
    seed: int,
    jobs: int | None,
    out: Path | None,
    force: bool,
    json: bool,
    live: bool = False,
) -> None:
    from marqueue.evaluation import (
        SIMULATED,
        Effort,
        build_once,
        checked_names,
        evaluation_table,
        planned,
        write_report,
    )
    from marqueue.evaluation import evaluate as run

    effort = Effort.QUICK if quick else Effort.FULL
    for name in checked_names("--only", only or (), [case.name for case in suite.cases]):
        if any(case.name == name and effort not in case.forms for case in suite.cases):
            raise MarqueueError(f"--only: {name} is part of the full form alone, got --quick")
    for each in (asked, *beside):
        build_once(option if each is asked else "--baseline", suite.cases[0], each, effort)
    bench = SIMULATED
    if live:
        from marqueue.evaluation.live import LIVE

        bench = LIVE
        _announce(planned(suite, [asked], beside, effort=effort, only=only or (), bench=bench))
    work = Work(
        "evaluate",
        do=lambda progress: run(
            suite, [asked], beside,
            effort=effort, only=only or (), seed=seed, bench=bench, jobs=jobs, progress=progress,
        )[0],
        write=write_report,
        table=evaluation_table,
        plain=lambda found: found.as_dict(),
        failed=lambda found: found.failed,
    )  # fmt: skip
    run_and_show(work, out, force=force, json=json)


def _announce(work: list[Planned[Any]]) -> None:
    """How long a live evaluation takes."""
    runs = [each for each in work if each.runs]
    minutes = sum(each.seconds for each in runs) / 60
    say(
        f"{len(runs)} of {len(work)} scenarios can run live: {minutes:.0f} minutes in real time, "
        "plus a few seconds for each setup. --only SCENARIO runs fewer."
    )
