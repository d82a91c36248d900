"""The result of a run: the arm, whether it is certified, why it stopped, and its history."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from surefoot.algorithms.settings import Settings
from surefoot.algorithms.unseen import Unseen, unseen_by
from surefoot.algorithms.verdict import (
    SYMMETRIC,
    AgainstLimit,
    Known,
    Leads,
    ModelCheck,
    OutputEstimate,
    PhaseRecord,
    Qualifying,
    StopReason,
    said_of_skewness,
)
from surefoot.arrays import Array, IntArray
from surefoot.problem.coding import Value
from surefoot.problem.measures import Measure, Points
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Counts

if TYPE_CHECKING:
    import pandas as pd

WORTH_SAYING = 0.01  # a confidence below this says nothing
CLEAR = 3.0  # standard errors of a difference that is worth saying
KNOWN = 8  # fewest pulls for which a standard error is reported


@dataclass(frozen=True, eq=False)
class Result:
    """The answer of a run, valid at any time.

    Attributes:
        arm: the best arm, or the best guess.
        certified: whether P(wrong) ≤ delta is proved, under the model.
        reason: why it stopped; its text says what to do next.
        candidates: the arms not yet excluded: a (1 − delta) confidence set for the best arm.
        theta: (dimension,) least squares on all data, in the problem's reduced basis.
        pair_means: (n_pairs,) estimated mean rewards.
        pair_lower, pair_upper: (n_pairs,) ends of intervals that hold the mean rewards of all pairs
            at all looks at once with probability ≥ 1 − delta; infinite where no bound is known.
        pair_averages: (n_pairs,) means of the rewards themselves, without the model; NaN before the
            first pull.
        pair_errors: (n_pairs,) their standard errors; NaN where they are not known.
        noise_scales: (n_pairs,) scales of the noise, as given or estimated from replicates; None if
            unknown.
        skewness: of the differences between single pulls that decide, the largest in size that is
            clear of chance; 0 if no skewness is clear, None where no evidence takes differences for
            normal.
        minimize: whether pulls give costs: an arm's worst case is then its largest mean, and the
            best arm has the smallest.
        confidence_later, leads_later: compute `attained_confidence` and `leads`, which takes time;
            None where the algorithm cannot.
        qualifying: which arms are shown to keep the limits, and which not to; None without limits.
        outputs: estimates of the outputs that have limits, by name, as they are measured.
    """

    problem: RobustProblem
    settings: Settings
    algorithm: str
    arm: int
    samples: int
    certified: bool
    reason: StopReason
    candidates: IntArray
    theta: Array
    pair_means: Array
    pair_lower: Array
    pair_upper: Array
    pair_averages: Array
    pair_errors: Array
    noise_scales: Array | None
    counts: Counts
    model_check: ModelCheck
    history: list[PhaseRecord]
    skewness: float | None = None
    minimize: bool = False
    confidence_later: Callable[[], float | None] | None = None
    leads_later: Callable[[], Leads | None] | None = None
    qualifying: Qualifying | None = None
    outputs: Mapping[str, OutputEstimate] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and other processes, with lazy values computed."""
        confidence, leads = Known(self.attained_confidence), Known(self.leads)
        return {**vars(self), "confidence_later": confidence, "leads_later": leads}

    def turned(self, settings: Settings) -> Result:
        """Return the result with the sign of all values turned: rewards as costs, or costs as
        rewards.

        Args:
            settings: as they are given for that unit.
        """
        return replace(
            self,
            settings=settings,
            theta=-self.theta,
            pair_means=-self.pair_means,
            pair_lower=-self.pair_upper,
            pair_upper=-self.pair_lower,
            pair_averages=-self.pair_averages,
            minimize=not self.minimize,
        )

    @cached_property
    def attained_confidence(self) -> float | None:
        """The confidence that the data so far give that the arm is best, or as good within the
        tolerance; None if the algorithm cannot compute it, or the rewards contradict its
        assumptions.

        Whenever one looks, a wrong arm is shown with a confidence of 1 − α or more in at most a
        share α of all runs. It is not the probability of being right given the data.
        """
        if self.reason.contradicts or self.confidence_later is None:
            return None
        return self.confidence_later()

    @cached_property
    def leads(self) -> Leads | None:
        """Lower bounds of the arm's lead; None without a certificate that rests on pulls."""
        if not self.certified or not self.samples or self.leads_later is None:
            return None
        return self.leads_later()

    @property
    def misfit(self) -> float:
        """The deviation from the linear model up to which the answer is right: as stated, or ∞
        where only pairs were compared.
        """
        return self.settings.misfit

    @property
    def arm_name(self) -> str:
        return self.problem.arm_names[self.arm]

    @property
    def best_parameters(self) -> dict[str, Value]:
        """The arm's own parameters by name; of a problem that was made of pairs, those that the
        arm's pairs have in common.
        """
        return self.problem.own_values(self.arm)

    @property
    def edge(self) -> str | None:
        """A warning if the arm is at the end of the grid that was searched."""
        names = self.problem.edges_of(self.arm) if self.samples else []
        if not names:
            return None
        return (
            f"{self.arm_name} is at the end of the values of {' and '.join(names)} that were "
            "tried: a better one may lie beyond."
        )

    @property
    def values(self) -> Array:
        """(n_arms,) estimated values: worst cases, unless another measure is asked for."""
        return self._measured(self.pair_means)

    @property
    def lower(self) -> Array:
        """(n_arms,) lower ends of simultaneous intervals for the arms' values."""
        return self._possible(self._measured(self.pair_lower))

    @property
    def upper(self) -> Array:
        """(n_arms,) upper ends of simultaneous intervals for the arms' values."""
        return self._possible(self._measured(self.pair_upper))

    @property
    def sign(self) -> int:
        """The factor that makes large values good: −1 for costs."""
        return -1 if self.minimize else 1

    @cached_property
    def _points(self) -> Points:
        measure: Measure = self.settings.measure
        return measure.points(self.problem)

    def _measured(self, values: Array) -> Array:
        return np.asarray(self.sign * self._points.values_of(self.sign * values))

    def _possible(self, values: Array) -> Array:
        """Values held within the range of the rewards, if there is one: means lie in it."""
        limits = self.settings.noise.limits
        return values if limits is None else np.clip(values, *limits)

    @property
    def against_limits(self) -> list[AgainstLimit]:
        """The standing of all arms against each limit."""
        return [
            AgainstLimit.of(limit, self.outputs[limit.output], self.problem)
            for limit in self.settings.limits
        ]

    @property
    def checks(self) -> str:
        """The findings of the rewards on the assumptions that were made."""
        check, noise = self.model_check, self.settings.noise
        said = [
            f"model {check.say(check.lack_of_fit)}" if self.model_is_trusted else "no model trusted"
        ]
        if noise.evidence == "residual":
            said.append(f"equal noise {check.say(check.equal_variances)}")
        if noise.scales_are_deviations:
            said.append(f"stated noise {check.say(check.stated_noise)}")
        if check.below(check.independence):
            said.append(f"independent pulls {check.say(check.independence)}")
        return "; ".join(said)

    @property
    def shape(self) -> str | None:
        """A sentence on how far differences can be taken for normal; None where no evidence
        does."""
        return None if self.skewness is None else said_of_skewness(self.skewness)

    @property
    def warnings(self) -> list[str]:
        """The cautions that belong beside the answer: skewness that matters, an unseen event that
        would cost little, the edge of a grid.
        """
        skewed = self.skewness is not None and self.skewness <= -SYMMETRIC
        light = None if self.unseen is None else self.unseen.warning
        said = (self.shape if skewed else None, light, self.edge)
        return [text for text in said if text]

    @property
    def beside(self) -> list[str]:
        """The notes on the answer: its lead, the price of robustness, unseen events, warnings."""
        unseen = None if self.unseen is None else self.unseen.sentence
        said = (self._ahead, self._qualify, self._cost_of_robustness, unseen)
        return [*(text for text in said if text), *self.warnings]

    @property
    def _ahead(self) -> str | None:
        if self.leads is None:
            return None
        delta, ahead, over = self.settings.delta, self.leads.over_all, self.leads.over_baseline
        its, than = f"Its {self.settings.measure.words} is", "that of any other arm"
        everywhere = f"with {100 * (1 - 2 * delta):g} % confidence"
        named = f"the baseline ({self.settings.baseline})"
        alone = f"that of {named}, with {100 * (1 - delta):g} % confidence"
        if not np.isfinite(ahead):
            known = over is not None and np.isfinite(over)
            return f"{its} {_by(over)} {alone}." if known and over is not None else None
        if over is not None and over > max(ahead, 0.0):
            return f"{its} {_by(ahead)} {than}, {everywhere}; {_by(over)} {alone}."
        if over is not None:
            than += f", {named} included"
        return f"{its} {_by(ahead)} {than}, {everywhere}."

    @property
    def _qualify(self) -> str | None:
        """The numbers of arms that are shown to keep the limits, and not to."""
        if self.qualifying is None or not self.samples:
            return None
        shown, unfit = (int(arms.sum()) for arms in self.qualifying)
        left = self.problem.n_arms - shown - unfit
        known = "need not be known" if self.certified else "is not known yet"
        told = f"; of the other {left} it {known}" if left else ""
        return (
            f"Of {self.problem.n_arms} arms {shown} {'is' if shown == 1 else 'are'} shown to "
            f"qualify, and {unfit} not to{told}."
        )

    @property
    def nominal_pairs(self) -> IntArray:
        """(n_arms,) the unperturbed (nominal) pair of each arm; −1 for arms without one."""
        problem = self.problem
        if problem.arms is None:
            return np.full(problem.n_arms, -1)
        same = (problem.parameters == problem.arms[problem.arm_of_pair]).all(axis=1)
        found = np.full(problem.n_arms, -1)
        found[problem.arm_of_pair[same]] = np.flatnonzero(same)
        return found

    @property
    def _cost_of_robustness(self) -> str | None:
        """The nominal value beside the worst case, as far as both were measured."""
        if not self.settings.worst_case:
            return None
        pairs = self.nominal_pairs
        own, worst = int(pairs[self.arm]), self.worst_pair
        if own < 0 or not self.samples or not np.isfinite(self.pair_means[[own, worst]]).all():
            return None
        if own == worst:
            return f"Nothing makes it worse: its mean is about {self.pair_means[own]:.3g}."
        said = (
            f"Its mean is about {self.pair_means[own]:.3g} if nothing goes wrong, and "
            f"{self.pair_means[worst]:.3g} in its worst case, "
            f"{self.problem.perturbation_names[worst]!r}"
        )
        finest, given_up = self._finest_if_nothing_goes_wrong(pairs)
        if finest == self.arm:
            return f"{said}."
        return (
            f"{said}; if nothing went wrong, {self.problem.arm_names[finest]} would be better by "
            f"about {given_up:.3g}."
        )

    def _finest_if_nothing_goes_wrong(self, pairs: IntArray) -> tuple[int, float]:
        """Return the best of the arms that are clearly better than the answer in their nominal
        pairs, and by how much; the answer itself if no arm is.
        """
        known = np.flatnonzero(pairs >= 0)
        means = self.sign * self.pair_means[pairs[known]]
        errors = np.nan_to_num(self.pair_errors[pairs[known]], nan=np.inf)
        own = int(np.flatnonzero(known == self.arm)[0])
        better = np.nan_to_num(means - means[own], nan=-np.inf)
        pulled = self.counts[pairs[known]] >= KNOWN
        clear = (better > CLEAR * np.hypot(errors, errors[own])) & pulled & pulled[own]
        if not clear.any():
            return self.arm, 0.0
        finest = int(np.argmax(np.where(clear, better, -np.inf)))
        return int(known[finest]), float(better[finest])

    @cached_property
    def unseen(self) -> Unseen | None:
        """The rarity of events that the deciding pulls must have seen, and the cost that an unseen
        one would need; None without a certificate, or where the range of rewards is known.
        """
        return unseen_by(self.turned(self.settings) if self.minimize else self)

    @property
    def model_is_trusted(self) -> bool:
        """True if the answer rests on a model: features of which there are fewer than pairs."""
        return self.settings.modelled and self.problem.dimension < self.problem.n_pairs

    @property
    def worst_pair(self) -> int:
        """The pair at which the chosen arm is estimated to be worst."""
        return self.problem.worst_pair(self.arm, self.sign * self.pair_means)

    @property
    def worst_pairs(self) -> IntArray:
        """(n_arms,) the pair at which each arm is estimated to be worst."""
        return self.problem.worst_pairs_of(self.sign * self.pair_means)

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        name, delta = self.arm_name, self.settings.delta
        if self.certified and self.samples == 0:
            return f"{name} is the only arm, so it is the best."
        if self.certified and self.reason is StopReason.NONE_QUALIFIES:
            return (
                f"No arm keeps {self._limits}, with {100 * (1 - delta):g} % confidence after "
                f"{self.samples} pulls{self._covers}."
            )
        if self.certified and self.reason is StopReason.BEATS_BASELINE:
            return self._beaten
        if self.certified:
            close = self.reason is StopReason.WITHIN_TOLERANCE
            near = f" to within {self.settings.tolerance:g}" if close else ""
            policy = "" if self.settings.rules == "valid" else " (the paper's rules, not proved)"
            sure = f"{100 * (1 - delta):g} % confidence"
            best = f"the best {self.settings.measure.words}{near}"
            if self.settings.limits:
                best += f" of the arms that keep {self._limits}"
            return (
                f"{name} has {best}, with {sure} after {self.samples} pulls{self._covers}{policy}."
            )
        if self.reason.selects:
            return f"{name} is selected after {self.samples} pulls, not certified."
        if self.samples == 0:
            count = len(self.candidates)
            return f"Nothing is known without a pull, not certified; all {count} arms are possible."
        left = "1 arm is" if len(self.candidates) == 1 else f"{len(self.candidates)} arms are"
        possible = "" if self.reason is StopReason.NO_CERTIFICATE else f"; {left} still possible"
        attained = self.attained_confidence or 0.0
        sure = f", {_percent(attained)} sure so far" if attained >= WORTH_SAYING else ""
        return (
            f"{name} is the best guess after {self.samples} pulls{sure}, not certified{possible}."
        )

    @property
    def _limits(self) -> str:
        """The limits as part of a sentence."""
        return " and ".join(limit.words for limit in self.settings.limits)

    @property
    def _beaten(self) -> str:
        """The answer where a baseline was to be beaten, and nothing else."""
        settings, gain = self.settings, self.settings.gain
        by = "is at least as good as"
        if gain > 0:
            by = f"is better by {gain:g} or more than"
        elif gain < 0:
            by = f"is worse by {-gain:g} at most than"
        return (
            f"{self.arm_name} {by} {settings.baseline}, the baseline, in the "
            f"{settings.measure.words}, with {100 * (1 - settings.delta):g} % confidence after "
            f"{self.samples} pulls{self._covers}."
        )

    @property
    def _covers(self) -> str:
        """The rewards that a certificate is good for, as part of a sentence."""
        if not self.settings.modelled:
            return ", by direct comparisons"
        if not self.misfit:
            return ", if the linear model holds" if self.samples else ""
        return f", for all rewards whose means are within {self.misfit:g} of the model"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per phase: pulls, leader, survivors, weakest evidence, boundary."""
        import pandas as pd

        return pd.DataFrame(
            {
                "phase": [r.phase for r in self.history],
                "pulls": [int(r.counts.sum()) for r in self.history],
                "total": [r.total for r in self.history],
                "leader": [self.problem.arm_names[r.leader] for r in self.history],
                "survivors": [int(r.survivors.sum()) for r in self.history],
                "weakest_evidence": self._weakest_evidence(),
                "boundary": [r.boundary for r in self.history],
            }
        )

    def _weakest_evidence(self) -> list[float]:
        """At each look, the evidence against the arm that is hardest to exclude."""
        possible = np.ones(self.problem.n_arms, dtype=bool)
        weakest = []
        for record in self.history:
            rivals = (possible | record.survivors) & (
                np.arange(self.problem.n_arms) != record.leader
            )
            known = np.empty(0) if record.evidence is None else record.evidence[rivals]
            weakest.append(float(known.min()) if known.size else float("nan"))
            possible = record.survivors
        return weakest

    def __repr__(self) -> str:
        lines = [self.sentence, *self.beside, f"{self.reason.name}: {self.reason.value}"]
        return "\n".join(
            [*lines, f"{self.algorithm}{self._promise}, {self._phases}; {self.checks}"]
        )

    @property
    def _promise(self) -> str:
        """At which level and by which rules, where there are any."""
        spends = self.reason is StopReason.NO_CERTIFICATE
        delta = "" if spends else f", delta {self.settings.delta:g}"
        return delta if self.settings.rules == "valid" else f"{delta}, by the paper's rules"

    @property
    def _phases(self) -> str:
        return "1 phase" if len(self.history) == 1 else f"{len(self.history)} phases"

    def to_html(self) -> str:
        """Return a self-contained page: the answer, the certificate, the charts, the arms."""
        from surefoot.view.report import result_page

        return result_page(self)

    def _repr_html_(self) -> str:
        """Return the HTML for notebooks: the answer, the certificate, and the phases."""
        from surefoot.view.report import notebook_summary

        return notebook_summary(self)


def _by(lead: float) -> str:
    """Say by how much something is better at least, or worse at most."""
    if lead > 0:
        return f"better by {lead:.3g} or more than"
    return f"at most {-lead:.3g} worse than" if lead < 0 else "at least as good as"


def _percent(share: float) -> str:
    """In whole per cent, but never more than it is."""
    return f"{int(100 * share + 1e-9)} %"
