"""A scenario whose TCP flows end in kernels instead of models."""

from collections.abc import Iterator

from marqueue.errors import Problem, ScenarioError, show
from marqueue.scenario.compilation import Plan
from marqueue.scenario.fields import Transport
from marqueue.scenario.model import Scenario
from marqueue.scenario.parameters import Value
from marqueue.scenario.stack import CONTROLS, MAPPED, PRESET, read_stack
from marqueue.scenario.traffic import Poisson, Tcp

ETHERNET_SEGMENT = 1448
"""Bytes: the payload of a segment in an Ethernet frame, beside headers with timestamps."""


def on_kernel(scenario: Scenario, kernel: str) -> tuple[Scenario, list[str]]:
    """The scenario with all models of TCP on a kernel, and a sentence for each setting that the
    kernel does not take.

    Congestion control, ECN and segment size are those of the models; everything else is the
    kernel's. Raises ScenarioError if the kernel has no such congestion control.
    """
    used = {each.transport for each in scenario.traffic if isinstance(each, Tcp | Poisson)}
    problems: list[Problem] = []
    remarks: list[str] = []
    transports = dict(scenario.transport)
    for name in sorted(used & set(transports)):
        given = transports[name]
        if given.stack is not None:
            continue
        path = f"transport.{name}"
        values = given.resolved()
        control = str(values["control"])
        if control not in CONTROLS:
            expected = f"expected one that kernels have ({', '.join(CONTROLS)})"
            problems.append(Problem(f"{path}.control", f"got {show(control)}, {expected}"))
            continue
        segment = min(float(str(values["segment"])), ETHERNET_SEGMENT)
        params: dict[str, Value] = {"control": control, "segment": segment}
        if values["ecn"]:
            params["ecn"] = True
        remarks += [f"{path}.{key}: the kernel has its own value." for key in _left(given)]
        stack = read_stack({"stack": kernel})
        transports[name] = Transport(PRESET, params, stack)
    if problems:
        raise ScenarioError(problems)
    if not used:
        remarks.append("No flow of this scenario is TCP, so the kernel has nothing to do.")
    return scenario.model_copy(update={"transport": transports}), remarks


def _left(transport: Transport) -> Iterator[str]:
    """The given settings that a kernel does not take."""
    if transport.preset != PRESET:
        yield "preset"
    yield from (key for key in transport.params if key not in MAPPED)


def kernels_of(plan: Plan) -> list[str]:
    """The names of the kernels in which flows of a plan end, or queues of its links lie."""
    hosts = {each["stack"]["kernel"] for each in plan["transports"] if each.get("stack")}
    queues = [link["queue"] for link in plan["links"] if link["queue"]]
    return sorted(hosts | {each["router"]["kernel"] for each in queues if each.get("router")})
