"""Forward error correction needed against EMKC's steady loss (section 5.3)."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
from scipy.stats import binom

from marqueue.papers.figures import PaperFigure
from marqueue.papers.mkc.setups import emkc, one_link
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Quantity, Runs, side_by_side, single
from marqueue.papers.readings import Choice
from marqueue.plots import line_plot
from marqueue.results import Result
from marqueue.scenario import Scenario
from marqueue.statistics.estimates import Floats
from marqueue.theory.mkc.lossfree import steady_loss
from marqueue.theory.mkc.paper_data import ALPHA, BETA
from marqueue.units import Rate

FLOWS = (5, 10, 20)
C = Rate.parse("10 Mbit/s")
RTTS = ("20 ms", "40 ms", "60 ms", "80 ms")
#: Packets of a block, and the required share of blocks received whole.
BLOCK, WHOLE = 100, 0.99
WARMUP = 15.0


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """A set-up per number of flows, in equal shares from the start; the largest with jitter,
    too."""
    most = max(FLOWS)
    return {str(n): flows(n) for n in FLOWS} | {"jitter": flows(most, JITTER)}


#: Jitter without reordering on the hosts' links: about three packets of a flow of 20.
JITTER = 'topology.access={rate="1 Gbit/s", delay="5 ms", jitter="5 ms"}'


def flows(n: int, *overrides: str) -> Scenario:
    """``n`` EMKC flows over round-trip times of 20 to 80 ms."""
    count = min(n, len(RTTS))
    return one_link(
        f"EMKC, {n} flows, every packet traced{', with jitter' * bool(overrides)}",
        emkc(f"{ALPHA:g} bit/s", BETA),
        rates=[f"{C.base / n:.0f} bit/s"] * count,
        rtts=RTTS[:count],
        each=[(n + i) // count for i in range(count)],
        overrides=["duration=25 s", f"warmup={WARMUP:g} s", *overrides],
        trace=True,
        aqm={"name": "mkc", "delta": "100 ms"},
    )


def lost_of_blocks(run: Result) -> list[npt.NDArray[np.int64]]:
    """Number of packets lost at the link in each whole block of a flow, by replication.

    A block is 100 packets with consecutive numbers, from the end of the warm-up on.
    """
    seen = pl.DataFrame(run.to_arrow("trace")).filter(
        pl.col("link") == "bottleneck",
        pl.col("t") >= WARMUP,
        pl.col("kind").is_in(["depart", "drop"]),
    )
    blocks = (
        seen.with_columns(block=pl.col("seq") // BLOCK)
        .group_by("replication", "flow", "block")
        .agg(packets=pl.len(), lost=(pl.col("kind") == "drop").sum())
        .filter(pl.col("packets") == BLOCK)
    )
    by = {r: part["lost"].to_numpy() for (r,), part in blocks.group_by("replication")}
    return [by[r].astype(np.int64) for r in range(run.replications)]


def redundancy(run: Result) -> Quantity:
    """Parity packets per block with which 99% of the blocks are received whole."""
    needed = [float(np.quantile(lost, WHOLE, method="higher")) for lost in lost_of_blocks(run)]
    return single("Parity packets a block of 100", "EMKC", needed)


def independent(n: int) -> float:
    """The same for independent losses with the loss ratio of the fixed point."""
    return float(binom.ppf(WHOLE, BLOCK, steady_loss(C.base, n, ALPHA, BETA)))


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Parity needed, the excess over independent losses, and the parity with jitter."""
    parity = side_by_side({float(n): redundancy(runs[str(n)]) for n in FLOWS}, "N")
    expected = np.array([independent(n) for n in FLOWS])
    excess = Quantity(
        "Parity beyond independent losses", "EMKC", parity.values - expected, "", "N", parity.places
    )
    return {
        "fec.parity": parity,
        "fec.excess": excess,
        "fec.parity.jitter": redundancy(runs["jitter"]),
    }


def draw(runs: Runs, _: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """Share of blocks that lose more than a number of packets, with that of independent losses."""
    number = np.arange(21.0)
    curves: dict[str, tuple[Floats, Floats]] = {}
    marks: dict[str, tuple[Floats, Floats]] = {}
    rows = []
    for n in FLOWS:
        lost = np.concatenate(lost_of_blocks(runs[str(n)]))
        measured = np.array([float((lost > k).mean()) for k in number])
        loss = steady_loss(C.base, n, ALPHA, BETA)
        theory = np.asarray(binom.sf(number, BLOCK, loss), dtype=float)
        curves[f"{n} flows"], marks[f"{n} flows"] = (number, theory), (number, measured)
        rows += [
            {"N": n, "parity": int(k), "independent": float(i), "measured": float(m)}
            for k, i, m in zip(number, theory, measured, strict=True)
        ]
    figure = line_plot(curves, "Parity packets a block", "Blocks not recovered", marks=marks)
    return [
        PaperFigure(
            "Forward error correction",
            "Share of blocks of 100 packets that lose more than so many. Marks: EMKC by packets, "
            "all replications; lines: independent losses at the loss ratio of the fixed point.",
            figure,
            pa.Table.from_pylist(rows),
        )
    ]


EXPERIMENT = Experiment(
    readings=(
        "C = 10 Mbit/s, alpha = 10 kbit/s, beta = 0.5, packets of 200 bytes, round-trip times of "
        "20 to 80 ms, Delta = 100 ms. A block is 100 packets of a flow; it is complete if no more "
        "packets are lost than there are parity packets. The paper gives the amount only in "
        "words.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
