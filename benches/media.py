"""Video by SCReAMv2 and by GCC through several queues and beside others: docs/media.md's table.

python -m benches.media
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import marqueue
from marqueue.scenario import Scenario, from_dict
from marqueue.statistics.estimates import Estimate

PAGE = Path("docs/media.md")
BEGIN, END = "<!-- media -->\n", "<!-- end media -->"
FIGURES = (
    ("media_rate", 1e-6, 2),
    ("frame_delay_mean", 1e3, 1),
    ("frame_delay_p99", 1e3, 1),
    ("freezes", 1.0, 1),
    ("frames_lost", 1.0, 3),
)
HEAD = (
    "| | rate, Mbit/s | frame delay, mean, ms | p99, ms | freezes a minute | frames never shown "
    "| others' goodput, Mbit/s |\n|---|---|---|---|---|---|---|"
)
PRAGUE = {"kind": "tcp", "name": "prague", "transport": "prague"}
CUBIC = {"kind": "tcp", "name": "cubic", "transport": "cubic"}


@dataclass(frozen=True)
class Case:
    """A video at a bottleneck."""

    name: str
    rate: str
    aqm: str
    video: Mapping[str, Any] = field(default_factory=dict)
    beside: Sequence[Mapping[str, Any]] = ()
    link: Mapping[str, Any] = field(default_factory=dict)
    rtt: str = "20 ms"
    warmup: int = 10

    def scenario(self) -> Scenario:
        """30 s after the warm-up, three times."""
        return from_dict(
            {
                "name": self.name,
                "duration": f"{self.warmup + 30} s",
                "warmup": f"{self.warmup} s",
                "replications": 3,
                "topology": {
                    "kind": "dumbbell",
                    "rtts": [self.rtt],
                    "bottleneck": {
                        "rate": self.rate, "delay": "2 ms", "buffer": "200 packets",
                        "aqm": self.aqm, **self.link,
                    },
                    "access": {"rate": "1 Gbit/s"},
                },
                "transport": {
                    "prague": {"preset": "linux", "control": "prague", "ecn": True},
                    "cubic": {"preset": "linux", "ecn": True},
                },
                "traffic": [
                    {"kind": "media", "name": "video", "max_rate": "20 Mbit/s", **self.video},
                    *self.beside,
                ],
            }
        )  # fmt: skip


CLASSIC = {"ecn": "not-ect"}
# It begins with the encoder's least rate and grows by 8 % a second: 5 Mbit/s after 21 s.
GCC = {"control": "gcc", "min_rate": "1 Mbit/s"}
SLOW = 60
"""Warm-up of GCC, s."""
CASES = (
    Case("alone, dualpi2", "5 Mbit/s", "dualpi2"),
    Case("alone, dualpi2, 80 ms", "5 Mbit/s", "dualpi2", rtt="80 ms"),
    Case("alone, fq_codel, ECT(0)", "5 Mbit/s", "fq_codel", {"ecn": "ect"}),
    Case("alone, droptail", "5 Mbit/s", "droptail", CLASSIC),
    Case("alone, droptail, 20 packets", "5 Mbit/s", "droptail", CLASSIC,
         link={"buffer": "20 packets"}),
    Case("alone, dualpi2, 1 % lost", "5 Mbit/s", "dualpi2", link={"loss": "1%"}),
    Case("alone, dualpi2, a key frame every 2 s", "5 Mbit/s", "dualpi2", {"key_frames": "2 s"}),
    Case("beside Prague, dualpi2", "20 Mbit/s", "dualpi2", beside=[PRAGUE]),
    Case("beside CUBIC, dualpi2", "20 Mbit/s", "dualpi2", beside=[CUBIC]),
    Case("beside Prague, fq_codel", "20 Mbit/s", "fq_codel", beside=[PRAGUE]),
    Case("beside CUBIC, fq_codel", "20 Mbit/s", "fq_codel", beside=[CUBIC]),
    Case("beside CUBIC, droptail", "20 Mbit/s", "droptail", CLASSIC, [CUBIC]),
    Case("GCC, alone, dualpi2", "5 Mbit/s", "dualpi2", GCC, warmup=SLOW),
    Case("GCC, alone, fq_codel", "5 Mbit/s", "fq_codel", GCC, warmup=SLOW),
    Case("GCC, alone, droptail", "5 Mbit/s", "droptail", GCC, warmup=SLOW),
    Case("GCC, alone, droptail, 1 % lost", "5 Mbit/s", "droptail", GCC,
         link={"loss": "1%"}, warmup=SLOW),
    Case("GCC, beside CUBIC, dualpi2", "20 Mbit/s", "dualpi2", GCC, [CUBIC], warmup=SLOW),
    Case("GCC, beside CUBIC, fq_codel", "20 Mbit/s", "fq_codel", GCC, [CUBIC], warmup=SLOW),
    Case("GCC, beside CUBIC, droptail", "20 Mbit/s", "droptail", GCC, [CUBIC], warmup=SLOW),
)  # fmt: skip


def main() -> None:
    """Runs all cases and writes the table."""
    rows = [HEAD]
    for case in CASES:
        result = marqueue.run(case.scenario())
        media = result.media()
        cells = [shown(media[name].scaled(scale), digits) for name, scale, digits in FIGURES]
        others = [result.traffic(group=each["name"])["goodput"] for each in case.beside]
        cells.append(", ".join(shown(each.scaled(1e-6), 2) for each in others))
        rows.append(f"| {case.name} | {' | '.join(cells)} |")
        print(rows[-1], flush=True)
    text = PAGE.read_text(encoding="utf-8")
    table = "\n".join(["", *rows, "", ""])
    new = re.sub(f"{BEGIN}.*{END}", f"{BEGIN}{table}{END}", text, flags=re.DOTALL)
    PAGE.write_text(new, encoding="utf-8")


def shown(value: Estimate, digits: int) -> str:
    """A cell."""
    return f"{value.mean:.{digits}f} ± {value.half_width or 0:.{digits}f}"


if __name__ == "__main__":
    main()
