"""Our AQMs beside a kernel's qdiscs: the table and the picture of docs/linux-hosts.md.

    python -m benches.linux_qdiscs

Four CUBIC flows of the models, 10 Mbit/s, 20 ms, 1000 packets, no ECN; 20 s after 5 s, 6
replications. Our AQMs have the kernel's settings (marqueue.validation.linux_qdiscs). The kernel is
run with a network card that takes one packet at a time, and with byte queue limits as they are.
"""

import re
from pathlib import Path

import marqueue
from marqueue.kernels import find
from marqueue.plots import Curve, panels, svg, timeseries
from marqueue.statistics.estimates import Estimate
from marqueue.validation.linux_cases import KERNEL
from marqueue.validation.linux_qdiscs import (
    CODEL,
    CUBIC,
    FIGURES,
    FQ_CODEL,
    QDISC_CASES,
    Figure,
    QdiscCase,
)

PAGE, PICTURE = Path("docs/linux-hosts.md"), Path("docs/linux-qdiscs.svg")
BEGIN, END = "<!-- qdiscs -->\n", "<!-- end qdiscs -->"
DRAWN = "codel", "fq_codel", "pie", "dualpi2"
CASES = (
    QdiscCase("codel, 4 flows", CODEL, "codel", by_packet=False),
    QdiscCase("fq_codel, 4 flows", FQ_CODEL, "fq_codel", by_packet=False),
    *(case for case in QDISC_CASES if case.traffic == (CUBIC,) and not case.by_packet),
)
SHOWN = [figure for figure in FIGURES if figure.name != "utilization"]


def main() -> None:
    """Runs everything, and writes table and picture."""
    find(KERNEL)
    head = ["| | queue of | delay, mean, ms | delay, p99, ms | loss |", "|---|---|---|---|---|"]
    rows = []
    figure, axes = panels(len(DRAWN), 1.5)
    for case in CASES:
        usual = {key: value for key, value in case.theirs.items() if key != "ring"}
        sides = {
            "marqueue": case.ours,
            "kernel, one packet in the ring": case.theirs,
            "kernel": usual,
        }
        results = {name: marqueue.run(case.scenario(aqm)) for name, aqm in sides.items()}
        for name, result in results.items():
            texts = [shown(each, each.of(result)) for each in SHOWN]
            rows.append(f"| {case.qdisc} | {name} | {' | '.join(texts)} |")
            print(rows[-1], flush=True)
        if case.qdisc in DRAWN:
            curves = [curve(name, results[name]) for name in ("marqueue", "kernel")]
            panel = axes[DRAWN.index(case.qdisc)]
            timeseries(curves, case.qdisc, "packets", axes=panel)
    PICTURE.write_text(svg(figure), encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    table = "\n".join(["", *head, *rows, "", ""])
    new = re.sub(f"{BEGIN}.*{END}", f"{BEGIN}{table}{END}", text, flags=re.DOTALL)
    PAGE.write_text(new, encoding="utf-8")


def shown(figure: Figure, value: Estimate) -> str:
    """A cell: hundredths of milliseconds, and as much of a share."""
    digits = 2 if figure.unit == "ms" else 4
    return f"{value.mean:.{digits}f} ± {value.half_width or 0:.{digits}f}"


def curve(name: str, result: marqueue.Result) -> Curve:
    """The queue of the first replication over time."""
    series = result.tables["series"].to_pandas()
    first = series[series["replication"] == series["replication"].min()]
    return Curve(first["t"].to_numpy(), first["queue"].to_numpy(dtype=float), name)


if __name__ == "__main__":
    main()
