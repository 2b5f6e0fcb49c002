"""``marqueue theory``: what models say of a scenario; a module a model."""

import typer

from marqueue.cli.theory.buffer import buffer
from marqueue.cli.theory.chain import chain
from marqueue.cli.theory.chokew import chokew
from marqueue.cli.theory.drq_stability import drq_stability
from marqueue.cli.theory.fluid import fluid
from marqueue.cli.theory.linearize import linearize
from marqueue.cli.theory.mkc import mkc
from marqueue.cli.theory.pf import pf
from marqueue.cli.theory.steady import steady

theory = typer.Typer(no_args_is_help=True, help="What models say of a scenario.")


@theory.callback()
def _group() -> None:
    """What models say of a scenario."""


theory.command("fluid", no_args_is_help=True)(fluid)
theory.command("buffer", no_args_is_help=True)(buffer)
theory.command("chokew", no_args_is_help=True)(chokew)
theory.command("pf", no_args_is_help=True)(pf)
theory.command("drq-stability", no_args_is_help=True)(drq_stability)
theory.command("linearize", no_args_is_help=True)(linearize)
theory.command("steady", no_args_is_help=True)(steady)
theory.add_typer(mkc, name="mkc")
theory.add_typer(chain, name="chain")
