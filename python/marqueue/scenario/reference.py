"""The reference of scenario keys, generated from the JSON Schema: type, unit, default, meaning and
an example of each key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from marqueue import units
from marqueue.errors import MarqueueError, one_of, suggestion
from marqueue.scenario.impairments import PERCENT
from marqueue.scenario.parameters import aqms, media_controls, rate_laws
from marqueue.scenario.qdisc import NAMES
from marqueue.scenario.schema import PROGRAM, schema

Schema = Mapping[str, Any]

DIMENSIONS = {d.pattern: d for d in vars(units).values() if isinstance(d, units.Dimension)}
"""Dimensions of quantities by their pattern in the schema."""

EXAMPLES = {
    "name": '"web"',
    "description": '"Short flows beside long ones"',
    "duration": '"60 s"',
    "warmup": '"20 s"',
    "cuts": '["40 s"]',
    "start": '"10 s"',
    "stop": '"50 s"',
    "at": '"30 s"',
    "rtts": '["40 ms", "80 ms"]',
    "delivery_trace": '"downlink.trace"',
    "file": '"backbone.graphml"',
    "matrix": '{ gravity = "population" }',
    "gravity": '"population"',
    "classes": '["40 ms"]',
    "ladder": '["500 kbit/s", "1 Mbit/s"]',
    "via": '["b"]',
    "from": '"a"',
    "to": '"b"',
    "direction": '"reverse"',
    "gaps": '"exponential"',
    "shape": "1.2",
    "scv": "4",
    "learning": "0.05",
    "probability": "0.01",
    "weights": "{ EF = 2 }",
    "sides": "{ EF = 1 }",
    "room": '{ EF = "50 packets" }',
    "processing": '"2 cycles/bit"',
    "transport": '"default"',
    "stack": '"linux-7.3"',
    "congestion_control": '"bbr"',
    "sysctl": '{ "net.ipv4.tcp_ecn" = 1 }',
    "uniform": '["120 ms", "280 ms"]',
    "exponential": '"150 ms"',
    "lognormal": '"150 ms"',
    "empirical": '["80 ms", "95 ms", "210 ms"]',
    "least": '"40 ms"',
    "sigma": "0.5",
    "column": '"rtt"',
}
"""Example values in TOML, for keys whose type and default do not give a good one."""

DECLARED = {
    "Aqm": ("an AQM: its name, or a table", '{ name = "red", max_p = 0.05 }'),
    "RateLaw": ("a rate law: its name, or a table", '{ name = "aimd", beta = 0.8 }'),
    "MediaControl": (
        "a control of media: its name, or a table",
        '{ name = "scream", beta_ecn = 0.7 }',
    ),
    "Loss": ('a share such as "1%", or a table', '{ model = "random", probability = 0.01 }'),
    "Medium": ("the name of a medium, or a table", '{ model = "wifi", max_mpdus = "64 packets" }'),
    "Jitter": ('a time such as "2 ms", or a table', '{ mean = "2 ms", order = "free" }'),
    "DelayDistribution": ("a distribution", '{ uniform = ["120 ms", "280 ms"] }'),
    "Reorder": ("a table", '{ probability = 0.01, delay = "5 ms" }'),
    "Transport": ("a table", '{ preset = "linux", ecn = true }'),
}
"""Type and example of the tables that the engine declares."""

TITLES = {
    "Queue": "Link with a queue",
    "Cpu": "CPU in front of a link",
    "Aqm": "AQM",
    "RateLaw": "Rate law",
    "MediaControl": "Control of media",
    "Transport": "TCP",
    "DelayDistribution": "Distribution of delays",
}
"""Titles of sections that are not named after their definition."""

ANY = ("NAME", "N")
"""Placeholders in a path for the name or the index of a table in a list."""


@dataclass(frozen=True)
class Key:
    """A key of a table."""

    name: str
    type: str
    unit: str
    """The accepted units; empty if it has none."""
    default: str
    meaning: str
    example: str
    """A line of TOML."""
    choices: tuple[str, ...] = ()
    """Its possible values, if they can be listed."""
    has_keys: bool = False
    """Whether its value can be a table."""

    @property
    def is_table(self) -> bool:
        """Whether its value is always a table or a list of tables."""
        return self.has_keys and self.example.startswith("[")


@dataclass(frozen=True)
class Section:
    """A table of a scenario with its keys."""

    title: str
    about: str
    keys: Sequence[Key]
    model: bool = False
    """Whether it is chosen by name, such as an AQM."""
    places: list[str] = field(default_factory=list)
    """The dotted paths at which it may appear."""

    def stands_at(self, path: Sequence[str]) -> bool:
        """Whether it may appear at this path."""
        return any(_matches(place.split(".") if place else [], path) for place in self.places)


def _matches(place: Sequence[str], path: Sequence[str]) -> bool:
    return len(place) == len(path) and all(
        p == s or p in ANY for p, s in zip(place, path, strict=True)
    )


@cache
def sections() -> tuple[Section, ...]:
    """All tables in the order of the schema, the scenario first; then those chosen by name."""
    document = schema()
    found: dict[str, list[Section]] = {}
    _visit(document, document, "Scenario", "", (), found)
    every = (section for each in found.values() for section in each)
    return tuple(sorted(every, key=lambda section: section.model))


def _visit(
    document: Schema,
    table: Schema,
    name: str,
    place: str,
    above: tuple[str, ...],
    found: dict[str, list[Section]],
) -> None:
    """Adds the sections of a definition at ``place``, and of all definitions below it."""
    if name not in found:
        found[name] = list(_sections(table, name, place))
    for section in found[name]:
        if place not in section.places:
            section.places.append(place)
    for key, value in table.get("properties", {}).items():
        for many, reference in _references(value):
            named = "name" in document["$defs"][reference].get("properties", {})
            step = {"table": "", "list": "NAME" if named else "N", "named": "NAME"}[many]
            below = ".".join(filter(None, [place, key, step]))
            if reference not in (*above, name):
                part = document["$defs"][reference]
                _visit(document, part, reference, below, (*above, name), found)


def _references(value: Schema) -> Iterator[tuple[str, str]]:
    """The definitions that a value may have, each as "table", "list" of tables or "named"
    tables."""
    if "$ref" in value:
        yield "table", value["$ref"].rpartition("/")[2]
    for part in (*value.get("oneOf", ()), *value.get("anyOf", ())):
        yield from _references(part)
    for key, many in (("items", "list"), ("additionalProperties", "named")):
        if isinstance(value.get(key), Mapping):
            yield from ((many, name) for _, name in _references(value[key]))


def _sections(table: Schema, name: str, place: str) -> Iterator[Section]:
    """One section of a table, or one of each model that is chosen by name."""
    title = TITLES.get(name, re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).capitalize())
    if kind := table.get("properties", {}).get("kind"):
        title = f"{place.split('.')[0].capitalize()}: {kind['const']}"
    models = [each for each in table.get("oneOf", ()) if "properties" in each]
    for model in models:
        kind = f": {model['title']}" if "title" in model else ""
        about = model.get("description", table.get("description", ""))
        yield Section(f"{title}{kind}", about, _keys(model, place), model=bool(kind))
    if not models:
        yield Section(title, _line(table.get("description", "")), _keys(table, place))


def _keys(table: Schema, place: str) -> list[Key]:
    """The keys of a table at ``place``."""
    required = table.get("required", ())
    return [
        _key(name, value, place, required=name in required)
        for name, value in table["properties"].items()
    ]


def _key(name: str, value: Schema, place: str, *, required: bool) -> Key:
    text = _line(value.get("description", "The kind of this table."))
    text, _, source = text.partition(" Source: ")
    text, _, computed = text.partition(" Default: ")
    text, _, allowed = text.partition(" Range: ")
    kind, unit = _type(value)
    if allowed and kind in ("a number", *(d.noun for d in DIMENSIONS.values())):
        kind = f"{kind}, {allowed.rstrip('.')}"
    if source:
        text = f"{text} Source: {source}"
    default = "must be given" if required else computed.rstrip(".") or _default(value)
    example, choices = _example(name, value, place), _choices(value)
    has_keys = any(_references(value))
    return Key(name, kind, unit, default, text, example, choices, has_keys)


def _line(text: str) -> str:
    """The text in one line, with code quoted as in Markdown."""
    return " ".join(text.split()).replace("``", "`")


def _type(value: Schema) -> tuple[str, str]:
    """The type and the units of a value."""
    match value:
        case {"$ref": reference}:
            return DECLARED.get(reference.rpartition("/")[2], ("a table", ""))[0], ""
        case {"const": only}:
            return json.dumps(only), ""
        case {"enum": names}:
            return one_of(names), ""
        case {"pattern": pattern} if pattern in DIMENSIONS:
            return DIMENSIONS[pattern].noun, ", ".join(DIMENSIONS[pattern].units)
        case {"pattern": pattern} if pattern == PERCENT:
            return 'a share such as "1%"', ""
        case {"anyOf": parts} | {"oneOf": parts}:
            types = [_type(part) for part in parts if part.get("type") != "null"]
            kinds, units_ = zip(*types, strict=True)
            return " or ".join(dict.fromkeys(kinds)), "; ".join(filter(None, units_))
        case {"type": "array", "items": item}:
            kind, unit = _type(item)
            return f"a list, each {kind}", unit
        case {"type": "object", "additionalProperties": dict() as item}:
            kind, unit = _type(item)
            return f"a table by name, each {kind}", unit
        case {"type": "boolean"}:
            return "true or false", ""
        case {"type": "integer" | "number" as number}:
            noun = "a whole number" if number == "integer" else "a number"
            return f"{noun}{_bounds(value)}", ""
    return "a text", ""


def _choices(value: Schema) -> tuple[str, ...]:
    """The possible values of a key, if they can be listed."""
    for part in _parts(value):
        match part:
            case {"const": str(only)}:
                return (only,)
            case {"enum": names}:
                return tuple(names)
            case {"type": "boolean"}:
                return ("true", "false")
            case {"$ref": reference} if reference.endswith("/Aqm"):
                return (*aqms(), *NAMES)
            case {"$ref": reference} if reference.endswith("/RateLaw"):
                return tuple(rate_laws())
            case {"$ref": reference} if reference.endswith("/MediaControl"):
                return tuple(media_controls())
    return ()


def _bounds(value: Schema) -> str:
    """The range of a number; an upper bound above 10^9 is left out."""
    least = value.get("minimum", value.get("exclusiveMinimum"))
    most = value.get("maximum", value.get("exclusiveMaximum"))
    if least is None or "Range: " in value.get("description", ""):
        return ""
    above = "more than " if "exclusiveMinimum" in value else "at least "
    if most is None or most > 1e9:
        return f", {above}{least}"
    if "exclusiveMinimum" in value:
        return (
            f", more than {least}, less than {most}"
            if "maximum" not in value
            else (f", more than {least}, at most {most:,}")
        )
    return f", {least} to {most:,}"


def _default(value: Schema) -> str:
    """The default as in a scenario, or the one that the description names."""
    said = re.search(r"by default ([^.;,]+)", _line(value.get("description", "")))
    match value.get("default"):
        case None:
            return said[1] if said else "none"
        case dict():
            return said[1] if said else "all keys as by default"
        case list():
            return "none"
        case bool() as flag:
            return json.dumps(flag)
        case other:
            return str(other) or "empty"


def _example(name: str, value: Schema, place: str) -> str:
    """A line of TOML; for a table its header."""
    path = f"{place}.{name}" if place else name
    first = _parts(value)[0]
    if _is_table(first.get("items", {})):
        return f"[[{path}]]"
    if _is_table(first.get("additionalProperties", {})):
        return f"[{path}.NAME]"
    reference = first.get("$ref", "").rpartition("/")[2]
    if reference in DECLARED:
        return f"{name} = {DECLARED[reference][1]}"
    return f"[{path}]" if reference else f"{name} = {_value(name, value)}"


def _is_table(value: Any) -> bool:
    """Whether a value has a definition of its own, or one of several."""
    return isinstance(value, Mapping) and not value.keys().isdisjoint(("$ref", "oneOf", "anyOf"))


def _value(name: str, value: Schema) -> str:
    """An example value in TOML: a chosen one, the default, or one that the type allows."""
    first, default = _parts(value)[0], value.get("default")
    match first:
        case {"const": only}:
            return json.dumps(only)
        case {"enum": _, "examples": [given, *_]}:
            return json.dumps(given)
        case {"pattern": str(pattern), "examples": [given, *_]} if pattern == PROGRAM:
            return json.dumps(given)
        case _ if name in EXAMPLES:
            return EXAMPLES[name]
        case {"examples": [given, *_]} if first.get("pattern") not in DIMENSIONS:
            return json.dumps(given)
        case {"enum": names}:
            return json.dumps(next((each for each in names if each != default), default))
        case {"type": "boolean"}:
            return json.dumps(not default)
    if isinstance(default, str | float | int):
        return json.dumps(default)
    if quantity := DIMENSIONS.get(first.get("pattern", "")):
        return json.dumps(quantity.example)
    return json.dumps(first.get("minimum", 1))


def _parts(value: Schema) -> Sequence[Schema]:
    """The alternatives of a value."""
    parts: Sequence[Schema] = value.get("anyOf") or value.get("oneOf") or [value]
    return [part for part in parts if part.get("type") != "null"]


@dataclass(frozen=True)
class LookupResult:
    """The keys and tables that a path or a name stands for."""

    keys: Sequence[tuple[Section, Key]]
    """Keys, each with its table."""
    tables: Sequence[Section]
    """Tables at the path, or with the name."""


def lookup(path: str) -> LookupResult:
    """Finds the key or table at a path such as ``topology.bottleneck.rate``, or all keys and tables
    with a name such as ``rate`` or ``pie``.

    Raises MarqueueError if there is none.
    """
    way = [step.strip() for step in path.split(".")]
    *above, last = way
    every = [(section, key) for section in sections() for key in section.keys]
    keys = [(s, k) for s, k in every if k.name == last and (not above or s.stands_at(above))]
    if not above and (top := [(s, k) for s, k in keys if "" in s.places]):
        keys = top
    tables = [
        section
        for section in sections()
        if section.title.lower().split(": ")[-1] == path.lower()
        or (not section.model and any(map(section.stands_at, (way, [*way, "N"]))))
    ]
    if not keys and not tables:
        known = [k.name for s, k in every if not above or s.stands_at(above)]
        table = ".".join(above) or "a scenario"
        raise MarqueueError(f"{path}: {table} has no such key{suggestion(last, known)}")
    return LookupResult(keys, tables)
