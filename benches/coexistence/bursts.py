"""Short transfers of one kind beside a long flow of another, and beside one of their own kind.

Transfers arrive as a Poisson process. Set-ups that differ in who sends have the same arrivals, so
ratios are taken replication by replication.
"""

from __future__ import annotations

from collections.abc import Iterator

from benches.coexistence.matrix import goodputs
from benches.coexistence.setups import PACKET, RATE, scenario
from marqueue.results import Result
from marqueue.simulation.run import run
from marqueue.statistics.estimates import Estimate

AQMS = ("dualpi2", "fq_codel")
LAWS = ("prague", "cubic")
SIZES = (20, 200, 2000)
"""Of a transfer, packets."""
LOADS = (0.1, 0.4)
"""Of all transfers together, as a share of the link."""
RTTS = (10, 40, 160)
"""Without queues, ms."""
WARMUP, SECONDS, REPLICATIONS = 10, 30, 8

Cell = dict[str, Estimate]
"""Figures by name. ``slowdown``: mean completion time of the transfers beside a long flow of the
other kind, over that beside one of their own kind. ``long``: goodput of the long flow beside
transfers of the other kind, over that beside transfers of its own kind. ``fct``: the former
completion time, s; ``goodput``: the former goodput, bit/s."""


def result(aqm: str, bursts: str, long: str, size: int, load: float, rtt: int) -> Result:
    """Transfers by the law ``bursts`` beside a long flow by the law ``long``."""
    rate = load * RATE * 1e6 / (8 * PACKET * size)
    return run(
        scenario(
            aqm, rtt, WARMUP, SECONDS, REPLICATIONS,
            {"name": "bursts", "kind": "poisson", "transport": bursts, "rate": f"{rate:.6g} /s",
             "size": f"{size} packets"},
            {"name": "long", "kind": "tcp", "transport": long},
        ),
        jobs=1,
    )  # fmt: skip


def completion(of: Result) -> list[float]:
    """Mean completion time of the transfers in each replication, s."""
    return [float(f.completion_times.mean()) for f in of.flow_sets(group="bursts")]


def cells() -> Iterator[tuple[tuple[str, str, int, float, int], Cell]]:
    """All cells, by AQM, who sends the transfers, size (packets), load and round-trip time (ms);
    the long flow is of the other kind.
    """
    for aqm in AQMS:
        for size in SIZES:
            for load in LOADS:
                for rtt in RTTS:
                    ran = {
                        (bursts, long): result(aqm, bursts, long, size, load, rtt)
                        for bursts in LAWS
                        for long in LAWS
                    }
                    for bursts, long in (LAWS, LAWS[::-1]):
                        mixed = ran[bursts, long]
                        times, alone = completion(mixed), completion(ran[bursts, bursts])
                        rates = goodputs(mixed, "long")
                        yield (
                            (aqm, bursts, size, load, rtt),
                            {
                                "slowdown": Estimate.of(
                                    a / b for a, b in zip(times, alone, strict=True)
                                ),
                                "long": Estimate.of(rates / goodputs(ran[long, long], "long")),
                                "fct": Estimate.of(times),
                                "goodput": Estimate.of(rates),
                            },
                        )
