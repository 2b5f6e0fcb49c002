"""Options of the commands of ``marqueue theory chain``."""

from __future__ import annotations

from typing import Annotated

import typer

from marqueue.errors import ModelError, show
from marqueue.theory.marking_chain import RttClass
from marqueue.theory.marking_chain.model import SCHEMES

Flows = Annotated[
    list[str] | None,
    typer.Option(
        "--flows", "-n", metavar="N", help="Number of flows (repeatable).", show_default="1000"
    ),
]
Exponent = Annotated[
    float, typer.Option("--a", metavar="A", help="Exponent of the thresholds, N^A.")
]
Ct = Annotated[
    float,
    typer.Option("--ct", metavar="PACKETS", help="Capacity of the link per flow in the time T."),
]
Marking = Annotated[
    str,
    typer.Option(
        "--marking",
        metavar="CURVE",
        help="Marking of one flow: red:MIN:MAX:P, exp:AT:P, points:X,P;X,P;... or, from Table I: "
        f"{', '.join(SCHEMES)}.",
    ),
]
BufferExponent = Annotated[
    float | None,
    typer.Option("--b", metavar="B", help="Exponent of the buffer, N^B.", show_default="a + 0.1"),
]
Buffer = Annotated[
    float, typer.Option("--buffer", metavar="PACKETS", help="Buffer of one flow: Q in Q N^B.")
]
Queue = Annotated[
    str, typer.Option("--queue", metavar="mm1|md1", help="Queueing model within a slot.")
]
Greatest = Annotated[
    int | None,
    typer.Option(
        "--greatest-window", metavar="PACKETS", help="The largest window.", show_default="4 CT"
    ),
]
Classes = Annotated[
    str,
    typer.Option(
        "--rtt-classes",
        metavar="RTT:SHARE,...",
        help="Round-trip times in units of T, each with its share of flows; 1: all equal.",
    ),
]
Slots = Annotated[
    int | None,
    typer.Option(
        "--slots",
        metavar="N",
        help="Steps in T; flows are in S groups that update their windows in turn.",
        show_default="the least with whole round trips",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the random numbers.")]


def flows(given: list[str] | None) -> list[int]:
    """Numbers of flows from texts such as ``1000`` and ``1e9``. Raises :class:`ModelError`."""
    return [_whole("--flows", text) for text in given or ["1000"]]


def classes(text: str) -> tuple[RttClass, ...]:
    """Classes of round-trip times from RTT:SHARE,... Raises :class:`ModelError`."""
    found = []
    for part in text.split(","):
        rtt, _, share = part.partition(":")
        try:
            found.append(RttClass(float(rtt), float(share or "1")))
        except ValueError:
            raise ModelError(
                f"--rtt-classes: got {show(part)}, expected RTT:SHARE, such as 0.6:1,1:2,1.4:1"
            ) from None
    return tuple(found)


def _whole(option: str, text: str) -> int:
    try:
        number = float(text)
        if number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise ModelError(f"{option}: got {show(text)}, expected a whole number, such as 1000 or 1e6")
