"""Shared options of the commands of ``marqueue design``.

A command is a function that takes its own options, and a :class:`Link` if it needs one, and returns
a design. :func:`command` adds the common options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from marqueue.cli.console import progress_bar
from marqueue.cli.design.output import print_design, print_plain
from marqueue.cli.design.rule_output import print_rule_design, print_rule_design_plain
from marqueue.cli.options import PlainJson
from marqueue.design import Design, RuleDesign, both_sides, by_packets, check, stability_map
from marqueue.design.python_aqm import PythonAqm
from marqueue.errors import ModelError, RunError
from marqueue.units import Duration, Rate, Size

Capacity = Annotated[
    str, typer.Option("--capacity", metavar="RATE", help="Rate of the link.", show_default=False)
]
Packet = Annotated[
    str, typer.Option("--packet", metavar="SIZE", help="Size of a packet on the wire.")
]
Flows = Annotated[
    float | None,
    typer.Option("--flows", metavar="N", help="The least number of flows.", show_default=False),
]
Rtt = Annotated[
    str | None,
    typer.Option("--rtt", metavar="TIME", help="The largest round-trip time.", show_default=False),
]
Check = Annotated[
    bool,
    typer.Option(
        "--check", help="Also solve the nonlinear model on both sides of the boundary (seconds)."
    ),
]
Packets = Annotated[
    bool,
    typer.Option(
        "--packets",
        help="Also simulate packets with the design, and beyond the boundary (a minute).",
    ),
]
OwnProgram = Annotated[
    str | None,
    typer.Option(
        "--program",
        metavar="python:FILE.py:CLASS",
        help="With --packets: an AQM in Python in place of the designed one, with its parameters "
        "of the same names. The file, of this folder, is run.",
        show_default=False,
    ),
]
Map = Annotated[
    Path | None,
    typer.Option(
        "--map",
        metavar="FILE.svg",
        help="Draw a stability map, with its data in FILE.csv.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Link:
    """A link and its flows; None stands for values that were not given."""

    capacity: float
    """Rate, packets/s."""
    packet: float
    """Size of a packet, bytes."""
    flows: float | None
    rtt: float | None
    """Round-trip time, s."""

    @property
    def complete(self) -> tuple[float, float, float]:
        """Capacity, flows and round trip. Raises :class:`ModelError` if one was not given."""
        for name, value in (("flows", self.flows), ("rtt", self.rtt)):
            if value is None:
                raise ModelError(f"--{name}: missing, expected a value for this design")
        assert self.flows is not None
        assert self.rtt is not None
        return self.capacity, self.flows, self.rtt


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> Any:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


LINK = (
    _parameter("capacity", Capacity),
    _parameter("packet", Packet, "1000 B"),
    _parameter("flows", Flows, None),
    _parameter("rtt", Rtt, None),
)
ANSWER = (
    _parameter("packets", Packets, False),
    _parameter("program", OwnProgram, None),
    _parameter("check_", Check, False),
    _parameter("map_", Map, None),
    _parameter("json", PlainJson, False),
)


AnyDesign = Design | RuleDesign


def command(app: typer.Typer, name: str) -> Callable[[Callable[..., AnyDesign]], None]:
    """Makes a command of a function that returns a design."""

    def register(design: Callable[..., AnyDesign]) -> None:
        hints = get_type_hints(design, include_extras=True)
        own = list(inspect.signature(design).parameters.values())
        parameters = list(ANSWER)
        for each in reversed(own):
            if each.name == "link":
                parameters = [*LINK, *parameters]
            else:
                parameters.insert(0, _parameter(each.name, hints[each.name], each.default))

        def run(**given: Any) -> None:
            answer = Answer(**{each.name: given.pop(each.name) for each in ANSWER})
            if any(each.name == "link" for each in own):
                given = {"link": link(*(given.pop(each.name) for each in LINK)), **given}
            found = design(**given)
            if isinstance(found, Design):
                show(found, answer)
            else:
                show_rules(found, answer)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        run.__doc__ = design.__doc__
        app.command(name, no_args_is_help=True)(run)

    return register


def link(capacity: str, packet: str, flows: float | None, rtt: str | None) -> Link:
    """The link from its options. Raises :class:`ModelError` with the option."""
    bits = 8 * quantity("--packet", Size, packet)
    if bits <= 0:
        raise ModelError(f"--packet: got {packet!r}, expected a size above 0")
    each = None if rtt is None else time("--rtt", rtt)
    return Link(quantity("--capacity", Rate, capacity) / bits, bits / 8, flows, each)


def quantity(option: str, kind: type[Rate] | type[Size], text: str) -> float:
    """A rate in bit/s or a size in bytes. Raises :class:`ModelError` with the option."""
    try:
        return float(kind.parse(text).base)
    except ValueError as error:
        raise ModelError(f"{option}: {error}") from None


def time(option: str, text: str) -> float:
    """A time in s. Raises :class:`ModelError` with the option."""
    try:
        return Duration.parse(text).seconds
    except ValueError as error:
        raise ModelError(f"{option}: {error}") from None


@dataclass(frozen=True)
class Answer:
    """The options :data:`ANSWER`: what to print and to draw besides the design."""

    packets: bool
    program: str | None
    check_: bool
    map_: Path | None
    json: bool

    def read_program(self) -> PythonAqm | None:
        """Runs the file of the class in Python, if one was given. Raises :class:`ModelError`."""
        if self.program is None:
            return None
        if not self.packets:
            raise ModelError("--program: expected --packets beside it")
        return PythonAqm.read(self.program)


def show(design: Design, answer: Answer) -> None:
    """Prints a design, with the requested checks and map."""
    python_aqm = answer.read_program()
    if answer.map_ is not None and answer.map_.suffix != ".svg":
        raise RunError(f"--map: got {str(answer.map_)!r}, expected a name that ends in .svg")
    trials = None
    if answer.check_:
        with progress_bar("Simulating") as progress:
            trials = check(design, progress)
    simulated = None
    if answer.packets:
        with progress_bar("Packets") as progress:
            simulated = by_packets(design, progress, python_aqm)
    if answer.map_ is not None:
        with progress_bar("Mapping") as progress:
            found = stability_map(design, progress)
        # Matplotlib takes longer to load than other commands take to run.
        from marqueue.plots.stability_map import save

        save(
            found,
            f"{design.controller}: {design.of} = {design.chosen:.4g} {design.unit}",
            answer.map_,
        )
    if answer.json:
        print_plain(design, trials, simulated, answer.program)
    else:
        print_design(design, trials, simulated, answer.program, answer.map_)


def show_rules(design: RuleDesign, answer: Answer) -> None:
    """Prints a design by rules, with the requested check by packets.

    Raises :class:`ModelError` if a check of the linear model was requested.
    """
    for option, given in (("--check", answer.check_), ("--map", answer.map_ is not None)):
        if given:
            raise ModelError(
                f"{option}: {design.controller} has no linear model: expected --packets"
            )
    python_aqm = answer.read_program()
    sides = None
    if answer.packets:
        with progress_bar("Packets") as progress:
            sides = both_sides(design, progress, python_aqm)
    (print_rule_design_plain if answer.json else print_rule_design)(design, sides, answer.program)
