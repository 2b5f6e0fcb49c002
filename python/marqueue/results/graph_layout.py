"""Where the nodes of a graph are drawn.

Sources: E. R. Gansner, Y. Koren, S. North, *Graph Drawing by Stress Majorization*, GD 2004;
U. Brandes, C. Pich, *Eigensolver Methods for Progressive Multidimensional Scaling of Large Data*,
GD 2006; J. P. Snyder, *Map Projections*, USGS Professional Paper 1395, section 12 (equidistant
cylindrical projection).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from marqueue.statistics.estimates import Floats

#: In larger graphs distances are those from some nodes only.
MOST_PAIRS, PIVOTS = 300, 50
#: Steps of the majorization: at most, and of so many pairs of nodes in all, which take a quarter of
#: a second.
MOST_STEPS, PAIRS_MOVED = 3000, 8_000_000
#: It ends where no node moves by more than this, in hops.
STILL = 1e-4
#: How far nodes of one place are from it at the start, so that they can part.
ASIDE = 0.1
#: Steps of placing nodes between others.
STEPS = 200
#: A layout that is longer in one direction by less than this is not turned: rounding would turn it.
LONGER = 1.2


def on_a_map(places: Mapping[int, tuple[float, float]], edges: Sequence[tuple[int, int]]) -> Floats:
    """Nodes at their coordinates, by number, shape [nodes, 2]: x to the right and y downwards.

    ``places`` are latitude and longitude in degrees of some nodes, at least one. Others are between
    their neighbours. The map begins at the widest gap of longitudes.
    """
    nodes = 1 + max(max(edge) for edge in edges)
    known = np.array(sorted(places))
    latitude, longitude = (np.array([places[i][k] for i in sorted(places)]) for k in (0, 1))
    around = np.sort(longitude)
    gaps = np.diff(around, append=around[0] + 360.0)
    begin = around[(int(gaps.argmax()) + 1) % len(around)]
    flat = np.cos(np.radians((latitude.min() + latitude.max()) / 2))
    found = np.zeros((nodes, 2))
    found[known] = np.column_stack([((longitude - begin) % 360.0) * flat, -latitude])
    unknown = np.setdiff1d(np.arange(nodes), known)
    found[unknown] = found[known].mean(axis=0)
    start, end = np.array(edges).T
    ends = np.concatenate([start, end]), np.concatenate([end, start])
    degree = np.maximum(1, np.bincount(ends[0], minlength=nodes))
    for _ in range(STEPS if len(unknown) else 0):
        sums = [np.bincount(ends[0], found[ends[1], k], nodes) for k in (0, 1)]
        found[unknown] = (np.column_stack(sums) / degree[:, None])[unknown]
    return found


class _Hops:
    """Numbers of hops in a graph, in whichever direction of its edges."""

    def __init__(self, nodes: int, edges: Sequence[tuple[int, int]]) -> None:
        self.nodes = nodes
        start, end = np.array(edges).T
        froms, tos = np.concatenate([start, end]), np.concatenate([end, start])
        self._beside = tos[np.argsort(froms, kind="stable")]
        self._begins = np.searchsorted(np.sort(froms), np.arange(nodes + 1))

    def from_node(self, node: int) -> Floats:
        """The number of hops from a node to each, shape [nodes]; to those that it is not connected
        with one more than to the farthest other."""
        hops = np.full(self.nodes, np.inf)
        here, number = np.array([node]), 0
        while len(here):
            hops[here] = number
            number += 1
            beside = [self._beside[self._begins[i] : self._begins[i + 1]] for i in here]
            near = np.unique(np.concatenate(beside))
            here = near[hops[near] == np.inf]
        return np.where(np.isfinite(hops), hops, number)


def by_hops(edges: Sequence[tuple[int, int]]) -> Floats:
    """Nodes at distances that are like their numbers of hops, shape [nodes, 2]."""
    nodes = 1 + max(max(edge) for edge in edges)
    hops = _Hops(nodes, edges)
    return _turned(_by_stress(hops) if nodes <= MOST_PAIRS else _by_pivots(hops))


def _by_stress(graph: _Hops) -> Floats:
    """By the distances of all pairs of nodes (Gansner et al.), from the better of two starts: nodes
    in a circle, and along a longest way."""
    hops = np.array([graph.from_node(i) for i in range(graph.nodes)])
    angle = 2 * np.pi * np.arange(graph.nodes) / graph.nodes
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    first = hops[int(hops[0].argmax())]
    last = hops[int(first.argmax())]
    along = np.column_stack([(first - last) / 2, np.zeros(graph.nodes)])
    starts = hops.max() / 2 * circle, along + ASIDE * circle
    return min((_majorized(hops, start) for start in starts), key=lambda found: found[1])[0]


def _majorized(hops: Floats, found: Floats) -> tuple[Floats, float]:
    """Places of the least stress that steps from a start lead to, and this stress."""
    weights = 1.0 / np.where(hops > 0, hops, np.inf) ** 2
    inverse = np.linalg.pinv(_laplacian(weights))
    for _ in range(min(MOST_STEPS, PAIRS_MOVED // len(hops) ** 2)):
        before = found
        apart = _apart(found)
        pull = np.divide(weights * hops, apart, out=np.zeros_like(apart), where=apart > 0)
        found = inverse @ (_laplacian(pull) @ found)
        if np.abs(found - before).max() < STILL:
            break
    return found, float((weights * (_apart(found) - hops) ** 2).sum())


def _apart(places: Floats) -> Floats:
    apart: Floats = np.linalg.norm(places[:, None] - places[None], axis=2)
    return apart


def _by_pivots(graph: _Hops) -> Floats:
    """By the distances of all nodes from some, each of which is far from those before (Brandes and
    Pich)."""
    hops = np.zeros((graph.nodes, PIVOTS))
    nearest, pivot = np.full(graph.nodes, np.inf), 0
    for k in range(PIVOTS):
        hops[:, k] = graph.from_node(pivot)
        nearest = np.minimum(nearest, hops[:, k])
        pivot = int(nearest.argmax())
    squares = hops**2
    rows, columns = squares.mean(axis=1, keepdims=True), squares.mean(axis=0)
    centred = (rows + columns - squares - squares.mean()) / 2
    _, directions = np.linalg.eigh(centred.T @ centred)
    first = directions[:, -2:]
    # An eigenvector has no sign.
    places: Floats = centred @ (first * np.sign(first[np.abs(first).argmax(axis=0), [0, 1]]))
    return places


def _laplacian(weights: Floats) -> Floats:
    return np.diag(weights.sum(axis=1)) - weights


def _turned(found: Floats) -> Floats:
    """The same with its longer direction from left to right."""
    found = found - found.mean(axis=0)
    (xx, xy), (_, yy) = found.T @ found
    angle = 0.5 * np.arctan2(2 * xy, xx - yy)
    cosine, sine = np.cos(angle), np.sin(angle)
    along = found @ np.array([[cosine, -sine], [sine, cosine]])
    long, across = along.std(axis=0)
    return along if long > LONGER * across else found
