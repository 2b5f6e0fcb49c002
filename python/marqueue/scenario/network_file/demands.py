"""Traffic matrices: how much goes from each node to each other node.

A CSV file has the columns source, destination, and either flows, a number of flows, or rate, a
rate with its unit. The gravity model needs no file: the demand is in proportion to the product of
the masses of both nodes (Zhang, Roughan, Duffield and Greenberg, SIGMETRICS 2003, section 4).
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from math import isfinite

from marqueue.errors import one_of, show, suggestion
from marqueue.scenario.network_file.network import FileNetwork, Mistakes
from marqueue.units import Rate

CAPACITY = "capacity"
"""The mass of the gravity model that is made of rates."""
ENDS = ("source", "destination")
AMOUNTS = ("flows", "rate")
MOST_PAIRS = 1_000_000
"""Pairs of nodes that a scenario may have."""


@dataclass(frozen=True)
class Demand:
    """What goes from one node to another."""

    source: str
    destination: str
    weight: float
    """In the unit of its matrix."""


def read_matrix(text: str, network: FileNetwork, mistakes: Mistakes) -> tuple[list[Demand], str]:
    """The demands of a CSV file and the name of their column: flows or rate. Entries of 0 are left
    out. Raises ScenarioError with the mistakes, each with its line."""
    reader = csv.DictReader(text.splitlines(), strict=True)
    names = list(reader.fieldnames or ())
    amounts = [each for each in AMOUNTS if each in names]
    if sorted(names) != sorted((*ENDS, *amounts)) or len(amounts) != 1:
        expected = "source,destination,flows or source,destination,rate"
        raise mistakes.refuse(
            f"{mistakes.file}:1: got {show(','.join(names))}, expected {expected}"
        )
    [amount] = amounts
    found: dict[tuple[str, str], Demand] = {}
    try:
        for row in reader:
            demand = _demand(row, amount, reader.line_num, network, mistakes)
            if demand is None:
                continue
            pair = demand.source, demand.destination
            if pair in found:
                message = f'from "{pair[0]}" to "{pair[1]}": got it again, expected it once'
                mistakes.add(reader.line_num, message)
            found[pair] = demand
    except csv.Error as error:
        mistakes.add(reader.line_num, f"not CSV: {error}")
    mistakes.check()
    demands = [each for each in found.values() if each.weight > 0]
    if not demands:
        raise mistakes.refuse(f"{mistakes.file}: got no demand above 0, expected at least one")
    return demands, amount


def _demand(
    row: Mapping[str | None, str | None],
    amount: str,
    line: int,
    network: FileNetwork,
    mistakes: Mistakes,
) -> Demand | None:
    ends = []
    for side in ENDS:
        given = (row[side] or "").strip()
        name = given if given in network.nodes else network.ids.get(given)
        if name is None:
            known = list(network.nodes)
            expected = one_of(known) if len(known) <= 20 else f"one of {len(known):,} nodes"
            message = f"got {show(given)}, expected {expected}{suggestion(given, known)}"
            mistakes.add(line, f"{side}: {message}")
            return None
        ends.append(name)
    if ends[0] == ends[1]:
        mistakes.add(
            line, f"destination: got {show(ends[1])}, expected a node other than the source"
        )
        return None
    text = (row[amount] or "").strip()
    try:
        weight = float(Rate.parse(text).base) if amount == "rate" else _flows(text)
    except ValueError as error:
        mistakes.add(line, f"{amount}: {error}")
        return None
    return Demand(ends[0], ends[1], weight)


def _flows(text: str) -> float:
    if not text.isascii() or not text.isdecimal() or len(text) > 12:
        raise ValueError(f"got {show(text)}, expected a whole number of flows")
    return float(text)


def gravity(
    network: FileNetwork, masses: Mapping[str, float], pairs: int | None, mistakes: Mistakes
) -> list[Demand]:
    """The demands of all pairs of nodes with a mass, or of the ``pairs`` largest of them, in the
    order of the file. The largest demand is 1."""
    heavy = {name: masses[name] for name in network.nodes if masses[name] > 0}
    number = len(heavy) * (len(heavy) - 1)
    if number == 0:
        raise mistakes.refuse(f"got {len(heavy)} nodes with a mass above 0, expected at least two")
    if pairs is None and number > MOST_PAIRS:
        expected = f"expected pairs, the number of largest demands, up to {MOST_PAIRS:,}"
        raise mistakes.refuse(f"got {number:,} pairs of nodes, {expected}")
    rank = {name: i for i, name in enumerate(heavy)}
    chosen = _largest(heavy, pairs or number)
    top = max(heavy[a] * heavy[b] for a, b in chosen)
    chosen.sort(key=lambda pair: (rank[pair[0]], rank[pair[1]]))
    return [Demand(a, b, heavy[a] * heavy[b] / top) for a, b in chosen]


def _largest(masses: Mapping[str, float], number: int) -> list[tuple[str, str]]:
    """The pairs with the largest products; of equal ones, those of the heavier source, then those
    that come first."""
    ordered = sorted(masses, key=lambda name: -masses[name])

    def candidates() -> Iterator[tuple[float, int, int]]:
        # Every pair before (i, j) in both places has at least its product.
        for i, source in enumerate(ordered):
            for j, destination in enumerate(ordered):
                if (i + 1) * (j + 1) - min(i, j) - 2 >= number:
                    break
                if i != j:
                    yield -masses[source] * masses[destination], i, j

    found = nsmallest(number, candidates())
    return [(ordered[i], ordered[j]) for _, i, j in found]


def masses_of(network: FileNetwork, key: str, mistakes: Mistakes) -> dict[str, float]:
    """The number that the file has at each node under this name. Raises ScenarioError if a node has
    none."""
    found = {}
    for node in network.nodes.values():
        text = node.values.get(key)
        try:
            number = float(text or "")
        except ValueError:
            number = -1.0
        if not (isfinite(number) and number >= 0):
            known = sorted({each for of in network.nodes.values() for each in of.values})
            hint = "" if text else suggestion(key, [*known, CAPACITY])
            message = f"{key}: got {show(text)}, expected a number from 0{hint}"
            mistakes.add(node.line, f"node {show(node.name)}: {message}")
        found[node.name] = number
    mistakes.check()
    return found
