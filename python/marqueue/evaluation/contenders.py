"""What a user asks for, as text: AQMs with parameters, controls, suites."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from marqueue.errors import MarqueueError, ScenarioError, show, unknown
from marqueue.evaluation.case import Case, Contender, Effort
from marqueue.programs.registry import ProgramError, is_program, name_and_rest, read_program
from marqueue.scenario import Aqm
from marqueue.scenario.loading import read_value
from marqueue.scenario.parameters import Refused, aqms, tcp_declarations
from marqueue.scenario.program import DIGEST

T = TypeVar("T")


def split_names(texts: Iterable[str]) -> list[str]:
    """The AQMs in texts such as ``droptail,codel:target=10 ms,interval=50 ms``: a part with ``=``
    and without ``:`` belongs to the one before it."""
    found: list[str] = []
    for text in texts:
        for i, part in enumerate(text.split(",")):
            if i and "=" in part and ":" not in part:
                found[-1] += f",{part}"
            else:
                found.append(part.strip())
    return found


def aqm_contender(option: str, text: str) -> Contender[Aqm]:
    """An AQM from ``NAME[:parameter=value,...]``; NAME may be that of a class in a file of the
    current folder, ``python:FILE.py:CLASS``, which is run. Raises MarqueueError with the option,
    the value and what was expected."""
    name, colon, rest = name_and_rest(text)
    table: dict[str, object] = {"name": name.strip()}
    if is_program(name):
        try:
            table[DIGEST] = read_program(name, Path())
        except ProgramError as error:
            raise MarqueueError(f"{option}: {error}") from None
    for part in rest.split(",") if colon else ():
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise MarqueueError(
                f"{option}: got {show(part)} in {show(text)}, expected parameter=value"
            )
        table[key.strip()] = read_value(value.strip())
    try:
        aqm = Aqm.read(table)
    except Refused as refused:
        where = f"{option} {name}" if name in aqms() else option
        raise MarqueueError(
            "\n".join(
                f"{where}: " + ": ".join(filter(None, (".".join(map(str, path)), message)))
                if path != ("name",)
                else f"{option}: {message}"
                for path, message in refused.problems
            )
        ) from None
    if aqm.name in aqms() and aqms()[aqm.name].prices:
        raise MarqueueError(
            f"{option}: {aqm.name} signals by prices that TCP does not read, expected an AQM that "
            "drops or marks"
        )
    return Contender(text, aqm, aqm.table())


def controls() -> list[str]:
    """The congestion controls of TCP that can be evaluated."""
    [control] = [each for each in tcp_declarations() if each.name == "control"]
    return list(control.choices or ())


def control_contender(option: str, name: str) -> Contender[str]:
    """A congestion control by name. Raises MarqueueError."""
    checked_names(option, [name], controls())
    return Contender(name, name, {"control": name})


def checked_names(option: str, names: Sequence[str], known: Iterable[str]) -> Sequence[str]:
    """The names, if all are known. Raises MarqueueError."""
    for name in names:
        if name not in known:
            raise MarqueueError(f"{option}: {unknown(name, known)}")
    return names


def build_once(option: str, case: Case[T], contender: Contender[T], effort: Effort) -> None:
    """Builds the scenarios of a case, so that parameters that contradict each other are refused
    before anything runs. Raises MarqueueError."""
    try:
        case.runs(contender.of, effort)
    except ScenarioError as error:
        lines = [str(problem).rpartition("aqm.")[2] for problem in error.problems]
        raise MarqueueError(
            "\n".join(f"{option} {contender.label}: {line}" for line in lines)
        ) from None
