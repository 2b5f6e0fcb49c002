"""Options of the commands of ``marqueue theory mkc``: a network, a law and a price."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import typer

from marqueue.errors import ModelError, show, unknown
from marqueue.theory.mkc import Aimd, Kelly, Loss, Mkc, Network, Power, Scalable, Virtual
from marqueue.theory.mkc.laws import Law
from marqueue.theory.mkc.lossfree import safe_gain
from marqueue.units import Rate

ALPHA, BETA = "10 kbit/s", 0.5
"""Values of most figures in the paper."""

Capacity = Annotated[
    list[str] | None,
    typer.Option(
        "--capacity",
        metavar="RATE",
        help="Rate of a resource (repeatable; resources are numbered from 0).",
        show_default="10 Mbit/s",
    ),
]
Sources = Annotated[
    int | None,
    typer.Option(
        "--sources", "-n", metavar="N", help="Number of sources on one resource.", show_default="2"
    ),
]
Route = Annotated[
    list[str] | None,
    typer.Option(
        "--route",
        metavar="J,J,...",
        help="Resources of a source (repeat for each source).",
        show_default=False,
    ),
]
Delay = Annotated[
    str,
    typer.Option(
        metavar="D,D,...",
        help="Steps from a rate to the price that answers it, from 1: one for all, or one each.",
    ),
]
Forward = Annotated[
    str,
    typer.Option(
        metavar="F,F,...",
        help="Steps from source to resource, less than D: one for all, or one per source.",
    ),
]
LawName = Annotated[
    str,
    typer.Option("--law", metavar="mkc|kelly|aimd|scalable", help="Rate law of the sources."),
]
PriceName = Annotated[
    str,
    typer.Option(
        "--price",
        metavar="loss|virtual|power",
        help="Price: loss is (X - C) / X (EMKC); virtual is the same with an adaptive virtual "
        "capacity, without loss; power is (X / C)^k.",
    ),
]


def parameter(name: str, metavar: str, help_: str, default: str) -> Any:
    """An option of one law or one price."""
    return typer.Option(f"--{name}", metavar=metavar, help=help_, show_default=default)


Alpha = Annotated[
    str | None, parameter("alpha", "RATE", "Increase per step (mkc, aimd).", "10 kbit/s")
]
Beta = Annotated[
    float | None, parameter("beta", "GAIN", "Gain (mkc), or share of a decrease (aimd).", "0.5")
]
Kappa = Annotated[float | None, parameter("kappa", "GAIN", "Gain (kelly).", "0.5")]
Omega = Annotated[
    str | None, parameter("omega", "RATE", "Willingness to pay (kelly).", "10 kbit/s")
]
Gain = Annotated[
    float | None,
    parameter(
        "gain",
        "GAIN",
        "Adaptation gain of the price virtual.",
        "half of the gain that is stable at any beta up to 1",
    ),
]
Target = Annotated[
    float | None, parameter("target", "SHARE", "Utilization of the price virtual.", "0.98")
]
Exponent = Annotated[float | None, parameter("exponent", "K", "Exponent of the price power.", "4")]


def network(
    capacity: list[str] | None,
    sources: int | None,
    route: list[str] | None,
    delay: str = "1",
    forward: str = "0",
) -> Network:
    """The network that these options describe. Raises :class:`ModelError`."""
    capacities = [rate(f"capacity[{j}]", c) for j, c in enumerate(capacity or ["10 Mbit/s"])]
    if route is None:
        if len(capacities) > 1:
            raise ModelError(
                f"--route: got none, expected one a source: there are {len(capacities)} resources"
            )
        if sources is not None and sources < 1:
            raise ModelError(f"--sources: got {sources}, expected at least 1")
        routes = [[0]] * (2 if sources is None else sources)
    else:
        if sources is not None:
            raise ModelError("--sources: got it together with --route, expected one of them")
        routes = [integers(f"--route (source {i})", text) for i, text in enumerate(route)]
    forwards = integers("--forward", forward)
    return Network.of(
        capacities,
        routes,
        integers("--delay", delay),
        forwards[0] if len(forwards) == 1 else forwards,
    )


class MkcParameters:
    """The given parameters. A law and a price take theirs; the rest is an error."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = {name: value for name, value in values.items() if value is not None}

    def take(self, name: str, default: Any) -> Any:
        """A parameter, or its default."""
        return self.values.pop(name, default)

    def none_left(self, law: str, price: str) -> None:
        """Raises :class:`ModelError` if a given parameter was not taken."""
        for name, value in self.values.items():
            raise ModelError(
                f"--{name}: got {show(value)}, expected nothing: the law {law} and price {price} "
                "have no such parameter"
            )


@dataclass(frozen=True)
class System:
    """What the options of a command describe."""

    network: Network
    law: Law
    price: Loss | Virtual | Power


def _option(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=default, annotation=annotation)


#: Options of a network, with delays and without.
UNDELAYED = _option("capacity", Capacity), _option("sources", Sources), _option("route", Route)
DELAYED = (*UNDELAYED, _option("delay", Delay, "1"), _option("forward", Forward, "0"))
_NAMES = _option("law", LawName, "mkc"), _option("price", PriceName, "loss")
_PARAMETERS = (
    _option("alpha", Alpha),
    _option("beta", Beta),
    _option("kappa", Kappa),
    _option("omega", Omega),
    _option("gain", Gain),
    _option("target", Target),
    _option("exponent", Exponent),
)


def command(
    app: typer.Typer, name: str, of_network: tuple[inspect.Parameter, ...]
) -> Callable[[Callable[..., None]], None]:
    """Makes a command of a function of a :class:`System`, its first argument. The command has the
    options ``of_network``, those of a law and a price, and the function's other arguments."""

    def register(function: Callable[..., None]) -> None:
        hints = get_type_hints(function, include_extras=True)
        _, *own = inspect.signature(function).parameters.values()
        others = [_option(each.name, hints[each.name], each.default) for each in own]
        options = [*of_network, *_NAMES, *_PARAMETERS, *others]

        def run(**given: Any) -> None:
            rest = {each.name: given.pop(each.name) for each in others}
            of = network(**{each.name: given.pop(each.name) for each in of_network})
            law, price = (given.pop(each.name) for each in _NAMES)
            function(_system(of, law, price, MkcParameters(given)), **rest)

        run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in options}
        run.__doc__ = function.__doc__
        app.command(name)(run)

    return register


def _system(of: Network, law: str, price: str, given: MkcParameters) -> System:
    system = System(of, _law(law, given), _price(price, of, given))
    given.none_left(law, price)
    return system


def _law(name: str, given: MkcParameters) -> Law:
    match name:
        case "mkc":
            return Mkc(rate("--alpha", given.take("alpha", ALPHA)), given.take("beta", BETA))
        case "kelly":
            return Kelly(given.take("kappa", 0.5), rate("--omega", given.take("omega", ALPHA)))
        case "aimd":
            return Aimd(rate("--alpha", given.take("alpha", ALPHA)), given.take("beta", BETA))
        case "scalable":
            return Scalable()
    raise ModelError(f"--law: {unknown(name, ('mkc', 'kelly', 'aimd', 'scalable'))}")


def _price(name: str, network: Network, given: MkcParameters) -> Loss | Virtual | Power:
    match name:
        case "loss":
            return Loss(network.capacity)
        case "virtual":
            stable = safe_gain(int(network.delay.max()))
            gain, target = given.take("gain", stable / 2), given.take("target", 0.98)
            return Virtual(network.capacity, gain, target)
        case "power":
            return Power(network.capacity, given.take("exponent", 4.0))
    raise ModelError(f"--price: {unknown(name, ('loss', 'virtual', 'power'))}")


def rate(place: str, text: str) -> float:
    """A rate in bits/s. Raises :class:`ModelError` with the place."""
    try:
        return float(Rate.parse(text).base)
    except ValueError as error:
        raise ModelError(f"{place}: {error}") from None


def integers(place: str, text: str) -> list[int]:
    """Whole numbers, separated by commas. Raises :class:`ModelError` with the place."""
    try:
        return [int(part) for part in text.split(",")] if text.strip() else []
    except ValueError:
        raise ModelError(
            f"{place}: got {show(text)}, expected whole numbers, separated by commas"
        ) from None
