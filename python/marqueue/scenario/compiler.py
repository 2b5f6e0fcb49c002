"""From a scenario to the plan that the engine runs: indices instead of names, base units only."""

import json
from dataclasses import dataclass

import marqueue._core as _core
from marqueue.errors import Problem, ScenarioError, show, with_names
from marqueue.garbage_collector import paused_collector
from marqueue.scenario.compilation import Compilation, Plan
from marqueue.scenario.fields import AUTO
from marqueue.scenario.hosts import kernels_of
from marqueue.scenario.model import Scenario
from marqueue.scenario.plan_links import link_entry
from marqueue.scenario.plan_traffic import group_entries
from marqueue.scenario.program import plan_parameters
from marqueue.scenario.topology import Graph
from marqueue.scenario.topology_expansion import network
from marqueue.statistics.mser_batches import MSER_BATCH, MSER_BATCHES
from marqueue.units import Duration

UNSEEN_BY_ENGINE = {"name", "description", "seed", "replications"}
"""Fields of a scenario that its plan does not depend on."""

MOST_GROUPS = 256
"""Groups that a CPU can tell apart."""


def compile(scenario: Scenario) -> Plan:
    """The plan of one replication. Raises ScenarioError with all contradictions in the scenario.

    For ``warmup = "auto"`` this is the plan of the pilot, which has no warm-up.
    """
    return _compile(scenario)[0]


def _compile(scenario: Scenario) -> tuple[Plan, str]:
    """The plan of one replication, and as JSON."""
    compilation = Compilation(scenario, network(scenario.topology))
    plan = _plan(compilation)
    if compilation.problems:
        raise ScenarioError(with_names(compilation.problems, scenario.to_dict()))
    text = _checked(compilation, plan)
    topology = scenario.topology
    if isinstance(topology, Graph) and topology.queues == "bottlenecks":
        plan = _hybrid(plan, topology)
        text = _checked(compilation, plan)
    return plan, text


def _checked(c: Compilation, plan: Plan) -> str:
    """A plan as JSON. Raises ScenarioError if the engine refuses it."""
    text = json.dumps(plan)
    try:
        _core.check(text)
    except _core.PlanError as error:
        path, message = error.args
        problem = Problem(c.origin(path), message)
        raise ScenarioError(with_names([problem], c.scenario.to_dict())) from None
    return text


def _hybrid(plan: Plan, topology: Graph) -> Plan:
    """The plan in which a model stands for the queues that are no bottlenecks."""
    # It imports numpy, which no other scenario needs before it runs, and which the lab's page does
    # not have.
    try:
        from marqueue.scenario.hybrid import MOST_PHASES, TooManyPhases, with_models
    except ModuleNotFoundError as error:
        message = f'got "bottlenecks", expected "all" where Python has no {error.name}'
        raise ScenarioError([Problem("topology.queues", message)]) from None
    try:
        return with_models(plan, topology.bottleneck_from, topology.upstream_from)
    except TooManyPhases as error:
        message = (
            f'got "bottlenecks" with groups of which {error.args[0]} different sets are active '
            f"together, expected at most {MOST_PHASES}: fewer times of start and stop"
        )
        raise ScenarioError([Problem("topology.queues", message)]) from None


_MOST_KEPT = 4
"""Plans that are kept: a sweep in threads has several points at work in turns."""


@dataclass(frozen=True)
class _Planned:
    """A scenario, and what is asked for of its plan at each step of a run."""

    scenario: Scenario
    text: str
    """The plan as JSON."""
    kernels: list[str]
    """The names of the kernels in it."""


_latest: tuple[_Planned, ...] = ()
"""The scenarios whose plans were asked for last, the latest first."""


def plan_text(scenario: Scenario) -> str:
    """The plan of one replication as JSON; raises as :func:`compile` does."""
    return _planned(scenario).text


def kernels_in(scenario: Scenario) -> list[str]:
    """The names of the kernels in the plan (:func:`kernels_of`); raises as :func:`compile` does."""
    return _planned(scenario).kernels


@paused_collector()
def _planned(scenario: Scenario) -> _Planned:
    """A run, which has one scenario or copies of it, asks again and again, and a network of 10,000
    links takes 2 s. So the latest ones are kept."""
    global _latest
    for known in _latest:
        if _have_one_plan(known.scenario, scenario):
            return known
    plan, text = _compile(scenario)
    planned = _Planned(scenario, text, kernels_of(plan))
    _latest = (planned, *_latest[: _MOST_KEPT - 1])
    return planned


def _have_one_plan(a: Scenario, b: Scenario) -> bool:
    """Whether two scenarios have the same values. Copies of a scenario share them."""
    names = Scenario.model_fields.keys() - UNSEEN_BY_ENGINE
    return all(getattr(a, name) is getattr(b, name) for name in names)


def ways_back(scenario: Scenario) -> dict[str, str]:
    """The name of the reverse link of each link that has one."""
    links = network(scenario.topology).links
    return {link.back_of: link.name for link in links if link.back_of is not None}


def class_names(scenario: Scenario) -> list[str]:
    """The names of the classes of flows."""
    return [each.name for each in network(scenario.topology).classes]


def spread_classes(scenario: Scenario) -> list[str]:
    """The names of the classes whose flows have different propagation delays."""
    return [each.name for each in network(scenario.topology).classes if each.spread]


def route_classes(scenario: Scenario) -> list[str]:
    """The class of each route of the plan: all classes, then those that are used in reverse."""
    compilation = Compilation(scenario, network(scenario.topology))
    classes = compilation.net.classes
    return [classes[i].name for i in (*range(len(classes)), *compilation.reverse_routes)]


def _plan(c: Compilation) -> Plan:
    """The whole plan."""
    s = c.scenario
    if c.net.cpus and len(s.traffic) > MOST_GROUPS:
        expected = f"at most {MOST_GROUPS} where packets pass a CPU"
        c.refuse("traffic", f"got {len(s.traffic)} groups, expected {expected}")
    traffic: list[Plan] = []
    for i, table in enumerate(s.traffic):
        for group in group_entries(c, i, table):
            c.origins[f"traffic.{len(traffic)}"] = f"traffic.{i}"
            traffic.append(group)
    return {
        "duration": s.duration.base,
        "boundaries": _boundaries(c),
        "sample": s.sample.base,
        "links": [link_entry(c, i, link) for i, link in enumerate(c.net.links)],
        "routes": [{"forward": each.forward, "reverse": each.reverse} for each in c.net.classes]
        + [
            {"forward": each.reverse, "reverse": each.forward}
            for each in (c.net.classes[i] for i in c.reverse_routes)
        ],
        "transports": [_transport(c, i, name) for i, name in enumerate(s.transport)],
        "traffic": traffic,
    }


def _boundaries(c: Compilation) -> list[int]:
    """The end of the warm-up and the cuts, in ns. They must increase and lie within the run."""
    s = c.scenario
    if isinstance(s.warmup, Duration):
        warmup = s.warmup
    else:
        warmup = Duration(0)
        _check_series(c)
    if warmup >= s.duration:
        c.refuse("warmup", f"got {show(str(warmup))}, expected less than duration ({s.duration})")
    previous = warmup
    for i, cut in enumerate(s.cuts):
        if not previous < cut < s.duration:
            expected = f"a time after {previous} and before {s.duration}"
            c.refuse(f"cuts.{i}", f"got {show(str(cut))}, expected {expected}")
        previous = cut
    c.origins["boundaries"] = "cuts"
    return [edge.base for edge in (warmup, *s.cuts) if edge.base > 0]


def _check_series(c: Compilation) -> None:
    """Checks that the time series of a queue exists and is long enough to find a warm-up in."""
    s = c.scenario
    least = MSER_BATCH * MSER_BATCHES
    if s.sample.base == 0:
        c.refuse("warmup", f'got "{AUTO}" without a time series, expected sample above zero')
    elif not any(link.managed for link in c.net.links):
        c.refuse("warmup", f'got "{AUTO}", expected a link with a buffer')
    elif s.duration.base < least * s.sample.base:
        c.refuse(
            "warmup",
            f'got "{AUTO}", expected a duration of at least {least} samples of {s.sample}',
        )


def _transport(c: Compilation, index: int, name: str) -> Plan:
    """Settings of TCP."""
    c.origins[f"transports.{index}"] = f"transport.{name}"
    transport = c.scenario.transport[name]
    plan: Plan = {"preset": transport.preset, "params": dict(transport.params)}
    if transport.program is not None:
        program, given = transport.program
        params = plan_parameters(program, given)
        plan["params"]["control"] = {"name": program, "params": params}
    if transport.stack is not None:
        plan["stack"] = transport.stack.plan(transport.params)
    return plan
