"""AVQ at tc's egress hook, and DCTCP as a congestion control, inside the Linux kernel by BPF.

Needs root, and a build that has the programs: :func:`missing` says what is not there.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import marqueue._core as _core
from marqueue.errors import MarqueueError, one_of, show
from marqueue.scenario.parameters import Refused, aqms
from marqueue.units import PACKETS, Rate, Size

FRAME = 1514
"""Bytes of a packet of 1500 in its Ethernet header, as tc and its shapers count it."""

SIGNALS = ("ecn", "drop", "ecn-only")
"""How a mark reaches the sender, as in scenarios."""

NAMESPACES = Path("/run/netns")
"""Where ip-netns keeps names."""


AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
"""The congestion controls of the running kernel."""


class KernelRefused(MarqueueError):
    """What the kernel, this build or this user cannot do; the message says what is missing."""


@dataclass(frozen=True)
class Avq:
    """AVQ as a kernel runs it: Kunniyur and Srikant 2004, section II."""

    rate: int
    """C in bit/s: what the shaper below lets through, counted as it counts."""
    gamma: float
    """Desired utilization."""
    alpha: float
    """Smoothing, 1/s."""
    buffer: int
    """B, the size of the virtual queue, in bytes."""
    signal: str
    """One of :data:`SIGNALS`."""

    @classmethod
    def read(
        cls,
        rate: str,
        gamma: float | None = None,
        alpha: str | None = None,
        buffer: str | None = None,
        signal: str = "ecn",
    ) -> "Avq":
        """From values as scenarios write them. What is not given is as in the paper: gamma 0.98,
        alpha 0.15 /s, 100 packets.

        Raises MarqueueError with the name, the value and what was expected.
        """
        declared = {spec.name: spec for spec in aqms()["avq"].params}
        given = {"gamma": gamma, "alpha": alpha}
        values: dict[str, Any] = {}
        try:
            name = "rate"
            values["rate"] = Rate.parse(rate).base
            if values["rate"] == 0:
                raise ValueError(f"got {show(rate)}, expected more than 0")
            for name, value in given.items():
                spec = declared[name]
                values[name] = spec.default if value is None else spec.read(value)
            name = "buffer"
            values["buffer"] = _bytes(buffer or "100 packets")
            name = "signal"
            if signal not in SIGNALS:
                raise ValueError(f"got {show(signal)}, expected {one_of(SIGNALS)}")
        except Refused as refused:
            raise MarqueueError(f"{name}: {refused.problems[0][1]}") from None
        except ValueError as error:
            raise MarqueueError(f"{name}: {error}") from None
        return cls(signal=signal, **values)


@dataclass(frozen=True)
class Stats:
    """What AVQ at a device was told and has done since; packets are those on the wire."""

    rate: float
    """C, bit/s."""
    gamma: float | None
    """None if alpha is 0, where it has no meaning."""
    alpha: float
    """1/s, as rounded."""
    buffer: float
    """B, bytes."""
    signal: str
    virtual_capacity: float
    """C~ as of the last packet, bit/s."""
    virtual_queue: float
    """VQ as of the last packet, bytes."""
    packets: int
    bytes: int
    marked: int
    """Those that got CE."""
    dropped: int
    already_ce: int
    """Those that were signalled and had CE when they came."""
    unmarked: int
    """Those that were signalled and passed as they were: no IP, or under ecn-only without ECN."""
    segmented: int
    """Socket buffers of several packets, of which all are marked or none."""

    def as_dict(self) -> dict[str, Any]:
        """By name."""
        return asdict(self)


def missing() -> str | None:
    """What is missing for a program to be loaded here, if anything."""
    return _core.kernel_missing()


def attach(device: str, avq: Avq, netns: str | None = None) -> bool:
    """Puts AVQ at the egress of a device, in front of what shapes it; True if it was not there.

    Where it is already it is told the new values, and goes on with its state and its counters. It
    stays until :func:`detach`, or until the device is gone. ``netns`` is a name of ip-netns or the
    file of a network namespace. Raises KernelRefused.
    """
    if avq.buffer < FRAME:
        raise MarqueueError(f"buffer: got {avq.buffer} B, expected at least a packet of {FRAME} B")
    try:
        return _core.avq_attach(
            device,
            _namespace(netns),
            rate=avq.rate,
            gamma=avq.gamma,
            alpha=avq.alpha,
            initial=1.0,
            buffer=avq.buffer,
            signal=avq.signal,
        )
    except _core.KernelError as error:
        raise KernelRefused(str(error)) from None


def detach(device: str, netns: str | None = None) -> bool:
    """Removes what :func:`attach` made, and nothing else; False if nothing was there.

    Raises KernelRefused.
    """
    try:
        return _core.avq_detach(device, _namespace(netns))
    except _core.KernelError as error:
        raise KernelRefused(str(error)) from None


def stats(device: str, netns: str | None = None) -> Stats | None:
    """What AVQ has done at a device; None if it is not there. Raises KernelRefused."""
    try:
        told = _core.avq_stats(device, _namespace(netns))
    except _core.KernelError as error:
        raise KernelRefused(str(error)) from None
    return None if told is None else Stats(**told)


def dctcp_name() -> str:
    """What :func:`dctcp` calls it in this process."""
    return _core.Dctcp.name()


@contextmanager
def dctcp() -> Iterator[str]:
    """DCTCP (RFC 8257) as a congestion control of this machine's TCP, under the name that is
    yielded, as in ``iperf3 -C NAME``.

    The kernel unregisters it when this ends, or when the process does, however that comes about;
    connections that use it keep it. Each process registers its own, once. Both ends of a connection
    must choose it, and have tcp_ecn = 1. Raises KernelRefused where the kernel is older than 6.4,
    or programs cannot be loaded.
    """
    name = dctcp_name()
    if name in AVAILABLE.read_text(encoding="ascii").split():
        yield name
        return
    try:
        registered = _core.Dctcp()
    except _core.KernelError as error:
        raise KernelRefused(str(error)) from None
    try:
        yield name
    finally:
        registered.close()


def _bytes(text: str) -> int:
    """A size, or packets of :data:`FRAME`."""
    try:
        return Size.parse(text).base
    except ValueError:
        pass
    try:
        return round(PACKETS.read(text) * FRAME)
    except ValueError:
        raise ValueError(
            f'got {show(text)}, expected {Size.dimension.expected}, or "100 packets" of {FRAME} B'
        ) from None


def _namespace(netns: str | None) -> Path | None:
    if netns is None:
        return None
    return Path(netns) if "/" in netns else NAMESPACES / netns
