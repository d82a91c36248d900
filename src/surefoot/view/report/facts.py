"""The words and numbers of a page: the certificate, the arms, the settings, how hard it was."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.algorithms import Result, StopReason, algorithm_from
from surefoot.algorithms.settings import Settings
from surefoot.errors import InputError
from surefoot.view.charts import evidence_frame

if TYPE_CHECKING:
    from surefoot.design.hardness import Complexity
    from surefoot.study import StudyReader
    from surefoot.study.file.description import Description


LARGEST = 5_000  # pairs: beyond it, it would take longer than a reader waits
LARGEST_DIRECT = 400  # without a model, where every pair is a dimension
TOLERANCE = 1e-2
MOST_ARMS = 1_000  # rows of a table on a page


def estimated_hardness(result: Result) -> Complexity | None:
    """Return the complexity at the estimated means and noise, of the model or of pairs by
    themselves, whichever is trusted; None where it is of another question: a tolerance or shared
    streams need fewer pulls than its lower bound, which is for the best worst case of all arms.
    """
    from surefoot.design.hardness import complexity, complexity_by_pairs

    scales, settings = result.noise_scales, result.settings
    if settings.tolerance or settings.common_random_numbers:
        return None
    if not settings.worst_case or settings.limits or settings.aim == "beat baseline":
        return None
    problem, model = result.problem, settings.modelled
    largest = LARGEST if model else LARGEST_DIRECT
    if scales is None or not result.samples or problem.n_pairs > largest:
        return None
    try:
        if model:
            theta = result.sign * result.theta
            return complexity(problem, theta, TOLERANCE, problem.pairs / scales[:, None])
        means = np.nan_to_num(result.sign * result.pair_means)
        return complexity_by_pairs(problem, means, TOLERANCE, scales)
    except (InputError, np.linalg.LinAlgError):  # a tie in the estimate, a single arm
        return None


@dataclass(frozen=True)
class Fact:
    """One line of a table: its label, its value, and the value's meaning."""

    name: str
    value: str
    note: str = ""


def number(value: float | None, digits: int = 4) -> str:
    """Return a number for people; a dash for None or NaN."""
    if value is None or np.isnan(value):
        return "–"
    if np.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.{digits}g}"
    return text.replace("-", "−")


def certificate(result: Result, hardness: Complexity | None = None) -> list[Fact]:
    """Everything the answer rests on."""
    settings = result.settings
    facts = [
        Fact("certified", "yes" if result.certified else "no", result.reason.value),
        *([] if result.reason.never_certifies else _promise(result)),
        Fact("algorithm", result.algorithm),
        Fact("pulls", number(result.samples), f"in {len(result.history)} phases"),
        *_decision(result),
    ]
    if hardness is not None:
        bound = hardness.lower_bound(settings.delta)
        facts.append(
            Fact(
                "lower bound",
                number(bound),
                "pulls that any algorithm needs on average, by the estimate",
            )
        )
    if settings.tolerance:
        facts.append(
            Fact(
                "tolerance",
                f"{settings.tolerance:g}",
                "an arm this close to the best is good enough",
            )
        )
    return [*facts, *_limits(result), _checks(result), *_assumptions(result)]


def _limits(result: Result) -> list[Fact]:
    """Return the limits of further outputs, and the arms known to keep or miss them."""
    facts = [Fact(f"limit of {limit.output}", limit.words) for limit in result.settings.limits]
    known, names = result.qualifying, np.array(result.problem.arm_names)
    if known is None:
        return facts
    for said, arms in (("shown to qualify", known.shown), ("shown not to qualify", known.unfit)):
        count = f"{number(arms.sum())} of {number(len(arms))} arms"
        facts.append(Fact(said, count, _names(names[arms].tolist())))
    return facts


def _promise(result: Result) -> list[Fact]:
    """Return the level, and the rules where they are not proved."""
    settings = result.settings
    return [
        Fact(
            "confidence" if result.certified else "confidence asked for",
            f"{100 * (1 - settings.delta):g} %",
            f"the chance of a wrong certificate, δ, is at most {settings.delta:g}, if what is "
            "assumed below holds",
        ),
        *([] if settings.rules == "valid" else [Fact("rules", "the paper's", "not proved")]),
    ]


def _assumptions(result: Result) -> list[Fact]:
    """Return the assumptions of the answer, the most important first."""
    settings = result.settings
    shared = settings.common_random_numbers is not False
    linear = "means are linear in the features"
    if settings.misfit > 0:
        linear += f" to within {settings.misfit:g}"
    assumed = [
        "pulls are independent" + (", but for streams shared on purpose" if shared else ""),
        linear
        if settings.modelled
        else "nothing about how means depend on parameters: pulled pairs are compared directly",
        settings.noise.assumption,
    ]
    facts = [
        Fact(f"assumed of {what}", text)
        for what, text in zip(("pulls", "means", "noise"), assumed, strict=True)
    ]
    noises = dict.fromkeys((limit.output, limit.noise.assumption) for limit in settings.limits)
    facts += [Fact(f"assumed of the noise of {output}", text) for output, text in noises]
    return facts if result.shape is None else [*facts, Fact("differences", result.shape)]


def _decision(result: Result) -> list[Fact]:
    """Return the look that counts most: the last one at the runner-up."""
    frame = evidence_frame(result, rivals=1)
    if frame.empty:
        return []
    last = frame.iloc[-1]
    state = "reached" if last["eliminated"] else "not reached"
    when = f"at {number(last['pulls'])} pulls"
    note = f"against {last['arm']}, the runner-up, {when}: the boundary is {state}"
    return [
        Fact("evidence", number(last["evidence"]), note),
        Fact("boundary", number(last["boundary"]), "what the evidence against an arm has to reach"),
    ]


def _checks(result: Result) -> Fact:
    """Return the findings of the rewards on the assumptions; without a model, no warning on it."""
    note = "passing proves nothing; failing is a warning to heed" if result.model_is_trusted else ""
    return Fact("checks", result.checks, note)


def _trust(settings: Settings) -> str:
    """Return the meaning of the misfit in words."""
    if not settings.modelled:
        return "no model: pairs are compared directly"
    return "how far means may be from a linear function of the features"


def settings_facts(result: Result, reader: StudyReader | None = None) -> list[Fact]:
    """Return all that is needed to repeat the run."""
    problem, settings = result.problem, result.settings
    named = f"{problem.feature_kind}: {_names(problem.feature_names)}"
    use = (
        "of a linear model" if settings.modelled else "they guide where to look, and prove nothing"
    )
    facts = [
        Fact("arms", number(problem.n_arms)),
        Fact("pairs", number(problem.n_pairs), "an arm under one of its perturbations"),
        Fact("features", named, use),
        Fact("noise", settings.noise.assumption),
        Fact("delta", f"{settings.delta:g}"),
        Fact("rules", settings.rules),
        Fact("misfit", f"{settings.misfit:g}", _trust(settings)),
        Fact("measure", settings.measure.words),
        Fact("aim", settings.aim),
        *_asked(settings),
        Fact("common random numbers", str(settings.common_random_numbers).lower()),
        Fact("tolerance", f"{settings.tolerance:g}"),
        Fact("budget", "none" if settings.budget is None else number(settings.budget)),
        Fact("on_misfit", settings.on_misfit),
        Fact("algorithm", result.algorithm),
    ]
    return facts + (_study_facts(reader) if reader else [])


def _asked(settings: Settings) -> list[Fact]:
    """Return the settings that only some studies have."""
    facts = []
    if settings.objective is not None:
        facts.append(Fact("objective", settings.objective, "the output to be best in"))
    facts += [Fact("limit", limit.words) for limit in settings.limits]
    if settings.baseline is not None:
        facts.append(Fact("baseline", settings.baseline, "the arm that is used today"))
    if settings.aim == "beat baseline":
        facts.append(Fact("gain", f"{settings.gain:g}", "by how much the baseline is to be beaten"))
    return facts


def _names(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _study_facts(reader: StudyReader) -> list[Fact]:
    described = reader.description
    return [
        Fact("options", _options(described), "where they differ from the defaults"),
        Fact("direction", described.direction),
        Fact("seed", str(described.seed)),
        Fact("study", described.id, "its identifier"),
        Fact(
            "made with",
            ", ".join(f"{name} {version}" for name, version in described.versions.items()),
        ),
    ]


def _options(described: Description) -> str:
    """Return the options that differ from the defaults; all of them if the algorithm is not known
    here.
    """
    try:
        defaults = algorithm_from(described.algorithm).options()
    except InputError:
        defaults = {}
    differing = _differing(described.options, defaults)
    return json.dumps(differing) if differing else "none differ"


def _differing(given: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Return the entries that differ from the defaults, nested ones too."""
    differing: dict[str, Any] = {}
    for name, value in given.items():
        default = defaults.get(name)
        if value == default:
            continue
        if isinstance(value, dict) and isinstance(default, dict):
            differing[name] = _differing(value, default)
        else:
            differing[name] = value
    return differing


def correction_facts(reader: StudyReader) -> list[Fact]:
    """Return the rewards that were corrected."""
    return [
        Fact(f"pull {row['pull']}", f"{row['became']:g}", f"was told as {row['was']:g}")
        for row in reader.corrections().to_dict("records")
    ]


def simulator_facts(reader: StudyReader) -> list[Fact]:
    """Return the simulators of the rewards: each with its settings, and its files."""
    used = reader.simulators
    return [
        Fact(
            "the simulator" if one is used.first else f"changed after {one.since} rewards",
            ", ".join(f"{key} {value}" for key, value in one.source.asked.items()),
            f"gave {one.pulls} rewards; {', '.join(one.source.files) or 'no file of its own'}"
            + (f"; accepted: {one.accepted}" if one.accepted else "")
            + ("; not accepted" if one in used.pending else ""),
        )
        for one in used
        if one.pulls
    ]


def state_words(state: str, certified: bool, reason: StopReason) -> str:
    """Return the state in two or three words."""
    if state == "finished":
        return (
            "finished, certified"
            if certified
            else f"finished, not certified ({reason.name.lower()})"
        )
    return state


def said_of_arms(n_arms: int) -> str:
    """Return a sentence on how many arms a page lists; empty where it lists all."""
    if n_arms <= MOST_ARMS:
        return ""
    return (
        f"The first {number(MOST_ARMS)} of {number(n_arms)} arms; `surefoot export` "
        "writes a table of all."
    )


def arm_rows(frame: Any) -> list[dict[str, str]]:
    """Return the first rows of `charts.arms_frame` as they are printed, of at most `MOST_ARMS`
    arms.
    """
    return [
        {
            "rank": str(row["rank"]),
            "arm": row["arm"],
            "value": number(row["value"]),
            "low": number(row["low"]),
            "high": number(row["high"]),
            "worst": row["worst"] if row["pulls"] or not np.isnan(row["value"]) else "–",
            "pulls": number(row["pulls"]),
            "kind": row["kind"],
        }
        for row in frame.head(MOST_ARMS).to_dict("records")
    ]
