"""The contract of an algorithm: phases out, outcomes in, a result at any time. Pure."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms import options
from surefoot.algorithms.outcomes import answered
from surefoot.algorithms.reasons import StopReason
from surefoot.algorithms.result import Result
from surefoot.algorithms.settings import Settings
from surefoot.algorithms.tally import Tally
from surefoot.algorithms.verdict import Later, PhaseRecord, Verdict
from surefoot.arrays import Array
from surefoot.certify import Boundary, Claims, Commitment
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Counts, Outcome, Phase

MOST_PULLS = 2**52  # counts stay exact as floating-point numbers


class Algorithm(ABC):
    """One run of one algorithm. A subclass is a dataclass of its own options and keeps its state in
    `begin`.

    `start` binds a copy to a problem; then `next_phase` and `update` alternate until `next_phase`
    gives None. The state is a function of (problem, settings, options, outcomes): resuming a run is
    feeding it what was pulled.

    Subclasses write `begin` (set up the state), `next_counts` (the next pulls, or why to stop) and
    `learn` (an outcome). They may set `leader` and `survivors`, and put what decided into
    `evidence` and `boundary`. What needs batches of pulls, or streams that are shared, says so in
    `batches` and `shared` when it gives its counts.
    """

    name: ClassVar[str]
    needs_scale: ClassVar[bool] = True
    has_paper_policy: ClassVar[bool] = True
    supports_tolerance: ClassVar[bool] = False
    supports_misfit: ClassVar[bool] = False
    needs_model: ClassVar[bool] = True
    can_guess: ClassVar[bool] = False
    waits_for_rare: ClassVar[bool] = False
    stops_by_itself: ClassVar[bool] = True
    keeps_workers_busy: ClassVar[bool] = False

    problem: RobustProblem
    settings: Settings
    tally: Tally
    survivors: NDArray[np.bool_]
    leader: int
    evidence: Array | None
    boundary: float | None
    history: list[PhaseRecord]
    batches: int
    shared: bool
    pending: Phase | None
    commitment: Commitment | None = None
    limits: Sequence[Array | None] = ()
    given_boundary: Boundary | None
    stored_limits: Sequence[Array | None] | None
    _stop: StopReason | None

    def start(
        self, problem: RobustProblem, settings: Settings, boundary: Boundary | None = None
    ) -> Self:
        """Return a fresh run of this algorithm; a study that goes on has its boundary already."""
        options.refuse_unsupported(self, settings)
        run = copy.copy(self)
        run.problem, run.settings, run.tally = problem, settings, Tally.empty(problem, settings)
        run.survivors = np.ones(problem.n_arms, dtype=bool)
        run.leader, run.evidence, run.boundary, run.history = 0, None, None, []
        run.batches, run.shared = 0, False
        run.given_boundary, run.stored_limits = boundary, None
        run.pending, run._stop = None, StopReason.ONE_ARM if problem.n_arms == 1 else None
        if run._stop is None:
            run.begin()
        return run

    @abstractmethod
    def begin(self) -> None:
        """Set up the state of a run; `problem`, `settings` and an empty `tally` are there."""

    @abstractmethod
    def next_counts(self) -> Counts | StopReason:
        """The pulls of the next phase, one number per pair, or the reason to stop."""

    @abstractmethod
    def learn(self, outcome: Outcome) -> None:
        """Draw conclusions from a phase; `tally` holds it already."""

    def next_phase(self) -> Phase | None:
        """The phase to pull now, the same until its outcome is told; None when the run is over."""
        if self.pending is None and self._stop is None:
            counts = self.next_counts()
            if isinstance(counts, StopReason):
                self._stop = counts
            else:
                self._ask_for(counts)
        return self.pending

    def _ask_for(self, counts: Counts) -> None:
        """Let a phase wait for its outcome, if it may be pulled."""
        pulls = int(counts.sum())
        if pulls > self.remaining:
            self._stop = StopReason.BUDGET
        elif self.samples + pulls > MOST_PULLS:
            self._stop = StopReason.LOOKS_SPENT
        else:
            index, whole = len(self.history), counts.astype(np.int64)
            self.pending = Phase(index, whole, self.batches, self.shared)
            self.asked(self.pending)

    def asked(self, phase: Phase) -> None:  # noqa: B027
        """Take note of a phase that is to be pulled now."""

    def recall(
        self, phase: Phase, claims: Sequence[Claims] = (), variances: Array | None = None
    ) -> None:
        """Take up a phase that a study file holds, in the place of the one planned now."""
        self.next_phase()
        self.pending, self._stop = phase, None

    def update(self, outcome: Outcome, limits: Sequence[Array | None] | None = None) -> None:
        """Take the outcome of the phase that `next_phase` gave; refuse anything else.

        Args:
            limits: by which evidence was lowered when the phase was scored first, if it was.
        """
        phase = answered(self.pending, outcome, self.problem, self.settings.noise)
        self.tally, self.stored_limits = self.tally.after(outcome), limits
        self.learn(outcome)
        self.pending = None
        self.history = [*self.history, self._record(phase)]

    @property
    def samples(self) -> int:
        return self.tally.samples

    @property
    def remaining(self) -> float:
        """Pulls left in the budget."""
        return math.inf if self.settings.budget is None else self.settings.budget - self.samples

    @property
    def rivals(self) -> NDArray[np.bool_]:
        """(n_arms,) the arms that the leader has yet to be told from."""
        others = self.survivors.copy()
        others[self.leader] = False
        return others

    @property
    def weakest_evidence(self) -> float:
        """Against the rival that is hardest to tell from the leader; 0 while there is none."""
        rivals = self.rivals
        if self.evidence is None or not rivals.any():
            return 0.0
        return max(float(self.evidence[rivals].min()), 0.0)

    @property
    def result(self) -> Result:
        """The answer as it stands now."""
        reason = self._stop or StopReason.RUNNING
        history = list(self.history)
        verdict = Verdict(
            algorithm=self.name,
            arm=self.leader,
            reason=reason,
            survivors=self.survivors,
            history=history,
            attained_confidence=self.confidence_later,
            skewness=self.skewness,
        )
        return self.tally.result(verdict)

    @property
    def attained_confidence(self) -> float | None:
        """How sure it is now that the leader is best; None if it cannot say."""
        return None

    @property
    def confidence_later(self) -> Later:
        """The same, or what works it out once a result is asked for it: that may take long."""
        return self.attained_confidence

    @property
    def skewness(self) -> float | None:
        """Of the differences that decide, where the evidence takes them for normal."""
        return None

    def options(self) -> dict[str, Any]:
        """The algorithm's own options as plain values: what study files hold."""
        return options.as_plain(self)

    @classmethod
    def from_options(cls, stored: Mapping[str, Any]) -> Self:
        """Rebuild what `options` described, in this version or an earlier one."""
        return options.built(cls, stored)

    def _record(self, phase: Phase) -> PhaseRecord:
        return PhaseRecord(
            phase=phase.index,
            counts=phase.counts,
            total=self.samples,
            leader=self.leader,
            survivors=self.survivors.copy(),
            evidence=None if self.evidence is None else self.evidence.copy(),
            boundary=self.boundary,
        )
