"""Compares the engine of the working tree with that of a commit, and names what became slower.

    python -m benches.regression [--base REV] [--pairs N]

Without ``--base`` it is the last commit if a file that git tracks was changed since, and else the
commit before the last. The program ``once`` is built of both with the same flags, among them one
that aligns blocks of code: without it, where the compiler happens to place them makes two builds
differ by up to 3 % (docs/performance/profile.md). Sources and objects are kept in
target/regression, so the next call compiles only what differs.

The dumbbells of benches/peers run in pairs, in random order within a pair, each run in a process of
its own. Figures are those of a packet, so that they can be compared if the results differ, which is
said. Two are judged:

- Instructions of a fifth of the simulated time, counted by valgrind. They are nearly the same each
  time. Without valgrind they are left out.
- CPU time of the engine: the median over pairs of its ratio, with the 95% interval by order
  statistics.

A scenario is slower by 3 % if its instructions say so, or the whole interval of its CPU time. Then
the exit code is 1, and a last line names the scenario and the figure. An interval on both sides of
3 % decides nothing: this is said, and the exit code is 0.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from benches import here
from benches.cli import Middle
from benches.peers import SPEED
from benches.record import table
from marqueue.scenario import compile

KEPT = here.ROOT / "target" / "regression"
LIMIT = 1.03
ALIGNED = "-Cllvm-args=-align-all-nofallthru-blocks=5"
"""Blocks that are jumped to begin at multiples of 32 bytes."""
LEAST_PAIRS = 6
"""The extremes of fewer are no 95% interval of the median."""
SHARE = 0.2
"""Of the simulated time, under valgrind."""
HEAD = ("scenario", "instructions a packet", "ratio", "CPU time: ratio", "3 % slower")

Plan = Mapping[str, object]


@dataclass(frozen=True)
class Comparison:
    """A scenario in the working tree relative to the base, by packet."""

    name: str
    instructions: tuple[float, float] | None
    """In the base and in the working tree; None if they were not counted."""
    time: Middle
    """Ratio of CPU times."""

    @property
    def slower(self) -> list[str]:
        """The figures that say so."""
        said = []
        if self.instructions and self.instructions[1] >= LIMIT * self.instructions[0]:
            base, now = self.instructions
            said.append(f"{now / base - 1:.1%} more instructions")
        if self.time.low >= LIMIT:
            said.append(f"{self.time} times the CPU time")
        return said

    @property
    def verdict(self) -> str:
        """For the table."""
        if self.slower:
            return "yes"
        return "undecided" if self.time.high >= LIMIT else "no"

    def cells(self) -> list[str]:
        """The row of the table."""
        counted = ["not counted", ""]
        if self.instructions:
            base, now = self.instructions
            counted = [f"{base:.1f}, now {now:.1f}", f"{now / base:.4f}"]
        time = f"{self.time.median:.3f} ({self.time.low:.3f} to {self.time.high:.3f})"
        return [self.name, *counted, time, self.verdict]


def judgement(compared: Sequence[Comparison]) -> tuple[list[str], int]:
    """The last lines, and the exit code."""
    undecided = [
        f"undecided: {each.name}: {each.time} times the CPU time"
        for each in compared
        if each.verdict == "undecided"
    ]
    slower = [f"slower: {each.name}: {', '.join(each.slower)}" for each in compared if each.slower]
    lines = undecided + slower
    return lines or ["no scenario is 3 % slower"], 1 if slower else 0


def refuse(message: str) -> NoReturn:
    """Ends with the message for a mistake of the user's."""
    print(message, file=sys.stderr)
    raise SystemExit(2)


def git(*arguments: str) -> str | None:
    """What git says; None if it fails."""
    done = subprocess.run(["git", *arguments], cwd=here.ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def commit_of(base: str | None) -> str:
    """The commit to compare with."""
    if base is None:
        base = "HEAD" if git("status", "--porcelain", "--untracked-files=no") else "HEAD~1"
    found = git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}")
    return found or refuse(f"BASE: got {base}, expected a commit of this repository")


def checkout(commit: str) -> Path:
    """The sources of a commit. By an index of its own, git writes only the files that differ from
    those of the last time, and cargo compiles no others again."""
    tree = KEPT / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["git", "--work-tree", str(tree), "read-tree", "--reset", "-u", commit],
        check=True,
        cwd=here.ROOT,
        env=os.environ | {"GIT_INDEX_FILE": str(KEPT / "index")},
    )
    return tree


def build(tree: Path, target: Path) -> Path:
    """The program ``once`` of these sources."""
    command = ["cargo", "build", "--release", "--quiet", "--locked", "--package", "marqueue-once"]
    flags = f"{os.environ.get('RUSTFLAGS', '')} {ALIGNED}".strip()
    subprocess.run(
        [*command, "--bin", "once", "--target-dir", str(target)],
        check=True,
        cwd=tree,
        env=os.environ | {"RUSTFLAGS": flags},
    )
    return target / "release" / "once"


def instructions(program: Path, plan: Plan) -> int:
    """What a run takes, by valgrind."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), "1"]
    given = json.dumps(plan)
    done = subprocess.run(command, check=True, input=given, capture_output=True, text=True)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if not counted:
        raise RuntimeError(f"valgrind: {done.stderr}")
    return int(counted[1])


def same_results(runs: Sequence[here.Run]) -> bool:
    """Did runs of one plan and seed have as many packets and events?"""
    return len({(run.packets, run.events) for run in runs}) == 1


def compare(
    name: str, plan: Plan, start: Plan, programs: tuple[Path, Path], pairs: int
) -> Comparison:
    """Base and working tree. ``start`` is the plan of the first part of the time."""
    order = random.Random(name)
    ratios, same = [], True
    for seed in range(1, pairs + 1):
        turns = order.sample(range(2), 2)
        runs = {each: here.run_plan(plan, seed, programs[each]) for each in turns}
        base, now = (runs[each].engine / runs[each].packets for each in range(2))
        ratios.append(now / base)
        same &= same_results(list(runs.values()))
    if not same:
        print(f"{name}: the results differ, so that only costs of a packet can be compared")
    counted = None
    if shutil.which("valgrind"):
        base, now = (
            instructions(program, start) / here.run_plan(start, 1, program).packets
            for program in programs
        )
        counted = (base, now)
    return Comparison(name, counted, Middle.of(ratios))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--base", help="the commit to compare with")
    parser.add_argument("--pairs", type=int, default=25, help="of runs of each scenario")
    arguments = parser.parse_args()
    if arguments.pairs < LEAST_PAIRS:
        refuse(f"--pairs: got {arguments.pairs}, expected at least {LEAST_PAIRS}")
    commit = commit_of(arguments.base)
    print(f"the working tree beside {git('log', '-1', '--format=%h %s', commit)}", flush=True)
    programs = build(checkout(commit), KEPT / "target"), build(here.ROOT, KEPT / "here")
    if not shutil.which("valgrind"):
        print("instructions are left out: valgrind is not installed")
    compared = []
    for name, case in SPEED.items():
        plan = compile(case.scenario())
        start = compile(replace(case, duration=SHARE * case.duration).scenario())
        try:
            here.run_plan(plan, 1, programs[0])
        except (RuntimeError, TypeError):
            refuse(f"BASE: got {commit}, expected a commit that can run the plans of this one")
        compared.append(compare(name, plan, start, programs, arguments.pairs))
    print(table(HEAD, [each.cells() for each in compared]))
    lines, code = judgement(compared)
    print(*lines, sep="\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
