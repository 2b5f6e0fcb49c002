"""The sections of a report about the input of a run: scenario, settings and reproduction."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from marqueue.programs.registry import is_program
from marqueue.reports.builder import Cell, Report
from marqueue.reports.reproduction_command import (
    SCENARIO,
    add_reproduction,
    programs_remark,
    run_command,
)
from marqueue.results import Result
from marqueue.results.integrity import CIRCUMSTANCES
from marqueue.results.result_warnings import (
    MOST_LISTED,
    has_spread_rtts,
    listed,
    named,
    route_rtts,
)
from marqueue.scenario.impairments import impairment_tables
from marqueue.scenario.medium import medium_text
from marqueue.scenario.parameters import Declaration, aqms, tcp_declarations
from marqueue.scenario.program import DIGEST, known_declarations
from marqueue.scenario.recording import KEY as RECORDED
from marqueue.units import CLOCK, CYCLES, DENSITY, RATE, TIME

#: Fields of the provenance in the report. Machine and times are left out, so that two runs of the
#: same scenario give the same page.
MADE = (
    "version",
    "commit",
    "scenario_hash",
    "seed",
    "replications",
)

#: Links of which each has a table of its AQM's parameters.
MOST_TABLES = 12
#: Round-trip times that are listed.
MOST_TIMES = 24


def asked(page: Report, result: Result) -> None:
    """Adds the scenario: topology, links, traffic."""
    page.section("Scenario", folded=True)
    plan = result.plan
    topology = result.scenario["topology"]
    rtts = sorted(set(route_rtts(plan)))
    spread = ", and longer: one draw for each flow" if has_spread_rtts(plan) else ""
    page.facts(
        {
            "Topology": str(topology["kind"]),
            "Duration": f"{result.edges[-1]:g} s, of which {result.warmup:g} s are warm-up",
            "Round-trip propagation": _times(rtts) + spread,
            "Time series": f"every {time(plan['sample'])}" if plan["sample"] else "none",
        }
    )
    columns = ["Link", "Rate", "Delay", "Buffer", "AQM", "Signal"]
    links, many = listed(result.links), len(result.links) > MOST_LISTED
    caption = f"Links{rest(result.links, SCENARIO)}" if many else ""
    page.table(columns, [_link_row(result.link(name).plan) for name in links], caption, folded=many)
    if result.pipes:
        rows = [_pipe_row(result.pipe(name).plan) for name in listed(result.pipes)]
        page.table(["Link", "Rate", "Delay", "Impairments"], rows)
    cpus = [link for link in plan["links"] if link.get("cpu")]
    if cpus:
        groups = list(result.link(cpus[0]["name"]).shares())
        work = [[cpu["name"], *map(_work, cpu["cpu"]["work"])] for cpu in cpus]
        page.table(["CPU", *groups], work, "CPU cycles that packets of each group of traffic need.")
    if result.provenance.command:
        return
    columns = ["Traffic", "Kind", "Settings", "Classes", "Transport"]
    traffic = result.scenario["traffic"]
    caption = f"Groups of traffic{rest(traffic, SCENARIO)}" if len(traffic) > MOST_LISTED else ""
    page.table(columns, [_traffic_row(t) for t in listed(traffic)], caption, folded=bool(caption))


def _times(rtts: Sequence[float]) -> str:
    """Increasing times in s, each or their range."""
    if len(rtts) <= MOST_TIMES:
        return ", ".join(time(rtt * 1e9) for rtt in rtts)
    return f"{time(rtts[0] * 1e9)} to {time(rtts[-1] * 1e9)}, {len(rtts):,} values"


def rest(names: Sequence[Any], file: str) -> str:
    """The end of a caption: the number of rows shown, and the file with all of them."""
    if len(names) <= MOST_LISTED:
        return "."
    return f": the first {MOST_LISTED} of {len(names):,}; {file} beside this page has all."


def time(ns: float) -> str:
    """A time in ns as text, in the unit that makes it short."""
    return TIME.write(Decimal(round(ns)))


def capacity(link: Mapping[str, Any]) -> str:
    """The rate of a link, or the clock and cores of a CPU, from an entry of the plan."""
    cpu = link.get("cpu")
    if not cpu:
        trace = link.get("delivery_opportunities")
        mean = f", mean of a trace of {time(trace[-1])}" if trace else ""
        medium = f", {medium_text(link['medium'])}" if link.get("medium") else ""
        return RATE.write(Decimal(link["rate"])) + mean + medium
    cores = f", {cpu['cores']} cores" if cpu["cores"] > 1 else ""
    return CLOCK.write(Decimal(cpu["clock"])) + cores


def _link_row(link: Mapping[str, Any]) -> list[Cell]:
    rate = capacity(link)
    changes = [f"{RATE.write(Decimal(r))} from {time(t)}" for t, r in link.get("schedule", ())]
    queue = link["queue"]
    [(unit, amount)] = queue["limit"].items()
    return [
        link["name"],
        "; ".join([rate, *changes]),
        time(link["delay"]),
        f"{amount} {unit}",
        _policy_text(queue["policy"]),
        queue["signal"],
    ]


def _pipe_row(link: Mapping[str, Any]) -> list[Cell]:
    impairments = [
        f"{what}: {', '.join(f'{key} {value}' for key, value in table.items())}"
        for what, table in impairment_tables(link["pipe"]).items()
    ]
    rate = RATE.write(Decimal(link["rate"]))
    return [link["name"], rate, time(link["delay"]), "; ".join(impairments)]


def _work(work: Mapping[str, Any]) -> str:
    """The cycles that packets of a group need, and the declared density if it differs."""
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


#: Keys of traffic that have their own column.
_NOT_DETAILS = {"name", "kind", "classes", "transport", "trace"}

#: Kinds of traffic and keys that apply to each flow, not to the group.
_EACH = {("cbr", "rate"), ("paced", "rate"), ("media", "max_rate")}


def _traffic_row(traffic: Mapping[str, Any]) -> list[Cell]:
    kind = str(traffic["kind"])
    recorded = {RECORDED: len(traffic[RECORDED])} if RECORDED in traffic else {}
    details = [
        f"{k} {_in_words(v)}{' per flow' if (kind, k) in _EACH else ''}"
        for k, v in {**traffic, **recorded}.items()
        if k not in _NOT_DETAILS
    ]
    return [
        str(traffic.get("name", kind)),
        kind,
        ", ".join(details),
        ", ".join(traffic.get("classes", ["all"])),
        str(traffic["transport"]) if kind in ("tcp", "poisson") and "transport" in traffic else "",
    ]


def _in_words(value: object) -> str:
    """A value of a scenario as text, with tables in parentheses."""
    if isinstance(value, Mapping):
        return f"({', '.join(f'{key} {_in_words(each)}' for key, each in value.items())})"
    if isinstance(value, list):
        return ", ".join(map(_in_words, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _alike(result: Result) -> list[tuple[Mapping[str, Any], list[str]]]:
    """The queues of all links with their names; those with one AQM and one setting are together
    where links are too many for a table each."""
    queues = [(name, result.link(name).plan["queue"]) for name in result.links]
    if len(queues) <= MOST_TABLES:
        return [(queue, [name]) for name, queue in queues]
    found: dict[str, tuple[Mapping[str, Any], list[str]]] = {}
    for name, queue in queues:
        key = json.dumps([queue["policy"], queue.get("router")], sort_keys=True)
        found.setdefault(key, (queue, []))[1].append(name)
    return list(found.values())[:MOST_LISTED]


def settings(page: Report, result: Result) -> None:
    """Adds every parameter of AQMs and transports, and where its value comes from."""
    page.section("Effective settings", folded=True)
    for queue, names in _alike(result):
        where = names[0] if len(names) == 1 else f"{len(names):,} links: {named(names)}"
        title = f"{queue['policy']['name']} at {where}"
        if queue.get("router"):
            page.table(("Kernel", "tc"), _told(queue["router"]), title)
            continue
        _policy(page, title, queue["policy"])
    if result.provenance.command:
        return
    for (name, transport), planned in zip(
        result.provenance.transports.items(), result.plan["transports"], strict=True
    ):
        if "stack" in transport:
            _stack(page, f"Transport {name}", transport["stack"], result.provenance.kernels or {})
            continue
        otherwise = f"preset {transport['preset']}"
        rows = _rows(tcp_declarations(), transport["values"], planned["params"], otherwise)
        control = planned["params"].get("control")
        if isinstance(control, Mapping):
            _policy(page, f"{control['name']} as control of {name}", control)
        page.table(SETTINGS, rows, f"Transport {name}", folded=True)


def _stack(
    page: Report, title: str, stack: Mapping[str, Any], kernels: Mapping[str, Mapping[str, str]]
) -> None:
    """Adds what the TCP of a kernel was told; everything else is the kernel's own."""
    kernel = kernels.get(stack["kernel"], {})
    rows: list[list[Cell]] = [
        ["kernel", stack["kernel"]],
        ["version", kernel.get("version", "")],
        ["SHA-256 of the image", kernel.get("checksum", "")],
        ["congestion control", stack["congestion_control"]],
        *([each, value] for each, value in stack["sysctl"].items()),
    ]
    page.table(("Setting", "Value"), rows, title, folded=True)


def _told(router: Mapping[str, Any]) -> list[list[Cell]]:
    """What tc of a kernel was told."""
    return [[router["kernel"], command] for command in router["tc"]]


SETTINGS = ("Parameter", "Value", "Set by", "Meaning")


def _policy(page: Report, title: str, policy: Mapping[str, Any]) -> None:
    """Adds all parameters of an AQM, and of AQMs inside it."""
    given = policy["params"]
    if is_program(policy["name"]):
        declared = known_declarations(policy["name"], given[DIGEST])
        digest = [DIGEST, given[DIGEST], "its file", "SHA-256 of the source in Python"]
        page.table(SETTINGS, [*_rows(declared, given, given, "default"), digest], title)
        return
    declared = aqms()[policy["name"]].params
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
    """A row for each parameter: the effective value, its origin and its meaning."""
    rows: list[list[Cell]] = []
    for spec in declared:
        value = values.get(spec.name, spec.default)
        text = spec.auto or "none" if value is None else _value(spec.write(value))
        rows.append([spec.name, text, "scenario" if spec.name in given else otherwise, spec.doc])
    return rows


def reproduce(page: Report, result: Result) -> None:
    """Adds the command and the files that reproduce the result."""
    page.section("How to reproduce this")
    provenance = result.provenance
    if provenance.command:
        page.text("Start marqueue link with the settings above and this command:")
        page.code(shlex.join(provenance.command))
    else:
        remarks = programs_remark(result.scenario, "the directory of this result")
        add_reproduction(page, result.scenario_text, run_command(result), remarks)
    made = {key: getattr(provenance, key) for key in MADE}
    facts: dict[str, Cell] = {
        key.replace("_", " ").capitalize(): each for key, each in made.items() if each is not None
    }
    page.facts({**facts, "When, where and how long": CIRCUMSTANCES})
