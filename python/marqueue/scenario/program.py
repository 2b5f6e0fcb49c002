"""AQMs that are classes in Python: ``aqm = "python:mine.py:Mine"``.

Where a scenario is read from a file, the file of the class beside it is run, and the digest of its
source becomes the key ``sha256`` of the table. A scenario from elsewhere runs nothing: a program
without digest is refused, and one that this process has not read cannot run.
"""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from marqueue.errors import Problem, ScenarioError, show
from marqueue.extras import require
from marqueue.programs.interface import Parameter, Program
from marqueue.programs.registry import (
    PREFIX,
    ProgramError,
    find,
    is_program,
    latest,
    parts,
    read_program,
)
from marqueue.scenario.parameters import (
    BESIDE_AQM,
    WRITTEN_OUT,
    Declaration,
    Refused,
    Value,
    read_all,
    write_all,
)

DIGEST = "sha256"
"""The key of a table that says which source a program had."""


def with_programs(data: dict[str, Any], folder: Path, origin: str) -> dict[str, Any]:
    """The scenario with the digest of every program that it names, after its file was run.

    ``folder`` is that of the scenario file. Raises ScenarioError.
    """
    if not _names_any(data):
        return data
    problems: list[Problem] = []
    out = _read_in(data, folder, "", problems)
    if problems:
        raise ScenarioError(problems, origin)
    assert isinstance(out, dict)
    return out


def _names_any(data: dict[str, Any]) -> bool:
    """Whether a program is named anywhere. To look is much faster than to read all into copies, and
    most scenarios name none."""
    left: list[object] = [data]
    while left:
        match left.pop():
            case dict() as table:
                left.extend(table.values())
            case list() as entries:
                left.extend(entries)
            case value if is_program(value):
                return True
    return False


def _read_in(value: object, folder: Path, path: str, problems: list[Problem]) -> object:
    match value:
        case str() if is_program(value) and path.endswith(_KEYS):
            return _with_digest({"name": value}, value, folder, path, problems)
        case {"name": str(name)} if is_program(name) and path.endswith(_KEYS):
            assert isinstance(value, dict)
            return _with_digest(value, name, folder, path, problems)
        case dict():
            return {
                key: _read_in(each, folder, f"{path}.{key}" if path else key, problems)
                for key, each in value.items()
            }
        case list():
            return [_read_in(each, folder, f"{path}.{i}", problems) for i, each in enumerate(value)]
    return value


_KEYS = (".aqm", ".control")
"""The ends of the paths at which programs may be."""


def _with_digest(
    table: Mapping[Any, Any], name: str, folder: Path, path: str, problems: list[Problem]
) -> dict[str, Any]:
    try:
        digest = read_program(name, folder)
    except ProgramError as error:
        problems.append(Problem(path, str(error)))
        return dict(table)
    if table.get(DIGEST, digest) != digest:
        file, _ = parts(name)
        message = f"got {show(table[DIGEST])}, but {file} has {digest}: it was changed"
        problems.append(Problem(f"{path}.{DIGEST}", message))
    return {**table, DIGEST: digest}


def declarations(program: Program) -> tuple[Declaration, ...]:
    """The parameters of a program, as the engine declares its own. Raises Refused."""
    return tuple(_declaration(name, each) for name, each in program.parameters.items())


def _declaration(name: str, given: Parameter) -> Declaration:
    default = given.default
    kind, unit = "number", "1"
    if isinstance(default, bool):
        kind = "flag"
    elif given.choices:
        kind = "choice"
    elif isinstance(default, str):
        found = next((unit for unit in WRITTEN_OUT if _base(default, unit) is not None), None)
        if found is None:
            message = f"got the default {show(default)}, expected a quantity with a unit or choices"
            raise Refused([((name,), message)])
        unit = found
    is_number = kind == "number"
    least, most = (_bound(name, each, unit) for each in (given.at_least, given.at_most))
    declared = Declaration(
        name=name,
        doc=given.doc,
        kind=kind,  # type: ignore[arg-type]
        unit=unit if is_number else None,
        min=(-1e300 if unit == "1" else 0.0) if is_number and least is None else least,
        max=1e300 if is_number and most is None else most,
        choices=list(given.choices) or None,
        default=None,
        auto="",
        source=given.source,
    )
    return Declaration(**{**vars(declared), "default": declared.read(default)})


def _bound(name: str, given: object, unit: str) -> float | None:
    """A bound of a number in the base unit of the default."""
    if given is None:
        return None
    bound = _base(given, unit)
    if bound is None:
        expected = "a number" if unit == "1" else f"a quantity in {unit}"
        raise Refused([((name,), f"got the bound {show(given)}, expected {expected}")])
    return bound


def _base(given: object, unit: str) -> float | None:
    if isinstance(given, int | float):
        return float(given)
    if unit not in WRITTEN_OUT:
        return None
    dimension, scale = WRITTEN_OUT[unit]
    try:
        return float(dimension.read(given) / Decimal(scale))
    except ValueError:
        return None


def known_declarations(name: str, sha256: str) -> tuple[Declaration, ...]:
    """The parameters of a program; none if this process has not read it."""
    program = find(name, sha256)
    return () if program is None else declarations(program)


def read_program_table(
    value: str | Mapping[str, object], kind: str
) -> tuple[str, dict[str, Value]]:
    """Name and keys as a scenario has them, from a name alone or a table. ``kind`` is what the
    class must be. Raises Refused."""
    table: dict[str, Any] = {"name": value} if isinstance(value, str) else dict(value)
    where = () if isinstance(value, str) else ("name",)
    name = str(table.pop("name"))
    try:
        digest = table.pop(DIGEST, None) or latest(name)
    except ProgramError as error:
        raise Refused([(where, str(error))]) from None
    if not isinstance(digest, str):
        message = (
            f"got {show(name)}, whose file was not read: programs run only where a scenario is "
            "read from a file that names them"
        )
        raise Refused([(where, message)])
    try:
        program = find(name, digest)
    except ProgramError as error:
        raise Refused([(where, str(error))]) from None
    if program is None:
        return name, {**table, DIGEST: digest}
    if program.jit:
        require("numba", f"{name} has jit=True, which")
    if program.kind != kind:
        expected = f"expected a class that is {kind}, this one is {program.kind}"
        raise Refused([(where, f"got {show(name)}, {expected}")])
    declared = declarations(program)
    read = read_all(declared, table, name.removeprefix(PREFIX), BESIDE_AQM)
    return name, {**write_all(declared, read), DIGEST: digest}


def plan_parameters(name: str, params: Mapping[str, Any]) -> dict[str, Value]:
    """The parameters for the engine, in its units and with defaults; of a program that this process
    has not read only the digest."""
    program = find(name, str(params[DIGEST]))
    if program is None:
        return {DIGEST: params[DIGEST]}
    declared = declarations(program)
    given = {key: each for key, each in params.items() if key != DIGEST}
    defaults = {spec.name: spec.default for spec in declared if spec.default is not None}
    return {**defaults, **read_all(declared, given), DIGEST: params[DIGEST]}
