"""Models between the chain and packets: each replaces some assumptions of the chain by TCP's
behaviour.

The flows are simulated packet by packet (``crates/theory/src/packet_level_chain.rs``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import marqueue._core as _core
from marqueue.statistics.estimates import Estimate
from marqueue.theory.marking_chain.model import Model

Floats = npt.NDArray[np.float64]

EVERY = 0.1
"""Interval of samples of all windows, in T: the paper's 20 ms of 200 ms."""

CHUNK = 100
"""Samples between two checks for Ctrl-C."""


@dataclass(frozen=True)
class Assumptions:
    """The assumptions of the chain that are kept or replaced."""

    sending: str
    """How a flow sends, and when it reacts to marks. rounds: at the end of its own round trip, as
    in the chain; poisson: at random instants, a round trip after each mark; ack_clocked: the same,
    with packets clocked by acknowledgements."""
    queue: str
    """The queue that packets meet. stationary: a queue for each packet, M/M/1 in equilibrium at
    the present load; mm1 or md1: one shared queue."""
    adds_delay: bool = False
    """Whether queueing adds to round-trip times."""


@dataclass(frozen=True)
class Figures:
    """Figures of a simulation."""

    h: Estimate
    """Var(sum W_i) / sum Var(W_i)."""
    utilization: Estimate


def spread_rtts(half: float, classes: int = 16) -> list[float]:
    """Round-trip times over T, spaced evenly from 1 - ``half`` to 1 + ``half``."""
    return [1 + half * (2 * (i + 0.5) / classes - 1) for i in range(classes)]


def simulate_packet_level_chain(
    model: Model,
    assumptions: Assumptions,
    rtts: list[float],
    length: int,
    warm_up: int,
    replications: int,
    seed: int = 1,
) -> Figures:
    """Simulates the flows of ``model`` for ``length`` T after ``warm_up`` T.

    Queue and round-trip times are those of ``assumptions`` and ``rtts``, not of ``model``. Flows
    are distributed evenly over ``rtts``. Replication i draws from the stream ``hybrid/i``.
    """
    k = len(rtts)
    shares = [model.flows // k + (i < model.flows % k) for i in range(k)]
    found = [
        _once(
            _core.PacketLevelChain(
                model.scaled,
                assumptions.sending,
                assumptions.queue,
                assumptions.adds_delay,
                list(zip(shares, rtts, strict=True)),
                model.ct,
                float(model.window),
                seed,
                f"hybrid/{i}",
            ),
            model.flows * model.ct,
            length,
            warm_up,
        )
        for i in range(replications)
    ]
    h, utilization = zip(*found, strict=True)
    return Figures(Estimate.of(h), Estimate.of(utilization))


def _once(
    flows: _core.PacketLevelChain, pipe: float, length: int, warm_up: int
) -> tuple[float, float]:
    _run(flows, round(warm_up / EVERY))
    before = flows.entered
    n = round(length / EVERY)
    sums, first, second = _run(flows, n)
    alone = float((second / n - (first / n) ** 2).sum())
    h = float(sums.var()) / alone if alone > 0 else np.nan
    return h, (flows.entered - before) / (pipe * length)


def _run(flows: _core.PacketLevelChain, samples: int) -> tuple[Floats, Floats, Floats]:
    parts = [flows.run(min(CHUNK, samples - at), EVERY) for at in range(0, samples, CHUNK)]
    sums, first, second = zip(*parts, strict=True) if parts else ((np.zeros(0),),) * 3
    return np.concatenate(sums), np.sum(first, axis=0), np.sum(second, axis=0)
