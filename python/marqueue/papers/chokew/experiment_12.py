"""Figures 12, 13 and 14: does CHOKeW need RED?"""

from collections.abc import Mapping, Sequence

from marqueue.papers.chokew.measures import mean_of, of_flows, of_link, ratio, swept
from marqueue.papers.chokew.setups import WINDOWS, label, level, under, varied
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs, over_span
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

COMPARED = ("chokew", "chokew-red-002", "chokew-red-005", "chokew-red-010", "chokew_avg")
FLOWS = (50, 100, 150, 200, 250)
#: Section 4.6: so few flows that RED alone keeps the queue below L+, and p0 at 0.
FEW, ALONE = 10, ("chokew", "chokew-red-010")
#: CHOKeW with 40 bytes of headers in addition to the payload of 1000, as in ns-2.
HEADERS = "headers"
HEADERS_FLOWS = 100
#: In which p0 has settled, s.
LATE = (500.0, 1000.0)


def name(scheme: str, flows: int) -> str:
    """Name of a set-up."""
    return f"{scheme}-{flows}"


def halves(flows: int) -> Mapping[float, int]:
    """Number of flows by weight: half of weight 1, half of weight 2."""
    return {1.0: flows // 2, 2.0: flows // 2}


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and number of flows; one with headers; a few flows, which RED alone
    keeps below L+."""
    changed = varied(choice)
    each = {
        name(scheme, n): under(scheme, halves(n), overrides=changed)
        for scheme in COMPARED
        for n in FLOWS
    }
    few = {name(scheme, FEW): under(scheme, halves(FEW), overrides=changed) for scheme in ALONE}
    counted = ["transport.default.count_header=true", *changed]
    return each | few | {HEADERS: under("chokew", halves(HEADERS_FLOWS), overrides=counted)}


def measure(runs: Runs, choice: Choice) -> Quantities:
    """Utilization, queue, goodput, p0, and the ratio of the levels' goodputs."""
    window = WINDOWS[choice["window"]].index
    out: dict[str, Quantity] = {}
    for scheme in COMPARED:
        of = label(scheme)
        names = {float(n): name(scheme, n) for n in FLOWS}
        for key, figure in {"utilization": "utilization", "queue": "queue_mean"}.items():
            out[f"{key}.{scheme}"] = swept(runs, names, "N", of_link, of, figure, window)
            out[f"{key}-late.{scheme}"] = swept(runs, names, "N", over_span, of, figure, *LATE)
        out[f"goodput.{scheme}"] = swept(runs, names, "N", of_flows, of, "goodput", None, window)
        out[f"p0.{scheme}"] = swept(runs, names, "N", mean_of, of, "p0", "p0", window)
        for key, group in {"low": level(1), "high": level(2)}.items():
            out[f"{key}.{scheme}"] = swept(
                runs, names, "N", of_flows, f"{of}, {key}", "goodput", group, window
            )
    for scheme in ALONE:
        run, of = runs[name(scheme, FEW)], label(scheme)
        out[f"few.p0.{scheme}"] = mean_of(run, of, "p0", "p0", window)
        out[f"few.levels.{scheme}"] = ratio(run, of, "w = 2 over w = 1", level(2), level(1), window)
    with_headers = "CHOKeW, 40-byte headers"
    headers = runs[HEADERS]
    out["goodput.headers"] = of_flows(headers, with_headers, "goodput", window=window)
    out["utilization.headers"] = of_link(headers, with_headers, "utilization", window)
    return out


def draw(_: Runs, quantities: Quantities, choice: Choice) -> Sequence[PaperFigure]:
    """A figure per quantity."""
    seconds = WINDOWS[choice["window"]].seconds

    def drawn(figure: str, key: str, caption: str, floor: float | None = None) -> PaperFigure:
        compared = [quantities[f"{key}.{scheme}"] for scheme in COMPARED]
        return sweep_figure(figure, caption, compared, "TCP flows", floor=floor)

    return [
        drawn(
            "Figure 12",
            "utilization",
            f"Utilization of the link, {seconds}: the curves lie on each other.",
            0.9,
        ),
        drawn(
            "Figure 13",
            "queue",
            f"Mean queue, {seconds}. L- is 125 packets and L+ 175.",
            0.0,
        ),
        drawn(
            "Figure 13, 500 to 1000 s",
            "queue-late",
            "The same once p0 has settled (the axis does not begin at 0).",
        ),
        drawn(
            "Figure 14",
            "goodput",
            f"Goodput of all flows, {seconds} (the axis does not begin at 0).",
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "Half of the flows have weight 1 and half weight 2, as in Experiment 5; the paper does "
        "not say.",
        "CHOKeW-avg, which uses RED's average of the queue, is added for comparison.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
