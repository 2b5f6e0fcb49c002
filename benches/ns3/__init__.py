"""Running ns-3: builds dumbbell.cc against Debian's libns3-dev, and runs it."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from marqueue.ns2.case import Case
from marqueue.ns3.simulator import NETWORK

SOURCE = Path(__file__).with_name("dumbbell.cc")
PACKAGE = "libns3-dev"
HEADERS = Path("/usr/include/ns3/core-module.h")
MODULES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")
QUEUES = {"DropTail": "DropTail", "RED": "RED", "Vq": "AVQ"}
"""ns-2's classes as dumbbell.cc calls them."""


@dataclass(frozen=True)
class Run:
    """What a run took; CPU times are user times, s."""

    packets: int
    setup: float
    cpu: float
    peak_kb: int


def installed() -> bool:
    """Is there an ns-3 to build against?"""
    return HEADERS.exists()


def build(directory: Path) -> Path:
    """The program, built into ``directory``."""
    program = directory / "dumbbell"
    libraries = [f"-lns3-{module}" for module in MODULES]
    include = f"-I{NETWORK.parent}"
    command = ["c++", "-O3", "-std=c++17", include, "-o", str(program), str(SOURCE), *libraries]
    subprocess.run(command, check=True)
    return program


def arguments(case: Case, seed: int) -> Mapping[str, object]:
    """Keys and values of dumbbell.cc for long flows."""
    settings = case.queue.settings
    return {
        "seed": seed,
        "duration": case.duration,
        "rate": case.rate,
        "delay": case.delay,
        "access": case.access,
        "far": case.far,
        "rtts": ",".join(str(rtt) for rtt in case.rtts),
        "queue": QUEUES[case.queue.ns2],
        "limit": case.queue.limit,
        "min_th": settings.get("thresh_", 0),
        "max_th": settings.get("maxthresh_", 0),
        "linterm": settings.get("linterm_", 10),
        "signal_ecn": int(settings.get("setbit_", False)),
        "virtual_buffer": settings.get("buflim_", 1) * case.queue.limit,
        "gamma": settings.get("gamma_", 0.98),
        "sack": int(case.tcp == "sack"),
        "ecn": int(case.ecn),
        "segment": case.segment,
        "flows": case.flows,
        "jitter": case.jitter,
    }


def run(program: Path, case: Case, seed: int) -> Run:
    """One run of the program."""
    options = [f"--{key}={value}" for key, value in arguments(case, seed).items()]
    quiet = os.environ | {"NS_LOG": ""}
    told = subprocess.run(
        [str(program), *options], check=True, env=quiet, capture_output=True, text=True
    )
    return Run(**json.loads(told.stdout))
