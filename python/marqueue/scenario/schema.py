"""The JSON Schema of scenarios, for completion and checks in editors."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from marqueue.scenario import parameters
from marqueue.scenario.delays import delay_schema
from marqueue.scenario.dscp import DSCP_SCHEMA
from marqueue.scenario.fields import DECLARED, Declared
from marqueue.scenario.impairments import PERCENT
from marqueue.scenario.model import Scenario
from marqueue.scenario.program import DIGEST
from marqueue.scenario.qdisc import DEFAULT_KERNEL, KEYS, MOST_RING, NAMES
from marqueue.scenario.stack import MODEL
from marqueue.units import TIME, Quantity

PROGRAM = r"^python:[^/\\:]+\.py:[A-Za-z_]\w*$"
"""The name of a class in Python."""


class _Generator(GenerateJsonSchema):
    """Writes defaults as in a scenario file: quantities are texts with units."""

    def encode_default(self, dft: Any) -> Any:
        """A default, ready for JSON."""
        match dft:
            case Quantity():
                return str(dft)
            case Declared():
                return dft.table()
            case BaseModel():
                return dft.model_dump(mode="json", by_alias=True, exclude_none=True)
            case dict():
                return {key: self.encode_default(value) for key, value in dft.items()}
        return super().encode_default(dft)


def schema() -> dict[str, Any]:
    """The JSON Schema of a scenario, draft 2020-12."""
    document: dict[str, Any] = _linked(
        Scenario.model_json_schema(by_alias=True, schema_generator=_Generator)
    )
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    document["title"] = "marqueue scenario"
    definitions = document.setdefault("$defs", {})
    definitions["Aqm"] = _named(parameters.aqms())
    definitions["Aqm"]["oneOf"] += [*_qdiscs(), _program("An AQM")]
    definitions["Transport"] = _transport()
    definitions["Loss"] = _loss()
    definitions["Medium"] = _medium()
    definitions["RateLaw"] = _named(parameters.rate_laws())
    definitions["MediaControl"] = _named(parameters.media_controls())
    mean = {"type": "string", "pattern": TIME.pattern}
    definitions["Jitter"] = {"oneOf": [mean, _table(parameters.jitter_declarations())]}
    definitions["DelayDistribution"] = delay_schema()
    definitions["Reorder"] = _table(parameters.reorder_declarations())
    return document


def _linked(part: Any) -> Any:
    """Replaces what the engine declares by references to its definitions."""
    match part:
        case dict() if DECLARED in part:
            said = {key: part[key] for key in ("description",) if key in part}
            return {"$ref": f"#/$defs/{part[DECLARED]}", **said}
        case dict():
            return {key: _linked(value) for key, value in part.items()}
        case list():
            return [_linked(value) for value in part]
    return part


def _named(models: Mapping[str, parameters.ModelEntry]) -> dict[str, Any]:
    """A name, or a table of one of the models."""
    return {"oneOf": [{"enum": list(models)}, *(_model("name", each) for each in models.values())]}


def _loss() -> dict[str, Any]:
    """A share, or a table of one of the models."""
    tables = [_model("model", entry) for entry in parameters.losses().values()]
    return {"oneOf": [{"type": "string", "pattern": PERCENT}, *tables]}


def _medium() -> dict[str, Any]:
    """A name, or a table of one of the models."""
    models = parameters.media()
    tables = [_model("model", entry) for entry in models.values()]
    return {"oneOf": [{"enum": list(models)}, *tables]}


def _table(declared: Sequence[parameters.Declaration]) -> dict[str, Any]:
    """A table of these parameters."""
    return {
        "type": "object",
        "properties": {spec.name: _value(spec) for spec in declared},
        "required": [spec.name for spec in declared if spec.required],
        "additionalProperties": False,
    }


def _value(spec: parameters.Declaration) -> dict[str, Any]:
    """The value of a parameter, with its default and a description."""
    match spec.kind:
        case "flag":
            schema: dict[str, Any] = {"type": "boolean"}
        case "choice":
            schema = {"enum": spec.choices}
        case "policy":
            schema = {"$ref": "#/$defs/Aqm"}
        case "dscp":
            schema = DSCP_SCHEMA
        case "per-dscp":
            schema = {"type": "object", "additionalProperties": _number(spec)}
        case "curve":
            schema = {"type": "string", "pattern": "^(red|exp|points):"}
        case _:
            schema = _number(spec)
    allowed = f" Range: {spec.range}." if spec.range else ""
    default = f" Default: {spec.auto}." if spec.auto else ""
    described = {"description": f"{spec.doc}{allowed}{default} Source: {spec.source}."}
    given = {} if spec.default is None else {"default": spec.write(spec.default)}
    return {**schema, **described, **given}


def _number(spec: parameters.Declaration) -> dict[str, Any]:
    """A number within the declared range, or a text with a unit."""
    if spec.unit in parameters.WRITTEN_OUT:
        return {"type": "string", "pattern": parameters.WRITTEN_OUT[spec.unit][0].pattern}
    return {"type": "number", "minimum": spec.min, "maximum": spec.max}


def _model(key: str, entry: parameters.ModelEntry) -> dict[str, Any]:
    """A table with the name of a model at ``key``, and its parameters."""
    table = _table(entry.params)
    return table | {
        "title": entry.name,
        "description": f"{entry.summary}. {entry.source}.",
        "properties": {key: {"const": entry.name}} | table["properties"],
        "required": [key, *table["required"]],
    }


def _qdiscs() -> list[dict[str, Any]]:
    """The name of a kernel's qdisc, or a table with it."""
    line: dict[str, Any] = {"type": "string", "pattern": '^[ !-"$-~]*$'}
    added = ["class add parent 1: classid 1:1 htb rate 5mbit"]
    types: dict[str, dict[str, Any]] = {
        "options": line | {"examples": ["target 10ms"]},
        "commands": {"type": "array", "items": line, "examples": [added]},
        "kernel": {"type": "string", "default": DEFAULT_KERNEL},
        "ring": {"type": "integer", "minimum": 1, "maximum": MOST_RING},
    }
    properties = {
        key: types[key] | {"description": f"{text.capitalize()}."} for key, text in KEYS.items()
    }
    table = {
        "type": "object",
        "title": "qdisc of a Linux kernel",
        "description": "The queue is that of a Linux kernel (docs/linux-hosts.md).",
        "properties": {"name": {"enum": NAMES, "examples": ["linux:fq_codel"]}} | properties,
        "required": ["name"],
        "additionalProperties": False,
    }
    return [{"enum": NAMES}, table]


def _program(what: str) -> dict[str, Any]:
    """The name of a class in Python, or a table with it."""
    name = {"type": "string", "pattern": PROGRAM, "examples": ["python:mine.py:Mine"]}
    return name | {
        "type": ["string", "object"],
        "title": "class in Python",
        "description": f"{what} that is a class in Python, in a file beside the scenario "
        "(docs/howto/python-programs.md). Further keys are its parameters.",
        "properties": {
            "name": name | {"description": "python:, the file and the class."},
            DIGEST: {
                "type": "string",
                "pattern": "^[0-9a-f]{64}$",
                "examples": ["0" * 64],
                "description": "The SHA-256 of the file; another file is refused.",
            },
        },
        "required": ["name"],
    }


def _stack() -> dict[str, Any]:
    """The keys of transports whose flows end in kernels."""
    return {
        "stack": {
            "type": "string",
            "default": MODEL,
            "description": 'Whose TCP it is: "model", or a kernel such as "linux-7.3" '
            "(marqueue kernel list).",
        },
        "congestion_control": {
            "type": "string",
            "description": "The kernel's congestion control; by default that of control.",
        },
        "sysctl": {
            "type": "object",
            "additionalProperties": {"type": ["string", "integer"]},
            "description": "Sysctls of the kernels at both ends.",
        },
    }


def _control() -> dict[str, Any]:
    """The congestion control: one of the engine's, or a program."""
    [declared] = [spec for spec in parameters.tcp_declarations() if spec.name == "control"]
    described = _value(declared)
    described["description"] += ' Or "python:FILE.py:CLASS", a class in Python.'
    return {
        "anyOf": [{"enum": described.pop("enum")}, _program("A congestion control")]
    } | described


def _transport() -> dict[str, Any]:
    """A table with a preset and parameters that differ from it."""
    preset = {
        "enum": list(parameters.tcp_presets()),
        "default": "rfc",
        "description": "The source of values that are not given here.",
    }
    return {
        "type": "object",
        "description": "Settings of TCP.",
        "properties": {"preset": preset}
        | _stack()
        | {spec.name: _value(spec) for spec in parameters.tcp_declarations()}
        | {"control": _control()},
        "additionalProperties": False,
    }
