"""The groups of traffic of a plan."""

from collections.abc import Iterable

from marqueue.errors import show, unknown
from marqueue.scenario.class_parts import ClassParts
from marqueue.scenario.compilation import Compilation, Plan
from marqueue.scenario.dscp import dscp_value
from marqueue.scenario.parameters import media_controls
from marqueue.scenario.traffic import (
    Cbr,
    Media,
    Paced,
    Packets,
    Poisson,
    Quic,
    Recorded,
    Tcp,
    Traffic,
)
from marqueue.units import Duration


def group_entries(c: Compilation, index: int, table: Traffic) -> Iterable[Plan]:
    """The entries for one group of the scenario: one per class, or a single one of Poisson
    flows."""
    path = f"traffic.{index}"
    name = _group_name(c, index, table)
    classes = c.classes(path, table)
    routes = [_route(c, each, table) for each in classes]
    _check_times(c, path, table)
    label = {"dscp": dscp_value(table.dscp)}
    if c.net.cpus:
        label["class"] = index
    if isinstance(table, Packets):
        _check_sizes(c, path, table)
    if isinstance(table, Tcp | Quic) and table.sample_cwnd and c.scenario.sample.base == 0:
        c.refuse(f"{path}.sample_cwnd", "got true, expected sample above zero with it")
    weights = [c.net.classes[each].weight for each in classes]
    parts = ClassParts.of(weights, _count(table))
    common: Plan = {"start": table.start.base, "stop": table.stop.base if table.stop else None}
    if isinstance(table, Poisson):
        kind = {
            **common,
            "transport": _transport_index(c, path, table.transport),
            "routes": routes,
            **({} if parts.are_equal else {"weights": weights}),
            "rate": table.rate.per_second,
            "stop": (table.stop or c.scenario.duration).base,
            "size": table.size.base,
            **({"law": {"pareto": {"shape": table.shape}}} if table.shape else {}),
        }
        return [{"name": name, **label, "kind": {"poisson": kind}}]
    groups = []
    for position, (class_, route) in enumerate(zip(classes, routes, strict=True)):
        kind = common | {"route": route} | _share(c, path, table, parts, position)
        if kind.get("count") != 0 or kind.get("arrivals"):
            name_here = f"{name}/{c.net.classes[class_].name}"
            groups.append({"name": name_here, **label, "kind": {table.kind: kind}})
    return groups


def _count(table: Traffic) -> int | None:
    """The number of flows of a group; None if it has a rate alone."""
    if isinstance(table, Poisson | Packets):
        return None
    if isinstance(table, Quic):
        return None if table.arrivals is not None else table.count or 1
    return table.count


def _share(
    c: Compilation,
    path: str,
    table: Tcp | Cbr | Recorded | Paced | Packets | Quic | Media,
    parts: ClassParts,
    position: int,
) -> Plan:
    """The part of a group in one class."""
    if isinstance(table, Packets):
        return {
            "rate": parts.rate(position, table.rate.per_second),
            "packet": table.packet.base,
            "size": table.sizes if table.scv is None else {table.sizes: {"scv": table.scv}},
            **_ecn_field(table),
        }
    if isinstance(table, Quic):
        return _quic(table, parts, position)
    count = parts.counts[position]
    spread: Plan = {"count": count, "jitter": table.jitter.base}
    if isinstance(table, Cbr):
        packets = {"rate": table.rate.base, "packet": table.packet.base}
        return spread | packets | _ecn_field(table)
    if isinstance(table, Recorded):
        sent = [(after.base, size.base) for after, size in table.packets]
        return spread | {"packets": sent} | _ecn_field(table)
    if isinstance(table, Media):
        return spread | _media(table)
    if isinstance(table, Paced):
        control = {"name": table.control.name, "params": dict(table.control.params)}
        paced = {"rate": table.rate.base, "packet": table.packet.base, "ecn": table.ecn}
        traced = {"trace": True} if table.trace else {}
        return spread | paced | {"control": control} | traced
    return spread | {
        "transport": _transport_index(c, path, table.transport),
        "size": table.size.base if table.size else None,
        "trace": table.trace,
        "write": _write(table),
        **({"sample_cwnd": True} if table.sample_cwnd else {}),
    }


def _quic(table: Quic, parts: ClassParts, position: int) -> Plan:
    """The part of a group of QUIC flows in one class."""
    plan: Plan = {
        **({"library": table.library} if table.library != "quinn" else {}),
        "control": table.control,
        "ecn": table.ecn,
        "packet": table.packet.base,
        "size": table.size.base if table.size else None,
        "trace": table.trace,
        **({"law": {"pareto": {"shape": table.shape}}} if table.shape else {}),
        **({"rate": table.rate.base} if table.rate else {}),
        **({"sample_cwnd": True} if table.sample_cwnd else {}),
    }
    if table.arrivals is not None:
        # A Poisson process in each class: together they are one, and a flow's class is random.
        arrivals = parts.rate(position, table.arrivals.per_second)
        return plan | {"arrivals": arrivals, "count": 0, "jitter": 0}
    jitter = Duration(10**9) if table.jitter is None else table.jitter
    return plan | {"count": parts.counts[position], "jitter": jitter.base}


def _media(table: Media) -> Plan:
    """What every flow of a group of media has."""
    answers = media_controls()[table.control.name].answers_marks
    return {
        "control": {"name": table.control.name, "params": dict(table.control.params)},
        "packet": table.packet.base,
        "ecn": table.ecn or ("ect1" if answers else "not-ect"),
        "encoder": {
            "period": round(1e9 / table.frame_rate.per_second),
            "min_rate": table.min_rate.base,
            "max_rate": table.max_rate.base,
            "ladder": [rate.base for rate in table.ladder],
            "deviation": table.deviation,
            "key_frames": table.key_frames.base if table.key_frames else None,
            "key_size": table.key_size,
        },
        **({"trace": True} if table.trace else {}),
    }


def _ecn_field(table: Cbr | Recorded | Packets) -> Plan:
    """The ECN field of packets of senders without congestion control, if it is not 00."""
    return {} if table.ecn == "not-ect" else {"ecn": table.ecn}


def _write(table: Tcp) -> Plan | None:
    """How an application writes its data; None if all of it is there from the start."""
    if table.write is None or table.every is None:
        return None
    first = {}
    if table.first is not None and table.first_lasts is not None:
        first = {"first": {"packets": table.first.base, "lasts": table.first_lasts.base}}
    return {
        "packets": table.write.base,
        "every": table.every.base,
        "gaps": table.gaps or "constant",
        **first,
    }


def _group_name(c: Compilation, index: int, table: Traffic) -> str:
    """The name of a group. Records a problem if an earlier group has it."""
    if table.name is not None and c.group_numbers[table.name] < index:
        c.refuse(
            f"traffic.{index}.name", f"got {show(table.name)} again, expected names that differ"
        )
    return c.group_names[index]


def _route(c: Compilation, class_: int, table: Traffic) -> int:
    """The route of a group's data in a class."""
    if table.direction == "reverse":
        return c.reverse_routes[class_]
    return class_


def _transport_index(c: Compilation, path: str, name: str) -> int:
    """The index of a table of [transport]."""
    names = list(c.scenario.transport)
    if name not in names:
        c.refuse(f"{path}.transport", unknown(name, names))
        return 0
    return names.index(name)


def _check_times(c: Compilation, path: str, table: Traffic) -> None:
    """Checks that a group starts within the run and stops after it has started."""
    s = c.scenario
    if table.start >= s.duration:
        c.refuse(
            f"{path}.start",
            f"got {show(str(table.start))}, expected less than duration ({s.duration})",
        )
    if table.stop is not None and table.stop <= table.start:
        c.refuse(
            f"{path}.stop",
            f"got {show(str(table.stop))}, expected a time after start ({table.start})",
        )


def _check_sizes(c: Compilation, path: str, table: Packets) -> None:
    """Checks that ``scv`` is given for hyperexponential sizes and no others."""
    varied = table.sizes == "hyperexponential"
    if varied and table.scv is None:
        c.refuse(f"{path}.scv", "got nothing, expected a number from 1")
    if not varied and table.scv is not None:
        c.refuse(f"{path}.scv", f'got {show(table.scv)}, expected sizes to be "hyperexponential"')
