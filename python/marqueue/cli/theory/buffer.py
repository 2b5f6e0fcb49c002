"""``marqueue theory buffer``: rules for the size of a buffer."""

from typing import Annotated, Any

import typer

from marqueue.cli.console import output, print_json, progress_bar, table
from marqueue.cli.options import Json
from marqueue.design.buffer_check import LIMIT, check
from marqueue.design.buffer_recommendation import Recommendation, Row, recommend
from marqueue.errors import ModelError
from marqueue.theory.buffer_sizing import AQMS, RULES, Demand, Model, Statement, predict
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
    """Compare four rules for the size of a buffer: bounds and approximations by models,
    simulations with --check, and the smallest sufficient buffer. Where no model with a known error
    applies, only the simulation decides.

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
    stated = [predict(demand, size) for size in buffers]
    measured: list[Any] = [None] * len(buffers)
    if with_check:
        with progress_bar("Check") as progress:
            measured = list(check(demand, buffers, limit, progress))
    rows = [Row(*each) for each in zip(RULES, buffers, stated, measured, strict=True)]
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


def _print(demand: Demand, rows: list[Row], best: Recommendation | None) -> None:
    checked = rows[0].checked is not None
    titles = ["rule", "packets", "model", "utilization", "loss"]
    listing = table(*titles, *(["measured utilization", "measured loss"] if checked else []))
    for row in rows:
        found = row.checked
        more = [] if found is None else [str(found.utilization), str(found.loss)]
        first = [row.rule.name, str(row.buffer)]
        shown = [_cells(said) for said in _applying(row)] or [("none applies", "", "")]
        for cells in shown:
            listing.add_row(*first, *cells, *more)
            first, more = ["", ""], [""] * len(more)
    output.print(f"C x RTT = {demand.pipe:.0f} packets, {demand.window:.3g} per flow")
    output.print(listing)
    for model in dict.fromkeys(said.model for row in rows for said in _applying(row)):
        _line(f"{model.name}: {model.kind} for {model.range} ({model.source}). Assumed: "
              f"{model.assumption}. {_error(model)}")  # fmt: skip
    omitted: dict[str, list[str]] = {}
    for row in rows:
        for said in row.statements:
            if said.value is None:
                omitted.setdefault(f"{said.model.name}: {said.why}", []).append(row.rule.name)
    for why, rules in omitted.items():
        _line(f"Omitted for {', '.join(rules)}: {why}.")
    by = "measured" if checked else "models"
    if best is None:
        _line(f"No rule is known to be sufficient ({by}): lower the requirements, or add --check.")
        return
    _line(
        f"Recommended: {best.row.rule.name}, {best.row.buffer} packets ({by}): utilization at "
        f"least {best.utilization_margin:.4g} above, loss at least {best.loss_margin:.4g} below "
        "the requirement"
    )


def _applying(row: Row) -> list[Statement]:
    return [said for said in row.statements if said.value is not None]


def _cells(said: Statement) -> tuple[str, str, str]:
    """Model, utilization, loss."""
    of_loss = said.model.quantity == "loss"
    return said.model.name, "" if of_loss else str(said), str(said) if of_loss else ""


def _error(model: Model) -> str:
    if model.error is None:
        return "Its error is not known, so it recommends nothing."
    low, high = model.error
    if model.quantity == "loss":
        return f"Packets lost {low:.3g} to {high:.3g} times as much."
    return f"Packets differed by {low:+.3g} to {high:+.3g}."


def _line(text: str) -> None:
    output.print(text, highlight=False, markup=False, soft_wrap=True)


def _plain(demand: Demand, rows: list[Row], best: Recommendation | None) -> dict[str, Any]:
    return {
        "demand": vars(demand),
        "pipe_packets": demand.pipe,
        "rules": [
            {
                "rule": row.rule.name,
                "source": row.rule.source,
                "buffer_packets": row.buffer,
                "statements": [
                    {**vars(said.model), "value": said.value, "omitted": said.why or None}
                    for said in row.statements
                ],
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
            "by": "models" if best.row.checked is None else "simulation",
        },
    }
