"""AQMs at tc's hooks or as qdiscs, and DCTCP as a congestion control, in the Linux kernel by BPF.

Both need root and a build with the BPF programs; :func:`missing` says what is missing.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import marqueue._core as _core
from marqueue.errors import MarqueueError, one_of, show
from marqueue.scenario.parameters import Refused, Value, read_policy
from marqueue.units import PACKETS, Rate, Size

FRAME = 1514
"""Bytes of a 1500-byte packet with its Ethernet header, as tc and its shapers count it."""

SIGNALS = ("ecn", "drop", "ecn-only")
"""How a congestion signal reaches the sender, as in scenarios."""

HOOKS = ("egress", "ingress")
"""Where an AQM can be: at packets that a device is about to send, or at those that it has received,
before they are delivered or forwarded."""

BUFFERS = {"avq": "100 packets", "chokew": "500 packets"}
"""Sizes of the queues that AQMs of the kernel have of their own, unless they are told another."""

NAMESPACES = Path("/run/netns")
"""Directory of the named namespaces of ip-netns."""


AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
"""The congestion controls of the running kernel."""


class KernelRefused(MarqueueError):
    """The kernel, this build or this user cannot do it; the message says what is missing."""


@dataclass(frozen=True)
class Aqm:
    """An AQM for the kernel, at the shaper of a device."""

    name: str
    """One of :func:`names`."""
    parameters: Mapping[str, Value]
    """Given parameters, in base units; all others have their defaults."""
    rate: int | None
    """bit/s: the rate of the shaper below, counted with the same headers, or that of the qdisc; PI,
    scaled marking and DRQ at ingress need none."""
    buffer: int
    """AVQ's virtual queue or the queue of a qdisc, bytes; the others have none."""
    signal: str
    """One of :data:`SIGNALS`."""
    cgroup_weights: Mapping[str, float] = field(default_factory=dict)
    """CHOKeW: weights of packets by the cgroup of the socket that sends them."""

    @classmethod
    def read(
        cls,
        aqm: str | Mapping[str, object],
        rate: str | None = None,
        buffer: str | None = None,
        signal: str = "ecn",
        hook: str = "egress",
        cgroup_weights: Mapping[str, float] | None = None,
    ) -> "Aqm":
        """Reads values as scenarios write them: an AQM is a name, or a table with ``name`` and
        parameters. The virtual queue of AVQ has 100 packets by default, the queue of CHOKeW 500
        (section 4 of its paper). ``hook``, one of :data:`HOOKS`, is where it is to be attached: DRQ
        needs no rate at ingress. ``cgroup_weights``, 1 to 1e6, are by cgroup of version 2: its path
        in the hierarchy, or that of its folder.

        Raises MarqueueError with name, value and what was expected.
        """
        given = aqm if isinstance(aqm, str) else aqm.get("name")
        if given not in names():
            expected = f"expected one of {', '.join(names())}, for which there are programs"
            raise MarqueueError(f"aqm: got {show(given)}, {expected}")
        place = "rate"
        try:
            bits = None if rate is None else Rate.parse(rate).base
            if bits == 0:
                raise ValueError(f"got {show(rate)}, expected more than 0")
            place = "buffer"
            if buffer is not None and given not in BUFFERS:
                raise ValueError(
                    f"got {show(buffer)}, expected none: {given} has no queue of its own"
                )
            size = _bytes(buffer or BUFFERS.get(str(given), "100 packets"))
            if size < FRAME:
                raise ValueError(f"got {show(buffer)}, expected at least a packet of {FRAME} B")
            place = "signal"
            if signal not in SIGNALS:
                raise ValueError(f"got {show(signal)}, expected {one_of(SIGNALS)}")
            name, parameters = read_policy(aqm)
        except Refused as refused:
            where, message = refused.problems[0]
            raise MarqueueError(f"{'.'.join(map(str, where))}: {message}") from None
        except ValueError as error:
            raise MarqueueError(f"{place}: {error}") from None
        read = cls(name, parameters, bits, size, signal, cgroup_weights or {})
        try:
            _core.kernel_check(
                read.policy(),
                hook,
                rate=bits,
                packet=FRAME,
                buffer=size,
                cgroup_weights=list(read.cgroup_weights.items()),
            )
        except _core.KernelError as error:
            raise MarqueueError(str(error)) from None
        return read

    def policy(self) -> str:
        """The AQM as the engine reads it, JSON."""
        return json.dumps({"name": self.name, "params": dict(self.parameters)})


@dataclass(frozen=True)
class Stats:
    """Settings, state and counters of the AQM at a device; packets are those on the wire."""

    aqm: str
    rate: float | None
    """The rate of the shaper, bit/s; None for AQMs that go by none."""
    signal: str
    parameters: dict[str, float]
    """As rounded by the fixed-point program, in the units of scenarios; AVQ's buffer in bytes."""
    state: dict[str, float]
    """The AQM's variables at the last packet: rates in bit/s, queues in bytes, probabilities,
    prices."""
    packets: int
    bytes: int
    marked: int
    """Packets that were set to CE; with MKC, that took the price."""
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


def names() -> list[str]:
    """The AQMs that the kernel can have."""
    return _core.kernel_aqms()


def qdiscs() -> list[str]:
    """Those of :func:`names` that are the root qdisc of a device, and its shaper."""
    return _core.kernel_qdiscs()


def needs_queue(name: str, hook: str) -> bool:
    """Whether the AQM goes by the queue of the device's root qdisc at a hook, one of
    :data:`HOOKS`."""
    return _core.kernel_needs_queue(name, hook)


def missing() -> str | None:
    """The reason why no program can be loaded here; None if it can."""
    return _core.kernel_missing()


def attach(device: str, aqm: Aqm, netns: str | None = None, hook: str = "egress") -> bool:
    """Attaches an AQM to a device: to its egress, before its shaper, or to its ingress (avq and
    mkc, which go by arrivals alone, and drq, there the edge of its network), or, one of
    :func:`qdiscs`, as its root qdisc. Returns False if it was already there.

    An AQM that is already attached gets the new parameters and keeps its state and counters;
    another one at the same hook is replaced. It stays until :func:`detach`, or until the device is
    removed. ``netns`` is a name of ip-netns or the file of a network namespace; ``hook`` is one of
    :data:`HOOKS`. Raises KernelRefused.
    """
    try:
        return _core.kernel_attach(
            device,
            _namespace(netns),
            hook,
            aqm.policy(),
            rate=aqm.rate,
            packet=FRAME,
            buffer=aqm.buffer,
            signal=aqm.signal,
            cgroup_weights=list(aqm.cgroup_weights.items()),
        )
    except _core.KernelError as error:
        raise KernelRefused(str(error)) from None


def detach(device: str, netns: str | None = None, hook: str = "egress") -> bool:
    """Removes what :func:`attach` attached to a hook, and nothing else. Returns False if there was
    nothing.

    Raises KernelRefused.
    """
    try:
        return _core.kernel_detach(device, _namespace(netns), hook)
    except _core.KernelError as error:
        raise KernelRefused(str(error)) from None


def stats(device: str, netns: str | None = None, hook: str = "egress") -> Stats | None:
    """The counters of the AQM at a hook of a device; None if none is attached. Raises
    KernelRefused."""
    try:
        raw = _core.kernel_stats(device, _namespace(netns), hook)
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
