"""The league table: many AQMs by the same scenarios, stored as JSON and shown as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from json import dumps
from typing import Any

from marqueue.evaluation.case import Suite
from marqueue.evaluation.criterion import ORDER
from marqueue.evaluation.evaluating import Evaluation

SIGNS = {"pass": "+", "fail": "−", "not decided": "o", "no model": "", "not applicable": ""}
"""A verdict as one character."""


def league_data(found: Sequence[Evaluation]) -> dict[str, Any]:
    """Verdicts and the criteria behind them, ready for JSON."""
    first = found[0].as_dict()
    kept = ("suite", "version", "effort", "seed", "left_out")
    return {
        **{key: first[key] for key in kept},
        "contenders": {
            each.contender.label: {
                outcome.case.name: {
                    "verdict": outcome.verdict,
                    "criteria": {
                        judged.what: {
                            "value": None if judged.value is None else judged.value.as_dict(),
                            "limit": judged.limit,
                            "verdict": judged.verdict,
                        }
                        for judged in outcome.judgements
                    },
                }
                for outcome in each.outcomes
            }
            for each in found
        },
    }


def league_json(data: Mapping[str, Any]) -> str:
    """The data as JSON with a line for each scenario of a contender: an indent for every figure
    would add two thirds to the size, and a verdict that changes is one line that changes."""

    def line(value: Any) -> str:
        return dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)

    contenders = [
        f"{line(name)}: {{\n"
        + ",\n".join(f"{line(case)}: {line(of[case])}" for case in sorted(of))
        + "\n}"
        for name, of in sorted(data["contenders"].items())
    ]
    rest = [f"{line(key)}: {line(data[key])}" for key in sorted(data) if key != "contenders"]
    members = ['"contenders": {\n' + ",\n".join(contenders) + "\n}", *rest]
    return "{\n" + ",\n".join(members) + "\n}\n"


def ordered(contenders: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The contenders, those with fewest failures first."""
    return sorted(contenders, key=lambda name: (*_counts(contenders[name])[:2], name))


def _counts(of: Mapping[str, Any]) -> list[int]:
    """How many scenarios fail, are not decided, and pass."""
    verdicts = [each["verdict"] for each in of.values()]
    return [verdicts.count(verdict) for verdict in ORDER[:3]]


def league_page(data: Mapping[str, Any], suite: Suite[Any], command: str) -> str:
    """The table as Markdown: a row for each contender, those with fewest failures first."""
    contenders: Mapping[str, Mapping[str, Any]] = data["contenders"]
    ran = [case for case in suite.cases if any(case.name in of for of in contenders.values())]

    order = ordered(contenders)
    head = ["AQM", "fails", "not decided", "passes", *(str(i) for i in range(1, len(ran) + 1))]
    lines = [
        f"# League table: {data['suite']}",
        "",
        f"<!-- Made by {command} from the JSON file beside it. -->",
        "",
        f"{len(contenders)} AQMs with their defaults by {len(ran)} scenarios, {data['effort']} "
        "form, seed "
        f"{data['seed']}. `+` passes, `−` fails, `o` is not decided, empty is without a verdict "
        "(no model, or "
        "not applicable). Scenarios are numbered below. The order is by failures; it says how "
        "often a limit "
        "of [ours](../evaluation.md) was missed, not which AQM is best for a network.",
        "",
        "![Verdicts of each AQM by scenario; the table below has the same](league.svg)",
        "",
        f"| {' | '.join(head)} |",
        f"| {' | '.join(['---'] * len(head))} |",
    ]
    for name in order:
        signs = [SIGNS[contenders[name][case.name]["verdict"]] for case in ran]
        lines.append(f"| {' | '.join([name, *map(str, _counts(contenders[name])), *signs])} |")
    lines += ["", "## Scenarios", ""]
    lines += [f"{i}. {case.section} {case.title} (`{case.name}`)" for i, case in enumerate(ran, 1)]
    lines += ["", "## What fails", "", "| AQM | criteria that fail |", "| --- | --- |"]
    for name in order:
        lines.append(
            f"| {name} | {_failures(contenders[name], [case.name for case in ran]) or 'none'} |"
        )
    return "\n".join(lines) + "\n"


def _failures(of: Mapping[str, Any], cases: Sequence[str]) -> str:
    """The criteria that fail, with their values, by scenario."""
    parts = []
    for case in cases:
        failed = [
            " ".join(filter(None, (what, _mean(each["value"]))))
            for what, each in sorted(of[case]["criteria"].items())
            if each["verdict"] == "fail"
        ]
        if failed:
            parts.append(f"{case}: {', '.join(failed)}")
    return "; ".join(parts)


def _mean(value: Mapping[str, float | None] | None) -> str:
    """The mean of an estimate with three digits; empty where there is none, such as an infinite
    one."""
    mean = None if value is None else value["mean"]
    return "" if mean is None else f"{mean:.3g}"
