"""Delays in CSV files: where a scenario is read from a file, their values replace the name."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from marqueue.errors import Problem, ScenarioError, show, unknown

FILE, COLUMN = "empirical", "column"


def with_columns(data: dict[str, Any], folder: Path, origin: str) -> dict[str, Any]:
    """The scenario with the values of every ``{ empirical = "FILE.csv", column = "NAME" }``.

    ``folder`` is that of the scenario file. The cells of the column are times with units, such as
    "40 ms". Raises ScenarioError if a file cannot be read or has no such column.
    """
    topology = data.get("topology")
    if not isinstance(topology, Mapping):
        return data
    out = dict(topology)
    for key, of in (("classes", "rtt"), ("links", "delay")):
        if isinstance(tables := topology.get(key), list):
            out[key] = [
                {**table, of: _read(table[of], folder, origin, f"topology.{key}.{i}.{of}")}
                if isinstance(table, dict) and of in table
                else table
                for i, table in enumerate(tables)
            ]
    if "rtts" in topology:
        out["rtts"] = _read(topology["rtts"], folder, origin, "topology.rtts")
    return {**data, "topology": out}


def _read(value: Any, folder: Path, origin: str, path: str) -> Any:
    """The value, with the cells of a column if it names one."""
    if not isinstance(value, Mapping) or not isinstance(value.get(FILE), str):
        return value
    rest = {key: each for key, each in value.items() if key not in (FILE, COLUMN)}
    try:
        text = (folder / value[FILE]).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        message = f"{show(value[FILE])} cannot be read: {reason}"
        raise ScenarioError([Problem(f"{path}.{FILE}", message)], origin) from None
    rows = csv.DictReader(text.splitlines())
    names = list(rows.fieldnames or ())
    if value.get(COLUMN) not in names:
        problem = Problem(f"{path}.{COLUMN}", unknown(value.get(COLUMN), names))
        raise ScenarioError([problem], origin)
    return {**rest, FILE: list(_cells(rows, value[COLUMN]))}


def _cells(rows: "csv.DictReader[str]", column: str) -> Iterator[str]:
    return (cell.strip() for row in rows if (cell := row[column]))
