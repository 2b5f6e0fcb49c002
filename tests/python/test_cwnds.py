"""Sampled congestion windows: they are those of traces, and tell whether flows move together."""

import numpy as np
import pyarrow.compute as pc
import pytest

from marqueue import Result, run
from marqueue.errors import ScenarioError
from marqueue.scenario import compile, from_toml
from small_scenario import SMALL

SAMPLED = ["traffic.0.sample_cwnd=true", "sample='20 ms'"]


def test_sums_and_variances_are_those_of_traces(tmp_path):
    result = run(from_toml(SMALL, [*SAMPLED, "traffic.0.trace=true", "replications=2"]))
    trace = result.to_arrow("tcp")
    for r, cwnds in enumerate(result.cwnds(group="long")):
        assert (cwnds.t[0], cwnds.t[-1]) == pytest.approx((1.02, 4.0))
        of = trace.filter(pc.equal(trace["replication"], r)).to_pandas()
        windows = []
        for _, flow in of.groupby("flow"):
            last = np.searchsorted(flow["t"].to_numpy(), cwnds.t, side="right") - 1
            windows.append(flow["cwnd"].to_numpy()[last])
        assert cwnds.total == pytest.approx(np.sum(windows, axis=0))
        assert cwnds.variance == pytest.approx(np.sum([w.var() for w in windows]))
        assert cwnds.dependence == pytest.approx(np.sum(windows, axis=0).var() / cwnds.variance)
    result.save(tmp_path / "kept")
    assert Result.load(tmp_path / "kept").cwnds(group="long")[1].variance == cwnds.variance


def test_windows_have_their_own():
    result = run(from_toml(SMALL, [*SAMPLED, "cuts=['2 s']", "replications=1"]))
    parts = [result.cwnds(w, group="long")[0] for w in range(3)]
    assert [len(part.t) for part in parts] == [50, 50, 100]
    variances = result.to_arrow("cwnd_variance")["variance"].to_pylist()
    assert [part.variance for part in parts] == variances


def test_what_was_not_sampled_is_not_there():
    with pytest.raises(KeyError, match="sample_cwnd"):
        run(from_toml(SMALL, ["replications=1"])).cwnds(group="long")
    with pytest.raises(ScenarioError, match="expected sample above zero"):
        compile(from_toml(SMALL, [SAMPLED[0], "sample='0 s'"]))
