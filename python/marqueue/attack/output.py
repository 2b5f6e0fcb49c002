"""The files of an attack: its summary, and scenarios with it and of the victims alone."""

from __future__ import annotations

from pathlib import Path

from marqueue.attack.search import Attack, fresh_seed, summary
from marqueue.attack.traffic import scenario
from marqueue.results.integrity import seal_directory, write_json
from marqueue.results.provenance import commit


def write(found: Attack, directory: Path) -> None:
    """Writes all files into an empty directory."""
    alone = scenario(found.setting, None, fresh_seed(found.seed), found.without.n)
    write_json(directory / "summary.json", summary(found))
    (directory / "worst.toml").write_text(found.scenario.to_toml(), encoding="utf-8")
    (directory / "without.toml").write_text(alone.to_toml(), encoding="utf-8")
    provenance = {"kind": "attack", "commit": commit(), "seed": found.seed, "partial": None}
    seal_directory(directory, provenance, {})
