"""Bode plot, Nyquist plot and characteristic roots of a linear model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from marqueue.plots.style import COLORS, INK, WIDTH, themed

if TYPE_CHECKING:
    from marqueue.theory.linear.model import Linearized

#: Inches.
HEIGHT = 5.2
#: Half the range of both axes of the Nyquist plot.
WINDOW = 2.2


def loop_figure(linear: Linearized) -> Figure:
    """Draws magnitude and phase of the loop, its Nyquist plot, and the rightmost roots."""
    w = linear.loop.frequencies
    loop = linear.response(w) if linear.signals else np.zeros(len(w), dtype=complex)
    name = "L" if linear.signals < 2 else "det(I + L) - 1"
    with themed():
        figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
        (size, nyquist), (phase, roots) = figure.subplots(2, 2)
        size.loglog(w, np.abs(loop), color=COLORS[0])
        size.axhline(1, color=INK, linewidth=0.8, linestyle=":")
        size.set_ylabel(f"|{name}|")
        size.set_ylim(bottom=1e-3)
        phase.semilogx(w, np.degrees(np.unwrap(np.angle(loop))), color=COLORS[0])
        phase.axhline(-180, color=INK, linewidth=0.8, linestyle=":")
        phase.set_ylabel("Phase [degrees]")
        phase.set_xlabel("Frequency [rad/s]")
        for axes in (size, phase):
            axes.set_xlim(w[0], w[-1])
            margins = linear.margins()
            if margins is not None and np.isfinite(margins.gain_crossover):
                axes.axvline(margins.gain_crossover, color=COLORS[1], linewidth=0.9, linestyle="--")
        nyquist.plot(loop.real, loop.imag, color=COLORS[0])
        nyquist.plot(loop.real, -loop.imag, color=COLORS[0], linewidth=0.7, alpha=0.5)
        nyquist.plot([-1], [0], "+", color=COLORS[1], markersize=9)
        nyquist.set_xlim(-WINDOW, WINDOW)
        nyquist.set_ylim(-WINDOW, WINDOW)
        nyquist.set_xlabel(f"Real part of {name}")
        nyquist.set_ylabel("Imaginary part")
        stable = linear.roots.real < 0
        for which, color in ((stable, COLORS[0]), (~stable, COLORS[1])):
            at = linear.roots[which]
            roots.plot(at.real, at.imag, "x", color=color)
        roots.axvline(0, color=INK, linewidth=0.8)
        roots.set_xlabel("Real part of roots [1/s]")
        roots.set_ylabel("Imaginary part [1/s]")
    return figure
