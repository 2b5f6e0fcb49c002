"""Proportional fairness over CPUs and links: closed forms, optimality, an independent solver.

Also the TCP-like and max-min allocations, and errors.
"""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import tomli_w
from scipy.sparse import csr_array
from typer.testing import CliRunner

from marqueue.cli import app
from marqueue.errors import ModelError, ScenarioError
from marqueue.plots.capacity_region import pair_allocations
from marqueue.scenario import from_dict
from marqueue.theory.allocation import maxmin, proportional_fairness
from marqueue.theory.allocation.allocations import feasible, max_min, tcp_like
from marqueue.theory.allocation.from_scenario import allocation_problem, region
from marqueue.theory.allocation.proportional_fairness import proportionally_fair, residuals
from marqueue.theory.allocation.resources import Floats, Flows, Resource, Sharing
from marqueue.theory.allocation.single_bottleneck import SingleBottleneck

#: Residuals go below 1e-9; rates are as good as the root of what is left at the border of two
#: regions, where a price is zero without need.
EXACT, BORDER = 1e-8, 1e-5

PAPER = (0.25, 0.5, 1.0, 2.0)


def pair(cpu: float, densities: tuple[float, ...] = PAPER, link: float = 40e6) -> Sharing:
    return Sharing(
        (Resource("cpu", "cpu", cpu), Resource("link", "link", link)),
        tuple(Flows(f"w {w:g}", 1.0, {"cpu": w, "link": 1}, 10) for w in densities),
        (("cpu", "link"),),
    )


def network(rng: np.random.Generator, resources: int, flows: int) -> Sharing:
    """Random ways over CPUs and links, capacities over two orders of magnitude."""
    some = random_resources(rng, resources, cpus=True)

    def way() -> dict[str, float]:
        return {
            some[i].name: float(rng.lognormal()) if i % 2 else 1.0
            for i in rng.choice(resources, rng.integers(1, resources + 1), replace=False)
        }

    return random_sharing(rng, some, way, flows)


def links(rng: np.random.Generator, number: int, flows: int) -> Sharing:
    """Random ways over one to six of many links."""
    some = random_resources(rng, number, cpus=False)

    def way() -> dict[str, float]:
        return {some[i].name: 1.0 for i in rng.choice(number, rng.integers(1, 7), replace=False)}

    return random_sharing(rng, some, way, flows)


def random_resources(rng: np.random.Generator, number: int, *, cpus: bool) -> list[Resource]:
    return [
        Resource(f"r{i}", "cpu" if cpus and i % 2 else "link", float(10 ** rng.uniform(6, 8)))
        for i in range(number)
    ]


def random_sharing(
    rng: np.random.Generator, some: list[Resource], way: Callable[[], dict[str, float]], flows: int
) -> Sharing:
    return Sharing(
        tuple(some),
        tuple(
            Flows(f"f{s}", float(rng.uniform(0.5, 2)), way(), int(rng.integers(1, 9)))
            for s in range(flows)
        ),
    )


def test_the_regions_of_the_paper() -> None:
    flows = SingleBottleneck.of([1, 2, 4, 8])
    assert flows.harmonic == pytest.approx(2.13, abs=0.005)
    assert flows.arithmetic == 3.75
    shares = pair_allocations(flows)
    ratio = shares["C/B"]
    of_link = shares["proportionally fair, link"]
    of_cpu = shares["proportionally fair, CPU"]
    assert of_link[ratio >= 3.75] == pytest.approx(0.25)
    assert of_cpu[ratio <= flows.harmonic] == pytest.approx(0.25)
    joint = (ratio > flows.harmonic) & (ratio < 3.75)
    assert of_link[joint].sum(axis=1) == pytest.approx(1)
    assert of_cpu[joint].sum(axis=1) == pytest.approx(1)
    below = ratio < 3.75
    # Figure 2: TCP-like allocation leaves bandwidth unused wherever the CPU is scarce at all.
    assert (shares["TCP-like, link"].sum(axis=1) < of_link.sum(axis=1))[below].all()


@pytest.mark.parametrize(
    ("cpu", "rates", "where"),
    [
        (10e6, (1.0, 0.5, 0.25, 0.125), "CPU-limited"),
        (25e6, (1.743, 1.166, 0.701, 0.390), "jointly limited"),
        (37.5e6, (1.0, 1.0, 1.0, 1.0), "bandwidth-limited"),
        (55e6, (1.0, 1.0, 1.0, 1.0), "bandwidth-limited"),
    ],
)
def test_the_dumbbell_of_the_paper(cpu: float, rates: tuple[float, ...], where: str) -> None:
    best = proportionally_fair(pair(cpu))
    assert best.rates / 1e6 == pytest.approx(rates, abs=0.0005)
    assert best.region == best.region_of(("cpu", "link")) == where
    closed = SingleBottleneck.of(PAPER * 10).proportionally_fair(cpu, 40e6)[:4]
    assert best.rates == pytest.approx(closed, rel=BORDER)
    equal = SingleBottleneck.of(PAPER * 10).tcp_like(cpu, 40e6)[:4]
    assert tcp_like(pair(cpu)).rates == pytest.approx(equal, rel=EXACT)


@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_that_of_cvxpy(seed: int) -> None:
    sharing = network(np.random.default_rng(seed), 6, 15)
    best = proportionally_fair(sharing)
    assert best.residuals.worst < 1e-9
    # In Mbit/s: solvers of cones want numbers near one. What they reach in rates is the root of
    # what they reach in the objective.
    r = cp.Variable(len(sharing.flows))
    gain = cp.multiply(sharing.count * sharing.weight, cp.log(r))
    load = sharing.density @ np.diag(sharing.count)
    limits = [load[[i]] @ r <= c / 1e6 for i, c in enumerate(sharing.capacity)]
    cp.Problem(cp.Maximize(cp.sum(gain)), limits).solve(solver=cp.CLARABEL)
    assert best.rates / 1e6 == pytest.approx(r.value, rel=1e-3)
    prices = np.array([float(limit.dual_value[0]) for limit in limits]) / 1e6
    paid = prices * sharing.capacity / (sharing.count @ sharing.weight)
    assert best.paid == pytest.approx(paid, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_no_change_that_is_feasible_gains_in_proportion(seed: int) -> None:
    # Section II-B: sum of alpha (r - r*) / r* <= 0 for every feasible r.
    rng = np.random.default_rng(seed)
    sharing = network(rng, 8, 20)
    best = proportionally_fair(sharing)
    others = [tcp_like(sharing).rates, max_min(sharing).rates, feasible(sharing)]
    for _ in range(20):
        other = best.rates * rng.lognormal(0, 1, len(best.rates))
        others.append(other / sharing.used(other).max())
    for other in others:
        assert (sharing.used(other) <= 1 + 1e-8).all()
        assert sharing.count * sharing.weight @ (other / best.rates - 1) <= 1e-6
    paid = float(best.prices @ sharing.capacity)
    assert paid == pytest.approx(float(sharing.count @ sharing.weight), rel=EXACT)


def test_residuals_detect_rates_that_are_not_optimal() -> None:
    sharing = pair(25e6)
    best = proportionally_fair(sharing)
    assert residuals(sharing, best.rates * 1.1, best.prices).stationarity == pytest.approx(0.1)
    assert residuals(sharing, best.rates * 1.1, best.prices).excess == pytest.approx(0.1)
    assert residuals(sharing, best.rates * 0.9, best.prices).slackness > 0.02
    assert residuals(sharing, best.rates, -best.prices).negativity > 0.2


@pytest.mark.parametrize("seed", range(4))
def test_every_flow_has_a_bottleneck(seed: int) -> None:
    sharing = network(np.random.default_rng(seed), 7, 15)
    density = sharing.density.toarray()
    level = tcp_like(sharing)
    full = level.used > 1 - 1e-9
    for s, rate in enumerate(level.rates / sharing.weight):
        # Water-filling: on some full resource nobody has more, as multiples of alpha.
        there = [i for i in np.flatnonzero(full) if density[i, s] > 0]
        assert any(
            (level.rates / sharing.weight)[density[i] > 0].max() <= rate * (1 + EXACT)
            for i in there
        )
    fair = max_min(sharing)
    share = density * fair.rates / sharing.weight
    for s in range(len(sharing.flows)):
        # Fair queueing: on some full resource nobody has a larger share of it.
        there = np.flatnonzero((fair.used > 1 - 1e-8) & (density[:, s] > 0))
        assert any(share[i, s] >= share[i].max() * (1 - 1e-7) for i in there)


def test_one_flow_in_a_group_is_as_one_alone() -> None:
    together = Sharing(
        (Resource("cpu", "cpu", 5.0), Resource("link", "link", 4.0)),
        (Flows("a", 1.0, {"cpu": 2, "link": 1}, 3), Flows("b", 2.0, {"link": 1})),
    )
    alone = Sharing(
        together.resources,
        (*(Flows(f"a{i}", 1.0, {"cpu": 2, "link": 1}) for i in range(3)), together.flows[1]),
    )
    one, other = proportionally_fair(together), proportionally_fair(alone)
    assert other.rates == pytest.approx([one.rates[0]] * 3 + [one.rates[1]], rel=EXACT)
    assert other.prices == pytest.approx(one.prices, rel=EXACT)


def test_two_resources_of_the_same_flows_have_one_price_between_them() -> None:
    twins = Sharing(
        (Resource("x", "link", 10.0), Resource("y", "link", 10.0)),
        (Flows("a", 1.0, {"x": 1, "y": 1}, 2),),
    )
    best = proportionally_fair(twins)
    assert best.rates == pytest.approx([5.0])
    assert best.prices.sum() == pytest.approx(0.2)


LINK = (Resource("link", "link", 1e6),)
NOTHING = Flows("video", 1.0, {})


@pytest.mark.parametrize(
    ("resources", "flows", "message"),
    [
        (LINK, (), "flows: got none"),
        (LINK, (NOTHING,), "video: no resource limits these flows"),
        (LINK, (Flows("video", 1.0, {"link": 0.0}),), "video: no resource limits"),
        (
            (Resource("wide", "link", math.inf),),
            (Flows("video", 1.0, {"wide": 1}),),
            "video: no resource limits",
        ),
        ((Resource("slow", "cpu", 0.0),), (NOTHING,), "slow: got a capacity of 0"),
        (
            (*LINK, Resource("cpu", "cpu", 1.0)),
            (Flows("video", 1.0, {"link": 1, "cpu": -1}),),
            "video: got a density of -1 at cpu",
        ),
        (LINK, (Flows("video", 1.0, {"lonk": 1}),), "video: got the resource lonk"),
        (LINK, (Flows("video", 0.0, {"link": 1}),), "video: got a weight of 0"),
        (LINK, (Flows("video", 1.0, {"link": 1}, 0),), "video: got 0 flows"),
        (LINK * 2, (Flows("video", 1.0, {"link": 1}),), "link: got this name 2 times"),
    ],
)
def test_problems_without_an_optimum_are_refused_by_name(
    resources: tuple[Resource, ...], flows: tuple[Flows, ...], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        Sharing(resources, flows)


def test_a_resource_without_limit_costs_nothing() -> None:
    wide = Sharing(
        (*LINK, Resource("wide", "cpu", math.inf)),
        (Flows("video", 1.0, {"link": 1, "wide": 3}, 2),),
    )
    best = proportionally_fair(wide)
    assert best.rates == pytest.approx([5e5])
    assert best.prices[1] == 0.0
    assert best.region == "bandwidth-limited"
    assert best.region_of(["wide"]) == "not congested"
    assert max_min(wide).rates == tcp_like(wide).rates == pytest.approx([5e5])


def scenario(cpu: str = "25 MHz", **changes: Any) -> dict[str, Any]:
    """The paper's dumbbell."""
    return {
        "name": "pair",
        "duration": "10 s",
        "topology": {
            "kind": "dumbbell",
            "rtts": ["40 ms"],
            "bottleneck": {
                "rate": "40 Mbit/s",
                "delay": "10 ms",
                "buffer": "2000 packets",
                "aqm": "drq",
                "cpu": {"clock": cpu, "buffer": "2000 packets", "aqm": "drq"},
            },
        },
        "transport": {"default": {"segment": "460 B"}},
        "traffic": [
            {"kind": "tcp", "name": f"w {w:g}", "count": 10, "processing": f"{w} cycles/bit"}
            for w in PAPER
        ],
    } | changes


def test_a_scenario_gives_its_flows_and_resources() -> None:
    best = region(from_dict(scenario()))
    assert best.rates / 1e6 == pytest.approx([1.743, 1.166, 0.701, 0.390], abs=0.0005)
    assert best.region == "jointly limited"
    assert best.sharing.pairs == (("bottleneck/cpu", "bottleneck"),)
    # 20 ms each way; 500 bytes take 4 us on access links, 100 us on the link, and 150 us in the CPU
    # at 15/16 cycles/bit, the mean.
    tau = 0.04 + 2 * 4e-6 + 1e-4 + 4000 * (15 / 16) / 25e6
    assert best.sharing.flows[0].weight == pytest.approx(math.sqrt(1.5) * 4000 / tau, rel=1e-6)
    assert region(from_dict(scenario("10 MHz"))).region == "CPU-limited"
    assert region(from_dict(scenario("50 MHz"))).region == "bandwidth-limited"


def test_other_traffic_takes_what_it_offers() -> None:
    udp = {"kind": "cbr", "name": "udp", "rate": "10 Mbit/s", "packet": "500 B"}
    found = allocation_problem(
        from_dict(scenario("100 MHz", traffic=[*scenario()["traffic"], udp]))
    )
    assert proportionally_fair(found.sharing).rates == pytest.approx([30e6 / 40] * 4, rel=EXACT)
    assert any("udp/40 ms: what it offers, 10 Mbit/s" in said for said in found.assumed)


TOO_MUCH = {"kind": "cbr", "name": "udp", "rate": "50 Mbit/s", "packet": "500 B"}
PACED = {"kind": "paced", "name": "rate", "rate": "1 Mbit/s"}


@pytest.mark.parametrize(
    ("traffic", "message"),
    [
        ([{"kind": "tcp", "size": "10 packets"}], "no TCP flows without end"),
        ([{"kind": "tcp"}, TOO_MUCH], "1.25 times what bottleneck can do"),
        ([{"kind": "tcp"}, PACED], "rate/40 ms is neither"),
    ],
)
def test_a_scenario_outside_the_model_is_refused(
    traffic: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(ScenarioError, match=message):
        allocation_problem(from_dict(scenario(traffic=traffic)))


def test_the_command_prints_json_and_refuses_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(tomli_w.dumps(scenario()))
    done = CliRunner().invoke(app, ["theory", "pf", str(file), "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["region"] == said["pairs"][0]["region"] == "jointly limited"
    assert said["flows"][0]["limited_by"] == ["bottleneck/cpu", "bottleneck"]
    of_cpu = sum(flows["shares"]["bottleneck/cpu"] for flows in said["flows"])
    assert of_cpu == pytest.approx(1, rel=EXACT)
    assert said["tcp_like_total_bit_per_s"] == pytest.approx(80e6 / 3, rel=EXACT)
    shown = CliRunner().invoke(app, ["theory", "pf", str(file), "--weights", "equal"])
    assert "jointly limited" in shown.output
    done = CliRunner().invoke(app, ["theory", "pf", str(file), "--weights", "none"])
    assert done.exit_code == 2
    assert "tcp, equal" in done.output


@pytest.mark.parametrize("seed", range(3))
def test_resources_that_nothing_exceeds_need_no_price(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sharing = links(np.random.default_rng(seed), 600, 900)
    solved: list[int] = []
    by_all = proportional_fairness._earned_by_all

    def counting(a: csr_array, pays: Floats) -> Floats:
        solved.append(a.shape[0])
        return by_all(a, pays)

    monkeypatch.setattr(proportional_fairness, "_earned_by_all", counting)
    found = proportionally_fair(sharing)
    assert len(solved) > 1
    assert max(solved) < 600
    monkeypatch.setattr(proportional_fairness, "FEW", 600)
    # Some links are full, or nearly so, and have next to no price.
    assert found.rates == pytest.approx(proportionally_fair(sharing).rates, rel=BORDER)


@pytest.mark.parametrize("seed", range(5))
def test_water_filling_of_links_is_max_min_fair(seed: int) -> None:
    sharing = links(np.random.default_rng(seed), 40, 100)
    usage = csr_array(sharing.density * sharing.count)
    expected = maxmin.max_min(usage, sharing.capacity, sharing.weight).rates
    assert max_min(sharing).rates == pytest.approx(expected, rel=1e-9)
    # The same by levels of fair queueing, of which those of links with equal densities are a case.
    scaled = replace(
        sharing,
        resources=tuple(replace(each, capacity=2 * each.capacity) for each in sharing.resources),
        flows=tuple(
            replace(each, demands=dict.fromkeys(each.demands, 2.0)) for each in sharing.flows
        ),
    )
    assert max_min(scaled).rates == pytest.approx(expected, rel=1e-8)


def test_of_many_flows_and_resources_few_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("marqueue.cli.theory.pf.MOST_LISTED", 1)
    (file := tmp_path / "net.toml").write_text(tomli_w.dumps(scenario()))
    shown = CliRunner().invoke(app, ["theory", "pf", str(file)])
    assert shown.exit_code == 0, shown.output
    assert "resources: the 1 most expensive ones are listed; --json has all" in shown.output
