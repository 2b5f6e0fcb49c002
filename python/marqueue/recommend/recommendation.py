"""Simulates the candidates at the corners and in the middle of the ranges, and decides.

Every candidate has the same seeds at a point (common random numbers). It meets the goals if each
goal is met at each point by the 95 % interval over replications, and fails if one is missed by it.
Candidates are ordered by their least margin.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from marqueue.errors import RunError
from marqueue.recommend.candidates import Candidate, candidates, not_tried
from marqueue.recommend.goals import Goal, Verdict
from marqueue.recommend.linux_tc import tc_commands
from marqueue.recommend.mixes import groups
from marqueue.recommend.question import LINK, PACKET, Ecn, Question
from marqueue.results import CONFIDENCE, ChosenFigure, Result, Subject
from marqueue.results.provenance import Circumstances, here
from marqueue.scenario import Scenario, from_dict
from marqueue.simulation.executor import Progress
from marqueue.simulation.run import run_each
from marqueue.statistics.estimates import Estimate

#: Access links are faster than the bottleneck by this factor, and at least so fast, bit/s.
ACCESS, ACCESS_LEAST = 10, 1e9
#: The share of the shortest round trip on each side that is the bottleneck's.
SHARED = 1 / 8
#: Figures of the picture: utilization and a delay of the link.
ACROSS, UP = "utilization", "delay_p99"


@dataclass(frozen=True)
class Effort:
    """How long and how often each point is simulated."""

    warmup: float
    """s."""
    measured: float
    """s, at most."""
    replications: int
    packets: float
    """Packets through the link over all runs, at most; runs become shorter to keep to it."""


#: 100 million packets take about two CPU minutes.
QUICK = Effort(warmup=10.0, measured=20.0, replications=4, packets=1.0e8)
FULL = Effort(warmup=20.0, measured=100.0, replications=10, packets=4.0e9)
#: Measured time in the largest round trips, at least.
LEAST_ROUND_TRIPS = 50


@dataclass(frozen=True)
class Point:
    """Round trips and a number of users."""

    name: str
    rtts: tuple[float, ...]
    """s; users are spread evenly over them."""
    users: int


@dataclass(frozen=True)
class Measured:
    """A candidate at a point."""

    point: Point
    scenario: Scenario
    figures: Mapping[ChosenFigure, Estimate]
    """In base units."""


@dataclass(frozen=True)
class Judged:
    """A candidate with its figures at all points."""

    candidate: Candidate
    goals: tuple[Goal, ...]
    points: tuple[Measured, ...]

    @cached_property
    def verdict(self) -> Verdict:
        """Over all goals and points."""
        found = {goal.verdict(at.figures[goal.chosen]) for goal in self.goals for at in self.points}
        if "fails" in found:
            return "fails"
        return "not decided" if "not decided" in found else "meets"

    def worst(self, goal: Goal) -> Measured:
        """The point at which the margin to a goal is least."""
        return min(self.points, key=lambda at: goal.margin(at.figures[goal.chosen]))

    def margin(self, goal: Goal) -> float:
        """The least margin to a goal."""
        return goal.margin(self.worst(goal).figures[goal.chosen])

    @property
    def least(self) -> Goal:
        """The goal with the least margin."""
        return min(self.goals, key=self.margin)

    @property
    def safety(self) -> float:
        """The least margin to any goal."""
        return self.margin(self.least)


@dataclass(frozen=True)
class Recommendation:
    """All candidates, the best first."""

    asked: Question
    seed: int
    effort: Effort
    judged: tuple[Judged, ...]
    seconds: tuple[float, float]
    """Warm-up and measured time of each run, s."""
    made: Circumstances

    @property
    def winner(self) -> Judged | None:
        """The candidate that meets all goals with the largest least margin."""
        first = self.judged[0]
        return first if first.verdict == "meets" else None

    @property
    def commands(self) -> tuple[str, ...] | None:
        """The commands for Linux of the winner, or of the best; None where Linux lacks it."""
        best = self.judged[0].candidate
        ecn = self.asked.ecn is not Ecn.NONE
        return tc_commands(best.aqm, best.buffer, PACKET, self.asked.rate, ecn=ecn)

    @property
    def not_tried(self) -> dict[str, str]:
        """The AQMs that were not tried, with reasons."""
        return not_tried([each.candidate.name for each in self.judged], self.asked.ecn)


def recommend(
    asked: Question,
    names: Sequence[str] | None = None,
    *,
    effort: Effort = FULL,
    seed: int = 1,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Recommendation:
    """Simulates the candidates with these names, by default those of
    :data:`marqueue.recommend.candidates.DEFAULT`.

    Raises RunError for an unknown name, and if the link is too fast for the effort.
    """
    tried = candidates(asked, names)
    places = points(asked)
    warmup, measured = times(asked, effort, len(tried) * len(places))
    scenarios = [
        _scenario(asked, each, at, effort, seed, (warmup, measured))
        for each in tried
        for at in places
    ]
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    started = time.perf_counter()
    done = run_each(scenarios, jobs=jobs, progress=progress)
    cpu = sum(each.provenance.circumstances.cpu_seconds for each in done)
    made = here(started_at, time.perf_counter() - started, cpu, 0)
    results = iter(done)
    runs = iter(scenarios)
    wanted = _figures(asked)
    judged = [
        Judged(
            candidate,
            asked.goals,
            tuple(Measured(at, next(runs), _estimates(next(results), wanted)) for at in places),
        )
        for candidate in tried
    ]
    rank: dict[Verdict, int] = {"meets": 0, "not decided": 1, "fails": 2}
    judged.sort(key=lambda each: (rank[each.verdict], -each.safety))
    return Recommendation(asked, seed, effort, tuple(judged), (warmup, measured), made)


def points(asked: Question) -> list[Point]:
    """The corners of the ranges, each with one round trip, and the middle, with the shortest, the
    middle and the longest round trip together."""
    corners = [
        Point(f"{1e3 * rtt:.4g} ms, {flows:.0f} flows", (rtt,), round(flows))
        for rtt in asked.rtt.ends
        for flows in asked.flows.ends
    ]
    if len(corners) == 1:
        return corners
    rtts = asked.rtt.ends if len(asked.rtt.ends) == 1 else (
        asked.rtt.low, asked.rtt.middle, asked.rtt.high
    )  # fmt: skip
    users = round(asked.flows.middle)
    return [*corners, Point(f"all round trips, {users} flows", rtts, users)]


def times(asked: Question, effort: Effort, runs: int) -> tuple[float, float]:
    """Warm-up and measured time of each run, s, so that all runs together keep to the effort.

    Raises RunError if the runs would be shorter than :data:`LEAST_ROUND_TRIPS`.
    """
    total = effort.packets / (runs * effort.replications * asked.capacity)
    whole = min(effort.warmup + effort.measured, total)
    measured = whole * effort.measured / (effort.warmup + effort.measured)
    least = LEAST_ROUND_TRIPS * asked.rtt.high
    if measured < least and whole < effort.warmup + effort.measured:
        most = asked.rate * measured / least
        raise RunError(
            f"--rate: got {asked.rate / 1e6:.6g} Mbit/s, at which "
            f"{runs * effort.replications} runs of {LEAST_ROUND_TRIPS} round trips exceed "
            f"{effort.packets:.3g} packets, expected at most {most / 1e6:.4g} Mbit/s, fewer AQMs, "
            "or no --quick"
        )
    measured = max(measured, least)
    return whole * effort.warmup / (effort.warmup + effort.measured), measured


def _scenario(
    asked: Question,
    candidate: Candidate,
    at: Point,
    effort: Effort,
    seed: int,
    seconds: tuple[float, float],
) -> Scenario:
    warmup, measured = seconds
    wait = f"{asked.rtt.low * SHARED:.9f} s"
    return from_dict(
        {
            "name": f"{candidate.name} at {at.name}",
            "description": f"{candidate.origin}. Written by marqueue recommend.",
            "duration": f"{warmup + measured:.6f} s",
            "warmup": f"{warmup:.6f} s",
            "sample": "0 s",
            "seed": seed,
            "replications": effort.replications,
            "topology": {
                "kind": "dumbbell",
                "rtts": [f"{rtt:.9f} s" for rtt in at.rtts],
                "access": {"rate": f"{max(ACCESS * asked.rate, ACCESS_LEAST):.0f} bit/s"},
                LINK: {
                    "rate": f"{asked.rate:.0f} bit/s",
                    "delay": wait,
                    "buffer": f"{candidate.buffer} packets",
                    "packet": f"{PACKET} B",
                    "signal": "drop" if asked.ecn is Ecn.NONE else "ecn",
                    "aqm": dict(candidate.aqm),
                },
            },
            "transport": {"default": {"preset": "linux", **_SENDERS[asked.ecn]}},
            "traffic": groups(asked.rate, at.users, asked.mix),
        }
    )


_SENDERS: Mapping[Ecn, Mapping[str, Any]] = {
    Ecn.NONE: {},
    Ecn.CLASSIC: {"ecn": True},
    Ecn.L4S: {"control": "prague", "ecn": True},
}


def _figures(asked: Question) -> list[ChosenFigure]:
    link = Subject("link", LINK)
    shown = [ChosenFigure(link, link.figures[name]) for name in (ACROSS, UP)]
    return list(dict.fromkeys([*(goal.chosen for goal in asked.goals), *shown]))


def _estimates(result: Result, wanted: Sequence[ChosenFigure]) -> dict[ChosenFigure, Estimate]:
    return {each: each.figure.estimate(each.subject.samples(result), CONFIDENCE) for each in wanted}


def summary(found: Recommendation) -> dict[str, Any]:
    """All figures in base units, ready for JSON."""
    asked = found.asked
    return {
        "question": {
            "rate": asked.rate,
            "rtt": [asked.rtt.low, asked.rtt.high],
            "flows": [asked.flows.low, asked.flows.high],
            "mix": list(asked.mix),
            "ecn": asked.ecn.value,
            "goals": [goal.text for goal in asked.goals],
        },
        "seed": found.seed,
        "replications": found.effort.replications,
        "warmup": found.seconds[0],
        "measured": found.seconds[1],
        "confidence": CONFIDENCE,
        "winner": found.winner.candidate.name if found.winner else None,
        "tc": list(found.commands) if found.commands else None,
        "candidates": [_judged(each) for each in found.judged],
        "not_tried": found.not_tried,
    }


def _judged(each: Judged) -> dict[str, Any]:
    return {
        "name": each.candidate.name,
        "aqm": dict(each.candidate.aqm),
        "buffer_packets": each.candidate.buffer,
        "origin": each.candidate.origin,
        "verdict": each.verdict,
        "margin": _finite(each.safety),
        "goals": [
            {
                "goal": goal.text,
                "worst_point": each.worst(goal).point.name,
                "worst": each.worst(goal).figures[goal.chosen].as_dict(),
                "margin": _finite(each.margin(goal)),
            }
            for goal in each.goals
        ],
        "points": [
            {
                "point": at.point.name,
                "figures": {
                    _name(chosen): estimate.as_dict() for chosen, estimate in at.figures.items()
                },
                "verdicts": {
                    goal.text: goal.verdict(at.figures[goal.chosen]) for goal in each.goals
                },
            }
            for at in each.points
        ],
    }


def _name(chosen: ChosenFigure) -> str:
    named = chosen.subject.kind == "group"
    return f"{chosen.subject.name}.{chosen.figure.name}" if named else chosen.figure.name


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
