"""Beyond the paper: DRQ's use of the ECN field and that of RFC 3168 (the paper's disclaimer)."""

from collections.abc import Mapping, Sequence

from marqueue.papers.drq.measures import line, of_link, optima, quotient, rate
from marqueue.papers.drq.setups import CLASSES, ECN, dumbbell, group, schemes, shorter
from marqueue.papers.figures import PaperFigure, PaperTable, sweep_figure
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs, side_by_side
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario

CLOCK = 25.0
ECT = 'transport.ect={preset="ns2", recovery="newreno", segment="500 B", ecn=true}'
HOPS = {"drq": "link under DRQ", "standard": "link under RFC 3168"}
AXIS = "Density, cycles/bit"


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """DRQ at the CPU, with DRQ or standard RED at the link; and 00 and ECT flows with DRQ at
    both."""
    standard = {**schemes()["red-red"]["link"], "signal": "ecn"}
    both = [group(each, float(each)) for each in ("0.5", "2")]
    mixed = [each | {"name": f"00, {each['name']}"} for each in both]
    mixed += [each | {"name": f"ECT, {each['name']}", "transport": "ect"} for each in both]
    return {
        "drq": dumbbell("drq", CLOCK, overrides=ECN),
        "standard": dumbbell("drq", CLOCK, overrides=ECN, **standard),
        "mixed": dumbbell("drq", CLOCK, mixed, [*ECN, ECT]),
    }


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Goodputs with both kinds of link, and of ECT and 00 flows; marks and losses at the link."""
    out = {}
    for hop, of in HOPS.items():
        parts = {float(each): rate(runs[hop], of, each) for each in CLASSES}
        out[f"rate.{hop}"] = side_by_side(parts, "w")
        out[f"marks.{hop}"] = of_link(runs[hop], of, "mark_ratio")
        out[f"losses.{hop}"] = of_link(runs[hop], of, "loss_ratio")
    out["ratio.initial"] = quotient(
        out["rate.standard"], out["rate.drq"], "Standard hop over DRQ's"
    )
    [best] = optima(runs, {0.0: "drq"})
    out["rate.optimum"] = line(out["rate.drq"], [best.rate(w) * 1e-6 for w in CLASSES])
    for field in ("00", "ECT"):
        parts = {w: rate(runs["mixed"], field, f"{field}, {w:g}") for w in (0.5, 2.0)}
        out[f"mixed.{field}"] = side_by_side(parts, "w")
    out["ratio.ect"] = quotient(out["mixed.ECT"], out["mixed.00"], "ECT over 00")
    return out


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure | PaperTable]:
    """Goodputs by density, marks and losses at the link, and goodputs of ECT and 00 flows."""
    return [
        sweep_figure(
            "ECN 1",
            "Mean goodput of a flow that sets out as 00, by what is at the link behind DRQ's CPU; "
            "the line is the optimum.",
            [quantities[f"rate.{hop}"] for hop in HOPS],
            AXIS,
            [quantities["rate.optimum"]],
        ),
        PaperTable(
            "ECN 2",
            "What the link behind DRQ's CPU does to flows that set out as 00.",
            ("", "Share marked", "Share lost"),
            [
                [of, *(quantities[f"{key}.{hop}"].estimates[0] for key in ("marks", "losses"))]
                for hop, of in HOPS.items()
            ],
        ),
        sweep_figure(
            "ECN 3",
            "Mean goodput of flows that set out as 00 and as ECT, DRQ at CPU and link.",
            [quantities[f"mixed.{field}"] for field in ("00", "ECT")],
            AXIS,
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "As in Experiment 5 with 25 Mcycles/s, but sources answer marks. In RFC 3168 00 is not "
        "ECN-capable, and 10 is: a standard RED link drops packets at 00 and marks packets at 10. "
        "Behind DRQ the latter are the packets that DRQ has signalled.",
        "ECT: flows that start as 10, as those of RFC 3168 do, beside as many that start as 00; "
        "0.5 and 2 cycles/bit.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    quick=shorter,
)
