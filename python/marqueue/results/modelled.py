"""Links of a hybrid run that were models: what was predicted of them, and what can be known
afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from marqueue.results.columns import Columns, Plan, Raw
from marqueue.results.data import CONFIDENCE, ResultData
from marqueue.results.raw_flows import flow_parts
from marqueue.scenario.hybrid import Bundles, crossed_links, is_modelled
from marqueue.statistics.estimates import Estimate

TABLE = "modelled"


def modelled_table(plan: Plan, raws: Sequence[Raw], warmup: int) -> pa.Table | None:
    """One row per replication and modelled link; None without such links.

    The first ``warmup`` windows are not part of the measured time.
    """
    links = [i for i, link in enumerate(plan["links"]) if is_modelled(link)]
    if not links:
        return None
    said = [plan["links"][i]["model"]["link"] for i in links]
    bundles = Bundles.of(plan, crossed_links(plan))
    n = len(raws)
    out = Columns()
    out.add("replication", pa.uint32(), "", [np.repeat(np.arange(n), len(links))])
    names = [plan["links"][i]["name"] for i in links]
    out.add_names("link", names, np.tile(np.arange(len(links)), n))
    predicted = np.array([each["utilization"] for each in said])
    out.add("predicted_utilization", pa.float64(), "1", [np.tile(predicted, n)])
    out.add("wait", pa.float64(), "s", [np.tile([each["wait"] / 1e9 for each in said], n)])
    out.add("load", pa.float64(), "1", [_loads(plan, raw, bundles, warmup)[links] for raw in raws])
    return out.table()


def _loads(plan: Plan, raw: Raw, bundles: Bundles, warmup: int) -> Any:
    """What was delivered over each link in the measured time of a replication, with headers and
    acknowledgements, as a share of its rate: shape [links]."""
    edges = raw["edges"]
    routes = len(plan["routes"])
    keys = bundles.column("entry") * routes + bundles.column("route")
    order = np.argsort(keys)
    payload = np.zeros(len(keys))
    for flows in flow_parts(raw["flows"]):
        flow_keys = np.asarray(flows["group"]).astype(int) * routes + np.asarray(flows["route"])
        bundle = order[np.searchsorted(keys[order], flow_keys)]
        delivered = np.reshape(flows["delivered"], (-1, len(edges) - 1))[:, warmup:].sum(axis=1)
        payload += np.bincount(bundle, delivered, len(keys))
    bits = 8.0 * payload / bundles.column("payload")
    span = float(raw["ended"]) - edges[warmup]
    rates = bits / span if span > 0 else np.zeros(len(keys))
    capacity = np.array([float(link["rate"]) for link in plan["links"]])
    return bundles.crossings.loads(rates, len(capacity)) / capacity


@dataclass(frozen=True)
class ModelledLink:
    """A link whose queue was a model."""

    name: str
    predicted: float
    """Share of its rate that was expected to be used, before the run."""
    wait: float
    """Mean wait that was part of the delay, s."""
    load: Estimate
    """Share of its rate that what was delivered takes: not what a queue there would have
    carried."""

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            "predicted_utilization": self.predicted,
            "wait": self.wait,
            "load": self.load.as_dict(),
        }


def modelled_links(result: ResultData) -> list[ModelledLink]:
    """The links whose queue was a model, those with the largest load first."""
    table = result.tables.get(TABLE)
    if table is None:
        return []
    n = result.replications
    loads = np.reshape(table["load"].to_numpy(), (n, -1))
    number = loads.shape[1]
    names = table["link"].slice(0, number).to_pylist()
    predicted, wait = (
        table[each].slice(0, number).to_pylist() for each in ("predicted_utilization", "wait")
    )
    order = np.argsort(-loads.mean(axis=0), kind="stable").tolist()
    return [
        ModelledLink(names[i], predicted[i], wait[i], Estimate.of(loads[:, i].tolist(), CONFIDENCE))
        for i in order
    ]


def bottleneck_from(scenario: Mapping[str, Any]) -> float:
    """The utilization from which a link was taken for a bottleneck."""
    return float(scenario["topology"]["bottleneck_from"])


def simulated_and_modelled(result: ResultData) -> str:
    """A sentence that says how many links are models; empty if none is."""
    table = result.tables.get(TABLE)
    if table is None:
        return ""
    number = table.num_rows // result.replications
    simulated = sum(link["queue"] is not None for link in result.plan["links"])
    return (
        f"Hybrid: {simulated:,} link{'s' * (simulated != 1)} with queues and packets, {number:,} "
        f"modelled (predicted utilization below {bottleneck_from(result.scenario):g})"
    )
