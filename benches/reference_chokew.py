"""Makes reference.toml of the CHOKeW paper: ns-2's measurements of RIO, RED and droptail.

python -m benches.reference_chokew
"""

import json
from collections.abc import Iterator

from marqueue import ns2
from marqueue.ns2.chokew import FIGURE_4, FIGURE_9
from marqueue.ns2.simulator import Window
from marqueue.papers import PAPERS

SEEDS = range(1, 7)
#: Index of the window from 100 to 300 s of Figure 9, in which UDP has settled.
SETTLED = 1
MADE = (
    "Debian's package ns2 (2.35+dfsg-5): Queue/DropTail, Queue/RED and Queue/RED/RIO, to which a "
    "packet is in if its flow id is not 0; Agent/TCP/Sack1 and Traffic/CBR on the same dumbbell, "
    "1000-byte packets; six seeds. Beside UDP each flow has access links of its own, of 10 Mbit/s; "
    "otherwise all share some of 10 Gbit/s. The queue is its time average, without the packet in "
    "transmission. It has no CHOKe and no CHOKeW."
)
HEAD = """\
# Numbers of ns-2.35 for the same set-ups: one value a seed (1 to 6); those of a sweep by its place.
# Made by python -m benches.reference_chokew

"""

Numbers = dict[str, float]


def figure_4(scheme: str, window: Window, when: str) -> Numbers:
    """Goodput of `out` and `in` flows."""
    out = FIGURE_4[scheme].flows - FIGURE_4[scheme].inside
    levels = {"low": window.tcp_bytes[:out], "high": window.tcp_bytes[out:]}
    numbers: Numbers = {}
    for level, got in levels.items():
        numbers[f"starved{when}.{scheme}-{level}"] = sum(each == 0 for each in got)
        numbers[f"least{when}.{scheme}-{level}"] = megabits(min(got), window)
        if not when:
            numbers[f"goodput.{scheme}-{level}"] = megabits(sum(got), window)
    return numbers


def figure_9(scheme: str, window: Window) -> Numbers:
    """Goodput of TCP and UDP, and the queue."""
    return {
        f"goodput.{scheme}-tcp": megabits(sum(window.tcp_bytes), window),
        f"goodput.{scheme}-udp": megabits(sum(window.udp_bytes), window),
        f"utilization.{scheme}": window.utilization,
        f"queue.{scheme}": window.queue,
    }


def megabits(received: float, window: Window) -> float:
    """Bytes in the window as Mbit/s."""
    return 8e-6 * received / (window.end - window.begin)


def by_name(seeds: list[Numbers]) -> dict[str, list[float]]:
    """One value per seed, by name."""
    return {name: [float(f"{each[name]:.5g}") for each in seeds] for name in seeds[0]}


def toml(single: dict[str, list[float]], swept: dict[str, dict[int, list[float]]]) -> Iterator[str]:
    """The content of the file, a line per number."""
    yield f'{HEAD}name = "ns-2.35"\nmade = {json.dumps(MADE)}\n\n[number]'
    for name, values in single.items():
        yield f'"{name}" = {values}'
    for name, places in swept.items():
        yield f'\n[number."{name}"]'
        for place, values in places.items():
            yield f"{place} = {values}"


def main() -> None:
    """Runs all cases, which takes several minutes, and writes the file."""
    single: dict[str, list[float]] = {}
    for scheme, case in FIGURE_4.items():
        seeds = []
        for seed in SEEDS:
            rising, settled = ns2.run(case.ns2_arguments(seed)).windows
            seeds.append(figure_4(scheme, rising, "-500") | figure_4(scheme, settled, ""))
        single |= by_name(seeds)
    swept: dict[str, dict[int, list[float]]] = {}
    for (scheme, n), case in FIGURE_9.items():
        windows = [ns2.run(case.ns2_arguments(seed)).windows[SETTLED] for seed in SEEDS]
        for name, values in by_name([figure_9(scheme, window) for window in windows]).items():
            swept.setdefault(name, {})[n] = values
    path = PAPERS["chokew"].folder / "reference.toml"
    path.write_text("\n".join(toml(single, swept)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
