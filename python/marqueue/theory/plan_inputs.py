"""Inputs of models from a plan: packet sizes, TCP timers, round-trip times without queueing."""

from __future__ import annotations

from typing import Any

from marqueue.scenario.catalogue import timestamps_bytes
from marqueue.scenario.parameters import resolved_tcp

Plan = dict[str, Any]


def tcp_settings(plan: Plan, transport: int) -> dict[str, float]:
    """Settings of a transport of the plan: ``wire``, size of a full packet on the wire, bytes;
    ``min_rto``, smallest retransmission timeout, s; ``delayed_ack``, delay of acknowledgements,
    s."""
    of = plan["transports"][transport]
    values: dict[str, Any] = resolved_tcp(of["preset"], of["params"])
    header = values["header"] + timestamps_bytes() * bool(values["timestamps"])
    timers = {name: values[name] for name in ("min_rto", "delayed_ack")}
    return {"wire": values["segment"] + header * bool(values["count_header"]), **timers}


def round_trip(plan: Plan, route: Plan, size: float) -> float:
    """Round-trip time without queueing, s: propagation both ways, and transmission of a packet of
    ``size`` bytes; at a CPU its processing at the mean density of all groups."""
    there = [plan["links"][i] for i in route["forward"]]
    back = [plan["links"][i] for i in route["reverse"]]
    propagation = sum(link["delay"] for link in there + back) / 1e9
    return float(propagation + sum(8 * size / link["rate"] for link in there))
