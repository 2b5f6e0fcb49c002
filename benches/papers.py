"""Experiments 1 and 2 of the AVQ paper, and cases that show the effect of ties."""

from dataclasses import replace

from marqueue.ns2.case import Case, avq, droptail, gkvq, pi, red, rem

NUDGE = 10
"""bit/s: a part in a million of the bottleneck's rate, which unties what arrives at one instant."""

SCHEMES = {
    "avq": avq(50, buffer=2.0),
    "avq, limit 100": avq(100),
    "avq, virtual buffer 50": avq(50),
    "droptail": droptail(100),
    "gkvq": gkvq(100),
    "pi": pi(100, 50),
    "red": red(100, 37, 75),
    "red, mark_p 0.1": red(100, 37, 75, mark_p=0.1),
    "rem": rem(100, 50),
}

EXPERIMENT_1 = Case(
    "experiment 1",
    avq(100),
    flows=180,
    duration=200.0,
    edges=(20.0, 50.0, 100.0, 120.0, 150.0),
    short_rate=30.0,
    short_start=100.0,
)

EXPERIMENT_1_UNTIED = replace(EXPERIMENT_1, name="experiment 1, untied", rate=10_000_000 + NUDGE)

EXPERIMENT_2 = [
    Case(f"{name}, {n} flows", queue, flows=n)
    for name, queue in SCHEMES.items()
    for n in (20, 60, 180)
]

TIES = [
    Case(f"droptail, 180 flows, {rate} bit/s", droptail(100), flows=180, rate=rate, duration=100.0)
    for rate in (10_000_000 - NUDGE, 10_000_000, 10_000_000 + NUDGE)
] + [
    Case(
        f"avq, 180 flows, {rate} bit/s",
        avq(100),
        flows=180,
        rate=rate,
        duration=32.0,
        edges=(20.0,),
    )
    for rate in (10_000_000 - NUDGE, 10_000_000, 10_000_000 + NUDGE)
]
