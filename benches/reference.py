"""Makes tests/reference/ns2: measurements by ns-2, for tests on machines without ns-2.

python -m benches.reference
"""

import json
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benches.papers import EXPERIMENT_1, EXPERIMENT_1_UNTIED, EXPERIMENT_2, TIES
from marqueue import ns2
from marqueue.ns2.case import Case, avq, droptail, red
from marqueue.ns2.simulator_output import FIGURES, ns2_output

REFERENCE = Path(__file__).parents[1] / "tests" / "reference" / "ns2"

ONE_FLOW = {
    "droptail": replace(
        Case("one flow", droptail(30), ecn=False, flows=1, rtts=(0.104,), jitter=0.0),
        duration=30.0, edges=(), delay=0.05, far=0.001, access=100_000_000,
    )
}  # fmt: skip
ONE_FLOW["red"] = replace(ONE_FLOW["droptail"], queue=red(30, 5, 15), ecn=True)
ONE_FLOW["avq"] = replace(ONE_FLOW["droptail"], queue=avq(30), ecn=True)

SEEDS = (1, 2, 3)
"""Of ns-2."""

APART = 0.5
"""Losses or marks that are further apart belong to different bursts, s."""


def main() -> None:
    write("experiment1", sides([EXPERIMENT_1, EXPERIMENT_1_UNTIED]))
    write("experiment2", sides(EXPERIMENT_2))
    write("ties", sides(TIES))
    write(
        "one_flow",
        {
            f"{tcp}, {queue}": one_flow(replace(case, tcp=tcp))
            for queue, case in ONE_FLOW.items()
            for tcp in ("reno", "newreno", "sack")
        },
    )


def write(name: str, data: Any) -> None:
    """Writes data with their origin."""
    version = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", ns2.PACKAGE],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    made = {"made by": "python -m benches.reference", "ns-2": f"Debian's {ns2.PACKAGE} {version}"}
    lines = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in (made | data).items())
    (REFERENCE / f"{name}.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def sides(cases: Iterable[Case]) -> dict[str, Any]:
    """Means over the seeds by case and window."""
    return {"seeds": SEEDS} | {case.name: windows(case) for case in cases}


def windows(case: Case) -> list[dict[str, float]]:
    """The means of each window."""
    return [
        {"begin": side.begin, "end": side.end}
        | {name: round(getattr(side, name).mean, 6) for name in FIGURES}
        for side in ns2_output([ns2.run(case.ns2_arguments(seed)) for seed in SEEDS])
    ]


def one_flow(case: Case) -> dict[str, Any]:
    """Bursts of losses and marks at the bottleneck, and the window after each reduction."""
    with tempfile.TemporaryDirectory() as directory:
        packets, windows = Path(directory, "packets"), Path(directory, "windows")
        files = {"trace": str(packets), "windows": str(windows)}
        run = ns2.run(case.ns2_arguments(seed=1) | files)
        drops, marks = losses_and_marks(packets.read_text().splitlines())
        cuts = window_cuts(windows.read_text().splitlines())
    return {
        "arrivals": sum(w.arrivals for w in run.windows),
        "departures": run.departures,
        "drops": bursts(drops),
        "marks": bursts(marks),
        "cuts": cuts,
    }


def losses_and_marks(lines: Sequence[str]) -> tuple[list[float], list[float]]:
    """Arrival times of packets that were lost, and of packets that left marked ("E" among the
    flags)."""
    arrived: dict[str, float] = {}
    drops, marks = [], []
    for line in lines:
        event, t, _, _, _, _, flags, *_, packet = line.split()
        if event == "+":
            arrived[packet] = float(t)
        elif event == "d":
            drops.append(arrived[packet])
        elif event == "-" and "E" in flags:
            marks.append(arrived[packet])
    return drops, sorted(marks)


def bursts(times: Sequence[float]) -> list[tuple[float, int]]:
    """Start and size of each burst."""
    out: list[tuple[float, int]] = []
    last = float("-inf")
    for t in times:
        if t - last > APART:
            out.append((t, 1))
        else:
            out[-1] = (out[-1][0], out[-1][1] + 1)
        last = t
    return out


def window_cuts(lines: Sequence[str]) -> list[tuple[float, float, float]]:
    """Time, window before and window after each decrease of cwnd."""
    cuts, before = [], 0.0
    for line in lines:
        words = line.split()
        if words[5] != "cwnd_":
            continue
        t, after = float(words[0]), float(words[6])
        if after < before:
            cuts.append((t, before, after))
        before = after
    return cuts


if __name__ == "__main__":
    main()
