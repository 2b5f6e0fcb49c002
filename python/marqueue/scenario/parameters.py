"""Parameters of AQMs and of TCP, checked against what the engine declares.

Nothing here knows an algorithm: names, kinds, units, ranges, defaults and sources all come from the
engine's declarations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Literal

import marqueue._core as _core
from marqueue.errors import MarqueueError, one_of, show, unknown, unknown_key
from marqueue.errors.foreign_names import known_name
from marqueue.scenario.catalogue import catalogue
from marqueue.scenario.dscp import dscp_expected, read_dscp
from marqueue.units import FREQUENCY, PACKETS, RATE, SIZE, TIME, Dimension

WRITTEN_OUT: dict[str, tuple[Dimension, int]] = {
    "s": (TIME, 10**9),
    "1/s": (FREQUENCY, 10**9),
    "packets": (PACKETS, 1),
    "bytes": (SIZE, 1),
    "bit/s": (RATE, 1),
}
"""Units of the engine that scenarios write with a unit: the dimension, and base units in one."""

_UNBOUNDED = 1e9
"""From here on an upper bound is not shown to users."""

Value = bool | float | str | dict[str, Any]
"""A parameter's value as the engine takes it; a policy is a dict of ``name`` and ``params``."""

Location = tuple[str, ...]


class Refused(MarqueueError, ValueError):
    """Values are outside their declarations; ``problems`` lists all of them."""

    def __init__(self, problems: Sequence[tuple[Location, str]]) -> None:
        self.problems = tuple(problems)
        """Each with its path below the value, and its message."""
        super().__init__("; ".join(f"{'.'.join(where)}: {message}" for where, message in problems))


@dataclass(frozen=True)
class Declaration:
    """A parameter as the engine declares it."""

    name: str
    doc: str
    kind: Literal["number", "flag", "choice", "policy", "dscp", "per-dscp", "curve"]
    unit: str | None
    min: float | None
    max: float | None
    choices: list[str] | None
    default: Value | None
    auto: str
    source: str

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is None and not self.auto

    @property
    def written_unit(self) -> str:
        """The unit of the value; empty for a plain number."""
        return "" if self.unit in (None, "1") else str(self.unit)

    @property
    def range(self) -> str:
        """The allowed range, with units; empty without one."""
        if self.min is None or self.max is None:
            return ""
        if self.max >= _UNBOUNDED:
            return f"at least {self.write(self.min)}"
        return f"{self.write(self.min)} to {self.write(self.max)}"

    @property
    def expected(self) -> str:
        """What was expected, for an error message."""
        match self.kind:
            case "flag":
                return "true or false"
            case "choice":
                return one_of(self.choices or ())
            case "policy":
                return "the name of an AQM, or a table with its name and parameters"
            case "dscp":
                return dscp_expected()
            case "per-dscp":
                return "a table from DSCPs to numbers"
            case "curve":
                return str(catalogue()["marking_curve"])
        return self._expected_number

    def read(self, value: object) -> Value:
        """Converts a value of a scenario to the engine's form. Raises :class:`Refused`."""
        match self.kind:
            case "flag" if isinstance(value, bool):
                return value
            case "choice" if isinstance(value, str) and self.choices and value in self.choices:
                return value
            case "policy":
                name, params = read_policy(value)
                return {"name": name, "params": params}
            case "dscp":
                try:
                    return read_dscp(value)
                except ValueError as error:
                    raise Refused([((), str(error))]) from None
            case "curve" if isinstance(value, str):
                try:
                    return _core.read_marking_curve(value)
                except ValueError as error:
                    raise Refused([((), f"got {show(value)}, expected {error}")]) from None
            case "per-dscp" if isinstance(value, Mapping):
                return self._per_dscp(value)
            case "number":
                return self._number(value)
            case "choice" if isinstance(value, str):
                raise Refused([((), unknown(value, self.choices or ()))])
        raise Refused([((), f"got {show(value)}, expected {self.expected}")])

    def _per_dscp(self, given: Mapping[str, object]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        problems: list[tuple[Location, str]] = []
        for name, value in given.items():
            try:
                dscp = read_dscp(name)
                if dscp in values:
                    raise ValueError(f"got {show(name)} for the second time as {dscp}")
                values[dscp] = self._number(value)
            except Refused as refused:
                problems += [((name,), message) for _, message in refused.problems]
            except ValueError as error:
                problems.append(((name,), str(error)))
        if problems:
            raise Refused(problems)
        return values

    def _number(self, value: object) -> float:
        try:
            if self.unit in WRITTEN_OUT:
                dimension, scale = WRITTEN_OUT[self.unit]
                number = float(dimension.read(value) / scale)
            elif isinstance(value, int | float) and not isinstance(value, bool):
                number = float(value)
            else:
                raise ValueError
        except (ValueError, OverflowError):
            hint = WRITTEN_OUT[self.unit][0].suggestion(value) if self.unit in WRITTEN_OUT else ""
            message = f"got {show(value)}, expected {self._expected_number}{hint}"
            raise Refused([((), message)]) from None
        if self.min is None or self.max is None or not self.min <= number <= self.max:
            raise Refused([((), f"got {show(value)}, expected {self._expected_number}")])
        return number

    @property
    def _expected_number(self) -> str:
        dimension = WRITTEN_OUT.get(self.unit or "")
        return f"{dimension[0].expected if dimension else 'a number'}, {self.range}"

    def write(self, value: Value) -> Any:
        """The reverse of :meth:`read`."""
        if isinstance(value, dict):
            if self.kind == "per-dscp":
                return {dscp: self._write_number(number) for dscp, number in value.items()}
            return write_policy(value["name"], value["params"])
        return self._write_number(value)

    def _write_number(self, value: bool | float | str) -> Any:
        if self.unit in WRITTEN_OUT and not isinstance(value, str):
            dimension, scale = WRITTEN_OUT[self.unit]
            return dimension.write(Decimal(repr(value)) * scale)
        if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
            return int(value)
        return value


@dataclass(frozen=True)
class ModelEntry:
    """The engine's declaration of something that is chosen by name."""

    name: str
    summary: str
    source: str
    params: tuple[Declaration, ...]


@dataclass(frozen=True)
class AqmEntry(ModelEntry):
    """An AQM as the engine declares it."""

    probes: tuple[tuple[str, str], ...]
    prices: bool
    """Whether it writes the price of the link into packets."""


@dataclass(frozen=True)
class RateLawEntry(ModelEntry):
    """A rate law as the engine declares it."""

    listens: bool
    """Whether its flows follow the price that routers write into packets."""


@dataclass(frozen=True)
class MediaControlEntry(ModelEntry):
    """A control of media flows as the engine declares it."""

    answers_marks: bool
    """Whether it answers to CE marks."""


@cache
def aqms() -> dict[str, AqmEntry]:
    """All AQMs by name, in the order of the engine's list."""
    return {
        entry["name"]: AqmEntry(
            name=entry["name"],
            summary=entry["summary"],
            source=entry["source"],
            params=_declarations(entry["params"]),
            probes=tuple((name, unit) for name, unit in entry["probes"]),
            prices=entry["prices"],
        )
        for entry in catalogue()["aqms"]
    }


@cache
def losses() -> dict[str, ModelEntry]:
    """All loss models by name."""
    return _models(catalogue()["losses"])


@cache
def media() -> dict[str, ModelEntry]:
    """All models of medium access by name."""
    return _models(catalogue()["media"])


@cache
def rate_laws() -> dict[str, RateLawEntry]:
    """All rate laws of paced flows by name."""
    return {
        entry["name"]: RateLawEntry(**{**entry, "params": _declarations(entry["params"])})
        for entry in catalogue()["rate_laws"]
    }


@cache
def media_controls() -> dict[str, MediaControlEntry]:
    """All controls of media flows by name."""
    return {
        entry["name"]: MediaControlEntry(**{**entry, "params": _declarations(entry["params"])})
        for entry in catalogue()["media_controls"]
    }


def _models(entries: Sequence[Mapping[str, Any]]) -> dict[str, ModelEntry]:
    return {
        entry["name"]: ModelEntry(**{**entry, "params": _declarations(entry["params"])})
        for entry in entries
    }


def _declarations(specs: Sequence[Mapping[str, Any]]) -> tuple[Declaration, ...]:
    return tuple(Declaration(**spec) for spec in specs)


@cache
def jitter_declarations() -> tuple[Declaration, ...]:
    """The parameters of jitter."""
    return _declarations(catalogue()["jitter"])


@cache
def reorder_declarations() -> tuple[Declaration, ...]:
    """The parameters of reordering."""
    return _declarations(catalogue()["reorder"])


@cache
def tcp_declarations() -> tuple[Declaration, ...]:
    """The parameters of TCP."""
    return _declarations(catalogue()["tcp"])


@cache
def tcp_presets() -> dict[str, dict[str, Value]]:
    """The values that each preset of TCP sets."""
    return dict(catalogue()["tcp_presets"])


def resolved_tcp(preset: str, params: Mapping[str, Value]) -> dict[str, Value]:
    """The effective value of every parameter of TCP."""
    defaults = {spec.name: spec.default for spec in tcp_declarations() if spec.default is not None}
    return {**defaults, **tcp_presets()[preset], **params}


BESIDE_AQM = ("buffer", "signal", "packet", "rate", "delay")
"""Keys of links that other tools have as parameters of AQMs."""


def read_all(
    declared: Sequence[Declaration],
    given: Mapping[str, object],
    owner: str = "the table",
    beside: Sequence[str] = (),
) -> dict[str, Value]:
    """Converts given values to the engine's form. Raises :class:`Refused` with all problems.

    ``owner`` names the table in messages. ``beside`` are keys of the enclosing table, which
    messages suggest for a misplaced key.
    """
    by_name = {spec.name: spec for spec in declared}
    values: dict[str, Value] = {}
    problems: list[tuple[Location, str]] = []
    for name, value in given.items():
        if name not in by_name:
            problems.append(((name,), _unknown(name, list(by_name), owner, beside)))
            continue
        try:
            values[name] = by_name[name].read(value)
        except Refused as refused:
            problems += [((name, *where), message) for where, message in refused.problems]
    problems += [
        ((spec.name,), f"missing, expected {spec.expected}")
        for spec in declared
        if spec.required and spec.name not in given
    ]
    if problems:
        raise Refused(problems)
    return values


def _unknown(given: str, known: Sequence[str], owner: str, beside: Sequence[str]) -> str:
    """The error message for an undeclared parameter."""
    outside = None if known_name(given, known) else known_name(given, beside)
    return unknown_key(given, known, owner, f'"{outside}" of the link' if outside else None)


def write_all(declared: Sequence[Declaration], values: Mapping[str, Value]) -> dict[str, Any]:
    """The reverse of :func:`read_all`."""
    by_name = {spec.name: spec for spec in declared}
    return {name: by_name[name].write(value) for name, value in values.items()}


def read_policy(value: object) -> tuple[str, dict[str, Value]]:
    """The name and the parameters of an AQM, from its name alone or a table."""
    return read_named(value, "an AQM", aqms())


def write_policy(name: str, params: Mapping[str, Value]) -> dict[str, Any]:
    """The reverse of :func:`read_policy`: always a table."""
    return write_model(name, params, "name", aqms())


def read_named(
    value: object, what: str, models: Mapping[str, ModelEntry]
) -> tuple[str, dict[str, Value]]:
    """The name and the parameters of one of ``models``, from its name alone or a table."""
    if not isinstance(value, str | Mapping):
        raise Refused([((), f"got {show(value)}, expected the name of {what} or a table with it")])
    if isinstance(value, str) and value not in models:
        raise Refused([((), unknown(value, models))])
    return read_model({"name": value} if isinstance(value, str) else value, "name", models)


def read_model(
    table: Mapping[str, object], key: str, models: Mapping[str, ModelEntry]
) -> tuple[str, dict[str, Value]]:
    """The name of one of ``models`` at ``key`` of a table, and its parameters in the same table."""
    if key not in table:
        raise Refused([((key,), f"missing, expected {one_of(models)}")])
    name = table[key]
    if not isinstance(name, str) or name not in models:
        raise Refused([((key,), unknown(name, models))])
    given = {other: each for other, each in table.items() if other != key}
    beside = BESIDE_AQM if isinstance(models[name], AqmEntry) else ()
    return name, read_all(models[name].params, given, name, beside)


def write_model(
    name: str, params: Mapping[str, Value], key: str, models: Mapping[str, ModelEntry]
) -> dict[str, Any]:
    """The reverse of :func:`read_model`."""
    return {key: name} | write_all(models[name].params, params)
