"""Runs ns-3: builds dumbbell.cc against the wheel of ns-3, and runs it."""

import json
import subprocess
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from marqueue.ns3.case import PACKET, Case
from marqueue.statistics.estimates import jain

SOURCE = Path(__file__).with_name("dumbbell.cc")
NETWORK = Path(__file__).with_name("network.h")
VERSION = "3.44.post0"
INSTALL = f"pip install --no-deps ns3=={VERSION}"
MODULES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")


@dataclass(frozen=True)
class Simulator:
    """The built program."""

    program: Path

    def run(self, case: Case, seed: int) -> dict[str, float]:
        """The figures of one run."""
        options = [f"--{key}={value}" for key, value in case.ns3_arguments(seed).items()]
        done = subprocess.run(
            [str(self.program), *options], check=True, capture_output=True, text=True
        )
        told = json.loads(done.stdout)
        return {
            "utilization": 8 * told["bytes"] / (case.rate * (case.duration - case.begin)),
            "delay_mean": told["delay_mean"],
            "delay_p99": told["delay_p99"],
            "loss_ratio": told["drops"] / told["arrivals"],
            "mark_ratio": told["marks"] * PACKET / told["bytes"],
            "jain": jain(told["received"]),
        }


def installed() -> bool:
    """Whether this version of ns-3 is installed."""
    try:
        return metadata.version("ns3") == VERSION
    except metadata.PackageNotFoundError:
        return False


def build(directory: Path) -> Simulator:
    """Builds the program into ``directory``."""
    root = Path(str(metadata.distribution("ns3").locate_file("ns3")))
    libraries = root / "lib64"
    program = directory / "dumbbell"
    _, minor, *_ = VERSION.split(".")
    subprocess.run(
        [
            "c++", "-O2", "-std=c++20", "-o", str(program), str(SOURCE),
            f"-I{root / 'include'}", f"-L{libraries}", f"-Wl,-rpath,{libraries}",
            "-Wl,--allow-shlib-undefined",
            *(f"-lns3.{minor}-{module}" for module in MODULES),
        ],
        check=True,
    )  # fmt: skip
    return Simulator(program)
