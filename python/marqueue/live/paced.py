"""Rate-based flows with real packets: the rate laws of the simulator on UDP sockets, in a thread of
the engine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import marqueue._core as _core
from marqueue.errors import RunError
from marqueue.live.endpoint_programs import FlowRecord
from marqueue.live.flows import Flow

TO = 19_998
"""The port of all receivers."""


class PacedSenders:
    """The senders and receivers of the rate-based flows of a plan, in two network namespaces."""

    def __init__(self, plan: Mapping[str, Any], flows: Sequence[Flow], near: str, far: str) -> None:
        """Open the sockets of ``flows``, whose addresses must be there. Raises RunError if that
        cannot be done."""
        self.flows = flows
        places = [
            (
                flow.host.entry,
                flow.start,
                _socket_address(flow.host.near, flow.port),
                _socket_address(flow.host.far, TO),
            )
            for flow in flows
        ]
        self._engine = None
        if places:
            try:
                self._engine = _core.PacedFlows(
                    json.dumps(plan), places, f"/run/netns/{near}", f"/run/netns/{far}"
                )
            except OSError as error:
                raise RunError(str(error.strerror or error)) from None

    def begin(self, epoch: float) -> None:
        """Start to send. Time zero is ``epoch`` on the monotonic clock, s."""
        if self._engine:
            self._engine.start(epoch)

    def end(self) -> tuple[dict[int, FlowRecord], dict[int, dict[str, Any]], float | None]:
        """Wait for the end of the run. Returns, by the index of their flow, records and traces of
        rates, and the 99th percentile of the lateness of packets as a share of the time between
        two (None without any). Raises RunError if a socket failed."""
        if self._engine is None:
            return {}, {}, None
        try:
            late, raws = self._engine.finish()
        except OSError as error:
            raise RunError(str(error.strerror or error)) from None
        records, traces = {}, {}
        for flow, raw in zip(self.flows, raws, strict=True):
            counts = raw["timeouts"], raw["ecn_cuts"]
            records[flow.index] = FlowRecord(
                flow.start, float("nan"), raw["sent"], 0, raw["received"], *counts
            )
            if "trace" in raw:
                traces[flow.index] = raw["trace"]
        return records, traces, late


def _socket_address(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
