"""The theory of DRQ: time to solve the optimum of a large network, and the figures of its page.

Run as ``python -m benches.drq``; the page is docs/theory/drq.md.
"""

from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from matplotlib.figure import Figure

from marqueue.plots import line_plot, panels, style, svg
from marqueue.plots.capacity_region import pair_shares
from marqueue.theory.allocation.allocations import max_min, tcp_like
from marqueue.theory.allocation.proportional_fairness import proportionally_fair
from marqueue.theory.allocation.resources import Flows, Resource, Sharing
from marqueue.theory.allocation.single_bottleneck import SingleBottleneck
from marqueue.theory.drq import marking as recursion
from marqueue.theory.drq.fluid import Drq, Red, Reno
from marqueue.theory.drq.stability import Stability, stability

FOLDER = Path(__file__).parents[1] / "docs" / "theory"
COUNTS = (1, 2, 4, 8, 16, 32, 64)
PACKET = 4000.0


def large(flows: int = 10_000, resources: int = 1_000, crossed: int = 8) -> Sharing:
    """Random routes over CPUs and links of 10 Mbit/s to 3 Gbit/s or cycles/s, round-trip times of
    10 to 300 ms."""
    rng = np.random.default_rng(1)
    some = tuple(
        Resource(f"r{i}", "cpu" if i % 2 else "link", float(10 ** rng.uniform(7, 9.5)))
        for i in range(resources)
    )
    return Sharing(
        some,
        tuple(
            Flows(
                f"f{s}",
                float(np.sqrt(1.5) * PACKET / 10 ** rng.uniform(-2, -0.5)),
                {
                    some[i].name: float(rng.lognormal()) if i % 2 else 1.0
                    for i in rng.choice(resources, crossed, replace=False)
                },
                int(rng.integers(1, 20)),
            )
            for s in range(flows)
        ),
    )


def dumbbell(count: int) -> Drq:
    """Section IV-B of the paper at 25 Mcycles/s, with this number of flows per class."""
    red = Red.of_packets(50, 550, 0.1, 1e-4, PACKET, 40e6)
    resources = (Resource("cpu", "cpu", 25e6), Resource("link", "link", 40e6))
    flows = tuple(
        Reno(f"w {w:g}", {"cpu": w, "link": 1}, PACKET, 0.04, count) for w in (0.25, 0.5, 1.0, 2.0)
    )
    return Drq(resources, flows, (red, red))


def slopes(found: dict[int, Stability]) -> Figure:
    """Bound, boundaries and configured slope by the number of flows."""
    figure, [axes] = panels()
    curves = {
        "Proposition 2": [s.bound for s in found.values()],
        "boundary, constant RTT": [s.boundary for s in found.values()],
        "boundary, RTT with queueing": [s.boundary_with_queueing for s in found.values()],
        "RED of section IV": [s.configured for s in found.values()],
    }
    for (name, values), look in zip(curves.items(), style.looks(len(curves)), strict=True):
        axes.loglog(list(found), values, label=name, **look)
    axes.set_xticks(COUNTS, map(str, COUNTS))
    axes.minorticks_off()
    axes.set_xlabel("Flows in each of 4 classes")
    axes.set_ylabel("Slope × capacity [1/s]")
    style.legend(axes)
    return figure


def marking() -> Figure:
    """Marking by the recursion (24)-(27) over equal resources, relative to (30) and (15)."""
    total = np.linspace(0.01, 1.0, 100)
    figure, axes = panels(2, height=2.2)
    for panel, of, name in (
        (axes[0], recursion.approximation, "over (30)"),
        (axes[1], recursion.objective, "over (15)"),
    ):
        curves = {
            f"{hops} resources" if hops > 1 else "1 resource": (
                total,
                np.array([recursion.marking([s / hops] * hops).congested / of([s]) for s in total]),
            )
            for hops in (1, 2, 4, 8)
        }
        line_plot(curves, "Sum of u over the path", f"Marked, {name}", axes=panel)
    axes[0].label_outer()
    return figure


def main() -> None:
    """Prints times and writes the figures."""
    network = large()
    network.density  # noqa: B018 - the matrix is made once for all
    for allocation in (proportionally_fair, tcp_like, max_min):
        began, cpu = perf_counter(), process_time()
        allocation(network)
        seconds = perf_counter() - began, process_time() - cpu
        print(f"{allocation.__name__}: {seconds[0]:.2f} s, {seconds[1]:.2f} s of CPU")
    found = {count: stability(dumbbell(count)) for count in COUNTS}
    for count, each in found.items():
        print(count, each)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "drq-allocations.svg").write_text(svg(pair_shares(SingleBottleneck.of([1, 2, 4, 8]))))
    (FOLDER / "drq-recursion.svg").write_text(svg(marking()))
    (FOLDER / "drq-slopes.svg").write_text(svg(slopes(found)))


if __name__ == "__main__":
    main()
