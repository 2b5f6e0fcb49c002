"""Quantities of scenarios: texts with a unit, such as "10 Mbit/s", and their exact values.

Prefixes are decimal, except for KiB, MiB and GiB; B is a byte. Values are whole numbers of a base
unit (bits per second, nanoseconds, bytes, packets), so Python and the engine agree on them exactly.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from marqueue.errors import show
from marqueue.errors.foreign_names import known_unit

_NUMBER = r"(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?"
"""A number without a sign. Longer exponents would overflow Decimal."""

_TEXT = re.compile(rf"\s*(?P<number>[+-]?{_NUMBER})\s*(?P<unit>\S*)\s*")


@dataclass(frozen=True)
class Dimension:
    """A physical dimension and its units."""

    noun: str
    """The dimension with its article: "a rate"."""
    example: str
    units: dict[str, Decimal]
    """Each unit in base units, from the smallest to the largest."""
    written: tuple[str, ...]
    """The units used in output, from the smallest to the largest."""

    @property
    def expected(self) -> str:
        """What was expected, for an error message."""
        return f'{self.noun} such as "{self.example}" (units: {", ".join(self.units)})'

    @property
    def pattern(self) -> str:
        """A regular expression for the JSON Schema: a number without minus sign, and a unit."""
        units = "|".join(re.escape(unit) for unit in self.units)
        return rf"^\s*\+?{_NUMBER}\s*({units})\s*$"

    def read(self, text: object) -> Decimal:
        """The value of ``text`` in base units.

        Raises ValueError with the text and what was expected.
        """
        match = _TEXT.fullmatch(text) if isinstance(text, str) else None
        if match is None or match["unit"] not in self.units:
            raise ValueError(f"got {show(text)}, expected {self.expected}{self.suggestion(text)}")
        return Decimal(match["number"]) * self.units[match["unit"]]

    def suggestion(self, text: object) -> str:
        """The end of an error message: the text with the unit that the user probably meant."""
        match = _TEXT.fullmatch(text) if isinstance(text, str) else None
        if match is None or match["unit"] in self.units:
            return ""
        unit = known_unit(match["unit"], self.units)
        return f'; did you mean "{match["number"]} {unit}"?' if unit else ""

    def write(self, value: Decimal) -> str:
        """The value in the largest unit that needs at most one decimal place.

        Zero is written in the unit of the example.
        """
        if value == 0:
            return f"0 {self.example.split()[1]}"
        for unit in reversed(self.written):
            scaled = value / self.units[unit]
            if abs(scaled) >= 1 and scaled * 10 == int(scaled * 10):
                return f"{_plain(scaled)} {unit}"
        smallest = self.written[0]
        return f"{_plain(value / self.units[smallest])} {smallest}"


def _plain(value: Decimal) -> str:
    """Without exponent and trailing zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_GIGA = Decimal(10**9)

TIME = Dimension(
    "a time",
    "40 ms",
    {
        "ns": Decimal(1),
        "us": Decimal(10**3),
        "ms": Decimal(10**6),
        "s": _GIGA,
        "min": 60 * _GIGA,
        "h": 3600 * _GIGA,
    },
    ("ns", "us", "ms", "s"),
)
RATE = Dimension(
    "a rate",
    "10 Mbit/s",
    {
        "bit/s": Decimal(1),
        "kbit/s": Decimal(10**3),
        "Mbit/s": Decimal(10**6),
        "Gbit/s": Decimal(10**9),
        "Tbit/s": Decimal(10**12),
    },
    ("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"),
)
SIZE = Dimension(
    "a size",
    "1500 B",
    {
        "B": Decimal(1),
        "kB": Decimal(10**3),
        "MB": Decimal(10**6),
        "GB": Decimal(10**9),
        "KiB": Decimal(2**10),
        "MiB": Decimal(2**20),
        "GiB": Decimal(2**30),
    },
    ("B", "kB", "MB", "GB"),
)
PACKETS = Dimension(
    "a number of packets",
    "100 packets",
    {"packets": Decimal(1), "packet": Decimal(1)},
    ("packets",),
)
FREQUENCY = Dimension(
    "a number per second", "30 /s", {"/s": _GIGA, "1/s": _GIGA, "Hz": _GIGA}, ("/s",)
)


_MEGA = Decimal(10**6)
CLOCK = Dimension(
    "a clock",
    "25 Mcycles/s",
    {
        "cycles/s": Decimal(1),
        "kcycles/s": Decimal(10**3),
        "Mcycles/s": _MEGA,
        "Gcycles/s": _GIGA,
        "Hz": Decimal(1),
        "kHz": Decimal(10**3),
        "MHz": _MEGA,
        "GHz": _GIGA,
    },
    ("cycles/s", "kcycles/s", "Mcycles/s", "Gcycles/s"),
)
DENSITY = Dimension("a density", "2 cycles/bit", {"cycles/bit": _MEGA}, ("cycles/bit",))
CYCLES = Dimension(
    "a number of cycles",
    "1000 cycles",
    {"cycles": _MEGA, "kcycles": 1000 * _MEGA, "Mcycles": _MEGA * _MEGA},
    ("cycles", "kcycles", "Mcycles"),
)


@dataclass(frozen=True, order=True)
class Quantity:
    """A whole number of base units, written as a text with a unit."""

    dimension: ClassVar[Dimension]
    largest: ClassVar[int] = 10**18
    """The largest value, in base units, that the engine can add up without overflow."""
    base: int

    @classmethod
    def parse(cls, text: object) -> Self:
        """Reads a text with a unit. Raises ValueError with the text and what was expected."""
        if isinstance(text, cls):
            return text
        value = cls.dimension.read(text)
        if value < 0:
            raise ValueError(f"got {show(text)}, expected {cls.dimension.expected}, not negative")
        return cls(cls._whole(value, text))

    @classmethod
    def _whole(cls, value: Decimal, text: object) -> int:
        """The value rounded to a base unit. Raises ValueError if it is too large, or rounds to
        0."""
        if value > cls.largest:
            limit = cls(cls.largest)
            raise ValueError(f"got {show(text)}, expected {cls.dimension.expected}, up to {limit}")
        whole = int(value.to_integral_value())
        if whole == 0 and value != 0:
            raise ValueError(
                f"got {show(text)}, expected {cls.dimension.expected}, at least {cls(1)}"
            )
        return whole

    def __str__(self) -> str:
        return self.dimension.write(Decimal(self.base))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(value: object) -> Quantity:
            try:
                return cls.parse(value)
            except ValueError as error:
                raise PydanticCustomError("mistake", "{message}", {"message": str(error)}) from None

        return core_schema.no_info_plain_validator_function(
            read, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        dimension = cls.dimension
        return {
            "type": "string",
            "pattern": dimension.pattern,
            "examples": [dimension.example],
        }


class Duration(Quantity):
    """A time in nanoseconds."""

    dimension = TIME
    largest = 3 * 10**18

    @property
    def seconds(self) -> float:
        """In seconds."""
        return self.base / 1e9


class Rate(Quantity):
    """A rate in bits per second."""

    dimension = RATE
    largest = 10**15


class Size(Quantity):
    """A size in bytes."""

    dimension = SIZE
    largest = 10**15


class Packets(Quantity):
    """A whole number of packets."""

    dimension = PACKETS
    largest = 10**9

    @classmethod
    def _whole(cls, value: Decimal, text: object) -> int:
        if value != value.to_integral_value():
            raise ValueError(f"got {show(text)}, expected a whole number of packets")
        return super()._whole(value, text)


class Frequency(Quantity):
    """A frequency in events per 10^9 seconds."""

    dimension = FREQUENCY

    @property
    def per_second(self) -> float:
        """Events per second."""
        return self.base / 1e9


class Clock(Quantity):
    """Cycles per second of a CPU core."""

    dimension = CLOCK
    largest = 10**15


class Density(Quantity):
    """Millionths of a CPU cycle per bit."""

    dimension = DENSITY
    largest = 10**15

    @property
    def cycles_per_bit(self) -> float:
        """In cycles per bit."""
        return self.base / 1e6


class Cycles(Quantity):
    """Millionths of a CPU cycle."""

    dimension = CYCLES

    @property
    def cycles(self) -> float:
        """In cycles."""
        return self.base / 1e6
