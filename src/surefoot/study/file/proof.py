"""The proof of an answer: closed phases, checked by the chain and scored by the kernel.

No planner is asked anything: the kernel refuses commitments that it would not have taken, and draws
its own conclusions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from surefoot.algorithms import StopReason, Verdict
from surefoot.algorithms.certified import certifier_for, completed, conclusion
from surefoot.arrays import Array
from surefoot.certify import Claims
from surefoot.certify.contrast import Contrasts
from surefoot.statistics import Outcome
from surefoot.study.file.chain import Chain, ChainBroken, Sealed, follow, limits_for, proving
from surefoot.study.file.description import Description
from surefoot.study.file.encoding import commitment_from


class Proof:
    """Feeds the kernel of a study with its closed phases, each once and in order.

    Attributes:
        kernel: with the stored boundary.
        chain: the digests so far.
    """

    def __init__(self, description: Description) -> None:
        if description.boundary is None:
            raise ChainBroken("it has no boundary, so no kernel proves its answer")
        self._problem, self._settings = description.problem, description.signed_settings
        self._algorithm = description.algorithm
        self.kernel = certifier_for(self._problem, self._settings, description.boundary)
        self.chain = Chain(description.head)

    def take(self, sealed: Sealed) -> None:
        """Check a phase and score it; raise an error of one sentence if it is invalid."""
        follow(self.chain, sealed)
        with proving(sealed.phase.index):
            self._refuse_impossible(sealed.outcome)
            committed = self.kernel.commit(sealed.phase, *commitment_from(sealed.commitment))
            limits = limits_for(committed.scored, sealed.limits)
            self.kernel.update(committed, sealed.outcome, _Stored(iter(limits)))

    def _refuse_impossible(self, outcome: Outcome) -> None:
        """Refuse rewards that the stated noise rules out, as the run did."""
        self._settings.noise.refuse_impossible(outcome)
        for limit in self._settings.limits:
            limit.noise.refuse_impossible(outcome.others[limit.output])

    def reason(self, arm: int) -> StopReason:
        """Return the reason for which an arm is certified; NOT_VERIFIED if the kernel certifies no
        arm, or another one.
        """
        found = conclusion(self.kernel, self._problem, self._settings, arm)
        if found is None or found[1] != arm or not found[0].certifies:
            return StopReason.NOT_VERIFIED
        return found[0]

    def verdict(self, arm: int, reason: StopReason) -> Verdict:
        """Return the kernel's conclusions about an arm, without the history that led to them."""
        survivors = self.kernel.survivors.copy()
        verdict = Verdict(self._algorithm, arm, reason, survivors, [])
        return completed(verdict, self.kernel, self._problem, self._settings)


@dataclass(frozen=True)
class _Stored:
    """Limits from a file, in the place of a rule that makes them."""

    limits: Iterator[Array | None]

    def __call__(self, claims: Claims, scores: Array, said: Contrasts, root: Array) -> Array | None:
        return next(self.limits)
