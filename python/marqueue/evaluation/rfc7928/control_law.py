"""The control law: sensitivity to parameters, and stability by theory (RFC 7928, section 8.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from marqueue.errors import ModelError, ScenarioError
from marqueue.evaluation.case import MAIN, Case, Effort
from marqueue.evaluation.criterion import Criterion, Judgement
from marqueue.evaluation.rfc7928 import limits, setup
from marqueue.evaluation.rfc7928.senders import COMMON
from marqueue.evaluation.rfc7928.stability import level_about, level_scenario
from marqueue.extras import MissingExtra
from marqueue.programs.registry import is_program
from marqueue.scenario import Aqm, Scenario
from marqueue.scenario.parameters import Refused, aqms
from marqueue.scenario.program import DIGEST, known_declarations, plan_parameters
from marqueue.statistics.estimates import Estimate, plain

FACTORS = {"halved": 0.5, "doubled": 2.0}
LEVEL = "medium"


def variants(aqm: Aqm) -> dict[str, Aqm]:
    """The AQM with each of its numbers halved and doubled, by name; those outside their range are
    left out, and those that are zero or that the AQM computes itself."""
    found = {}
    if is_program(aqm.name):
        declarations = known_declarations(aqm.name, str(aqm.params[DIGEST]))
        values = plan_parameters(aqm.name, aqm.params)
    else:
        declarations, values = aqms()[aqm.name].params, dict(aqm.params)
    for declared in declarations:
        value = values.get(declared.name, declared.default)
        if declared.kind != "number" or not isinstance(value, float | int) or not value:
            continue
        for word, factor in FACTORS.items():
            table = aqm.table() | {declared.name: declared.write(value * factor)}
            try:
                changed = Aqm.read(table)
                level_scenario(LEVEL, "check", changed, Effort.QUICK)
            except (Refused, ScenarioError):
                continue
            found[f"{declared.name} {word}"] = changed
    return found


def _sensitivity(aqm: Aqm, effort: Effort) -> Mapping[str, Scenario]:
    title = f"{LEVEL.capitalize()} congestion"
    return {
        MAIN: level_scenario(LEVEL, title, aqm, effort),
        **{
            name: level_scenario(LEVEL, f"{title}, {name}", changed, effort)
            for name, changed in variants(aqm).items()
        },
    }


def _criteria(aqm: Aqm) -> list[Criterion]:
    return [
        of(run=name)
        for name in variants(aqm)
        for of in (limits.shorter, limits.keeps)
    ]  # fmt: skip


def _without_parameters(aqm: Aqm, effort: Effort) -> list[Judgement]:
    if variants(aqm):
        return []
    return [
        Judgement("Halved and doubled parameters", None, "", "", STABLE, "not applicable",
                  "it has no number to change")
    ]  # fmt: skip


STABLE = (
    "A loop whose linearization has a root right of the imaginary axis oscillates for any small "
    "disturbance. The model is the fluid model of docs/theory/linear.md at its equilibrium."
)


def _stability(aqm: Aqm, effort: Effort) -> list[Judgement]:
    """Whether the loop of TCP and AQM is stable at each congestion level, by theory."""
    return [at_level(name, aqm) for name in setup.LEVELS]


def at_level(name: str, aqm: Aqm) -> Judgement:
    """Whether the loop is stable at one congestion level; no model where there is none."""
    what = f"Rightmost root, {name} congestion"
    limit = "below 0 1/s"
    try:
        # Needs scipy, which other cases do not.
        from marqueue.theory import linearize

        found = linearize(_for_theory(name, aqm))
    except (ScenarioError, ModelError, MissingExtra) as error:
        reason = str(error).splitlines()[0].removeprefix("scenario: ")
        return Judgement(what, None, "1/s", limit, STABLE, "no model", reason)
    # Further digits are those of the machine's linear algebra.
    root = float(f"{found.roots[0].real:.10g}")
    margins = found.margins()
    note = (
        f"gain margin {plain(margins.gain)}, phase margin {plain(margins.phase)}°"
        if margins
        else f"oscillates with a period of {plain(found.period)} s"
    )
    # A figure of a model has no interval.
    return Judgement(
        what, Estimate(root, 0.0, 1), "1/s", limit, STABLE, "pass" if found.stable else "fail", note
    )


def _for_theory(name: str, aqm: Aqm) -> Scenario:
    """The congestion level without what the fluid model does not have: jitter."""
    scenario = level_scenario(name, level_about(name), aqm, Effort.QUICK).to_dict()
    scenario["topology"]["access"].pop("jitter", None)
    return Scenario.model_validate(scenario)


def cases() -> Iterator[Case[Aqm]]:
    """The two cases of section 8.3."""
    yield Case(
        "sensitivity", "8.3", "Sensitivity to parameters",
        f"The {LEVEL} congestion level with each parameter halved and doubled. "
        + level_about(LEVEL),
        _sensitivity, COMMON, _criteria, _without_parameters,
    )  # fmt: skip
    yield Case(
        "control-law", "8.3", "Stability of the control law",
        "The fluid model of TCP Reno and the AQM at each congestion level, linearized.",
        lambda aqm, effort: {}, (), lambda aqm: [], _stability,
    )  # fmt: skip
