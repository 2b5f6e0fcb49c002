"""``marqueue attach``, ``detach`` and ``stats``: AVQ inside the kernel, at the egress of a
device."""

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
        help="The network namespace of the device: a name as for ip-netns, or a file.",
        show_default=False,
    ),
]


def attach(
    device: Device,
    rate: Annotated[
        str,
        typer.Option(
            "--rate", metavar="RATE", help='Rate of the shaper at the device, such as "100 Mbit/s".'
        ),
    ],
    aqm: Annotated[
        str, typer.Option("--aqm", metavar="NAME", help="The AQM; only avq is available.")
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
            help="How fast the virtual capacity adapts to the traffic.",
            show_default="0.15 /s",
        ),
    ] = None,
    buffer: Annotated[
        str | None,
        typer.Option(
            "--buffer",
            metavar="SIZE",
            help=f'Size of the virtual queue: "30 kB", or "20 packets" of {kernel.FRAME} B.',
            show_default="100 packets",
        ),
    ] = None,
    signal: Annotated[
        str,
        typer.Option(
            "--signal",
            metavar="SIGNAL",
            help="How a mark reaches the sender: ecn (CE, or a drop without ECN), drop, ecn-only.",
        ),
    ] = "ecn",
    netns: Netns = None,
) -> None:
    """Attach AVQ to the egress of a device, in front of its shaper (needs root).

    The program marks or drops packets before they enter the queue of the device, so that the queue
    stays short; --rate is the rate of the shaper there. It stays until detach. Attach again to
    change values; counters continue.

    [bold]Example[/bold]

    tc qdisc add dev eth0 root tbf rate 100mbit burst 5kb limit 250kb

    marqueue attach eth0 --aqm avq --rate '100 Mbit/s' --gamma 0.98
    """
    if aqm != "avq":
        raise MarqueueError(
            f"--aqm: got {show(aqm)}, expected avq: this hook sees arrivals, but no queue"
        )
    avq = kernel.Avq.read(rate, gamma, alpha, buffer, signal)
    if kernel.attach(device, avq, netns):
        say(f"AVQ is attached to {device}.")
    else:
        say(f"AVQ was attached to {device} already; it has the new values.")


def detach(device: Device, netns: Netns = None) -> None:
    """Remove AVQ from a device, and nothing that attach did not add.

    Example: marqueue detach eth0
    """
    removed = kernel.detach(device, netns)
    say(f"AVQ was removed from {device}." if removed else f"No AVQ was attached to {device}.")


def stats(device: Device, netns: Netns = None, json: options.Json = False) -> None:
    """Show the settings and the counters of AVQ at a device, in packets on the wire.

    Example: marqueue stats eth0 --json
    """
    state = kernel.stats(device, netns)
    if state is None:
        raise MarqueueError(f"{device}: no AVQ is attached, expected one by marqueue attach")
    if json:
        print_json(state.as_dict())
        return
    rows = table("at " + device, "")
    gamma = "–" if state.gamma is None else f"{state.gamma:.4g}"
    rows.add_row("rate", f"{state.rate / 1e6:.6g} Mbit/s")
    rows.add_row("gamma, alpha", f"{gamma}, {state.alpha:.4g} /s")
    rows.add_row("virtual buffer", f"{state.buffer:.0f} B")
    rows.add_row("signal", state.signal)
    rows.add_row("virtual capacity", f"{state.virtual_capacity / 1e6:.6g} Mbit/s")
    rows.add_row("virtual queue", f"{state.virtual_queue:.0f} B")
    for name in ("packets", "bytes", "marked", "dropped", "already_ce", "unmarked", "segmented"):
        rows.add_row(name.replace("_", " "), str(getattr(state, name)))
    output.print(rows)
    if state.segmented:
        say(
            f"{state.segmented} buffers contained several packets, which are marked together or "
            "not at all. To mark single packets, run at the sender: ethtool -K DEV tso off gso off"
        )
