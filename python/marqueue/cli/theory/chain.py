"""``marqueue theory chain``: the Markov chain of TCP windows under marking of scale N^a."""

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
from marqueue.errors import ModelError
from marqueue.results.output_file import write_output_files
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
        int, typer.Option("--length", metavar="N", help="Measured time, in units of T.")
    ] = LENGTH,
    warm_up: Annotated[
        int, typer.Option("--warm-up", metavar="N", help="Warm-up, in units of T.")
    ] = WARM_UP,
    replications: Annotated[
        int, typer.Option("--replications", "-r", metavar="N", help="Number of replications.")
    ] = REPLICATIONS,
    seed: options.Seed = 1,
    json: Json = False,
) -> None:
    """Simulate the doubly stochastic chain of Eun and Wang (2008): windows of N flows under marking
    with thresholds that grow as N^a, and buffers far below a bandwidth-delay product. The chain is
    exact in distribution, and as fast for 10^9 flows as for 10^3. It also shows whether the mean
    field is stable or oscillates.

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


Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="The output directory.", show_default=False)
]
Quick = Annotated[
    bool, typer.Option("--quick", help="Fewer flows and one replication: about a minute.")
]


@chain.command()
def phases(folder: Folder) -> None:
    """Compute the phase diagram of synchronization over N, CT and a, and for other round-trip
    times: phases.json, and the figures of the documentation. Takes about a minute.

    Example: marqueue theory chain phases docs/theory/chain
    """
    from marqueue.theory.marking_chain import phases as diagram

    with progress_bar("Phases") as progress:
        _write(folder, "phases", list(diagram.phases(progress)))


@chain.command()
def packets(folder: Folder, quick: Quick = False) -> None:
    """Simulate packets at points of the phase diagram: packets.json, and the figures of the
    documentation. Takes about five minutes.

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
    """Explain why packets synchronize sooner than the chain: h and utilization from the chain to
    the packet simulator, with one assumption changed per row. Takes a few minutes.

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
    """Writes the data, and all figures that have data."""
    # Matplotlib takes longer to load than other commands take to run.
    from marqueue.design.chain_packets import Point
    from marqueue.plots import svg
    from marqueue.plots.marking_chain import chain_figures
    from marqueue.theory.marking_chain.phases import Cell

    data = "[\n" + ",\n".join(dumps(each.as_dict()) for each in found) + "\n]\n"
    write_output_files(folder, {f"{name}.json": data})
    stored = {
        path.stem: loads(path.read_text(encoding="utf-8"))
        for path in (folder / "phases.json", folder / "packets.json")
        if path.exists()
    }
    cells = [Cell(**each) for each in stored.get("phases", [])]
    points = [Point.of(each) for each in stored.get("packets", [])]
    figures = chain_figures(cells, points)
    write_output_files(folder, {f"{title}.svg": svg(each) for title, each in figures.items()})


def _mean_window(model: Model) -> MeanWindow | None:
    """The map of the mean window; None for other chains than the paper's."""
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
