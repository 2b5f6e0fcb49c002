"""Time until the lab shows its first picture.

    python -m benches.lab_page [--rounds N]

The built lab is opened in Chromium from a server on this machine, each time in a fresh profile. The
time is that from opening the page until the first chart has a curve, and until the run of the first
example has ended. Measurements and table go to docs/performance.
"""

import argparse
import json
import subprocess
import threading
from functools import partial

from benches.lab import WEB, Quiet, Server
from benches.record import record, spread, table

UNTIL = {"picture": "first chart has a curve", "end": "first run has ended"}


def measure(rounds: int) -> list[dict[str, float]]:
    """Milliseconds of each round, by what was waited for."""
    handler = partial(Quiet, directory=WEB / "built" / "lab")
    with Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        command = ["node", "tests/lab/first_picture.mjs", url, str(rounds)]
        said = subprocess.run(command, cwd=WEB, check=True, capture_output=True, text=True)
        server.shutdown()
    return [json.loads(line) for line in said.stdout.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10, help="times that the page is opened")
    found = measure(parser.parse_args().rounds)
    rows = [[name, spread([each[key] / 1e3 for each in found], 2)] for key, name in UNTIL.items()]
    head = ["from opening the lab until", "seconds: minimum / median / maximum"]
    record("lab-page", {"milliseconds": found}, table(head, rows))


if __name__ == "__main__":
    main()
