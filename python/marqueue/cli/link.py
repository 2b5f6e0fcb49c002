"""``marqueue link``."""

import math
import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from marqueue.cli import complete, options
from marqueue.cli.aqm_option import aqm_table
from marqueue.cli.metrics_option import metrics_address
from marqueue.errors import RunError, ScenarioError, show
from marqueue.live import capacity
from marqueue.results.output_file import check_output_file
from marqueue.scenario import Scenario, compile, from_dict
from marqueue.scenario.delivery_trace import mean_rate
from marqueue.units import Duration, Rate

FEWEST = 10
"""The least default buffer, packets."""
FOREVER = 2**62
"""Duration of a link that ends with its command, ns."""


def link(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND", help="The command to run; by default a shell.", show_default=False
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(metavar="RATE", help='Rate, such as "40 Mbit/s".', show_default=False),
    ] = None,
    delay: Annotated[
        str, typer.Option(metavar="TIME", help="Propagation delay, one way.")
    ] = "0 ms",
    aqm: Annotated[
        str,
        typer.Option(
            metavar="AQM",
            help="The AQM and its parameters, such as 'avq:gamma=0.98,alpha=0.15' "
            "(see marqueue aqm list), or a class in Python, such as 'python:mine.py:Mine'.",
            autocompletion=complete.aqms,
        ),
    ] = "droptail",
    buffer: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help='Size of the queue, such as "100 packets" or "150 kB".',
            show_default=f"bandwidth-delay product, at least {FEWEST} packets",
        ),
    ] = None,
    signal: Annotated[
        str,
        typer.Option(metavar="SIGNAL", help="How a mark reaches the sender: ecn, drop, ecn-only."),
    ] = "ecn",
    loss: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help='Random loss, such as "1%".', show_default=False),
    ] = None,
    jitter: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Mean of a random extra delay.", show_default=False),
    ] = None,
    schedule: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TIME=RATE",
            help="Change --rate at a time, such as '10s=20Mbit/s' (repeatable).",
            show_default=False,
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A trace of mahimahi, a capture or a qlog with the capacity, instead of --rate.",
            show_default=False,
        ),
    ] = None,
    uplink: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Rate of the uplink, if not --rate.", show_default=False),
    ] = None,
    uplink_aqm: Annotated[
        str | None,
        typer.Option(
            metavar="AQM",
            help="AQM of the uplink, if not --aqm.",
            show_default=False,
            autocompletion=complete.aqms,
        ),
    ] = None,
    uplink_buffer: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Buffer of the uplink, if not --buffer.", show_default=False
        ),
    ] = None,
    uplink_trace: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Trace of the uplink, if not --trace.", show_default=False
        ),
    ] = None,
    mtu: Annotated[
        int, typer.Option(min=576, max=65535, metavar="BYTES", help="Size of the largest packet.")
    ] = 1500,
    realtime: options.Realtime = "shared",
    internet: Annotated[
        bool,
        typer.Option(
            "--internet",
            help="Give the command access to other machines (IPv4, by nftables).",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the random numbers.")] = 1,
    json: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the measurements to FILE: counts, figures and series, with units.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write the measurements to DIR as a result with a report, like marqueue run.",
            show_default=False,
        ),
    ] = None,
    force: options.Force = False,
    status: Annotated[
        bool | None,
        typer.Option(
            "--status/--no-status",
            help="Show the state of the link in the last row of the terminal.",
            show_default="if there is a COMMAND and standard error is a terminal",
        ),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Show curves of the link on the whole terminal; the output of COMMAND follows at "
            "the end.",
        ),
    ] = False,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Serve the state of the link to Prometheus at this address; HOST is 127.0.0.1 by "
            "default.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run a command behind an emulated link (needs root).

    The command has its own network namespace, and this link is the only way out of it. The
    addresses of this side are in MARQUEUE_OUTSIDE and MARQUEUE_OUTSIDE6. Links can be nested.

    [bold]Examples[/bold]

    marqueue link --rate 40Mbit/s --delay 20ms --aqm 'avq:gamma=0.98' -- bash

    marqueue link --rate 10Mbit/s --uplink 1Mbit/s --delay 30ms --loss 0.1% -- curl
    http://100.64.0.1/

    marqueue link --rate 4Mbit/s --delay 40ms --internet -- curl -O https://HOST/FILE

    marqueue link --rate 10Mbit/s --metrics 9464 -- iperf3 -c HOST

    marqueue link --rate 10Mbit/s --schedule 5s=2Mbit/s --schedule 15s=10Mbit/s -- iperf3 -c HOST

    The state line disappears while the command controls the terminal, such as a shell, an editor or
    a pager. A table of both directions follows the command on standard error.

    The exit code is that of the command, or 2 for an error that the message explains. SIGTERM,
    SIGHUP and SIGQUIT are passed on to the command and all its processes, which are killed if they
    have not ended after 5 s; the exit code is then 128 plus the number of the signal.
    """
    strict = options.is_strict(realtime)
    shared = {"delay": delay, "signal": signal, "loss": loss, "jitter": jitter}
    down: dict[str, Any] = shared | {"rate": rate, "aqm": aqm, "buffer": buffer}
    up: dict[str, Any] = shared | {
        "rate": uplink or (None if uplink_trace else rate),
        "aqm": uplink_aqm or aqm,
        "buffer": uplink_buffer or buffer,
    }
    changes = [_change(each) for each in schedule or ()]
    for direction in (down,) if uplink or uplink_trace else (up, down):
        direction["schedule"] = changes
    times = {
        "uplink": _follow_trace(up, uplink_trace or (None if uplink else trace), changes),
        "downlink": _follow_trace(down, trace, changes),
    }
    run = command or [os.environ.get("SHELL") or "/bin/sh"]
    if shutil.which(run[0]) is None:
        raise RunError(f"{run[0]}: no such command")
    scenario = scenario_of(up, down, mtu, seed)
    options.note_programs()
    plan = plan_for(scenario)
    for each in plan["links"]:
        each["delivery_opportunities"] = times[each["name"]]
    # Slow to import, and not needed for help.
    from marqueue.cli.link_run import Display, run_and_report
    from marqueue.live.link import OUTSIDE

    address = metrics_address(metrics)
    if json:
        check_output_file(json, replace=True)
    shown = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    if (watch or status) and not shown:
        raise RunError(
            f"--{'watch' if watch else 'status'}: expected standard error to be a terminal"
        )
    if watch and not command:
        raise RunError("--watch: got no command, expected one: a shell needs the whole terminal")
    # Of nested links, only the outermost shows its state.
    line = bool(command) and shown and OUTSIDE not in os.environ if status is None else status
    with options.claimed(report, "", force) if report else nullcontext() as directory:
        wanted = Display(bool(line) and not watch, watch, json, directory, address)
        code = run_and_report(scenario, plan, mtu, run, wanted, internet=internet, strict=strict)
    raise typer.Exit(code)


def _follow_trace(
    direction: dict[str, Any], path: Path | None, changes: Sequence[Any]
) -> list[int]:
    """The transmission opportunities of a direction from a trace, whose mean becomes its rate.

    Empty without a trace. Raises RunError if the direction has a rate or a schedule too.
    """
    if path is None:
        return []
    times = capacity.read(path)
    if direction["rate"]:
        raise RunError("--trace: got a trace and a rate, expected one of them")
    if changes:
        raise RunError("--schedule: got a trace too, expected one of them")
    direction["rate"] = f"{mean_rate(times)} bit/s"
    return times


def plan_of(up: dict[str, Any], down: dict[str, Any], mtu: int, seed: int) -> dict[str, Any]:
    """The plan of an uplink and a downlink. Raises RunError with the wrong option."""
    return plan_for(scenario_of(up, down, mtu, seed))


def plan_for(scenario: Scenario) -> dict[str, Any]:
    """The plan of a scenario of two links, without an end."""
    return {**compile(scenario), "duration": FOREVER}


def scenario_of(up: dict[str, Any], down: dict[str, Any], mtu: int, seed: int) -> Scenario:
    """The scenario of an uplink and a downlink. Raises RunError with the wrong option."""
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
        # A placeholder: a plan needs traffic, but here the senders are real.
        "traffic": [{"name": "command", "kind": "tcp"}],
    }
    try:
        scenario = from_dict(data)
        compile(scenario)
    except ScenarioError as error:
        raise RunError(_in_options(error)) from None
    return scenario


def _in_options(error: ScenarioError) -> str:
    """The problems as options. A problem in a shared option is listed once."""
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
    """The table of a link in a scenario."""
    given = {key: value for key, value in options.items() if value is not None}
    given["aqm"] = aqm_table(given["aqm"])
    given.setdefault("buffer", _product(given, mtu))
    return {**given, "packet": f"{mtu} B"}


def _product(options: dict[str, Any], mtu: int) -> str:
    """The bandwidth-delay product in packets, at least :data:`FEWEST`."""
    try:
        rate, delay = Rate.parse(options.get("rate")), Duration.parse(options["delay"])
    except ValueError:
        return f"{FEWEST} packets"
    return f"{max(math.ceil(rate.base * 2 * delay.seconds / 8 / mtu), FEWEST)} packets"


def _change(text: str) -> dict[str, str]:
    """The table of a rate change from TIME=RATE. Raises RunError if the time is missing."""
    at, equals, rate = text.partition("=")
    if not equals:
        raise RunError(f"--schedule: got {show(text)}, expected TIME=RATE")
    return {"at": at.strip(), "rate": rate.strip()}
