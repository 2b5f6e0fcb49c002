"""Speed in a browser compared with the native engine.

    python -m benches.lab [--rounds N]

The first dumbbell of benches.peers runs natively (benches/once, built as by `make build`) and in a
worker of Chromium, in turns with the same seeds. The figure is the number of packets per second of
CPU time: of the run, and of the worker's thread from `run` to the last update, so that the samples
that the lab draws count. What the browser compiles in other threads does not count. The first run
of the browser has a row of its own. Measurements and table go to docs/performance.
"""

import argparse
import json
import statistics
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from math import comb, sqrt
from pathlib import Path
from typing import Any

from benches import here
from benches.peers import SPEED
from benches.record import record, spread, table
from marqueue._core import replication_seed
from marqueue.scenario import compile

WEB = Path(__file__).parents[1] / "web"
CASE = next(iter(SPEED))
SAMPLE = 0.1
"""Step of the time series, s."""


@dataclass(frozen=True)
class Round:
    """One run on each side."""

    native: float
    """Millions of packets a CPU second."""
    browser: float

    @property
    def share(self) -> float:
        """The browser's rate relative to the native one."""
        return self.browser / self.native


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


class Server(ThreadingHTTPServer):
    """Serves a browser that may leave in the middle of an answer."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says what went wrong, unless the browser closed the connection: it does when it ends."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def median_interval(values: list[float]) -> tuple[float, float, float]:
    """Confidence level of the median's interval between order statistics, and the interval."""
    values, n = sorted(values), len(values)
    rank = max(int(n / 2 - 0.98 * sqrt(n)), 0)
    outside = 2 * sum(comb(n, k) for k in range(rank + 1)) / 2**n
    return 1 - outside, values[rank], values[n - 1 - rank]


def measure(rounds: int) -> list[Round]:
    """The runs, the first of which is the first of the browser."""
    plan = compile(SPEED[CASE].scenario())
    handler = partial(Quiet, directory=WEB / "built" / "engine-page")
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    command = ["node", str(WEB / "tests" / "engine" / "bench.mjs"), url]
    found = []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=WEB
    ) as browser:
        assert browser.stdin
        assert browser.stdout
        for seed in range(1, rounds + 2):
            # The page runs the first replication of a scenario.
            native = here.run_plan(plan, replication_seed(seed, 0), here.ONCE)
            asked = {"plan": json.dumps(plan), "seed": seed, "sampleStep": SAMPLE}
            print(json.dumps(asked), file=browser.stdin, flush=True)
            there = json.loads(browser.stdout.readline())
            if there["packets"] != native.packets:
                raise ValueError(f"packets: {native.packets} natively, {there['packets']} there")
            rates = (native.packets / 1e6 / t for t in (native.engine, there["cpu"]))
            found.append(Round(*rates))
        browser.stdin.close()
    server.shutdown()
    return found


def row(name: str, rounds: list[Round]) -> list[str]:
    """A row of the table."""
    columns = ([each.native for each in rounds], [each.browser for each in rounds])
    shares = [each.share for each in rounds]
    said = f"{statistics.median(shares):.2f}"
    if len(shares) > 5:
        level, low, high = median_interval(shares)
        said += f" ({low:.2f} to {high:.2f}, {level:.0%} interval of the median)"
    return [name, *(spread(each, 2) for each in columns), said]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="runs on each side")
    arguments = parser.parse_args()
    here.build()
    first, *others = measure(arguments.rounds)
    head = ["millions of packets a CPU second: minimum / median / maximum", "native", "Chromium"]
    rows = [row(f"{CASE}; first run", [first]), row(f"{CASE}; later runs", others)]
    runs = [asdict(each) for each in (first, *others)]
    record("lab", {"case": CASE, "runs": runs}, table([*head, "share of native"], rows))


if __name__ == "__main__":
    main()
