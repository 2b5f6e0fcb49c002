"""The state of a running link for Prometheus, by HTTP.

What is served is the newest sample of each link: its queue, rate and delay, the variables of its
AQM, and how much it has dropped and marked so far. Names and units follow Prometheus's conventions
(base units, ``_total`` for what only grows).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from marqueue.errors import RunError
from marqueue.live.recording import LinkSamples

LOCAL = "127.0.0.1"
GAUGES = {
    "queue": ("queue_packets", "Packets that wait."),
    "queue_bytes": ("queue_bytes", "Bytes that wait."),
    "utilization": ("utilization_ratio", "Share of the capacity that was used."),
}
"""The columns of a sample's series, with their names and what they mean."""
TOTALS = {"drops": "Packets dropped.", "marks": "Packets marked."}


class LinkMetrics(Collector):
    """The newest sample of each link; a watcher, and a collector of Prometheus."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self.names = names
        self.newest: dict[int, dict[str, Any]] = {}
        self.totals = {name: dict.fromkeys(names, 0) for name in TOTALS}

    def __call__(self, looks: LinkSamples) -> None:
        """Takes new samples."""
        for look in looks:
            for name, of in self.totals.items():
                of[look["link"]] += int(look["series"][name][0])
            self.newest[look["link"]] = look

    def collect(self) -> Iterable[Metric]:
        """Yields every metric, with a sample for each link."""
        # The watchers' thread adds to it meanwhile.
        newest = dict(self.newest)
        for column, (name, meaning) in GAUGES.items():
            gauge = GaugeMetricFamily(f"marqueue_link_{name}", meaning, labels=["link"])
            for link, look in newest.items():
                gauge.add_metric([self.names[link]], float(look["series"][column][0]))
            yield gauge
        yield from self._rates_and_delays(newest)
        aqm = GaugeMetricFamily(
            "marqueue_link_aqm", "A variable of the AQM.", labels=["link", "variable", "unit"]
        )
        for link, look in newest.items():
            units = look["series"]["probe_units"]
            for variable, values in look["series"]["probes"].items():
                aqm.add_metric([self.names[link], variable, units[variable]], float(values[0]))
        yield aqm
        for name, meaning in TOTALS.items():
            counter = CounterMetricFamily(f"marqueue_link_{name}", meaning, labels=["link"])
            for link, total in self.totals[name].items():
                counter.add_metric([self.names[link]], total)
            yield counter

    def _rates_and_delays(self, newest: Mapping[int, dict[str, Any]]) -> Iterator[Metric]:
        rate = GaugeMetricFamily(
            "marqueue_link_rate_bits_per_second", "Departures, bit/s.", labels=["link"]
        )
        delay = GaugeMetricFamily(
            "marqueue_link_queueing_delay_seconds",
            "Queueing delay of the packets since the sample before.",
            labels=["link", "quantile"],
        )
        for link, look in newest.items():
            rate.add_metric([self.names[link]], float(look["rate"]))
            for quantile, column in (("0.5", "delay_p50"), ("0.99", "delay_p99")):
                delay.add_metric([self.names[link], quantile], float(look[column]))
        yield rate
        yield delay


def parse_address(text: str) -> tuple[str, int]:
    """The host and port of ``PORT``, ``HOST:PORT`` or ``[HOST]:PORT``; the host is this machine's
    own if there is none. Raises RunError."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise RunError(f'--metrics: got "{text}", expected HOST:PORT such as "{LOCAL}:9464"')
    return host.strip("[]") or LOCAL, int(port)


@contextmanager
def served(address: tuple[str, int], collector: Collector) -> Iterator[None]:
    """Context manager: serves what a collector yields at an address until it is left.

    Raises RunError if the address cannot be had.
    """
    host, port = address
    registry = CollectorRegistry()
    registry.register(collector)
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise RunError(f"--metrics: {host}:{port}: {error.strerror or error}") from None
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
