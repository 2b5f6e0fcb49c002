"""The figures of docs/theory/mkc.md: those of the paper that need no packets, and two others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from marqueue.plots import line_plot, panels
from marqueue.plots.timeseries import thin
from marqueue.theory.mkc import linear, lossfree, paper_data
from marqueue.theory.mkc.conditions import condition_3, condition_4
from marqueue.theory.mkc.equilibrium import kelly_fixed_point
from marqueue.theory.mkc.laws import Aimd, Kelly, Mkc
from marqueue.theory.mkc.maps import Trajectory
from marqueue.theory.mkc.network import Floats, Network
from marqueue.theory.mkc.price import Loss

EPSILON = "1 − min x / max x"
#: Delays of the second of two Kelly sources, and the delay of the first, in steps.
DELAYS, FIRST = np.arange(1, 21), 2


def mkc_figures() -> dict[str, Figure]:
    """Every figure by its name; takes some seconds."""
    return {
        "figure-1": figure_1(),
        "figure-4": figure_4(),
        "figure-5": figure_5(),
        "figure-6": figure_6(),
        "figure-7": figure_7(),
        "figure-8": figure_8(),
        "steady-loss": steady_loss(),
        "conditions": conditions(),
    }


def _series(of: Floats, scale: float) -> tuple[Floats, Floats]:
    return thin(np.arange(len(of), dtype=float), of * scale)


def figure_1() -> Figure:
    """Kelly control at four delays."""
    figure, axes = panels(4, height=1.25)
    for delay, panel in zip((1, 2, 3, 4), axes, strict=True):
        rate = paper_data.figure_1(delay).arrivals[:, 0]
        line_plot({"": _series(rate, 1e-9)}, "Step", f"x, D = {delay}", "Gbit/s", axes=panel)
        panel.label_outer()
    return figure


def figure_4() -> Figure:
    """Two EMKC sources with equal and with random delays."""
    figure, axes = panels(2, height=2.0)
    for random, panel in zip((False, True), axes, strict=True):
        done = paper_data.figure_4(random)
        curves = {
            "x1": _series(done.rates[:, 0], 1e-9),
            "x2": _series(done.rates[:, 1], 1e-9),
            "x1 + x2": _series(done.total, 1e-9),
        }
        title = "D of 1 to 100" if random else "D = 20"
        line_plot(curves, "Step", f"Rate, {title}", "Gbit/s", axes=panel)
        panel.label_outer()
    return figure


def figure_5() -> Figure:
    """The rates of EMKC and Scalable TCP on an empty link."""
    emkc, scalable = paper_data.figure_5()
    curves = {
        "EMKC": _series(emkc.arrivals[:, 0], 1e-6),
        "Scalable TCP": _series(scalable.arrivals[:, 0], 1e-6),
    }
    for name, (step, rate) in curves.items():
        curves[name] = step + 1, rate
    return line_plot(curves, "Step, from 1", "Rate", "Mbit/s", log="x")


def figure_6() -> Figure:
    """EMKC at several values of beta."""
    runs: Mapping[float, Trajectory] = {b: paper_data.figure_6(b, 20) for b in (0.5, 1.0, 1.5, 1.9)}
    curves = {f"β = {b:g}": _series(run.arrivals[:, 0], 1e-6) for b, run in runs.items()}
    return line_plot(curves, "Step", "Rate", "Mbit/s")


def figure_7() -> Figure:
    """Steps of EMKC until rates are fair: theory as lines, iteration as marks."""
    figure, (above, below) = panels(2, shared=False)
    found = paper_data.steps_over_epsilon(Mkc)
    line_plot(
        {"EMKC": (found.x, found.theory)},
        EPSILON,
        "Steps",
        marks={"EMKC": (found.x, found.iterated)},
        log="x",
        axes=above,
    )
    each = {
        "N = 2": paper_data.steps_over_capacity(Mkc, growing=False),
        "N = C / (500 kbit/s)": paper_data.steps_over_capacity(Mkc, growing=True),
    }
    line_plot(
        {name: (run.x / 1e6, run.theory) for name, run in each.items()},
        "C [Mbit/s]",
        "Steps",
        marks={name: (run.x / 1e6, run.iterated) for name, run in each.items()},
        log="xy",
        axes=below,
    )
    return figure


def figure_8() -> Figure:
    """Steps of AIMD until rates are fair, and the ratio of EMKC to AIMD."""
    figure, (above, below) = panels(2, shared=False)
    found = paper_data.steps_over_epsilon(Aimd)
    line_plot(
        {"AIMD": (found.x, found.theory)},
        EPSILON,
        "Steps",
        marks={"AIMD": (found.x, found.iterated)},
        log="x",
        axes=above,
    )
    theory, iterated = {}, {}
    for name, growing in (("N = 2", False), ("N = C / (500 kbit/s)", True)):
        emkc = paper_data.steps_over_capacity(Mkc, growing)
        aimd = paper_data.steps_over_capacity(Aimd, growing)
        theory[name] = emkc.x / 1e6, emkc.theory / aimd.theory
        iterated[name] = emkc.x / 1e6, emkc.iterated / aimd.iterated
    line_plot(theory, "C [Mbit/s]", "Steps of EMKC / AIMD", marks=iterated, log="x", axes=below)
    return figure


def steady_loss() -> Figure:
    """Steady loss over N, with and without adaptive prices."""
    each = {"EMKC": paper_data.steady_loss(False), "adaptive prices": paper_data.steady_loss(True)}
    return line_plot(
        {name: (run.sources, 100 * run.theory) for name, run in each.items()},
        "Sources N",
        "Steady loss",
        "%",
        marks={name: (run.sources, 100 * run.iterated) for name, run in each.items()},
        log="x",
    )


def conditions() -> Figure:
    """Sufficient conditions and exact boundaries: kappa of two Kelly sources over the delay of one,
    and the gain of adaptive prices."""
    figure, axes = panels(2, height=2.2)
    exact, third, fourth = [], [], []
    for delay in DELAYS:
        network = Network.single(1e6, 2, [FIRST, int(delay)])
        law, price = Kelly(1.0, 1e4), Loss(network.capacity)
        point = kelly_fixed_point(network, law, price)
        allowed = 1 / condition_3(point, law, price).share
        third.append(allowed)
        fourth.append(1 / condition_4(point, law, price).share)
        system = partial(linear.linearize_kelly, point, law, price)
        found = linear.boundary(partial(_radius, system), 0.1 * allowed, 20 * allowed)
        exact.append(np.nan if found is None else found)
    x = DELAYS.astype(float)
    kappa = {"exact": exact, "(3)": third, "(4)": fourth}
    curves = {name: (x, np.array(values)) for name, values in kappa.items()}
    line_plot(curves, "D", f"κ, delays of {FIRST} and D", log="y", axes=axes[0])
    gains = {
        f"β = {beta:g}": (x, np.array([lossfree.critical_gain(beta, int(d)) for d in DELAYS]))
        for beta in (0.1, 0.5, 1.0, 1.5, 1.9)
    }
    line_plot(gains, "D", "Gain a, all delays D", log="y", axes=axes[1])
    axes[0].label_outer()
    return figure


def _radius(system: Callable[[float], linear.DelaySystem], scale: float) -> float:
    return system(scale).radius()
