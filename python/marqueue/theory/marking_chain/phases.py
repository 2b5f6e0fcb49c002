"""The phase diagram of synchronization: h of the chain and margins of its mean field over N, CT and
a, and with several round-trip times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np

from marqueue.errors import ModelError
from marqueue.theory.marking_chain.meanfield import mean_window
from marqueue.theory.marking_chain.model import Model, RttClass
from marqueue.theory.marking_chain.simulate import simulate
from marqueue.theory.marking_chain.stability import mean_field

FLOWS = tuple(round(10 ** (k / 2)) for k in range(2, 19))
CTS = (3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 25.0, 40.0)
EXPONENTS = (0.1, 0.2, 0.3, 0.4)
SPREADS: dict[str, Model] = {
    name: Model(1000, 10.0, classes=tuple(RttClass(rtt, 1.0) for rtt in rtts), slots=slots)
    for name, rtts, slots in (
        ("together", (1.0,), 1),
        ("in 5 groups", (1.0,), 5),
        ("T ± 20 %", (0.8, 0.9, 1.0, 1.1, 1.2), 10),
        ("T ± 40 %", (0.6, 0.8, 1.0, 1.2, 1.4), 5),
    )
}
"""Round-trip times by name: five classes of equal share, evenly spaced; ± 40 % is the paper's 120
to 280 ms. ``together`` is the paper's chain."""

LENGTH = WARM_UP = 500
"""Length and warm-up of a cell, T."""


@dataclass(frozen=True)
class Cell:
    """The results at one N, CT and a."""

    rtts: str
    a: float
    ct: float
    flows: int
    h: float
    """h of the chain; above 1 flows are correlated, at N all are synchronized."""
    load: float
    utilization: float
    overload: float
    gain: float | None
    """g of the map of the mean window; None if the map does not apply."""
    margin: float | None
    """Margin of the mean field; None if it has no fixed point."""

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)


def cells() -> list[tuple[str, Model]]:
    """All cells: the paper's chain over N, CT and a, then other round-trip times over N and CT."""
    plain = [("together", Model(n, ct, a)) for a in EXPONENTS for ct in CTS for n in FLOWS]
    spread = [
        (name, Model(n, ct, classes=of.classes, slots=of.slots))
        for name, of in SPREADS.items()
        if name != "together"
        for ct in (5.0, 10.0, 25.0)
        for n in FLOWS[::2]
    ]
    return plain + spread


def cell(rtts: str, model: Model, length: int = LENGTH, warm_up: int = WARM_UP) -> Cell:
    """One cell: a replication of the chain, and its mean field."""
    result = simulate(model, length, warm_up, replications=1)
    return Cell(
        rtts,
        model.a,
        model.ct,
        model.flows,
        result.h.mean,
        result.load.mean,
        result.utilization.mean,
        result.overload.mean,
        _where_it_applies(lambda: mean_window(model).gain),
        _where_it_applies(lambda: mean_field(model).margin),
    )


def _where_it_applies(figure: Callable[[], float]) -> float | None:
    try:
        found = figure()
    except ModelError:
        return None
    return found if np.isfinite(found) else None


def phases(progress: Callable[[float, float], None] | None = None) -> Iterator[Cell]:
    """All cells in turn; about a minute."""
    every = cells()
    for i, (rtts, model) in enumerate(every):
        yield cell(rtts, model)
        if progress is not None:
            progress(i + 1, len(every))


def boundary(of: list[Cell]) -> float | None:
    """The N at which the mean field starts to oscillate, interpolated between cells of growing N by
    the logarithm of the margin; 0 if it does from the first cell on, None if it does in none."""
    known = [(each.flows, each.margin) for each in of if each.margin is not None]
    if known and known[0][1] < 1:
        return 0.0
    for (n, margin), (more, less) in pairwise(known):
        if less < 1:
            share = np.log(margin) / np.log(margin / less)
            return float(n * (more / n) ** share)
    return None
