"""Linux's RED, CHOKe, PIE and CoDel beside ours, on the same two flows.

    python -m benches.kernel [--rounds N] [--folder DIR]

Linux runs as a process (Debian's user-mode-linux, downloaded and unpacked in DIR, nothing is
installed), with its own TCP; ours runs in the simulator, with the preset ``linux``, and, where
that is possible, live, with the TCP of this machine. Measurements and table go to docs/live. The
guest keeps the time of the wall: a round in which the drop-tail
queue, which is never empty, does not keep its link busy is left out, for the machine was too slow.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benches.kernel import peers, uml
from benches.kernel.peers import PEERS, Peer
from benches.record import spread, table
from marqueue.live import requirements
from marqueue.live.run import TOOLS, run_live
from marqueue.results import Result
from marqueue.scenario import from_dict
from marqueue.simulation.run import run as simulate

PAGE = Path(__file__).parents[2] / "docs" / "live" / "kernel.md"
REPLICATIONS = 20
BUSY = 0.97
"""Of its link a drop-tail queue with two flows uses more than this on a machine that keeps up."""

Figures = dict[str, float]

COLUMNS = {
    "goodput": ("goodput, Mbit/s", 1e-6, 2),
    "delay": ("delay, ms", 1e3, 1),
    "marks": ("marks a second", 1, 1),
    "drops": ("drops a second", 1, 1),
}
"""Of each figure its heading, and in what it is shown."""


def linux(folder: Path, rounds: int) -> dict[str, list[Figures]]:
    """Every peer so often, in turns."""
    tree = uml.fetch(folder)
    plan = {
        **{
            name.lower(): getattr(peers, name)
            for name in ("RATE", "RTT", "FLOWS", "WARMUP", "MEASURED")
        },
        "burst": 10 * peers.FRAME,
        "kinds": ["htb", "netem", *(each.name for each in PEERS if each.name != "droptail")],
        "runs": [{"name": each.name, "tc": each.tc, "ecn": each.ecn} for each in PEERS] * rounds,
    }
    patience = 60 + 3 * len(plan["runs"]) * (peers.WARMUP + peers.MEASURED)
    seen: dict[str, list[Figures]] = {each.name: [] for each in PEERS}
    for run in uml.run(tree, plan, folder, patience):
        took = run["seconds"]
        said = {name: run[name] for name in ("goodput", "delay", "stall")}
        said |= {name: run[name] / took for name in ("marks", "drops")}
        said["busy"] = 8 * peers.FRAME * run["packets"] / took / peers.RATE
        seen[run["name"]].append(said)
        print(f"{run['name']}, round {len(seen[run['name']])} of {rounds}", file=sys.stderr)
    return seen


def scenario(peer: Peer, replications: int) -> dict[str, Any]:
    """The same for ours."""
    return {
        "name": f"Linux's {peer.name}",
        "duration": f"{peers.WARMUP + peers.MEASURED} s",
        "warmup": f"{peers.WARMUP} s",
        "seed": 1,
        "replications": replications,
        "topology": {
            "kind": "dumbbell",
            "rtts": [f"{1e3 * peers.RTT:g} ms"],
            "access": {"rate": "1 Gbit/s", "delay": "5 ms"},
            "bottleneck": {
                "rate": f"{peers.RATE} bit/s",
                "delay": "5 ms",
                "buffer": f"{peers.LIMIT} packets",
                "signal": "ecn" if peer.ecn else "drop",
                "aqm": {"name": peer.name, **peer.aqm},
            },
        },
        # Headers with Ethernet's: the rate is counted as tc counts it.
        "transport": {
            "default": {"preset": "linux", "control": "cubic", "ecn": peer.ecn, "header": "54 B"}
        },
        "traffic": [{"name": "long", "kind": "tcp", "count": peers.FLOWS, "jitter": "10 ms"}],
    }


def live(peer: Peer, rounds: int) -> list[Figures]:
    """Ours with real TCP; nothing where this machine cannot, or did not keep up."""
    if requirements.missing(TOOLS):
        return []
    result = run_live(from_dict(scenario(peer, rounds)))
    invalid_reasons = (result.provenance.live or {})["invalid_reasons"]
    for each in invalid_reasons:
        print(f"{peer.name}, live: {each}", file=sys.stderr)
    return [] if invalid_reasons else figures(result)


def figures(result: Result) -> list[Figures]:
    """Of ours, a replication each."""
    link = result.link()
    values = {"delay": link.values("delay_mean")}
    values |= {name: link.values(name) / peers.MEASURED for name in ("marks", "drops")}
    delivered = np.array([each.delivered.sum() for each in result.flow_sets()])
    values["goodput"] = 8 * delivered / peers.MEASURED
    return [
        {name: float(each[i]) for name, each in values.items()} for i in range(result.replications)
    ]


def page(measured: Mapping[str, Mapping[str, list[Figures]]]) -> str:
    """The table: smallest, median and greatest of each figure, Linux above ours."""
    head = ["AQM", "", *(heading for heading, _, _ in COLUMNS.values())]
    rows = []
    for name, sides in measured.items():
        for side, runs in sides.items():
            if not runs:
                continue
            cells = [
                spread([scale * run[figure] for run in runs], digits)
                for figure, (_, scale, digits) in COLUMNS.items()
            ]
            rows.append([name if side == "Linux" else "", side, *cells])
    return table(head, rows)


def write(measured: Mapping[str, Mapping[str, list[Figures]]]) -> None:
    """Keeps the measurements, and puts the table into the page."""
    PAGE.with_suffix(".json").write_text(json.dumps(measured, indent=1) + "\n")
    text = PAGE.read_text()
    begin, end = "<!-- table -->\n", "<!-- end table -->"
    before, after = text.split(begin)[0], text.split(end)[1]
    PAGE.write_text(f"{before}{begin}\n{page(measured)}\n\n{end}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="runs of Linux with each AQM")
    parser.add_argument("--folder", type=Path, default=Path("target/uml"), help="for the guest")
    given = parser.parse_args()
    try:
        seen = linux(given.folder.resolve(), given.rounds)
    except uml.NoUml as error:
        sys.exit(str(error))
    busy = [run["busy"] for run in seen["droptail"]]
    kept = [i for i, share in enumerate(busy) if share >= BUSY]
    print("droptail kept its link busy for", ", ".join(f"{share:.1%}" for share in busy))
    if not kept:
        sys.exit(f"expected {BUSY:.0%} in some round: the machine is too slow, nothing was written")
    measured = {
        each.name: {
            "Linux": [seen[each.name][i] for i in kept],
            "ours, live": live(each, given.rounds),
            "ours, simulated": figures(simulate(from_dict(scenario(each, REPLICATIONS)))),
        }
        for each in PEERS
    }
    write(measured)
    print(page(measured))


if __name__ == "__main__":
    main()
