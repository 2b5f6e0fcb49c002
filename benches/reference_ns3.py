"""Makes python/marqueue/ns3/measured.json: what ns-3 measured, for the comparison without ns-3.

    python -m benches.reference_ns3 [NAME ...]

Runs that are stored with the same arguments are not repeated, except those of the named dumbbells.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from marqueue.ns3.case import Case
from marqueue.ns3.matrix import MATRIX
from marqueue.ns3.measured import STORED, UNITS
from marqueue.ns3.simulator import INSTALL, VERSION, Simulator, build, installed


def main() -> None:
    if not installed():
        sys.exit(f"ns-3 is not installed in this environment, expected: {INSTALL}")
    again = set(sys.argv[1:])
    data = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    cases: dict[str, Any] = data.get("cases", {}) if data.get("ns-3") == VERSION else {}
    with tempfile.TemporaryDirectory() as directory:
        ns3 = build(Path(directory))
        for case in MATRIX:
            entry = cases.get(case.name, {})
            if case.name in again or entry.get("seed 1") != case.ns3_command(1):
                entry = {"seed 1": case.ns3_command(1)} | {name: [] for name in UNITS}
            if len(entry["jain"]) < case.seeds:
                measure(ns3, case, entry)
                cases[case.name] = entry
                write(cases)
                print(case.name, flush=True)
    write(cases)


def measure(ns3: Simulator, case: Case, entry: dict[str, Any]) -> None:
    """Adds the figures of the seeds that are missing."""
    for seed in range(len(entry["jain"]) + 1, case.seeds + 1):
        run = ns3.run(case, seed)
        for name in UNITS:
            entry[name].append(float(f"{run[name]:.6g}"))


def write(cases: dict[str, Any]) -> None:
    """Writes the cases in the order of the matrix, a line each."""
    made = {"made by": "make reference-ns3", "ns-3": VERSION, "installed by": INSTALL}
    head = "".join(f" {json.dumps(k)}: {json.dumps(v)},\n" for k, v in made.items())
    lines = ",\n".join(
        f"  {json.dumps(case.name)}: {json.dumps(cases[case.name])}"
        for case in MATRIX
        if case.name in cases
    )
    part = STORED.with_suffix(".part")
    part.write_text(f'{{\n{head} "cases": {{\n{lines}\n }}\n}}\n', encoding="utf-8")
    part.replace(STORED)


if __name__ == "__main__":
    main()
