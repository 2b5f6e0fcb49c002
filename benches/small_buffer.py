"""Theorems 1 and 2 of the small-buffer paper from a hundred to ten million flows by packets, and to
10^9 by the chain, on one picture.

    python -m benches.small_buffer [--flows N ...] [--schemes NAME ...]

Packets: the dumbbell of the paper's Figure 4, with windows sampled once in a mean round-trip time,
each replication in a process of its own. Chain: as many packets a flow in the pipe, all windows
changed at the same instant (docs/theory/chain.md). Points replace those of the same scheme and
number of flows in docs/performance/small-buffer.json; the picture is docs/theory/chain/flows.svg.
All take about three hours of CPU time, two of them for ten million flows, which need 8 GB.
"""

import argparse
import json
import resource
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from matplotlib.figure import Figure

from benches.record import FOLDER, record, table
from marqueue import run
from marqueue.papers import PAPERS
from marqueue.papers.small_buffer import theorem_2
from marqueue.papers.small_buffer.setups import CURVES, GROUP, A, dumbbell
from marqueue.plots import svg
from marqueue.plots.style import legend, looks, panels
from marqueue.scenario import with_overrides
from marqueue.statistics.estimates import Estimate
from marqueue.theory.marking_chain import Model, simulate

CHOICE = PAPERS["small-buffer"].main_choice("4")
PICTURE = Path(__file__).parents[1] / "docs" / "theory" / "chain" / "flows.svg"
FILE = FOLDER / "small-buffer.json"


@dataclass(frozen=True)
class Form:
    """Simulated time and warm-up, s, and the number of replications."""

    duration: int
    warm_up: int
    replications: int


FORMS = {
    100: Form(30, 15, 10),
    1000: Form(30, 15, 10),
    10_000: Form(30, 15, 4),
    100_000: Form(30, 15, 4),
    1_000_000: Form(30, 15, 1),
    10_000_000: Form(18, 10, 1),
}
"""How many flows, and how each is simulated. Starts are within 5 s."""
SAMPLE = "200 ms"
"""Windows of ten million flows are 4 GB to read for each sample."""
CHAIN = tuple(round(10 ** (k / 2)) for k in range(4, 19))


@dataclass(frozen=True)
class Point:
    """One replication."""

    scheme: str
    flows: int
    seed: int
    packets: int
    cpu: float
    """CPU time of the process, s."""
    peak_kb: int
    utilization: float
    tail: float
    """Share of time with N^0.3 packets or more in the queue."""
    marks: float
    """Share of the packets that are marked."""
    h: float
    loss: float
    delay: float
    """Mean queueing delay, s."""


@dataclass(frozen=True)
class Link:
    """The chain's figures."""

    scheme: str
    flows: int
    utilization: float
    tail: float
    marks: float
    h: float


def measure(scheme: str, flows: int, seed: int) -> Point:
    """One replication, in this process."""
    form, started = FORMS[flows], time.process_time()
    scenario = with_overrides(
        dumbbell(scheme, flows, CHOICE),
        [
            f"duration={form.duration} s",
            f"warmup={form.warm_up} s",
            f"sample={SAMPLE}",
            f"seed={seed}",
        ],
    )
    result = run(scenario, jobs=1)
    cpu = time.process_time() - started
    link, [cwnds] = result.link(), result.cwnds(group=GROUP)
    [window] = link.windows()

    def figure(name: str) -> float:
        return float(link.values(name)[0])

    return Point(
        scheme,
        flows,
        seed,
        int(result.run_totals()["sent"].mean),
        cpu,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        figure("utilization"),
        float(theorem_2.above(result, scheme, flows).values[0][0]),
        figure("mark_ratio"),
        float(cwnds.dependence),
        figure("loss_ratio"),
        float(window.delays.mean),
    )


def of_chain(scheme: str, flows: int) -> Link:
    """The chain with as many packets a flow in the pipe."""
    model = Model(flows, theorem_2.CT, A, scheme)
    found = simulate(model, theorem_2.LENGTH, theorem_2.WARM_UP, theorem_2.REPLICATIONS)
    tail, marks = theorem_2.figures(model, found.loads, flows)
    return Link(scheme, flows, found.utilization.mean, tail, marks, found.h.mean)


def picture(points: Sequence[Point], links: Sequence[Link]) -> Figure:
    """Draws packets as marks and the chain as lines, over the number of flows."""
    names = {
        "utilization": "Utilization",
        "tail": theorem_2.TAIL,
        "marks": theorem_2.MARKS,
        "h": "h / N",
    }
    figure, axes = panels(len(names), height=1.7)
    schemes = list(dict.fromkeys(each.scheme for each in points))
    for (name, label), panel in zip(names.items(), axes, strict=True):
        for scheme, look in zip(schemes, looks(len(schemes)), strict=True):
            line = [each for each in links if each.scheme == scheme]
            at = sorted({each.flows for each in points if each.scheme == scheme})
            values = [
                Estimate.of(
                    [
                        getattr(each, name) / (n if name == "h" else 1)
                        for each in points
                        if (each.scheme, each.flows) == (scheme, n)
                    ]
                )
                for n in at
            ]
            panel.plot(
                [each.flows for each in line],
                [getattr(each, name) / (each.flows if name == "h" else 1) for each in line],
                color=look["color"],
                linestyle=look["linestyle"],
                label=f"{scheme}, chain",
            )
            panel.errorbar(
                at,
                [each.mean for each in values],
                [each.half_width or 0.0 for each in values],
                **{**look, "linestyle": ""},
                label=f"{scheme}, packets",
            )
        panel.set_ylabel(label)
        if name in ("tail", "marks"):
            panel.set_ylim(bottom=0.0)
        panel.set_xscale("log")
        panel.minorticks_off()
    axes[-1].set_yscale("log")
    axes[-1].set_xlabel("N")
    legend(axes[0])
    return figure


HEAD = [
    "scheme", "flows", "replications", "million packets each", "CPU s each", "peak, MB",
    "utilization", "P(Q ≥ N^0.3)", "share of packets marked", "h", "loss ratio",
]  # fmt: skip


def rows(points: Sequence[Point]) -> list[list[str]]:
    """The table: means of replications, with 95% intervals where there are several."""
    keys = sorted({(each.scheme, each.flows) for each in points})
    found = []
    for scheme, flows in keys:
        those = [each for each in points if (each.scheme, each.flows) == (scheme, flows)]
        cells = [scheme, f"{flows:,}", str(len(those))]
        cells.append(f"{sum(each.packets for each in those) / len(those) / 1e6:.3g}")
        cells.append(f"{sum(each.cpu for each in those) / len(those):.1f}")
        cells.append(f"{max(each.peak_kb for each in those) / 1e3:.0f}")
        for name in ("utilization", "tail", "marks", "h", "loss"):
            estimate = Estimate.of([getattr(each, name) for each in those])
            half = "" if estimate.half_width is None else f" ± {estimate.half_width:.2g}"
            cells.append(f"{estimate.mean:.4g}{half}")
        found.append(cells)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--flows", type=int, nargs="+", default=list(FORMS), choices=list(FORMS))
    parser.add_argument("--schemes", nargs="+", default=["RED1", "EXP"], choices=list(CURVES))
    arguments = parser.parse_args()
    measured = []
    for flows in arguments.flows:
        for scheme in arguments.schemes:
            for seed in range(1, FORMS[flows].replications + 1):
                with ProcessPoolExecutor(1) as fresh:
                    measured.append(fresh.submit(measure, scheme, flows, seed).result())
                print(measured[-1], flush=True)
    again = {(each.scheme, each.flows) for each in measured}
    stored = [Point(**each) for each in json.loads(FILE.read_text())] if FILE.exists() else []
    points = [each for each in stored if (each.scheme, each.flows) not in again] + measured
    points.sort(key=lambda each: (each.scheme, each.flows, each.seed))
    schemes = list(dict.fromkeys(each.scheme for each in points))
    links = [of_chain(scheme, flows) for scheme in schemes for flows in CHAIN]
    record("small-buffer", [asdict(each) for each in points], table(HEAD, rows(points)))
    PICTURE.write_text(svg(picture(points, links)))


if __name__ == "__main__":
    main()
