"""A scenario built in Python, checked by mypy and pyright: quantities are texts with units or
objects of marqueue.units.

Run it with ``python examples/typed.py``.
"""

from marqueue import Result, Scenario, run
from marqueue.scenario import Access, Aqm, Cbr, Dumbbell, Poisson, Queue, Tcp, Transport
from marqueue.units import Duration, Packets, Rate

ROUND_TRIPS = [f"{milliseconds} ms" for milliseconds in (40, 60, 80)]


def scenario(aqm: Aqm | str, flows: int) -> Scenario:
    """A dumbbell whose bottleneck has this AQM, shared by so many long flows and by short ones."""
    bottleneck = Queue(
        rate="10 Mbit/s",
        delay=Duration.parse("5 ms"),
        buffer=Packets(100),
        aqm=aqm,
    )
    return Scenario(
        name=f"{flows} flows",
        duration="20 s",
        warmup="5 s",
        replications=3,
        topology=Dumbbell(
            rtts=ROUND_TRIPS,
            bottleneck=bottleneck,
            access=Access(rate=Rate(10**9), delay="2 ms"),
        ),
        transport={"default": Transport.of("rfc", ecn=True)},
        traffic=[
            Tcp(kind="tcp", name="long", count=flows, jitter="1 s"),
            Poisson(kind="poisson", name="short", rate="5 /s", size="10 packets"),
            Cbr(kind="cbr", name="voice", rate="64 kbit/s", packet="200 B", dscp="EF"),
        ],
    )


def waiting(result: Result) -> float:
    """The 99th percentile of the queueing delay, ms."""
    return 1e3 * result.link("bottleneck").figures()["delay_p99"].mean


def main() -> None:
    """Prints how long packets wait under two AQMs."""
    for aqm in ("droptail", Aqm.of("pie", delay_ref="15 ms")):
        result = run(scenario(aqm, 10))
        bottleneck = result.scenario["topology"]["bottleneck"]
        print(f"{bottleneck['aqm']['name']}: {waiting(result):.1f} ms")


if __name__ == "__main__":
    main()
