"""What the commands of ``marqueue theory chain`` are given."""

from __future__ import annotations

from typing import Annotated

import typer

from marqueue.errors import ModelError, show
from marqueue.theory.marking_chain import RttClass
from marqueue.theory.marking_chain.model import SCHEMES

Flows = Annotated[
    list[str] | None,
    typer.Option(
        "--flows", "-n", metavar="N", help="How many; again for others.", show_default="1000"
    ),
]
Exponent = Annotated[float, typer.Option("--a", metavar="A", help="Of the thresholds, N^A.")]
Ct = Annotated[
    float,
    typer.Option("--ct", metavar="PACKETS", help="What the link carries a flow in the time T."),
]
Marking = Annotated[
    str,
    typer.Option(
        "--marking",
        metavar="CURVE",
        help="Of one flow: red:MIN:MAX:P, exp:AT:P, points:X,P;X,P;... or of Table I "
        f"{', '.join(SCHEMES)}.",
    ),
]
BufferExponent = Annotated[
    float | None,
    typer.Option("--b", metavar="B", help="Of the buffer, N^B.", show_default="a + 0.1"),
]
Buffer = Annotated[
    float, typer.Option("--buffer", metavar="PACKETS", help="Of one flow: Q in Q N^B.")
]
Queue = Annotated[
    str, typer.Option("--queue", metavar="mm1|md1", help="How packets are served within a slot.")
]
Greatest = Annotated[
    int | None,
    typer.Option(
        "--greatest-window", metavar="PACKETS", help="No window is larger.", show_default="4 CT"
    ),
]
Classes = Annotated[
    str,
    typer.Option(
        "--rtt-classes",
        metavar="RTT:SHARE,...",
        help="Round-trip times over T, each with its share of flows; 1 is all alike.",
    ),
]
Slots = Annotated[
    int | None,
    typer.Option(
        "--slots",
        metavar="S",
        help="Steps in T; in S groups flows change their windows one after the other.",
        show_default="as few as make all round trips whole",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Of the draws.")]


def flows(given: list[str] | None) -> list[int]:
    """Numbers of flows, such as ``1000`` and ``1e9``. Raises :class:`ModelError`."""
    return [_whole("--flows", text) for text in given or ["1000"]]


def classes(text: str) -> tuple[RttClass, ...]:
    """Classes of round-trip times. Raises :class:`ModelError`."""
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
