"""Steady loss by the number of flows, under EMKC and with adaptive prices."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from marqueue.papers.figures import PaperFigure
from marqueue.papers.mkc.measures import computed, swept
from marqueue.papers.mkc.setups import emkc, one_link
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import FIGURES, Quantities, Quantity, Runs, single
from marqueue.papers.readings import Choice
from marqueue.plots import line_plot, panels, style
from marqueue.results import Result
from marqueue.scenario import Scenario
from marqueue.theory.mkc.lossfree import steady_loss as closed_form
from marqueue.theory.mkc.paper_data import ALPHA, BETA, steady_loss

#: Numbers of flows in the packet simulation.
FLOWS = (1, 5, 20, 100)
C = 10e6
ROUTERS = {"emkc": "mkc", "free": "mkc_lossfree"}
CALLED = {"emkc": "EMKC", "free": "adaptive price"}
RTTS = ("20 ms", "40 ms", "60 ms", "80 ms")


#: Numbers of flows at which EMKC is compared with AIMD, and C grows with N.
COMPARED = (5, 10, 20, 40)
#: Capacity per flow where C grows with N, Mbit/s.
PER_FLOW = 0.5
#: AIMD with EMKC's alpha and beta: packets of 200 bytes a second, an interval as long.
AIMD = {"name": "aimd", "alpha": f"{ALPHA / 1600:g} /s", "beta": 1 - BETA, "interval": "100 ms"}


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per router and number of flows; AIMD on droptail; EMKC with C in proportion to N,
    and with a price of a capacity that is lower by N alpha / beta."""
    every = {f"{kind}-{n}": flows(kind, n) for kind in ROUTERS for n in {*FLOWS, *COMPARED}}
    aimd = {f"aimd-{n}": sharing(n, AIMD, "droptail", f"AIMD, {n} flows", C) for n in COMPARED}
    grown = {
        f"grown-{n}": sharing(
            n,
            emkc(f"{ALPHA:g} bit/s", BETA),
            {"name": "mkc", "delta": "100 ms"},
            f"EMKC, {n} flows of {PER_FLOW:g} Mbit/s",
            n * PER_FLOW * 1e6,
        )
        for n in COMPARED
    }
    offset = {
        f"offset-{n}": sharing(
            n,
            emkc(f"{ALPHA:g} bit/s", BETA),
            {"name": "mkc", "delta": "100 ms", "share": 1 - n * ALPHA / (BETA * C)},
            f"EMKC, {n} flows, price of C - N alpha / beta",
            C,
        )
        for n in COMPARED
    }
    return every | aimd | grown | offset | {"long": flows("emkc", max(FLOWS), delta="400 ms")}


def flows(kind: str, n: int, delta: str = "100 ms") -> Scenario:
    """EMKC flows under a router."""
    aqm = {"name": ROUTERS[kind], "delta": delta}
    name = f"{CALLED[kind]}, {n} flows, intervals of {delta}"
    return sharing(n, emkc(f"{ALPHA:g} bit/s", BETA), aqm, name, C)


def sharing(
    n: int, law: Mapping[str, Any], aqm: str | Mapping[str, Any], name: str, capacity: float
) -> Scenario:
    """Flows that start with equal shares; measured over the last 10 s of 40 s."""
    count = min(n, len(RTTS))
    return one_link(
        name,
        law,
        rates=[f"{capacity / n:.0f} bit/s"] * count,
        rtts=RTTS[:count],
        each=[(n + i) // count for i in range(count)],
        overrides=["duration=40 s", "warmup=30 s"],
        aqm=aqm,
        rate=f"{capacity:.0f} bit/s",
    )


def of_link(run: Result, of: str, figure: str, scale: float = 1.0) -> Quantity:
    """A figure of the link."""
    taken = FIGURES[figure]
    return single(taken.label, of, [scale * taken.value(w) for w in run.link().windows()])


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Loss ratios in percent, of maps and packets, and the excess of EMKC's over the formula."""
    out = {}
    for kind, of in CALLED.items():
        found = steady_loss(kind == "free")
        out[f"loss.map.{kind}"] = replace(
            computed(
                "Loss",
                f"{of}, map",
                dict(zip(found.sources, 100 * found.iterated, strict=True)),
                "N",
            ),
            unit="%",
        )
        names = {float(n): f"{kind}-{n}" for n in FLOWS}
        out[f"loss.packets.{kind}"] = replace(
            swept(runs, names, "N", partial(of_link, of=of, figure="loss_ratio", scale=100.0)),
            label="Loss",
            of=f"{of}, packets",
            unit="%",
        )
        out[f"utilization.{kind}"] = swept(
            runs, names, "N", partial(of_link, of=of, figure="utilization")
        )
    for by in ("map", "packets"):
        out[f"loss.{by}"] = out[f"loss.{by}.emkc"]
        out[f"excess.{by}"] = beyond_formula(out[f"loss.{by}"])
    out |= against_aimd(runs)
    long = replace(
        of_link(runs["long"], "EMKC, packets, Delta = 400 ms", "loss_ratio", 100.0),
        unit="%",
        variable="N",
        places=(float(max(FLOWS)),),
    )
    out["loss.packets.long"], out["excess.packets.long"] = long, beyond_formula(long)
    # Beyond N = gamma C beta / alpha = 490 no price of at most 1 avoids loss.
    free = out["loss.map.free"]
    kept = [i for i, n in enumerate(free.places) if n <= max(FLOWS)]
    out["loss.map.free"] = replace(
        free, values=free.values[:, kept], places=tuple(free.places[i] for i in kept)
    )
    return out


def against_aimd(runs: Runs) -> dict[str, Quantity]:
    """Losses of EMKC and AIMD at the same numbers of flows, and of EMKC with C in proportion to
    N, and with a price of C - N alpha / beta."""
    kinds = {
        "emkc": "EMKC",
        "aimd": "AIMD on droptail",
        "grown": "EMKC, C = N 0.5 Mbit/s",
        "offset": "EMKC, price of C - N alpha / beta",
    }
    out = {}
    for kind, of in kinds.items():
        names = {float(n): f"{kind}-{n}" for n in COMPARED}
        found = swept(runs, names, "N", partial(of_link, of=of, figure="loss_ratio", scale=100.0))
        out[f"compared.{kind}"] = replace(found, label="Loss", unit="%")
    losses = out["compared.aimd"]
    out["doubled.aimd"] = replace(
        losses,
        label="Loss over that of half as many flows",
        values=losses.values[:, 1:] / losses.values[:, :-1],
        unit="",
        places=losses.places[1:],
    )
    out["constant.grown"] = replace(
        out["compared.grown"],
        label="Loss over that of five flows",
        values=out["compared.grown"].values / out["compared.grown"].values[:, :1],
        unit="",
    )
    return out


def beyond_formula(loss: Quantity) -> Quantity:
    """Excess of a loss over N alpha / (C beta + N alpha), percentage points."""
    expected = [100 * closed_form(C, int(n), ALPHA, BETA) for n in loss.places]
    return replace(loss, label="Loss beyond the formula", values=loss.values - np.array(expected))


def draw(_: Runs, quantities: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """Formula, maps and packets in one figure."""
    figure, [axes] = panels()
    curves, maps, rows = {}, {}, []
    for kind, of in CALLED.items():
        found = steady_loss(kind == "free")
        curves[of] = (found.sources, 100 * found.theory)
        maps[of] = (found.sources, 100 * found.iterated)
        rows += [
            {"of": of, "N": n, "theory": t, "map": m}
            for n, t, m in zip(found.sources, 100 * found.theory, maps[of][1], strict=True)
        ]
    line_plot(curves, "Flows N", "Steady loss", "%", marks=maps, log="x", axes=axes)
    for kind, color in zip(CALLED, style.COLORS, strict=False):
        packets = quantities[f"loss.packets.{kind}"]
        means = [estimate.mean for estimate in packets.estimates]
        axes.plot(packets.places, means, "D", color=color, fillstyle="none", markersize=9)
        rows += [
            {"of": packets.of, "N": n, "packets": mean}
            for n, mean in zip(packets.places, means, strict=True)
        ]
    keys = ("of", "N", "theory", "map", "packets")
    return [
        PaperFigure(
            "Steady loss",
            "Lines: closed forms; full marks: maps; diamonds: packets, means of the replications. "
            "C = 10 Mbit/s, alpha = 10 kbit/s, beta = 0.5.",
            figure,
            pa.Table.from_pylist([{key: row.get(key) for key in keys} for row in rows]),
        )
    ]


EXPERIMENT = Experiment(
    readings=(
        "C = 10 Mbit/s, alpha = 10 kbit/s, beta = 0.5. Maps: delays of 1 to 10 steps, the last 100 "
        "of 3000. Packets: 200 bytes, round-trip times of 20 to 80 ms, Delta = 100 ms, the last "
        "10 s of 40 s. AIMD adds as much in as long an interval and halves its rate; the paper "
        "does not simulate it here. The adaptive price aims at gamma = 0.98, with a "
        "gain of 0.05 by packets.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
    found=(
        "To lose nothing, the gain of V must be chosen for the longest delay. MKC itself does not "
        "need this: docs/theory/mkc.md has the condition and its proof.",
    ),
)
