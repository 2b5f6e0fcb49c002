"""The map of a network as a static SVG picture, whose links have the colours of what they did.

There is a layer for each quantity, of which the page shows one. Colours and widths are in the style
sheet of the page, by classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from marqueue.results.network_map import NetworkMap, Numbers, lines_of
from marqueue.statistics.estimates import Floats, plain

WIDTH, HEIGHT = 720.0, 520.0
#: A picture of few nodes is lower.
HEIGHT_OF_NODE = 60.0
#: Around the map, for names of nodes.
MARGIN = 34.0
#: With more links than this, both directions are one line, and lines are thin.
MOST_APART = 600
#: From the middle between both directions to each, px.
APART = 2.2
#: Links that tell their figures where one points at them: the most congested ones.
MOST_TOLD = 256
#: Nodes with names.
MOST_NAMED = 40


@dataclass(frozen=True)
class Quantity:
    """A quantity of links, and the ranges that have a colour."""

    name: str
    """In names of figures."""
    title: str
    of: Callable[[NetworkMap], Floats]
    """Its values at the links of a map."""
    bounds: Sequence[float]
    """A value at a bound or above is in the range that begins there."""
    names: Sequence[str]
    """Of the ranges, one more than bounds."""

    def ranges(self, of: NetworkMap) -> Numbers:
        """The number of the range of each link; -1 where nothing was measured."""
        values = self.of(of)
        return np.where(np.isfinite(values), np.digitize(values, self.bounds), -1)


QUANTITIES = (
    Quantity(
        "utilization",
        "Utilization",
        lambda network: network.utilization,
        (0.2, 0.5, 0.8, 0.95),
        ("below 20%", "20 to 50%", "50 to 80%", "80 to 95%", "95% or more"),
    ),
    Quantity(
        "signals",
        "Packets dropped or marked",
        lambda network: network.signal_ratio,
        (1e-9, 1e-3, 1e-2, 5e-2),
        ("none", "up to 0.1%", "0.1 to 1%", "1 to 5%", "5% or more"),
    ),
    Quantity(
        "delay",
        "Mean queueing delay",
        lambda network: network.delay,
        (1e-3, 5e-3, 2e-2, 1e-1),
        ("below 1 ms", "1 to 5 ms", "5 to 20 ms", "20 to 100 ms", "100 ms or more"),
    ),
)


def is_crowded(of: NetworkMap) -> bool:
    """Whether there are too many links for a line for each direction."""
    return len(of.links) > MOST_APART


def network_picture(of: NetworkMap) -> str:
    """Draws a map as an ``<svg>`` element with a layer of links for each of :data:`QUANTITIES`."""
    places, height = _fitted(of.places, min(HEIGHT, HEIGHT_OF_NODE * len(of.nodes)))
    lines = _Lines(places, of.ends, apart=not is_crowded(of))
    described = f"Map of {len(of.nodes):,} nodes and {len(of.links):,} links"
    kind = "map" if lines.apart else "map crowded"
    return "".join(
        [
            f'<svg class="{kind}" viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" '
            f'aria-label="{described}">',
            "" if lines.apart else _wires(lines, np.arange(len(of.links))),
            *(_layer(i, each, lines, of) for i, each in enumerate(QUANTITIES)),
            *_nodes(of, places, height),
            *_told(of, lines),
            "</svg>",
        ]
    )


def _fitted(places: Floats, most: float) -> tuple[Floats, float]:
    """Places in px, and the height of the picture, which is at most the given one."""
    low, high = places.min(axis=0), places.max(axis=0)
    size = np.maximum(high - low, 1e-9)
    room = np.array([WIDTH, most]) - 2 * MARGIN
    scale = float((room / size).min())
    height = float(size[1] * scale + 2 * MARGIN)
    middle = np.array([WIDTH, height]) / 2
    return middle + scale * (places - (low + high) / 2), height


class _Lines:
    """The links as lines, each direction a little to the right of the way that it goes."""

    def __init__(self, places: Floats, ends: Numbers, *, apart: bool) -> None:
        self.apart = apart
        self._middle = lines_of(places, ends)
        self._start, self._end = lines_of(places, ends, APART if apart else 0.0)

    def once(self, links: Numbers) -> str:
        """The lines of some links, those of both directions as one."""
        first, last = (each[links] for each in self._middle)
        swapped = (first[:, 0] > last[:, 0]) | (
            (first[:, 0] == last[:, 0]) & (first[:, 1] > last[:, 1])
        )
        pairs = np.where(swapped[:, None], np.hstack([last, first]), np.hstack([first, last]))
        return self._path(np.unique(np.round(pairs, self._digits), axis=0))

    def of(self, links: Numbers) -> str:
        """The lines of some links."""
        return self._path(np.hstack([self._start[links], self._end[links]]))

    @property
    def _digits(self) -> int:
        return 1 if self.apart else 0

    def _path(self, lines: Floats) -> str:
        digits = self._digits
        return "".join(
            f"M{a:.{digits}f} {b:.{digits}f}L{c:.{digits}f} {d:.{digits}f}"
            for a, b, c, d in lines.tolist()
        )


def _layer(number: int, quantity: Quantity, lines: _Lines, of: NetworkMap) -> str:
    """The links by the range of a quantity, the highest last, so that it is on top."""
    ranges = quantity.ranges(of)
    # Of a crowded map, links in the lowest range are in grey below all layers.
    first = 0 if lines.apart else 1
    paths = [_wires(lines, np.flatnonzero(ranges < 0)) if lines.apart else ""]
    paths += [
        f'<path class="r{i}" d="{lines.of(links)}"/>'
        for i in range(first, len(quantity.names))
        if len(links := np.flatnonzero(ranges == i))
    ]
    return f'<g class="layer q{number}">{"".join(paths)}</g>'


def _wires(lines: _Lines, links: Numbers) -> str:
    """Links in grey."""
    return f'<path class="wires" d="{lines.once(links)}"/>' if len(links) else ""


def _nodes(of: NetworkMap, places: Floats, height: float) -> Iterator[str]:
    """The nodes, if there are few enough to be seen, with their names."""
    if len(of.nodes) > MOST_APART:
        return
    rounded = np.round(places, 1).tolist()
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="3"/>' for x, y in rounded)
    yield f'<g class="nodes">{dots}</g>'
    if len(of.nodes) > MOST_NAMED:
        return
    for name, (x, y) in zip(of.nodes, rounded, strict=True):
        # Names at the edge of the picture go inwards.
        anchor = "start" if x < WIDTH / 8 else "end" if x > 7 * WIDTH / 8 else "middle"
        below = y > height / 2
        yield (
            f'<text x="{x}" y="{y + 16 if below else y - 8:.1f}" text-anchor="{anchor}">'
            f"{escape(name)}</text>"
        )


def _told(of: NetworkMap, lines: _Lines) -> Iterator[str]:
    """Lines that are not seen, of the most congested links, which say what these did."""
    measured = np.flatnonzero(np.isfinite(of.utilization))
    signals = np.nan_to_num(of.signal_ratio[measured])
    order = np.lexsort((measured, -of.utilization[measured], -signals))
    for i in measured[order[:MOST_TOLD]].tolist():
        parts = [f"utilization {plain(of.utilization[i])}"]
        if np.isfinite(of.signal_ratio[i]):
            parts.append(f"dropped or marked {100 * of.signal_ratio[i]:.3g}%")
        if np.isfinite(of.delay[i]):
            parts.append(f"mean queueing delay {1e3 * of.delay[i]:.3g} ms")
        said = escape(f"{of.links[i]}: {', '.join(parts)}")
        yield f'<path class="told" d="{lines.of(np.array([i]))}"><title>{said}</title></path>'
