"""Papers that are reproduced here: every experiment with its figures and a verdict per claim.

A paper is a folder here with a ``paper.toml``; :data:`PAPERS` finds it.
"""

from pathlib import Path

from marqueue.papers.paper import Paper

PAPERS: dict[str, Paper] = {
    paper.key: paper
    for paper in map(Paper.read, sorted(Path(__file__).parent.glob("*/paper.toml")))
}
"""By key, the name of the folder with hyphens."""
