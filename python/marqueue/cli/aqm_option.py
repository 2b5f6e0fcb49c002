"""The option ``--aqm NAME:PARAMETER=VALUE,...`` of commands on real links."""

import tomllib
from typing import Any

from marqueue.errors import RunError, show
from marqueue.programs.registry import is_program


def aqm_table(text: str) -> dict[str, Any]:
    """The table of an AQM from NAME:PARAMETER=VALUE,... Raises RunError if a value is missing."""
    if is_program(text):
        expected = "expected an AQM of the engine: a class in Python runs in simulations only"
        raise RunError(f"--aqm: got {show(text)}, {expected}")
    name, _, rest = text.partition(":")
    table: dict[str, Any] = {"name": name}
    for each in filter(None, rest.split(",")):
        key, equals, value = each.partition("=")
        if not equals:
            raise RunError(f"--aqm: got {show(each)}, expected NAME=VALUE behind the colon")
        try:
            table[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            table[key.strip()] = value.strip()
    return table
