"""Beyond the paper: comparison with one queue per flow, as deployed today (FQ-CoDel)."""

from collections.abc import Mapping, Sequence

from marqueue.papers.chokew.measures import of_flows, of_link, swept
from marqueue.papers.chokew.setups import BESIDE_UDP, label, level, shorter, udp, under
from marqueue.papers.figures import PaperFigure, PaperTable, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

COMPARED = ("chokew", "red", "fq_codel")
#: Rates of one constant-rate flow, Mbit/s; a fair share is 1/51 of the link.
RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 10.0)
FLOWS = 50
VARIABLE = "Mbit/s"


def name(scheme: str, rate: float) -> str:
    """Name of a set-up."""
    return f"{scheme}-{rate:g}"


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """One constant-rate flow beside 50 TCP flows."""
    return {
        name(scheme, rate): under(
            scheme, {1.0: FLOWS}, udp(1, f"{rate} Mbit/s", dscp="DF"), overrides=BESIDE_UDP
        )
        for scheme in COMPARED
        for rate in RATES
    }


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Goodput of the constant-rate flow and of TCP, fairness, and queueing delay."""
    out = {}
    for scheme in COMPARED:
        names, of = {rate: name(scheme, rate) for rate in RATES}, label(scheme)
        out[f"udp.{scheme}"] = swept(runs, names, VARIABLE, of_flows, of, "goodput", "udp")
        out[f"tcp.{scheme}"] = swept(runs, names, VARIABLE, of_flows, of, "goodput", level(1))
        out[f"jain.{scheme}"] = swept(runs, names, VARIABLE, of_flows, of, "jain", level(1))
        out[f"delay.{scheme}"] = swept(runs, names, VARIABLE, of_link, of, "delay_mean")
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """Goodput of the constant-rate flow by its rate; all figures at four rates as a table."""
    keys = ("udp", "tcp", "jain", "delay")
    shown = (0.02, 0.2, 1.0, 10.0)
    return [
        sweep_figure(
            "Isolation 1",
            "What one flow of constant rate gets beside 50 TCP flows, by what it sends. A fair "
            "share is 0.0196 Mbit/s.",
            [quantities[f"udp.{scheme}"] for scheme in COMPARED],
            "Rate of the flow [Mbit/s]",
            log_x=True,
        ),
        PaperTable(
            "Isolation 2",
            "What it and TCP get, Jain's index of the TCP flows' goodputs over 200 s, and the mean "
            "wait.",
            (
                "",
                "Rate [Mbit/s]",
                "UDP [Mbit/s]",
                "TCP [Mbit/s]",
                "Jain's index",
                "Delay [ms]",
            ),
            [
                [label(scheme), f"{rate:g}",
                 *(quantities[f"{key}.{scheme}"].estimates[RATES.index(rate)] for key in keys)]
                for scheme in COMPARED
                for rate in shown
            ],
        ),
    ]  # fmt: skip


EXPERIMENT = Experiment(
    readings=(
        "FQ-CoDel (RFC 8290) is the reference: a queue for each flow, served in turn, with a CoDel "
        'in each that looks at its own queue (`occupancy = "per_queue"`). All flows have weight 1; '
        "runs are as long as in Experiment 9. The claims are ours.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
    found=(
        "With a queue for each flow a flow gets its fair share, however much it sends, and the "
        "delay is the shortest. CHOKeW does not give fair shares: a flow of constant rate that "
        "sends up to half of the link's rate gets more than its fair share, at most nearly three "
        "times as much. Above that it gets less the more it sends: half a fair share at the "
        "link's rate and nothing at ten times that. RED lets nearly all of it through, and TCP "
        "gets the rest.",
        "So CHOKeW protects TCP from flows that send much, as well as a queue for each flow does, "
        "and is as fair between TCP flows. It does not protect TCP from a flow that sends "
        "somewhat too much at a constant rate, and does not tell such a flow at any rate what its "
        "fair share is. For this CHOKeW stores one number, FQ-CoDel a queue for each flow.",
    ),
)
