"""Reproductions of papers: every experiment with its figures, and a verdict on each claim.

A paper is a folder here with a ``paper.toml``; :data:`PAPERS` lists them.
"""

from pathlib import Path

from marqueue.papers.paper import Paper

PAPERS: dict[str, Paper] = {
    paper.key: paper
    for paper in map(Paper.read, sorted(Path(__file__).parent.glob("*/paper.toml")))
}
"""Papers by key: the name of the folder with hyphens."""
