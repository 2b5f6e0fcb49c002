"""Runs a scenario with real senders: flows of TCP and UDP between two namespaces, across the links
of the plan.

Senders are in one namespace and receivers in the other, with the links of the plan between them.
Each traffic entry of the plan has a pair of addresses, from which the engine derives the route. The
result has the form of the simulator's.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import numpy as np

import marqueue._core as _core
from marqueue.errors import RunError
from marqueue.live import kernel, requirements
from marqueue.live.audit import invalid_reasons, remarks
from marqueue.live.endpoint_programs import FlowRecord, endpoints
from marqueue.live.endpoints import DEVICE, configure
from marqueue.live.flows import LAWS, Flow, Host, flows_of, hosts_by_number, hosts_of
from marqueue.live.iperf import run_receivers, run_senders
from marqueue.live.isolation import OwnProcessor
from marqueue.live.lateness import least_round_trip
from marqueue.live.machine import Timers, watched
from marqueue.live.namespaces import namespaces
from marqueue.live.paced import PacedSenders
from marqueue.live.program_failure import broken_programs_end, programs_are_told
from marqueue.live.sockets import SHORTEST, Samples, SocketReader, counters, rows
from marqueue.live.unsupported import refuse
from marqueue.results import Result
from marqueue.results.provenance import describe, here
from marqueue.scenario import Scenario, compile
from marqueue.simulation.executor import Progress
from marqueue.statistics.estimates import Floats

TOOLS = ("iperf3", "ss")


def available_laws() -> list[str]:
    """The window laws of this kernel, and DCTCP if it can be loaded."""
    own = kernel.AVAILABLE.read_text(encoding="ascii").split()
    return own if kernel.missing() else sorted({*own, LAWS["dctcp"]})


def _laws_loaded(flows: Sequence[Flow]) -> AbstractContextManager[object]:
    """Context manager: loads DCTCP into the kernel if a flow needs it."""
    return kernel.dctcp() if LAWS["dctcp"] in {flow.law for flow in flows} else nullcontext()


def run_live(
    scenario: Scenario,
    *,
    law: str | None = None,
    ipv6: bool = False,
    progress: Progress | None = None,
    timers: Timers | None = None,
    own: OwnProcessor | None = None,
    retries: int = 0,
) -> Result:
    """Runs the replications of the scenario one after the other, in real time.

    ``law`` (such as "bbr") replaces the window law of every flow by one of the kernel's. With
    ``ipv6`` packets are IPv6, of the same size. ``timers`` say how the link waits
    (:attr:`Timers.longest_poll`), and are kept with the result; on a processor of its ``own``
    (:func:`marqueue.live.isolation.isolated_processor`) it never waits. A replication for which the
    machine did not keep up is run again, up to ``retries`` times: whether it did is seen from
    timers, not from what was measured, so that this chooses no results.
    ``result.provenance.live`` says whether the machine kept up. Raises ScenarioError if live runs
    do not support the scenario, RunError if the machine cannot do it, BrokenProgram if a class in
    Python that manages a queue breaks off.
    """
    plan, laws = compile(scenario), available_laws()
    refuse(scenario, plan, laws, ipv6=ipv6)
    planned = flows_of(plan, scenario.seed, law, ipv6=ipv6)
    # A sender, a receiver and what they say for each flow without end; a socket for each paced one.
    files = 2 * sum(flow.greedy for flow in planned) + sum(flow.kind == "paced" for flow in planned)
    requirements.require(TOOLS, requirements.FILES + files)
    if law is not None and law not in laws:
        raise RunError(f"--law: got {law}, expected one of this kernel's: {', '.join(laws)}")
    if ipv6 and not requirements.has_ipv6():
        raise RunError("--ipv6: IPv6 is switched off here")
    started_at, started = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
    hosts = hosts_of(plan, ipv6=ipv6)
    seeds = [_core.replication_seed(scenario.seed, r) for r in range(scenario.replications)]
    raws: list[dict[str, Any]] = []
    for r, seed in enumerate(seeds):
        flows = flows_of(plan, seed, law, ipv6=ipv6)

        def tell(seconds: float, before: float = r * scenario.duration.seconds) -> None:
            if progress:
                progress(before + seconds, scenario.duration.seconds * len(seeds))

        for attempt in range(retries + 1):
            with _laws_loaded(flows):
                raw = _replication(plan, seed, hosts, flows, timers, own, tell)
            raw["audit"]["retries"] = attempt
            if not invalid_reasons(raw["audit"], raw["audit"]["packet_time"]):
                break
        raws.append(raw)
    audits = [raw.pop("audit") for raw in raws]
    live = {
        "law": law,
        "ipv6": ipv6,
        "timers": None if timers is None else asdict(timers),
        "audits": audits,
        **{
            name: [
                f"Replication {r}: {each}" if len(audits) > 1 else each
                for r, audit in enumerate(audits)
                for each in told(audit, audit["packet_time"])
            ]
            for name, told in (("invalid_reasons", invalid_reasons), ("remarks", remarks))
        },
    }
    spent = time.perf_counter() - started
    circumstances = here(started_at, spent, sum(audit["cpu"] for audit in audits), 0)
    provenance = describe(scenario, seeds, circumstances, live=live)
    return Result.from_raw(scenario, plan, provenance, raws)


def _replication(
    plan: Mapping[str, Any],
    seed: int,
    hosts: Sequence[Host],
    flows: Sequence[Flow],
    timers: Timers | None,
    own: OwnProcessor | None,
    tell: Callable[[float], None],
) -> dict[str, Any]:
    """The measurements of one run in the form of the simulator's engine, with its audit."""
    edges = np.array([0, *plan["boundaries"], plan["duration"]]) / 1e9
    greedy = [flow for flow in flows if flow.greedy]
    paced = [flow for flow in flows if flow.kind == "paced"]
    others = [flow for flow in flows if not flow.greedy and flow.kind != "paced"]
    with namespaces("near", "far") as (near, far):
        link = _link(plan, seed, near, far, hosts, timers, own)
        configure(plan, near, far, hosts)
        taken: dict[str, Any] = {}
        with (
            broken_programs_end(link, plan),
            run_receivers(far, greedy),
            endpoints(near, far, others, edges) as programs,
        ):
            senders = PacedSenders(plan, paced, near, far)
            with watched(link, taken) as epoch:
                programs.begin(epoch)
                senders.begin(epoch)
                step = max(plan["sample"] / 1e9, SHORTEST)
                ports = [flow.port for flow in greedy]
                with SocketReader((near, far), ports, epoch, step, edges) as reader:
                    began = run_senders(near, greedy, epoch, edges[-1], tell, reader.read)
                    reader.finish()
                seen, late = programs.end()
                paced_seen, traces, paced_late = senders.end()
            raw = link.finish()
        raw["audit"] |= {
            "packet_time": link.packet_time,
            "round_trip": least_round_trip(plan),
            "duration": float(edges[-1]),
            "isolated": own.number if own else None,
        }
        raw["audit"] |= taken
        for end, name in (("near", near), ("far", far)):
            raw["audit"][end] |= counters(name, DEVICE)
    if late is not None:
        gap = min(flow.gap for flow in others if flow.gap)
        raw["audit"]["packets"] = {"late": late, "gap": gap}
    if paced_late is not None:
        raw["audit"]["paced"] = {"late": paced_late}
    samples = {flow.index: reader.flows[flow.port] for flow in greedy}
    seen |= _greedy_records(samples, began, edges) | paced_seen
    there = [flow for flow in flows if flow.index in seen]
    rows_by_index = {flow.index: row for row, flow in enumerate(there)}
    return {
        **raw,
        "ended": float(edges[-1]),
        "events": 0,
        "flows": _table(there, seen),
        "traces": [],
        "senders": [
            {"flow": row} | {name: np.array(x) for name, x in rows(samples[flow.index]).items()}
            for row, flow in enumerate(there)
            if flow.trace and flow.greedy
        ],
        "paced": [{**trace, "flow": rows_by_index[index]} for index, trace in traces.items()],
        "cwnds": [],
        "media": [],
    }


def _link(
    plan: Mapping[str, Any],
    seed: int,
    near: str,
    far: str,
    hosts: Sequence[Host],
    timers: Timers | None,
    own: OwnProcessor | None,
) -> _core.LiveLink:
    """The links of a plan between two namespaces, not started."""
    try:
        with programs_are_told():
            return _core.LiveLink(
                json.dumps(plan),
                seed,
                (DEVICE, f"/run/netns/{near}"),
                (DEVICE, f"/run/netns/{far}"),
                max(host.wire for host in hosts),
                hosts_by_number(hosts),
                longest_poll=timers.longest_poll if timers else None,
                own_processor=str(own.threads) if own else None,
            )
    except OSError as error:
        raise RunError(str(error.strerror or error)) from None


def _greedy_records(
    samples: Mapping[int, Samples], began: Mapping[int, float], edges: Floats
) -> dict[int, FlowRecord]:
    """The records of flows without an end, by index, from readings of their sockets."""
    records = {}
    for index, each in samples.items():
        segments = each.number("data_segs_out"), each.number("retrans")
        # A flow that was to start at the very end has not started.
        start = began.get(index, float(edges[-1]))
        records[index] = FlowRecord(start, np.nan, *segments, each.received(edges))
    return records


def _table(flows: Sequence[Flow], seen: Mapping[int, FlowRecord]) -> dict[str, Any]:
    """The table of flows. Of TCP flows Linux reports neither timeouts nor reductions by ECN."""
    rows = [(flow, seen[flow.index]) for flow in flows]
    delivered = np.array([np.diff(each.received) for _, each in rows])
    return {
        "group": np.array([flow.host.entry for flow, _ in rows], dtype=np.uint32),
        "route": np.array([flow.host.route for flow, _ in rows], dtype=np.uint32),
        "start": np.array([each.start for _, each in rows]),
        "end": np.array([each.end for _, each in rows]),
        "size": np.array([flow.size for flow, _ in rows], dtype=np.uint32),
        "delivered": np.round(delivered).astype(np.uint64),
        "sent": np.array([each.sent for _, each in rows], dtype=np.uint64),
        "retransmits": np.array([each.retransmits for _, each in rows], dtype=np.uint64),
        "timeouts": np.array([each.timeouts for _, each in rows]),
        "ecn_cuts": np.array([each.ecn_cuts for _, each in rows]),
    }
