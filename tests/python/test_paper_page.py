"""The page of a reproduction: figures beside the claims about them."""

import re

import pytest

from marqueue.papers.beside import beside
from marqueue.plots import cdf, svg
from marqueue.reports import Report, Verdict


@pytest.mark.parametrize(
    ("place", "figures"),
    [
        ("Fig. 12", [0]),
        ("Fig. 12 (b)", [1]),
        ("Figure 12b", [1]),
        ("Fig. 12 (c)", []),
        ("Fig. 4 (a)", [2]),
        ("Fig. 4, section V-B", [2]),
        ("Fig. 4, (27)", [2]),
        ("Figs. 4, 12", [2, 0]),
        ("Figs. 3, 4-6, 10-13", [2, 0]),
        ("Figures 4 and others", [2]),
        ("Table I", [3]),
        ("Table II", []),
        ("Fig. 1", []),
        ("Text", []),
        ("Theorem 4", []),
    ],
)
def test_a_claim_is_beside_the_figures_it_names(place: str, figures: list[int]) -> None:
    exhibits = ["Figure 12 (a)", "Figure 12 (b)", "Figure 4, low level", "Table I", "Theory 1"]
    assert beside(exhibits, [place]) == [figures]


def test_figure_claim_and_verdict_are_side_by_side() -> None:
    claim = Verdict("RED is poor", "Fig. 6", "below 0.9", "0.99", "fails", "A note.", "0 / 0 / 3")
    figure = svg(cdf({"a": [1, 2]}, "x"))
    page = Report("Paper").figure(figure, "The utilization.", "Figure 6", [claim]).render()
    [exhibit] = re.findall(r'<div class="exhibit">.*?</ul>\s*</div>', page, re.DOTALL)
    for said in ("Figure 6.", "<svg", "RED is poor", "Fig. 6", "below 0.9", "0.99"):
        assert said in exhibit
    assert '<span class="outcome fails">does not hold</span>' in exhibit
    assert '<p class="note">0 / 0 / 3</p>' in exhibit


def test_a_figure_without_claims_has_the_width_of_the_page() -> None:
    assert 'class="exhibit"' not in Report("P").figure(svg(cdf({"a": [1, 2]}, "x")), "c").render()
