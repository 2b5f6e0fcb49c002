"""Configurations beyond the papers, so that agreement is not limited to the papers' numbers; and
those of the CHOKeW and small-buffer papers."""

from marqueue.ns2.case import Case, avq, droptail, gkvq, pi, red, rem
from marqueue.ns2.chokew import CHOKEW
from marqueue.ns2.continuous import CONTINUOUS
from marqueue.ns2.small_buffer import LARGE

UNTIED = (0.0437, 0.0619, 0.0783, 0.1021, 0.1297)
"""Round-trip times with differences that are not multiples of a transmission time."""

LONG = (0.1037, 0.1419, 0.1983, 0.2621)
SHORT = (0.0237, 0.0319, 0.0483)

MATRIX = [
    Case("droptail, newreno, 40 flows", droptail(60), "newreno", ecn=False, flows=40, rtts=UNTIED),
    Case("droptail, sack, 15 flows", droptail(60), "sack", ecn=False, flows=15, rtts=UNTIED),
    Case("droptail, reno, 10 flows, 5 Mbit/s", droptail(40), ecn=False, flows=10, rate=5_000_000),
    Case("droptail, sack, 120 flows, default rtts", droptail(100), "sack", ecn=False, flows=120),
    Case("droptail, newreno, one rtt", droptail(50), "newreno", ecn=False, flows=20, rtts=(0.1,)),
    Case("red drop, reno, 30 flows", red(100, 15, 45, signal="drop"), ecn=False, flows=30),
    Case(
        "red drop, newreno, 30 flows",
        red(100, 15, 45, signal="drop"),
        "newreno",
        ecn=False,
        flows=30,
    ),
    Case("red drop, sack, 30 flows", red(100, 15, 45, signal="drop"), "sack", ecn=False, flows=30),
    Case(
        "red drop, sack, 200 flows",
        red(150, 30, 90, signal="drop"),
        "sack",
        ecn=False,
        flows=200,
        rate=20_000_000,
        rtts=UNTIED,
    ),
    Case(
        "red drop, newreno, one rtt",
        red(60, 5, 15, signal="drop"),
        "newreno",
        ecn=False,
        flows=10,
        rtts=(0.08,),
    ),
    Case(
        "red drop, reno, no gentle, no wait",
        red(80, 10, 30, signal="drop", gentle=False, wait=False),
        ecn=False,
        flows=25,
        rtts=UNTIED,
    ),
    Case("red ecn, sack, 40 flows", red(100, 20, 60), "sack", flows=40, rtts=UNTIED),
    Case("red ecn, newreno, 100 flows", red(100, 20, 60), "newreno", flows=100),
    Case(
        "red ecn mark_p 0.1, newreno, 150 flows", red(100, 20, 60, mark_p=0.1), "newreno", flows=150
    ),
    Case("red ecn, sack, short flows", red(100, 20, 60), "sack", flows=20, short_rate=20),
    Case("pi ecn, sack, 100 flows", pi(200, 100, a=5e-5, b=4.9e-5), "sack", flows=100, rtts=UNTIED),
    Case("pi drop, newreno, 60 flows", pi(150, 40, marks=False), "newreno", ecn=False, flows=60),
    Case("rem ecn, newreno, 40 flows", rem(100, 20), "newreno", flows=40, rtts=UNTIED),
    Case("rem drop, sack, 40 flows", rem(100, 20, marks=False), "sack", ecn=False, flows=40),
    Case("gkvq, sack, 60 flows", gkvq(80), "sack", flows=60),
    Case(
        "gkvq theta 0.95, newreno, 60 flows",
        gkvq(100, theta=0.95),
        "newreno",
        flows=60,
        rtts=UNTIED,
    ),
    Case("avq drop, reno, 40 flows", avq(100, marks=False), ecn=False, flows=40),
    Case(
        "avq drop, sack, 20 flows", avq(60, marks=False), "sack", ecn=False, flows=20, rtts=UNTIED
    ),
    Case("avq gamma 0.9, newreno, 50 flows", avq(100, gamma=0.9), "newreno", flows=50, rtts=UNTIED),
    Case("avq bytes, sack, short flows", avq(100, mode="bytes"), "sack", flows=50, short_rate=20),
    Case(
        "avq, reno, one rtt, 100 Mbit/s",
        avq(500),
        flows=200,
        rtts=(0.05,),
        rate=100_000_000,
        duration=60,
        edges=(20,),
    ),
    Case("avq, reno, one rtt, 5 Mbit/s, tied", avq(50), flows=80, rtts=(0.0437,), rate=5_000_000),
    Case(
        "avq, reno, one rtt, 5 Mbit/s - 5 bit/s", avq(50), flows=80, rtts=(0.0437,), rate=4_999_995
    ),
    Case(
        "avq, reno, one rtt, 5 Mbit/s + 5 bit/s", avq(50), flows=80, rtts=(0.0437,), rate=5_000_005
    ),
    Case(
        "droptail, newreno, cbr", droptail(60), "newreno", ecn=False, flows=20, rtts=UNTIED, cbr=3
    ),
    Case(
        "droptail, sack, delayed ack",
        droptail(60),
        "sack",
        ecn=False,
        flows=20,
        rtts=UNTIED,
        delayed_ack=0.1,
    ),
    Case("red ecn, newreno, delayed ack", red(100, 20, 60), "newreno", flows=30, delayed_ack=0.1),
    Case(
        "red drop, reno, min rto 1 s",
        red(100, 15, 45, signal="drop"),
        ecn=False,
        flows=100,
        tcp_set={"minrto_": 1, "tcpTick_": 0.1},
        transport={"min_rto": "1 s", "granularity": "0.1 s"},
    ),
    Case(
        "red ecn, reno, 500 B, 2 Mbit/s",
        red(50, 5, 20, packet=500),
        flows=12,
        rate=2_000_000,
        segment=500,
        rtts=UNTIED,
    ),
    Case(
        "droptail, reno, 2 flows",
        droptail(30),
        ecn=False,
        flows=2,
        rtts=(0.104,),
        delay=0.05,
        far=0.001,
        access=100_000_000,
    ),
    # Every queue with every loss recovery, each with a number of flows, rate, spread of round-trip
    # times and ECN setting that the others do not have.
    Case(
        "droptail, reno, 60 flows, 20 Mbit/s",
        droptail(150),
        ecn=False,
        rate=20_000_000,
        rtts=UNTIED,
    ),
    Case(
        "droptail, newreno, 8 flows, long rtts",
        droptail(120),
        "newreno",
        ecn=False,
        flows=8,
        rtts=LONG,
    ),
    Case("red ecn, reno, 60 flows, 20 Mbit/s", red(200, 40, 120), rate=20_000_000, rtts=UNTIED),
    Case("red ecn, sack, 12 flows, long rtts", red(120, 15, 45), "sack", flows=12, rtts=LONG),
    Case(
        "red drop, newreno, 6 flows, short rtts",
        red(40, 5, 15, signal="drop"),
        "newreno",
        ecn=False,
        flows=6,
        rtts=SHORT,
    ),
    Case(
        "pi ecn, reno, 60 flows, 20 Mbit/s",
        pi(250, 80, a=5e-5, b=4.9e-5),
        rate=20_000_000,
        rtts=UNTIED,
    ),
    Case(
        "pi drop, sack, 40 flows",
        pi(150, 40, marks=False),
        "sack",
        ecn=False,
        flows=40,
        rtts=UNTIED,
    ),
    Case(
        "rem ecn, reno, 80 flows, 20 Mbit/s", rem(150, 30), flows=80, rate=20_000_000, rtts=UNTIED
    ),
    Case(
        "rem drop, newreno, 15 flows, long rtts",
        rem(120, 20, marks=False),
        "newreno",
        ecn=False,
        flows=15,
        rtts=LONG,
    ),
    Case("gkvq, reno, 30 flows, 20 Mbit/s", gkvq(100), flows=30, rate=20_000_000, rtts=UNTIED),
    Case(
        "avq, sack, 80 flows, 20 Mbit/s", avq(150), "sack", flows=80, rate=20_000_000, rtts=UNTIED
    ),
    Case("avq, newreno, 10 flows, short rtts", avq(60), "newreno", flows=10, rtts=SHORT),
    Case(
        "avq drop, newreno, 25 flows, long rtts",
        avq(120, marks=False),
        "newreno",
        ecn=False,
        flows=25,
        rtts=LONG,
    ),
    *CHOKEW,
    *LARGE,
    *CONTINUOUS,
]

TIED = (
    "Retransmission timers and acknowledgements tie at this rate, and ns-2's rounding decides who "
    "sends first; a part in a million more or less of the rate, and the two agree "
    "(docs/validation.md, Ties)."
)

EXPLAINED = {"avq, reno, one rtt, 5 Mbit/s, tied": TIED}
"""Dumbbells with a known disagreement, by name, with the reason."""

QUICK = (
    "droptail, newreno, 40 flows",
    "droptail, sack, 15 flows",
    "red drop, sack, 30 flows",
    "red ecn, sack, 40 flows",
    "pi ecn, sack, 100 flows",
    "rem ecn, newreno, 40 flows",
    "gkvq, sack, 60 flows",
    "avq gamma 0.9, newreno, 50 flows",
)
"""Names of one or two dumbbells per queue, for a quick check."""
