"""What a run says: the arm, whether it is certified, why it stopped, and how it got there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms.settings import Settings
from surefoot.arrays import Array, IntArray
from surefoot.problem import RobustProblem
from surefoot.statistics import Counts

if TYPE_CHECKING:
    import pandas as pd


class StopReason(Enum):
    """Why a run stopped; the text says what to do next."""

    RUNNING = "The run is not over: pull the next phase. The arm is the best guess so far."
    IDENTIFIED = (
        "One arm is left: it has the best worst case with the stated confidence. Nothing more to "
        "do."
    )
    WITHIN_TOLERANCE = (
        "The arm's worst case is within the tolerance of the best with the stated confidence. "
        "Nothing more to do."
    )
    ONE_ARM = "There is only one arm, so it is the best. Nothing was pulled."
    BUDGET = (
        "The budget does not allow the next phase; the candidates are all still possible. Raise "
        "the budget, or set a tolerance."
    )
    SPENT = (
        "The budget is spent on the best guess, as was asked; the candidates are all still "
        'possible. For a certificate, use objective="certify".'
    )
    LOOKS_SPENT = (
        "The planned looks are used up without an answer, so the best arms are as good as tied: "
        "set a tolerance, or choose among the candidates."
    )
    MODEL_REJECTED = (
        "The rewards do not follow the linear model, so the answer is not certified. Start anew "
        'with features="quadratic" or features="tabular", or accept it with on_misfit="ignore".'
    )
    NOISE_NOT_EQUAL = (
        "The pairs are not equally noisy, which Gaussian(equal=True) says, so the answer is not "
        'certified. Start anew with Gaussian(), or accept it with on_misfit="ignore".'
    )
    NOISE_TOO_LARGE = (
        "The rewards are noisier than stated, so the answer is not certified. Start anew with "
        'Gaussian(), which needs no scale, or accept it with on_misfit="ignore".'
    )
    NO_SURVIVOR = (
        "Every arm was eliminated, which cannot happen if model and noise are as stated: check "
        'the noise scale, or start anew with features="tabular".'
    )
    SINGULAR_DESIGN = (
        "The paper's design leaves directions unmeasured that it needs, so the run can never "
        'stop: use confidence="valid" or the algorithm "prime".'
    )
    IDENTICAL_REPLICATES = (
        "All pulls of a pair gave the same reward, to the last bit: is the seed fixed? Use "
        "pull.rng() or pull.seed, and start a new study. A simulator without noise needs one pull "
        'of each pair, and no certificate; to go on all the same, use on_identical="accept".'
    )
    NOT_VERIFIED = (
        "The answer noted in the file could not be confirmed by its rewards, so it is no "
        "certificate: go back to a copy that nobody has changed, or open the study with the "
        "algorithm and the version of surefoot that it was made with."
    )
    INDIFFERENCE_ZONE = (
        "One arm is left. It is best with the stated confidence only if the best arm is ahead of "
        "all others by the indifference zone or more, which nobody has checked, so it is not "
        'certified. Without that condition, use "prime" with a tolerance.'
    )
    HEURISTIC = (
        "One arm is left by a threshold that nobody has proved, so it is not certified: use "
        'threshold="proved", or "prime".'
    )
    NO_CERTIFICATE = (
        'This algorithm spends its budget and gives no certificate. For one, use "prime".'
    )

    @property
    def certifies(self) -> bool:
        return self in (StopReason.IDENTIFIED, StopReason.WITHIN_TOLERANCE, StopReason.ONE_ARM)

    @property
    def contradicts(self) -> bool:
        """Whether what every confidence rests on is not as stated."""
        return self in (
            StopReason.MODEL_REJECTED,
            StopReason.NOISE_NOT_EQUAL,
            StopReason.NOISE_TOO_LARGE,
            StopReason.NO_SURVIVOR,
            StopReason.IDENTICAL_REPLICATES,
            StopReason.NOT_VERIFIED,
        )


@dataclass(frozen=True)
class ModelCheck:
    """Tests of the model. Passing proves nothing; failing is a warning to heed.

    Attributes:
        lack_of_fit: p-value of the linear model against replicates; None: untestable with these
            pulls.
        equal_variances: p-value of equal noise over the pairs (relative to the given scales); None:
            untestable.
        level: the model is rejected below this p-value.
        stated_noise: p-value of noise that is no larger than the given scales; None: untestable.
    """

    lack_of_fit: float | None
    equal_variances: float | None
    level: float
    stated_noise: float | None = None

    @property
    def rejected(self) -> bool:
        """Whether the linear model is."""
        return self.below(self.lack_of_fit)

    def below(self, p: float | None) -> bool:
        """Whether a p-value is there, and too small."""
        return p is not None and p < self.level

    def __str__(self) -> str:
        def say(p: float | None) -> str:
            return "untestable" if p is None else f"p = {p:.3g}"

        verdict = (
            "not tested"
            if self.lack_of_fit is None
            else "rejected"
            if self.rejected
            else "not rejected"
        )
        return (
            f"linear model {verdict} ({say(self.lack_of_fit)}); equal variances "
            f"{say(self.equal_variances)}"
        )


@dataclass(frozen=True, eq=False)
class PhaseRecord:
    """What was known after a phase.

    Attributes:
        phase: its index.
        counts: (n_pairs,) its pulls.
        total: pulls so far.
        leader: the best guess.
        survivors: (n_arms,) arms still possible.
        evidence: (n_arms,) the statistic that eliminates an arm when it reaches the boundary, if
            the algorithm has one.
        boundary: that boundary at this look.
    """

    phase: int
    counts: Counts
    total: int
    leader: int
    survivors: NDArray[np.bool_]
    evidence: Array | None
    boundary: float | None


@dataclass(frozen=True, eq=False)
class Verdict:
    """What an algorithm concludes from the rewards.

    Attributes:
        algorithm: its name.
        arm: the best arm, or the best guess.
        reason: why it stopped, or that it did not.
        survivors: (n_arms,) arms still possible.
        history: what was known after each phase.
        attained_confidence: how sure it is now that the arm is best; None if it cannot say.
        skewness: of the differences that decide, where evidence takes them for normal.
    """

    algorithm: str
    arm: int
    reason: StopReason
    survivors: NDArray[np.bool_]
    history: list[PhaseRecord]
    attained_confidence: float | None = None
    skewness: float | None = None


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
        pair_widths: (n_pairs,) half-widths that hold for all pairs and all looks at once.
        pair_averages: (n_pairs,) means of the rewards themselves, without the model; NaN where
            there are none.
        pair_errors: (n_pairs,) their standard errors; NaN where they are not known.
        noise_scales: (n_pairs,) scales of the noise, as given or as replicates say; None if neither
            does.
        attained_confidence: how sure the data so far make one that the arm is best, or as good
            within the tolerance; None if the algorithm cannot say, or the rewards contradict what
            it rests on. Whenever one looks, a wrong arm is shown with a confidence of 1 − α or more
            in at most a share α of all runs. It is not the probability of being right given the
            data.
        skewness: of the differences between single pulls that decide, the largest in size of those
            that are clear; 0 if none is, None where no evidence takes differences for normal.
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
    pair_widths: Array
    pair_averages: Array
    pair_errors: Array
    noise_scales: Array | None
    counts: Counts
    model_check: ModelCheck
    history: list[PhaseRecord]
    attained_confidence: float | None
    skewness: float | None = None

    def __post_init__(self) -> None:
        if self.reason.contradicts:
            object.__setattr__(self, "attained_confidence", None)

    @property
    def arm_name(self) -> str:
        return self.problem.arm_names[self.arm]

    @property
    def best_parameters(self) -> dict[str, float] | None:
        """The arm's own parameters by name; None if the problem was made of pairs alone."""
        if self.problem.arms is None:
            return None
        values = self.problem.arms[self.arm].tolist()
        return dict(zip(self.problem.parameter_names, values, strict=True))

    @property
    def edge(self) -> str | None:
        """A warning if the arm is at the end of the grid that was searched."""
        names = self.problem.edges_of(self.arm)
        if not names:
            return None
        return (
            f"{self.arm_name} is at the end of the values of {' and '.join(names)} that were "
            "tried: a better one may lie beyond."
        )

    @property
    def values(self) -> Array:
        """(n_arms,) estimated robust values."""
        return self.problem.worst_of(self.pair_means)

    @property
    def lower(self) -> Array:
        """(n_arms,) lower ends of simultaneous intervals for the robust values."""
        return self.problem.worst_of(self.pair_means - self.pair_widths)

    @property
    def upper(self) -> Array:
        """(n_arms,) upper ends of simultaneous intervals for the robust values."""
        return self.problem.worst_of(self.pair_means + self.pair_widths)

    @property
    def worst_pair(self) -> int:
        """The pair at which the chosen arm is estimated to be worst."""
        return self.problem.worst_pair(self.arm, self.pair_means)

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        name, delta = self.arm_name, self.settings.delta
        if self.certified and self.samples == 0:
            return f"{name} is the only arm, so it is the best."
        if self.certified:
            near = f" to within {self.settings.tolerance:g}" if self.settings.tolerance else ""
            policy = (
                "" if self.settings.confidence == "valid" else " (the paper's rules, not proved)"
            )
            sure = f"{100 * (1 - delta):g} % confidence"
            direct = ", by direct comparisons" if self.settings.trust == "pairs" else ""
            return (
                f"{name} has the best worst case{near}, with {sure} after {self.samples} "
                f"pulls{direct}{policy}."
            )
        left = "1 arm is" if len(self.candidates) == 1 else f"{len(self.candidates)} arms are"
        attained = self.attained_confidence
        sure = "" if attained is None else f", {_percent(attained)} sure so far"
        return (
            f"{name} is the best guess after {self.samples} pulls{sure}, not certified; {left} "
            f"still possible."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per phase: pulls, leader, survivors, weakest evidence, boundary."""
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
            known = record.evidence is not None and rivals.any()
            weakest.append(float(record.evidence[rivals].min()) if known else float("nan"))  # type: ignore[index]
            possible = record.survivors
        return weakest

    def __repr__(self) -> str:
        return (
            f"{self.sentence}\n{self.reason.name}: {self.reason.value}\n"
            f"{self.algorithm}, delta {self.settings.delta:g}, policy {self.settings.confidence}, "
            f"{len(self.history)} phases; {self.model_check}"
            + (f"\n{self.edge}" if self.edge else "")
        )

    def to_html(self) -> str:
        """A self-contained page: the answer, the certificate, the charts, the arms."""
        from surefoot.report import result_page

        return result_page(self)

    def _repr_html_(self) -> str:
        """The same for notebooks: the answer, the certificate, and the phases."""
        from surefoot.report import notebook_summary

        return notebook_summary(self)


def _percent(share: float) -> str:
    """In whole per cent, but never more than it is."""
    return f"{int(100 * share + 1e-9)} %"
