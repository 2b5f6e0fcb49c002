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

#: C1 to C4, Mbit/s, and the routes.
CAPACITY = (30.0, 20.0, 20.0, 15.0)
ROUTES = ((0, 1), (1, 2, 3))
KAPPA, OMEGA = 0.1, 5.0
LATE = (20.0, 30.0)
FLOWS = ("1", "2")


def setups(_choice: Choice) -> Mapping[str, Scenario]:
    """The one."""
    data = table("several-links")
    return {"packets": built(data, data["name"])}


def the_map(steps: int = 300) -> Trajectory:
    """The map from 1 Mbit/s, without delay."""
    network = Network.of(CAPACITY, ROUTES)
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
    out = {
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
        "kappa = 0.1, omega = 5 Mbit/s, C2 = 20 and C4 = 15 Mbit/s. The paper does not give C1, "
        "C3 and the routes. The path lengths of 2 and 3, the sum of 95 Mbit/s and the rates imply "
        "C1 = 30 and C3 = 20 Mbit/s, and routes over 1, 2 and over 2, 3, 4. There is no delay.",
        "Packets, which are not in the paper: 200 bytes, links of 5 ms, intervals of 50 ms, 30 s.",
    ),
    setups=setups,
    measure=measure,
    draw=draw,
)
