"""The proportionally fair shares of CPUs and links of a scenario, to compare with measured
shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from marqueue.errors import ModelError, ScenarioError
from marqueue.extras import MissingExtra, require
from marqueue.results.data import ResultData

if TYPE_CHECKING:
    from marqueue.theory.allocation.proportional_fairness import Region


@dataclass(frozen=True)
class FairOptimum:
    """The optimum of problem P (Shin, Chong and Rhee, section II-B) for a scenario as run."""

    region: Region
    """The resources that limit the long flows together."""
    pairs: Mapping[str, Region]
    """The same for each CPU with the link behind it, by the name of the link."""
    shares: Mapping[str, Mapping[str, float]]
    """The share of the capacity, by CPU or link and group of long flows."""
    assumed: tuple[str, ...]
    """The assumptions of the model, one sentence each."""

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "region": self.region,
            "pairs": dict(self.pairs),
            "shares": {name: dict(each) for name, each in self.shares.items()},
            "assumed": list(self.assumed),
        }


def fair_optimum(result: ResultData) -> FairOptimum | str | None:
    """The optimum of a scenario with CPUs; None without a CPU.

    A text explains why there is none, if the scenario is outside the model or an extra is missing.
    """
    capacities = {
        link["name"]: float(
            cpu["clock"] * cpu["cores"] if (cpu := link.get("cpu")) else link["rate"]
        )
        for link in result.plan["links"]
    }
    if not any(link.get("cpu") for link in result.plan["links"]):
        return None
    try:
        require("theory", "the optimum")
    except MissingExtra as missing:
        return str(missing)
    # These import scipy, which other runs do not need.
    from marqueue.theory.allocation.from_scenario import allocation_problem
    from marqueue.theory.allocation.proportional_fairness import proportionally_fair

    try:
        shared = allocation_problem(result.checked_scenario)
        best = proportionally_fair(shared.sharing)
    except ScenarioError as error:
        return "; ".join(problem.message for problem in error.problems)
    except ModelError as error:
        return str(error)
    groups = {
        entry["name"]: group
        for entry, group in zip(result.plan["traffic"], result.plan_groups, strict=True)
    }
    shares: dict[str, dict[str, float]] = {name: {} for name in result.links}
    for flows, rate in zip(best.sharing.flows, best.rates, strict=True):
        for name, demand in flows.demands.items():
            if name in shares:
                share = demand * flows.count * float(rate) / capacities[name]
                group = groups[flows.name]
                shares[name][group] = shares[name].get(group, 0.0) + share
    pairs = {pair[1]: best.region_of(pair) for pair in best.sharing.pairs}
    return FairOptimum(best.region, pairs, shares, shared.assumed)
