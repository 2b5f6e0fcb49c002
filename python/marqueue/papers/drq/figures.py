"""Figures common to most experiments: classes with their optimum, schemes, regions."""

from collections.abc import Mapping, Sequence

from marqueue.papers.drq.measures import CPU, line
from marqueue.papers.drq.setups import CLASSES, SCHEMES, label
from marqueue.papers.figures import PaperFigure, PaperTable, sweep_figure
from marqueue.papers.quantity import Quantities
from marqueue.theory.allocation.proportional_fairness import Optimum
from marqueue.theory.allocation.resources import Allocation


def beside_optimum(
    figure: str,
    quantities: Quantities,
    variable: str,
    scheme: str,
    groups: Sequence[str] = CLASSES,
) -> PaperFigure:
    """Mean goodput of a flow of each class under a scheme, and the optimum."""
    return sweep_figure(
        f"{figure}, {label(scheme)}",
        f"Mean goodput of a flow of each class under {label(scheme)} (marks), and the "
        "proportionally fair rate (lines).",
        [quantities[f"rate.{scheme}.{group}"] for group in groups],
        variable,
        [quantities[f"optimum.{group}"] for group in groups],
    )


def schemes(
    figure: str, caption: str, quantities: Quantities, key: str, variable: str
) -> PaperFigure:
    """A quantity, one curve per scheme."""
    every = [quantities[f"{key}.{scheme}"] for scheme in SCHEMES]
    return sweep_figure(figure, caption, every, variable)


def use_of_both(
    name: str,
    variable: str,
    found: Mapping[float, Optimum],
    quantities: Quantities,
    scheme: str = "drq",
    groups: Sequence[str] = CLASSES,
    capacity: float | None = None,
) -> list[PaperFigure | PaperTable]:
    """The region and the utilization of both resources by place; and shares of the CPU by class,
    with those at the optimum, relative to ``capacity``, cycles/s, if given.
    """
    cpu, link = quantities[f"cpu.{scheme}"].estimates, quantities[f"utilization.{scheme}"].estimates
    shares = [quantities[f"share.{scheme}.{group}"] for group in groups]
    best = [
        line(share, [cpu_share(optimum, group, capacity) for optimum in found.values()])
        for share, group in zip(shares, groups, strict=True)
    ]
    return [
        sweep_figure(
            f"{name}, shares",
            f"Share of the CPU that each class has under {label(scheme)} (marks), and at the "
            "optimum (lines).",
            shares,
            variable,
            best,
        ),
        PaperTable(
            name,
            f"The region at the optimum, and utilization of both resources under {label(scheme)}.",
            (variable, "Region", "CPU", "Link"),
            [
                (place, optimum.region, cpu[i], link[i])
                for i, (place, optimum) in enumerate(found.items())
            ],
        ),
    ]


def cpu_share(found: Allocation, group: str, capacity: float | None = None) -> float:
    """The share of a group in the dumbbell's CPU in an allocation."""
    [flows] = [each for each in found.sharing.flows if each.name == group]
    cycles = flows.count * flows.demands[CPU] * found.rate(group)
    whole = capacity or float(found.sharing.capacity[found.sharing.index[CPU]])
    return round(float(cycles) / whole, 4)
