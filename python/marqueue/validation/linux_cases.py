"""The cases in which TCP under preset ``linux`` is held against a Linux kernel.

Both sides have the same dumbbell, seeds, start times and sizes, and segments of 1448 bytes.
Everything else is what each side does by itself. :data:`SYSCTL` has the buffers that a kernel has
by default on a machine of some gigabytes, which are larger than any window here; a guest has less
memory, and would have smaller ones. The initial size is not raised: a receiver acknowledges every
segment while its window grows towards its buffer, with 16 MB for the first two thousand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from marqueue.scenario import Scenario, from_dict

KERNEL = "linux-7.3"
RATE = 10_000_000
"""bit/s."""
RTT = 0.0407
"""s; not a multiple of the transmission time, 1.2 ms."""
SAMPLE = 0.1
"""Between samples of windows, s."""

SYSCTL: Mapping[str, str] = MappingProxyType(
    {
        "net.ipv4.tcp_rmem": "4096 131072 6291456",
        "net.ipv4.tcp_wmem": "4096 16384 4194304",
        "net.ipv4.tcp_no_metrics_save": "1",
    }
)

QUICK_BUFFER = "4096 16777216 67108864"
"""tcp_rmem under which a receiver acknowledges each of the first two thousand segments."""

Settings = Mapping[str, Any]

DROPTAIL: Settings = {"aqm": "droptail", "buffer": "50 packets"}
RED: Settings = {
    "aqm": {
        "name": "red", "min_th": "10 packets", "max_th": "30 packets", "max_p": 0.1, "w_q": 0.01,
        "wait": False,
    }
}  # fmt: skip
STEP: Settings = {
    "aqm": {
        "name": "red", "min_th": "14 packets", "max_th": "15 packets", "max_p": 1.0, "w_q": 1.0,
        "wait": False,
    }
}  # fmt: skip
RANDOM_PERMILLE: Settings = {"loss": {"model": "random", "probability": 0.001}}
RANDOM_PERCENT: Settings = {"loss": {"model": "random", "probability": 0.01}}
BURSTS: Settings = {"loss": {"model": "gilbert", "to_bad": 0.001, "to_good": 0.25}}
REORDERED: Settings = {"reorder": {"probability": 0.01, "delay": "5 ms"}}


@dataclass(frozen=True)
class Case:
    """A dumbbell with flows of one congestion control."""

    name: str
    link: Settings = field(default_factory=dict)
    transport: Settings = field(default_factory=dict)
    traffic: Settings = field(default_factory=dict)
    model: Settings = field(default_factory=dict)
    """Settings of the model that the kernel has by ``sysctl``."""
    sysctl: Mapping[str, str] = field(default_factory=dict)
    acknowledgements_lost: float = 0.0
    flows: int = 1
    warmup: float = 5.0
    duration: float = 25.0
    replications: int = 5
    """One where nothing is random."""

    @property
    def finite(self) -> bool:
        """Whether flows have a size, so that completion times are compared."""
        return "size" in self.traffic

    def scenario(self, stack: str) -> Scenario:
        """The scenario with its flows on a stack: ``model``, or the name of a kernel."""
        own: dict[str, Any] = {"preset": "linux", **self.model}
        if stack != "model":
            own = {"stack": stack, "segment": "1448 B", "sysctl": {**SYSCTL, **self.sysctl}}
        reverse: dict[str, Any] = {}
        if self.acknowledgements_lost:
            lost = {"model": "random", "probability": self.acknowledgements_lost}
            reverse = {"reverse": {"rate": f"{RATE} bit/s", "delay": "10 ms", "loss": lost}}
        return from_dict(
            {
                "name": f"{self.name}, {stack}",
                "duration": f"{self.duration} s",
                "warmup": f"{self.warmup} s",
                "replications": self.replications,
                "sample": f"{SAMPLE} s",
                "topology": {
                    "kind": "dumbbell",
                    "rtts": [f"{RTT} s"],
                    "bottleneck": {
                        "rate": f"{RATE} bit/s",
                        "delay": "10 ms",
                        "buffer": "100 packets",
                        **self.link,
                    },
                    "access": {"rate": "1 Gbit/s", "delay": "5 ms"},
                    **reverse,
                },
                "transport": {"default": {**own, **self.transport}},
                "traffic": [
                    {
                        "name": "flows",
                        "kind": "tcp",
                        "count": self.flows,
                        # One flow starts at 0, so that its window can be compared at given times.
                        "jitter": "0 s" if self.flows == 1 else "1 s",
                        "sample_cwnd": True,
                        **self.traffic,
                    }
                ],
            }
        )


def _alone() -> list[Case]:
    queues: Mapping[str, Settings] = {
        "droptail": DROPTAIL,
        "red": RED,
        "codel": {"aqm": "codel"},
        "pie": {"aqm": "pie"},
        "fq_codel": {"aqm": "fq_codel"},
    }
    losses: Mapping[str, Settings] = {
        "0.1 % lost": RANDOM_PERMILLE,
        "1 % lost": RANDOM_PERCENT,
        "bursts lost": BURSTS,
        "1 % reordered": REORDERED,
    }
    seeds = {"droptail": 1, "red": 5, "codel": 1, "pie": 5, "fq_codel": 1}
    cases = []
    for control in ("cubic", "reno"):
        law = {"control": control}
        cases += [
            Case(f"{control}, {name}", link, law, replications=seeds[name])
            for name, link in queues.items()
        ]
        cases += [
            # A flow that loses 1 % sends few packets, so that a longer run costs little.
            Case(
                f"{control}, {name}",
                link,
                law,
                duration=55.0 if name == "1 % lost" else 25.0,
                replications=5 if name == "0.1 % lost" else 10,
            )
            for name, link in losses.items()
        ]
        cases += [
            Case(
                f"{control}, {name} ecn",
                queues[name],
                law | {"ecn": True},
                replications=seeds[name],
            )
            for name in ("red", "codel", "pie")
        ]
        cases += [
            Case(f"{control}, a third of the ACKs lost", DROPTAIL, law, acknowledgements_lost=0.33,
                 replications=10),
            Case(f"{control}, 20 packets every 100 ms", DROPTAIL, law,
                 {"write": "20 packets", "every": "100 ms"}, replications=1),
            Case(f"{control}, 60 packets every 2 s", DROPTAIL, law,
                 {"write": "60 packets", "every": "2 s"}, replications=1),
        ]  # fmt: skip
        cases += [
            # What is left where both receivers acknowledge every segment.
            Case(f"{control}, {name}, every segment acknowledged", queues[name], law,
                 model={"delayed_ack": "0 s"}, sysctl={"net.ipv4.tcp_rmem": QUICK_BUFFER},
                 warmup=0.0, duration=5.0, replications=1)
            for name in ("droptail", "codel")
        ]  # fmt: skip
    dctcp = {"control": "dctcp", "ecn": True}
    cases += [
        Case("dctcp, step ecn", STEP, dctcp, replications=1),
        Case("dctcp, red ecn", RED, dctcp),
    ]
    return cases


def _short() -> list[Case]:
    """Finite flows: alone, and many that start within 15 s, of which each loses other packets."""
    sizes = (1, 10, 11, 40, 300)
    cubic = {"control": "cubic"}
    alone = [
        Case(f"{size} packets, droptail", DROPTAIL, cubic, {"size": f"{size} packets"},
             warmup=0.0, duration=5.0, replications=1)
        for size in sizes
    ]  # fmt: skip
    lossy = [
        Case(f"{size} packets, 5 % lost", LOSSY, cubic,
             {"size": f"{size} packets", "jitter": "15 s"},
             flows=80 if size < 100 else 10, warmup=0.0, duration=40.0, replications=10)
        for size in sizes
    ]  # fmt: skip
    return alone + lossy


LOSSY: Settings = {"loss": {"model": "random", "probability": 0.05}}


def _many() -> list[Case]:
    return [
        Case(f"cubic, {name}, {flows} flows", link, {"control": "cubic", **more}, flows=flows,
             duration=20.0, replications=4)
        for flows in (4, 16, 64)
        for name, link, more in (
            ("droptail", DROPTAIL, {}),
            ("codel", {"aqm": "codel"}, {}),
            ("pie ecn", {"aqm": "pie"}, {"ecn": True}),
        )
    ]  # fmt: skip


CASES: tuple[Case, ...] = (*_alone(), *_short(), *_many())
