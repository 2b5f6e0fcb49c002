import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marqueue.plots import (
    Curve,
    Plots,
    bars,
    cdf,
    inline_svg,
    queue_histogram,
    svg,
    sweep,
    timeseries,
)
from marqueue.plots.timeseries import COLUMNS, envelope, thin
from marqueue.statistics.estimates import Estimate
from sample_runs import sample_run

ESTIMATES = [Estimate(0.9, 0.02, 3), Estimate(0.95, 0.01, 3), Estimate(0.99, None, 1)]


class TestSvg:
    def test_the_same_figure_gives_the_same_text(self) -> None:
        def draw() -> str:
            return svg(sweep([20, 60, 180], {"avq": ESTIMATES}, "Flows", "Utilization"))

        assert draw() == draw()
        assert "<dc:date>" not in draw()

    def test_inline_it_takes_the_colour_of_the_page_and_needs_nothing_else(self) -> None:
        text = inline_svg(Plots(sample_run()).queue(), 'Queue of "A" & <B>')
        assert text.startswith('<svg role="img" aria-label="Queue of &quot;A&quot; &amp; &lt;B>"')
        assert "currentColor" in text
        assert "http" not in text
        assert set(re.findall(r"#([A-Za-z]\w*)", text)) <= set(re.findall(r'id="(\w+)"', text))


class TestTimeSeries:
    @settings(max_examples=25)
    @given(st.integers(2 * COLUMNS + 1, 5 * COLUMNS), st.integers(0, 2**32 - 1))
    def test_thinning_keeps_every_peak(self, n: int, seed: int) -> None:
        t, y = np.arange(n, dtype=float), np.random.default_rng(seed).normal(size=n)
        t_kept, kept = thin(t, y)
        assert len(kept) <= 2 * COLUMNS
        assert (kept.min(), kept.max()) == (y.min(), y.max())
        assert (np.diff(t_kept) > 0).all()

    def test_short_series_stay_as_they_are(self) -> None:
        t, y = np.arange(10.0), np.arange(10.0) ** 2
        assert thin(t, y)[1] is y

    def test_the_band_holds_all_replications(self) -> None:
        values = np.random.default_rng(3).normal(size=(4, 3 * COLUMNS))
        _, low, high = envelope(np.arange(3.0 * COLUMNS), values)
        assert (low.min(), high.max()) == (values.min(), values.max())
        assert (low <= high).all()

    def test_one_replication_has_no_band(self) -> None:
        t = np.arange(5.0)
        [axes] = timeseries([Curve(t, t)], "Queue", "packets").axes
        assert not axes.collections
        assert axes.get_ylabel() == "Queue [packets]"
        [axes] = timeseries([Curve(t, np.stack([t, t + 1]))], "Queue").axes
        assert len(axes.collections) == 1

    def test_every_series_of_a_result_can_be_drawn(self) -> None:
        result = sample_run()
        for name in result.link().units:
            [axes] = Plots(result).series(name).axes
            [line] = [x for x in axes.lines if len(x.get_xdata()) > 2]
            _, values = result.link().series(name)
            assert len(line.get_ydata()) == values.shape[1]


class TestSweep:
    def test_draws_estimates_with_their_intervals(self) -> None:
        figure = sweep([20, 60, 180], {"avq": ESTIMATES, "red": ESTIMATES}, "Flows", "Utilization")
        [axes] = figure.axes
        avq, red = axes.containers
        assert list(avq.lines[0].get_ydata()) == [0.9, 0.95, 0.99]
        segments = avq.lines[2][0].get_segments()
        assert segments[0] == pytest.approx(np.array([[20, 0.88], [20, 0.92]]))
        assert [t.get_text() for t in axes.get_legend().get_texts()] == ["avq", "red"]
        assert avq.lines[0].get_color() != red.lines[0].get_color()
        assert avq.lines[0].get_marker() != red.lines[0].get_marker()

    def test_refuses_estimates_that_do_not_fit(self) -> None:
        with pytest.raises(ValueError, match="avq: got 3 estimates for 2 values"):
            sweep([20, 60], {"avq": ESTIMATES}, "Flows", "Utilization")


class TestDistributions:
    @pytest.mark.parametrize("n", [1, 7, 5000])
    def test_a_cdf_rises_from_zero_to_one(self, n: int) -> None:
        x = np.random.default_rng(n).exponential(size=n)
        [axes] = cdf({"short": x, "none": []}, "Flow completion time", "s", log=True).axes
        [line] = axes.lines
        y = line.get_ydata()
        assert (y[0], y[-1]) == (0, 1)
        assert (np.diff(y) >= 0).all()
        assert (line.get_xdata()[0], line.get_xdata()[-1]) == (x.min(), x.max())

    def test_a_histogram_shows_shares(self) -> None:
        [axes] = queue_histogram({"all": np.array([1.0, 2.0, 1.0])}).axes
        values, edges, _ = axes.patches[0].get_data()
        assert list(values) == [0.25, 0.5, 0.25]
        assert list(edges) == [-0.5, 0.5, 1.5, 2.5]

    def test_bars_stand_side_by_side(self) -> None:
        [axes] = bars(["a", "b", "c"], {"x": ESTIMATES, "y": ESTIMATES}, "Utilization").axes
        left, right = (c for c in axes.containers if hasattr(c, "patches"))
        for a, b in zip(left.patches, right.patches, strict=True):
            assert a.get_x() + a.get_width() <= b.get_x()
            assert a.get_height() == b.get_height()
