"""``marqueue attach``, ``detach`` and ``stats``: AVQ inside the kernel, at a device."""

from typing import Annotated

import typer

from marqueue.cli import options
from marqueue.cli.console import output, print_json, say, table
from marqueue.errors import MarqueueError, show
from marqueue.live import kernel

Device = Annotated[str, typer.Argument(metavar="DEV", help="A network device.", show_default=False)]
Netns = Annotated[
    str | None,
    typer.Option(
        "--netns",
        metavar="NAME",
        help="Its network namespace: a name of ip-netns, or a file.",
        show_default=False,
    ),
]


def attach(
    device: Device,
    rate: Annotated[
        str,
        typer.Option(
            "--rate", metavar="RATE", help='What the shaper below lets through: "100 Mbit/s".'
        ),
    ],
    aqm: Annotated[
        str, typer.Option("--aqm", metavar="NAME", help="Which AQM; avq is the one there is.")
    ] = "avq",
    gamma: Annotated[
        float | None,
        typer.Option("--gamma", metavar="SHARE", help="Desired utilization.", show_default="0.98"),
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(
            "--alpha",
            metavar="FREQUENCY",
            help="How fast the virtual capacity follows the traffic.",
            show_default="0.15 /s",
        ),
    ] = None,
    buffer: Annotated[
        str | None,
        typer.Option(
            "--buffer",
            metavar="SIZE",
            help=f'The virtual queue: "30 kB", or "20 packets" of {kernel.FRAME} B.',
            show_default="100 packets",
        ),
    ] = None,
    signal: Annotated[
        str,
        typer.Option(
            "--signal",
            metavar="HOW",
            help="How a mark reaches the sender: ecn (CE; loss without ECN), drop, ecn-only.",
        ),
    ] = "ecn",
    netns: Netns = None,
) -> None:
    """Put AVQ at the egress of a device, in front of what shapes it; it stays until detach.

    The program marks or drops packets on their way into the device's queue, so that the queue stays
    short: give the rate of the shaper there. Attach again to change values; counters go on. Needs
    root.

    [bold]Example[/bold]

    tc qdisc add dev eth0 root tbf rate 100mbit burst 5kb limit 250kb

    marqueue attach eth0 --aqm avq --rate '100 Mbit/s' --gamma 0.98
    """
    if aqm != "avq":
        raise MarqueueError(
            f"--aqm: got {show(aqm)}, expected avq: only arrivals are seen at this hook, no queue"
        )
    avq = kernel.Avq.read(rate, gamma, alpha, buffer, signal)
    if kernel.attach(device, avq, netns):
        say(f"AVQ stands at {device}.")
    else:
        say(f"AVQ stood at {device} already; it has been told the new values.")


def detach(device: Device, netns: Netns = None) -> None:
    """Remove AVQ from a device, with all that attach made and nothing else.

    Example: marqueue detach eth0
    """
    gone = kernel.detach(device, netns)
    say(f"AVQ is gone from {device}." if gone else f"No AVQ of ours stood at {device}.")


def stats(device: Device, netns: Netns = None, json: options.Json = False) -> None:
    """Show what AVQ at a device was told and has done, in packets on the wire.

    Example: marqueue stats eth0 --json
    """
    told = kernel.stats(device, netns)
    if told is None:
        raise MarqueueError(
            f"{device}: no AVQ of ours stands there, expected one by marqueue attach"
        )
    if json:
        print_json(told.as_dict())
        return
    rows = table("at " + device, "")
    gamma = "–" if told.gamma is None else f"{told.gamma:.4g}"
    rows.add_row("rate", f"{told.rate / 1e6:.6g} Mbit/s")
    rows.add_row("gamma, alpha", f"{gamma}, {told.alpha:.4g} /s")
    rows.add_row("virtual buffer", f"{told.buffer:.0f} B")
    rows.add_row("signal", told.signal)
    rows.add_row("virtual capacity", f"{told.virtual_capacity / 1e6:.6g} Mbit/s")
    rows.add_row("virtual queue", f"{told.virtual_queue:.0f} B")
    for name in ("packets", "bytes", "marked", "dropped", "already_ce", "unmarked", "segmented"):
        rows.add_row(name.replace("_", " "), str(getattr(told, name)))
    output.print(rows)
    if told.segmented:
        say(
            f"{told.segmented} buffers were of several packets, of which all are marked or none: "
            "ethtool -K DEV tso off gso off at their sender makes marks finer."
        )
