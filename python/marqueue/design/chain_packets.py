"""The chain's flows in the packet simulator: the dumbbell of Eun and Wang (2008), section V, at any
N, CT and a."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from marqueue.scenario import Scenario, from_dict
from marqueue.simulation.run import run_each
from marqueue.statistics.estimates import Estimate
from marqueue.theory.marking_chain.model import Model
from marqueue.theory.marking_chain.packet_level_chain import (
    Assumptions,
    Figures,
    simulate_packet_level_chain,
    spread_rtts,
)
from marqueue.theory.marking_chain.simulate import simulate

T = 0.2
"""Mean two-way propagation delay, s; delays are 120 to 280 ms."""

HALF = 0.4
"""Half width of the range of round trips relative to T, as in the paper."""

PACKET = 500
"""Size of a packet on the link, bytes."""

GROUP = "long"

MINIMAL = Assumptions("ack_clocked", "md1", adds_delay=True)
"""The assumptions of a minimal TCP."""

POINTS = (
    *((0.1, ct, n) for ct, n in ((5.0, 100), (5.0, 1000), (10.0, 1000))),
    *((0.2, 5.0, n) for n in (32, 100, 316, 1000, 3162)),
    *((0.2, ct, n) for ct in (10.0, 25.0) for n in (32, 100, 316, 1000)),
    *((0.3, ct, n) for ct, n in ((5.0, 100), (5.0, 1000), (10.0, 100), (10.0, 1000))),
)
"""Points (a, CT, N) of the phase diagram at which packets are simulated."""


@dataclass(frozen=True)
class Form:
    """Size of a simulation: flows, length and warm-up in units of T, replications."""

    most: int
    """The largest number of flows."""
    length: int
    warm_up: int
    replications: int


QUICK = Form(most=316, length=150, warm_up=50, replications=1)
FULL = Form(most=3162, length=200, warm_up=100, replications=3)


@dataclass(frozen=True)
class Point:
    """The figures of packets, minimal TCP and the chain at one N, CT and a."""

    a: float
    ct: float
    flows: int
    packets: Figures
    """Figures of the packet simulator."""
    minimal: Figures
    """Figures of :data:`MINIMAL`."""
    chain: float
    """h of the paper's chain, all flows together."""

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Point:
        """The reverse of :meth:`as_dict`."""
        sides = {
            side: Figures(**{name: Estimate(**each) for name, each in plain[side].items()})
            for side in ("packets", "minimal")
        }
        return cls(**{**plain, **sides})


def scenario(
    model: Model, length: int, warm_up: int, replications: int, access: float | None = None
) -> Scenario:
    """N flows of TCP through one bottleneck, with sampled windows.

    With ``access`` each flow has its own access link, whose rate is this multiple of its share of
    the bottleneck; otherwise flows with the same round-trip time share a fast one.
    """
    each = model.ct * PACKET * 8 / T
    rate = each * model.flows
    near = max(10 * rate, 1e9) if access is None else access * each
    rtts = spread_rtts(HALF, 16 if access is None else model.flows)
    curve, flows, a, b, buffer = model.scaled
    return from_dict(
        {
            "name": f"N = {model.flows}, CT = {model.ct:g}, a = {a:g}",
            "duration": f"{(length + warm_up) * T:g} s",
            "warmup": f"{warm_up * T:g} s",
            "replications": replications,
            "sample": "20 ms",
            "topology": {
                "kind": "dumbbell",
                "rtts": [f"{rtt * T * 1e6:.0f} us" for rtt in rtts],
                "access": {"rate": f"{near:.0f} bit/s", "delay": "10 ms"},
                "bottleneck": {
                    "rate": f"{rate:.0f} bit/s",
                    "delay": "10 ms",
                    "buffer": "1000000 packets",
                    "aqm": {
                        "name": "scaled",
                        "curve": curve,
                        "flows": int(flows),
                        "a": a,
                        "b": b,
                        "buffer": f"{buffer:g} packets",
                    },
                },
            },
            "transport": {
                "default": {
                    "preset": "ns2",
                    "recovery": "newreno",
                    "ecn": True,
                    "segment": f"{PACKET} B",
                }
            },
            "traffic": [
                {
                    "name": GROUP,
                    "kind": "tcp",
                    "count": model.flows,
                    "jitter": f"{min(5.0, warm_up * T / 3):g} s",
                    "sample_cwnd": True,
                }
            ],
        }
    )


def measured(
    scenarios: Sequence[Scenario], progress: Callable[[float, float], None] | None = None
) -> list[Figures]:
    """h and utilization of each scenario in the packet simulator."""
    return [
        Figures(
            Estimate.of([each.dependence for each in result.cwnds(group=GROUP)]),
            Estimate.of(result.link().values("utilization")),
        )
        for result in run_each(scenarios, progress=progress)
    ]


def placed(form: Form, progress: Callable[[float, float], None] | None = None) -> Iterator[Point]:
    """Yields all points up to the form's number of flows."""
    points = [(Model(n, ct, a), n * ct) for a, ct, n in POINTS if n <= form.most]
    total, done = sum(cost for _, cost in points), 0.0
    for model, cost in points:
        [packets] = measured([scenario(model, form.length, form.warm_up, form.replications)])
        # One replication: it takes several times as long as the simulator.
        minimal = simulate_packet_level_chain(
            model, MINIMAL, spread_rtts(HALF), form.length, form.warm_up, replications=1
        )
        chain = simulate(model, 500, 500, 1).h.mean
        yield Point(model.a, model.ct, model.flows, packets, minimal, chain)
        done += cost
        if progress is not None:
            progress(done, total)
