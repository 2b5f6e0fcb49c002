"""``marqueue theory``: what models say of a scenario; a module a model."""

import typer

from marqueue.cli.lazy import Entry, lazy

MODELS = {
    "fluid": Entry("marqueue.cli.theory.fluid", "fluid"),
    "buffer": Entry("marqueue.cli.theory.buffer", "buffer"),
    "chokew": Entry("marqueue.cli.theory.chokew", "chokew"),
    "pf": Entry("marqueue.cli.theory.pf", "pf"),
    "drq-stability": Entry("marqueue.cli.theory.drq_stability", "drq_stability"),
    "linearize": Entry("marqueue.cli.theory.linearize", "linearize"),
    "steady": Entry("marqueue.cli.theory.steady", "steady"),
    "mkc": Entry("marqueue.cli.theory.mkc", "mkc", documented="numbers"),
    "chain": Entry("marqueue.cli.theory.chain", "chain", documented="run"),
}

theory = typer.Typer(cls=lazy(MODELS), no_args_is_help=True)


@theory.callback()
def _group() -> None:
    # Typer makes a group of what has a callback or commands; these commands are elsewhere.
    pass
