"""QUIC of quinn and noq beside our models in the same scenario: tables and picture of docs/quic.md.

    python -m benches.quic_beside

Two long flows share a drop-tail queue of 60 packets at 10 Mbit/s and 42 ms, 60 s after 20 s, 4
replications. A flow of 12 packets has the link for itself.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import marqueue
from marqueue.plots import Curve, panels, svg, timeseries

PAGE, PICTURE = Path("docs/quic.md"), Path("docs/quic.svg")
BEGIN, END = "<!-- beside -->\n", "<!-- end beside -->"
WARMUP = 20.0
SHOWN = 20.0
"""Seconds of the picture."""
BASE: dict[str, Any] = {
    "warmup": f"{WARMUP:g} s",
    "duration": "80 s",
    "replications": 4,
    "topology": {
        "kind": "dumbbell",
        "rtts": ["40 ms"],
        "bottleneck": {"rate": "10 Mbit/s", "delay": "10 ms", "buffer": "60 packets"},
        "access": {"rate": "1 Gbit/s", "delay": "5 ms"},
    },
}
# Packets of 1228 bytes, as quinn's.
MODEL = {"preset": "rfc", "segment": "1188 B"}
AS_QUINN = {
    **MODEL,
    "pacing": "window",
    "pacing_slow_start": 1.25,
    "pacing_avoidance": 1.25,
    "pacing_burst": "10 packets",
    "abc_limit": "2 packets",
}
"""Its pacer (at most 1.25 windows a round trip, bursts of ten packets) and growth in slow start."""
PAIRS = {"reno": "new_reno", "cubic": "cubic"}


def sides(control: str) -> Mapping[str, tuple[dict[str, Any], dict[str, Any]]]:
    """For each side its keys of traffic and its transport."""
    tcp = {"kind": "tcp", "name": "flows"}
    return {
        f"{control}, model": (tcp, {**MODEL, "control": control}),
        f"{control}, model, paced as quinn": (tcp, {**AS_QUINN, "control": control}),
        **{
            f"{PAIRS[control]}, {library}": (
                {
                    "kind": "quic",
                    "name": "flows",
                    "library": library,
                    "control": PAIRS[control],
                    "ecn": False,
                },
                {},
            )
            for library in ("quinn", "noq")
        },
    }


def run(traffic: dict[str, Any], transport: dict[str, Any], **keys: Any) -> marqueue.Result:
    """Runs the scenario with this traffic."""
    table = {"name": "beside", **BASE, **keys, "traffic": [traffic]}
    if transport:
        table["transport"] = {"default": transport}
    return marqueue.run(marqueue.from_dict(table))


def cuts(result: marqueue.Result) -> int:
    """How often all senders have cut their windows in the measured time: by a fifth or more, and
    not within 0.1 s of the last cut, because a recovery changes a window in steps."""
    trace = result.tables["tcp"].to_pandas()
    number = 0
    for _, flow in trace.groupby(["replication", "flow"]):
        fallen = flow["cwnd"] < 0.8 * flow["cwnd"].shift()
        last = WARMUP
        for t in flow["t"][fallen & flow["t"].ge(WARMUP)]:
            number += t - last > 0.1
            last = t
    return number


def long_flows(name: str, result: marqueue.Result) -> str:
    """A row of the table of long flows."""
    link = result.link().figures()
    dropped = sum(int(each) for each in result.tables["windows"]["drops"].to_pylist())
    goodput = result.traffic()["goodput"].scaled(1e-6)
    cells = (
        f"{goodput.mean:.3f} ± {goodput.half_width:.3f}",
        f"{100 * link['utilization'].mean:.2f}",
        f"{100 * link['loss_ratio'].mean:.2f} ± {100 * (link['loss_ratio'].half_width or 0):.2f}",
        str(cuts(result)),
        f"{dropped / max(1, cuts(result)):.2f}",
        f"{1e3 * link['delay_mean'].mean:.1f}",
    )
    return f"| {name} | {' | '.join(cells)} |"


def completion(traffic: dict[str, Any], transport: dict[str, Any]) -> float:
    """The time of 12 packets on an idle link, ms."""
    size = "14016 B" if traffic["kind"] == "quic" else "12 packets"
    alone = {**traffic, "size": size, "jitter": "0 s"}
    result = run(alone, transport, warmup="0 s", duration="2 s", replications=1)
    return float(1e3 * result.tables["flows"]["fct"][0].as_py())


def curve(name: str, result: marqueue.Result) -> Curve:
    """The window of the first flow of the first replication, from the end of the warm-up on."""
    trace = result.tables["tcp"].to_pandas()
    first = trace[(trace["replication"] == 0) & (trace["flow"] == 0)]
    shown = first[first["t"].between(WARMUP, WARMUP + SHOWN)]
    return Curve(shown["t"].to_numpy(), shown["cwnd"].to_numpy(), name)


def main() -> None:
    """Runs everything, and writes tables and picture."""
    long = [
        "| two flows | goodput, Mbit/s | utilization, % | losses, % | cuts | drops a cut "
        "| delay, ms |",
        "|---|---|---|---|---|---|---|",
    ]
    short = ["| 12 packets, idle link | completion, ms |", "|---|---|"]
    figure, axes = panels(len(PAIRS), 1.5)
    for panel, control in zip(axes, PAIRS, strict=False):
        curves = []
        for name, (traffic, transport) in sides(control).items():
            result = run({**traffic, "count": 2, "trace": True}, transport)
            long.append(long_flows(name, result))
            short.append(f"| {name} | {completion(traffic, transport):.1f} |")
            print(long[-1], short[-1], sep="\n", flush=True)
            curves.append(curve(name.partition(", ")[2], result))
        timeseries(curves, f"cwnd, {control}", "packets", axes=panel)
    PICTURE.write_text(svg(figure), encoding="utf-8")
    tables = "\n".join(["", *long, "", *short, "", ""])
    text = PAGE.read_text(encoding="utf-8")
    new = re.sub(f"{BEGIN}.*{END}", f"{BEGIN}{tables}{END}", text, flags=re.DOTALL)
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
