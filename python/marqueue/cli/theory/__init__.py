"""``marqueue theory``: models of scenarios, one module per model."""

import typer

from marqueue.cli.lazy import Entry, lazy

MODELS = {
    "fluid": Entry("marqueue.cli.theory.fluid", "fluid", extra="theory"),
    "buffer": Entry("marqueue.cli.theory.buffer", "buffer", extra="theory"),
    "chokew": Entry("marqueue.cli.theory.chokew", "chokew", extra="theory"),
    "pf": Entry("marqueue.cli.theory.pf", "pf", extra="theory"),
    "drq-stability": Entry("marqueue.cli.theory.drq_stability", "drq_stability", extra="theory"),
    "linearize": Entry("marqueue.cli.theory.linearize", "linearize", extra="theory"),
    "steady": Entry("marqueue.cli.theory.steady", "steady", extra="theory"),
    "mkc": Entry("marqueue.cli.theory.mkc", "mkc", documented="numbers", extra="theory"),
    "chain": Entry("marqueue.cli.theory.chain", "chain", documented="run", extra="theory"),
}

theory = typer.Typer(cls=lazy(MODELS), no_args_is_help=True)


@theory.callback()
def _group() -> None:
    # Without commands of its own, Typer needs a callback to make a group.
    pass
