"""The reproduction of a paper: quantities, verdicts, figures and their files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from marqueue import __version__
from marqueue.papers import ledger
from marqueue.papers.cases import Case, largest_runs
from marqueue.papers.claims import Claim, read_claims
from marqueue.papers.figures import PaperFigure, PaperTable
from marqueue.papers.quantity import Quantities, Quantity, Runs
from marqueue.papers.readings import ALL, MAIN, Reading
from marqueue.papers.verdict import COUNTED, Decision, Judgement, Overall
from marqueue.reports.builder import OUTCOMES
from marqueue.results import Result
from marqueue.results.provenance import Circumstances

if TYPE_CHECKING:
    from marqueue.papers.paper import Form, Paper
    from marqueue.results import Result

STYLES: dict[Decision, str] = {"holds": "green", "open": "dim", "fails": "red"}
VERB: dict[Decision, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "open": ("is not decided", "are not decided"),
    "fails": ("does not hold", "do not hold"),
}
"""Verbs for one claim, and for several."""


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
    def quantities(self) -> dict[str, Quantities]:
        """The quantities of each experiment under its leading choice."""
        return {number: cases[0].quantities for number, cases in self.cases.items()}

    @cached_property
    def claims(self) -> list[Claim]:
        """The claims of the experiments that ran."""
        every = read_claims(self.paper.folder / "claims.toml")
        return [claim for claim in every if claim.experiment in self.cases]

    @cached_property
    def readings(self) -> list[Reading]:
        """What the paper leaves open in the experiments that ran."""
        return [each for each in self.paper.readings if set(each.experiments) & set(self.cases)]

    @cached_property
    def judged(self) -> dict[str, dict[str, Judgement]]:
        """Each claim, by its id, as judged under each choice, by its label."""
        return {
            claim.id: {
                case.choice.label: case.judge(claim) for case in self.cases[claim.experiment]
            }
            for claim in self.claims
        }

    @cached_property
    def verdicts(self) -> dict[str, Judgement]:
        """Each claim, by its id, as judged under the leading choice."""
        return {name: next(iter(each.values())) for name, each in self.judged.items()}

    @cached_property
    def overall(self) -> dict[str, Overall]:
        """Each claim, by its id, over all choices."""
        return {
            name: Overall({label: one.outcome for label, one in each.items()})
            for name, each in self.judged.items()
        }

    @property
    def several(self) -> list[str]:
        """The experiments that ran under several choices."""
        return [number for number, cases in self.cases.items() if len(cases) > 1]

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
        return {number: cases[0].figures for number, cases in self.cases.items()}

    def ledger_rows(self, note: ledger.Note) -> list[ledger.Row]:
        """The numbers of a ledger entry."""
        quantities = {} if note.experiment is None else self.quantities[note.experiment]
        return ledger.rows(note, self.reference, quantities)

    @property
    def results(self) -> list[Result]:
        """The results of all set-ups; none if the experiments are of theory alone."""
        return self._set_ups

    @property
    def seed(self) -> int | None:
        """The seed of the set-ups; None if nothing was simulated."""
        return next((run.provenance.seed for run in self.results), None)

    @property
    def replications(self) -> list[int]:
        """The numbers of replications of set-ups, from the least; 1 if nothing was simulated:
        theory has no randomness."""
        return sorted({each.replications for each in self._set_ups}) or [1]

    @property
    def replicated(self) -> str:
        """The numbers of replications, as text."""
        if len(self.replications) == 1:
            return f"{self.replications[0]} replications of every set-up"
        counts = Counter(each.replications for each in self._set_ups)
        listed = ", ".join(f"{each} in {counts[each]}" for each in self.replications)
        return f"{self.replications[0]} to {self.replications[-1]} replications ({listed} set-ups)"

    @cached_property
    def _set_ups(self) -> list[Result]:
        return largest_runs([case for cases in self.cases.values() for case in cases])

    @property
    def looks(self) -> str:
        """How replications are added, as a sentence; empty if they are not."""
        looks = self.form.looks
        if len(looks) == 1:
            return ""
        return (
            f"Comparisons are judged with {looks[0]} replications and, while some are not decided, "
            f"again with {' and '.join(map(str, looks[1:]))}, by {self.form.confidence:.1%} "
            "intervals: all looks together keep 95% (Bonferroni)."
        )

    @property
    def counts(self) -> Counter[Decision]:
        """Number of claims by outcome under the leading choice."""
        return Counter(each.outcome for each in self.verdicts.values())

    @property
    def sentence(self) -> str:
        """The outcome as a sentence, with another for several choices."""
        parts = [f"{self.counts[o]} {VERB[o][self.counts[o] > 1]}" for o in VERB if self.counts[o]]
        listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
        n = len(self.claims)
        chosen = self.form.readings
        read = "" if chosen in (MAIN, ALL) else f" and by reading it with {chosen}"
        how = "simulating its experiments again" if self.results else "computing its theory again"
        return (
            f"Of {n} claim{'s' * (n != 1)} of the paper, checked by {how}{read}, {listed}."
            f"{self._over_readings}"
        )

    @property
    def _over_readings(self) -> str:
        if not self.several:
            return ""
        counts = Counter(
            self.overall[each.id].outcome for each in self.claims if each.experiment in self.several
        )
        return (
            " Of claims in experiments with several readings there hold under all of them: "
            f"{counts['holds']}; under some: {counts['depends']}; under none: {counts['fails']}; "
            f"not decided: {counts['open']}."
        )

    def table(self) -> Table:
        """The claims with their verdicts, for the terminal."""
        explained = (
            f"± is the half width of the 95% confidence interval over {self.replicated}."
            if self.results
            else "",
            self.looks if self.results else "",
            "Units stand in brackets; what has none is a count or a share. Of several comparisons "
            "the least favourable to the claim is shown; the numbers below a verdict count them: "
            f"{COUNTED}.",
        )
        out = Table(
            title=Text(self.paper.title),
            caption=" ".join(filter(None, explained)),
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
        if self.several:
            out.add_column("over the readings", ratio=2)
        for claim in self.claims:
            v = self.verdicts[claim.id]
            outcome = Text(f"{OUTCOMES[v.outcome]}\n{v.counted}", style=STYLES[v.outcome])
            several = len(self.cases) > 1
            says = f"Experiment {claim.experiment}: {claim.says}" if several else claim.says
            row = [Text(says), Text(claim.paper), Text(v.in_words), outcome]
            out.add_row(*row, *[Text(self.overall[claim.id].text)] * bool(self.several))
        return out

    @cached_property
    def judged_claims(self) -> list[dict[str, Any]]:
        """The claims with their verdicts, for JSON."""
        return [
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
                    label: each.as_dict() for label, each in self.judged[claim.id].items()
                },
                "overall": self.overall[claim.id].as_dict(),
            }
            for claim in self.claims
        ]

    def summary(self) -> dict[str, Any]:
        """Quantities and verdicts for JSON. They depend on paper, version and form only."""
        return {
            "paper": self.paper.key,
            "version": __version__,
            "quick": self.form.quick,
            "readings": self.form.readings,
            "replications": self.replications[-1],
            "looks": list(self.form.looks),
            "seed": self.seed,
            "experiments": list(self.runs),
            "verdicts": dict(sorted(self.counts.items())),
            "claims": self.judged_claims,
            "figures": [
                {"experiment": number, "name": each.name, "caption": each.caption}
                for number, every in self.figures.items()
                for each in every
                if isinstance(each, PaperFigure)
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
