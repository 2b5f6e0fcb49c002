"""Where a scenario is read from a file, the links and pairs of nodes of other files replace their
names."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from marqueue.errors import Problem, ScenarioError, show, suggestion
from marqueue.scenario.network_file.demands import (
    CAPACITY,
    Demand,
    gravity,
    masses_of,
    read_matrix,
)
from marqueue.scenario.network_file.distance import fibre_delay
from marqueue.scenario.network_file.graphml import read_graphml
from marqueue.scenario.network_file.latencies import read_latencies
from marqueue.scenario.network_file.network import Edge, FileNetwork, Mistakes
from marqueue.units import Duration, Rate

FILE, MATRIX = "topology.file", "topology.matrix"
LARGEST = 64 * 2**20
"""Maximum size of a file, bytes."""
MATRIX_COUNT = "matrix"
"""The number of flows of a group that has those of the matrix."""


def with_network_file(data: dict[str, Any], folder: Path, origin: str) -> dict[str, Any]:
    """The scenario with the links of ``topology.file`` and the classes of ``topology.matrix``.

    ``folder`` is that of the scenario file. Where a group of traffic has count = "matrix", it gets
    the number of flows of the matrix. Raises ScenarioError with the mistakes of a file, each with
    its line, and if it cannot be read or is larger than :data:`LARGEST`.
    """
    topology = dict(data["topology"])
    file, matrix = topology.pop("file", None), topology.pop("matrix", None)
    network = FileNetwork({}, [])
    if file is not None:
        mistakes = Mistakes(FILE, str(file), origin)
        network = _network(file, folder, mistakes)
        topology["links"] = _links(network, topology, mistakes)
        topology["nodes"] = _nodes(network, topology)
    if matrix is None:
        return {**data, "topology": topology}
    if file is None:
        expected = "expected topology.file beside it"
        raise ScenarioError([Problem(MATRIX, f"got a matrix, {expected}")], origin)
    demands, flows = _demands(matrix, network, topology, folder, origin, str(file))
    given = topology.get("classes", [])
    topology["classes"] = [*(given if isinstance(given, list) else []), *map(_class, demands)]
    return _with_counts({**data, "topology": topology}, flows, origin)


def _network(file: object, folder: Path, mistakes: Mistakes) -> FileNetwork:
    """The network of a file of one of the formats, told apart by its first character."""
    data = _read(file, folder, mistakes)
    # UTF-16 begins with a byte order mark.
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        network = read_graphml(data, mistakes)
    else:
        network = read_latencies(_text(data, mistakes), mistakes)
    if not network.edges:
        raise mistakes.refuse(f"{file}: got no edges, expected at least one")
    return network


def _read(file: object, folder: Path, mistakes: Mistakes) -> bytes:
    if not isinstance(file, str):
        raise mistakes.refuse(f"got {show(file)}, expected the name of a file")
    try:
        data = None
        # Another kind of file, such as a device, may never end.
        if (folder / file).is_file():
            with (folder / file).open("rb") as source:
                data = source.read(LARGEST + 1)
    except OSError as error:
        raise mistakes.refuse(f"{show(file)} cannot be read: {error.strerror}") from None
    except ValueError:
        raise mistakes.refuse(f"got {show(file)}, expected the name of a file") from None
    if data is None:
        raise mistakes.refuse(f"{show(file)} cannot be read: no such file")
    if len(data) > LARGEST:
        most = f"{LARGEST // 2**20} MiB"
        raise mistakes.refuse(f"{show(file)}: got more than {most}, expected at most that")
    return data


def _text(data: bytes, mistakes: Mistakes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise mistakes.refuse(f"{mistakes.file}:{line}: expected text in UTF-8") from None


def _links(network: FileNetwork, topology: Mapping[str, Any], mistakes: Mistakes) -> list[Any]:
    """The links of a file, each changed by the given one of its name, and the other given ones."""
    tables = topology.get("links", [])
    tables = tables if isinstance(tables, list) else [tables]
    given = {each["name"]: each for each in tables if _has_name(each)}
    links = []
    for name, start, end, edge in _named(network):
        table: dict[str, Any] = {"name": name, "from": start, "to": end, "duplex": False}
        delay = edge.delay or _fibre(network, edge)
        table |= {} if delay is None else {"delay": str(delay)}
        table |= {} if edge.rate is None else {"rate": str(edge.rate)}
        table |= given.pop(name, {})
        ways = {"rate": "a rate", "delay": "a delay, or coordinates of both nodes"}
        for key, way in ways.items():
            if key not in table and key not in topology:
                mistakes.add(edge.line, f"{edge}: got none, expected {way}, or topology.{key}")
        links.append(table)
    mistakes.check()
    return links + [each for each in tables if not _has_name(each) or each["name"] in given]


def _nodes(network: FileNetwork, topology: Mapping[str, Any]) -> object:
    """The places of the nodes of a file that have links, but for those of nodes that are given, and
    the given ones."""
    given = topology.get("nodes", [])
    if not isinstance(given, list):
        return given
    named = {each["name"] for each in given if _has_name(each)}
    linked = {end for edge in network.edges for end in (edge.start, edge.end)} - named
    places = [
        {"name": node.name, "latitude": node.place[0], "longitude": node.place[1]}
        for node in network.nodes.values()
        if node.place is not None and node.name in linked
    ]
    return [*places, *given]


def _has_name(table: object) -> bool:
    return isinstance(table, Mapping) and isinstance(table.get("name"), str)


def _named(network: FileNetwork) -> Iterator[tuple[str, str, str, Edge]]:
    """The links of all edges in each direction: their names, their ends and their edges. Parallel
    ones are numbered from the second on."""
    times: Counter[tuple[str, str]] = Counter()
    for edge in network.edges:
        for start, end in ((edge.start, edge.end), (edge.end, edge.start))[: 2 - edge.directed]:
            times[start, end] += 1
            number = times[start, end]
            name = f"{start} to {end}" + (f" {number}" if number > 1 else "")
            yield name, start, end, edge


def _fibre(network: FileNetwork, edge: Edge) -> Duration | None:
    """The delay of fibre between the places of both nodes, if they have coordinates."""
    one, other = (network.nodes[name].place for name in (edge.start, edge.end))
    return None if one is None or other is None else fibre_delay(one, other)


def _demands(
    matrix: object,
    network: FileNetwork,
    topology: Mapping[str, Any],
    folder: Path,
    origin: str,
    file: str,
) -> tuple[list[Demand], int | None]:
    """The demands of a matrix, and the number of its flows if it counts them."""
    if isinstance(matrix, str):
        mistakes = Mistakes(MATRIX, matrix, origin)
        text = _text(_read(matrix, folder, mistakes), mistakes)
        demands, amount = read_matrix(text, network, mistakes)
        flows = round(sum(each.weight for each in demands)) if amount == "flows" else None
        return demands, flows
    mistakes = Mistakes(MATRIX, file, origin)
    if not isinstance(matrix, Mapping):
        expected = 'expected the name of a CSV file, or a table such as { gravity = "capacity" }'
        raise mistakes.refuse(f"got {show(matrix)}, {expected}")
    for key in matrix:
        if key not in ("gravity", "pairs"):
            hint = suggestion(key, ["gravity", "pairs"])
            path = f"{MATRIX}.{key}"
            raise ScenarioError(
                [Problem(path, f"unknown key, expected one of gravity, pairs{hint}")], origin
            )
    mass, pairs = matrix.get("gravity"), matrix.get("pairs")
    if not isinstance(mass, str) or not mass:
        expected = f'expected "{CAPACITY}", or the name of a number that nodes have in the file'
        problem = Problem(f"{MATRIX}.gravity", f"got {show(mass)}, {expected}")
        raise ScenarioError([problem], origin)
    if pairs is not None and (not isinstance(pairs, int) or isinstance(pairs, bool) or pairs < 1):
        problem = Problem(f"{MATRIX}.pairs", f"got {show(pairs)}, expected a whole number above 0")
        raise ScenarioError([problem], origin)
    if mass == CAPACITY:
        masses = _capacities(network, topology, origin)
    else:
        masses = masses_of(network, mass, mistakes)
    return gravity(network, masses, pairs, mistakes), None


def _capacities(network: FileNetwork, topology: Mapping[str, Any], origin: str) -> dict[str, float]:
    """The sum of the rates of the links that leave each node, bit/s."""
    found = dict.fromkeys(network.nodes, 0.0)
    for i, link in enumerate(topology["links"]):
        start = link.get("from") if isinstance(link, Mapping) else None
        if start not in found:
            continue
        try:
            found[start] += Rate.parse(link.get("rate", topology.get("rate"))).base
        except ValueError as error:
            key = f"topology.links.{i}.rate" if "rate" in link else "topology.rate"
            raise ScenarioError([Problem(key, str(error))], origin) from None
    return found


def _class(demand: Demand) -> dict[str, Any]:
    """The class of a demand."""
    name = f"{demand.source} to {demand.destination}"
    table = {"name": name, "from": demand.source, "to": demand.destination}
    return table | ({} if demand.weight == 1 else {"weight": demand.weight})


def _with_counts(data: dict[str, Any], flows: int | None, origin: str) -> dict[str, Any]:
    """The scenario with the number of flows of the matrix where a group asks for it."""
    groups = data.get("traffic")
    if not isinstance(groups, list):
        return data
    filled = []
    for i, group in enumerate(groups):
        if isinstance(group, Mapping) and group.get("count") == MATRIX_COUNT:
            if flows is None:
                expected = "expected a number, because the matrix does not count flows"
                problem = Problem(f"traffic.{i}.count", f'got "{MATRIX_COUNT}", {expected}')
                raise ScenarioError([problem], origin)
            group = {**group, "count": flows}
        filled.append(group)
    return {**data, "traffic": filled}
