"""A run's conclusions: why it stops, its history, its verdict, limits, and its model's worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.arrays import Array
from surefoot.certify import Certifier, LimitedCertifier
from surefoot.lead import lead, lead_over
from surefoot.limits import Limit
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Counts


class StopReason(Enum):
    """Why a run stopped; the text says what to do next."""

    RUNNING = "The run is not over, and the arm is the best guess so far."
    IDENTIFIED = "One arm is left: it is the best with the stated confidence. Nothing more to do."
    WITHIN_TOLERANCE = (
        "The arm is within the tolerance of the best with the stated confidence. "
        "Nothing more to do."
    )
    ONE_ARM = "There is only one arm, so it is the best. Nothing was pulled."
    NONE_QUALIFIES = (
        "Every arm misses a limit, with the stated confidence. Nothing more to do, but to give "
        "other arms or limits."
    )
    BEATS_BASELINE = (
        "The arm is shown to be as good as the baseline, or better by the gain asked for, with the "
        "stated confidence, which is all that was asked. For the best arm, use "
        'aim="certify".'
    )
    BUDGET = (
        "The budget is spent, or too small for the next phase; the candidates are all still "
        "possible. Raise the budget to go on, or start anew with a tolerance."
    )
    SPENT = (
        "The budget is spent on the best guess, as was asked; the candidates are all still "
        'possible. For a certificate, use aim="certify".'
    )
    LOOKS_SPENT = (
        "The planned looks are used up without an answer, so the best arms are as good as tied: "
        "set a tolerance, or choose among the candidates."
    )
    MODEL_REJECTED = (
        "The rewards do not follow the model that was trusted, so the answer is not certified. "
        "Start anew with misfit=math.inf, which trusts none and lets this one guide, or accept it "
        'with on_misfit="ignore".'
    )
    NOISE_NOT_EQUAL = (
        "The pairs are not equally noisy, which Gaussian(equal=True) says, so the answer is not "
        'certified. Start anew with Gaussian(), or accept it with on_misfit="ignore".'
    )
    NOISE_TOO_LARGE = (
        "The rewards are noisier than stated, so the answer is not certified. Start anew with "
        'Gaussian(), which needs no scale, or accept it with on_misfit="ignore".'
    )
    PULLS_DEPEND = (
        "Pulls of a pair depend on those before them, so the answer is not certified: a generator "
        "that lives on from pull to pull, a warm state, a cache, a worn instrument. Begin each one "
        "afresh, with pull.rng() or pull.seed, and start a new study."
    )
    FEW_STREAMS = (
        "Rewards of full precision repeat to the last digit, so the simulator draws from a pool of "
        "a few seeds or stored runs, and more pulls of it say nothing new. Use all of pull.seed or "
        'pull.rng(), and start a new study; on_identical = "accept" is for rewards that may repeat.'
    )
    FAILURES_DEPEND = (
        "Pulls that failed gave a reward when they were tried again with the same seed, and of one "
        "arm more often than clusters fail. So the simulator draws randomness of its own, and what "
        "failed by bad luck was replaced by better luck. Draw all from pull.rng() or pull.seed, or "
        "let a failed pull count, with on_failure, and start a new study."
    )
    NO_SURVIVOR = (
        "Every arm was eliminated, which is hardly possible if model and noise are as stated: "
        "check the noise scale, or start anew with Gaussian() and misfit=math.inf."
    )
    SINGULAR_DESIGN = (
        "The paper's design leaves directions unmeasured that it needs, so the run can never "
        'stop: use rules="valid" or the algorithm "prime".'
    )
    IDENTICAL_REPLICATES = (
        "All pulls of a pair gave the same reward, to the last bit: is the seed fixed? Use "
        "pull.rng(), pull.seed or {seed}, and start a new study. A simulator without noise needs "
        "one pull of each pair, and no certificate; a new study, in another file, with "
        'on_identical = "accept" goes on all the same.'
    )
    SIMULATOR_CHANGED = (
        "The simulator was changed while the study went on, so its rewards may be those of two "
        "simulators, and the answer is not certified. `surefoot status` says what changed. If "
        "rewards mean the same as before, accept it and say why: study.accept_change(reason), or "
        "the option accept-change of `surefoot run`; else start a new study."
    )
    NOT_VERIFIED = (
        "The file does not prove the answer noted in it, so it is no certificate: "
        "`surefoot verify` says what was changed; go back to a copy that nobody has changed."
    )
    INDIFFERENCE_ZONE = (
        "One arm is left. It is best with the stated confidence only if the best arm is ahead of "
        "all others by the indifference zone or more, which nobody has checked, so it is not "
        'certified. Without that condition, use "prime" with a tolerance.'
    )
    NONE_FEASIBLE = (
        "Every arm is declared to miss a limit, with the stated confidence if none of them lies "
        "within the zone about its limit, which nobody has checked. Without that condition, use "
        '"prime" with slack.'
    )
    WITHIN_ZONE = (
        "One arm is selected. Its worst case is within the indifference zone of the best with the "
        "stated confidence, whatever the gaps; it is the best itself if that one leads by the "
        "zone, which nobody has checked, so it is not called certified."
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
        return self in (
            StopReason.IDENTIFIED,
            StopReason.WITHIN_TOLERANCE,
            StopReason.ONE_ARM,
            StopReason.NONE_QUALIFIES,
            StopReason.BEATS_BASELINE,
        )

    @property
    def final(self) -> bool:
        """True if rewards of phases in flight could change nothing."""
        return self.certifies or self is StopReason.NO_SURVIVOR

    @property
    def selects(self) -> bool:
        """True if one arm was chosen by a rule that promises it only under a condition, or by a
        rule without a proof.
        """
        return self in (
            StopReason.INDIFFERENCE_ZONE,
            StopReason.WITHIN_ZONE,
            StopReason.HEURISTIC,
        )

    @property
    def never_certifies(self) -> bool:
        """True if it is the end of a procedure that gives no certificate at all."""
        return self.selects or self in (StopReason.NO_CERTIFICATE, StopReason.NONE_FEASIBLE)

    @property
    def contradicts(self) -> bool:
        """True if an assumption of every confidence is contradicted."""
        return self in (
            StopReason.MODEL_REJECTED,
            StopReason.NOISE_NOT_EQUAL,
            StopReason.NOISE_TOO_LARGE,
            StopReason.PULLS_DEPEND,
            StopReason.FEW_STREAMS,
            StopReason.FAILURES_DEPEND,
            StopReason.NO_SURVIVOR,
            StopReason.IDENTICAL_REPLICATES,
            StopReason.SIMULATOR_CHANGED,
            StopReason.NOT_VERIFIED,
        )


SYMMETRIC = 0.5  # a skewness below this does not matter


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
        independence: p-value of pulls that do not depend on those before; None: untestable.
    """

    lack_of_fit: float | None
    equal_variances: float | None
    level: float
    stated_noise: float | None = None
    independence: float | None = None

    @property
    def rejected(self) -> bool:
        """True if the test rejects the linear model."""
        return self.below(self.lack_of_fit)

    def below(self, p: float | None) -> bool:
        """Return whether a p-value is there, and too small."""
        return p is not None and p < self.level

    def say(self, p: float | None) -> str:
        """Return the outcome of a test in words."""
        if p is None:
            return "could not be tested"
        return f"{'rejected' if self.below(p) else 'not rejected'} (p = {p:.3g})"


@dataclass(frozen=True, eq=False)
class PhaseRecord:
    """The knowledge after a phase.

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


@dataclass(frozen=True)
class Leads:
    """Lower bounds of an arm's lead, in the unit of the rewards; below 0: it may be behind.

    Attributes:
        over_all: of all other arms: too large with probability 2 delta at most; −∞ if unknown.
        over_baseline: of the baseline: too large with probability delta at most; None if there is
            no baseline, or it is the arm itself.
    """

    over_all: float
    over_baseline: float | None = None

    @classmethod
    def of_baseline(cls, kernel: Certifier, arm: int, baseline: int) -> Leads:
        """Compute the lead over a baseline alone, where that is all that was asked."""
        return cls(-np.inf, lead_over(kernel, arm, baseline))

    @classmethod
    def of(cls, kernel: Certifier, arm: int, baseline: int | None) -> Leads:
        """Compute the leads of a certified arm by its kernel."""
        over_all = max(lead(kernel, arm), -kernel.tolerance)
        if baseline is None or baseline == arm:
            return cls(over_all)
        return cls(over_all, lead_over(kernel, arm, baseline))


@dataclass(frozen=True)
class Known:
    """A function of a known value, in place of one that computes it."""

    value: Any

    def __call__(self) -> Any:
        return self.value


class Qualifying(NamedTuple):
    """The arms that are known to keep the limits, or not to.

    Attributes:
        shown: (n_arms,) arms that are shown to qualify.
        unfit: (n_arms,) arms that are shown not to.
    """

    shown: NDArray[np.bool_]
    unfit: NDArray[np.bool_]

    @classmethod
    def of(cls, kernel: Certifier) -> Qualifying | None:
        """Return which arms a kernel has shown to keep or miss limits; None without limits."""
        if not isinstance(kernel, LimitedCertifier):
            return None
        return cls(kernel.shown.copy(), kernel.unfit.copy())


@dataclass(frozen=True, eq=False)
class Verdict:
    """The conclusion of an algorithm from the rewards.

    Attributes:
        algorithm: its name.
        arm: the best arm, or the best guess.
        reason: the reason to stop, or RUNNING.
        survivors: (n_arms,) arms still possible.
        history: the evidence after each phase.
        confidence_later: computes how sure it is now that the arm is best; None if it cannot say.
        leads_later: computes how far the arm is ahead; None if it cannot say.
        skewness: of the differences that decide, where evidence takes them for normal.
        qualifying: which arms keep the limits; None without limits.
    """

    algorithm: str
    arm: int
    reason: StopReason
    survivors: NDArray[np.bool_]
    history: list[PhaseRecord]
    confidence_later: Callable[[], float | None] | None = None
    leads_later: Callable[[], Leads | None] | None = None
    skewness: float | None = None
    qualifying: Qualifying | None = None


def said_of_skewness(skewness: float) -> str:
    """Say how far differences can be taken for normal, in one sentence."""
    if abs(skewness) < SYMMETRIC:
        return (
            "No skewness of the differences is clear: they are taken for normal; what is rare may "
            "not have been seen yet."
        )
    said = f"The deciding differences have skewness {skewness:.2g}".replace("-", "−")
    if skewness > 0:
        return f"{said}: rare large wins make an answer later, not less sure."
    return (
        f"{said}: rare large losses. Phases were made larger and the evidence lowered, but few "
        "pulls can miss what is rare, and then a wrong answer is likelier than stated; "
        "Bounded(low, high) does not depend on this."
    )


@dataclass(frozen=True, eq=False)
class OutputEstimate:
    """The estimates of one output, in its own unit and sign.

    Attributes:
        means: (n_pairs,) means of the output; NaN before the first pull.
        lower, upper: (n_pairs,) ends of intervals that hold the means of all pairs at all looks at
            once with probability ≥ 1 − delta; infinite where no bound is known.
        errors: (n_pairs,) standard errors of the means; NaN where they are not known.
    """

    means: Array
    lower: Array
    upper: Array
    errors: Array


class AgainstLimit(NamedTuple):
    """The values of all arms that a limit is held against, in the unit of the output.

    Attributes:
        limit: the limit.
        values: (n_arms,) estimates, by the limit's own measure.
        lower, upper: (n_arms,) ends of simultaneous intervals.
    """

    limit: Limit
    values: Array
    lower: Array
    upper: Array

    @classmethod
    def of(cls, limit: Limit, estimate: OutputEstimate, problem: RobustProblem) -> AgainstLimit:
        """Return the arms' values from the pairs' means; the worst case is on the side of the
        limit."""
        points, sign = limit.measure.points(problem), limit.sign

        def value(means: Array) -> Array:
            return np.asarray(sign * points.values_of(sign * means))

        ends = (value(estimate.lower), value(estimate.upper))
        if limit.noise.limits is not None:
            ends = (np.clip(ends[0], *limit.noise.limits), np.clip(ends[1], *limit.noise.limits))
        return cls(limit, value(estimate.means), *ends)
