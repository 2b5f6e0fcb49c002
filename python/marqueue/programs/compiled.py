"""AQMs that Numba compiles (``marqueue.aqm(jit=True)``) to functions of C, which the engine calls
without the interpreter (``crates/py/src/program/compiled.rs``).

Inside compiled hooks, ``self`` is a record of floating-point numbers: the parameters, the probes,
and the numbers that the class has as attributes. ``packet`` and ``queue`` are records too. The
engine gives times in ns, and a hook that reads one divides: a division for each packet costs more
than a hook.
"""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numba
import numpy as np
from numba import carray  # type: ignore[attr-defined]
from numba.core import types
from numba.core.datamodel.models import RecordModel
from numba.core.datamodel.registry import register_default
from numba.extending import overload_attribute, overload_method

import marqueue._core as _core
from marqueue.programs.interface import Program

PACKET = np.dtype(
    [
        ("size", "i8"),
        ("flow", "i8"),
        ("seq", "i8"),
        ("ecn", "i8"),
        ("dscp", "i8"),
        ("sojourn_ns", "i8"),
    ],
    align=True,
)
"""``PacketRecord`` of the engine."""

QUEUE = np.dtype(
    [
        ("packets", "i8"),
        ("bytes", "i8"),
        ("delay_ns", "i8"),
        ("rate", "f8"),
        ("mean_packet", "i8"),
        ("limit", "f8"),
        ("is_full", "i8"),
        ("stream", "u8"),
    ],
    align=True,
)
"""``QueueRecord`` of the engine."""


R = TypeVar("R", bound=types.Record)


class PacketType(types.Record):
    """The type of ``packet``: a record with a time in seconds."""


class QueueType(types.Record):
    """The type of ``queue``: a record with a time in seconds and a method."""


register_default(PacketType)(RecordModel)
register_default(QueueType)(RecordModel)
_uniform = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_size_t)(_core.uniform_address())


@overload_method(QueueType, "uniform")
def _queue_uniform(queue: Any) -> Any:
    def uniform(queue: Any) -> Any:
        return _uniform(queue.stream)

    return uniform


@overload_attribute(PacketType, "sojourn")
def _packet_sojourn(packet: Any) -> Any:
    def sojourn(packet: Any) -> Any:
        return packet.sojourn_ns / 1e9

    return sojourn


@overload_attribute(QueueType, "delay")
def _queue_delay(queue: Any) -> Any:
    def delay(queue: Any) -> Any:
        return queue.delay_ns / 1e9

    return delay


def _record(kind: type[R], layout: Any) -> R:
    """The type of records with this layout."""
    plain: Any = numba.from_dtype(layout)
    fields: Any = [(name, each._asdict()) for name, each in plain.fields.items()]
    return kind(fields, plain.size, plain.aligned)


@dataclass(frozen=True)
class Code:
    """The compiled hooks of a class."""

    addresses: tuple[int, int, int, int]
    """Of start, on_arrival, on_departure and on_timer; 0 for one that the class does not have."""
    variables: Mapping[str, float]
    """The variables of a new object, in the order of the record."""
    hooks: tuple[Any, ...]
    """What keeps the code."""


def compile_program(program: Program) -> Code:
    """Compiles the hooks of a class. Raises errors of Numba, or TypeError for a variable that
    is no number."""
    variables = _variables(program)
    own = numba.from_dtype(np.dtype([(name, "f8") for name in variables], align=True))
    self_, packet, queue = (
        types.CPointer(each)  # type: ignore[no-untyped-call]
        for each in (own, _record(PacketType, PACKET), _record(QueueType, QUEUE))
    )
    now = types.int64
    deciding = types.int64(packet, queue, self_, now)
    waiting = types.float64(queue, self_, now)
    hooks = [
        _compiled(program.cls, "start", waiting, _START),
        _compiled(program.cls, "on_arrival", deciding, _DECIDE),
        _compiled(program.cls, "on_departure", deciding, _DECIDE),
        _compiled(program.cls, "on_timer", waiting, _TIMER),
    ]
    first, *others = (0 if each is None else int(each.address) for each in hooks)
    arrival, departure, timer = others
    return Code((first, arrival, departure, timer), variables, tuple(hooks))


def _variables(program: Program) -> dict[str, float]:
    """Parameters, which are set later, probes, and the class's other attributes."""
    own = {
        name: value
        for name, value in vars(program.cls).items()
        if not name.startswith("__") and not callable(value)
    }
    wrong = [name for name, value in own.items() if not isinstance(value, int | float)]
    wrong += [name for name, each in program.parameters.items() if each.choices]
    if wrong:
        raise TypeError(f"{program.cls.__name__}.{wrong[0]}: expected a number with jit=True")
    return dict.fromkeys(program.parameters, 0.0) | {
        name: float(value) for name, value in own.items()
    }


_DECIDE = """
def hook(packet, queue, own, now):
    try:
        return method(carray(own, 1)[0], carray(packet, 1)[0], carray(queue, 1)[0], now / 1e9)
    except Exception:
        return -1
"""
_TIMER = """
def hook(queue, own, now):
    try:
        return method(carray(own, 1)[0], carray(queue, 1)[0], now / 1e9)
    except Exception:
        return nan
"""
_START = _TIMER.replace(", now / 1e9)", ")")
"""What the engine calls. An error that a method raises cannot pass through a function of C."""


def _compiled(cls: type, name: str, signature: Any, text: str) -> Any:
    method = getattr(cls, name, None)
    if method is None:
        return None
    scope: dict[str, Any] = {
        "method": numba.njit(method),
        "carray": carray,
        "nan": float("nan"),
    }
    exec(text, scope)
    return numba.cfunc(signature)(scope["hook"])
