"""Results as the lab lists them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from marqueue.errors import ResultError, flat_values
from marqueue.lab.folder import Folder
from marqueue.results.integrity import CIRCUMSTANCES, read_provenance
from marqueue.results.output_directory import POINTS
from marqueue.simulation.parameter_grid import Axis, labels

REPORT = "report.html"
SCENARIO = "scenario.toml"
SUMMARY = "summary.json"

MOST = 5000
"""Results in a list. More would be slow to read, and nobody would look through them."""

MOST_ENTRIES = 100
"""Entries of a list, such as links, whose values are settings; a longer list is a single one."""

LARGEST_SCENARIO = 500_000
"""Bytes of a scenario that the page can show and compile again at each change."""

FIGURES = ("utilization", "loss_ratio", "mark_ratio", "queue_mean", "delay_mean", "delay_p99")
"""The figures of a link that the list shows, in base units."""


def listing(folder: Folder) -> dict[str, Any]:
    """All results of a folder, newest first, ready for JSON. The points of a sweep come behind it,
    in their order. ``omitted`` counts those over :data:`MOST`."""
    found = list(folder.results())
    entries = [entry(folder, path) for path in found[:MOST]]
    return {
        "folder": str(folder.root),
        "results": _ordered(entries),
        "omitted": len(found) - len(entries),
    }


def _ordered(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries as the list shows them; a point of a sweep gets the values that it is ``at``, by
    the labels of their axes."""
    sweeps = {each["path"]: each for each in entries if each.get("over")}
    keyed = []
    for each in entries:
        path = PurePosixPath(each["path"])
        sweep = sweeps.get(path.parent.parent.as_posix()) if path.parent.name == POINTS else None
        number = int(path.name) if sweep is not None and path.name.isdecimal() else 0
        if sweep is not None and number:
            each = each | {"at": _values(sweep["over"], number)}
        first = sweep or each
        keyed.append(((str(first["started_at"]), first["path"]), number, each))
    keyed.sort(key=lambda each: each[1])
    keyed.sort(key=lambda each: each[0], reverse=True)
    return [each for _, _, each in keyed]


def _values(over: Mapping[str, Sequence[str]], number: int) -> dict[str, str]:
    """The values of the axes at a point of a sweep, by their labels: the last axis varies
    fastest."""
    rest, chosen = number - 1, list[str]()
    for values in reversed(list(over.values())):
        rest, place = divmod(rest, len(values))
        chosen.append(values[place])
    axes = [Axis(path, tuple(values)) for path, values in over.items()]
    return dict(zip(labels(axes), reversed(chosen), strict=True))


def entry(folder: Folder, path: Path) -> dict[str, Any]:
    """One result: what it is, its settings, and the figures of its links.

    A damaged result has a ``problem`` in words, and no settings.
    """
    name = folder.name(path)
    described: dict[str, Any] = {
        "path": name,
        "name": path.name,
        "kind": "result",
        "started_at": None,
        "settings": {},
        "links": {},
        "report": (path / REPORT).is_file(),
        "scenario": _is_editable(path / SCENARIO),
        "remark": None,
        "problem": None,
    }
    try:
        provenance = read_provenance(path)
    except (ResultError, OSError, ValueError) as error:
        return described | {"problem": str(error)}
    scenario = provenance.get("scenario") or {}
    return described | {
        "name": scenario.get("name", path.name),
        "kind": provenance.get("kind", "result"),
        "version": provenance.get("version"),
        "started_at": _started_at(path),
        "settings": flat_values(scenario, MOST_ENTRIES),
        "over": provenance.get("over"),
        "at": None,
        "links": _links(path),
        "remark": "partial" if provenance.get("partial") else None,
    }


def _is_editable(scenario: Path) -> bool:
    return scenario.is_file() and scenario.stat().st_size <= LARGEST_SCENARIO


def _started_at(path: Path) -> str | None:
    """The time at which the run began, ISO 8601; None if nothing tells."""
    circumstances = _json(path / CIRCUMSTANCES)
    return circumstances.get("started_at") if circumstances else None


def _links(path: Path) -> dict[str, dict[str, Any]]:
    """The figures of each link, as mean and half width of its interval."""
    summary = _json(path / SUMMARY)
    measured = summary.get("measured") if summary else None
    if not isinstance(measured, Mapping):
        return {}
    return {
        link: {key: figures[key] for key in FIGURES if key in figures}
        for link, figures in measured.get("links", {}).items()
    }


def _json(path: Path) -> dict[str, Any] | None:
    """The table in a JSON file; None if it cannot be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None
