"""Output of a design by rules, as text and as JSON."""

from __future__ import annotations

from typing import Any

from marqueue.cli.console import output, print_json, table
from marqueue.design.rule_design import ASIDE, BothSides, RuleDesign


def print_rule_design(design: RuleDesign, sides: BothSides | None, program: str | None) -> None:
    """Prints a design by rules as text. ``program`` is the class in Python that packets were
    simulated with."""
    rules = table("parameter", "value", "rule", "source")
    for each in design.parameters:
        rules.add_row(each.name, str(each.value), each.rule, each.source)
    output.print(rules)
    output.print()
    _line(f"Margins: none. {design.no_margins}.")
    _line("Assumed: " + "; ".join(design.assumptions) + ".")
    if sides is None:
        return
    output.print()
    names = ("design", f"times / {ASIDE:g}", "difference", f"times x {ASIDE:g}", "difference")
    listing = table("packets", *names)
    for short, long in zip(sides.shorter, sides.longer, strict=True):
        here, shorter, lost = (str(value) for value in short.in_unit())
        _, longer, more = (str(value) for value in long.in_unit())
        listing.add_row(short.figure.title, here, shorter, lost, longer, more)
    output.print(listing)
    if program is not None:
        _line(f"Simulated with {program} in place of {design.controller}.")
    for question, answer in _answers(sides).items():
        _line(f"{question}: {answer}.")


def print_rule_design_plain(
    design: RuleDesign, sides: BothSides | None, program: str | None
) -> None:
    """Prints a design by rules as JSON."""
    plain: dict[str, Any] = {
        "controller": design.controller,
        "configure": {
            each.name: {
                "value": each.value.number,
                "unit": each.value.unit,
                "rule": each.rule,
                "source": each.source,
            }
            for each in design.parameters
        },
        "margins": None,
        "no_margins": design.no_margins,
        "assumptions": list(design.assumptions),
    }
    if sides is not None:
        plain["packets"] = {
            "aside": ASIDE,
            "shorter_loses_utilization": sides.shorter_loses,
            "longer_adds_delay": sides.longer_delays,
            "program": program,
            "shorter": {each.figure.name: each.as_dict() for each in sides.shorter},
            "longer": {each.figure.name: each.as_dict() for each in sides.longer},
        }
    print_json(plain)


def _answers(sides: BothSides) -> dict[str, str]:
    words = {True: "yes", False: "NO", None: "undecided, the interval includes zero"}
    return {
        "Shorter times lose utilization": words[sides.shorter_loses],
        "Longer times add delay": words[sides.longer_delays],
    }


def _line(text: str) -> None:
    output.print(text, highlight=False, markup=False, soft_wrap=True)
