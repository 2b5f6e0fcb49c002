"""A dumbbell for both simulators, and how ns-3 names and counts its parts.

ns-3 sets TCP and queue disciplines by attributes. Its CoDel stops below a number of bytes and not
of packets, and its disciplines see packets without the two bytes of the link's header.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from marqueue.scenario import Scenario, from_dict
from marqueue.scenario.dumbbell import dumbbell

Settings = Mapping[str, Any]
Control = Literal["cubic", "reno", "dctcp"]

PACKET = 1500
"""A full packet on the wire, bytes."""
LINK_HEADER = 2
"""Bytes of the wire that ns-3's disciplines do not see."""
ONE_PACKET = PACKET - LINK_HEADER + 1
"""More bytes than one packet: CoDel of ns-3 does not signal below."""

CONTROLS: Mapping[Control, str] = {
    "cubic": "ns3::TcpCubic",
    "reno": "ns3::TcpNewReno",
    "dctcp": "ns3::TcpDctcp",
}
HALVING_DCTCP = "dumbbell::HalvingDctcp"
"""DCTCP of ns-3 with the answer to losses of RFC 8257, section 3.5."""

Reduction = Literal["cut", "prr"]

RECOVERIES: Mapping[Reduction, str] = {
    "cut": "ns3::TcpClassicRecovery",
    "prr": "ns3::TcpPrrRecovery",
}
"""How the window comes down in recovery: at once, or in proportion to delivered data."""

TRANSPORT: Settings = {
    "segment": "1460 B",
    "initial_window": "10 packets",
    "delayed_ack": "0 s",
}
"""TCP here as in network.h and dumbbell.cc, in addition to the preset rfc."""

LINUX_CUBIC: Settings = {
    "cubic_reno_rate": False,
    "cubic_count_segments": True,
    "cubic_first_growth": 0.05,
}
"""CUBIC of ns-3 follows Linux where it differs from RFC 9438."""


CWR_STATE: Settings = {
    "ecn_reduction": "prr",
    "ecn_reduction_base": "cwnd",
    "loss_detection": "rack",
}
"""After an ECN echo ns-3, as Linux, does not open the window before what was outstanding is
acknowledged, and leaves two segments at least."""


@dataclass(frozen=True)
class Queue:
    """A managed queue: ns-3's class with attributes, and the same queue here."""

    ns3: str
    limit: int
    """Packets, without the one in transmission."""
    attributes: Settings
    aqm: Settings
    marks: bool = False


def pfifo(limit: int) -> Queue:
    """First in, first out."""
    return Queue("FifoQueueDisc", limit, {}, {"name": "droptail"})


def codel(limit: int, *, marks: bool) -> Queue:
    """CoDel of RFC 8289."""
    return Queue("CoDelQueueDisc", limit, {"UseEcn": marks}, {"name": "codel"}, marks)


def fq_codel(limit: int, *, marks: bool) -> Queue:
    """FQ-CoDel of RFC 8290, whose CoDel looks at the packet's own queue."""
    aqm = {"name": "fq_codel", "quantum": f"{PACKET} B", "occupancy": "per_queue"}
    return Queue("FqCoDelQueueDisc", limit, {"UseEcn": marks}, aqm, marks)


def pie(limit: int, *, marks: bool, derandomization: bool) -> Queue:
    """PIE of RFC 8033, which takes the sojourn time of the last departure for the delay."""
    attributes = {"UseEcn": marks, "UseDerandomization": derandomization}
    aqm = {"name": "pie", "delay_estimate": "timestamps", "derandomization": derandomization}
    return Queue("PieQueueDisc", limit, attributes, aqm, marks)


def red(
    limit: int,
    min_th: float,
    max_th: float,
    *,
    marks: bool,
    max_p: float = 0.1,
    w_q: float = 0.002,
    wait: bool = True,
) -> Queue:
    """Gentle RED in packets."""
    attributes = {
        "MinTh": min_th,
        "MaxTh": max_th,
        "LInterm": 1 / max_p,
        "QW": w_q,
        "Gentle": True,
        "Wait": wait,
        "UseHardDrop": False,
        "UseEcn": marks,
        "MeanPktSize": PACKET,
    }
    aqm = {
        "name": "red",
        "min_th": f"{min_th} packets",
        "max_th": f"{max_th} packets",
        "max_p": max_p,
        "w_q": w_q,
        "wait": wait,
    }
    return Queue("RedQueueDisc", limit, attributes, aqm, marks)


@dataclass(frozen=True)
class Case:
    """A dumbbell: times in seconds, rates in bit/s."""

    name: str
    control: Control
    queue: Queue
    flows: int
    rate: int
    duration: float
    begin: float
    """Of measuring."""
    reduction: Reduction = "cut"
    """In loss recovery, in both."""
    ecn_reduction: Reduction = "cut"
    """After an ECN echo, here."""
    seeds: int = 4
    """Of ns-3."""
    ns3_control: str = ""
    """ns-3's congestion control, if not that of ``CONTROLS``."""
    rtts: Sequence[float] = (0.0437, 0.0619, 0.0783, 0.1021, 0.1297)
    """Their differences are not multiples of a transmission time."""
    delay: float = 0.005
    access: int = 1_000_000_000
    far: float = 0.005
    jitter: float = 1.0

    @property
    def ecn(self) -> bool:
        """Whether TCP negotiates ECN."""
        return self.queue.marks or self.control == "dctcp"

    def ns3_arguments(self, seed: int) -> dict[str, str]:
        """Keys and values of ns3/dumbbell.cc."""
        attributes = {"MaxSize": f"{self.queue.limit}p", **self.queue.attributes}
        match self.queue.ns3:
            case "RedQueueDisc":
                attributes |= {"LinkBandwidth": f"{self.rate}bps", "LinkDelay": f"{self.delay}s"}
            case "FqCoDelQueueDisc":
                attributes |= {"Perturbation": seed}
        defaults = {
            "TcpL4Protocol::RecoveryType": RECOVERIES[self.reduction],
            "TcpCubic::HyStart": False,
            "CoDelQueueDisc::MinBytes": ONE_PACKET,
        }
        values: dict[str, Any] = {
            "seed": seed,
            "duration": self.duration,
            "begin": self.begin,
            "rate": self.rate,
            "delay": self.delay,
            "access": self.access,
            "far": self.far,
            "rtts": ",".join(map(str, self.rtts)),
            "flows": self.flows,
            "jitter": self.jitter,
            "control": self.ns3_control or CONTROLS[self.control],
            "ecn": self.ecn,
            "defaults": _settings({f"ns3::{name}": value for name, value in defaults.items()}),
            "queue": f"ns3::{self.queue.ns3}",
            "set": _settings(attributes),
        }
        return {key: _text(value) for key, value in values.items()}

    def ns3_command(self, seed: int) -> str:
        """The command line of ns3/dumbbell.cc."""
        options = (f"--{key}={value}" for key, value in self.ns3_arguments(seed).items())
        return shlex.join(["dumbbell", *options])

    def scenario(self, replications: int = 1) -> Scenario:
        """The same dumbbell as a scenario, without time series."""
        law = LINUX_CUBIC if self.control == "cubic" else {}
        echo = CWR_STATE if self.ecn_reduction == "prr" else {}
        return from_dict(
            {
                "name": self.name,
                "duration": f"{self.duration} s",
                "warmup": f"{self.begin} s",
                "replications": replications,
                "sample": "0 s",
                "topology": dumbbell(
                    self,
                    buffer=self.queue.limit,
                    aqm=self.queue.aqm,
                    signal="ecn" if self.queue.marks else "drop",
                    packet=PACKET,
                ),
                "transport": {
                    "default": {
                        "control": self.control,
                        "ecn": self.ecn,
                        "reduction": self.reduction,
                        **TRANSPORT,
                        **law,
                        **echo,
                    }
                },
                "traffic": [{"kind": "tcp", "count": self.flows, "jitter": f"{self.jitter} s"}],
            }
        )


def _settings(values: Settings) -> str:
    return ",".join(f"{name}={_text(value)}" for name, value in values.items())


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
