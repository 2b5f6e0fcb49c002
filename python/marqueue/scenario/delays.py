"""Distributions of delays: one draw for each flow, in place of one delay for all."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from marqueue.errors import show, unknown_key
from marqueue.scenario.fields import DECLARED, Declared
from marqueue.scenario.parameters import Refused
from marqueue.units import Duration

WIDEST = 5.0
"""Largest standard deviation of the logarithm of a lognormal delay."""

RAREST = 0.01
"""Smallest share of a lognormal law that may lie above the shortest delay: draws below are drawn
again."""

LAWS = ("uniform", "exponential", "lognormal", "empirical")
KEYS = (*LAWS, "least", "sigma")


@dataclass(frozen=True)
class DelayDistribution(Declared):
    """The distribution of the delay of a flow; each flow has one draw."""

    law: str
    """One of LAWS."""
    times: tuple[Duration, ...]
    """uniform: the bounds. exponential: the mean. lognormal: the median, before short delays are
    excluded. empirical: the values, each with the same probability."""
    least: Duration | None = None
    """The shortest delay. exponential: the mean includes it. lognormal: shorter delays are
    excluded. By default that of the path that all flows share."""
    sigma: float = 0.0
    """lognormal: standard deviation of the logarithm."""

    @classmethod
    def read(cls, value: object) -> Self:
        """Reads a table. Raises Refused with all problems."""
        if not isinstance(value, Mapping):
            raise Refused([((), f"got {show(value)}, expected {EXPECTED}")])
        strange: list[tuple[tuple[str, ...], str]] = [
            ((str(key),), unknown_key(str(key), KEYS)) for key in value if key not in KEYS
        ]
        if strange:
            raise Refused(strange)
        laws = [key for key in value if key in LAWS]
        if len(laws) != 1:
            given = " and ".join(laws) or "none of them"
            raise Refused([((), f"got {given}, expected one of {', '.join(LAWS)}")])
        [law] = laws
        times = _times(law, value[law])
        least = _time("least", value["least"]) if "least" in value else None
        found = cls(law, times, least, _sigma(law, value.get("sigma")))
        found._check()
        return found

    def _check(self) -> None:
        if self.law in ("uniform", "empirical") and self.least is not None:
            named = "exponential or lognormal"
            raise Refused([(("least",), f"got {show(str(self.least))}, expected it with {named}")])
        if self.law == "exponential" and self.least is not None and self.times[0] < self.least:
            expected = f"a mean of at least least ({self.least})"
            raise Refused([((self.law,), f"got {show(str(self.times[0]))}, expected {expected}")])

    def table(self) -> dict[str, Any]:
        """The table as in a scenario file."""
        listed = [str(time) for time in self.times]
        out: dict[str, Any] = {
            self.law: listed[0] if self.law in ("exponential", "lognormal") else listed
        }
        if self.least is not None:
            out["least"] = str(self.least)
        if self.law == "lognormal":
            out["sigma"] = self.sigma
        return out

    def __str__(self) -> str:
        """The distribution in words, which is the name of its class in a dumbbell."""
        from_ = f" from {self.least}" if self.least is not None else ""
        match self.law:
            case "uniform":
                return f"uniform {self.times[0]} to {self.times[1]}"
            case "exponential":
                return f"exponential, mean {self.times[0]}{from_}"
            case "lognormal":
                return f"lognormal, median {self.times[0]}, sigma {self.sigma:g}{from_}"
        return f"empirical, {len(self.times)} values"

    def shortest(self, shared: Duration) -> Duration:
        """The shortest delay if that of the path which all flows share is ``shared``."""
        if self.law in ("uniform", "empirical"):
            return min(self.times)
        return shared if self.least is None else self.least

    def problem(self, shared: Duration) -> tuple[str, str] | None:
        """The key and the message if the law contradicts the shortest delay."""
        least = self.shortest(shared)
        given = show(str(self.times[0]))
        if self.law == "exponential" and self.times[0] < least:
            return (
                self.law,
                f"got {given}, expected a mean of at least the shortest delay ({least})",
            )
        if self.law == "lognormal" and least.base > 0:
            above = 1.0 - self._normal.cdf(math.log(least.seconds))
            if above < RAREST:
                expected = (
                    f"a median at which {RAREST:.0%} of delays are above {least}, the shortest"
                )
                return self.law, f"got {given}, expected {expected}"
        return None

    @property
    def _normal(self) -> NormalDist:
        """lognormal: the distribution of the logarithm."""
        return NormalDist(math.log(self.times[0].seconds), self.sigma)

    def quantile(self, p: float, shared: Duration) -> float:
        """The delay that a share ``p`` of flows is below, s; 0 < p < 1. ``shared`` is that of the
        path which all flows share."""
        least = self.shortest(shared).seconds
        first = self.times[0].seconds
        match self.law:
            case "uniform":
                return first + (self.times[1].seconds - first) * p
            case "exponential":
                return least - (first - least) * math.log(1.0 - p)
            case "lognormal":
                below = self._normal.cdf(math.log(least)) if least > 0 else 0.0
                return math.exp(self._normal.inv_cdf(below + p * (1.0 - below)))
        ordered = sorted(self.times)
        return ordered[math.floor(p * len(ordered))].seconds

    def plan(self, shared: Duration, parts: int) -> dict[str, Any]:
        """The law of the plan, of the delay less ``shared`` divided by ``parts``."""

        def part(time: Duration) -> int:
            return round((time.base - shared.base) / parts)

        least = part(self.shortest(shared))
        match self.law:
            case "uniform":
                low, high = self.times
                return {"uniform": {"least": part(low), "most": part(high)}}
            case "exponential":
                return {"exponential": {"least": least, "mean": part(self.times[0])}}
            case "lognormal":
                median, less = (round(t.base / parts) for t in (self.times[0], shared))
                law = {"median": median, "sigma": self.sigma, "less": less, "least": least}
                return {"lognormal": law}
        return {"empirical": {"delays": [part(time) for time in self.times]}}


EXPECTED = 'a table such as { uniform = ["120 ms", "280 ms"] }'


def _time(key: str, value: object) -> Duration:
    try:
        return value if isinstance(value, Duration) else Duration.parse(value)
    except ValueError as error:
        raise Refused([((key,), str(error))]) from None


def _times(law: str, value: object) -> tuple[Duration, ...]:
    """The times of a law."""
    if law in ("exponential", "lognormal"):
        return (_positive(law, _time(law, value), value),)
    if law == "empirical" and isinstance(value, str):
        expected = "a list of times; a file is read where the scenario is a file itself"
        raise Refused([((law,), f"got {show(value)}, expected {expected}")])
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        many = "two times, the shorter first" if law == "uniform" else "a list of times"
        raise Refused([((law,), f"got {show(value)}, expected {many}")])
    times = []
    problems: list[tuple[tuple[str, ...], str]] = []
    for i, each in enumerate(value):
        try:
            times.append(_positive(law, _time(law, each), each))
        except Refused as refused:
            problems += [((law, str(i)), message) for _, message in refused.problems]
    if problems:
        raise Refused(problems)
    if law == "uniform" and (len(times) != 2 or times[0] > times[1]):
        shown = show([str(time) for time in times])
        raise Refused([((law,), f"got {shown}, expected two times, the shorter first")])
    return tuple(times)


def _positive(key: str, time: Duration, value: object) -> Duration:
    if time.base == 0:
        expected = f"{Duration.dimension.expected}, above zero"
        raise Refused([((key,), f"got {show(value)}, expected {expected}")])
    return time


def _sigma(law: str, value: object) -> float:
    if law != "lognormal":
        if value is not None:
            raise Refused([(("sigma",), f"got {show(value)}, expected it with lognormal")])
        return 0.0
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < float(str(value)) <= WIDEST:
        expected = f"a number above 0, at most {WIDEST:g}: standard deviation of the logarithm"
        shown = "nothing" if value is None else show(value)
        raise Refused([(("sigma",), f"got {shown}, expected {expected}")])
    return float(str(value))


_READ: TypeAdapter[DelayDistribution] = TypeAdapter(DelayDistribution)


def delay_schema() -> dict[str, Any]:
    """The JSON Schema of a distribution."""
    time = {"type": "string", "pattern": Duration.dimension.pattern}

    def times(described: str, least: int, most: int | None = None) -> dict[str, Any]:
        bounds = {"minItems": least} | ({} if most is None else {"maxItems": most})
        return {"type": "array", "items": time, **bounds, "description": described}

    mean = "exponential: the mean, of which least is a part."
    median = "lognormal: the median; delays below least are drawn again."
    least = (
        "The shortest delay, with exponential and lognormal; by default that of the shared path."
    )
    sigma = f"lognormal: standard deviation of the logarithm, at most {WIDEST:g}."
    file = "empirical: the values, each equally likely; in a file also the name of a CSV file."
    column = "The column of the CSV file; its cells are times with units."
    return {
        "type": "object",
        "description": "The distribution of a delay; each flow has one draw.",
        "properties": {
            "uniform": times("uniform: the shortest and the longest delay.", 2, 2),
            "exponential": time | {"description": mean},
            "lognormal": time | {"description": median},
            "empirical": {
                "oneOf": [times(file, 1), {"type": "string"}],
                "description": file,
            },
            "least": time | {"description": least},
            "sigma": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": WIDEST,
                "description": sigma,
            },
            "column": {"type": "string", "description": column},
        },
        "additionalProperties": False,
    }


@dataclass(frozen=True)
class OrDistribution:
    """Annotation of a field: a :class:`DelayDistribution` in place of the usual type."""

    usual: Any
    """The usual type, with its annotations."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        def read(value: object, usual: Callable[[object], object]) -> object:
            if isinstance(value, Mapping | DelayDistribution):
                return _READ.validate_python(value)
            return usual(value)

        def write(value: Any) -> Any:
            if isinstance(value, DelayDistribution):
                return value.table()
            return [str(each) for each in value] if isinstance(value, list) else str(value)

        return core_schema.no_info_wrap_validator_function(
            read,
            handler.generate_schema(self.usual),
            serialization=core_schema.plain_serializer_function_ser_schema(write),
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        usual = TypeAdapter(self.usual).json_schema()
        return {"anyOf": [usual, {DECLARED: DelayDistribution.__name__}]}
