"""The option ``--aqm NAME:PARAMETER=VALUE,...`` of commands on real links."""

import re
import tomllib
from pathlib import Path
from typing import Any

from marqueue.errors import RunError, show
from marqueue.programs.registry import ProgramError, is_program, name_and_rest, read_program
from marqueue.scenario.program import DIGEST

OUTSIDE_BRACES = re.compile(r",(?![^{]*\})")
"""A comma between two parameters, and none within the value of one, which may be a table."""


def aqm_table(text: str) -> dict[str, Any]:
    """The table of an AQM from NAME:PARAMETER=VALUE,... NAME may be that of a class in a file of
    the current folder, ``python:FILE.py:CLASS``, which is run.

    Raises RunError if a value is missing or there is no such class.
    """
    name, _, rest = name_and_rest(text)
    table: dict[str, Any] = {"name": name}
    if is_program(name):
        try:
            table[DIGEST] = read_program(name, Path())
        except ProgramError as error:
            raise RunError(f"--aqm: {error}") from None
    for each in filter(None, OUTSIDE_BRACES.split(rest)):
        key, equals, value = each.partition("=")
        if not equals:
            raise RunError(f"--aqm: got {show(each)}, expected NAME=VALUE behind the colon")
        try:
            table[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            table[key.strip()] = value.strip()
    return table
