"""Tables of the AQMs and of their parameters, from the engine's declarations."""

from collections.abc import Iterator

from marqueue.scenario.parameters import Declaration, aqms

HEAD = ["parameter", "meaning", "values", "default", "source"]
BAR = "\\|"
"""A bar within a cell."""


def aqm_table() -> str:
    """All AQMs, each with a link to its page, which lies beside."""
    rows = [[f"[{each.name}]({each.name}.md)", each.summary] for each in aqms().values()]
    return "\n".join(_table(["AQM", "what it does"], rows))


def parameters(name: str) -> str:
    """The parameters, the recorded variables and the source of an AQM, as sections."""
    entry = aqms()[name]
    lines = ["## Parameters", ""]
    if entry.params:
        lines += _table(HEAD, [_row(each) for each in entry.params])
    else:
        lines.append("It has no parameters.")
    if entry.probes:
        listed = ", ".join(f"`{variable}` ({unit})" for variable, unit in entry.probes)
        lines += ["", "## Recorded over time", "", f"Columns of the time series: {listed}."]
    lines += ["", "## Source", "", f"{entry.source[0].upper()}{entry.source[1:]}."]
    return "\n".join(lines)


def _row(spec: Declaration) -> list[str]:
    default = spec.auto if spec.default is None else _shown(spec.write(spec.default))
    allowed = "an AQM" if spec.kind == "policy" else spec.range or spec.expected
    return [f"`{spec.name}`", spec.doc, allowed, default or "required", spec.source]


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', BAR) for cell in row)} |"
