"""``marqueue theory buffer``: rules for the size of a buffer."""

from typing import Annotated, Any

import typer

from marqueue.cli.console import output, print_json, progress_bar, table
from marqueue.cli.options import Json
from marqueue.design.buffer_check import LIMIT, check
from marqueue.design.buffer_recommendation import Recommendation, Row, recommend
from marqueue.errors import ModelError
from marqueue.theory.buffer_sizing import AQMS, RULES, Demand, predict
from marqueue.units import Duration, Rate


def buffer(
    capacity: Annotated[str, typer.Option(metavar="RATE", help="Rate of the link.")],
    flows: Annotated[
        int, typer.Option("--flows", "-n", metavar="N", help="Number of long-lived TCP flows.")
    ],
    rtt: Annotated[str, typer.Option(metavar="TIME", help="Mean two-way propagation delay.")],
    utilization: Annotated[
        float, typer.Option(metavar="SHARE", help="The least utilization.")
    ] = 0.98,
    loss: Annotated[float, typer.Option(metavar="SHARE", help="The largest loss ratio.")] = 0.001,
    aqm: Annotated[str, typer.Option(metavar="|".join(AQMS), help="AQM of the link.")] = "droptail",
    packet: Annotated[
        int, typer.Option(metavar="BYTES", help="Size of a packet on the link.")
    ] = 1500,
    with_check: Annotated[
        bool, typer.Option("--check", help="Also simulate each buffer; takes about a minute.")
    ] = False,
    check_limit: Annotated[
        str, typer.Option(metavar="TIME", help="The largest CPU time of --check.")
    ] = f"{LIMIT:g} s",
    json: Json = False,
) -> None:
    """Compare four rules for the size of a buffer: the predictions of models, simulations with
    --check, and the smallest sufficient buffer. Without a model, only the simulation decides.

    Example: marqueue theory buffer --capacity "100 Mbit/s" --flows 100 --rtt "240 ms"
    --utilization 0.98 --loss 0.001 --aqm red --check
    """
    demand = Demand(
        _base("--capacity", Rate, capacity),
        flows,
        _base("--rtt", Duration, rtt),
        utilization,
        loss,
        aqm,
        packet,
    )
    limit = _base("--check-limit", Duration, check_limit)
    buffers = [rule.buffer(demand) for rule in RULES]
    predicted = [predict(demand, size) for size in buffers]
    measured: list[Any] = [None] * len(buffers)
    if with_check:
        with progress_bar("Check") as progress:
            measured = list(check(demand, buffers, limit, progress))
    rows = [Row(*each) for each in zip(RULES, buffers, predicted, measured, strict=True)]
    best = recommend(demand, rows)
    if json:
        print_json(_plain(demand, rows, best))
        return
    _print(demand, rows, best)


def _base(option: str, kind: type[Rate] | type[Duration], text: str) -> float:
    """Bit/s or seconds."""
    try:
        parsed = kind.parse(text)
    except ValueError as error:
        raise ModelError(f"{option}: {error}") from None
    return parsed.seconds if isinstance(parsed, Duration) else float(parsed.base)


def _number(value: float | None) -> str:
    return "no model" if value is None else f"{value:.4g}"


def _print(demand: Demand, rows: list[Row], best: Recommendation | None) -> None:
    checked = rows[0].checked is not None
    titles = ["rule", "packets", "utilization", "loss", "model"]
    listing = table(*titles, *(["measured utilization", "measured loss"] if checked else []))
    for row in rows:
        said = row.predicted
        cells = [row.rule.name, str(row.buffer), _number(said.utilization), _number(said.loss)]
        found = row.checked
        more = [] if found is None else [str(found.utilization), str(found.loss)]
        listing.add_row(*cells, said.model, *more)
    output.print(f"C x RTT = {demand.pipe:.0f} packets, {demand.window:.3g} per flow")
    output.print(listing)
    for row in rows:
        output.print(f"{row.rule.name}: {row.predicted.doubt}", highlight=False, soft_wrap=True)
    by = "measured" if checked else "predicted"
    if best is None:
        output.print(
            f"No rule is known to be sufficient ({by}): lower the requirements, or add --check."
        )
        return
    output.print(
        f"Recommended: {best.row.rule.name}, {best.row.buffer} packets ({by}): utilization "
        f"{best.utilization_margin:.4g} above, loss {best.loss_margin:.4g} below the requirement",
        highlight=False,
        soft_wrap=True,
    )


def _plain(demand: Demand, rows: list[Row], best: Recommendation | None) -> dict[str, Any]:
    return {
        "demand": vars(demand),
        "pipe_packets": demand.pipe,
        "rules": [
            {
                "rule": row.rule.name,
                "source": row.rule.source,
                "buffer_packets": row.buffer,
                "predicted": vars(row.predicted),
                "measured": None
                if row.checked is None
                else {
                    "utilization": row.checked.utilization.as_dict(),
                    "loss": row.checked.loss.as_dict(),
                },
                "enough": row.meets(demand),
            }
            for row in rows
        ],
        "recommendation": None
        if best is None
        else {
            "rule": best.row.rule.name,
            "buffer_packets": best.row.buffer,
            "utilization_margin": best.utilization_margin,
            "loss_margin": best.loss_margin,
            "by": "prediction" if best.row.checked is None else "simulation",
        },
    }
