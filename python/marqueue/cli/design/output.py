"""Output of a design, as text and as JSON."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from marqueue.cli.console import output, print_json, table
from marqueue.design import Design, Packets, SideOfBoundary, Value
from marqueue.design.packets import FROM, TO


def print_design(
    design: Design,
    trials: tuple[SideOfBoundary, ...] | None,
    packets: Packets | None,
    program: str | None,
    drawn: Path | None,
) -> None:
    """Prints a design as text. ``program`` is the class in Python that packets were simulated
    with."""
    unit = f" {design.unit}" if design.unit else ""
    say = _line
    rules = table("rule", "kind", f"{design.of}{unit and ' (' + design.unit + ')'}", "source")
    for rule in design.rules:
        bound = "none" if rule.bound is None else f"{rule.bound:.6g}"
        rules.add_row(rule.theorem, rule.kind, bound, rule.source)
    missing = "not found" if math.isinf(design.largest) else f"none up to {design.largest:g}"
    edge = missing if design.boundary is None else f"{design.boundary:.6g}"
    rules.add_row("boundary", "exact", edge, "characteristic roots")
    output.print(rules)
    output.print()
    say(
        f"Stable {design.side} {design.of} = {design.chosen:.4g}{unit} ({design.rules[0].theorem})."
    )
    if design.share is not None:
        say(f"That is {design.share:.3g} of the exact boundary.")
    root = design.root
    say(
        f"The rightmost root there is {root.real:.4g} ± {abs(root.imag):.4g}j {design.time}, "
        f"damping {design.damping:.3g}."
    )
    if (margins := design.margins) is not None:
        per = design.time.removeprefix("1/")
        delay = f"{margins.delay * 1e3:.4g} ms" if per == "s" else f"{margins.delay:.4g} steps"
        say(
            f"Margins: gain {margins.gain:.4g}, phase {margins.phase:.4g} degrees at "
            f"{margins.gain_crossover:.4g} rad/{per}, delay {delay}."
        )
    output.print()
    for title, values in (("Configure", design.configure), ("Equilibrium", design.equilibrium)):
        say(f"{title}: " + ", ".join(f"{name} = {value}" for name, value in values.items()) + ".")
    say("Assumed: " + "; ".join(design.assumptions) + ".")
    if trials:
        output.print()
        listing = table(design.of, f"root ({design.time})", f"simulated ({design.time})", "")
        for trial in trials:
            word = "agrees" if trial.agrees else "DISAGREES"
            listing.add_row(
                f"{trial.value:.4g}", f"{trial.linear:.4g}", f"{trial.measured:.4g}", word
            )
        output.print(listing)
    if packets is not None:
        output.print()
        _print_packets(design, packets, program)
    if drawn is not None:
        say(f"Map: {drawn}, data: {drawn.with_suffix('.csv')}.")


#: Sentences for :attr:`Packets.verdict`.
WORDS = {
    "more": "Packets agree with the boundary: beyond it arrivals oscillate more.",
    "less": "Packets DISAGREE with the boundary: beyond it arrivals oscillate less.",
    "no difference": "Packets are INCONCLUSIVE: the interval of the difference includes zero.",
}


def _print_packets(design: Design, packets: Packets, program: str | None) -> None:
    listing = table(
        "packets", f"{design.of} = {packets.inside:.4g}", f"beyond: {packets.beyond:.4g}",
        "difference",
    )  # fmt: skip
    for each in packets.figures:
        listing.add_row(each.figure.title, *(str(value) for value in each.in_unit()))
    output.print(listing)
    if program is not None:
        _line(f"Simulated with {program} in place of {design.controller}.")
    low, high = FROM * packets.frequency, TO * packets.frequency
    _line(f"{WORDS[packets.verdict]} Frequencies: {low:.3g} to {high:.3g} rad/s.")


def _line(text: str) -> None:
    output.print(text, highlight=False, markup=False, soft_wrap=True)


def print_plain(
    design: Design,
    trials: tuple[SideOfBoundary, ...] | None,
    packets: Packets | None,
    program: str | None,
) -> None:
    """Prints a design as JSON."""
    margins, per = design.margins, design.time.removeprefix("1/")
    plain: dict[str, Any] = {
        "controller": design.controller,
        "designed": design.of,
        "unit": design.unit,
        "stable": design.side,
        "bound": design.chosen,
        "theorem": design.rules[0].theorem,
        "source": design.rules[0].source,
        "rules": [
            {"theorem": r.theorem, "source": r.source, "bound": r.bound, "kind": r.kind}
            for r in design.rules
        ],
        "boundary": design.boundary,
        "share_of_boundary": design.share,
        "roots_in": design.time,
        "rightmost_root": [design.root.real, abs(design.root.imag)],
        "damping": design.damping,
        "margins": None
        if margins is None
        else {
            "gain": _finite(margins.gain),
            "phase_degrees": _finite(margins.phase),
            f"delay_{per}": _finite(margins.delay),
            f"gain_crossover_rad_per_{per}": _finite(margins.gain_crossover),
            f"phase_crossover_rad_per_{per}": _finite(margins.phase_crossover),
        },
        "configure": _values(design.configure),
        "equilibrium": _values(design.equilibrium),
        "assumptions": list(design.assumptions),
    }
    if trials is not None:
        plain["check"] = [
            {
                design.of: trial.value,
                "root": trial.linear,
                "simulated": trial.measured,
                "agrees": trial.agrees,
            }
            for trial in trials
        ]
    if packets is not None:
        plain["packets"] = {
            "inside": packets.inside,
            "beyond": packets.beyond,
            "frequency_rad_per_s": packets.frequency,
            "swings_beyond": packets.verdict,
            "program": program,
            "figures": {each.figure.name: each.as_dict() for each in packets.figures},
        }
    print_json(plain)


def _values(values: Any) -> dict[str, Any]:
    pairs: dict[str, Value] = dict(values)
    return {name: {"value": value.number, "unit": value.unit} for name, value in pairs.items()}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
