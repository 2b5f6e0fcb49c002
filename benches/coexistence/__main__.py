"""Remakes the data, the pictures and the tables of docs/coexistence.md.

    python -m benches.coexistence [matrix] [bursts] [pictures]

Without a name it does all: ten minutes of CPU time.
"""

from __future__ import annotations

import sys

from benches.coexistence import bursts, matrix, store
from benches.coexistence.pictures import BURST_KEYS, HERE, MATRIX_KEYS, draw_all


def main() -> None:
    """Writes docs/coexistence."""
    wanted = sys.argv[1:] or ["matrix", "bursts", "pictures"]
    HERE.mkdir(exist_ok=True)
    if "matrix" in wanted:
        store.write(HERE / "matrix.csv", tuple(MATRIX_KEYS), matrix.cells())
    if "bursts" in wanted:
        store.write(HERE / "bursts.csv", tuple(BURST_KEYS), bursts.cells())
    if "pictures" in wanted:
        draw_all()


if __name__ == "__main__":
    main()
