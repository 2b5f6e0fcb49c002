"""The series and the flows of a result as a labelled data set (xarray)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from marqueue.extras import require

if TYPE_CHECKING:
    import xarray as xr

    from marqueue.results.data import ResultData

#: Columns of the flows' table that are labels of the others.
LABELS = ("group", "kind", "class")


def labelled(result: ResultData) -> xr.Dataset:
    """See :meth:`marqueue.results.result.Result.to_xarray`."""
    require("xarray", "A labelled data set")
    import xarray as xr

    data = xr.Dataset(attrs={"name": result.name, "warmup": result.warmup})
    links = xr.DataArray(result.links, dims="link", name="link")
    t = np.empty(0)
    for link in result.links:
        t = max(t, result.link(link).series("queue")[0], key=len)
    names = dict(pair for link in result.links for pair in result.link(link).units.items())
    for name, unit in names.items():
        values = np.full((result.replications, len(links), len(t)), np.nan)
        for i, link in enumerate(result.links):
            if name in result.link(link).units:
                series = result.link(link).series(name)[1]
                values[: len(series), i, : series.shape[1]] = series
        data[name] = (("replication", "link", "time"), values, {"units": unit})
    data = data.assign_coords(
        replication=np.arange(result.replications), link=links, time=("time", t, {"units": "s"})
    )
    return data.merge(_flows(result), combine_attrs="override")


def _flows(result: ResultData) -> xr.Dataset:
    """The flows as ``flow_NAME[replication, flow]``. Replications may have different flows, so the
    labels are variables too."""
    import xarray as xr

    table = result.flows
    replication, flow = (table[name].to_numpy() for name in ("replication", "flow"))
    flows = np.unique(flow)
    place = (replication, np.searchsorted(flows, flow))
    out = xr.Dataset(coords={"flow": flows})
    for field in table.schema:
        if field.name in ("replication", "flow"):
            continue
        shape = (result.replications, len(flows))
        if field.name in LABELS:
            values = np.full(shape, "", dtype=object)
            values[place] = [str(each) for each in table[field.name].to_pylist()]
        else:
            values = np.full(shape, np.nan)
            values[place] = table[field.name].to_numpy()
        unit = (field.metadata or {}).get(b"unit", b"").decode()
        attributes = {"units": unit} if unit else {}
        out[f"flow_{field.name}"] = (("replication", "flow"), values, attributes)
    return out
