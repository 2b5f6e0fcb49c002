"""``marqueue design``: gains for AQMs and rate laws, with their margins."""

from typing import Annotated, get_args

import typer

from marqueue.cli import options
from marqueue.cli.design.common import Link, command, quantity, time
from marqueue.design import RuleDesign
from marqueue.design import avq as theory_avq
from marqueue.design import codel as theory_codel
from marqueue.design import drq as theory_drq
from marqueue.design import dualpi2 as theory_dualpi2
from marqueue.design import mkc as theory_mkc
from marqueue.design import pi as theory_pi
from marqueue.design import pi2 as theory_pi2
from marqueue.design import pie as theory_pie
from marqueue.design import red as theory_red
from marqueue.design import rem as theory_rem
from marqueue.design.design import Design
from marqueue.errors import ModelError, unknown
from marqueue.scenario import load
from marqueue.theory.drq.from_scenario import network
from marqueue.units import Rate

design = typer.Typer(no_args_is_help=True)


def number(name: str, metavar: str, help_: str) -> typer.models.OptionInfo:
    """An option without a default."""
    option: typer.models.OptionInfo = typer.Option(
        f"--{name}", metavar=metavar, help=help_, show_default=False
    )
    return option


Phase = Annotated[
    float,
    typer.Option(
        "--phase-margin",
        metavar="DEGREES",
        help="Phase margin; the default is that of the paper's example.",
    ),
]
Target = Annotated[str, typer.Option(metavar="TIME", help="Queueing delay at the equilibrium.")]
QRef = Annotated[float, typer.Option(metavar="PACKETS", help="Queue at the equilibrium.")]

MostFlows = Annotated[float | None, number("most-flows", "N", "The largest number of flows.")]


@command(design, "avq")
def avq(
    link: Link,
    gamma: Annotated[float | None, number("gamma", "SHARE", "Desired utilization.")] = None,
    alpha: Annotated[float | None, number("alpha", "FREQUENCY", "Smoothing, 1/s.")] = None,
) -> Design:
    """AVQ: the bound on one of --flows, --rtt, --gamma and --alpha, from the other three
    (Kunniyur and Srikant 2004).

    Example: marqueue design avq --capacity 10Mbit/s --packet 1000B --flows 150 --rtt 150ms
    --gamma 0.98
    """
    return theory_avq.design(link.capacity, link.flows, link.rtt, gamma, alpha)


@command(design, "pi")
def pi(
    link: Link,
    phase: Phase = theory_pi.PHASE,
    q_ref: QRef = 50.0,
    sampling: Annotated[
        float,
        typer.Option(metavar="FREQUENCY", help="Sampling frequency of the probability: w, 1/s."),
    ] = theory_pi.SAMPLING,
) -> Design:
    """PI: a and b (Hollot, Misra, Towsley and Gong 2001, Proposition 2); --rtt includes queueing.

    Example: marqueue design pi --capacity 15Mbit/s --packet 500B --flows 60 --rtt 246ms
    """
    return theory_pi.design(*link.complete, phase, q_ref, sampling)


@command(design, "pi2")
def pi2(link: Link, target: Target = "15 ms") -> Design:
    """PI2: alpha, beta and Tupdate (RFC 9332, appendix A.1); --rtt includes queueing.

    Example: marqueue design pi2 --capacity 50Mbit/s --packet 1500B --flows 50 --rtt 100ms
    """
    return theory_pi2.design(*link.complete, time("--target", target))


@command(design, "dualpi2")
def dualpi2(
    link: Link,
    target: Target = "15 ms",
    k: Annotated[
        float, typer.Option(metavar="FACTOR", help="Coupling factor.")
    ] = theory_dualpi2.COUPLING,
    l4s_flows: Annotated[
        float | None,
        typer.Option(metavar="N", help="Flows of Prague.", show_default="as many as --flows"),
    ] = None,
) -> Design:
    """DualPI2: the gains of its Classic queue, as those of PI2, and the balance of rates between
    Prague and Classic flows; --flows are Classic, --rtt includes their queueing.

    Example: marqueue design dualpi2 --capacity 50Mbit/s --packet 1500B --flows 50 --rtt 100ms
    """
    return theory_dualpi2.design(*link.complete, time("--target", target), k, l4s_flows)


@command(design, "pie")
def pie(
    link: Link,
    target: Target = "15 ms",
    t_update: Annotated[
        str | None,
        typer.Option(
            "--t-update",
            metavar="TIME",
            help="Interval between updates of the probability.",
            show_default="15 ms, or a third of --rtt",
        ),
    ] = None,
    most_flows: MostFlows = None,
) -> Design:
    """PIE: alpha, beta and T_UPDATE (RFC 8033, section 4.2), lowered where the linear model has not
    a gain margin of 2; --rtt includes queueing.

    Example: marqueue design pie --capacity 50Mbit/s --packet 1500B --flows 5 --most-flows 200 --rtt
    95ms
    """
    period = None if t_update is None else time("--t-update", t_update)
    return theory_pie.design(*link.complete, time("--target", target), period, most_flows)


@command(design, "codel")
def codel(link: Link) -> RuleDesign:
    """CoDel: interval and target (RFC 8289, sections 4.2 and 4.3); --rtt is without queueing.

    Example: marqueue design codel --capacity 50Mbit/s --packet 1500B --flows 5 --rtt 80ms
    """
    return theory_codel.design(*link.complete)


@command(design, "fq_codel")
def fq_codel(link: Link, most_flows: MostFlows = None) -> RuleDesign:
    """FQ-CoDel: interval, target, quantum and number of queues (RFC 8290, section 5); --rtt is
    without queueing.

    Example: marqueue design fq_codel --capacity 50Mbit/s --packet 1500B --flows 5 --most-flows 200
    --rtt 80ms
    """
    return theory_codel.design_fq(*link.complete, link.packet, most_flows)


@command(design, "rem")
def rem(
    link: Link,
    phase: Phase = theory_pi.PHASE,
    q_ref: QRef = 50.0,
    phi: Annotated[
        float, typer.Option(metavar="BASE", help="Base of the probability.")
    ] = theory_rem.PHI,
    period: Annotated[
        str, typer.Option(metavar="TIME", help="Interval between updates of the price: T.")
    ] = "2 ms",
) -> Design:
    """REM: gamma and alpha, by its equivalence to PI; --rtt includes queueing.

    Example: marqueue design rem --capacity 15Mbit/s --packet 500B --flows 60 --rtt 246ms
    """
    return theory_rem.design(*link.complete, phase, q_ref, phi, time("--period", period))


@command(design, "red")
def red(
    link: Link,
    min_th: Annotated[
        float, number("min-th", "PACKETS", "Threshold below which nothing is marked.")
    ],
    max_th: Annotated[float, number("max-th", "PACKETS", "Threshold at which max_p is marked.")],
    max_p: Annotated[float | None, number("max-p", "SHARE", "Design w_q for this max_p.")] = None,
    w_q: Annotated[float | None, number("w-q", "SHARE", "Design max_p for this w_q.")] = None,
) -> Design:
    """RED: w_q for --max-p, or max_p for --w-q (Hollot, Misra, Towsley and Gong 2001, Proposition
    1); --rtt includes queueing.

    Example: marqueue design red --capacity 15Mbit/s --packet 500B --flows 60 --rtt 246ms
    --min-th 150 --max-th 700 --max-p 0.1
    """
    return theory_red.design(*link.complete, min_th, max_th, max_p, w_q)


@command(design, "drq")
def drq(file: options.File, set_: options.Set = None) -> Design:
    """DRQ: max_th at each congested resource of a scenario (Shin, Chong and Rhee 2008, Proposition
    2).

    Example: marqueue design drq scenarios/cpu.toml --set traffic.forward.count=40
    """
    scenario = load(file, set_ or [])
    return theory_drq.design(network(scenario), scenario)


@command(design, "mkc")
def mkc(
    capacity: Annotated[str, number("capacity", "RATE", "Rate of the link.")],
    flows: Annotated[float, number("flows", "N", "Number of sources.")],
    delay: Annotated[
        list[int],
        typer.Option(
            metavar="STEPS", help="Delay of a class of sources (repeatable; equal classes)."
        ),
    ] = [1],  # noqa: B006 - typer copies it
    alpha: Annotated[str | None, number("alpha", "RATE", "Increase per step.")] = None,
    loss: Annotated[
        float | None, number("loss", "SHARE", "Steady loss, instead of --alpha.")
    ] = None,
    price: Annotated[
        str,
        typer.Option(
            metavar="loss|power|virtual",
            help="As in marqueue theory mkc; for virtual, its gain is designed.",
        ),
    ] = "loss",
    exponent: Annotated[
        float, typer.Option(metavar="K", help="Exponent of the price power.")
    ] = 4.0,
    beta: Annotated[float, typer.Option(metavar="GAIN", help="Gain, for the price virtual.")] = 0.5,
    target: Annotated[
        float, typer.Option(metavar="SHARE", help="Utilization, for the price virtual.")
    ] = 0.98,
) -> Design:
    """MKC: beta, or the gain of adaptive prices (Zhang, Kang and Loguinov 2004, Theorems 3 and
    4).

    Example: marqueue design mkc --capacity "10 Mbit/s" --flows 20 --delay 4 --loss 0.01
    """
    prices = {each: each for each in get_args(theory_mkc.Price)}
    if price not in prices:
        raise ModelError(f"--price: {unknown(price, prices)}")
    return theory_mkc.design(
        quantity("--capacity", Rate, capacity),
        flows,
        tuple(delay),
        None if alpha is None else quantity("--alpha", Rate, alpha),
        loss,
        prices[price],
        exponent,
        beta,
        target,
    )
