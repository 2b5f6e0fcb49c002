"""The files of an attack: report, summary, and scenarios with it and of the victims alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marqueue.attack.search import Attack, choices, fresh_seed, summary
from marqueue.attack.traffic import ECN_FIELDS, PARAMETERS, scenario
from marqueue.reports.builder import Report
from marqueue.reports.chart import Chart, ChartCurve
from marqueue.results.integrity import seal_directory, write_json
from marqueue.results.provenance import commit


def write(found: Attack, directory: Path) -> None:
    """Writes all files into an empty directory."""
    alone = scenario(found.setting, None, fresh_seed(found.seed), found.without.n)
    write_json(directory / "summary.json", summary(found))
    (directory / "worst.toml").write_text(found.scenario.to_toml(), encoding="utf-8")
    (directory / "without.toml").write_text(alone.to_toml(), encoding="utf-8")
    page(found).write(directory / "report.html")
    provenance = {"kind": "attack", "commit": commit(), "seed": found.seed, "partial": None}
    seal_directory(directory, provenance, {})


HARMS = ("traffic", "harm")
CHOICES = ("choice", "worst, minimized", "as found", "bounds")


def harms(found: Attack) -> list[tuple[str, str]]:
    """Rows of :data:`HARMS`."""
    median, high = np.quantile(found.random, [0.5, 0.95])
    return [
        ("this attack, fresh seeds", str(found.harm)),
        ("the victims alone", str(found.without)),
        (
            f"random traffic within the bounds ({len(found.random)})",
            f"median {median:.3g}, p95 {high:.3g}, worst {found.random.max():.3g}",
        ),
    ]


def chosen(found: Attack) -> list[tuple[str, ...]]:
    """Rows of :data:`CHOICES`: what the attacker chose, beside the bounds."""
    both = [choices(found.worst), choices(found.found.within(found.setting.share))]
    rows = []
    for each in PARAMETERS:
        bounds = f"{each.low:g} to {each.high:g} {each.unit}".rstrip()
        if each.name == "ecn":
            bounds = ", ".join(ECN_FIELDS)
        if each.name in found.setting.fixed:
            bounds = "fixed"
        values = (v if isinstance(v := of[each.name], str) else f"{v:.4g}" for of in both)
        rows.append((each.name, *values, bounds))
    means = (f"{of['mean_rate']:.4g}" for of in both)
    rows.append(("mean rate", *means, f"at most {found.setting.share:g} of the link"))
    return rows


def page(found: Attack) -> Report:
    """The report."""
    setting, title = found.setting, found.goal.title
    name = setting.aqm["name"]
    report = Report(
        f"Worst traffic found for {name}",
        f"{setting.victims} victims and a UDP sender of at most {setting.share:.0%} of a link of "
        f"{setting.rate / 1e6:g} Mbit/s with a buffer of {setting.buffer}. Harm is the {title}.",
        f"{found.runs} runs of {setting.duration:g} s, seed {found.seed}. ± is the half width of "
        "the 95% interval over fresh seeds.",
    )
    as_bad = float((found.random >= found.harm.mean).mean())
    report.answer(
        f"The worst traffic found does a harm of {found.harm}; the victims alone have "
        f"{found.without}. Of {len(found.random)} pieces of random traffic within the same bounds "
        f"{as_bad:.0%} do as much."
    )
    report.section("Harm").table(HARMS, harms(found))
    report.charts([_search(found), _random(found)])
    report.section("The traffic").table(CHOICES, chosen(found))
    report.text(
        "Minimized: each choice is put back to a neutral value, and bursts are shortened, while "
        "at least 95% of the harm stay. worst.toml has this traffic for marqueue run, and "
        "without.toml the victims alone. What a search does not find may exist all the same."
    )
    return report


def _search(found: Attack) -> Chart:
    generations = np.arange(1.0, len(found.history) + 1)
    return Chart(
        "The search: worst harm so far",
        "Generation",
        found.goal.label,
        [ChartCurve(generations, np.array(found.history))],
        kind="step",
        floor=0.0,
    )


def _random(found: Attack) -> Chart:
    """The distribution of random traffic, with the attack as a line across it."""
    values = np.sort(found.random)
    share = np.arange(1, len(values) + 1) / len(values)
    at = found.harm.mean
    return Chart(
        "Random traffic, and the attack",
        found.goal.label,
        "Share of random traffic",
        [
            ChartCurve(values, share, "random traffic"),
            ChartCurve(np.array([at, at]), np.array([0.0, 1.0]), "this attack"),
        ],
        floor=0.0,
    )
