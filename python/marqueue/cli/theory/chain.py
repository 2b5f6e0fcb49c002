"""``marqueue theory chain``: TCP windows under marking of scale N^a."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps, loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from marqueue.cli.console import output, print_json, progress_bar, say
from marqueue.cli.options import Json
from marqueue.cli.theory import chain_options as options
from marqueue.cli.theory import chain_output as show
from marqueue.errors import ModelError, RunError
from marqueue.theory.marking_chain import (
    MeanField,
    MeanWindow,
    Model,
    mean_field,
    mean_window,
    simulate,
)
from marqueue.theory.marking_chain.simulate import LENGTH, REPLICATIONS, WARM_UP

if TYPE_CHECKING:
    from marqueue.design.chain_packets import Point
    from marqueue.theory.marking_chain.phases import Cell

chain = typer.Typer()


@chain.callback(invoke_without_command=True)
def run(
    context: typer.Context,
    flows: options.Flows = None,
    a: options.Exponent = 0.2,
    ct: options.Ct = 25.0,
    marking: options.Marking = "RED1",
    b: options.BufferExponent = None,
    buffer: options.Buffer = 12.0,
    queue: options.Queue = "mm1",
    greatest: options.Greatest = None,
    rtt_classes: options.Classes = "1",
    slots: options.Slots = None,
    length: Annotated[
        int, typer.Option("--length", metavar="N", help="How many T are looked at.")
    ] = LENGTH,
    warm_up: Annotated[
        int, typer.Option("--warm-up", metavar="N", help="How many T before are not.")
    ] = WARM_UP,
    replications: Annotated[
        int, typer.Option("--replications", "-r", metavar="N", help="How often.")
    ] = REPLICATIONS,
    seed: options.Seed = 1,
    json: Json = False,
) -> None:
    """N flows under marking whose thresholds grow as N^a, with buffers far below a round trip: the
    doubly stochastic chain of Eun and Wang (2008), exact in distribution, as fast for 10^9 flows as
    for 10^3; and whether its mean field rests or oscillates.

    Example: marqueue theory chain --flows 1000 --flows 1e9 --a 0.2 --ct 25 --marking red:2:10:0.2
    """
    if context.invoked_subcommand is not None:
        return
    of_rtt = options.classes(rtt_classes)
    models = [
        Model(n, ct, a, marking, b, buffer, queue, greatest, of_rtt, slots)
        for n in options.flows(flows)
    ]
    if models[0].at.warning is not None:
        say(f"Warning: {models[0].at.warning}")
    found = []
    for model in models:
        with progress_bar(f"N = {model.flows:,}") as progress:
            result = simulate(model, length, warm_up, replications, seed, progress)
        beside = _mean_window(model), _mean_field(model)
        if json:
            found.append(show.plain_result(result, *beside))
        else:
            show.print_result(result, *beside)
            output.print()
    if json:
        print_json({"model": show.plain_model(models[0]), "runs": found})


Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Where to.", show_default=False)]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer flows, once each: within a minute.")]


@chain.command()
def phases(folder: Folder) -> None:
    """Where flows move as one, over N, CT and a, and with other round-trip times: the data as
    phases.json, and the figures of the documentation. It takes about a minute.

    Example: marqueue theory chain phases docs/theory/chain
    """
    from marqueue.theory.marking_chain import phases as diagram

    with progress_bar("Phases") as progress:
        _write(folder, "phases", list(diagram.phases(progress)))


@chain.command()
def packets(folder: Folder, quick: Quick = False) -> None:
    """How much packets move as one, at points of the diagram of phases: the data as packets.json,
    and the figures again. It takes about five minutes.

    Example: marqueue theory chain packets docs/theory/chain --quick
    """
    from marqueue.design import chain_packets as points

    form = points.QUICK if quick else points.FULL
    with progress_bar("Packets") as progress:
        _write(folder, "packets", list(points.placed(form, progress)))


@chain.command()
def between(
    ct: options.Ct = 5.0,
    a: options.Exponent = 0.2,
    quick: Quick = False,
    json: Json = False,
) -> None:
    """Why packets move together sooner than the chain: h and utilization from the chain to the
    packet simulator, one assumption changed a row. It takes a few minutes.

    Example: marqueue theory chain between --quick
    """
    from marqueue.design import chain_assumptions as steps

    form = steps.QUICK if quick else steps.FULL
    with progress_bar("Between") as progress:
        rows = list(steps.rows(ct, a, form, progress))
    if json:
        print_json({"ct_packets": ct, "a": a, "rows": [row.as_dict() for row in rows]})
    else:
        show.print_rows(rows)


def _write(folder: Path, name: str, found: Sequence[Cell | Point]) -> None:
    """The data, and all figures whose data are there."""
    # Matplotlib takes longer to load than other commands take to run.
    from marqueue.design.chain_packets import Point
    from marqueue.plots import svg
    from marqueue.plots.marking_chain import all_of_them
    from marqueue.theory.marking_chain.phases import Cell

    plain = "[\n" + ",\n".join(dumps(each.as_dict()) for each in found) + "\n]\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(plain, encoding="utf-8")
        kept = {
            path.stem: loads(path.read_text(encoding="utf-8"))
            for path in (folder / "phases.json", folder / "packets.json")
            if path.exists()
        }
        cells = [Cell(**each) for each in kept.get("phases", [])]
        points = [Point.of(each) for each in kept.get("packets", [])]
        for title, drawn in all_of_them(cells, points).items():
            (folder / f"{title}.svg").write_text(svg(drawn), encoding="utf-8")
    except OSError as error:
        raise RunError(f"{folder}: cannot be written: {error.strerror}") from None


def _mean_window(model: Model) -> MeanWindow | None:
    """Of the paper's chain only."""
    try:
        return mean_window(model)
    except ModelError:
        return None


def _mean_field(model: Model) -> MeanField | None:
    try:
        return mean_field(model)
    except ModelError as error:
        say(f"Mean field: {error}")
        return None
