"""Validation errors of pydantic as problems: path, value and what was expected."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from marqueue.errors import Problem, dotted_path, show, unknown, unknown_key
from marqueue.scenario.fields import Table
from marqueue.scenario.key_descriptions import key_descriptions
from marqueue.units import Quantity

EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "a text",
    "string_too_short": "a text that is not empty",
    "string_pattern_mismatch": "a text like {pattern}",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "too_short": "at least one",
}
"""What was expected, by pydantic's type of error."""


def problems(error: ValidationError, root: type[Table], data: object) -> list[Problem]:
    """The problems that pydantic found in ``data`` when validating it as ``root``."""
    return [_problem(each, root, data) for each in error.errors(include_url=False)]


def _problem(error: ErrorDetails, root: type[Table], data: object) -> Problem:
    path, table = _locate(error["loc"], root, data)
    message = _message(error, table, path[-1] if path else "")
    where = [*path, "kind"] if error["type"].startswith("union_tag") else path
    return Problem(dotted_path(where), message)


def _message(error: ErrorDetails, table: type[Table] | None, key: int | str) -> str:
    context = error.get("ctx", {})
    match error["type"]:
        case "mistake":
            return error["msg"]
        case "extra_forbidden":
            return unknown_key(str(key), _keys(table) if table else ())
        case "missing":
            return f"missing, expected {_describe(table, str(key))}"
        case "literal_error":
            return unknown(error["input"], _literals(_field(table, str(key))))
        case "union_tag_invalid":
            tags = str(context["expected_tags"]).replace("'", "").split(", ")
            return unknown(context["tag"], tags)
        case "union_tag_not_found":
            return "missing, expected the kind"
        case kind if kind in EXPECTED:
            return f"got {show(error['input'])}, expected {EXPECTED[kind].format(**context)}"
    return f"got {show(error['input'])}: {error['msg']}"


def _locate(
    location: tuple[int | str, ...], root: type[Table], data: object
) -> tuple[list[int | str], type[Table] | None]:
    """The path without pydantic's union tags, and the type of the table that has the last key."""
    path: list[int | str] = []
    here: object = data
    owner: type[Table] | None = None
    tables: list[type[Table]] = [root]
    for step in location:
        if len(tables) > 1 and isinstance(here, Mapping) and here.get("kind") == step:
            tables = [table for table in tables if step in _literals(table.model_fields["kind"])]
            continue
        path.append(step)
        if isinstance(step, str) and tables:
            owner = tables[0]
            field = _field(owner, step)
            tables = list(_tables(field.annotation)) if field else []
        here = _enter(here, step)
    return path, owner


def _enter(value: object, step: int | str) -> object:
    match value, step:
        case Mapping(), str():
            return value.get(step)
        case list() | tuple(), int():
            return value[step]
    return None


def _keys(table: type[Table]) -> list[str]:
    """The keys of a table as a scenario writes them."""
    return [field.alias or name for name, field in table.model_fields.items()]


def _field(table: type[Table] | None, key: str) -> FieldInfo | None:
    """The field of a key; None if there is none."""
    if table is None:
        return None
    return next(
        (field for name, field in table.model_fields.items() if key == (field.alias or name)), None
    )


def _parts(annotation: Any) -> Iterator[Any]:
    """An annotation and all its parts."""
    yield annotation
    for part in get_args(annotation):
        yield from _parts(part)


def _tables(annotation: Any) -> Iterator[type[Table]]:
    return (
        part for part in _parts(annotation) if isinstance(part, type) and issubclass(part, Table)
    )


def _literals(field: FieldInfo | None) -> list[str]:
    """The literal texts that a field allows."""
    return [part for part in _parts(field.annotation) if isinstance(part, str)] if field else []


def _describe(table: type[Table] | None, key: str) -> str:
    """What was expected for a missing key."""
    field = _field(table, key)
    if table is None or field is None:
        return "a value"
    quantities = [
        part
        for part in _parts(field.annotation)
        if isinstance(part, type) and issubclass(part, Quantity)
    ]
    if quantities:
        return " or ".join(quantity.dimension.expected for quantity in quantities)
    if any(_tables(field.annotation)):
        return "one or more tables" if get_origin(field.annotation) is list else "a table"
    described = {
        table.model_fields[name].alias or name: text
        for name, text in key_descriptions(table).items()
    }
    return described.get(key, "a value").rstrip(".").lower()
