"""A refused value of an option or argument, in the form of all refusals: where it is, what it is,
and what was expected."""

from __future__ import annotations

from typing import Any

import typer

from marqueue.errors import RunError, show


def refused(error: typer.BadParameter) -> RunError | None:
    """The error to raise in place of one of the parser of the command line, with the option, its
    value and what was expected; None if it has no value."""
    given = getattr(error.__cause__, "errors", None)
    if given is None or error.param is None:
        return None
    first = given()[0]
    where = max(error.param.opts, key=len)
    return RunError(f"{where}: got {_shown(first['input'])}, expected {_expected(first)}")


def _shown(value: Any) -> str:
    """A value as it was written: numbers without quotes."""
    try:
        float(value)
    except (TypeError, ValueError):
        return show(value)
    return str(value)


def _expected(error: Any) -> str:
    limits = error.get("ctx", {})
    match error["type"]:
        case "int_parsing" | "int_from_float":
            return "a whole number"
        case "float_parsing":
            return "a number"
        case "greater_than_equal":
            return f"at least {limits['ge']}"
        case "less_than_equal":
            return f"at most {limits['le']}"
        case "literal_error" | "enum":
            return str(limits["expected"])
    message = str(error["msg"])
    return message[:1].lower() + message[1:]
