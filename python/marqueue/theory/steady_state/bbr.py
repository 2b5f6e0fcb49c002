"""The operating point of BBRv1 at one link without marks.

Alone, a flow settles where one product of bandwidth and round-trip time is in flight, without a
standing queue. Every eighth round trip it sends a quarter more, so the queue reaches about a
quarter of the product (draft-cardwell-iccrg-bbr-congestion-control-00).

Several flows each keep the largest rate that they have seen. Together these exceed the link, so
that pacing no longer limits them and the cap of the window does, at twice the product: a queue of
one product, if the buffer holds it (Hock, Bless and Zitterbart, IEEE ICNP 2017). Estimates that
exceed the link raise the caps too: Hock et al. expect 1 to 1.5 products.

Beside loss-based flows in a deep buffer the cap limits BBR too: its least round-trip time then
includes their queue. Ware, Mukerjee, Seshan and Sherry (ACM IMC 2019) derive the share of the
loss-based flows, p = 1/2 - 1/(2 X) - 4 N/q, for a buffer of q packets, X products, and N flows of
BBR, whatever the number of loss-based flows is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from marqueue.errors import ModelError, show

CAP = 2.0
"""cwnd_gain: largest data in flight, in products of bandwidth and round-trip time."""
PROBE = 1.25
"""The largest pacing gain of a cycle."""


@dataclass(frozen=True)
class OperatingPoint:
    """Long flows of BBRv1 at a link."""

    capacity: float
    """packets/s."""
    rtt: float
    """Round-trip time without queues, s."""
    buffer: float
    """packets."""
    flows: int = 1

    def __post_init__(self) -> None:
        """Raises :class:`ModelError` for a value that is not above zero."""
        for name in ("capacity", "rtt", "buffer", "flows"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ModelError(f"{name}: got {show(value)}, expected a finite number above 0")

    @property
    def product(self) -> float:
        """Packets in flight that fill the link without a queue."""
        return self.capacity * self.rtt

    @property
    def products(self) -> float:
        """X: the buffer, in products."""
        return self.buffer / self.product

    @property
    def standing_queue(self) -> float:
        """The queue between probes, packets: none of one flow; of several the cap less the product,
        or the buffer if it is smaller."""
        return 0.0 if self.flows == 1 else min((CAP - 1) * self.product, self.buffer)

    @property
    def largest_queue(self) -> float:
        """The queue at the end of a probe, packets."""
        gain = PROBE if self.flows == 1 else CAP
        return min((gain - 1) * self.product, self.buffer)

    @property
    def loss_based_share(self) -> float:
        """Of loss-based flows beside these, all together, by Ware et al.; at least zero."""
        return max(0.5 - 1 / (2 * self.products) - 4 * self.flows / self.buffer, 0.0)
