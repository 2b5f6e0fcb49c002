"""Beyond the paper: an attacker that varies flow ids."""

from collections.abc import Mapping, Sequence

from marqueue.papers.chokew.measures import of_flows, swept
from marqueue.papers.chokew.setups import BESIDE_UDP, label, shorter, udp, under
from marqueue.papers.figures import PaperFigure, PaperTable, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.reports.builder import Cell
from marqueue.scenario import Scenario

COMPARED = ("chokew", "chokew_id", "choke", "red", "fq_codel")
IDS = (1, 3, 10, 30, 100, 200)
ATTACK = 10_000
"""Total rate of the attacker, kbit/s."""


def name(scheme: str, ids: int) -> str:
    """Name of a set-up."""
    return f"{scheme}-{ids}"


def kept(scheme: str, choice: Choice) -> Sequence[str]:
    """The size of the buffer for flow ids, of the scheme that has one."""
    size = choice["id-buffer"]
    return [f'topology.bottleneck.aqm.ids="{size} packets"'] if scheme == "chokew_id" else []


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """50 TCP flows and an attacker."""
    return {
        name(scheme, n): under(
            scheme,
            {1.0: 50},
            udp(n, f"{ATTACK / n:g} kbit/s", dscp="DF"),
            overrides=[*BESIDE_UDP, *kept(scheme, choice)],
        )
        for scheme in COMPARED
        for n in IDS
    }


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Goodput of the attacker."""
    return {
        f"attacker.{scheme}": swept(
            runs,
            {float(n): name(scheme, n) for n in IDS},
            "flow ids",
            of_flows,
            label(scheme),
            "goodput",
            "udp",
        )
        for scheme in COMPARED
    }


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """The attacker's goodput by the number of its flow ids, as a figure and a table."""
    tabled = [scheme for scheme in COMPARED if scheme != "red"]
    rows: list[list[Cell]] = [
        [
            f"{n}",
            *(quantities[f"attacker.{scheme}"].estimates[i] for scheme in tabled),
            n / (50 + n),
        ]
        for i, n in enumerate(IDS)
    ]
    return [
        sweep_figure(
            "Attack 1",
            "What an attacker of 10 Mbit/s in all gets of a link of 1 Mbit/s beside 50 TCP flows. "
            "A fair share of n ids is n/(50 + n).",
            [quantities[f"attacker.{scheme}"] for scheme in COMPARED],
            "Flow ids of the attacker",
            log_x=True,
        ),
        PaperTable(
            "Attack 2",
            "The same as a table, Mbit/s. Under RED it is 1 whatever the number of ids.",
            ("Flow ids", *map(label, tabled), "A fair share"),
            rows,
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "All flows have weight 1; runs are as long as in Experiment 9. The claims are ours.",
        "The attacker spreads its packets evenly over its ids and does not respond to losses.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
    found=(
        "Protection works by flow id, so an attacker can avoid it with many ids. A few ids are "
        "blocked altogether, and get less than with a queue for each flow. As ids are added each "
        "sends less, holds less of the queue and is matched less often. From somewhere between 30 "
        "and 100 ids on the attacker gets more than a queue for each flow would give, and in the "
        "end nearly all of the link, because unlike TCP it does not slow down. CHOKe, with its "
        "one draw, fails with three ids already; RED protects nobody from the first.",
    ),
)
