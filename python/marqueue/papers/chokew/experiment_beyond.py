"""What the paper leaves out: sizes of packets, short flows, ECN, an attacker of many ids."""

from collections.abc import Mapping, Sequence
from typing import Any

from marqueue.papers.chokew.measures import SETTLED, of_flows, of_link, swept
from marqueue.papers.chokew.setups import BESIDE_UDP, label, level, udp, under
from marqueue.papers.drawn import Drawn, Tabled, against
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import FLOWS, Quantities, Quantity, Runs, single
from marqueue.scenario import Scenario

#: In what CHOKeW measures the queue, and by what it draws.
MODES = ("packets", "bytes")
#: Payload of the two sizes of packets.
SIZES = {"small": "500 B", "large": "1500 B"}
#: Beside short flows, and beside flows with ECN.
COMPARED = ("chokew", "red", "fq_codel")
#: Against an attacker, who sends 10 Mbit/s under so many flow ids.
AGAINST = ("chokew", "chokew-id", "choke", "red", "fq_codel")
IDS = (1, 3, 10, 30, 100, 200)
ATTACK = 10_000
"""kbit/s in all."""

ECN_TRANSPORT = 'transport.ecn={preset="ns2", recovery="sack", ecn=true}'


def tcp(name: str, count: int, transport: str) -> dict[str, Any]:
    """Long flows of another transport."""
    return {"name": name, "kind": "tcp", "count": count, "jitter": "1 s", "transport": transport}


def setups() -> Mapping[str, Scenario]:
    """By what they are about."""
    return sizes() | short() | ecn() | ids()


def sizes() -> dict[str, Scenario]:
    """25 flows each of 500, 1000 (level 1) and 1500 bytes, in both modes."""
    transports = [
        f'transport.{name}={{preset="ns2", recovery="sack", segment="{size}"}}'
        for name, size in SIZES.items()
    ]
    more = [tcp(name, 25, name) for name in SIZES]
    return {
        f"sizes-{mode}": under(
            "chokew",
            {1.0: 25},
            *more,
            overrides=[*transports, f"topology.bottleneck.aqm.mode={mode}"],
        )
        for mode in MODES
    }


def short() -> dict[str, Scenario]:
    """A flow of 10 packets a second beside 50 long ones, of one level."""
    flows = {"name": "short", "kind": "poisson", "rate": "1 /s", "size": "10 packets"}
    return {f"short-{scheme}": under(scheme, {1.0: 50}, flows) for scheme in COMPARED}


def ecn() -> dict[str, Scenario]:
    """25 flows with ECN beside 25 without, where the scheme may mark."""
    return {
        f"ecn-{scheme}": under(
            scheme,
            {1.0: 25},
            tcp("ecn", 25, "ecn"),
            overrides=[ECN_TRANSPORT, "topology.bottleneck.signal=ecn"],
        )
        for scheme in COMPARED
    }


def ids() -> dict[str, Scenario]:
    """50 TCP flows and an attacker."""
    return {
        f"ids-{scheme}-{n}": under(
            scheme, {1.0: 50}, udp(n, f"{ATTACK / n:g} kbit/s", dscp="DF"), overrides=BESIDE_UDP
        )
        for scheme in AGAINST
        for n in IDS
    }


def measure(runs: Runs) -> Quantities:
    """Ratios of goodputs, completion times, marks, and what the attacker gets."""
    out = {
        f"sizes.{mode}": ratio(runs, f"sizes-{mode}", f"in {mode}", "large", "small")
        for mode in MODES
    }
    for scheme in COMPARED:
        of = label(scheme)
        run = runs[f"short-{scheme}"]
        out[f"fct.{scheme}"] = of_flows(run, of, "fct_mean", "short")
        out[f"fct-p95.{scheme}"] = of_flows(run, of, "fct_p95", "short")
        out[f"delay.{scheme}"] = of_link(run, of, "delay_mean")
        out[f"marks.{scheme}"] = of_link(runs[f"ecn-{scheme}"], of, "mark_ratio")
        out[f"ecn.{scheme}"] = ratio(runs, f"ecn-{scheme}", of, "ecn", level(1))
    for scheme in AGAINST:
        names = {float(n): f"ids-{scheme}-{n}" for n in IDS}
        out[f"attacker.{scheme}"] = swept(
            runs, names, "flow ids", of_flows, label(scheme), "goodput", "udp"
        )
    return out


def ratio(runs: Runs, name: str, of: str, first: str, second: str) -> Quantity:
    """How many times what a flow of one group gets a flow of another gets, in bytes."""
    per_flow = FLOWS["goodput_per_flow"]
    sets = (runs[name].flow_sets(SETTLED, group=group) for group in (first, second))
    values = [per_flow.value(a) / per_flow.value(b) for a, b in zip(*sets, strict=True)]
    return single(f"Goodput, {first} over {second}", of, values)


def draw(_: Runs, quantities: Quantities) -> Sequence[Drawn | Tabled]:
    """Tables of ratios and times, a figure of the attacker."""

    def estimates(scheme: str, *names: str) -> list[Any]:
        return [label(scheme), *(quantities[f"{n}.{scheme}"].estimates[0] for n in names)]

    return [
        Tabled(
            "Beyond 1",
            "25 flows each of packets of 500, 1000 and 1500 bytes under CHOKeW.",
            ("Queue measured, and drawn from,", "Goodput of 1500 over 500 bytes"),
            [[f"in {mode}", quantities[f"sizes.{mode}"].estimates[0]] for mode in MODES],
        ),
        Tabled(
            "Beyond 2",
            "A flow of 10 packets a second beside 50 long flows.",
            ("", "Completion, mean [s]", "Completion, p95 [s]", "Queueing delay, mean [ms]"),
            [estimates(scheme, "fct", "fct-p95", "delay") for scheme in COMPARED],
        ),
        Tabled(
            "Beyond 3",
            "25 flows with ECN beside 25 without.",
            ("", "Share of packets marked", "Goodput with ECN over without"),
            [estimates(scheme, "marks", "ecn") for scheme in COMPARED],
        ),
        against(
            "Beyond 4",
            "What an attacker of 10 Mbit/s in all gets beside 50 TCP flows, by the number of flow "
            "ids that it uses.",
            [quantities[f"attacker.{scheme}"] for scheme in AGAINST],
            "Flow ids of the attacker",
        ),
    ]


EXPERIMENT = Experiment(
    readings=(
        "All flows have weight 1 and the set-up is otherwise that of Experiment 4. The claims are "
        "ours: what one would expect of a scheme that protects flows from each other.",
        "Draws by packet lose packets, draws by byte lose bytes: the latter is not in the paper.",
        "RED has the paper's parameters; FQ-CoDel, with a queue a flow, is the reference.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
