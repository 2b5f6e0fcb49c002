"""A compiled scenario with what an editor shows of it: links, groups, a drawing, mistakes.

The lab in the browser calls these functions (``web/src/engine/compiler.worker.ts``), which all
return what JSON can hold.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from pprint import pformat
from typing import Any

import tomli_w

import marqueue._core as _core
from marqueue.errors import ScenarioError
from marqueue.scenario.compilation import Plan
from marqueue.scenario.compiler import compile
from marqueue.scenario.loading import from_dict, from_toml
from marqueue.scenario.model import Scenario
from marqueue.scenario.parameters import aqms
from marqueue.scenario.positions import position_in, position_of
from marqueue.scenario.syntax import read_toml
from marqueue.scenario.warnings import scenario_warnings
from marqueue.units import Duration

EXAMPLES = Path(__file__).parents[1] / "examples"

NS = 1e9
"""Nanoseconds in a second."""


def outline(text: str) -> dict[str, Any]:
    """The outline of a scenario in TOML, or its problems (``Compilation`` in
    ``web/src/engine/protocol.ts``). Its times are in seconds and its rates in bit/s."""
    try:
        scenario = from_toml(text)
    except ScenarioError as error:
        return {"ok": False, "problems": list(_problems(error, text))}
    plan = compile(scenario)
    written = json.dumps(plan)
    warmup = scenario.warmup
    return {
        "ok": True,
        "compiled": {
            "plan": written,
            "warnings": scenario_warnings(scenario),
            "links": [_link(i, link) for i, link in enumerate(plan["links"])],
            "groups": list(_groups(plan)),
            "duration": scenario.duration.seconds,
            "warmup": warmup.seconds if isinstance(warmup, Duration) else 0.0,
            "seed": str(scenario.seed),
            "topology": _drawing(plan),
            "normalized": scenario.to_dict(),
            "estimatedBytes": _core.estimated_bytes(written),
        },
    }


def toml(data: dict[str, Any]) -> str:
    """A scenario as the text of a file, without values that are the defaults. Raises
    ScenarioError."""
    return tomli_w.dumps(_brief(from_dict(data)))


def program(data: dict[str, Any]) -> str:
    """A Python program that runs a scenario. Raises ScenarioError."""
    scenario = pformat(_brief(from_dict(data)), width=88, sort_dicts=False)
    return (
        "from marqueue import from_dict, run\n\n"
        f"scenario = from_dict(\n{_indented(scenario)}\n)\n"
        "print(run(scenario).summary())\n"
    )


def examples() -> list[dict[str, str]]:
    """The example scenarios of the package: name, title, text; without QUIC flows, whose library
    is not in a browser."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.toml")}
    tables = {name: read_toml(text) for name, text in sorted(texts.items())}
    return [
        {"name": name, "title": str(table["name"]), "toml": texts[name]}
        for name, table in tables.items()
        if not any(each.get("kind") == "quic" for each in table["traffic"])
    ]


def _brief(scenario: Scenario) -> dict[str, Any]:
    """The scenario as in a file, without values that are the defaults."""
    changed = scenario.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude_defaults=True
    )
    brief = _with_kinds(scenario.to_dict(), changed)
    assert isinstance(brief, dict)
    return brief


def _with_kinds(whole: object, changed: object) -> object:
    """What changed, and beside it the kind that a table must have."""
    if isinstance(whole, dict) and isinstance(changed, dict):
        kept = {key: each for key, each in whole.items() if key in changed or key == "kind"}
        return {key: _with_kinds(each, changed.get(key, each)) for key, each in kept.items()}
    if isinstance(whole, list) and isinstance(changed, list):
        return [_with_kinds(a, b) for a, b in zip(whole, changed, strict=True)]
    return changed


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


def _problems(error: ScenarioError, text: str) -> Iterator[dict[str, Any]]:
    try:
        data = read_toml(text)
    except ValueError:
        data = {}
    for each in error.problems:
        found = position_of(each.path, text, data) if each.path else position_in(each.message)
        place = {"line": found[0], "column": found[1]} if found else {}
        yield {"path": each.path, **place, "message": each.message}


def _link(index: int, link: Plan) -> dict[str, Any]:
    queue = link["queue"]
    aqm = queue["policy"]["name"] if queue else None
    probes = aqms()[aqm].probes if aqm in aqms() else ()
    [(unit, buffer)] = queue["limit"].items() if queue else [("packets", None)]
    return {
        "name": link["name"],
        "index": index,
        "aqm": aqm,
        "rate": link["rate"],
        "delay": link["delay"] / NS,
        "buffer": buffer,
        "bufferUnit": unit,
        "probes": [name for name, _ in probes],
        "probeUnits": [unit for _, unit in probes],
    }


def _groups(plan: Plan) -> Iterator[dict[str, Any]]:
    """The groups, with the rows of their flows: those of the start are in order."""
    row = 0
    for index, group in enumerate(plan["traffic"]):
        [(kind, settings)] = group["kind"].items()
        flows = {"poisson": 0, "packets": 1}.get(kind, settings.get("count", 0))
        first = -1 if kind == "poisson" else row
        yield {
            "name": group["name"],
            "index": index,
            "kind": kind,
            "flows": flows,
            "firstFlow": first,
        }
        row += flows


def _drawing(plan: Plan) -> dict[str, Any]:
    """Nodes, and links between them. Links meet in a node if one follows the other on a route; the
    ends of routes are hosts."""
    meets: dict[tuple[int, str], tuple[int, str]] = {}

    def root(end: tuple[int, str]) -> tuple[int, str]:
        while end in meets:
            end = meets[end]
        return end

    def join(a: tuple[int, str], b: tuple[int, str]) -> None:
        if root(a) != root(b):
            meets[root(b)] = root(a)

    hosts = []
    for route in plan["routes"]:
        there, back = route["forward"], route["reverse"]
        for way in (there, back):
            for link, following in pairwise(way):
                join((link, "to"), (following, "from"))
        if there and back:
            join((there[0], "from"), (back[-1], "to"))
            join((there[-1], "to"), (back[0], "from"))
            hosts += [(there[0], "from"), (there[-1], "to")]
    used = sorted({link for route in plan["routes"] for way in route.values() for link in way})
    ends = list(dict.fromkeys(root((link, end)) for link in used for end in ("from", "to")))
    at_host = {root(end) for end in hosts}
    ids = {end: f"n{i}" for i, end in enumerate(ends)}
    return {
        "nodes": [{"id": ids[end], "kind": "host" if end in at_host else "router"} for end in ends],
        "edges": [
            {
                "from": ids[root((link, "from"))],
                "to": ids[root((link, "to"))],
                "link": plan["links"][link]["name"],
                "index": link,
            }
            for link in used
        ],
    }
