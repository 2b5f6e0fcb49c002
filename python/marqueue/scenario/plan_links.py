"""The links and CPUs of a plan."""

from itertools import pairwise

from marqueue.errors import show, unknown
from marqueue.programs.registry import is_program
from marqueue.scenario.compilation import Compilation, Plan
from marqueue.scenario.cpu import Cpu, nominal_rate, work
from marqueue.scenario.delivery_trace import KEY, mean_rate
from marqueue.scenario.fields import Aqm
from marqueue.scenario.medium import Medium
from marqueue.scenario.network import OneWay
from marqueue.scenario.plan_router import router_entry
from marqueue.scenario.program import plan_parameters
from marqueue.scenario.qdisc import is_qdisc
from marqueue.scenario.topology import LinkKeys
from marqueue.units import Duration, Quantity, Size

RATE_TOLERANCE = 0.01
"""How far a given rate may be from the mean rate of its delivery trace: it is rounded."""


def link_entry(c: Compilation, index: int, link: OneWay) -> Plan:
    """The entry of a link, or of a CPU."""
    c.origins[f"links.{index}"] = link.path
    if link.cpu is not None:
        return _cpu(c, index, link, link.cpu)
    plan: Plan = {
        "name": link.name,
        "rate": link.rate.base,
        "delay": link.delay.base,
        "queue": None,
        "trace": link.trace,
    }
    if link.per_flow is not None:
        plan["per_flow"] = {"delay": link.per_flow.law, "stream": link.per_flow.stream}
        return plan
    pipe = link.impairments.pipe() if link.impairments else {}
    if pipe:
        plan["pipe"] = pipe
        c.origins[f"links.{index}.pipe"] = link.path
    table = link.table
    if table is None:
        return plan
    if table.buffer is not None:
        plan["queue"] = _queue(c, index, link, table, table.buffer)
    previous = Duration(0)
    for i, change in enumerate(table.schedule):
        if not previous < change.at < c.scenario.duration:
            expected = f"a time after {previous} and before {c.scenario.duration}"
            c.refuse(
                f"{link.path}.schedule.{i}.at",
                f"got {show(str(change.at))}, expected {expected}",
            )
        previous = change.at
    plan["schedule"] = [[change.at.base, change.rate.base] for change in table.schedule]
    if table.delivery_trace:
        plan |= _delivery(c, link, table)
    if table.medium is not None:
        plan["medium"] = _medium(c, index, link.path, table, table.medium)
    return plan


def _delivery(c: Compilation, link: OneWay, table: LinkKeys) -> Plan:
    """The times of a delivery trace, and their mean rate in place of the given one."""
    path = link.path
    times = [time.base for time in table.delivery_trace]
    for i, (one, other) in enumerate(pairwise(times), start=1):
        if one > other:
            got = show(str(table.delivery_trace[i]))
            c.refuse(f"{path}.{KEY}.{i}", f"got {got}, expected times that do not decrease")
            return {}
    if times[-1] == 0:
        c.refuse(f"{path}.{KEY}", "expected at least one time above 0 ms")
        return {}
    mean = mean_rate(times)
    if abs(link.rate.base - mean) > RATE_TOLERANCE * mean:
        expected = f"the mean rate of the trace, {mean / 1e6:.4g} Mbit/s"
        c.refuse(f"{path}.rate", f"got {show(str(link.rate))}, expected {expected}")
    for key, given in (("schedule", table.schedule), ("trace", table.trace)):
        if given:
            c.refuse(f"{path}.{key}", f"got one beside {KEY}, expected one of them")
    if table.aqm is not None and is_qdisc(table.aqm.name):
        got = show(table.aqm.name)
        c.refuse(f"{path}.aqm", f"got {got}, expected an AQM of the simulator at a {KEY}")
    return {"rate": mean, "delivery_opportunities": times}


def _medium(c: Compilation, index: int, path: str, table: LinkKeys, medium: Medium) -> Plan:
    """The model of medium access."""
    c.origins[f"links.{index}.medium"] = f"{path}.medium"
    for key, given in (("schedule", table.schedule), (KEY, table.delivery_trace)):
        if given:
            c.refuse(f"{path}.{key}", "got one beside medium, expected one of them")
    if table.aqm is not None and is_qdisc(table.aqm.name):
        got = show(table.aqm.name)
        c.refuse(f"{path}.aqm", f"got {got}, expected an AQM of the simulator at a medium")
    return medium.entry()


def _queue(
    c: Compilation, index: int, way: OneWay, table: LinkKeys | Cpu, buffer: Quantity
) -> Plan:
    """A managed queue."""
    path = way.path
    aqm = table.aqm or Aqm("droptail")
    queue = f"links.{index}.queue"
    c.origins[queue] = path
    c.origins[f"{queue}.policy"] = way.aqm_path or f"{path}.aqm"
    c.origins[f"{queue}.limit"] = f"{path}.buffer"
    c.origins[f"{queue}.mean_packet"] = f"{path}.packet"
    usual = table.packet.base if table.packet else c.usual_packet
    is_kernel = is_qdisc(aqm.name)
    params = {} if is_kernel else dict(aqm.params)
    if is_program(aqm.name):
        params = plan_parameters(aqm.name, aqm.params)
    plan: Plan = {
        "policy": {"name": aqm.name, "params": params},
        "limit": {"bytes" if isinstance(buffer, Size) else "packets": buffer.base},
        "signal": table.signal,
        "mean_packet": usual,
    }
    if is_kernel and isinstance(table, Cpu):
        c.refuse(f"{path}.aqm", f"got {aqm.name}, expected an AQM of the simulator at a CPU")
    elif is_kernel:
        assert not isinstance(table, Cpu)
        link = {"buffer": buffer, "signal": table.signal, "packet": usual, "rate": way.rate.base}
        plan["router"] = router_entry(c, path, aqm.name, aqm.params, link)
    return plan


def _cpu(c: Compilation, index: int, link: OneWay, table: Cpu) -> Plan:
    """The entry of a CPU, with the work that packets of each group need."""
    names = c.group_names
    groups = list(zip(names, c.scenario.traffic, strict=True))
    for name in table.processing:
        if name not in names:
            c.refuse(f"{link.path}.processing.{name}", unknown(name, names))
    takes = [
        work(table.processing.get(name, each.processing), c.packet(each) or 1)
        for name, each in groups
    ]
    c.origins[f"links.{index}.cpu"] = link.path
    return {
        "name": link.name,
        "rate": nominal_rate(table, [takes[i]["density"] for i in _passing(c, index)]),
        "delay": 0,
        "queue": _queue(c, index, link, table, table.buffer),
        "trace": link.trace,
        "cpu": {
            "clock": table.clock.base,
            "cores": table.cores,
            "work": takes,
            "lambda": table.learning,
        },
    }


def _passing(c: Compilation, link: int) -> list[int]:
    """The groups whose data cross a link."""
    ways = {
        None: [each.forward for each in c.net.classes],
        "forward": [each.forward for each in c.net.classes],
        "reverse": [each.reverse for each in c.net.classes],
    }
    quiet = len(c.problems)
    passing = [
        i
        for i, table in enumerate(c.scenario.traffic)
        if any(link in ways[table.direction][at] for at in c.classes(f"traffic.{i}", table))
    ]
    # Wrong classes are reported when their group is compiled.
    del c.problems[quiet:]
    return passing
