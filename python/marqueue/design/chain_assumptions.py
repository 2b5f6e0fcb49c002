"""Why packets synchronize sooner than the chain: from the chain to the packet simulator, with one
assumption changed per row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from marqueue.design.chain_packets import HALF, Form, measured, scenario
from marqueue.theory.marking_chain.model import Model
from marqueue.theory.marking_chain.packet_level_chain import (
    Assumptions,
    Figures,
    simulate_packet_level_chain,
    spread_rtts,
)
from marqueue.theory.marking_chain.phases import SPREADS
from marqueue.theory.marking_chain.simulate import simulate

FLOWS = (50, 200, 800)
"""Numbers of flows, up to the largest of the form."""

QUICK = Form(most=200, length=150, warm_up=50, replications=1)
FULL = Form(most=800, length=200, warm_up=100, replications=3)

STEPS = {
    "packet by packet": Assumptions("rounds", "stationary"),
    "answered a round trip after the mark": Assumptions("poisson", "stationary"),
    "or: one queue for all": Assumptions("rounds", "mm1"),
    "both": Assumptions("poisson", "mm1"),
    "packets sent as answers come": Assumptions("ack_clocked", "mm1"),
    "all packets as long": Assumptions("ack_clocked", "md1"),
    "waiting makes round trips longer": Assumptions("ack_clocked", "md1", adds_delay=True),
}
"""Steps from the chain with unequal round-trip times to a minimal TCP."""

SHARES = (20.0, 4.0)
"""Rates of the access links in the last rows, relative to a flow's share of the link. Slower links
space the packets of a flow."""


@dataclass(frozen=True)
class Row:
    """The figures under one set of assumptions."""

    what: str
    flows: int
    figures: Figures

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


def rows(
    ct: float, a: float, form: Form, progress: Callable[[float, float], None] | None = None
) -> Iterator[Row]:
    """Yields every row for every N: the chain, the steps in between, packets."""
    every = [
        (Model(n, ct, a), what, how)
        for n in FLOWS
        if n <= form.most
        for what, how in _simulations(form).items()
    ]
    total, done = sum(model.flows for model, _, _ in every), 0.0
    for model, what, how in every:
        yield Row(what, model.flows, how(model))
        done += model.flows
        if progress is not None:
            progress(done, total)


def _simulations(form: Form) -> dict[str, Callable[[Model], Figures]]:
    """The simulation of each row."""
    times = form.length, form.warm_up, form.replications

    def chain(name: str) -> Callable[[Model], Figures]:
        of = SPREADS[name]

        def run(model: Model) -> Figures:
            spread = Model(model.flows, model.ct, model.a, classes=of.classes, slots=of.slots)
            found = simulate(spread, *times)
            return Figures(found.h, found.utilization)

        return run

    def hybrid(assumptions: Assumptions) -> Callable[[Model], Figures]:
        return lambda model: simulate_packet_level_chain(
            model, assumptions, spread_rtts(HALF), *times
        )

    def packets(share: float | None) -> Callable[[Model], Figures]:
        def run(model: Model) -> Figures:
            return measured([scenario(model, *times, share)])[0]

        return run

    return {
        "chain, all together (the paper's)": chain("together"),
        "chain, T ± 40 %": chain("T ± 40 %"),
        **{what: hybrid(assumptions) for what, assumptions in STEPS.items()},
        "packet simulator": packets(None),
        **{
            f"packet simulator, access at {share:g} times a flow's share": packets(share)
            for share in SHARES
        },
    }
