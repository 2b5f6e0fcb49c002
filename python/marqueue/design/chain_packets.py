"""The chain's flows in the packet simulator: the dumbbell of Eun and Wang (2008), section V, at any
N, CT and a."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from marqueue.scenario import Scenario, from_dict
from marqueue.simulation.run import run_each
from marqueue.statistics.estimates import Estimate
from marqueue.theory.marking_chain.hybrid import Assumptions, Figures, simulate_hybrid, spread_rtts
from marqueue.theory.marking_chain.model import Model
from marqueue.theory.marking_chain.simulate import simulate

T = 0.2
"""s: the mean two-way propagation, of 120 to 280 ms."""

HALF = 0.4
"""Round trips are T within so much, as the paper's."""

PACKET = 500
"""Bytes on the link."""

GROUP = "long"

MINIMAL = Assumptions("clock", "md1", waits=True)
"""The least that is TCP."""

POINTS = (
    *((0.1, ct, n) for ct, n in ((5.0, 100), (5.0, 1000), (10.0, 1000))),
    *((0.2, 5.0, n) for n in (32, 100, 316, 1000, 3162)),
    *((0.2, ct, n) for ct in (10.0, 25.0) for n in (32, 100, 316, 1000)),
    *((0.3, ct, n) for ct, n in ((5.0, 100), (5.0, 1000), (10.0, 100), (10.0, 1000))),
)
"""a, CT and N: of the phase diagram, where packets can be simulated."""


@dataclass(frozen=True)
class Form:
    """How long and how often. Round-trip times T."""

    most: int
    """Flows, at most."""
    length: int
    warm_up: int
    replications: int


QUICK = Form(most=316, length=150, warm_up=50, replications=1)
FULL = Form(most=3162, length=200, warm_up=100, replications=3)


@dataclass(frozen=True)
class Point:
    """What packets, the least TCP and the chain say at one N, CT and a."""

    a: float
    ct: float
    flows: int
    packets: Figures
    """Of the packet simulator."""
    minimal: Figures
    """Of :data:`MINIMAL`."""
    chain: float
    """h of the paper's chain, all flows together."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Point:
        """From JSON."""
        sides = {
            side: Figures(**{name: Estimate(**each) for name, each in plain[side].items()})
            for side in ("packets", "minimal")
        }
        return cls(**{**plain, **sides})


def scenario(
    model: Model, length: int, warm_up: int, replications: int, access: float | None = None
) -> Scenario:
    """N flows of TCP through one bottleneck, their windows sampled; with ``access`` each flow has
    an access link of its own, of so many times its share of the bottleneck; else those of a
    round-trip time share one that is fast.
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
    """What the packet simulator finds."""
    return [
        Figures(
            Estimate.of([each.dependence for each in result.cwnds(group=GROUP)]),
            Estimate.of(result.link().values("utilization")),
        )
        for result in run_each(scenarios, progress=progress)
    ]


def placed(form: Form, progress: Callable[[float, float], None] | None = None) -> Iterator[Point]:
    """All points up to the form's number of flows, one after the other."""
    points = [(Model(n, ct, a), n * ct) for a, ct, n in POINTS if n <= form.most]
    total, done = sum(cost for _, cost in points), 0.0
    for model, cost in points:
        [packets] = measured([scenario(model, form.length, form.warm_up, form.replications)])
        # Once: packet by packet it takes several times as long as the simulator.
        minimal = simulate_hybrid(
            model, MINIMAL, spread_rtts(HALF), form.length, form.warm_up, replications=1
        )
        chain = simulate(model, 500, 500, 1).h.mean
        yield Point(model.a, model.ct, model.flows, packets, minimal, chain)
        done += cost
        if progress is not None:
            progress(done, total)
