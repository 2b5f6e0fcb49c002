"""Networks as lines of two nodes and a latency, such as the maps of Rocketfuel (Spring, Mahajan and
Wetherall, SIGCOMM 2002): ``Kiel Hamburg 1.5``.

The latency is in ms; a rate such as 10Gbit/s may follow. Names have no spaces. A line stands for
one direction, and for both if the other has no line. ``#`` begins a comment.
"""

from marqueue.errors import show
from marqueue.scenario.network_file.network import Edge, FileNetwork, Mistakes, Node
from marqueue.units import Duration, Rate

FORM = "expected two nodes, a latency in ms and perhaps a rate, such as Kiel Hamburg 1.5 10Gbit/s"


def read_latencies(text: str, mistakes: Mistakes) -> FileNetwork:
    """The network of such lines. Raises ScenarioError with the mistakes, each with its line."""
    nodes: dict[str, Node] = {}
    found: dict[tuple[str, str], Edge] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        edge = _edge(words, line, number, mistakes)
        if edge is None:
            continue
        if other := found.get((edge.start, edge.end)):
            message = f"{edge}: got it again, expected it once; the first is in line {other.line}"
            mistakes.add(number, message)
            continue
        found[edge.start, edge.end] = edge
        for name in (edge.start, edge.end):
            nodes.setdefault(name, Node(name, number))
    mistakes.check()
    edges = [
        Edge(e.start, e.end, e.line, (e.end, e.start) in found, e.rate, e.delay)
        for e in found.values()
    ]
    return FileNetwork(nodes, edges)


def _edge(words: list[str], line: str, number: int, mistakes: Mistakes) -> Edge | None:
    if len(words) not in (3, 4) or words[0] == words[1]:
        mistakes.add(number, f"got {show(line.strip())}, {FORM}")
        return None
    try:
        delay = Duration.parse(f"{words[2]} ms")
        rate = Rate.parse(words[3]) if len(words) == 4 else None
    except ValueError as error:
        mistakes.add(number, f'edge from "{words[0]}" to "{words[1]}": {error}')
        return None
    return Edge(words[0], words[1], number, True, rate, delay)
