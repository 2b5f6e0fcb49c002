"""Dumbbells of the CHOKeW paper under the compared schemes that ns-2 has.

Wen, Fang and Sun 2008, section 4, with the paper's parameters of RED and RIO. ns-2 has neither
CHOKe nor CHOKeW.
"""

from dataclasses import replace

from marqueue.ns2.case import Case, Queue, droptail, red, rio

#: Buffer, packets; ns-2's DropTail holds one less than its limit.
BUFFER = 500
OUTSIDE = (100, 200, 0.02)
#: min_th, max_th and max_p of `in` packets.
RIOS = {
    "rio-1": rio(BUFFER, (150, 250, 0.01), OUTSIDE),
    "rio-2": rio(BUFFER, (130, 230, 0.01), OUTSIDE),
    "rio-3": rio(BUFFER, (110, 210, 0.01), OUTSIDE),
}
QUEUES = {
    "droptail": droptail(BUFFER + 1),
    "red": red(BUFFER, *OUTSIDE[:2], max_p=OUTSIDE[2], signal="drop"),
    "rio-3": RIOS["rio-3"],
}
#: Numbers of constant-rate flows at the paper's rate.
UDP = (1, 10)


def dumbbell(name: str, queue: Queue) -> Case:
    """A hundred TCP flows; under RIO half of them and all constant-rate flows are `in`."""
    return Case(
        name,
        queue,
        "sack",
        ecn=False,
        flows=100,
        inside=50 if queue in RIOS.values() else 0,
        rtts=(0.006,),
        rate=1_000_000,
        delay=0.001,
        far=0.001,
        access=10_000_000_000,
        duration=300.0,
        edges=(100.0,),
    )


#: Constant-rate flows that fill the link, by scheme and number of them.
FILLED = {
    (scheme, n): replace(
        dumbbell(f"{scheme}, {n} UDP of 10 Mbit/s", queue), cbr=n, cbr_rate=10_000_000
    )
    for scheme, queue in QUEUES.items()
    for n in UDP
}

#: Figure 9 as the paper has it: 500 s, and access links of 10 Mbit/s, one a flow.
FIGURE_9 = {
    key: replace(case, access=10_000_000, own=True, duration=500.0, edges=(100.0, 300.0))
    for key, case in FILLED.items()
}

#: A flow of about half of the link's rate, so that the shares of schemes differ. At exactly half
#: every packet would arrive together with a departure.
HALF = [
    replace(dumbbell(f"{scheme}, 1 UDP of 0.47 Mbit/s", queue), cbr=1, cbr_rate=470_000)
    for scheme, queue in QUEUES.items()
]

#: Figure 4: 200 flows for the paper's 500 s from the start, and for another 500 s.
FIGURE_4 = {
    scheme: replace(
        dumbbell(f"{scheme}, 200 flows", queue),
        flows=200,
        inside=100,
        duration=1000.0,
        edges=(500.0,),
    )
    for scheme, queue in RIOS.items()
}

CHOKEW = [*FIGURE_4.values(), *HALF, *FILLED.values()]
