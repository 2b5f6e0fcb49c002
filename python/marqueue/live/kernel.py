"""AVQ at tc's egress hook and DCTCP as a congestion control, inside the Linux kernel by BPF.

Both need root and a build with the BPF programs; :func:`missing` says what is missing.
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
"""Bytes of a 1500-byte packet with its Ethernet header, as tc and its shapers count it."""

SIGNALS = ("ecn", "drop", "ecn-only")
"""How a congestion signal reaches the sender, as in scenarios."""

NAMESPACES = Path("/run/netns")
"""Directory of the named namespaces of ip-netns."""


AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
"""The congestion controls of the running kernel."""


class KernelRefused(MarqueueError):
    """The kernel, this build or this user cannot do it; the message says what is missing."""


@dataclass(frozen=True)
class Avq:
    """Parameters of AVQ in the kernel (Kunniyur and Srikant 2004, section II)."""

    rate: int
    """C, bit/s: the rate of the shaper below, counted with the same headers."""
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
        """Reads values as scenarios write them. Defaults are those of the paper: gamma 0.98, alpha
        0.15 /s, 100 packets.

        Raises MarqueueError with name, value and what was expected.
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
    """Settings and counters of AVQ at a device; packets are those on the wire."""

    rate: float
    """C, bit/s."""
    gamma: float | None
    """None if alpha is 0, where it has no meaning."""
    alpha: float
    """alpha as rounded by the fixed-point program, 1/s."""
    buffer: float
    """B, bytes."""
    signal: str
    virtual_capacity: float
    """C~ at the last packet, bit/s."""
    virtual_queue: float
    """VQ at the last packet, bytes."""
    packets: int
    bytes: int
    marked: int
    """Packets that were set to CE."""
    dropped: int
    already_ce: int
    """Packets to be marked that already had CE."""
    unmarked: int
    """Packets to be marked that passed unchanged: not IP, or not ECN-capable under ecn-only."""
    segmented: int
    """Socket buffers of several packets (GSO), which are marked as a whole."""

    def as_dict(self) -> dict[str, Any]:
        """By name."""
        return asdict(self)


def missing() -> str | None:
    """The reason why no program can be loaded here; None if it can."""
    return _core.kernel_missing()


def attach(device: str, avq: Avq, netns: str | None = None) -> bool:
    """Attaches AVQ to the egress of a device, before its shaper. Returns False if it was already
    there.

    AVQ that is already attached gets the new parameters and keeps its state and counters. It stays
    until :func:`detach`, or until the device is removed. ``netns`` is a name of ip-netns or the
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
    """Removes what :func:`attach` attached, and nothing else. Returns False if there was nothing.

    Raises KernelRefused.
    """
    try:
        return _core.avq_detach(device, _namespace(netns))
    except _core.KernelError as error:
        raise KernelRefused(str(error)) from None


def stats(device: str, netns: str | None = None) -> Stats | None:
    """The counters of AVQ at a device; None if it is not attached. Raises KernelRefused."""
    try:
        raw = _core.avq_stats(device, _namespace(netns))
    except _core.KernelError as error:
        raise KernelRefused(str(error)) from None
    return None if raw is None else Stats(**raw)


def dctcp_name() -> str:
    """The name under which :func:`dctcp` registers in this process."""
    return _core.Dctcp.name()


@contextmanager
def dctcp() -> Iterator[str]:
    """Context manager: DCTCP (RFC 8257) as a congestion control of this machine's TCP.

    Yields its name, as for ``iperf3 -C NAME``. The kernel unregisters it at the end or when the
    process ends; existing connections keep it. Each process registers its own, once. Both ends of a
    connection must select it and have tcp_ecn = 1. Raises KernelRefused if the kernel is older than
    6.4 or programs cannot be loaded.
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
    """A size in bytes, or in packets of :data:`FRAME` bytes."""
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
