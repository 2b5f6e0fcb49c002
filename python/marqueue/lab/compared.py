"""The comparison of two results, as the lab shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from marqueue.reports.comparison_report import comparison_charts
from marqueue.reports.embedding import charts_data, columns_for
from marqueue.results import Result
from marqueue.results.comparison import compare


def compared(a: Path, b: Path) -> dict[str, Any]:
    """The settings that differ, the figures of both as texts, and charts with the curves of both,
    ready for JSON.

    Raises ResultError if one is not the result of a run, RunError if they cannot be compared.
    """
    comparison = compare(Result.load(a), Result.load(b))
    charts, choices = comparison_charts(comparison)
    return {
        "a": comparison.a.name,
        "b": comparison.b.name,
        "settings": [vars(each) for each in comparison.settings],
        "method": comparison.method,
        "remarks": comparison.remarks(),
        "charts": charts_data(charts, choices, columns_for(charts)),
        "subjects": [
            {
                "name": subject.name or str(subject),
                "figures": [
                    {
                        "title": each.figure.title,
                        "values": [str(value) for value in each.in_unit()],
                        "excludes_zero": each.excludes_zero,
                    }
                    for each in differences
                ],
            }
            for subject, differences in comparison.by_subject().items()
        ],
    }
