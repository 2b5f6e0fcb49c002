"""ns-2's own RED in place of the marking function: the same dumbbell here and in ns-2."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from marqueue.ns2.small_buffer import FLOWS, SCHEMES, UNIFORM, dumbbell
from marqueue.papers.figures import PaperFigure, sweep_figure
from marqueue.papers.ledger import Reference, read_reference
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs
from marqueue.papers.readings import MAIN, Choice
from marqueue.papers.small_buffer.measures import dependence, performance, swept, windows
from marqueue.papers.small_buffer.setups import FOLDER, GROUP
from marqueue.scenario import Scenario, from_dict

#: Full form only, with numbers of replications.
MORE = {1300: 10}
#: Number of flows for which the sum of windows is analysed.
SHOWN = 200
#: Quantities that ns-2 measured, too.
COMPARED = ("utilization", "delay", "loss")


def name(scheme: str, flows: float) -> str:
    """Name of a set-up."""
    return f"{scheme}-{flows:g}"


def scenario(scheme: str, flows: int, choice: Choice, replications: int = 1) -> Scenario:
    """The dumbbell as given to ns-2, with sampled windows."""
    weight, gentle = float(choice["q-weight"]), choice["gentle"] == "on"
    case = dumbbell(scheme, flows, weight=weight, gentle=gentle)
    data = case.scenario(replications).to_dict()
    if choice["rtts"] == "uniform":
        data["topology"]["rtts"] = UNIFORM
    [warmup] = data.pop("cuts")
    [long] = data["traffic"]
    long |= {"sample_cwnd": True, "name": GROUP}
    return from_dict(data | {"warmup": warmup, "sample": "20 ms"})


def setups(choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per scheme and number of flows."""
    return {name(s, n): scenario(s, n, choice) for s in SCHEMES for n in FLOWS if n not in MORE}


def full(choice: Choice) -> Mapping[str, Scenario]:
    """The paper's largest number of flows."""
    return {name(s, n): scenario(s, n, choice, r) for s in SCHEMES for n, r in MORE.items()}


def of_ns2(reference: Reference, quantity: Quantity, key: str, choice: Choice) -> Quantity:
    """The same quantity from ns-2, one value per seed, at the places at which ns-2 was run; NaN if
    it was not run under this choice."""
    label = choice.label if choice.label != MAIN else f"rtts={choice['rtts']}"
    of_flows = reference.number.get(f"{label}.{key}", {})
    assert isinstance(of_flows, Mapping)
    of = f"{quantity.of}, {reference.name}"
    places = tuple(n for n in quantity.places if f"{n:g}" in of_flows)
    if not places:
        return replace(quantity, of=of, values=np.full((1, len(quantity.places)), np.nan))
    values = np.array([of_flows[f"{n:g}"] for n in places]).T
    return replace(quantity, of=of, values=values, places=places)


def half_widths_apart(ours: Quantity, others: Quantity) -> Quantity:
    """Distance of means in half widths of the 95% interval of their difference; with a single
    replication here, of the interval of the other simulator."""
    of_place = dict(zip(ours.places, ours.estimates, strict=True))
    pairs = [
        (of_place[n], estimate) for n, estimate in zip(others.places, others.estimates, strict=True)
    ]
    widths = [
        abs(a.mean - b.mean) / np.hypot(a.half_width or 0.0, b.half_width or 0.0) for a, b in pairs
    ]
    label = f"{ours.label}: distance in half widths"
    return replace(ours, label=label, unit="", values=np.array([widths]), places=others.places)


def measure(runs: Runs, choice: Choice) -> Quantities:
    """The four figures and h, here and from ns-2."""
    reference = read_reference(FOLDER / "reference.toml")
    out: dict[str, Quantity] = {}
    for scheme in SCHEMES:
        names = {float(n): name(scheme, n) for n in FLOWS}
        out |= performance(runs, names, scheme, scheme)
        out[f"h.{scheme}"] = swept(runs, names, partial(dependence, of=scheme))
        for each in COMPARED:
            key = f"{each}.{scheme}"
            out[f"ns2.{key}"] = of_ns2(reference, out[key], key, choice)
            out[f"apart.{key}"] = half_widths_apart(out[key], out[f"ns2.{key}"])
    return {**out, **windows(runs[name("RED1", SHOWN)], f"RED1, N = {SHOWN}")}


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """The figures here and from ns-2, and h."""
    letters = dict(zip(COMPARED, "abc", strict=True))
    return [
        *(
            sweep_figure(
                f"ns-2 {letter}",
                "ns-2's RED with a weight of 1, here and in ns-2.",
                [quantities[f"{side}{each}.{s}"] for s in SCHEMES for side in ("", "ns2.")],
                "N",
                log_x=True,
            )
            for each, letter in letters.items()
        ),
        sweep_figure(
            "ns-2 d",
            "h(N) under the RED of ns-2, which loses packets beyond the upper threshold.",
            [replace(quantities[f"h.{s}"], label="h") for s in SCHEMES],
            "N",
            log_x=True,
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "ns-2.35's RED with the thresholds of Table I, compared with the same algorithm here "
        "(`red`). It is not the paper's marking function: packets "
        "beyond the upper threshold are lost, marks keep a distance (wait_), and a single waiting "
        "packet is never marked. The paper does not print the version and the switches of its "
        "ns-2.",
        "ns-2's results are stored data (reference.toml). There each seed has draws of its own of "
        "the round-trip times, as each replication here. `marqueue validate --only ns2` runs "
        "dumbbells in which both simulators get the same draws, if ns-2 is installed.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    full=full,
)
