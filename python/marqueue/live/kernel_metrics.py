"""The state of the AQM at a device for Prometheus; it is asked for at each request."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from marqueue.live import kernel

TOTALS = {
    "packets": "Packets that arrived.",
    "bytes": "Their bytes.",
    "marked": "Packets that were set to CE, or took the price.",
    "dropped": "Packets dropped.",
    "already_ce": "Packets to be marked that already had CE.",
    "unmarked": "Packets to be marked that passed unchanged.",
    "segmented": "Socket buffers of several packets.",
}
"""The counters of :class:`marqueue.live.kernel.Stats`, with what they mean."""


class KernelMetrics(Collector):
    """A collector of Prometheus for the AQM at a device."""

    def __init__(self, device: str, netns: str | None, hook: str = "egress") -> None:
        self.device = device
        self.netns = netns
        self.hook = hook

    def collect(self) -> Iterable[Metric]:
        """Yields every metric; only ``marqueue_kernel_attached`` if there is no AQM."""
        try:
            stats = kernel.stats(self.device, self.netns, self.hook)
        except kernel.KernelRefused:
            # The device is gone.
            stats = None
        attached = GaugeMetricFamily(
            "marqueue_kernel_attached", "1 if an AQM is attached.", labels=["device"]
        )
        attached.add_metric([self.device], float(stats is not None))
        yield attached
        if stats is None:
            return
        for name, meaning in TOTALS.items():
            counter = CounterMetricFamily(f"marqueue_kernel_{name}", meaning, labels=["device"])
            counter.add_metric([self.device], getattr(stats, name))
            yield counter
        for name, values in (("state", stats.state), ("parameter", stats.parameters)):
            gauge = GaugeMetricFamily(
                f"marqueue_kernel_{name}",
                f"A {'variable' if name == 'state' else name} of the AQM, in base units.",
                labels=["device", "aqm", "name"],
            )
            for each, value in values.items():
                gauge.add_metric([self.device, stats.aqm, each], value)
            yield gauge
