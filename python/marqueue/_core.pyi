"""The engine. Plans are JSON; results are dicts of numpy arrays, times in seconds."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, TypedDict, final

import numpy as np
import numpy.typing as npt

Kernels = Mapping[str, tuple[PathLike[str], PathLike[str], PathLike[str] | None]]
"""Image, first program and tc by name."""

Floats = npt.NDArray[np.float64]

def student_quantile(freedom: float, share: float) -> float:
    """The quantile of Student's distribution with so many degrees of freedom, not necessarily a
    whole number; loses digits above a thousand of them."""

class PlanError(ValueError):
    """A plan that cannot be run: path into the plan, message."""

    args: tuple[str, str]

class TraceFull(Exception):
    """A run whose traced links saw more than fits."""

class GuestFailed(Exception):
    """A kernel of a run died, hung, or broke a protocol."""

class FlowsNotWritten(OSError):
    """Rows of flows that leave a run could not be written."""

class ProgramFailed(Exception):
    """A program of the user's broke off; the cause is the error that it raised, if it did."""

def uniform_address() -> int:
    """The address of the function of C behind ``queue.uniform()`` in compiled hooks."""

@final
class Packet:
    """The packet that a hook of a program decides about."""

    size: int
    """Bytes."""
    flow: int
    """The index of its flow."""
    seq: int
    """Its sequence number."""
    ecn: int
    """The two bits of the ECN field."""
    dscp: int
    """Its code point."""
    sojourn: float
    """Time in the queue, s; 0 at an arrival."""

@final
class Queue:
    """The queue that a program manages."""

    packets: int
    """Packets in it, without the arriving or departing one."""
    bytes: int
    """Bytes in it, counted the same way."""
    delay: float
    """Age of its oldest packet, s."""
    rate: float
    """Rate of the server behind it, bit/s."""
    mean_packet: int
    """Usual size of a data packet, bytes."""
    limit: float
    """The buffer, in packets of this size."""
    is_full: bool
    """Would the packet that arrives overflow the buffer?"""
    def uniform(self) -> float:
        """The next number of the queue's own random stream, uniform on [0, 1)."""

@final
class Flow:
    """The flow that a congestion control decides about."""

    cwnd: float
    """Congestion window, segments."""
    ssthresh: float
    """Slow-start threshold, segments."""
    acked: float
    """Segments that the acknowledgement newly reports; 0 at a congestion signal."""
    outstanding: float
    """Segments that were outstanding before it."""
    rtt: float
    """The latest round-trip time, s; 0 before the first."""
    srtt: float
    """The smoothed round-trip time, s; 0 before the first."""
    segment: int
    """Payload of a segment, bytes."""

class Cancelled(Exception):
    """A run that was cancelled."""

class KernelError(Exception):
    """What the kernel or this build does not do."""

def exchange_paths(a: str | PathLike[str], b: str | PathLike[str]) -> None:
    """Swap what two paths name, in one step. Raises OSError; its errno is EINVAL where the file
    system cannot do it."""

def flush_file_system(path: str | PathLike[str]) -> None:
    """Flush everything of the file system that a path is on to the disk. Raises OSError; before
    Linux 5.8 not for data that could not be written."""

def indent_json(text: str) -> str:
    """JSON with an indent of two, as ``json.dumps`` writes it with ``indent=2``, but with arrays of
    numbers, booleans and nulls on one line. ``text`` is valid JSON without white space between
    tokens."""

class SoFar(TypedDict):
    """What a run has done so far. Arrays have an entry for each link with a queue."""

    events: int
    seconds: float
    """Simulated."""
    flows: int
    """That have been created."""
    samples: int
    """Bytes of the samples of links."""
    links: npt.NDArray[np.uint64]
    """Indices into the plan's links."""
    arrivals: Floats
    """Packets that have come."""
    left: Floats
    """Packets that were sent or dropped."""
    used: Floats
    """Bits that were sent, or cycles of a CPU that were used."""
    capacity: Floats
    """Bits that could have been sent, or cycles that there were."""

@final
class Control:
    """The line between one run and whoever watches it from another thread.

    If very many flows arrive, the rows of those that have ended go to a file without a name in the
    directory ``flows_in``, if it is given.

    ``look`` is called in the thread of the run, which waits: before the first event, again when as
    many events are done as it returned, and at the end. It cuts the run off by returning None. Such
    a run has one thread.
    """

    def __init__(
        self,
        max_events: int | None = None,
        flows_in: str | PathLike[str] | None = None,
        look: Callable[[SoFar], int | None] | None = None,
    ) -> None: ...
    def stop(self) -> None:
        """Cut the run off: what it measured so far is its result."""
    def cancel(self) -> None:
        """Ask the run to end without a result."""
    def done_secs(self) -> float:
        """Simulated seconds done so far."""

@final
class FlowFile:
    """The flows of one run in a file, which is gone when nothing refers to them."""

    nbytes: int
    """Bytes of all records."""
    layout: tuple[int, int, bool]
    """Number of flows, number of measuring windows, and whether there are propagation delays."""
    @staticmethod
    def open(
        path: str | PathLike[str], offset: int, rows: int, windows: int, propagation: bool
    ) -> FlowFile:
        """Records within another file, from byte ``offset`` on; the rest is their ``layout``."""
    def __len__(self) -> int:
        """Number of flows."""
    def columns(self, begin: int, end: int) -> dict[str, npt.NDArray[Any]]:
        """The flows from ``begin`` to ``end`` (excluded), as :func:`run` returns flows. Raises
        OSError."""
    def records(self, begin: int, end: int) -> bytes:
        """The same flows as they are in the file. Raises OSError."""

@final
class RateMap:
    """Rates of N sources on M resources, step by step (crates/theory, rates)."""

    def __init__(
        self,
        law: str,
        parameters: tuple[Floats, Floats],
        start: Floats,
        delay: npt.NDArray[np.uint32],
        route_edges: npt.NDArray[np.int64],
        resource: npt.NDArray[np.uint32],
        forward: npt.NDArray[np.uint32],
        resources: int,
        jitter: int,
        seed: int,
    ) -> None:
        """Source ``i`` crosses ``resource[h]``, ``forward[h]`` steps away, for ``h`` from
        ``route_edges[i]`` to ``route_edges[i + 1]``. The prices for its rate return ``delay[i]``
        steps after the rate was set, plus a random delay of up to ``jitter`` steps."""
    def arrivals(self) -> Floats:
        """The present arrival rate at each resource."""
    def rates(self, sources: npt.NDArray[np.int64]) -> Floats:
        """The present rates of some sources."""
    def step(self, prices: Floats) -> tuple[Floats, float, float, float, float]:
        """Advance by one step with the present ``prices``. Returns the arrivals, and sum, sum of
        squares, minimum and maximum of the rates."""

def square_root_rates(
    first: npt.NDArray[np.int64],
    links: npt.NDArray[np.int64],
    shares: Floats,
    capacity: Floats,
    weights: Floats,
    wanted: Floats,
    rounds: int,
) -> Floats:
    """Rates of TCP flows that cross several bottlenecks (crates/theory, square_root_law); see
    marqueue.scenario.hybrid.square_root_law."""

def shortest_routes(
    nodes: int,
    edges: Sequence[tuple[int, int, int, str, int]],
    pairs: Sequence[tuple[int, int]],
) -> list[tuple[int, ...]]:
    """Routes of least delay in a graph (crates/theory, shortest_routes); see
    marqueue.scenario.routing. An edge is its start, its end, its delay in ns, its name and what it
    is in routes."""

class FluidError(ValueError):
    """An invalid description of a fluid model; the arguments are path and message."""

class FluidModel:
    """A fluid model of a description in JSON; see marqueue.theory.fluid.model."""

    def __init__(self, description: str) -> None: ...
    def states(self) -> list[tuple[str, str, float, float]]:
        """Name, unit, lower and upper bound of each state."""
    def queues(self) -> list[int]:
        """The index of the queue of each link."""
    def start(self) -> Floats:
        """The states at the beginning."""
    def lags(self, t: float, y: Floats) -> Floats:
        """The delays in the state ``y``, s."""
    def rhs(self, t: float, y: Floats, delayed: Floats) -> Floats:
        """The slopes of all states; ``delayed`` has the states at each delay, ``(delays, n)``."""
    def jacobian(
        self, t: float, y: Floats, constant_feedback: bool
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Delays, slopes, and the derivatives of slopes by the present states and by the states at
        each delay, at rest. With ``constant_feedback``, links' feedback counts as constant."""
    def observe(self, t: float, y: Floats) -> dict[str, Floats]:
        """Observations of links and classes at rest."""
    def integrate(
        self, times: Floats, start: Floats, tolerance: float, max_step: float
    ) -> dict[str, Any]:
        """Solve from 0 to the last of ``times``. Raises ArithmeticError if the solver fails."""

def fluid_batch(
    descriptions: str, times: Floats, tolerance: float, max_step: float
) -> list[dict[str, Floats] | str]:
    """The observations of each model of a JSON list, or its error message."""

@final
class TcpSender:
    """A TCP sender without a network, whose application writes in pieces. Segments have numbers, 0
    is the SYN; times are in ns. What leaves is (segment, ECN-capable, CWR)."""

    def __init__(self, preset: str, parameters: str) -> None:
        """``parameters`` is JSON: what differs from the preset. Raises ValueError."""
    def start(self, now: int) -> list[tuple[int, bool, bool]]:
        """Open the connection."""
    def write(self, now: int, segments: int) -> list[tuple[int, bool, bool]]:
        """The application writes so many more segments."""
    def on_ack(
        self,
        now: int,
        ack: int,
        sack: Sequence[tuple[int, int]],
        timestamps: tuple[int, int] | None,
        feedback: tuple[int, tuple[int, int, int] | None],
        window: int,
    ) -> list[tuple[int, bool, bool]]:
        """An acknowledgement arrives, with the receiver's window in segments. ``timestamps`` are
        the receiver's and the echoed one. ``feedback`` is its ECN flags as the number AE CWR ECE
        (RFC 9768, section 3.1), of which ECE alone is the echo of RFC 3168, and AccECN's counters
        of bytes with ECT(0), CE and ECT(1)."""
    def on_timer(self, now: int) -> list[tuple[int, bool, bool]]:
        """The timer of ``deadline`` expires."""
    def deadline(self) -> int | None:
        """When the next timer expires."""
    def timestamp(self, now: int) -> int:
        """The timestamp of a segment sent now."""
    def info(self) -> dict[str, Any]:
        """Windows in segments, times in s, counts, and the phase of loss recovery."""

@final
class LiveLink:
    """The network of a plan between two TUN devices, for real packets."""

    packet_time: float | None
    """Transmission time of a packet of mean size on the fastest managed queue, s."""
    is_broken: bool
    """Whether the link has ended because a program that it names broke off."""

    def __init__(
        self,
        plan_json: str,
        seed: int,
        near: tuple[str, str | None],
        far: tuple[str, str | None],
        mtu: int,
        hosts: list[tuple[int, int, bool] | None],
        *,
        longest_poll: float | None = None,
        own_processor: str | None = None,
        share_samples: bool = False,
    ) -> None:
        """Create both devices, each given by its name and the file of its network namespace (None:
        that of the caller). ``hosts`` has, by the last 16 bits of addresses, the route of packets,
        their processing class, and whether they cross the network with an ECN field that begins
        with 00; None for numbers in no use. It is empty if all packets take the only route. The
        link's thread polls for ``longest_poll`` (s; 40 us by default) before a packet is due, or
        all the time, on the isolated processor of the control group whose ``cgroup.threads`` is
        ``own_processor``. With ``share_samples``, samples are returned by :meth:`samples` instead
        of :meth:`finish`. Raises PlanError if the plan cannot be run, ProgramFailed if a program
        cannot begin, OSError if a device cannot be created."""
    def start(self) -> float:
        """Start to forward packets in a thread of its own. Returns the time on the system's
        monotonic clock at which the link's clock is zero, s. Raises OSError if the thread cannot
        enter the control group of its processor."""
    def samples(self) -> list[dict[str, Any]]:
        """The samples since the last call, one for each queue and instant: ``link`` (index into the
        plan's), ``rate`` (bit/s since the one before), ``delay_p50`` and ``delay_p99`` (s, of the
        packets since the one before, NaN without any), ``series`` (columns of one row)."""
    def finish(self) -> dict[str, Any]:
        """Stop the link. Returns its measurements, and under ``audit`` whether the machine kept up.
        The devices stay open as long as this object. Raises OSError if one was removed,
        ProgramFailed if a program has broken off."""

class PacedFlows:
    """Rate-based flows of a plan with real packets, on UDP sockets, in one thread."""

    def __init__(
        self, plan_json: str, flows: list[tuple[int, float, str, str]], near: str, far: str
    ) -> None:
        """Open all sockets. Each flow has its entry in the plan's traffic, its start (s), and the
        addresses with ports of its sender and its receiver; ``near`` and ``far`` are the files of
        their network namespaces. Raises PlanError if the plan cannot be run, OSError if a socket
        cannot be opened."""
    def start(self, epoch: float) -> None:
        """Start to send. Time zero is ``epoch`` on the system's monotonic clock, s."""
    def finish(self) -> tuple[float | None, list[dict[str, Any]]]:
        """Wait for the end of the run. Returns how late packets were (99th percentile, as a share
        of the time between two of a flow; None if none was sent), and for each flow ``sent``,
        ``timeouts``, ``ecn_cuts``, ``received`` (bytes on the wire by each edge of the measuring
        windows) and, if it is traced, ``trace`` (columns ``t`` in s, ``rate`` in bit/s,
        ``price``). Raises OSError if a socket failed."""

def red_parameters(given: str, per_second: float, delay: float) -> tuple[float, float, float]:
    """RED's thresholds (packets) and weight, computed where JSON parameters do not give them."""

class WindowChain:
    """The chain of windows under scaled marking, lumped over window values."""

    def __init__(
        self,
        curve: tuple[str, float, float, float, float],
        queue: str,
        classes: Sequence[tuple[int, int]],
        slots: int,
        ct: float,
        max_window: int,
        seed: int,
        name: str,
        start: Sequence[float] | None = None,
    ) -> None:
        """``curve`` is a text, N, a, b and the buffer of one flow; each class has flows and slots
        in its round trip, of which T has ``slots``. ``start`` has a share of flows for each
        window."""
    def run(self, steps: int) -> tuple[Floats, Floats, Floats]:
        """Advance by ``steps`` slots. Returns the load and the sum of windows at the start of each
        slot, and the number of flows at each window summed over slots, ``(classes, windows)``."""

class ChainQueue:
    """A queue (mm1 or md1) under a scaled curve of marking."""

    def __init__(self, curve: tuple[str, float, float, float, float], queue: str) -> None: ...
    @property
    def buffer(self) -> int:
        """Packets."""
    @property
    def warning(self) -> str | None:
        """A warning about the exponents, or None."""
    def curve(self, queue: Floats) -> Floats:
        """The marking probability at each queue length."""
    def marking(self, loads: Floats, packets: Floats) -> Floats:
        """The probability that at least one of ``packets[j]`` packets is marked at ``loads[i]``,
        ``(loads, packets)``."""
    def tail(self, loads: Floats, lengths: Floats) -> Floats:
        """P(Q >= n) for each n, averaged over loads; 1 at loads of 1 and more."""
    def full(self, loads: Floats, buffer: int) -> Floats:
        """P(Q >= buffer) at each load; 1 at a load of 1 and more."""
    def loss(self, loads: Floats, buffer: int) -> Floats:
        """The share of packets that find a buffer full, at each load, in equilibrium."""

class PacketLevelChain:
    """A packet-level version of the chain of windows, between the chain and TCP."""

    def __init__(
        self,
        curve: tuple[str, float, float, float, float],
        sending: str,
        queue: str,
        adds_delay: bool,
        classes: Sequence[tuple[int, float]],
        ct: float,
        max_window: float,
        seed: int,
        name: str,
    ) -> None:
        """``curve`` as in WindowChain; ``sending`` is rounds, poisson or ack_clocked;
        ``queue`` is stationary, mm1 or md1. Each class has a number of flows and a round-trip time
        in units of T."""
    def run(self, samples: int, every: float) -> tuple[Floats, Floats, Floats]:
        """Advance by ``samples`` samples, ``every`` T apart. Returns the sum of windows at each
        sample, and for each flow the sum of its windows and of their squares."""
    @property
    def entered(self) -> int:
        """Number of packets that entered the queue so far."""

def version() -> str:
    """The version of the engine."""

def catalogue() -> str:
    """What scenarios can choose from, as JSON (``marqueue.scenario.catalogue``)."""

def read_marking_curve(text: str) -> str:
    """A marking curve as it is written; ValueError with what was expected if the text is none."""

def check(plan_json: str) -> list[str]:
    """What is to be said of the plan's queues; raise PlanError if it cannot be run."""

def estimated_bytes(plan_json: str, rows_leave: bool = False) -> float:
    """An estimate of the largest memory that a run takes, bytes, if rows of flows leave it or
    not."""

def estimated_memory(
    plan_json: str,
) -> tuple[tuple[float, float, float, float, float, int], tuple[float, float, float, float]]:
    """What a run takes whose rows of flows leave it, and what its result has: the fields of
    ``marqueue.simulation.memory.Estimate``, then those of its parts."""

def threads_for(plan_json: str, most: int) -> tuple[int, str | None]:
    """On how many threads, at most ``most``, a plan runs, and why on no more if it is one."""

def threads_that_pay(plan_json: str, most: int) -> int:
    """On how many threads, at most ``most``, a plan runs faster than on one."""

def run(
    plan_json: str,
    seed: int,
    control: Control,
    kernels: Kernels | None = None,
    threads: int = 1,
) -> dict[str, Any]:
    """Run a plan on at most ``threads`` threads; other threads go on meanwhile. The flows are
    columns by name, or a FlowFile if rows have left the run. Raises GuestFailed if a kernel fails,
    and FlowsNotWritten."""

def replication_seed(seed: int, replication: int) -> int:
    """The engine's seed of a replication, counted from 0: the first 64-bit word that numpy's
    ``SeedSequence([seed, replication])`` generates."""

def digest(
    plan_json: str,
    seed: int,
    kernels: Kernels | None = None,
    threads: int = 1,
    messages: bool = False,
) -> str:
    """Run a plan; the digest of its whole result, equal on all platforms and for any number of
    ``threads``. ``messages`` asks kernels for messages where they could do without: the result is
    the same, and it takes twice as long."""

def write_pcapng(
    path: str | PathLike[str],
    interface: str,
    transports_json: str,
    flows: Mapping[str, Any],
    packets: Mapping[str, Any],
) -> None:
    """Write packets (columns, in the order of time) into a pcapng file of one interface.

    ``flows`` has one row a flow: class (uint32) and transport (int64, -1 for UDP). ``packets`` has
    ns (uint64), flow, seq, bytes (uint32), ecn (uint8: 0 not ECT, 1 ECT, 2 CE), inbound, ack, syn,
    ece, cwr (bool), timestamp (int64; -1 for none), and sack (uint32), of which packet ``i`` has
    those from ``sack_edges[i]`` to ``sack_edges[i + 1]`` (int64). Raises OSError if the file cannot
    be written.
    """

def kernel_missing() -> str | None:
    """What is missing for a program to be loaded into the kernel, if anything."""

def kernel_aqms() -> list[str]:
    """Names of the AQMs that the kernel can have."""

def kernel_qdiscs() -> list[str]:
    """Names of those that are the root qdisc of a device."""

def kernel_needs_queue(aqm: str, hook: str) -> bool:
    """Does an AQM go by the queue of the root qdisc at a hook? Raises KernelError."""

def kernel_check(
    policy: str,
    hook: str,
    *,
    rate: int | None,
    packet: int,
    buffer: int,
    cgroup_weights: Sequence[tuple[str, float]],
) -> None:
    """Raise KernelError if the kernel's AQMs cannot hold a policy (JSON) at a shaper of ``rate``
    bit/s, with packets of ``packet`` bytes and a buffer, or with AVQ a virtual queue, of ``buffer``
    bytes, and weights by cgroup."""

def kernel_attach(
    device: str,
    netns: str | PathLike[str] | None,
    hook: str,
    policy: str,
    *,
    rate: int | None,
    packet: int,
    buffer: int,
    signal: str,
    cgroup_weights: Sequence[tuple[str, float]],
) -> bool:
    """Put an AQM at a device's egress or ingress, or make it its root qdisc, or tell it the new
    law; was it not there?

    Arguments as for :func:`kernel_check`; ``netns`` is the file of a network namespace. Raises
    KernelError.
    """

def kernel_detach(device: str, netns: str | PathLike[str] | None, hook: str) -> bool:
    """Remove it; was it there? Raises KernelError."""

def kernel_stats(
    device: str, netns: str | PathLike[str] | None, hook: str
) -> dict[str, Any] | None:
    """What the AQM was told and has done at a device (crates/bpf, Stats); None if none is there.
    Raises KernelError."""

@final
class Dctcp:
    """DCTCP as a congestion control of this machine, until it is closed or its process ends."""

    def __init__(self) -> None:
        """Register it. Raises KernelError."""
    @staticmethod
    def name() -> str:
        """By which that of this process is chosen."""

    def close(self) -> None:
        """Unregister it; connections that use it keep it."""
