"""Figure 3: classic Kelly control on four links, by the map and by packet simulation."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import root

from marqueue.papers.figures import PaperFigure
from marqueue.papers.mkc.measures import map_figure, measure_rate, ratio, sender_figure
from marqueue.papers.mkc.setups import PACKET, built, table
from marqueue.papers.paper import Experiment
from marqueue.papers.quantity import Quantities, Runs, single
from marqueue.papers.readings import Choice
from marqueue.scenario import Scenario
from marqueue.statistics.estimates import Floats
from marqueue.theory.mkc import Kelly, Loss, Network, Trajectory, iterate

ROUTES = ((0, 1), (1, 2, 3))
KAPPA, OMEGA = 0.1, 5.0
#: What the paper prints of the topology: C2 and C4, Mbit/s; x1 without the second flow, which is
#: (C1 + C2 + omega) / 2; and 2 x1 + 3 x2, which is the sum of all capacities and 2 omega.
C2, C4, ALONE, SUM = 20.0, 15.0, 27.5, 95.0
C1 = 2 * ALONE - C2 - OMEGA
C3 = SUM - 2 * OMEGA - C1 - C2 - C4
#: C1 to C4, Mbit/s. The printed rates are not used, so that they can be checked.
CAPACITY = (C1, C2, C3, C4)
#: Other capacities, for which Lemma 1 must hold too.
OTHERS = ((40.0, 25.0, 30.0, 10.0), (12.0, 50.0, 9.0, 33.0), (8.0, 16.0, 64.0, 32.0))
LATE = (20.0, 30.0)
FLOWS = ("1", "2")


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """The one."""
    data = table("several-links")
    return {"packets": built(data, data["name"])}


def the_map(
    steps: int = 300,
    capacity: Sequence[float] = CAPACITY,
    routes: Sequence[Sequence[int]] = ROUTES,
) -> Trajectory:
    """The map from 1 Mbit/s, without delay."""
    network = Network.of(capacity, routes)
    return iterate(network, Kelly(KAPPA, OMEGA), Loss(network.capacity), 1.0, steps)


def with_losses() -> Floats:
    """The stationary rates if C3 and C4 see only what C2 has not lost, Mbit/s."""
    c1, c2, c3, c4 = CAPACITY

    def owed(x: Floats) -> Floats:
        passed = min(1.0, c2 / x.sum())
        first = (1 - c1 / x[0]) + (1 - c2 / x.sum())
        arriving = x[1] * passed
        # C4 sees only what C3 has passed on.
        second = (1 - c2 / x.sum()) + (1 - c3 / arriving) + (1 - c4 / min(arriving, c3))
        return np.array([x[0] * first, x[1] * second]) - OMEGA

    found = root(owed, the_map().rates[-1])
    assert found.success, found.message
    rates: Floats = found.x
    return rates


def measure(runs: Runs, _choice: Choice) -> Quantities:
    """Rates of map and packets, and the fixed point with losses."""
    settled = the_map().rates[-1]
    expected = with_losses()
    off = []
    for capacity in (CAPACITY, *OTHERS):
        x1, x2 = the_map(3000, capacity).rates[-1]
        off.append(abs(2 * x1 + 3 * x2 - sum(capacity) - 2 * OMEGA))
    # The second flow alone, whose number is not used above.
    alone = the_map(300, CAPACITY[1:], [(0, 1, 2)]).rates[-1]
    out = {
        "alone.map": single("x2 alone", "map", [float(alone[0])], "Mbit/s"),
        "lemma.off": single("2 x1 + 3 x2 off Lemma 1", "map", [max(off)], "Mbit/s"),
        "lemma.map": single("2 x1 + 3 x2", "map", [2 * settled[0] + 3 * settled[1]], "Mbit/s"),
        "overload.map": single(
            "x1 + x2 beyond C2", "map", [100 * (settled.sum() / CAPACITY[1] - 1)], "%"
        ),
    }
    for i, name in enumerate(FLOWS):
        out[f"rate.map.{name}"] = single(f"x{name}", "map", [float(settled[i])], "Mbit/s")
        out[f"rate.losses.{name}"] = single(
            f"x{name}", "fixed point with losses upstream", [float(expected[i])], "Mbit/s"
        )
        measured = measure_rate(
            runs["packets"], f"x{name}", "packets", lambda x: x.mean(*LATE), "Mbit/s", name
        )
        out[f"rate.packets.{name}"] = measured
        out[f"ratio.packets.{name}"] = ratio(
            measured, [float(expected[i])], f"x{name}, over the fixed point with losses upstream"
        )
    c2, c3 = (runs["packets"].link(link).windows() for link in ("C2", "C3"))
    sent = out["rate.packets.2"].values[:, 0] * (LATE[1] - LATE[0]) / PACKET
    arrived = np.array([w.arrivals for w in c3])
    all_lost = [w.dropped / w.arrivals for w in c2]
    out["lost.all"] = single("Share of packets lost at C2", "both flows", all_lost)
    out["lost.2"] = single("Share of packets lost at C2", "second flow", 1 - arrived / sent)
    one, two = (out[f"rate.packets.{name}"].values for name in FLOWS)
    out["lemma.packets"] = single("2 x1 + 3 x2", "packets", (2 * one + 3 * two)[:, 0], "Mbit/s")
    return out


def draw(runs: Runs, _: Quantities, _choice: Choice) -> Sequence[PaperFigure]:
    """Rates of map and packets over time."""
    rates = the_map(150).rates.T
    named = {f"x{name}": rates[i] for i, name in enumerate(FLOWS)}
    return [
        map_figure("Figure 3", "Two Kelly sources on four links.", {"map": named}),
        sender_figure("Figure 3, packets", "The same by packets.", {"packets": runs["packets"]}),
    ]


EXPERIMENT = Experiment(
    readings=(
        "kappa = 0.1, omega = 5 Mbit/s, C2 = 20 and C4 = 15 Mbit/s. The 27.5 Mbit/s that the "
        "paper prints for x1 alone give C1 = 30 Mbit/s, and the sum of 95 Mbit/s then gives C3 = "
        "20 Mbit/s. The routes, over 1, 2 and over 2, 3, 4, follow from the path lengths of 2 and "
        "3 and from C2 being common. There is no delay.",
        "Packets, which are not in the paper: 200 bytes, links of 5 ms, intervals of 50 ms, 30 s.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
