"""The criteria of the evaluation, in one place, each with its reason.

Comparisons with drop-tail and limits from the laws of the senders where there is one; what other
suites limit too is in :mod:`marqueue.evaluation.limits`.
"""

from __future__ import annotations

from marqueue.evaluation.criterion import Beside, Criterion, Side
from marqueue.evaluation.limits import UNEVEN, WEAKER


def shorter(measure: str = "delay_mean", run: str = "") -> Criterion:
    """Half of drop-tail's standing queue."""
    return Criterion(
        measure, Side.AT_MOST, 0.5,
        "An AQM is there to shorten the standing queue; less than half of it is a clear effect.",
        Beside.BASELINE, run,
    )  # fmt: skip


def keeps(measure: str = "goodput", run: str = "") -> Criterion:
    """Nine tenths of drop-tail's goodput."""
    return Criterion(
        measure, Side.AT_LEAST, 0.9,
        "RFC 7928, section 2: any impact on goodput must be considered. A tenth is the most that "
        "shorter queues may cost several flows.",
        Beside.BASELINE, run,
    )  # fmt: skip


def keeps_of_one_reno(measure: str = "goodput", run: str = "") -> Criterion:
    """Three quarters for a single Reno flow."""
    return Criterion(
        measure, Side.AT_LEAST, 0.75,
        "A Reno flow that halves its window at the pipe's size, and so never queues, uses 3/4 of "
        "it: the mean of a saw tooth from 1/2 to 1.",
        Beside.BASELINE, run,
    )  # fmt: skip


def keeps_of_one_cubic(measure: str = "goodput") -> Criterion:
    """The same for CUBIC."""
    return Criterion(
        measure, Side.AT_LEAST, 0.925,
        "A CUBIC flow that cuts its window to 0.7 at the pipe's size, and so never queues, uses "
        "1 - 0.3/4 of it: the mean of its cubic curve from 0.7 to 1.",
        Beside.BASELINE,
    )  # fmt: skip


def no_slower(measure: str) -> Criterion:
    """No slower than with drop-tail."""
    return Criterion(
        measure, Side.AT_MOST, 1.0,
        "Beside bulk traffic, short transfers wait in the queue: a shorter one must not make them "
        "slower.",
        Beside.BASELINE,
    )  # fmt: skip


def burst_passes() -> Criterion:
    """A burst into an empty buffer is not dropped."""
    return Criterion(
        "loss_ratio", Side.AT_MOST, 0.001,
        "RFC 7567: bursts should be accommodated without drops. A page fits the buffer when "
        "there is "
        "no bulk traffic: one packet in a thousand is the most.",
    )  # fmt: skip


def burst_no_slower(measure: str) -> Criterion:
    """Without bulk traffic a page takes about as long as under drop-tail."""
    return Criterion(
        measure, Side.AT_MOST, 1.1,
        "Without bulk traffic there is no standing queue to shorten, so an AQM can only cost time: "
        "a tenth at most.",
        Beside.BASELINE,
    )  # fmt: skip


def less_loss_than_law() -> Criterion:
    """At most four times drop-tail's loss."""
    return Criterion(
        "loss_ratio", Side.AT_MOST, 4.0,
        "Loss is 0.76 N²/S² (section 8.2.1). Without any queue S is the bandwidth-delay product, "
        "half of drop-tail's sum here, which loses four times as much.",
        Beside.BASELINE,
    )  # fmt: skip


def no_more_synchronized() -> Criterion:
    """Flows lose at most as often together as with drop-tail."""
    return Criterion(
        "synchronization", Side.AT_MOST, 1.0,
        "Section 2.4: one goal of an AQM is that flows do not lose together as at a full buffer.",
        Beside.BASELINE,
    )  # fmt: skip


def as_fair() -> Criterion:
    """Equal flows get equal shares, about as with drop-tail."""
    return Criterion(
        "jain", Side.AT_LEAST, UNEVEN.value,
        f"Section 6.1: an AQM may cause unfairness between equal flows; {UNEVEN.because}.",
        Beside.BASELINE,
    )  # fmt: skip


def rtt_exponent() -> Criterion:
    """Goodput falls with the round-trip time as for losses that are not synchronized."""
    return Criterion(
        "exponent", Side.AT_MOST, 1.5,
        "Goodput falls as RTT^-e. Lakshman and Madhow 1997: e = 1 if both flows lose the same "
        "share "
        "of packets, 2 if they lose together. The limit is in the middle.",
    )  # fmt: skip


def equal_shares() -> Criterion:
    """Of two equal flows the weaker one has four fifths of the other."""
    return Criterion(
        "weaker over stronger", Side.AT_LEAST, WEAKER.value,
        "Section 6.1: flows with the same round-trip time may still be treated unequally; "
        f"{WEAKER.because}.",
    )  # fmt: skip


def responsive_share(measure: str) -> Criterion:
    """TCP beside UDP gets half of what UDP leaves."""
    return Criterion(
        measure, Side.AT_LEAST, 0.5,
        "Section 5.3 asks whether the responsive part is kept under control. Of the capacity that "
        "UDP leaves, TCP should get half at least.",
    )  # fmt: skip


def under_overload() -> Criterion:
    """The link stays full under overload."""
    return Criterion(
        "utilization", Side.AT_LEAST, 0.98,
        "The load is above the capacity, so an AQM that drops no more than the excess keeps the "
        "link full.",
    )  # fmt: skip


def less_than_best_effort() -> Criterion:
    """LEDBAT gets no more than TCP."""
    return Criterion(
        "reno over ledbat", Side.AT_LEAST, 1.0,
        "RFC 6297: such a transport has less impact on TCP than TCP itself, so it takes no more.",
    )  # fmt: skip


def after_a_step_up(measure: str) -> Criterion:
    """Goodput after the capacity grew tenfold."""
    return Criterion(
        measure, Side.AT_LEAST, 0.6,
        "Each of the flows adds a packet in a round trip: from a pipe of 10 to one of 100 Mbit/s "
        "in "
        "12.5 s, in which they use 55% in the mean, and 70% of the phase. Drop-tail's buffer held "
        "the packets that fill the larger pipe at once.",
        Beside.BASELINE,
    )  # fmt: skip


def under_fast_changes() -> Criterion:
    """Goodput with a capacity that changes within a round trip."""
    return Criterion(
        "goodput", Side.AT_LEAST, 0.75,
        "The capacity changes within a round trip, to which no sender can react: drop-tail's "
        "buffer "
        "fills the gaps. A quarter is what a shorter one may cost.",
        Beside.BASELINE,
    )  # fmt: skip


def voice_loss() -> Criterion:
    """Voice loses one packet in a hundred at most."""
    return Criterion(
        "loss of voice", Side.AT_MOST, 0.01,
        "Codecs conceal single losses; above about one packet in a hundred speech suffers.",
    )  # fmt: skip


def steadier(measure: str) -> Criterion:
    """Half of drop-tail's delay variation."""
    return Criterion(
        measure, Side.AT_MOST, 0.5,
        "A receiver of voice or video waits as long as delay varies, which is the queue's length: "
        "the limit is that of the delay.",
        Beside.BASELINE,
    )  # fmt: skip


def acks_survive(measure: str) -> Criterion:
    """Acknowledgements are lost no more often than data."""
    return Criterion(
        measure, Side.AT_MOST, 1.25,
        "Section 9.2: small control packets must not be lost more often. A quarter more than data "
        "packets in the same queue is the most.",
    )  # fmt: skip


def no_favour_by_size() -> Criterion:
    """Small packets are not dropped more rarely."""
    return Criterion(
        "small over large loss", Side.AT_LEAST, 0.8,
        "RFC 7141, section 2.2: an AQM should not drop packets more rarely because they are "
        "small. A "
        "fifth is left to chance.",
    )  # fmt: skip


def marks_replace_drops(run: str) -> Criterion:
    """With ECN hardly anything is dropped."""
    return Criterion(
        "loss_ratio", Side.AT_MOST, 0.1,
        "Section 4.5: marks are there to avoid drops. Nine of ten drops should become marks.",
        Beside.MAIN, run, "mark_ratio", "it marked nothing: no support of ECN was seen",
    )  # fmt: skip


def ecn_keeps(run: str) -> Criterion:
    """ECN costs no goodput."""
    return Criterion(
        "goodput", Side.AT_LEAST, 0.95,
        "A marked packet arrives, so goodput should not fall; a twentieth is left to chance.",
        Beside.MAIN, run, "mark_ratio", "it marked nothing: no support of ECN was seen",
    )  # fmt: skip
