"""Loads of the engine that must wait for stores.

    python -m benches.store_stalls [--scenario i|ii|iii] [--program PATH]

A processor hands a value that was just stored on to a load, unless the load needs bytes of more
than that store: two words are written, and read at once as a whole. Then it waits until the stores
have reached the cache, ten cycles and more. Compilers make such pairs where a value of several
words is moved through memory. They have no line of their own in a profile.

The memory accesses of a short run are traced (valgrind, lackey), and the loads are counted that no
single store of the last instructions can serve. What is counted depends on the build, but not on
the machine.
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from benches import here
from benches.peers import SPEED
from benches.record import table
from benches.regression import refuse
from marqueue.json_text import dump_json
from marqueue.scenario import compile

NEAR = 100
"""Instructions for which a store is taken to be on its way to the cache. A processor of today works
on some four hundred at a time."""
SHARE = 0.04
"""Of the simulated time."""
LEAST = 0.1
"""A packet: rarer pairs are left out, such as those of the start of flows."""
WORD = 8
HEAD = ("a packet", "bytes read", "of a store of", "instructions apart", "read at", "written at")
MODULE = re.compile(r"svma (0x[0-9a-f]+), avma (0x[0-9a-f]+)")


@dataclass(frozen=True)
class Store:
    """A store in the trace."""

    address: int
    size: int
    instruction: int
    """Its address."""
    number: int
    """Of the instruction, from the start of the run."""

    def serves(self, address: int, size: int) -> bool:
        """Whether it has all bytes of a load."""
        return self.address <= address and address + size <= self.address + self.size

    def meets(self, address: int, size: int) -> bool:
        """Whether it has some bytes of a load."""
        return self.address < address + size and address < self.address + self.size


@dataclass(frozen=True)
class Pair:
    """An instruction that loads and one that stores."""

    load: int
    store: int
    read: int
    written: int
    """Bytes."""


def stalls(trace: Iterable[str]) -> tuple[Counter[Pair], Counter[Pair]]:
    """How often each pair occurs in a trace of lackey, and how many instructions lie between,
    together."""
    found: Counter[Pair] = Counter()
    between: Counter[Pair] = Counter()
    latest: dict[int, Store] = {}
    """By word of memory."""
    number = instruction = 0
    for line in trace:
        kind = line[:2]
        if kind == "I ":
            number += 1
            instruction = int(line[3:].partition(",")[0], 16)
        elif kind in (" L", " S", " M"):
            place, _, length = line[3:].partition(",")
            address, size = int(place, 16), int(length)
            words = range(address // WORD, (address + size - 1) // WORD + 1)
            if kind != " S":
                near = [latest[word] for word in words if word in latest]
                near = [
                    store
                    for store in near
                    if number - store.number <= NEAR and store.meets(address, size)
                ]
                last = max(near, key=lambda store: store.number, default=None)
                if last is not None and not last.serves(address, size):
                    pair = Pair(instruction, last.instruction, size, last.size)
                    found[pair] += 1
                    between[pair] += number - last.number
            if kind != " L":
                store = Store(address, size, instruction, number)
                for word in words:
                    latest[word] = store
    return found, between


def traced(program: Path, plan: str) -> tuple[Counter[Pair], Counter[Pair], int]:
    """The pairs of a run, and by how much its instructions are moved in memory."""
    command = ["valgrind", "-v", "-v", "--tool=lackey", "--trace-mem=yes", str(program), "1", "1"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    assert process.stdin is not None, "a pipe"
    assert process.stderr is not None, "a pipe"
    process.stdin.write(plan)
    process.stdin.close()
    moved = None
    for line in process.stderr:
        if moved is None and (at := MODULE.search(line)):
            # The program is the first that is read.
            moved = int(at[2], 16) - int(at[1], 16)
        if line.startswith(("I ", " L", " S", " M")):
            break
    found, between = stalls(process.stderr)
    if process.wait() or moved is None:
        raise RuntimeError(f"valgrind ended with exit code {process.returncode}")
    return found, between, moved


def lines(program: Path, addresses: Iterable[int]) -> dict[int, str]:
    """The line of this repository that each instruction belongs to."""
    given = [f"{address:#x}" for address in addresses]
    command = ["addr2line", "--inlines", "--addresses", "--exe", str(program)]
    said = subprocess.run(
        command, input="\n".join(given), check=True, capture_output=True, text=True
    ).stdout
    places: dict[int, str] = {}
    address = 0
    for is_address, group in groupby(said.splitlines(), lambda line: line.startswith("0x")):
        if is_address:
            *_, last = group
            address = int(last, 16)
        else:
            ours = [line for line in group if str(here.ROOT) in line]
            place = ours[0].partition(" ")[0] if ours else "elsewhere"
            places[address] = place.removeprefix(f"{here.ROOT}/crates/")
    return places


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    cases = {name.partition(":")[0]: case for name, case in SPEED.items()}
    parser.add_argument("--scenario", choices=list(cases), default="i", help="of benches/peers")
    parser.add_argument("--program", type=Path, default=here.ONCE, help="another build of once")
    arguments = parser.parse_args()
    for program in ("valgrind", "addr2line"):
        if not shutil.which(program):
            refuse(f"{program}: not installed, expected a program on the path")
    here.build()
    case, once = cases[arguments.scenario], arguments.program
    if not once.is_file():
        refuse(f"--program: got {once}, expected a program that benches/once has built")
    plan = compile(replace(case, duration=SHARE * case.duration).scenario())
    packets = here.run_plan(plan, 1, once).packets
    found, between, moved = traced(once, dump_json(plan, sort_keys=False))
    common = [pair for pair, times in found.most_common() if times >= LEAST * packets]
    instructions = {each - moved for pair in common for each in (pair.load, pair.store)}
    at = lines(once, sorted(instructions))
    rows = [
        [
            f"{found[pair] / packets:.2f}",
            str(pair.read),
            str(pair.written),
            f"{between[pair] / found[pair]:.0f}",
            at[pair.load - moved],
            at[pair.store - moved],
        ]
        for pair in common
    ]
    print(table(HEAD, rows))
    print(f"loads that wait: {sum(found.values()) / packets:.2f} a packet")
    return 0


if __name__ == "__main__":
    sys.exit(main())
