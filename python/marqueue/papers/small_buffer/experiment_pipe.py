"""A larger bandwidth-delay product per flow: synchronization of windows, and its cost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from marqueue.design.chain_packets import HALF, MINIMAL
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs
from marqueue.papers.readings import Choice
from marqueue.papers.small_buffer.measures import dependence, performance, swept
from marqueue.papers.small_buffer.setups import EACH, A, dumbbell, named
from marqueue.scenario import Scenario
from marqueue.statistics.estimates import Estimate
from marqueue.theory.marking_chain import ChainResult, Model, RttClass, simulate
from marqueue.theory.marking_chain.packet_level_chain import (
    Assumptions,
    simulate_packet_level_chain,
    spread_rtts,
)

#: C T of 200 ms per flow, packets, with the capacity per flow, kbit/s.
PIPES = {5: EACH, 25: 5 * EACH}
SCHEMES = ("RED1", "EXP")
#: The scheme of the chain; EXP would take a hundred times as long.
MODELLED = "RED1"
#: Round-trip times of the chain over 200 ms: two classes, with the spread of [120, 280] ms.
CLASSES = tuple(RttClass(rtt, 1.0) for rtt in (0.75, 1.25))
#: Models between the chain and packets, for the smaller product (docs/theory/chain.md).
BETWEEN = {
    "late": Assumptions("poisson", "stationary"),
    "common": Assumptions("rounds", "mm1"),
    "minimal": MINIMAL,
}
#: Length and warm-up of the chain, round-trip times, and its replications.
LENGTH, WARM_UP, REPLICATIONS = 400, 100, 1
FLOWS = (50, 200, 400)


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme, C T and number of flows."""
    return {
        named(s, n, each=each): dumbbell(s, n, choice, each=each)
        for s in SCHEMES
        for each in PIPES.values()
        for n in FLOWS
    }


def key(scheme: str, pipe: int) -> str:
    """Suffix of the names of a scheme's quantities."""
    return f"{scheme}.{pipe}"


@cache
def chain(scheme: str, pipe: int, flows: int) -> ChainResult:
    """The paper's model with several round-trip times; arrivals are Poisson."""
    model = Model(flows, float(pipe), A, scheme, classes=CLASSES)
    return simulate(model, LENGTH, WARM_UP, REPLICATIONS)


def of_chain(
    scheme: str, pipe: int, label: str, how: Callable[[ChainResult], Estimate]
) -> Quantity:
    """A quantity of the chain, by the number of flows."""
    values = [how(chain(scheme, pipe, n)).mean for n in FLOWS]
    of = f"{scheme}, C T = {pipe}, chain"
    return Quantity(label, of, np.array([values]), "", "N", tuple(float(n) for n in FLOWS))


@cache
def between(name: str, pipe: int) -> Quantity:
    """h if some assumptions of the chain are replaced by TCP's behaviour, by the number of
    flows."""
    rtts = spread_rtts(HALF)
    values = [
        simulate_packet_level_chain(
            Model(n, float(pipe), A, MODELLED), BETWEEN[name], rtts, LENGTH, WARM_UP, REPLICATIONS
        ).h.mean
        for n in FLOWS
    ]
    of = f"{MODELLED}, C T = {pipe}, {name}"
    return Quantity("h", of, np.array([values]), "", "N", tuple(float(n) for n in FLOWS))


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """The four figures and h of packets; utilization and h of the chain; h of models between."""
    out: dict[str, Quantity] = {}
    for scheme in SCHEMES:
        for pipe, each in PIPES.items():
            names = {float(n): named(scheme, n, A, each) for n in FLOWS}
            of = f"{scheme}, C T = {pipe}"
            out |= performance(runs, names, of, key(scheme, pipe))
            out[f"h.{key(scheme, pipe)}"] = swept(runs, names, partial(dependence, of=of))
    for pipe in PIPES:
        for name, label, how in (
            ("utilization", "Utilization", lambda c: c.utilization),
            ("h", "h", lambda c: c.h),
        ):
            out[f"chain.{name}.{key(MODELLED, pipe)}"] = of_chain(MODELLED, pipe, label, how)
    few = min(PIPES)
    return {**out, **{f"{name}.h.{key(MODELLED, few)}": between(name, few) for name in BETWEEN}}


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """Utilization and h."""
    keys = [key(scheme, pipe) for scheme in SCHEMES for pipe in PIPES]
    caption = "C T packets a flow in the pipe, on average. Lines under RED1: the chain."
    return [
        sweep_figure(
            f"Pipe {letter}",
            caption,
            [replace(quantities[f"{name}.{k}"], label=label) for k in keys],
            "N",
            [
                replace(quantities[f"chain.{name}.{k}"], of=quantities[f"{name}.{k}"].of)
                for k in (key(MODELLED, pipe) for pipe in PIPES)
            ],
            log_x=True,
        )
        for name, label, letter in (("utilization", "Utilization", "a"), ("h", "h", "b"))
    ]


EXPERIMENT = Experiment(
    readings=(
        "The paper has only C T = 5 packets a flow. Here a capacity for each flow of 5 times as "
        "much is run for comparison; everything else is as in experiment 4.",
        "The chain is that of `marqueue theory chain` with M/M/1 and two classes of round-trip "
        "times, 150 and 250 ms; one run of 400 round trips. The models between the chain and "
        "packets are those of `marqueue theory chain between`, with runs of the same length and 16 "
        "round-trip times.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
