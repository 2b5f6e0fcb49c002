"""``marqueue attach``, ``detach`` and ``stats``: AQMs inside the kernel, at the egress or the
ingress of a device."""

import os
import signal as signals
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated

import typer

from marqueue.cli import options
from marqueue.cli.aqm_option import aqm_table
from marqueue.cli.console import output, print_json, say, table
from marqueue.cli.metrics_option import metrics_address
from marqueue.errors import MarqueueError, RunError, one_of, show
from marqueue.live import kernel
from marqueue.programs.registry import is_program

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


def _hook(name: str) -> str:
    if name not in kernel.HOOKS:
        raise MarqueueError(f"--hook: got {show(name)}, expected {one_of(kernel.HOOKS)}")
    return name


Hook = Annotated[
    str,
    typer.Option(
        "--hook",
        callback=_hook,
        metavar="NAME",
        help="egress: packets that the device is about to send; ingress: packets that it has "
        "received, before they are delivered or forwarded (avq, mkc and drq).",
    ),
]


def attach(
    device: Device,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="RATE",
            help='Rate of the shaper at the device, such as "100 Mbit/s", or of chokew; pi '
            "and scaled need none, nor does drq at ingress.",
            show_default=False,
        ),
    ] = None,
    aqm: Annotated[
        str,
        typer.Option(
            "--aqm",
            metavar="NAME[:PARAMETER=VALUE,…]",
            help="The AQM: avq, red, pi, scaled, mkc, drq or chokew, with parameters as in "
            "scenarios (see marqueue aqm show).",
        ),
    ] = "avq",
    gamma: Annotated[
        float | None,
        typer.Option(
            "--gamma", metavar="SHARE", help="avq: desired utilization.", show_default="0.98"
        ),
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(
            "--alpha",
            metavar="FREQUENCY",
            help="avq: how fast the virtual capacity adapts to the traffic.",
            show_default="0.15 /s",
        ),
    ] = None,
    buffer: Annotated[
        str | None,
        typer.Option(
            "--buffer",
            metavar="SIZE",
            help="avq: size of the virtual queue; chokew: of the queue (500 packets): "
            f'"30 kB", or "20 packets" of {kernel.FRAME} B.',
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
    cgroup_weight: Annotated[
        list[str] | None,
        typer.Option(
            "--cgroup-weight",
            metavar="CGROUP=WEIGHT",
            help="chokew: weight of the packets that programs in a cgroup (version 2) or below it "
            "send, in place of that by code point; as often as there are cgroups with one.",
            show_default=False,
        ),
    ] = None,
    netns: Netns = None,
    hook: Hook = "egress",
) -> None:
    """Attach an AQM to a device: in front of its queue, or as its queue (needs root).

    avq, red, pi, scaled, mkc and drq are in front of the queue of the device, at tc's egress hook.
    They mark or drop packets before these enter the queue, so that it stays short. --rate is the
    rate of the shaper there. avq goes by a virtual queue of its own, red, pi, scaled and drq by the
    queue of the root qdisc. mkc marks nothing: it writes the price of the link into packets that
    have a header for it.

    avq and mkc can be at ingress too, where they see what the device has received. --rate is the
    rate to which avq is to hold it. drq at ingress is the edge of its network: it writes 00 into
    the ECN field of packets that can be marked, and goes by no rate.

    chokew is the root qdisc of the device, because it drops packets out of the queue, and shapes it
    to --rate. It needs Linux 6.16 with CONFIG_NET_SCH_BPF.

    The program stays until detach. Attach again to change values; counters continue.

    [bold]Example[/bold]

    tc qdisc add dev eth0 root tbf rate 100mbit burst 5kb limit 250kb

    marqueue attach eth0 --aqm avq --rate '100 Mbit/s' --gamma 0.98

    marqueue attach eth0 --aqm 'pi:q_ref=20 packets'

    marqueue attach eth0 --hook ingress --rate '200 Mbit/s'

    marqueue attach eth0 --aqm 'chokew:weights={EF=4}' --rate '100 Mbit/s'

    marqueue attach eth0 --aqm chokew --rate '100 Mbit/s' --cgroup-weight /system.slice=4
    """
    if is_program(aqm):
        expected = "expected an AQM of the engine: the kernel runs no Python"
        raise RunError(f"--aqm: got {show(aqm)}, {expected}")
    table = aqm_table(aqm)
    for name, value in (("gamma", gamma), ("alpha", alpha)):
        if value is not None:
            table[name] = value
    read = kernel.Aqm.read(table, rate, buffer, signal, hook, _weights(cgroup_weight or []))
    if kernel.attach(device, read, netns, hook):
        say(f"{read.name} is attached to {device}, {_place(read, hook)}.")
    else:
        say(f"{read.name} was attached to {device} already; it has the new values.")


def _weights(given: list[str]) -> dict[str, float]:
    """Weights by cgroup."""
    weights: dict[str, float] = {}
    for each in given:
        path, weight = _weight(each)
        if path in weights:
            raise MarqueueError(f"--cgroup-weight: got {show(path)} twice, expected one weight")
        weights[path] = weight
    return weights


def _weight(text: str) -> tuple[str, float]:
    """A cgroup, whose name may have an equals sign, and its weight."""
    path, _, weight = text.rpartition("=")
    with suppress(ValueError):
        if path:
            return path, float(weight)
    expected = "expected CGROUP=WEIGHT, such as /system.slice=4"
    raise MarqueueError(f"--cgroup-weight: got {show(text)}, {expected}")


def _place(aqm: kernel.Aqm, hook: str) -> str:
    if aqm.name in kernel.qdiscs():
        return "as its root qdisc, which is the shaper too"
    if aqm.name == "drq" and hook == "ingress":
        return "at tc's ingress hook, as the edge of its network, and goes by no rate and no queue"
    by = ", and goes by the queue of its root qdisc" if kernel.needs_queue(aqm.name, hook) else ""
    return f"at tc's {hook} hook{by}"


def detach(device: Device, netns: Netns = None, hook: Hook = "egress") -> None:
    """Remove the AQM from a device, and nothing that attach did not add.

    Example: marqueue detach eth0
    """
    removed = kernel.detach(device, netns, hook)
    say(f"The AQM was removed from {device}." if removed else f"No AQM was attached to {device}.")


def stats(
    device: Device,
    netns: Netns = None,
    hook: Hook = "egress",
    watch: Annotated[
        bool, typer.Option("--watch", help="Show curves of the last minute on the whole terminal.")
    ] = False,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Serve the state of the AQM to Prometheus at this address until it is "
            "interrupted; HOST is 127.0.0.1 by default.",
            show_default=False,
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Show the settings and the counters of the AQM at a device, in packets on the wire.

    [bold]Examples[/bold]

    marqueue stats eth0 --json

    marqueue stats eth0 --watch --metrics 9464
    """
    if watch or metrics:
        if json:
            raise MarqueueError("--json: got it with --watch or --metrics, expected it alone")
        _follow(device, netns, hook, watch, metrics_address(metrics))
        return
    state = kernel.stats(device, netns, hook)
    if state is None:
        raise MarqueueError(f"{device}: no AQM is attached, expected one by marqueue attach")
    if json:
        print_json(state.as_dict())
        return
    rows = table(f"at {device}, {hook}", "")
    rows.add_row("aqm", state.aqm)
    if state.rate is not None:
        rows.add_row("rate", f"{state.rate / 1e6:.6g} Mbit/s")
    for name, value in state.parameters.items():
        rows.add_row(name, f"{value:.6g}")
    rows.add_row("signal", state.signal)
    for name, value in state.state.items():
        rows.add_row(name.replace("_", " "), f"{value:.6g}")
    for name in ("packets", "bytes", "marked", "dropped", "already_ce", "unmarked", "segmented"):
        rows.add_row(name.replace("_", " "), str(getattr(state, name)))
    output.print(rows)
    if state.segmented:
        say(
            f"{state.segmented} buffers contained several packets, which are marked together or "
            "not at all. To mark single packets, run at the sender: ethtool -K DEV tso off gso off"
        )


def _follow(
    device: str, netns: str | None, hook: str, watch: bool, address: tuple[str, int] | None
) -> None:
    """Shows and serves the state until it is interrupted."""
    shown = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    if watch and not shown:
        raise MarqueueError("--watch: expected standard error to be a terminal")
    if kernel.stats(device, netns, hook) is None:
        raise MarqueueError(f"{device}: no AQM is attached, expected one by marqueue attach")
    # Slow to import, and needed here only.
    from marqueue.live.termination import signals_raise

    with signals_raise(), suppress(KeyboardInterrupt), _served(device, netns, hook, address):
        if watch:
            from marqueue.cli.stats_page import watch as watch_page

            watch_page(device, netns, hook)
        else:
            signals.pause()


@contextmanager
def _served(
    device: str, netns: str | None, hook: str, address: tuple[str, int] | None
) -> Iterator[None]:
    if address is None:
        yield
        return
    # Of an extra, which few have.
    from marqueue.live.kernel_metrics import KernelMetrics
    from marqueue.live.metrics import served

    with served(address, KernelMetrics(device, netns, hook)):
        host, port = address
        say(f"Metrics: http://{host}:{port}/metrics")
        yield
