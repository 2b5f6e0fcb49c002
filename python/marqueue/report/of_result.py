"""The report of one result."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import tomli_w

from marqueue.report.builder import Cell, Report
from marqueue.report.of_theory import theory
from marqueue.result import (
    CIRCUMSTANCES,
    FLOW_FIGURES,
    LINK_FIGURES,
    RUN_FIGURES,
    Figure,
    Result,
)
from marqueue.result.optimum import Aim
from marqueue.result.pipe import PIPE_FIGURES
from marqueue.result.summary import batched_figures, batches_sentence, route_rtts, warnings
from marqueue.scenario.impairments import written
from marqueue.scenario.parameters import Declaration, aqms, tcp_declarations
from marqueue.stats import Estimate
from marqueue.units import CLOCK, CYCLES, DENSITY, RATE, TIME

#: Links with a panel of figures each; beyond these the tables must do.
MOST_LINKS_DRAWN = 6

#: Traced flows with a figure each.
MOST_SENDERS_DRAWN = 4

#: What of the manifest a reader sees; the rest is in the result's files. Machine and times are not
#: here: two runs of the same give the same page.
MADE = (
    "version",
    "commit",
    "scenario_hash",
    "seed",
    "replications",
)

HIGHLIGHTS = ("utilization", "loss_ratio", "queue_mean", "delay_p99")


def write_report(result: Result, path: str | os.PathLike[str]) -> Path:
    """Writes the report of a result as one page that needs nothing else."""
    return report(result).write(path)


def report(result: Result) -> Report:
    """The report of a result; sections may be added to it."""
    title = f"{result.name} (partial)" if result.partial else result.name
    page = Report(title, result.scenario.get("description", ""), _byline(result))
    page.notes(filter(None, [result.manifest.partial_remark]), "A limit ended this run")
    if len(result.links) == 1:
        page.highlights(_highlights(result))
    page.notes(warnings(result))
    _asked(page, result)
    _links(page, result)
    _shares(page, result)
    _pipes(page, result)
    _flows(page, result)
    _windows(page, result)
    if result.theory is not None:
        theory(page, result.theory, MOST_LINKS_DRAWN)
    _figures(page, result)
    _settings(page, result)
    _reproduce(page, result)
    return page


def _byline(result: Result) -> str:
    begin, end = result.span()
    n = result.replications
    cut = f" after a warm-up of {begin:g} s that is cut off" if begin else ", from the start"
    spread = (
        "± is the half width of the 95% confidence interval over them (Student)."
        if n > 1
        else "A single one says nothing of the spread between replications."
    )
    return (
        f"Measured over {end - begin:g} s{cut}; {n} replication{'s' * (n > 1)}. {spread} "
        f"marqueue {result.manifest.version}, seed {result.manifest.seed}."
    )


def _highlights(result: Result) -> list[tuple[str, Cell, str]]:
    link = result.link()
    figures = link.figures() | batched_figures(result).get(link.name, {})
    return [(f.label, f.shown(figures), f.unit) for f in LINK_FIGURES if f.name in HIGHLIGHTS]


def _asked(page: Report, result: Result) -> None:
    page.section("What was asked")
    plan = result.plan
    topology = result.scenario["topology"]
    rtts = sorted(set(route_rtts(plan)))
    page.facts(
        {
            "Topology": str(topology["kind"]),
            "Duration": f"{result.edges[-1]:g} s, of which {result.warmup:g} s are warm-up",
            "Round-trip propagation": ", ".join(_time(rtt * 1e9) for rtt in rtts),
            "Time series": f"every {_time(plan['sample'])}" if plan["sample"] else "none",
        }
    )
    columns = ["Link", "Rate", "Delay", "Buffer", "AQM", "Signal"]
    page.table(columns, [_link_row(result.link(name).plan) for name in result.links])
    if result.pipes:
        rows = [_pipe_row(result.pipe(name).plan) for name in result.pipes]
        page.table(["Link", "Rate", "Delay", "Impairments"], rows)
    cpus = [link for link in plan["links"] if link.get("cpu")]
    if cpus:
        groups = list(result.link(cpus[0]["name"]).shares())
        work = [[cpu["name"], *map(_work, cpu["cpu"]["work"])] for cpu in cpus]
        page.table(["CPU", *groups], work, "What packets take of each CPU, by group of traffic.")
    columns = ["Traffic", "Kind", "What", "Classes", "Transport"]
    page.table(columns, [_traffic_row(t) for t in result.scenario["traffic"]])


def _time(ns: float) -> str:
    return TIME.write(Decimal(round(ns)))


def capacity(link: Mapping[str, Any]) -> str:
    """The rate of a link, or the clock of a CPU with its cores, of an entry of the plan."""
    cpu = link.get("cpu")
    if not cpu:
        return RATE.write(Decimal(link["rate"]))
    cores = f", {cpu['cores']} cores" if cpu["cores"] > 1 else ""
    return CLOCK.write(Decimal(cpu["clock"])) + cores


def _link_row(link: Mapping[str, Any]) -> list[Cell]:
    rate = capacity(link)
    changes = [f"{RATE.write(Decimal(r))} from {_time(t)}" for t, r in link.get("schedule", ())]
    queue = link["queue"]
    [(unit, amount)] = queue["limit"].items()
    return [
        link["name"],
        "; ".join([rate, *changes]),
        _time(link["delay"]),
        f"{amount} {unit}",
        _policy_text(queue["policy"]),
        queue["signal"],
    ]


def _pipe_row(link: Mapping[str, Any]) -> list[Cell]:
    impairments = [
        f"{what}: {', '.join(f'{key} {value}' for key, value in table.items())}"
        for what, table in written(link["pipe"]).items()
    ]
    rate = RATE.write(Decimal(link["rate"]))
    return [link["name"], rate, _time(link["delay"]), "; ".join(impairments)]


def _work(work: Mapping[str, Any]) -> str:
    """What packets of a group take of a CPU, and what its queue is told if not the truth."""
    parts = [DENSITY.write(Decimal(work["per_bit"]))]
    if work["per_packet"]:
        parts.append(f"{CYCLES.write(Decimal(work['per_packet']))} a packet")
    elif work["density"] != work["per_bit"] / 1e6:
        parts.append(f"declared as {work['density']:g}")
    return ", ".join(parts)


def _policy_text(policy: Mapping[str, Any]) -> str:
    given = [f"{k} = {_value(v)}" for k, v in policy.get("params", {}).items()]
    return f"{policy['name']} ({', '.join(given)})" if given else str(policy["name"])


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        if "name" in value:
            return _policy_text(value)
        return ", ".join(f"{key}: {_value(each)}" for key, each in value.items()) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


#: What a row of traffic says of itself in columns of their own.
_NOT_DETAILS = {"name", "kind", "classes", "transport", "trace"}


def _traffic_row(traffic: Mapping[str, Any]) -> list[Cell]:
    details = [f"{k} {_in_words(v)}" for k, v in traffic.items() if k not in _NOT_DETAILS]
    kind = str(traffic["kind"])
    return [
        str(traffic.get("name", kind)),
        kind,
        ", ".join(details),
        ", ".join(traffic.get("classes", ["all"])),
        str(traffic["transport"]) if kind in ("tcp", "poisson") and "transport" in traffic else "",
    ]


def _in_words(value: object) -> str:
    """A value of a scenario as a reader would write it, tables in parentheses."""
    if isinstance(value, Mapping):
        return f"({', '.join(f'{key} {_in_words(each)}' for key, each in value.items())})"
    if isinstance(value, list):
        return ", ".join(map(_in_words, value))
    return str(value)


def _links(page: Report, result: Result) -> None:
    page.section("Links")
    batched = batched_figures(result)
    figures = [result.link(name).figures() | batched.get(name, {}) for name in result.links]
    spread = f" Of the one replication, {batches_sentence(batched)}." if batched else ""
    page.table(
        ["", *result.links],
        _compare(LINK_FIGURES, figures),
        "Over the measured time. The queue is weighted by time and holds what waits, not the "
        "packet in transmission; the queueing delay runs from arrival to the start of the "
        "transmission; the delay variation is the mean absolute difference between the delays of "
        f"consecutive packets (RFC 3393).{spread}",
    )
    for of, heading in (("drops", "Packets lost"), ("marks", "Packets marked")):
        reasons = {name: result.link(name).reasons(of) for name in result.links}
        names = sorted({r for each in reasons.values() for r, e in each.items() if e.mean > 0})
        rows: list[list[Cell]] = [
            [r, *(reasons[name].get(r) for name in result.links)] for r in names
        ]
        if rows:
            page.table(["Reason", *result.links], rows, f"{heading}, by reason.")


def _share(share: float | None) -> Cell:
    return "" if share is None else f"{share:.3f}"


def _aimed(optimum: Aim | str | None) -> str:
    """What is said of the optimum below a table of shares."""
    if optimum is None:
        return ""
    if isinstance(optimum, str):
        return f" There is no optimum to compare with: {optimum}."
    pairs = "".join(f" {link} and its CPU: {region}." for link, region in optimum.pairs.items())
    return (
        f" Optimum: proportionally fair rates of the long flows, which are {optimum.region}."
        f"{pairs} " + " ".join(optimum.assumed)
    )


def _shares(page: Report, result: Result) -> None:
    """What groups of traffic had of CPUs and links, where there are CPUs."""
    shares = {name: result.link(name).shares() for name in result.links}
    groups = list(next(iter(shares.values()), {}))
    if not groups:
        return
    units = {name: "cycles" if result.link(name).plan.get("cpu") else "bit" for name in shares}
    optimum = result.optimum
    aims = {} if optimum is None or isinstance(optimum, str) else optimum.shares
    wanted = ("optimum",) if aims else ()
    heads = [h for name in shares for h in (f"{name} [M{units[name]}/s]", "share", *wanted)]
    rows: list[list[Cell]] = [
        [
            group,
            *(
                cell
                for name, each in shares.items()
                for cell in (
                    each[group]["rate"].scaled(1e-6),
                    each[group]["share"],
                    *(_share(aims[name].get(group)) for _ in wanted),
                )
            ),
        ]
        for group in groups
    ]
    page.table(
        ["Group", *heads],
        rows,
        "What each group of traffic had of CPUs and links over the measured time, and which share "
        "of their capacity that is." + _aimed(optimum),
    )
    page.figure(
        result.plot.shares(), "Shares of the capacity of CPUs and links, by group of traffic."
    )


def _pipes(page: Report, result: Result) -> None:
    """What happened behind the transmitters of impaired links."""
    if not result.pipes:
        return
    page.table(
        ["", *result.pipes],
        _compare(PIPE_FIGURES, [result.pipe(name).figures() for name in result.pipes]),
        "Impaired links over the measured time: what happened on the wire, behind queue and "
        "transmitter. These losses are not among those of the queues.",
    )


def _compare(
    figures: Sequence[Figure[Any]], estimates: Sequence[Mapping[str, Estimate]]
) -> list[list[Cell]]:
    """A row a figure and a column a set of estimates; figures that none has are left out."""
    return [
        [f.title, *(f.shown(each) for each in estimates)]
        for f in figures
        if any(each[f.name].n for each in estimates)
    ]


def _flows(page: Report, result: Result) -> None:
    page.section("Flows")
    parts: list[tuple[str | None, str | None]] = [(None, None)]
    if len(result.groups) > 1:
        parts += [(group, None) for group in result.groups]
    if len(result.classes) > 1:
        parts += [(None, class_) for class_ in result.classes]
    heads = ["", *(group or class_ or "all" for group, class_ in parts)]
    page.table(
        heads,
        _compare(FLOW_FIGURES, [result.traffic(group=g, class_=c) for g, c in parts]),
        "Over the measured time: all flows, then by group of traffic and by class. Goodput is "
        "payload delivered in order; that of a flow is taken over the time that it was there. "
        "Jain's index is that of the endless flows that were there throughout. Completion times "
        "are those of finite flows that started in the measured time and finished before the run "
        "ended.",
    )
    page.table(
        heads,
        _compare(RUN_FIGURES, [result.run_totals(group=g, class_=c) for g, c in parts]),
        "What flows counted over the whole run, its warm-up included.",
    )


def _windows(page: Report, result: Result) -> None:
    if len(result.measured) < 2:
        return
    page.section("Windows")
    spans = [result.span(w) for w in result.measured]
    heads = ["", *(f"{begin:g} to {end:g} s" for begin, end in spans)]
    for name in result.links:
        link = [result.link(name).figures(w) for w in result.measured]
        page.table(heads, _compare(LINK_FIGURES, link), f"Link {name}.")
    flows = [result.traffic(w) for w in result.measured]
    page.table(heads, _compare(FLOW_FIGURES, flows), "All flows.")


def _figures(page: Report, result: Result) -> None:
    page.section("Figures")
    n = result.replications
    band = "" if n == 1 else f" Line: the first replication; band: the range of all {n}."
    grey = " Grey: warm-up." if result.warmup else ""
    several = len(result.links) > 1
    for name in result.links[:MOST_LINKS_DRAWN]:
        at = f" at {name}" if several else ""
        if result.plan["sample"]:
            page.figure(result.plot.queue(name), f"Queue{at} in packets.{band}{grey}")
            for probe in result.link(name).probes:
                inside = f"Inside {_aqm(result, name)}{at}: {probe.replace('_', ' ')}."
                page.figure(result.plot.series(probe, name), inside + band)
            page.figure(
                result.plot.load(name),
                f"Utilization, losses and marks (if any){at} in each sample of "
                f"{_time(result.plan['sample'])}.{band}",
            )
        if result.measured:
            page.figure(
                result.plot.queue_distribution(name),
                f"Share of time at each queue length{at}, all replications together.",
            )
    _senders(page, result)
    if "paced" in result.tables:
        page.figure(
            result.plot.rates(), "Sending rates of the traced paced flows in the first replication."
        )
    if any(len(f.completion_times) for f in result.flow_sets()):
        page.figure(
            result.plot.completion_times(),
            "Flow completion times by class, all replications together.",
        )
    if any(len(f.long_rates) for f in result.flow_sets()):
        page.figure(
            result.plot.goodputs(),
            "Goodput of each long flow over the measured time by class, all replications together.",
        )


def _senders(page: Report, result: Result) -> None:
    """The first traced flows of the first replication."""
    if "tcp" not in result.tables:
        return
    table = result.to_arrow("tcp")
    first = table.filter(pc.equal(table["replication"], 0))
    for flow in first["flow"].unique().to_pylist()[:MOST_SENDERS_DRAWN]:
        page.figure(
            result.plot.sender(flow),
            f"Sender of flow {flow} in the first replication: cwnd and ssthresh, latest and "
            "smoothed round-trip time, retransmission timeout.",
        )


def _aqm(result: Result, link: str) -> str:
    return str(result.link(link).plan["queue"]["policy"]["name"])


def _settings(page: Report, result: Result) -> None:
    page.section("Settings in force")
    for name in result.links:
        policy = result.link(name).plan["queue"]["policy"]
        _policy(page, f"{policy['name']} at {name}", policy)
    for (name, transport), planned in zip(
        result.manifest.transports.items(), result.plan["transports"], strict=True
    ):
        otherwise = f"preset {transport['preset']}"
        rows = _rows(tcp_declarations(), transport["values"], planned["params"], otherwise)
        page.table(SETTINGS, rows, f"Transport {name}", folded=True)


SETTINGS = ("Parameter", "Value", "Set by", "Meaning")


def _policy(page: Report, title: str, policy: Mapping[str, Any]) -> None:
    """All parameters of an AQM, and of those that stand inside it."""
    declared = aqms()[policy["name"]].params
    given = policy["params"]
    if not declared:
        page.text(f"{title} has no parameters.")
        return
    page.table(SETTINGS, _rows(declared, given, given, "default"), title)
    for name, value in given.items():
        if isinstance(value, Mapping) and "name" in value:
            _policy(page, f"{value['name']} as {name} of {title}", value)


def _rows(
    declared: Sequence[Declaration],
    values: Mapping[str, Any],
    given: Mapping[str, Any],
    otherwise: str,
) -> list[list[Cell]]:
    """Each parameter with the value in force and who set it."""
    rows: list[list[Cell]] = []
    for spec in declared:
        value = values.get(spec.name, spec.default)
        text = spec.auto or "none" if value is None else _value(spec.write(value))
        rows.append([spec.name, text, "scenario" if spec.name in given else otherwise, spec.doc])
    return rows


def _reproduce(page: Report, result: Result) -> None:
    page.section("How to reproduce this")
    manifest = result.manifest
    page.text("Save the scenario below as scenario.toml, and run it with the same version:")
    page.code(
        f"marqueue run scenario.toml --seed {manifest.seed} --replications {manifest.replications}"
    )
    page.code(tomli_w.dumps(result.scenario), "scenario.toml", folded=True)
    made = dataclasses.asdict(manifest)
    facts: dict[str, Cell] = {
        key.replace("_", " ").capitalize(): made[key] for key in MADE if made[key] is not None
    }
    page.facts({**facts, "When, where and how long": CIRCUMSTANCES})
