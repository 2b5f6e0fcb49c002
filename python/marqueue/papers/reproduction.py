"""The reproduction of a paper: quantities, verdicts, figures and their files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from marqueue import __version__
from marqueue.papers import ledger
from marqueue.papers.claims import Claim, read_claims
from marqueue.papers.figures import PaperFigure, PaperTable
from marqueue.papers.quantity import Quantities, Quantity, Runs
from marqueue.papers.readings import Choice
from marqueue.papers.verdict import judge, least_favourable
from marqueue.reports import Outcome, Verdict
from marqueue.reports.builder import OUTCOMES
from marqueue.results.provenance import Circumstances

if TYPE_CHECKING:
    from marqueue.papers.paper import Form, Paper
    from marqueue.results import Result

STYLES: dict[Outcome, str] = {"holds": "green", "partly": "yellow", "fails": "red", "open": "dim"}
VERB: dict[Outcome, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "partly": ("holds in part", "hold in part"),
    "fails": ("does not hold", "do not hold"),
    "open": ("is not decided", "are not decided"),
}
"""Verbs for one claim, and for several."""


@dataclass(frozen=True)
class Case:
    """An experiment as run under one choice of readings."""

    choice: Choice
    runs: Runs


class Reproduction:
    """The outcome of experiments of a paper, each under one choice of readings or several.

    Quantities, figures and ledger are those of the leading choice.
    """

    def __init__(
        self,
        paper: Paper,
        form: Form,
        cases: Mapping[str, Sequence[Case]],
        made: Circumstances,
    ) -> None:
        self.paper = paper
        self.form = form
        self.cases = cases
        self.made = made

    @cached_property
    def runs(self) -> dict[str, Runs]:
        """The results of each experiment under its leading choice."""
        return {number: cases[0].runs for number, cases in self.cases.items()}

    @cached_property
    def measured(self) -> dict[str, dict[str, Quantities]]:
        """The quantities of each experiment under each choice, by its label."""
        return {
            number: {
                case.choice.label: self.paper.experiment(number).measure(case.runs, case.choice)
                for case in cases
            }
            for number, cases in self.cases.items()
        }

    @cached_property
    def quantities(self) -> dict[str, Quantities]:
        """The quantities of each experiment under its leading choice."""
        return {number: next(iter(each.values())) for number, each in self.measured.items()}

    @cached_property
    def claims(self) -> list[Claim]:
        """The claims of the experiments that ran."""
        every = read_claims(self.paper.folder / "claims.toml")
        return [claim for claim in every if claim.experiment in self.cases]

    @cached_property
    def judged(self) -> dict[str, dict[str, Verdict]]:
        """The verdicts on each claim, by its id, under each choice, by its label."""
        return {
            claim.id: {
                label: judge(claim, quantities)
                for label, quantities in self.measured[claim.experiment].items()
            }
            for claim in self.claims
        }

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """The verdict on each claim under the leading choice, by its id."""
        return {name: next(iter(each.values())) for name, each in self.judged.items()}

    @cached_property
    def notes(self) -> list[ledger.Note]:
        """Ledger entries of the experiments that ran, and of the paper as a whole."""
        every = ledger.read_ledger(self.paper.folder / "ledger.toml")
        return [note for note in every if note.experiment in (None, *self.runs)]

    @cached_property
    def reference(self) -> ledger.Reference | None:
        """The numbers of the reference simulator, if there are any."""
        path = self.paper.folder / "reference.toml"
        return ledger.read_reference(path) if path.exists() else None

    @cached_property
    def figures(self) -> dict[str, Sequence[PaperFigure | PaperTable]]:
        """The figures of each experiment."""
        return {
            n: self.paper.experiment(n).draw(cases[0].runs, self.quantities[n], cases[0].choice)
            for n, cases in self.cases.items()
        }

    def ledger_rows(self, note: ledger.Note) -> list[ledger.Row]:
        """The numbers of a ledger entry."""
        quantities = {} if note.experiment is None else self.quantities[note.experiment]
        return ledger.rows(note, self.reference, quantities)

    @property
    def results(self) -> list[Result]:
        """The results of all set-ups; none if the experiments are of theory alone."""
        return [run for runs in self.runs.values() for run in runs.values()]

    @property
    def seed(self) -> int | None:
        """The seed of the set-ups; None if nothing was simulated."""
        return next((run.provenance.seed for run in self.results), None)

    @property
    def replications(self) -> int:
        """Replications of each set-up, except those in :attr:`fewer`; 1 if nothing was simulated,
        because theory has no randomness."""
        return max((run.replications for run in self.results), default=1)

    @property
    def fewer(self) -> str:
        """The set-ups with fewer replications, as text; empty if there are none."""
        counts = Counter(run.replications for run in self.results)
        few = [f"{n} of {of}" for of, n in sorted(counts.items()) if of < self.replications]
        return f" (set-ups with fewer: {', '.join(few)})" if few else ""

    @property
    def counts(self) -> Counter[Outcome]:
        """Number of claims by outcome."""
        return Counter(verdict.outcome for verdict in self.verdicts.values())

    @property
    def sentence(self) -> str:
        """The outcome as a sentence."""
        parts = [f"{self.counts[o]} {VERB[o][self.counts[o] > 1]}" for o in VERB if self.counts[o]]
        listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
        n = len(self.claims)
        how = "simulating its experiments again" if self.results else "computing its theory again"
        return f"Of {n} claim{'s' * (n != 1)} of the paper, checked by {how}, {listed}."

    def table(self) -> Table:
        """The claims with their verdicts, for the terminal."""
        interval = (
            "± is the half width of the 95% confidence interval over "
            f"{self.replications} replications{self.fewer}. "
        )
        out = Table(
            title=Text(self.paper.title),
            caption=f"{interval if self.results else ''}Units stand in brackets; what has none is "
            "a count or a share. Of several comparisons the least favourable to the claim is "
            "shown.",
            title_justify="left",
            caption_justify="left",
            box=box.HORIZONTALS,
            show_lines=True,
            pad_edge=False,
        )
        out.add_column("the paper says", ratio=5)
        out.add_column("its figure", ratio=2)
        out.add_column("measured here", ratio=5)
        out.add_column("the claim", no_wrap=True)
        several = len(self.runs) > 1
        for claim in self.claims:
            v = self.verdicts[claim.id]
            outcome = Text(OUTCOMES[v.outcome], style=STYLES[v.outcome])
            says = f"Experiment {claim.experiment}: {v.claim}" if several else v.claim
            measured = least_favourable(claim, self.quantities[claim.experiment])
            out.add_row(Text(says), Text(v.expected), Text(measured), outcome)
        return out

    def summary(self) -> dict[str, Any]:
        """Quantities and verdicts for JSON. They depend on paper, version and form only."""
        return {
            "paper": self.paper.key,
            "version": __version__,
            "quick": self.form.quick,
            "readings": self.form.readings,
            "replications": self.replications,
            "seed": self.seed,
            "experiments": list(self.runs),
            "verdicts": dict(sorted(self.counts.items())),
            "claims": [
                {
                    "id": claim.id,
                    "experiment": claim.experiment,
                    "where": claim.where,
                    "says": claim.says,
                    "paper": claim.paper,
                    "measured": self.verdicts[claim.id].measured,
                    "verdict": self.verdicts[claim.id].outcome,
                    "note": self.verdicts[claim.id].note,
                    "readings": {
                        label: {"verdict": each.outcome, "measured": each.measured}
                        for label, each in self.judged[claim.id].items()
                    },
                }
                for claim in self.claims
            ],
            "quantities": {
                number: {name: _plain(quantity) for name, quantity in quantities.items()}
                for number, quantities in self.quantities.items()
            },
        }


def _plain(quantity: Quantity) -> dict[str, Any]:
    out: dict[str, Any] = {
        "label": quantity.label,
        "of": quantity.of,
        "unit": quantity.unit,
        "estimates": [estimate.as_dict() for estimate in quantity.estimates],
    }
    if quantity.variable:
        out |= {"variable": quantity.variable, "places": list(quantity.places)}
    return out
