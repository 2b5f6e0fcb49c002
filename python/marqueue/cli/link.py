"""``marqueue link``."""

import math
import os
import shutil
import sys
import tomllib
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from marqueue.cli import complete, options
from marqueue.errors import RunError, ScenarioError, show
from marqueue.live import capacity
from marqueue.results.output_file import check_output_file
from marqueue.scenario import Scenario, compile, from_dict
from marqueue.units import Duration, Rate

FEWEST = 10
"""Packets of buffer where the bandwidth-delay product is smaller."""
FOREVER = 2**62
"""Nanoseconds: the measuring window of a link that ends with its command."""


def link(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND", help="What to run; by default a shell.", show_default=False
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help='Capacity, such as "40 Mbit/s".', show_default=False),
    ] = None,
    delay: Annotated[
        str, typer.Option(metavar="TIME", help="Propagation delay, one way.")
    ] = "0 ms",
    aqm: Annotated[
        str,
        typer.Option(
            metavar="AQM",
            help="The AQM, with parameters behind a colon: 'avq:gamma=0.98,alpha=0.15' "
            "(marqueue aqm list).",
            autocompletion=complete.aqms,
        ),
    ] = "droptail",
    buffer: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help='How much may wait, such as "100 packets" or "150 kB".',
            show_default=f"what is on the way in twice the delay, at least {FEWEST} packets",
        ),
    ] = None,
    signal: Annotated[
        str, typer.Option(metavar="SIGNAL", help="How marks reach senders: ecn, drop, ecn-only.")
    ] = "ecn",
    loss: Annotated[
        str | None, typer.Option(metavar="SHARE", help='Losses, such as "1%".', show_default=False)
    ] = None,
    jitter: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Mean of what is added to the delay.", show_default=False
        ),
    ] = None,
    schedule: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TIME=RATE",
            help="From when on --rate is another, such as '10s=20Mbit/s'; again for more.",
            show_default=False,
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Capacity as a trace of mahimahi, in place of --rate.",
            show_default=False,
        ),
    ] = None,
    uplink: Annotated[
        str | None,
        typer.Option(
            metavar="RATE", help="Capacity of the way out, if not --rate.", show_default=False
        ),
    ] = None,
    uplink_aqm: Annotated[
        str | None,
        typer.Option(
            metavar="AQM",
            help="AQM of the way out, if not --aqm.",
            show_default=False,
            autocompletion=complete.aqms,
        ),
    ] = None,
    uplink_buffer: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Buffer of the way out, if not --buffer.", show_default=False
        ),
    ] = None,
    uplink_trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Trace of the way out, if not --trace.", show_default=False
        ),
    ] = None,
    mtu: Annotated[
        int, typer.Option(min=576, max=65535, metavar="BYTES", help="Size of the largest packet.")
    ] = 1500,
    internet: Annotated[
        bool,
        typer.Option(
            "--internet",
            help="Let the command reach beyond this machine (IPv4), by nftables.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the random numbers.")] = 1,
    json: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write what the link measured there: counts, figures and series, with units.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write what the link measured there as marqueue run does, with a report.",
            show_default=False,
        ),
    ] = None,
    force: options.Force = False,
    status: Annotated[
        bool | None,
        typer.Option(
            "--status/--no-status",
            help="Show the link's state in the last row of the terminal while COMMAND runs.",
            show_default="with COMMAND, if standard error is a terminal",
        ),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Show curves of the link on the whole terminal while COMMAND runs; what COMMAND "
            "writes to the terminal is shown at the end.",
        ),
    ] = False,
) -> None:
    """Run a command behind an emulated link (needs root).

    The command has a network of its own, from which this link is the only way out; it finds the
    addresses of this side in MARQUEUE_OUTSIDE and MARQUEUE_OUTSIDE6. Links nest.

    [bold]Examples[/bold]

    marqueue link --rate 40Mbit/s --delay 20ms --aqm 'avq:gamma=0.98' -- bash

    marqueue link --rate 10Mbit/s --uplink 1Mbit/s --delay 30ms --loss 0.1% -- curl
    http://100.64.0.1/

    marqueue link --rate 4Mbit/s --delay 40ms --internet -- curl -O https://HOST/FILE

    marqueue link --rate 10Mbit/s --schedule 5s=2Mbit/s --schedule 15s=10Mbit/s -- iperf3 -c HOST

    The state line is given up while the command has the terminal for itself, as a shell, an editor
    or a pager has. A table of both directions follows the command on standard error.

    The exit code is that of the command; 2 for a mistake that the message explains. SIGTERM,
    SIGHUP and SIGQUIT are passed on to the command and all its processes, which are killed if they
    have not ended 5 s later; the exit code is then 128 and the signal's number.
    """
    shared = {"delay": delay, "signal": signal, "loss": loss, "jitter": jitter}
    down: dict[str, Any] = {"rate": rate, "aqm": aqm, "buffer": buffer}
    changes = [_change(each) for each in schedule or ()]
    traces = {"uplink": uplink_trace or (None if uplink else trace), "downlink": trace}
    up: dict[str, Any] = {
        "rate": uplink or (None if uplink_trace else rate),
        "aqm": uplink_aqm or aqm,
        "buffer": uplink_buffer or buffer,
    }
    capacities = {name: path and capacity.read(path) for name, path in traces.items()}
    for way, name in (up, "uplink"), (down, "downlink"):
        if times := capacities[name]:
            if way["rate"]:
                raise RunError("--trace: got a trace and a rate, expected one of them")
            way["rate"] = f"{capacity.mean_rate(times)} bit/s"
            if changes:
                raise RunError("--schedule: got a trace too, expected one of them")
    for way in (down,) if uplink or uplink_trace else (up, down):
        way["schedule"] = changes
    run = command or [os.environ.get("SHELL") or "/bin/sh"]
    if shutil.which(run[0]) is None:
        raise RunError(f"{run[0]}: no such command")
    scenario = scenario_of(up | shared, down | shared, mtu, seed)
    plan = plan_for(scenario)
    for each in plan["links"]:
        each["opportunities"] = capacities[each["name"]] or []
    # What real packets need is loaded by whoever wants them.
    from marqueue.cli.link_run import Display, run_and_tell
    from marqueue.live.link import OUTSIDE

    if json:
        check_output_file(json, replace=True)
    shown = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    if (watch or status) and not shown:
        raise RunError(f"--{'watch' if watch else 'status'}: expected a terminal as standard error")
    if watch and not command:
        raise RunError("--watch: got no command, expected one: a shell needs the terminal itself")
    # Of nested links the outermost has the row.
    line = bool(command) and shown and OUTSIDE not in os.environ if status is None else status
    with options.claimed(report, "", force) if report else nullcontext() as directory:
        wanted = Display(bool(line) and not watch, watch, json, directory)
        code = run_and_tell(scenario, plan, mtu, run, wanted, internet=internet)
    raise typer.Exit(code)


def plan_of(up: dict[str, Any], down: dict[str, Any], mtu: int, seed: int) -> dict[str, Any]:
    """The plan of two links, one each way; raises RunError with the option that is wrong."""
    return plan_for(scenario_of(up, down, mtu, seed))


def plan_for(scenario: Scenario) -> dict[str, Any]:
    """The plan of a scenario of two links that lasts until the command ends."""
    return {**compile(scenario), "duration": FOREVER}


def scenario_of(up: dict[str, Any], down: dict[str, Any], mtu: int, seed: int) -> Scenario:
    """Two links, one each way; raises RunError with the option that is wrong."""
    links = [
        {"name": name, "from": start, "to": end, "duplex": False, **_table(options, mtu)}
        for name, start, end, options in (
            ("uplink", "inside", "outside", up),
            ("downlink", "outside", "inside", down),
        )
    ]
    data = {
        "name": "link",
        "duration": "1 h",
        "sample": "0 s",
        "seed": seed,
        "topology": {
            "kind": "graph",
            "links": links,
            "classes": [{"name": "out", "from": "inside", "to": "outside"}],
        },
        # Whoever sends is real; a plan has somebody nevertheless.
        "traffic": [{"name": "command", "kind": "tcp"}],
    }
    try:
        scenario = from_dict(data)
        compile(scenario)
    except ScenarioError as error:
        raise RunError(_in_options(error)) from None
    return scenario


def _in_options(error: ScenarioError) -> str:
    """What is wrong, by option; what both ways share is wrong in both, and said once."""
    said: dict[tuple[str, str], set[str]] = {}
    for problem in error.problems:
        _, _, way, key, *rest = problem.path.split(".")
        message = f"{'.'.join(rest)}: {problem.message}" if rest else problem.message
        said.setdefault((key, message), set()).add(way)
    lines = []
    for (key, message), ways in said.items():
        own = "uplink" if key == "rate" else f"uplink-{key}"
        lines.append(f"--{own if ways == {'uplink'} else key}: {message}")
    return "\n".join(lines)


def _table(options: dict[str, Any], mtu: int) -> dict[str, Any]:
    """A link as a scenario has it."""
    given = {key: value for key, value in options.items() if value is not None}
    given["aqm"] = aqm_table(given["aqm"])
    given.setdefault("buffer", _product(given, mtu))
    return {**given, "packet": f"{mtu} B"}


def _product(options: dict[str, Any], mtu: int) -> str:
    """What is on the way during a round trip, in packets."""
    try:
        rate, delay = Rate.parse(options.get("rate")), Duration.parse(options["delay"])
    except ValueError:
        return f"{FEWEST} packets"
    return f"{max(math.ceil(rate.base * 2 * delay.seconds / 8 / mtu), FEWEST)} packets"


def aqm_table(text: str) -> dict[str, Any]:
    """An AQM as a scenario has it, from its name and, behind a colon, parameters with commas
    between them. Raises RunError if a parameter has no value."""
    name, _, rest = text.partition(":")
    table: dict[str, Any] = {"name": name}
    for each in filter(None, rest.split(",")):
        key, equals, value = each.partition("=")
        if not equals:
            raise RunError(f"--aqm: got {show(each)}, expected NAME=VALUE behind the colon")
        try:
            table[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            table[key.strip()] = value.strip()
    return table


def _change(text: str) -> dict[str, str]:
    """A change of the rate as a scenario has it. Raises RunError if it has no time."""
    at, equals, rate = text.partition("=")
    if not equals:
        raise RunError(f"--schedule: got {show(text)}, expected TIME=RATE")
    return {"at": at.strip(), "rate": rate.strip()}
