"""Beyond the paper: packets of several sizes, with draws by packet and by byte."""

from collections.abc import Mapping, Sequence

from marqueue.papers.chokew.measures import of_flows, ratio
from marqueue.papers.chokew.setups import label, level, tcp, under
from marqueue.papers.figures import PaperFigure, PaperTable, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs, side_by_side
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

#: By name: the scheme, and the unit in which CHOKeW measures the queue and draws.
COMPARED = {
    "packets": ("chokew", ["topology.bottleneck.aqm.mode=packets"]),
    "bytes": ("chokew", ["topology.bottleneck.aqm.mode=bytes"]),
    "red": ("red", []),
    "fq_codel": ("fq_codel", []),
}
NAMES = {
    "packets": "CHOKeW by packet",
    "bytes": "CHOKeW by byte",
    "red": label("red"),
    "fq_codel": label("fq_codel"),
}
#: Payload, bytes, and group of flows.
SIZES = {500.0: "small", 1000.0: level(1), 1500.0: "large"}


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """25 flows of each size under each scheme."""
    others = {name: size for size, name in SIZES.items() if name != level(1)}
    transports = [
        f'transport.{name}={{preset="ns2", recovery="sack", segment="{size:g} B"}}'
        for name, size in others.items()
    ]
    more = [tcp(name, 25, name) for name in others]
    return {
        name: under(scheme, {1.0: 25}, *more, overrides=[*transports, *mode])
        for name, (scheme, mode) in COMPARED.items()
    }


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Mean goodput of a flow by packet size, and the ratio of largest to smallest size."""
    out: dict[str, Quantity] = {}
    for name, run in runs.items():
        of = NAMES[name]
        parts = {
            size: of_flows(run, of, "goodput_per_flow", group) for size, group in SIZES.items()
        }
        out[f"goodput.{name}"] = side_by_side(parts, "bytes")
        out[f"sizes.{name}"] = ratio(run, of, "1500 over 500 B", "large", "small")
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """Goodput by packet size, as a figure and a table."""
    curves = [quantities[f"goodput.{name}"] for name in COMPARED]
    return [
        sweep_figure(
            "Sizes 1",
            "What a flow gets, in bytes, by the size of its packets: 25 flows of each size.",
            curves,
            "Payload of a packet [bytes]",
            floor=0.0,
        ),
        PaperTable(
            "Sizes 2",
            "Mean goodput of a flow, Mbit/s, by payload.",
            ("", *(f"{size:g} B" for size in SIZES), "1500 B over 500 B"),
            [
                [of, *quantities[f"goodput.{name}"].estimates,
                 quantities[f"sizes.{name}"].estimates[0]]
                for name, of in NAMES.items()
            ],
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    readings=(
        "All flows have weight 1, and the set-up is otherwise that of Experiment 4. The claims "
        "are ours: what a scheme that protects flows from each other should do.",
        "By packet, as in the paper, each waiting packet is equally likely to be drawn, and the "
        "queue and its thresholds count packets. By byte the probability of a draw is "
        "proportional to the packet's length, and queue and thresholds count bytes, with "
        "thresholds times 1000; that is not in the paper.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    found=(
        "The unit of the draw decides what is shared. By packet a flow of large packets gets more "
        "bytes almost in proportion to its packet size, as under RED, which drops packets "
        "whatever their size. By byte all sizes get nearly the same, as with a queue for each "
        "flow that counts bytes. Use the draw by byte where packet sizes differ.",
    ),
)
