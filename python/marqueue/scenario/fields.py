"""Types of fields in the tables of a scenario: bounded quantities, AQMs, TCP settings."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from marqueue.errors import show, unknown
from marqueue.programs.interface import AQM, CONTROL
from marqueue.programs.registry import is_program
from marqueue.scenario import parameters
from marqueue.scenario.catalogue import timestamps_bytes
from marqueue.scenario.dscp import DSCP_SCHEMA, read_dscp
from marqueue.scenario.key_descriptions import key_descriptions
from marqueue.scenario.parameters import Refused, Value
from marqueue.scenario.program import read_program_table
from marqueue.scenario.qdisc import is_qdisc, read_qdisc
from marqueue.scenario.stack import KEYS, PRESET, Stack, read_stack
from marqueue.units import Clock, Duration, Frequency, Packets, Quantity, Rate, Size

Q = TypeVar("Q", bound=Quantity)


class Table(BaseModel):
    """A table of a scenario. Unknown keys and implicit conversions are errors."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        populate_by_name=True,
        # Only the outermost table is built, when it is first used; the others are parts of it.
        defer_build=True,
    )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        document = handler(schema)
        keys = handler.resolve_ref_schema(document)["properties"]
        for name, text in key_descriptions(cls).items():
            keys[cls.model_fields[name].alias or name].setdefault("description", text)
        return document


LARGEST_PACKET = Size(10**9)
"""With larger packets the transmission time could exceed the engine's clock."""
LARGEST_FLOW = Size(4 * 10**9)
"""The engine counts the bytes of a QUIC flow in 32 bits."""


def mistake(message: str) -> PydanticCustomError:
    """A validation error with this message."""
    return PydanticCustomError("mistake", "{message}", {"message": message})


def _above_zero(quantity: Q) -> Q:
    if quantity.base == 0:
        raise mistake(
            f"got {show(str(quantity))}, expected {quantity.dimension.expected}, above zero"
        )
    return quantity


def _flow_size(size: Size) -> Size:
    if size > LARGEST_FLOW:
        raise mistake(f"got {show(str(size))}, expected at most {LARGEST_FLOW}")
    return size


def _packet_size(size: Size) -> Size:
    if size > LARGEST_PACKET:
        raise mistake(f"got {show(str(size))}, expected a packet of up to {LARGEST_PACKET}")
    return size


Durations = list[str] | list[Duration] | list[Duration | str]
"""The types that a list of times may be given in."""

PositiveDuration = Annotated[Duration, AfterValidator(_above_zero)]
PositiveRate = Annotated[Rate, AfterValidator(_above_zero)]
PositiveClock = Annotated[Clock, AfterValidator(_above_zero)]
PacketSize = Annotated[Size, AfterValidator(_above_zero), AfterValidator(_packet_size)]
QuicSize = Annotated[Size, AfterValidator(_above_zero), AfterValidator(_flow_size)]
PositivePackets = Annotated[Packets, AfterValidator(_above_zero)]
PositiveFrequency = Annotated[Frequency, AfterValidator(_above_zero)]


def _read_buffer(value: object) -> Packets | Size:
    if isinstance(value, Packets | Size):
        return _above_zero(value)
    for kind in (Packets, Size):
        try:
            kind.dimension.read(value)
        except ValueError:
            continue
        try:
            return _above_zero(kind.parse(value))
        except ValueError as error:
            raise mistake(str(error)) from None
    hint = Packets.dimension.suggestion(value) or Size.dimension.suggestion(value)
    raise mistake(f'got {show(value)}, expected a buffer such as "100 packets" or "150 kB"{hint}')


Buffer = Annotated[
    Packets | Size,
    PlainValidator(_read_buffer),
    PlainSerializer(str),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "string",
                    "pattern": kind.dimension.pattern,
                    "examples": [kind.dimension.example],
                }
                for kind in (Packets, Size)
            ]
        }
    ),
]
"""Packets or bytes."""


def _read_default_buffer(value: object) -> Packets | Size | Duration:
    if isinstance(value, Duration):
        return _above_zero(value)
    try:
        return _above_zero(Duration.parse(value))
    except ValueError:
        return _read_buffer(value)


DefaultBuffer = Annotated[
    Packets | Size | Duration,
    PlainValidator(_read_default_buffer),
    PlainSerializer(str),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "string",
                    "pattern": kind.dimension.pattern,
                    "examples": [kind.dimension.example],
                }
                for kind in (Packets, Size, Duration)
            ]
        }
    ),
]
"""Packets, bytes, or the time in which a link sends them."""


def _read_dscp(value: object) -> str:
    try:
        return read_dscp(value)
    except ValueError as error:
        raise mistake(str(error)) from None


Dscp = Annotated[
    str,
    PlainValidator(_read_dscp),
    WithJsonSchema(DSCP_SCHEMA),
]
"""A differentiated services code point, by its name or its number."""


AUTO = "auto"
"""The value of ``warmup`` that finds the warm-up in the time series of a pilot."""


def _read_warmup(value: object) -> Duration | Literal["auto"]:
    if value == AUTO:
        return "auto"
    time = Duration.dimension
    if time.suggestion(value):
        raise mistake(
            f'got {show(value)}, expected {time.expected}, or "{AUTO}"{time.suggestion(value)}'
        )
    try:
        return Duration.parse(value)
    except ValueError as error:
        raise mistake(f'{error}, or "{AUTO}"') from None


Warmup = Annotated[
    Duration | Literal["auto"],
    PlainValidator(_read_warmup),
    PlainSerializer(str),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "string",
                    "pattern": Duration.dimension.pattern,
                    "examples": [Duration.dimension.example],
                },
                {"const": AUTO},
            ]
        }
    ),
]
"""A time, or "auto"."""


DECLARED = "x-declared"
"""Key in a JSON Schema that stands for a definition generated from the engine's declarations."""


class Declared(ABC):
    """A type of field: a table whose keys the engine declares."""

    @classmethod
    @abstractmethod
    def read(cls, value: object) -> Self:
        """Reads a value of a scenario. Raises :class:`Refused` with all problems."""

    @abstractmethod
    def table(self) -> dict[str, Any]:
        """The value as in a scenario file."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(value: object) -> Declared:
            try:
                return cls.read(value.table() if isinstance(value, cls) else value)
            except Refused as refused:
                details = [
                    InitErrorDetails(type=mistake(message), loc=where, input=None)
                    for where, message in refused.problems
                ]
                raise ValidationError.from_exception_data(cls.__name__, details) from None

        return core_schema.no_info_plain_validator_function(
            read, serialization=core_schema.plain_serializer_function_ser_schema(cls.table)
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {DECLARED: cls.__name__}


@dataclass(frozen=True)
class Aqm(Declared):
    """The name of an AQM and its given parameters, in the engine's units; or a qdisc of a kernel
    (``linux:fq_codel``) or a program (``python:mine.py:Mine``) with its keys as given."""

    name: str
    params: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, **params: object) -> Self:
        """An AQM with values as in a scenario file: ``Aqm.of("pie", delay_ref="15 ms")``."""
        return cls.read({"name": name, **params})

    @classmethod
    def read(cls, value: object) -> Self:
        """Reads a name or a table."""
        name = value["name"] if isinstance(value, Mapping) and "name" in value else value
        if is_qdisc(name):
            assert isinstance(value, str | Mapping)
            return cls(*read_qdisc(value))
        if is_program(name):
            assert isinstance(value, str | Mapping)
            return cls(*read_program_table(value, AQM))
        return cls(*parameters.read_policy(value))

    def table(self) -> dict[str, Any]:
        """The table with name and parameters, as in a scenario file."""
        if is_qdisc(self.name) or is_program(self.name):
            return {"name": self.name, **self.params}
        return parameters.write_policy(self.name, self.params)


@dataclass(frozen=True)
class RateLaw(Declared):
    """The name of a rate law and its given parameters, in the engine's units."""

    name: str = "aimd"
    params: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, **params: object) -> Self:
        """A rate law with values as in a scenario file: ``RateLaw.of("aimd", beta=0.8)``."""
        return cls.read({"name": name, **params})

    @classmethod
    def read(cls, value: object) -> Self:
        """Reads a name or a table."""
        return cls(*parameters.read_named(value, "a rate law", parameters.rate_laws()))

    def table(self) -> dict[str, Any]:
        """The table with name and parameters, as in a scenario file."""
        return parameters.write_model(self.name, self.params, "name", parameters.rate_laws())


@dataclass(frozen=True)
class MediaControl(Declared):
    """The name of a control of media flows and its given parameters, in the engine's units."""

    name: str = "scream"
    params: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, **params: object) -> Self:
        """A control with values as in a scenario file:
        ``MediaControl.of("scream", beta_ecn=0.7)``."""
        return cls.read({"name": name, **params})

    @classmethod
    def read(cls, value: object) -> Self:
        """Reads a name or a table."""
        known = parameters.media_controls()
        return cls(*parameters.read_named(value, "a control of media", known))

    def table(self) -> dict[str, Any]:
        """The table with name and parameters, as in a scenario file."""
        known = parameters.media_controls()
        return parameters.write_model(self.name, self.params, "name", known)


@dataclass(frozen=True)
class Transport(Declared):
    """Settings of TCP: a preset and the parameters that differ from it, in the engine's units."""

    preset: str = "rfc"
    params: Mapping[str, Value] = field(default_factory=dict)
    stack: Stack | None = None
    """The kernel in which the flows end; None for models."""
    program: tuple[str, Mapping[str, Value]] | None = None
    """The congestion control that is a program, and its keys as given; None for one of the
    engine's."""

    @classmethod
    def of(cls, preset: str | None = None, **params: object) -> Self:
        """Settings with values as in a scenario file: ``Transport.of("ns2", min_rto="1 s")``."""
        return cls.read(params if preset is None else {"preset": preset, **params})

    @classmethod
    def read(cls, value: object) -> Self:
        """Reads a table."""
        if not isinstance(value, Mapping):
            raise Refused([((), f"got {show(value)}, expected a table of TCP's settings")])
        value, program = _without_program(value)
        stack = read_stack(value)
        if stack is not None and program is not None:
            expected = "expected one that the kernel has, as congestion_control"
            raise Refused([(("control",), f"got {program[0]}, {expected}")])
        preset = value.get("preset", "rfc" if stack is None else PRESET)
        known = parameters.tcp_presets()
        if not isinstance(preset, str) or preset not in known:
            raise Refused([(("preset",), unknown(preset, known))])
        given = {key: each for key, each in value.items() if key not in ("preset", *KEYS)}
        params = parameters.read_all(parameters.tcp_declarations(), given, "TCP", KEYS)
        return cls(preset, params, stack, program)

    def table(self) -> dict[str, Any]:
        """The table with preset and parameters, as in a scenario file."""
        declared = parameters.tcp_declarations()
        table = {"preset": self.preset} | parameters.write_all(declared, self.params)
        if self.program is not None:
            name, given = self.program
            table["control"] = {"name": name, **given}
        return table if self.stack is None else table | self.stack.table()

    def resolved(self) -> dict[str, Value]:
        """The effective value of every parameter."""
        values = parameters.resolved_tcp(self.preset, self.params)
        return values if self.program is None else values | {"control": self.program[0]}

    @property
    def wire_bytes(self) -> int:
        """The size of a full data packet on the wire, bytes."""
        values = self.resolved()
        header = float(str(values["header"])) + timestamps_bytes() * bool(values["timestamps"])
        return int(float(str(values["segment"])) + header * bool(values["count_header"]))


def _without_program(
    table: Mapping[str, Any],
) -> tuple[Mapping[str, Any], tuple[str, Mapping[str, Value]] | None]:
    """A table of [transport] without the program that is its control, and that program."""
    control = table.get("control")
    name = control.get("name") if isinstance(control, Mapping) else control
    if not is_program(name):
        return table, None
    assert isinstance(control, str | Mapping)
    try:
        program = read_program_table(control, CONTROL)
    except Refused as refused:
        problems = [(("control", *where), message) for where, message in refused.problems]
        raise Refused(problems) from None
    return {key: each for key, each in table.items() if key != "control"}, program
