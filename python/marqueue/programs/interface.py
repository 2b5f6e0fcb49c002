"""What a class consists of that is an AQM: hooks, parameters, probes and verdicts.

>>> import marqueue
>>> @marqueue.aqm
... class Half:
...     "Drops every packet with a probability."
...     p = marqueue.parameter(0.5, "Probability of a drop", at_least=0, at_most=1)
...     drops = marqueue.probe("packets")
...
...     def on_arrival(self, packet, queue, now):
...         if queue.uniform() >= self.p:
...             return marqueue.PASS
...         self.drops += 1
...         return marqueue.DROP
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, overload

PASS, MARK, DROP = 0, 1, 2
"""What ``on_arrival`` and ``on_departure`` return: let the packet pass; signal congestion, by CE or
by a drop, as the link's ``signal`` and the packet's ECN field say; drop it."""

VERDICTS = (PASS, MARK, DROP)

NOT_ECT, ECT1, ECT0, CE = 0, 1, 2, 3
"""The ECN field of a packet (RFC 3168, section 5)."""

AQM, CONTROL = "an AQM", "a congestion control"
"""What a class can be."""

C = TypeVar("C", bound=type)


@dataclass(frozen=True)
class Parameter:
    """A parameter, as the class declares it."""

    default: bool | int | float | str
    doc: str
    at_least: float | str | None
    at_most: float | str | None
    choices: tuple[str, ...]
    source: str


def parameter(
    default: bool | int | float | str,
    doc: str = "",
    *,
    at_least: float | str | None = None,
    at_most: float | str | None = None,
    choices: tuple[str, ...] = (),
    source: str = "the program",
) -> Any:
    """Declares a parameter of a class: an attribute of its objects.

    The default says what it is: a quantity with a unit (``"15 ms"``; scenarios then write it with
    a unit, and the attribute is in seconds, bit/s, bytes, packets or 1/s), a number, a flag, or one
    of ``choices``. Numbers are between ``at_least`` and ``at_most``, both included.
    """
    return Parameter(default, doc, at_least, at_most, tuple(choices), source)


@dataclass(frozen=True)
class Probe:
    """An internal variable, as the class declares it."""

    unit: str


def probe(unit: str = "1") -> Any:
    """Declares an internal variable of a class: an attribute of its objects that begins at 0 and is
    sampled into the time series of a result. ``unit`` is shown with it."""
    return Probe(unit)


@dataclass(frozen=True)
class Program:
    """A class that scenarios can name."""

    cls: type
    kind: str
    """:data:`AQM` or :data:`CONTROL`."""
    summary: str
    parameters: Mapping[str, Parameter]
    probes: Mapping[str, str]
    """The unit of each."""
    jit: bool = False
    """Whether Numba compiles it."""

    def begin(self, values: Mapping[str, object]) -> object:
        """A new object with these values of its parameters."""
        made: Any = object.__new__(self.cls)
        for name, value in values.items():
            setattr(made, name, value)
        made.__init__()
        return made


@overload
def aqm(cls: C, /) -> C: ...
@overload
def aqm(*, jit: bool = False) -> Callable[[C], C]: ...
def aqm(cls: C | None = None, /, *, jit: bool = False) -> C | Callable[[C], C]:
    """Makes a class an AQM that scenarios can name.

    Its hooks, of which it has at least ``on_arrival`` or ``on_departure``:

    - ``start(self, queue)``: the queue is empty, and the time is 0. Returns the seconds to the
      first call of ``on_timer``, or None.
    - ``on_arrival(self, packet, queue, now)``: a packet arrives and is not in the queue yet.
      Returns :data:`PASS`, :data:`MARK` or :data:`DROP`. A packet that does not fit is dropped
      whatever it returns.
    - ``on_departure(self, packet, queue, now)``: a packet leaves the queue. Returns the same; a
      drop is one at the head of the queue.
    - ``on_timer(self, queue, now)``: returns the seconds to its next call, or None.

    ``packet`` has ``size`` (bytes), ``flow``, ``seq``, ``ecn``, ``dscp`` and, at a departure,
    ``sojourn`` (s). ``queue`` has ``packets``, ``bytes``, ``delay`` (the age of its oldest packet,
    s), ``rate`` (bit/s), ``mean_packet`` (bytes), ``limit`` (packets), ``is_full`` and
    ``uniform()``, the next number of its own random stream. Both are valid during the call only.
    ``now`` is in seconds.

    With ``jit`` Numba compiles the hooks, and the engine calls them without the interpreter: for
    runs of many packets. All attributes of the object are floating-point numbers then, declared as
    parameters, as probes or as numbers in the class; ``start`` and ``on_timer`` return ``math.inf``
    in place of None; hooks call functions outside the class that have ``numba.njit``.

    Raises TypeError if the class has none of the hooks for packets.
    """
    return partial(_aqm, jit=jit) if cls is None else _aqm(cls, jit=jit)


def _aqm(cls: C, jit: bool) -> C:
    if not any(callable(getattr(cls, hook, None)) for hook in ("on_arrival", "on_departure")):
        raise TypeError(f"{cls.__name__}: expected a method on_arrival or on_departure")
    return _declare(cls, AQM, jit)


def congestion_control(cls: C, /) -> C:
    """Makes a class a congestion control of TCP that scenarios can name. Each flow has an object.

    Slow start, loss recovery and when the window comes down are those of every control. Its hooks:

    - ``on_ack(self, flow, now)``: new data was acknowledged in congestion avoidance. Returns the
      new congestion window in segments, at least 1; or that and a pacing rate in bit/s, which is
      used where the transport paces (``pacing = "window"``).
    - ``on_loss(self, flow)``: a loss was detected or the retransmission timer has expired. Returns
      the new window. What is sent next follows from it as under every control, with what is in
      flight (RFC 5681, equation (4)).
    - ``on_ecn(self, flow)``: an ECN echo, once a window of data. Returns the new window. Without it
      ``on_loss`` is called.
    - ``on_timeout(self)``: the retransmission timer has expired; the window is one segment.

    ``flow`` has ``cwnd``, ``ssthresh``, ``acked`` and ``outstanding`` (segments), ``rtt`` and
    ``srtt`` (s; 0 before the first) and ``segment`` (bytes). It is valid during the call only.

    Raises TypeError if a hook is missing.
    """
    missing = [hook for hook in ("on_ack", "on_loss") if not callable(getattr(cls, hook, None))]
    if missing:
        raise TypeError(f"{cls.__name__}: expected a method {' and '.join(missing)}")
    return _declare(cls, CONTROL)


def _declare(cls: C, kind: str, jit: bool = False) -> C:
    parameters, probes = _declared(cls, Parameter), _declared(cls, Probe)
    for name in parameters:
        if name in ("name", "sha256"):
            raise TypeError(f"{cls.__name__}: a parameter cannot be called {name}")
        delattr(cls, name)
    for name in probes:
        setattr(cls, name, 0.0)
    units = {name: each.unit for name, each in probes.items()}
    summary = (cls.__doc__ or "").strip().partition("\n")[0]
    cls.__marqueue__ = Program(cls, kind, summary, parameters, units, jit)  # type: ignore[attr-defined]
    return cls


D = TypeVar("D")


def _declared(cls: type, kind: type[D]) -> dict[str, D]:
    return {name: each for name, each in vars(cls).items() if isinstance(each, kind)}
