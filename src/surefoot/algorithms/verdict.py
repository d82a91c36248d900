"""What a run concludes: the history of its phases, its verdict, and what its model is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms.reasons import StopReason
from surefoot.arrays import Array
from surefoot.certify import Certifier, LimitedCertifier
from surefoot.lead import lead, lead_over
from surefoot.statistics import Counts

# A confidence, or what works it out: that takes time, which most callers need not spend.
Later = float | Callable[[], float] | None
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
        """Say in words what became of a test."""
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
        """Return what a kernel has shown of limits; None where there are none."""
        if not isinstance(kernel, LimitedCertifier):
            return None
        return cls(kernel.shown.copy(), kernel.unfit.copy())


@dataclass(frozen=True, eq=False)
class Verdict:
    """The conclusion of an algorithm from the rewards.

    Attributes:
        algorithm: its name.
        arm: the best arm, or the best guess.
        reason: why it stopped, or that it did not.
        survivors: (n_arms,) arms still possible.
        history: what was known after each phase.
        attained_confidence: how sure it is now that the arm is best, or what works that out; None
            if it cannot say.
        leads: computes how far the arm is ahead; None if nobody can say.
        skewness: of the differences that decide, where evidence takes them for normal.
        qualifying: which arms keep the limits, where there are any.
    """

    algorithm: str
    arm: int
    reason: StopReason
    survivors: NDArray[np.bool_]
    history: list[PhaseRecord]
    attained_confidence: Later = None
    leads: Callable[[], Leads] | None = None
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
