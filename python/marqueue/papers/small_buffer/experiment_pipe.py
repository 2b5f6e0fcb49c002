"""More packets a flow in the pipe: whether windows still move together, and what it costs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from marqueue.papers.drawn import Drawn, against
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs
from marqueue.papers.small_buffer.measures import dependence, performance, swept
from marqueue.papers.small_buffer.setups import EACH, A, dumbbell, named
from marqueue.scenario import Scenario

#: Packets a flow in a pipe of 200 ms, C T, and the capacity that has them, kbit/s.
PIPES = {5: EACH, 25: 5 * EACH}
SCHEMES = ("RED1", "EXP")
FLOWS = (50, 200, 400)


def setups() -> Mapping[str, Scenario]:
    """One a scheme, pipe and number of flows."""
    return {
        named(s, n, each=each): dumbbell(s, n, each=each)
        for s in SCHEMES
        for each in PIPES.values()
        for n in FLOWS
    }


def key(scheme: str, pipe: int) -> str:
    """Of the quantities of a scheme."""
    return f"{scheme}.{pipe}"


def measure(runs: Runs) -> Quantities:
    """The four figures and h."""
    out: dict[str, Quantity] = {}
    for scheme in SCHEMES:
        for pipe, each in PIPES.items():
            names = {float(n): named(scheme, n, A, each) for n in FLOWS}
            of = f"{scheme}, C T = {pipe}"
            out |= performance(runs, names, of, key(scheme, pipe))
            out[f"h.{key(scheme, pipe)}"] = swept(runs, names, partial(dependence, of=of))
    return out


def draw(_: Runs, quantities: Quantities) -> Sequence[Drawn]:
    """Utilization and h."""
    keys = [key(scheme, pipe) for scheme in SCHEMES for pipe in PIPES]
    caption = "C T packets a flow in the pipe, on average."
    return [
        against(
            f"Pipe {letter}",
            caption,
            [replace(quantities[f"{name}.{k}"], label=label) for k in keys],
            "N",
            log_x=True,
        )
        for name, label, letter in (("utilization", "Utilization", "a"), ("h", "h", "b"))
    ]


EXPERIMENT = Experiment(
    readings=(
        "The paper has C T = 5 packets a flow alone. Here capacity a flow is 5 times as much "
        "beside it, all else as in experiment 4.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
