"""Measures from a record of every packet: which flows the queue holds, and who overflows it."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from marqueue.papers.quantity import Quantity, single
from marqueue.results import Result
from marqueue.statistics.estimates import Floats

Chosen = npt.NDArray[np.bool_]

#: The link that is recorded.
LINK = "bottleneck"


class Recorded:
    """The packets of one replication at the link, in the order of time."""

    def __init__(self, run: Result, replication: int, groups: Sequence[str]) -> None:
        flows, trace = run.flows, run.to_arrow("trace")
        of_groups = pc.is_in(flows["group"].cast(pa.string()), value_set=pa.array(groups))
        own = flows.filter(pc.and_(pc.equal(flows["replication"], replication), of_groups))
        self.flows = len(own)
        """Number of flows of the groups."""
        here = pc.and_(pc.equal(trace["replication"], replication), pc.equal(trace["link"], LINK))
        kept = trace.filter(here)
        self.t: Floats = kept["t"].to_numpy()
        self.own = np.isin(kept["flow"].to_numpy(), own["flow"].to_numpy())
        """Whether a packet is of the groups."""
        self.arrives = pc.equal(kept["kind"], "arrive").to_numpy()
        self.leaves = pc.is_in(kept["kind"], value_set=pa.array(["drop", "depart"])).to_numpy()
        self.overflows = pc.fill_null(pc.equal(kept["reason"], "overflow"), False).to_numpy()

    def waiting(self, begin: float, end: float, of: Chosen) -> float:
        """The mean number of these packets in the queue from ``begin`` to ``end``, s."""
        # A packet that is dropped on arrival comes and goes at the same time.
        step = self.arrives.astype(float) - self.leaves
        t, held = self.t, np.cumsum(step * of)
        inside = (begin <= t) & (t < end)
        times: Floats = np.append(t[inside], end)
        return float(held[inside] @ np.diff(times) / (end - times[0]))


def queue_share(run: Result, of: str, groups: Sequence[str]) -> Quantity:
    """The share of a flow of these groups in the queue, in the last window."""
    begin, end = run.span(len(run.edges) - 2)
    values = []
    for r in range(run.replications):
        each = Recorded(run, r, groups)
        every = each.waiting(begin, end, np.ones_like(each.own))
        values.append(each.waiting(begin, end, each.own) / every / each.flows)
    return single("Share of the queue, a flow", of, values)


def overflow_share(run: Result, of: str, groups: Sequence[str]) -> Quantity:
    """The share of the arrivals of these groups that are lost to a full buffer, in the whole
    run."""
    values = []
    for r in range(run.replications):
        each = Recorded(run, r, groups)
        arrived = (each.own & each.arrives).sum()
        values.append((each.own & each.overflows).sum() / arrived)
    return single("Share of arrivals lost to a full buffer", of, values)
