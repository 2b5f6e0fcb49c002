"""Networks in GraphML (Brandes et al., GraphML Primer), with the attributes of the Internet
Topology Zoo (Knight et al., IEEE JSAC 29(9), 2011).

Nodes: ``label``, ``Latitude`` and ``Longitude`` in degrees. Edges: ``latency`` or ``delay``, a time
with its unit; ``bandwidth`` or ``rate``, a rate with its unit; ``LinkSpeedRaw`` in bit/s, or
``LinkSpeed`` with ``LinkSpeedUnits``. A document type declaration is refused: with it a file could
define entities, which may grow without bound or read other files.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import TypeVar
from xml.parsers import expat

from marqueue.errors import one_of, show
from marqueue.scenario.network_file.network import Edge, FileNetwork, Mistakes, Node
from marqueue.units import Duration, Quantity, Rate

Q = TypeVar("Q", bound=Quantity)

SPEEDS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
"""LinkSpeedUnits of the Topology Zoo, in bit/s."""
NO_LABEL = ("", "None", "?")
"""Labels that name no place."""
BOUNDS = {"Latitude": 90.0, "Longitude": 180.0}


@dataclass
class _Element:
    """A node, an edge or a key as it is in the file."""

    line: int
    attributes: Mapping[str, str]
    values: dict[str, str] = field(default_factory=dict)
    """Its data by the name of their keys."""


class _Reader:
    """Collects the elements of a file."""

    def __init__(self, mistakes: Mistakes) -> None:
        self.mistakes = mistakes
        self.keys: dict[str, tuple[str, str]] = {}
        """Name of an attribute and what it is for, by id."""
        self.defaults: dict[tuple[str, str], str] = {}
        """The default of an attribute by what it is for and its name."""
        self.nodes: list[_Element] = []
        self.edges: list[_Element] = []
        self.directed = False
        self.graphs = 0
        self.is_graphml = False
        self._of: list[_Element] = []
        """The nodes and edges around the current element."""
        self._key: str | None = None
        """The key whose data or default is read."""
        self._text: list[str] = []
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def read(self, data: bytes) -> None:
        """Reads the whole file. Raises ScenarioError if it is not GraphML."""
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            self.mistakes.add(error.lineno, f"not XML: {reason}")
        self.mistakes.check()

    def _line(self) -> int:
        return self._parser.CurrentLineNumber

    def _refuse_doctype(self, *_: object) -> None:
        self.mistakes.add(self._line(), "got a document type declaration, expected none")
        self.mistakes.check()

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        line, element = self._line(), name.rpartition(" ")[2]
        if not self.is_graphml and element != "graphml":
            self.mistakes.add(line, f"got <{element}>, expected <graphml>")
            self.mistakes.check()
        self.is_graphml = True
        match element:
            case "key":
                names = attributes.get("attr.name"), attributes.get("for")
                self._key = attributes.get("id", "")
                self.keys[self._key] = (names[0] or self._key, names[1] or "all")
            case "graph":
                self.graphs += 1
                self.directed = attributes.get("edgedefault") == "directed"
                if self.graphs > 1:
                    self.mistakes.add(line, "got another <graph>, expected one")
            case "node" | "edge":
                found = _Element(line, attributes)
                (self.nodes if element == "node" else self.edges).append(found)
                self._of.append(found)
            case "hyperedge":
                self.mistakes.add(line, "got <hyperedge>, expected edges between two nodes")
            case "data":
                self._key, self._text = attributes.get("key", ""), []
                if self._of and self._key not in self.keys:
                    expected = f"expected {one_of(self.keys)}"
                    self.mistakes.add(line, f"<data>: key: got {show(self._key)}, {expected}")
            case "default":
                self._text = []

    def _end(self, name: str) -> None:
        match name.rpartition(" ")[2]:
            case "node" | "edge":
                self._of.pop()
            case "data":
                if self._of and self._key in self.keys:
                    self._of[-1].values[self.keys[self._key][0]] = "".join(self._text).strip()
                self._key = None
            case "default" if self._key in self.keys:
                named, target = self.keys[self._key]
                self.defaults[target, named] = "".join(self._text).strip()
            case "key":
                self._key = None

    def _characters(self, text: str) -> None:
        if self._key is not None:
            self._text.append(text)

    def values(self, what: str, of: _Element) -> dict[str, str]:
        """The data of a node or an edge, with defaults."""
        usual = {
            n: value for (target, n), value in self.defaults.items() if target in (what, "all")
        }
        return usual | of.values


def read_graphml(data: bytes, mistakes: Mistakes) -> FileNetwork:
    """The network of a GraphML file. Raises ScenarioError with its mistakes, each with its line."""
    reader = _Reader(mistakes)
    reader.read(data)
    nodes, names = _nodes(reader, mistakes)
    edges = [
        edge for each in reader.edges if (edge := _edge(reader, each, names, mistakes)) is not None
    ]
    mistakes.check()
    return FileNetwork(nodes, edges, {key: name for key, name in names.items() if key != name})


def _nodes(reader: _Reader, mistakes: Mistakes) -> tuple[dict[str, Node], dict[str, str]]:
    """The nodes by name, and their names by id."""
    values = [reader.values("node", each) for each in reader.nodes]
    times = Counter(each.get("label", "") for each in values)
    ids = Counter(each.attributes.get("id", "") for each in reader.nodes)
    nodes: dict[str, Node] = {}
    names: dict[str, str] = {}
    for element, of in zip(reader.nodes, values, strict=True):
        key, label = element.attributes.get("id", ""), of.get("label", "")
        if not key or ids[key] > 1:
            expected = "expected an id that no other node has"
            mistakes.add(element.line, f"<node>: id: got {show(key or None)}, {expected}")
            continue
        taken = times[label] > 1 or label in NO_LABEL or label in ids
        names[key] = key if taken else label
        place = _place(element.line, names[key], of, mistakes)
        nodes[names[key]] = Node(names[key], element.line, of, place)
    return nodes, names


def _place(
    line: int, name: str, values: Mapping[str, str], mistakes: Mistakes
) -> tuple[float, float] | None:
    """The coordinates of a node, if the file has both."""
    found = []
    for key, bound in BOUNDS.items():
        if not (text := values.get(key, "")):
            return None
        number = _number(text)
        if number is None or abs(number) > bound:
            expected = f"expected degrees from {-bound:g} to {bound:g}"
            mistakes.add(line, f"node {show(name)}: {key}: got {show(text)}, {expected}")
            return None
        found.append(number)
    return found[0], found[1]


def _edge(
    reader: _Reader, element: _Element, names: Mapping[str, str], mistakes: Mistakes
) -> Edge | None:
    ends = []
    for side in ("source", "target"):
        given = element.attributes.get(side)
        if given is None or given not in names:
            message = f"got {show(given)}, expected the id of a node"
            mistakes.add(element.line, f"<edge>: {side}: {message}")
            return None
        ends.append(names[given])
    directed = element.attributes.get("directed", str(reader.directed)).lower() == "true"
    edge = Edge(ends[0], ends[1], element.line, directed)
    if ends[0] == ends[1]:
        mistakes.add(element.line, f"{edge}: expected two nodes")
        return None
    values = reader.values("edge", element)
    rate = _quantity(Rate, edge, values, ("bandwidth", "rate"), mistakes)
    delay = _quantity(Duration, edge, values, ("latency", "delay"), mistakes)
    rate = _link_speed(edge, values, mistakes) if rate is None else rate
    return Edge(edge.start, edge.end, edge.line, directed, rate, delay)


def _quantity(
    kind: type[Q], edge: Edge, values: Mapping[str, str], keys: tuple[str, ...], mistakes: Mistakes
) -> Q | None:
    """The first of these data that is there, read with its unit."""
    for key in keys:
        if text := values.get(key, ""):
            try:
                return kind.parse(text)
            except ValueError as error:
                mistakes.add(edge.line, f"{edge}: {key}: {error}")
    return None


def _link_speed(edge: Edge, values: Mapping[str, str], mistakes: Mistakes) -> Rate | None:
    """The rate by the keys of the Topology Zoo."""
    speed, factor = "LinkSpeedRaw", 1
    if not values.get(speed, ""):
        speed, unit = "LinkSpeed", values.get("LinkSpeedUnits", "")
        if not values.get(speed, ""):
            return None
        if unit not in SPEEDS or not unit:
            expected = f"expected {one_of(filter(None, SPEEDS))} beside LinkSpeed"
            mistakes.add(edge.line, f"{edge}: LinkSpeedUnits: got {show(unit or None)}, {expected}")
            return None
        factor = SPEEDS[unit]
    number = _number(values[speed])
    if number is None or not 1 <= number * factor <= Rate.largest:
        expected = f"expected a number, at least 1 bit/s and at most {Rate(Rate.largest)}"
        mistakes.add(edge.line, f"{edge}: {speed}: got {show(values[speed])}, {expected}")
        return None
    return Rate(round(number * factor))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
