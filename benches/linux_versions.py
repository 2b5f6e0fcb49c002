"""What differs between kernels: the table of docs/linux-differences.md.

    python -m benches.linux_versions [KERNEL ...]

The cases of ``marqueue validate --only linux`` in which one congestion control is alone, with the
kernels given and with that which the preset follows. A row is a figure that differs by more than
the tolerance of the comparison with the model, by an interval of pairs of replications.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import marqueue
from benches.record import insert, table
from marqueue.kernels import find_host
from marqueue.validation.linux_cases import CASES, KERNEL, Case
from marqueue.validation.linux_comparison import TOLERANCES, paired, readings

PAGE = Path("docs/linux-differences.md")


def rows(kernel: str, case: Case) -> list[list[str]]:
    """The figures of a case that differ between this kernel and that of the preset."""
    found = []
    older, newer, model = (marqueue.run(case.scenario(each)) for each in (kernel, KERNEL, "model"))
    for name, read in readings(case).items():
        there, here = paired(read(older), read(newer))
        if not there.mean and not here.mean:
            continue
        tolerance = TOLERANCES[name]
        if abs(there.mean - here.mean) - (there.half_width or 0.0) > tolerance.of(here):
            unit = f", {tolerance.unit}" if tolerance.unit else ""
            ours = f"{read(model).mean():.4g}"
            found.append([case.name, name + unit, kernel, str(there), f"{here.mean:.4g}", ours])
    return found


def main() -> None:
    """Runs everything, and writes the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kernels", nargs="*", default=["linux-6.12"])
    kernels = parser.parse_args().kernels
    for kernel in (*kernels, KERNEL):
        find_host(kernel)
    found: list[list[str]] = []
    with ThreadPoolExecutor(2) as threads:
        for kernel in kernels:
            for each in threads.map(partial(rows, kernel), CASES):
                found += each
                for row in each:
                    print(" | ".join(row), flush=True)
    head = ["case", "figure", "kernel", "there", KERNEL, "model"]
    said = f"In {len(found)} figures of {len(CASES)} cases: " if found else ""
    none = f"In none of the {len(CASES)} cases does a figure differ by more than the tolerance."
    insert(PAGE, "kernels", f"{said}\n\n{table(head, found)}" if found else none)


if __name__ == "__main__":
    main()
