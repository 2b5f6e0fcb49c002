"""From a scenario to the plan that the engine runs: names become indices, quantities base units."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import marqueue._core as _core
from marqueue.errors import Problem, ScenarioError, named, show, unknown
from marqueue.scenario.cpu import Cpu, nominal_rate, work
from marqueue.scenario.fields import AUTO, Aqm
from marqueue.scenario.model import Scenario
from marqueue.scenario.network import Network, OneWay, network
from marqueue.scenario.parameters import dscp_value
from marqueue.scenario.topology import Dumbbell, Link
from marqueue.scenario.traffic import Cbr, Paced, Packets, Poisson, Tcp, Traffic, group_names
from marqueue.statistics.output_analysis import MSER_BATCH, MSER_BATCHES
from marqueue.units import Duration, Quantity, Size

Plan = dict[str, Any]

MOST_GROUPS = 256
"""That packets can tell a CPU apart."""


def compile(scenario: Scenario) -> Plan:
    """The plan of one replication; raises ScenarioError with all that contradicts itself.

    With a warm-up that is still to be found it is the plan of the pilot, which cuts nothing off.
    """
    compiler = _Compiler(scenario, network(scenario.topology))
    plan = compiler.plan()
    if compiler.problems:
        raise ScenarioError(named(compiler.problems, scenario.to_dict()))
    try:
        _core.check(json.dumps(plan))
    except _core.PlanError as error:
        path, message = error.args
        problem = Problem(compiler.origin(path), message)
        raise ScenarioError(named([problem], scenario.to_dict())) from None
    return plan


def ways_back(scenario: Scenario) -> dict[str, str]:
    """Links that have a way back, with its name."""
    links = network(scenario.topology).links
    return {link.back_of: link.name for link in links if link.back_of is not None}


def class_names(scenario: Scenario) -> list[str]:
    """The classes of flows."""
    return [each.name for each in network(scenario.topology).classes]


def route_classes(scenario: Scenario) -> list[str]:
    """The class of each of the plan's routes: all classes, then those that are used in reverse."""
    compiler = _Compiler(scenario, network(scenario.topology))
    return [
        compiler.net.classes[i].name for i in (*range(len(compiler.net.classes)), *compiler.turned)
    ]


@dataclass
class _Compiler:
    scenario: Scenario
    net: Network
    problems: list[Problem] = field(init=False)
    places: dict[str, str] = field(default_factory=dict)
    """Where in the scenario a part of the plan comes from."""

    turned: dict[int, int] = field(init=False)
    """The classes that are used in reverse, each with its route, which is after all others."""

    def __post_init__(self) -> None:
        self.problems = []
        used = [
            self.classes(f"traffic.{i}", table)
            for i, table in enumerate(self.scenario.traffic)
            if table.direction == "reverse"
        ]
        reverse = dict.fromkeys(each for classes in used for each in classes)
        self.turned = {each: len(self.net.classes) + i for i, each in enumerate(reverse)}
        # What is wrong with classes is said where each group is compiled.
        self.problems = self.net.problems

    def refuse(self, path: str, message: str) -> None:
        self.problems.append(Problem(path, message))

    def plan(self) -> Plan:
        """The whole plan."""
        s = self.scenario
        if self.net.cpus and len(s.traffic) > MOST_GROUPS:
            expected = f"at most {MOST_GROUPS} where packets pass a CPU"
            self.refuse("traffic", f"got {len(s.traffic)} groups, expected {expected}")
        traffic: list[Plan] = []
        for i, table in enumerate(s.traffic):
            for group in self.group(i, table):
                self.places[f"traffic.{len(traffic)}"] = f"traffic.{i}"
                traffic.append(group)
        return {
            "duration": s.duration.base,
            "boundaries": self.boundaries(),
            "sample": s.sample.base,
            "links": [self.link(i, link) for i, link in enumerate(self.net.links)],
            "routes": [
                {"forward": list(each.forward), "reverse": list(each.reverse)}
                for each in self.net.classes
            ]
            + [
                {"forward": list(each.reverse), "reverse": list(each.forward)}
                for each in (self.net.classes[i] for i in self.turned)
            ],
            "transports": [self.transport(i, name) for i, name in enumerate(s.transport)],
            "traffic": traffic,
        }

    def origin(self, path: str) -> str:
        """The key of the scenario behind a path of the plan such as ``links[0].queue``."""
        path = path.replace("[", ".").replace("]", "")
        for prefix in sorted(self.places, key=len, reverse=True):
            if path == prefix or path.startswith(f"{prefix}."):
                return self.places[prefix] + path[len(prefix) :]
        return path

    def boundaries(self) -> list[int]:
        """The end of the warm-up and the cuts, which must follow each other within the run."""
        s = self.scenario
        if isinstance(s.warmup, Duration):
            warmup = s.warmup
        else:
            warmup = Duration(0)
            self.check_series()
        if warmup >= s.duration:
            self.refuse(
                "warmup", f"got {show(str(warmup))}, expected less than duration ({s.duration})"
            )
        previous = warmup
        for i, cut in enumerate(s.cuts):
            if not previous < cut < s.duration:
                expected = f"a time after {previous} and before {s.duration}"
                self.refuse(f"cuts.{i}", f"got {show(str(cut))}, expected {expected}")
            previous = cut
        self.places["boundaries"] = "cuts"
        return [edge.base for edge in (warmup, *s.cuts) if edge.base > 0]

    def check_series(self) -> None:
        """A warm-up is found in the time series of queues, which must be long enough."""
        s = self.scenario
        least = MSER_BATCH * MSER_BATCHES
        if s.sample.base == 0:
            self.refuse("warmup", f'got "{AUTO}" without a time series, expected sample above zero')
        elif not any(link.managed for link in self.net.links):
            self.refuse("warmup", f'got "{AUTO}", expected a link with a buffer')
        elif s.duration.base < least * s.sample.base:
            self.refuse(
                "warmup",
                f'got "{AUTO}", expected a duration of at least {least} samples of {s.sample}',
            )

    def link(self, index: int, link: OneWay) -> Plan:
        """A link; what it has besides rate and delay is in its table."""
        self.places[f"links.{index}"] = link.path
        if link.cpu is not None:
            return self.cpu(index, link, link.cpu)
        plan: Plan = {
            "name": link.name,
            "rate": link.rate.base,
            "delay": link.delay.base,
            "queue": None,
            "trace": link.trace,
        }
        pipe = link.impairments.pipe() if link.impairments else {}
        if pipe:
            plan["pipe"] = pipe
            self.places[f"links.{index}.pipe"] = link.path
        table = link.table
        if table is None:
            return plan
        if table.buffer is not None:
            plan["queue"] = self.queue(index, link.path, table, table.buffer)
        previous = Duration(0)
        for i, change in enumerate(table.schedule):
            if not previous < change.at < self.scenario.duration:
                expected = f"a time after {previous} and before {self.scenario.duration}"
                self.refuse(
                    f"{link.path}.schedule.{i}.at",
                    f"got {show(str(change.at))}, expected {expected}",
                )
            previous = change.at
        plan["schedule"] = [[change.at.base, change.rate.base] for change in table.schedule]
        return plan

    def queue(self, index: int, path: str, table: Link | Cpu, buffer: Quantity) -> Plan:
        """A managed queue."""
        aqm = table.aqm or Aqm("droptail")
        queue = f"links.{index}.queue"
        self.places[queue] = path
        self.places[f"{queue}.policy"] = f"{path}.aqm"
        self.places[f"{queue}.limit"] = f"{path}.buffer"
        self.places[f"{queue}.mean_packet"] = f"{path}.packet"
        usual = table.packet.base if table.packet else self.packet(self.scenario.traffic[0])
        return {
            "policy": {"name": aqm.name, "params": dict(aqm.params)},
            "limit": {"bytes" if isinstance(buffer, Size) else "packets": buffer.base},
            "signal": table.signal,
            "mean_packet": usual,
        }

    def cpu(self, index: int, link: OneWay, table: Cpu) -> Plan:
        """A CPU: an entry of the plan's links that knows what each group takes of it."""
        names = self.group_names
        groups = list(zip(names, self.scenario.traffic, strict=True))
        for name in table.processing:
            if name not in names:
                self.refuse(f"{link.path}.processing.{name}", unknown(name, names))
        takes = [
            work(table.processing.get(name, each.processing), self.packet(each) or 1)
            for name, each in groups
        ]
        self.places[f"links.{index}.cpu"] = link.path
        return {
            "name": link.name,
            "rate": nominal_rate(table, [takes[i]["density"] for i in self.passing(index)]),
            "delay": 0,
            "queue": self.queue(index, link.path, table, table.buffer),
            "trace": link.trace,
            "cpu": {
                "clock": table.clock.base,
                "cores": table.cores,
                "work": takes,
                "lambda": table.learning,
            },
        }

    def passing(self, link: int) -> list[int]:
        """The groups whose data cross a link."""
        ways = {
            None: [each.forward for each in self.net.classes],
            "forward": [each.forward for each in self.net.classes],
            "reverse": [each.reverse for each in self.net.classes],
        }
        quiet = len(self.problems)
        passing = [
            i
            for i, table in enumerate(self.scenario.traffic)
            if any(link in ways[table.direction][c] for c in self.classes(f"traffic.{i}", table))
        ]
        # What is wrong with classes is said where each group is compiled.
        del self.problems[quiet:]
        return passing

    def packet(self, table: Traffic) -> int:
        """The size of a group's data packets on the wire; 0 if its transport is unknown."""
        if isinstance(table, Cbr | Paced | Packets):
            return table.packet.base
        transport = self.scenario.transport.get(table.transport)
        return transport.wire_bytes if transport else 0

    def transport(self, index: int, name: str) -> Plan:
        """Settings of TCP."""
        self.places[f"transports.{index}"] = f"transport.{name}"
        transport = self.scenario.transport[name]
        return {"preset": transport.preset, "params": dict(transport.params)}

    def group(self, index: int, table: Traffic) -> Iterable[Plan]:
        """The groups of the plan for one of the scenario's."""
        path = f"traffic.{index}"
        name = self.group_name(index, table)
        classes = self.classes(path, table)
        routes = [self.route(each, table) for each in classes]
        self.check_times(path, table)
        label = {"dscp": dscp_value(table.dscp)}
        if self.net.cpus:
            label["class"] = index
        if isinstance(table, Packets):
            self.check_sizes(path, table)
        if isinstance(table, Tcp) and table.sample_cwnd and self.scenario.sample.base == 0:
            self.refuse(f"{path}.sample_cwnd", "got true, expected sample above zero with it")
        common: Plan = {"start": table.start.base, "stop": table.stop.base if table.stop else None}
        if isinstance(table, Poisson):
            kind = {
                **common,
                "transport": self.transport_index(path, table.transport),
                "routes": routes,
                "rate": table.rate.per_second,
                "stop": (table.stop or self.scenario.duration).base,
                "size": table.size.base,
                **({"law": {"pareto": {"shape": table.shape}}} if table.shape else {}),
            }
            return [{"name": name, **label, "kind": {"poisson": kind}}]
        groups = []
        for position, (class_, route) in enumerate(zip(classes, routes, strict=True)):
            kind = common | {"route": route} | self.share(path, table, position, len(routes))
            if kind.get("count") != 0:
                name_here = f"{name}/{self.net.classes[class_].name}"
                groups.append({"name": name_here, **label, "kind": {table.kind: kind}})
        return groups

    def share(
        self, path: str, table: Tcp | Cbr | Paced | Packets, position: int, classes: int
    ) -> Plan:
        """What one class gets of a group: flows are dealt out in turn."""
        if isinstance(table, Packets):
            return {
                "rate": table.rate.per_second / classes,
                "packet": table.packet.base,
                "size": table.sizes if table.scv is None else {table.sizes: {"scv": table.scv}},
            }
        count = table.count // classes + (position < table.count % classes)
        spread: Plan = {"count": count, "jitter": table.jitter.base}
        if isinstance(table, Cbr):
            return spread | {"rate": table.rate.base, "packet": table.packet.base}
        if isinstance(table, Paced):
            control = {"name": table.control.name, "params": dict(table.control.params)}
            paced = {"rate": table.rate.base, "packet": table.packet.base, "ecn": table.ecn}
            traced = {"trace": True} if table.trace else {}
            return spread | paced | {"control": control} | traced
        return spread | {
            "transport": self.transport_index(path, table.transport),
            "size": table.size.base if table.size else None,
            "trace": table.trace,
            "write": self.write(table),
            **({"sample_cwnd": True} if table.sample_cwnd else {}),
        }

    def write(self, table: Tcp) -> Plan | None:
        """How an application writes its data, if in pieces."""
        if table.write is None or table.every is None:
            return None
        return {
            "packets": table.write.base,
            "every": table.every.base,
            "gaps": table.gaps or "constant",
        }

    @cached_property
    def group_names(self) -> list[str]:
        """The name of each group."""
        return group_names(self.scenario.traffic)

    @cached_property
    def named(self) -> dict[str, int]:
        """The first group that was given each name."""
        tables = list(enumerate(self.scenario.traffic))
        return {table.name: i for i, table in reversed(tables) if table.name is not None}

    def group_name(self, index: int, table: Traffic) -> str:
        """The name of a group, which no earlier one may have been given."""
        if table.name is not None and self.named[table.name] < index:
            self.refuse(
                f"traffic.{index}.name", f"got {show(table.name)} again, expected names that differ"
            )
        return self.group_names[index]

    def route(self, class_: int, table: Traffic) -> int:
        """The route of a group's data in a class."""
        if table.direction == "reverse":
            return self.turned[class_]
        return class_

    @cached_property
    def class_indices(self) -> dict[str, int]:
        """Each class by its name; of two with one name, which is refused elsewhere, the first."""
        classes = list(enumerate(self.net.classes))
        return {each.name: i for i, each in reversed(classes)}

    def classes(self, path: str, table: Traffic) -> list[int]:
        """The classes of a group as indices."""
        if table.classes is None:
            return list(range(len(self.net.classes)))
        classes: dict[int, None] = {}
        for i, given in enumerate(table.classes):
            index = self.class_indices.get(self.class_name(given))
            if index is None:
                names = [each.name for each in self.net.classes]
                self.refuse(f"{path}.classes.{i}", unknown(given, names))
            elif index in classes:
                self.refuse(
                    f"{path}.classes.{i}", f"got {show(given)} again, expected each class once"
                )
            else:
                classes[index] = None
        return list(classes)

    def class_name(self, given: str) -> str:
        """A dumbbell's classes are named by times, which may be written in several ways."""
        if isinstance(self.scenario.topology, Dumbbell):
            try:
                return str(Duration.parse(given))
            except ValueError:
                return given
        return given

    def transport_index(self, path: str, name: str) -> int:
        """The index of a table of [transport]."""
        names = list(self.scenario.transport)
        if name not in names:
            self.refuse(f"{path}.transport", unknown(name, names))
            return 0
        return names.index(name)

    def check_times(self, path: str, table: Traffic) -> None:
        """A group starts within the run and stops after it started."""
        s = self.scenario
        if table.start >= s.duration:
            self.refuse(
                f"{path}.start",
                f"got {show(str(table.start))}, expected less than duration ({s.duration})",
            )
        if table.stop is not None and table.stop <= table.start:
            self.refuse(
                f"{path}.stop",
                f"got {show(str(table.stop))}, expected a time after start ({table.start})",
            )

    def check_sizes(self, path: str, table: Packets) -> None:
        """A coefficient of variation goes with the law that has one to be chosen."""
        varied = table.sizes == "hyperexponential"
        if varied and table.scv is None:
            self.refuse(f"{path}.scv", "got nothing, expected a number from 1")
        if not varied and table.scv is not None:
            self.refuse(
                f"{path}.scv", f'got {show(table.scv)}, expected sizes to be "hyperexponential"'
            )
