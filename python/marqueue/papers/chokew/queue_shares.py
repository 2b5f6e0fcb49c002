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

    def __init__(self, run: Result, replication: int) -> None:
        trace = run.to_arrow("trace")
        here = pc.and_(pc.equal(trace["replication"], replication), pc.equal(trace["link"], LINK))
        kept = trace.filter(here)
        self.t: Floats = kept["t"].to_numpy()
        self.begin, self.end = run.span(len(run.edges) - 2)
        """The last window, s."""
        self.arrives = pc.equal(kept["kind"], "arrive").to_numpy()
        self.leaves = pc.is_in(kept["kind"], value_set=pa.array(["drop", "depart"])).to_numpy()
        self.overflows = pc.fill_null(pc.equal(kept["reason"], "overflow"), False).to_numpy()
        self._flow = kept["flow"].to_numpy()
        self._flows = run.flows.filter(pc.equal(run.flows["replication"], replication))

    def of(self, groups: Sequence[str]) -> tuple[Chosen, int]:
        """Whether each packet is of these groups, and the number of their flows."""
        group = self._flows["group"].cast(pa.string())
        own = self._flows["flow"].filter(pc.is_in(group, value_set=pa.array(groups)))
        return np.isin(self._flow, own.to_numpy()), len(own)

    def waiting(self, of: Chosen) -> float:
        """The mean number of these packets in the queue in the last window."""
        # A packet that is dropped on arrival comes and goes at the same time.
        step = self.arrives.astype(float) - self.leaves
        t, held = self.t, np.cumsum(step * of)
        inside = (self.begin <= t) & (t < self.end)
        times: Floats = np.append(t[inside], self.end)
        return float(held[inside] @ np.diff(times) / (self.end - times[0]))


def recorded(run: Result) -> list[Recorded]:
    """The packets of each replication: millions, so that they are taken from the table once."""
    return [Recorded(run, replication) for replication in range(run.replications)]


def queue_share(every: Sequence[Recorded], of: str, groups: Sequence[str]) -> Quantity:
    """The share of a flow of these groups in the queue, in the last window."""
    values = []
    for each in every:
        own, flows = each.of(groups)
        values.append(each.waiting(own) / each.waiting(np.ones_like(own)) / flows)
    return single("Share of the queue, a flow", of, values)


def overflow_share(every: Sequence[Recorded], of: str, groups: Sequence[str]) -> Quantity:
    """The share of the arrivals of these groups that are lost to a full buffer, in the whole
    run."""
    values = []
    for each in every:
        own, _ = each.of(groups)
        values.append((own & each.overflows).sum() / (own & each.arrives).sum())
    return single("Share of arrivals lost to a full buffer", of, values)
