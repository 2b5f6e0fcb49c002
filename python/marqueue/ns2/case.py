"""A dumbbell for both simulators, and how ns-2 names and counts its parts.

DropTail, REM and GK of ns-2 hold one packet less than their limit. AVQ, REM and GK never drop a
packet that is not ECN-capable. AVQ begins at 0.8 C.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from marqueue.scenario import Scenario, from_dict
from marqueue.scenario.dumbbell import dumbbell

Settings = Mapping[str, Any]
Thresholds = tuple[float, float, float]
"""min_th and max_th, packets, and max_p."""

#: Code point of `in` packets.
INSIDE = "AF11"


@dataclass(frozen=True)
class Queue:
    """A managed queue: ns-2's class with settings and limit, and the same queue here."""

    ns2: str
    limit: int
    settings: Settings
    aqm: Settings
    buffer: int
    signal: str = "drop"


def droptail(limit: int) -> Queue:
    """First in, first out."""
    return Queue("DropTail", limit, {}, {"name": "droptail"}, limit - 1)


def red(
    limit: int,
    min_th: float,
    max_th: float,
    *,
    signal: str = "ecn",
    max_p: float = 0.1,
    w_q: float = 0.002,
    gentle: bool = True,
    wait: bool = True,
    mark_p: float | None = None,
    packet: int = 1000,
) -> Queue:
    """RED in packets; without ``mark_p`` packets that can be marked are never dropped early."""
    settings = {
        "thresh_": min_th,
        "maxthresh_": max_th,
        "linterm_": 1 / max_p,
        "q_weight_": w_q,
        "gentle_": gentle,
        "wait_": wait,
        "setbit_": signal == "ecn",
        "mean_pktsize_": packet,
        "bytes_": False,
        "queue_in_bytes_": False,
        "use_mark_p_": mark_p is not None,
        "mark_p_": mark_p or 0.1,
    }
    aqm = {
        "name": "red",
        "min_th": f"{min_th} packets",
        "max_th": f"{max_th} packets",
        "max_p": max_p,
        "w_q": w_q,
        "gentle": gentle,
        "wait": wait,
        "mark_p": mark_p or 1.0,
    }
    return Queue("RED", limit, settings, aqm, limit, signal)


def rio(limit: int, inside: Thresholds, outside: Thresholds) -> Queue:
    """Gentle RIO in packets; `in` and `out` packets differ by code point, in ns-2 by flow id."""
    settings = {
        "in_thresh_": inside[0],
        "in_maxthresh_": inside[1],
        "in_linterm_": 1 / inside[2],
        "out_thresh_": outside[0],
        "out_maxthresh_": outside[1],
        "priority_method_": 1,
    }
    aqm: dict[str, Any] = {"name": "rio", "in_dscp": INSIDE, "w_q": 0.002, "gentle": True}
    for name, (min_th, max_th, max_p) in {"in": inside, "out": outside}.items():
        aqm |= {
            f"{name}_min_th": f"{min_th} packets",
            f"{name}_max_th": f"{max_th} packets",
            f"{name}_max_p": max_p,
        }
    of_red = red(limit, outside[0], outside[1], max_p=outside[2], signal="drop").settings
    return Queue("RED/RIO", limit, {**of_red, **settings}, aqm, limit)


def avq(
    limit: int,
    *,
    buffer: float = 1.0,
    gamma: float = 0.98,
    mode: str = "packets",
    marks: bool = True,
) -> Queue:
    """AVQ with a virtual buffer of ``buffer`` times the real one."""
    settings = {
        "markpkts_": marks,
        "queue_in_bytes_": mode == "bytes",
        "mean_pktsize_": 1000,
        "gamma_": gamma,
        "buflim_": buffer,
    }
    aqm = {
        "name": "avq",
        "gamma": gamma,
        "initial": 0.8,
        "buffer": f"{buffer * limit:g} packets",
        "mode": mode,
    }
    return Queue("Vq", limit, settings, aqm, limit, "ecn-only" if marks else "drop")


def gkvq(limit: int, *, theta: float = 0.9) -> Queue:
    """GKVQ, whose virtual buffer is a fraction of the limit, not of the queue's capacity."""
    settings = {"ecnlim_": theta, "mean_pktsize_": 1000}
    return Queue("GK", limit, settings, {"name": "gkvq", "theta": theta}, limit, "ecn-only")


def rem(limit: int, q_ref: float, *, marks: bool = True) -> Queue:
    """REM; without ECN its marks are losses."""
    settings = {"markpkts_": marks, "pbo_": q_ref, "mean_pktsize_": 1000, "qib_": False}
    aqm = {"name": "rem_rate", "q_ref": f"{q_ref} packets"}
    return Queue("REM", limit, settings, aqm, limit - 1, "ecn-only" if marks else "drop")


def pi(
    limit: int, q_ref: float, *, marks: bool = True, a: float = 1.822e-5, b: float = 1.816e-5
) -> Queue:
    """The PI controller; without ECN its marks are losses."""
    settings = {
        "qref_": q_ref,
        "a_": a,
        "b_": b,
        "setbit_": marks,
        "mean_pktsize_": 1000,
        "bytes_": False,
        "queue_in_bytes_": False,
    }
    aqm = {"name": "pi", "q_ref": f"{q_ref} packets", "a": a, "b": b}
    return Queue("PI", limit, settings, aqm, limit, "ecn" if marks else "drop")


NS2_TCP = {"reno": "Reno", "newreno": "Newreno", "sack": "Sack1"}


@dataclass(frozen=True)
class Case:
    """A dumbbell: times in seconds, rates in bit/s, sizes in bytes."""

    name: str
    queue: Queue
    tcp: str = "reno"
    ecn: bool = True
    flows: int = 60
    inside: int = 0
    """Number of these flows, counted from the last, that send `in` packets; if there are any,
    constant-rate flows send `in` packets, too."""
    rtts: Sequence[float] = (0.04, 0.06, 0.08, 0.1, 0.13)
    rate: int = 10_000_000
    delay: float = 0.005
    access: int = 1_000_000_000
    own: bool = False
    """Whether each flow has access links of its own; else all flows of a class share them."""
    far: float = 0.005
    segment: int = 1000
    jitter: float = 1.0
    duration: float = 150.0
    edges: Sequence[float] = (50.0,)
    short_rate: float = 0.0
    short_start: float = 0.0
    cbr: int = 0
    cbr_rate: int = 1_000_000
    delayed_ack: float = 0.0
    tcp_set: Settings = field(default_factory=dict)
    """Settings of Agent/TCP in addition to those of dumbbell.tcl."""
    transport: Settings = field(default_factory=dict)
    """The same settings here, in addition to the preset ns2."""

    @property
    def offered(self) -> int:
        """Approximate arrival rate at the bottleneck, bit/s."""
        return self.rate + self.cbr * self.cbr_rate

    def ns2_arguments(self, seed: int) -> dict[str, str]:
        """Keys and values of ns2/dumbbell.tcl."""
        sink = "TCPSink/Sack1" if self.tcp == "sack" else "TCPSink"
        values: dict[str, Any] = {
            "seed": seed,
            "duration": self.duration,
            "edges": self.edges,
            "rate": self.rate,
            "delay": self.delay,
            "access": self.access,
            "own": self.own,
            "far": self.far,
            "rtts": self.rtts,
            "queue": self.queue.ns2,
            "limit": self.queue.limit,
            "queue_set": _flat(self.queue.settings),
            "tcp": NS2_TCP[self.tcp],
            "sink": f"{sink}/DelAck" if self.delayed_ack else sink,
            "ecn": self.ecn,
            "segment": self.segment,
            "tcp_set": _flat(self.tcp_set),
            "flows": self.flows,
            "inside": self.inside,
            "jitter": self.jitter,
            "short_rate": self.short_rate,
            "short_start": self.short_start,
            "cbr": self.cbr,
            "cbr_rate": self.cbr_rate,
        }
        return {key: _tcl(value) for key, value in values.items()}

    def scenario(self, replications: int = 1) -> Scenario:
        """The same dumbbell as a scenario, without time series."""
        tcp = {"kind": "tcp", "jitter": _s(self.jitter)}
        traffic: list[Settings] = [tcp | {"name": "long", "count": self.flows - self.inside}]
        if self.inside:
            traffic.append(tcp | {"name": "in", "count": self.inside, "dscp": INSIDE})
        if self.short_rate:
            traffic.append(
                {
                    "name": "short",
                    "kind": "poisson",
                    "rate": f"{self.short_rate} /s",
                    "size": "20 packets",
                    "start": _s(self.short_start),
                }
            )
        if self.cbr:
            traffic.append(
                {
                    "name": "cbr",
                    "kind": "cbr",
                    "count": self.cbr,
                    "rate": f"{self.cbr_rate} bit/s",
                    "packet": "1000 B",
                    "jitter": _s(self.jitter),
                    "dscp": INSIDE if self.inside else "DF",
                }
            )
        return from_dict(
            {
                "name": self.name,
                "duration": _s(self.duration),
                "cuts": [_s(t) for t in self.edges],
                "replications": replications,
                "sample": "0 s",
                "topology": dumbbell(
                    self,
                    buffer=self.queue.buffer,
                    aqm=self.queue.aqm,
                    signal=self.queue.signal,
                    packet=self.segment,
                    own=self.own,
                ),
                "transport": {
                    "default": {
                        "preset": "ns2",
                        "recovery": self.tcp,
                        "ecn": self.ecn,
                        "segment": f"{self.segment} B",
                        "delayed_ack": _s(self.delayed_ack),
                    }
                    | dict(self.transport)
                },
                "traffic": traffic,
            }
        )


def _s(seconds: float) -> str:
    return f"{seconds} s"


def _flat(settings: Settings) -> list[Any]:
    return [each for pair in settings.items() for each in pair]


def _tcl(value: Any) -> str:
    match value:
        case bool():
            return str(int(value))
        case list() | tuple():
            return " ".join(_tcl(each) for each in value)
    return str(value)
