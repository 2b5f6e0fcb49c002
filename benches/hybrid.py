"""Hybrid runs beside runs of all packets: errors, and CPU time.

    python -m benches.hybrid [--replications N] [--only NETWORK]

Each network runs with all queues and with those of bottlenecks, with the same seeds, and with all
queues and other seeds: what differs between the last two is chance. Measurements and table go to
docs/performance. With --only, a network is measured again and the others are left as they are.
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

import marqueue._core as _core
from benches.hybrid_networks import backbone, long_flows, random_network, short_flows
from benches.record import FOLDER, record, table
from marqueue.scenario import Scenario, compile, with_overrides
from marqueue.scenario.hybrid import is_modelled
from marqueue.statistics.estimates import Estimate

Raw = Mapping[str, Any]
Plan = Mapping[str, Any]


class Thresholds(NamedTuple):
    """Predicted utilizations from which links keep their packets."""

    bottleneck_from: float
    upstream_from: float
    """Of links right before a bottleneck; 1: of none."""

    def overrides(self) -> list[str]:
        """The values of a scenario."""
        return [
            "topology.queues=bottlenecks",
            *(f"topology.{k}={v}" for k, v in self._asdict().items()),
        ]


DEFAULT = Thresholds(0.8, 0.4)
THRESHOLDS = (Thresholds(0.6, 0.4), DEFAULT, Thresholds(0.8, 1.0), Thresholds(0.9, 0.4))
FLOWS = 8
"""Classes that count in the errors of classes have at least so many flows in a replication: of
fewer, the goodput is chance."""

HEAD = (
    "network",
    "bottleneck_from",
    "upstream_from",
    "modelled links",
    "error of goodput, classes: median",
    "95%",
    "by chance: median",
    "95%",
    "total goodput",
    "links with packets: mean delay",
    "utilization",
    "loss",
    "marks",
    "wait at modelled links: measured",
    "model",
    "busier than predicted",
    "events",
    "CPU time",
)


@dataclass(frozen=True)
class Network:
    """A network that both can simulate."""

    name: str
    scenario: Callable[[], Scenario]


def thousand_links(ecn: bool) -> Scenario:
    """1000 links with long flows, whose connections have ECN or not."""
    return random_network(
        250, 500, long_flows(3000), pairs=200, seconds=10, warmup=4, rates=(40, 80, 160), ecn=ecn
    )


def mixed_flows(ecn: bool) -> Scenario:
    """400 links with long and short flows, whose connections have ECN or not."""
    flows = long_flows(400) + short_flows(2000)
    return random_network(
        100, 200, flows, pairs=150, seconds=10, warmup=4, rates=(40, 80, 160), ecn=ecn
    )


NETWORKS = (
    Network(
        "backbone, short flows",
        lambda: backbone(
            short_flows(1200), "duration=20 s", "warmup=5 s", "topology.rate=40 Mbit/s"
        ),
    ),
    Network(
        "400 links, long flows",
        lambda: random_network(
            100, 200, long_flows(2000), pairs=150, seconds=10, warmup=4, rates=(40, 80, 160)
        ),
    ),
    Network(
        "400 links, short flows",
        lambda: random_network(
            100, 200, short_flows(3000), pairs=600, seconds=10, warmup=4, rates=(40, 80, 160)
        ),
    ),
    Network(
        "400 links, long and short flows",
        lambda: mixed_flows(ecn=False),
    ),
    Network(
        "1000 links, long flows",
        lambda: thousand_links(ecn=False),
    ),
    Network(
        "1000 links, long flows with ECN",
        lambda: thousand_links(ecn=True),
    ),
    Network(
        "400 links, long and short flows with ECN",
        lambda: mixed_flows(ecn=True),
    ),
    Network(
        "1000 links, overloaded",
        lambda: random_network(
            250,
            500,
            long_flows(6000),
            pairs=1500,
            seconds=12,
            warmup=5,
            rates=(20, 40, 80),
            tail=1.2,
        ),
    ),
    Network(
        "1500 links, slow ones to 250 hosts",
        lambda: random_network(
            250,
            500,
            long_flows(3000),
            pairs=200,
            seconds=10,
            warmup=4,
            rates=(200, 400, 800),
            homes=20,
        ),
    ),
)


@dataclass(frozen=True)
class Ran:
    """The replications of one plan."""

    plan: Plan
    raws: Sequence[Raw]
    cpu: Sequence[float]
    """Of the engine, s, by replication."""

    def goodputs(self) -> Any:
        """Goodput of each class after the warm-up, bit/s: shape [replications, classes]."""
        routes = len(self.plan["routes"])
        return np.array([_goodputs(raw, routes) for raw in self.raws])

    def flows(self) -> Any:
        """Flows of each class, on average: shape [classes]."""
        routes = len(self.plan["routes"])
        each = [np.bincount(raw["flows"]["route"], minlength=routes) for raw in self.raws]
        return np.mean(each, axis=0)

    def events(self) -> int:
        """Of all replications."""
        return sum(raw["events"] for raw in self.raws)

    def links(self, names: set[str]) -> list[dict[str, Raw]]:
        """The measured window of these links, by replication and name."""
        links = self.plan["links"]
        return [
            {
                name: link["windows"][1]
                for link in raw["links"]
                if (name := links[link["link"]]["name"]) in names
            }
            for raw in self.raws
        ]


def _goodputs(raw: Raw, routes: int) -> Any:
    flows, edges = raw["flows"], raw["edges"]
    delivered = np.reshape(flows["delivered"], (-1, len(edges) - 1))[:, 1]
    return 8 * np.bincount(flows["route"], delivered, routes) / (edges[2] - edges[1])


def run(scenario: Scenario, seeds: Sequence[int]) -> Ran:
    """Runs a scenario with each seed on one thread."""
    plan = compile(scenario)
    text = json.dumps(plan)
    raws, cpu = [], []
    for seed in seeds:
        started = time.thread_time()
        raws.append(_without_histograms(_core.run(text, seed, _core.Control(), {})))
        cpu.append(time.thread_time() - started)
    return Ran(plan, raws, cpu)


def _without_histograms(raw: Raw) -> Raw:
    """What is needed of a replication, which is little of what a large network has."""
    links = [
        {
            "link": link["link"],
            "windows": [
                {key: of for key, of in window.items() if key not in ("queue_times", "delay_bins")}
                for window in link["windows"]
            ],
        }
        for link in raw["links"]
    ]
    return {**raw, "links": links}


def _sum(windows: Mapping[str, Raw], key: str) -> float:
    return float(sum(each[key] for each in windows.values()))


FIGURES: dict[str, Callable[[Mapping[str, Raw]], float]] = {
    "delay": lambda of: _sum(of, "delay_sum") / max(_sum(of, "departures"), 1),
    "utilization": lambda of: float(np.mean([w["used"] / w["capacity"] for w in of.values()])),
    "loss": lambda of: sum(sum(w["drops"].values()) for w in of.values()) / _sum(of, "arrivals"),
    "marks": lambda of: sum(sum(w["marks"].values()) for w in of.values()) / _sum(of, "arrivals"),
}
"""Figures of the links with packets of a replication: the mean queueing delay of a packet, s, the
mean utilization of a link, and the shares of packets dropped and marked."""


@dataclass(frozen=True)
class Row:
    """A network with a pair of thresholds."""

    network: str
    bottleneck_from: float
    upstream_from: float
    links: int
    modelled: int
    classes: int
    """Classes that count."""
    error: tuple[float, float]
    """Median and 95% quantile over classes of the relative error of the mean goodput."""
    chance: tuple[float, float]
    """The same between two runs of all packets with different seeds."""
    goodput: dict[str, Any]
    """Relative error of the total goodput: an estimate over replications, in pairs."""
    figures: dict[str, dict[str, Any]]
    """For each of FIGURES, its mean in the run of all packets, and the estimated difference."""
    waits: tuple[float, float]
    """Mean wait of a packet at a modelled link, s: in the run of all packets, and in the model."""
    completion: dict[str, Any]
    """Relative error of the mean completion time of short flows; without, n is 0."""
    busier: list[str]
    """Modelled links that used at least bottleneck_from of their rate in the run of all
    packets."""
    events: float
    """Of the run of all packets over those of the hybrid one."""
    cpu: dict[str, Any]
    """The same ratio of CPU time, estimated from pairs of runs."""

    def cells(self) -> list[str]:
        """The row of the table."""
        shares = [f"{100 * x:.1f}%" for x in (*self.error, *self.chance)]
        delay, used, loss, marks = (
            self.figures[name] for name in ("delay", "utilization", "loss", "marks")
        )
        return [
            self.network,
            f"{self.bottleneck_from:g}",
            f"{self.upstream_from:g}",
            f"{self.modelled} of {self.links}",
            *shares,
            _shown(self.goodput, 100, "%", 2),
            f"{1e3 * delay['all']:.2f} ms {_shown(delay['difference'], 1e3, '', 2)}",
            f"{used['all']:.3f} {_shown(used['difference'], 1, '', 4)}",
            f"{100 * loss['all']:.2f}% {_shown(loss['difference'], 100, '', 3)}",
            f"{100 * marks['all']:.2f}% {_shown(marks['difference'], 100, '', 3)}"
            if marks["all"]
            else "",
            *(f"{1e6 * wait:.0f} µs" for wait in self.waits),
            f"{len(self.busier)}",
            f"1/{self.events:.1f}",
            f"1/{self.cpu['mean']:.1f} (± {self.cpu['half_width']:.1f})",
        ]


def _shown(estimate: Mapping[str, Any], scale: float, unit: str, digits: int) -> str:
    mean, half = (scale * estimate[key] for key in ("mean", "half_width"))
    return f"{mean:+.{digits}f} ± {half:.{digits}f}{unit}"


def _completion(raw: Raw) -> float:
    """The mean completion time of finite flows that started after the warm-up, s."""
    flows = raw["flows"]
    started, ended = np.asarray(flows["start"]), np.asarray(flows["end"])
    chosen = (np.asarray(flows["size"]) > 0) & (started >= raw["edges"][1]) & ~np.isnan(ended)
    return float(np.mean((ended - started)[chosen])) if chosen.any() else np.nan


def _errors(other: Ran, one: Ran) -> tuple[tuple[float, float], int]:
    """Median and 95% quantile of the relative error of classes, and how many count."""
    every, others = one.goodputs().mean(axis=0), other.goodputs().mean(axis=0)
    # With few flows and little time a class may have delivered nothing: it has no relative error.
    counted = (one.flows() >= FLOWS) & (every > 0)
    a, b = every[counted], others[counted]
    errors = np.abs(b / a - 1)
    return (float(np.median(errors)), float(np.quantile(errors, 0.95))), int(counted.sum())


def _waits(plan: Plan, windows: Mapping[str, Raw]) -> tuple[float, float]:
    """The mean wait of the packets of these links, s: as measured, and in the model."""
    links = {link["name"]: link for link in plan["links"]}
    packets = max(_sum(windows, "departures"), 1)
    model = sum(
        links[name]["model"]["link"]["wait"] / 1e9 * window["departures"]
        for name, window in windows.items()
    )
    return _sum(windows, "delay_sum") / packets, model / packets


def _of_pairs(values: Sequence[float]) -> dict[str, Any]:
    return Estimate.of(values).as_dict()


def compare(
    network: str, thresholds: Thresholds, every: Ran, other: Ran, scenario: Scenario
) -> Row:
    """The row of a network: ``every`` and ``other`` are runs of all packets."""
    n = len(every.raws)
    hybrid = run(with_overrides(scenario, thresholds.overrides()), range(1, n + 1))
    links = hybrid.plan["links"]
    kept = {link["name"] for link in links if link["queue"] is not None}
    modelled = {link["name"] for link in links if is_modelled(link)}
    a, b = every.links(kept), hybrid.links(kept)
    totals = hybrid.goodputs().sum(axis=1) / every.goodputs().sum(axis=1) - 1
    error, classes = _errors(hybrid, every)
    first = every.links(modelled)[0]
    bound = thresholds.bottleneck_from
    completion = zip(map(_completion, hybrid.raws), map(_completion, every.raws), strict=True)
    return Row(
        network,
        *thresholds,
        len(every.plan["links"]),
        len(modelled),
        classes,
        error,
        _errors(other, every)[0],
        _of_pairs(totals.tolist()),
        {
            name: {
                "all": float(np.mean([of(each) for each in a])),
                "difference": _of_pairs([of(y) - of(x) for x, y in zip(a, b, strict=True)]),
            }
            for name, of in FIGURES.items()
        },
        _waits(hybrid.plan, first),
        _of_pairs([y / x - 1 for y, x in completion]),
        [name for name, w in first.items() if w["used"] >= bound * w["capacity"]],
        every.events() / hybrid.events(),
        _of_pairs([x / y for x, y in zip(every.cpu, hybrid.cpu, strict=True)]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replications", type=int, default=5, help="of each, at least 2")
    parser.add_argument("--only", choices=[each.name for each in NETWORKS], help="one network")
    arguments = parser.parse_args()
    n = arguments.replications
    rows: dict[tuple[str, Thresholds], Row] = {}
    if arguments.only:
        kept = (Row(**each) for each in json.loads((FOLDER / "hybrid.json").read_text()))
        rows = {
            (row.network, Thresholds(row.bottleneck_from, row.upstream_from)): row for row in kept
        }
    for network in NETWORKS:
        if arguments.only not in (None, network.name):
            continue
        scenario = network.scenario()
        every = run(scenario, range(1, n + 1))
        other = run(scenario, range(n + 1, 2 * n + 1))
        for thresholds in THRESHOLDS:
            row = compare(network.name, thresholds, every, other, scenario)
            rows[network.name, thresholds] = row
            print(*row.cells(), sep="; ", flush=True)
    order = [(each.name, thresholds) for each in NETWORKS for thresholds in THRESHOLDS]
    measured = [rows[key] for key in order if key in rows]
    record("hybrid", [asdict(row) for row in measured], table(HEAD, [r.cells() for r in measured]))


if __name__ == "__main__":
    main()
