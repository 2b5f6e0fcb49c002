"""Experiment 1: AVQ alone, and short flows that join. Figures 4 and 5, Table I."""

from collections.abc import Mapping, Sequence

from marqueue.papers.avq.setups import adaptation, handshake, scenario
from marqueue.papers.figures import PaperFigure, PaperTable, over_time
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs, over_span, series_mean, single
from marqueue.papers.readings import Choice
from marqueue.plots import Curve
from marqueue.reports.builder import Cell
from marqueue.scenario import Scenario

#: Spans before and after the short flows join, s.
BEFORE, AFTER = (50.0, 100.0), (100.0, 200.0)
#: Parts of these spans in steady state, s.
SETTLED = (150.0, 200.0)

#: Quantities by name: figure of the link and span of time.
FIGURES = {
    "utilization": ("utilization", (50.0, 200.0)),
    "utilization-settled": ("utilization", SETTLED),
    "losses": ("drops", (0.0, 200.0)),
    "losses-start": ("drops", (0.0, 50.0)),
    "losses-joined": ("drops", (50.0, 200.0)),
    "loss-ratio-20-50": ("loss_ratio", (20.0, 50.0)),
    "queue-mean-before": ("queue_mean", BEFORE),
    "queue-std-before": ("queue_std", BEFORE),
    "queue-mean-start": ("queue_mean", (20.0, 100.0)),
    "queue-std-start": ("queue_std", (20.0, 100.0)),
    "queue-mean-after": ("queue_mean", AFTER),
    "queue-std-after": ("queue_std", AFTER),
    "queue-mean-settled": ("queue_mean", SETTLED),
    "queue-std-settled": ("queue_std", SETTLED),
}

#: Counting units of the virtual queue.
MODES = ("bytes", "packets")
#: Rates at which packets arrive at the same instant, and rates close to them at which they do not.
TIES = {"slow": "9999990 bit/s", "even": "10 Mbit/s", "fast": "10000010 bit/s"}


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """AVQ with its virtual queue in bytes and in packets; droptail with and without ties."""
    read = (*adaptation(choice), *handshake(choice))
    counted = {
        mode: scenario("experiment-1", f"topology.bottleneck.aqm.mode={mode}", *read)
        for mode in MODES
    }
    ties = {
        f"ties-{name}": scenario("experiment-1-ties", f"topology.bottleneck.rate={rate}")
        for name, rate in TIES.items()
    }
    return counted | ties


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Figures for both counting units, the virtual capacity, and the effect of ties on droptail."""
    figures = {
        f"{name}.{mode}": over_span(runs[mode], "{:g} to {:g} s".format(*times), figure, *times)
        for mode in MODES
        for name, (figure, times) in FIGURES.items()
    }
    main = runs["bytes"]
    t, queue = main.link().series("queue")
    short = {
        f"short.{name}": single(
            "Share of samples below 20 packets",
            name,
            (queue[:, (begin <= t) & (t < end)] < 20).mean(axis=1),
        )
        for name, (begin, end) in {"before": BEFORE, "after": SETTLED}.items()
    }
    capacity = {
        f"capacity.{name}": series_mean(main, name, "virtual_capacity_share", *times)
        for name, times in {"before": BEFORE, "after": SETTLED}.items()
    }
    ties = {
        f"ties-{name}-{begin:g}": over_span(runs[f"ties-{name}"], rate, "loss_ratio", begin, end)
        for name, rate in TIES.items()
        for begin, end in ((20.0, 32.0), (50.0, 100.0))
    }
    return figures | short | capacity | ties


def draw(runs: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """C~(t), q(t) and the table of the queue."""
    link = runs["bytes"].link()
    joined = "Short flows join at 100 s (dotted)."
    table: list[list[Cell]] = [
        [
            label,
            paper_before,
            quantities[f"{name}-before.bytes"].estimates[0],
            paper_after,
            quantities[f"{name}-after.bytes"].estimates[0],
        ]
        for name, label, paper_before, paper_after in (
            ("queue-mean", "Mean", 12.17, 19.19),
            ("queue-std", "Standard deviation", 10.28, 13.44),
        )
    ]
    return [
        over_time(
            "Figure 4",
            f"Virtual capacity as a share of the link's. {joined}",
            Curve(*link.series("virtual_capacity_share")),
            "Virtual capacity / C",
            changes=AFTER[:1],
        ),
        over_time(
            "Figure 5",
            f"Queue every 100 ms. {joined}",
            Curve(*link.series("queue")),
            "Queue",
            "packets",
            AFTER[:1],
        ),
        PaperTable(
            "Table I",
            "Queue in packets, before (50 to 100 s) and after (100 to 200 s) the short flows join.",
            ("", "Before: paper", "Before: here", "After: paper", "After: here"),
            table,
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "The run lasts 200 s: the paper's 250 000 packets at 98% of 1250 packets/s.",
        '"Before" means 50 to 100 s, when the start of the flows is over; "after" means 100 to 200 '
        "s.",
        "The virtual queue counts bytes, as in the paper's pseudocode. The reference runs count "
        "packets, so a SYN of 40 bytes counts as much as a data packet; this is measured too.",
        "The paper does not say when the flows start. Here they start at random within 1 s.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
