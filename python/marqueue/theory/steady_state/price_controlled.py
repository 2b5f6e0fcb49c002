"""The steady state of flows controlled by prices: max-min Kelly control and Kelly control.

Zhang, Kang and Loguinov, SIGCOMM 2004. Prices are (X - C)/X. Flows of (12) obey the highest price
of their route and settle at alpha = beta x p, which is water-filling. Flows of (9) obey the sum of
prices and maximise the sum of omega ln x minus the cost of prices. On one link with N identical
flows X = C + N alpha / beta and p = N alpha / (C beta + N alpha) (46), (47). The solvers are those
of :mod:`marqueue.theory.mkc.equilibrium`, where n identical flows are one flow with n times alpha
or omega.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from marqueue.errors import Problem, ScenarioError
from marqueue.theory.mkc import equilibrium
from marqueue.theory.mkc.laws import Kelly, Mkc
from marqueue.theory.mkc.network import Network
from marqueue.theory.mkc.price import Loss

#: Laws of fluid models that obey prices.
LAWS = ("mkc", "kelly")


def settle(of: Mapping[str, Any]) -> equilibrium.FixedPoint:
    """The stationary rate of all flows of each class together, and the arrivals at each link,
    packets/s, from the description of a fluid model whose classes have one of :data:`LAWS`.

    Raises :class:`ScenarioError` if classes have different laws or a link has no price, and
    :class:`ModelError` if there are no stationary rates.
    """
    links, classes = of["links"], of["classes"]
    problems = [
        Problem(
            f"topology.{link['name']}.aqm",
            f"outside the steady model: {link['aqm']['name']}, which has no price, expected mkc",
        )
        for link in links
        if link["aqm"]["name"] != "mkc"
    ]
    name = classes[0]["law"]["name"]
    problems += [
        Problem(
            f"traffic.{each['name']}",
            f"outside the steady model: {each['law']['name']} beside {name}, expected one law",
        )
        for each in classes
        if each["law"]["name"] != name
    ]
    if problems:
        raise ScenarioError(problems)
    priced = np.array([link["aqm"]["share"] * link["capacity"] for link in links])
    network = Network.of(priced, [[hop["link"] for hop in each["route"]] for each in classes], 1)
    count = np.array([each["count"] for each in classes])

    def values(key: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([each["law"][key] for each in classes])

    if name == "kelly":
        return equilibrium.kelly_fixed_point(
            network, Kelly(values("kappa"), count * values("omega")), Loss(priced)
        )
    return equilibrium.mkc_fixed_point(
        network, Mkc(count * values("alpha"), values("beta")), Loss(priced)
    )
