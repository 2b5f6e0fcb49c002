"""``marqueue theory drq-stability``."""

from marqueue.cli import options
from marqueue.cli.console import output, print_json, table
from marqueue.scenario import load
from marqueue.theory.drq.from_scenario import network
from marqueue.theory.drq.stability import stability
from marqueue.theory.linear.characteristic import Linear, rightmost


def drq_stability(
    file: options.File,
    set_: options.Set = None,
    json: options.PlainJson = False,
) -> None:
    """Check the stability of the fluid model of a scenario under DRQ: the bound of Proposition 2 on
    the slope of RED times capacity, the exact boundary, and the configured value.

    Example: marqueue theory drq-stability scenarios/cpu.toml --set traffic.forward.count=40
    """
    model = network(load(file, set_ or []))
    found = stability(model)
    roots = {
        "constant round trips": _rightmost(model.linear(model.gains)),
        "round trips with queueing": _rightmost(model.linear_with_queueing(model.gains)),
    }
    boundaries = (found.boundary, found.boundary_with_queueing)
    if json:
        print_json(
            {
                "congested": list(model.optimum.congested),
                "prices": {
                    resource.name: float(price)
                    for resource, price in zip(model.resources, model.optimum.prices, strict=True)
                },
                "bound_per_s": found.bound,
                "steepest_configured_per_s": found.configured,
                "configured_per_s": dict(
                    zip(model.optimum.congested, map(float, model.gains), strict=True)
                ),
                "models": {
                    name: {
                        "boundary_per_s": edge,
                        "stable": root.real < 0,
                        "rightmost_root_per_s": [root.real, abs(root.imag)],
                    }
                    for (name, root), edge in zip(roots.items(), boundaries, strict=True)
                },
            }
        )
        return
    congested = ", ".join(model.optimum.congested)
    output.print(f"Congested, with prices below 1: {congested}.", highlight=False)
    gains = ", ".join(f"{gain:.4g}" for gain in model.gains)
    output.print(
        f"Slope of RED times capacity: {gains} 1/s at the equilibrium, {found.configured:.4g} "
        f"1/s at the steepest point. Proposition 2 requires less than {found.bound:.4g} 1/s.",
        highlight=False,
    )
    listing = table("model", "boundary (1/s)", "boundary / bound", "configured", "rightmost (1/s)")
    for (name, root), edge in zip(roots.items(), boundaries, strict=True):
        listing.add_row(
            name,
            f"{edge:.4g}",
            f"{edge / found.bound:.3g}" if found.bound > 0 else "",
            "stable" if root.real < 0 else "unstable",
            f"{root.real:.3g} ± {abs(root.imag):.3g} i",
        )
    output.print(listing)


def _rightmost(system: Linear) -> complex:
    return complex(rightmost(system)[0])
