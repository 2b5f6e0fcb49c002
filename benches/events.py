"""Sets of pending events from 10^2 to 10^6, as a table in docs/performance.

python -m benches.events
"""

import subprocess

from benches.here import ROOT
from benches.record import record


def main() -> None:
    command = ["cargo", "bench", "--quiet", "--locked", "-p", "marqueue-sim", "--bench", "events"]
    told = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout
    head, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in told.splitlines()
    )
    record(
        "events",
        {row[0]: dict(zip(head[1:], map(float, row[1:]), strict=True)) for row in rows},
        told.strip(),
    )


if __name__ == "__main__":
    main()
