"""The contract of an algorithm: counts for a phase out, its outcome in, a result at any time."""

from __future__ import annotations

import copy
import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms.result import Result
from surefoot.algorithms.settings import (
    Settings,
    as_plain,
    built,
    refuse_transductive,
    refuse_unsupported,
)
from surefoot.algorithms.tally import Tally
from surefoot.algorithms.verdict import PhaseRecord, StopReason, Verdict
from surefoot.arrays import Array
from surefoot.certify import Boundary, Claims, Commitment, Uses
from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import MOST_PULLS, Counts, Outcome, Phase


def _answered(
    phase: Phase | None, outcome: Outcome, problem: RobustProblem, settings: Settings
) -> Phase:
    """Return the phase that waits, if this is an outcome of it."""
    if phase is None:
        raise InputError(
            "no phase is waiting for an outcome: call next_phase() first, and "
            "update() once for each phase"
        )
    if outcome.phase != phase.index:
        raise InputError(
            f"this outcome is of phase {outcome.phase}, but phase {phase.index} is waiting: "
            "outcomes come in order, each once"
        )
    _refuse_unusable(phase, outcome, problem)
    settings.noise.refuse_impossible(outcome)
    for limit in settings.limits:
        if limit.output not in outcome.others:
            raise InputError(
                f"the outcome has no {limit.output!r}, which has a limit: make it with "
                "Outcome.from_rewards(phase, ..., others={...}), by the names of outputs"
            )
        other = outcome.others[limit.output]
        _refuse_unusable(phase, other, problem)
        limit.noise.refuse_impossible(other)
    return phase


def _refuse_unusable(phase: Phase, outcome: Outcome, problem: RobustProblem) -> None:
    _refuse_other_pulls(phase, outcome)
    _refuse_impossible_rewards(outcome, problem)
    _refuse_other_batches(phase, outcome)


def _refuse_other_pulls(phase: Phase, outcome: Outcome) -> None:
    shapes = {name: getattr(outcome, name).shape for name in ("counts", "sums", "scatter")}
    if set(shapes.values()) != {phase.counts.shape}:
        given = ", ".join(f"{name} of shape {shape}" for name, shape in shapes.items())
        raise InputError(
            f"the outcome has {given}, but the problem has {len(phase.counts)} pairs: "
            "give one entry for each pair"
        )
    if (outcome.counts != phase.counts).any():
        raise InputError(
            f"phase {phase.index} asked for other pulls than the outcome holds: "
            "tell exactly the pulls that next_phase() asked for"
        )


def _refuse_other_batches(phase: Phase, outcome: Outcome) -> None:
    wanted = (phase.batches, len(phase.counts))
    if phase.batches and outcome.batch_sums.shape != wanted:
        raise InputError(
            f"phase {phase.index} has {phase.batches} batches, but the outcome has sums of "
            f"{len(outcome.batch_sums)}: this noise model needs them; make the outcome with "
            "Outcome.from_rewards(phase, ...), giving the phase itself and not its index"
        )
    if outcome.batch_sums.size and not np.isfinite(outcome.batch_sums).all():
        raise InputError("the batch sums of an outcome must be finite numbers")


def _refuse_impossible_rewards(outcome: Outcome, problem: RobustProblem) -> None:
    usable = np.isfinite(outcome.sums) & np.isfinite(outcome.scatter)
    if not usable.all():
        bad = int(np.argmin(usable))
        raise InputError(
            f"the rewards of pair {bad} ({problem.describe_pair(bad)}) are not finite numbers: "
            "mend the simulator and tell the phase again"
        )
    if (outcome.scatter < 0).any():
        raise InputError("the scatter of an outcome is a sum of squares and cannot be negative")
    unpulled = outcome.counts == 0
    if outcome.sums[unpulled].any() or outcome.scatter[unpulled].any():
        raise InputError(
            "the outcome holds rewards of pairs that were not pulled: tell only the pulls asked for"
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Proposal:
    """The next phase and its claims; `next_counts` returns a proposal, or counts alone.

    Attributes:
        counts: (n_pairs,) pulls of each pair.
        batches: number of batches into which the pulls of each pair are put; 0: no batches.
        shared: whether pulls of different pairs share random streams.
        claims: what the phase is to prove; empty for pulls outside any claim.
        variances: (n_pairs,) of single pulls, as guessed: needed with claims under `Gaussian()`.
        others: with limits, what each of `LimitedCertifier.parts` will use the phase for.
    """

    counts: Counts
    batches: int = 0
    shared: bool = False
    claims: Sequence[Claims] = ()
    variances: Array | None = None
    others: Sequence[Uses] = ()


class Algorithm(ABC):
    """One run of one algorithm. A subclass is a dataclass of its own options and keeps its state in
    `begin`.

    `start` binds a copy to a problem; then `next_phase` and `update` alternate until `next_phase`
    gives None. The state is a function of (problem, settings, options, outcomes): resuming a run is
    feeding it its outcomes.

    With `in_flight` = k in the settings, up to k phases are planned and wait for their outcomes,
    which are learnt in the order of the phases. The order of all steps is fixed: a phase is planned
    once the outcomes of all phases but the k − 1 before it are learnt, and before the next one is.
    So no plan depends on which pulls came back sooner.

    `supports` names the `ABILITIES` of an algorithm; settings that need others are refused with
    a reason. `stops_by_itself` is False if it spends any budget.

    Subclasses write `begin` (set up the state), `next_counts` (the next pulls, or why to stop) and
    `learn` (an outcome). They may set `leader` and `survivors`, and keep the statistics that
    decided in `evidence` and `boundary`. A phase with batches of pulls, or with streams that are
    shared, is a `Proposal`.
    """

    name: ClassVar[str]
    supports: ClassVar[frozenset[str]] = frozenset({"paper rules"})
    stops_by_itself: ClassVar[bool] = True

    problem: RobustProblem
    settings: Settings
    tally: Tally
    survivors: NDArray[np.bool_]
    leader: int
    evidence: Array | None
    boundary: float | None
    history: list[PhaseRecord]
    flying: tuple[Phase, ...]
    limits: Sequence[Array | None] = ()
    given_boundary: Boundary | None
    stored_limits: Sequence[Array | None] | None
    _stop: StopReason | None
    _planned: bool  # all that can be planned before the next outcome is planned

    def start(
        self, problem: RobustProblem, settings: Settings, boundary: Boundary | None = None
    ) -> Self:
        """Return a fresh run of this algorithm; a study that goes on has its boundary already."""
        refuse_unsupported(self, settings)
        refuse_transductive(self, problem, settings)
        run = copy.copy(self)
        run.problem, run.settings, run.tally = problem, settings, Tally.empty(problem, settings)
        run.survivors = np.ones(problem.n_arms, dtype=bool)
        run.leader, run.evidence, run.boundary, run.history = 0, None, None, []
        run.given_boundary, run.stored_limits = boundary, None
        run.flying, run._planned = (), False
        alone = problem.n_arms == 1 and not settings.limits
        run._stop = StopReason.ONE_ARM if alone else None
        if run._stop is None:
            run.begin()
        return run

    @abstractmethod
    def begin(self) -> None:
        """Set up the state of a run; `problem`, `settings` and an empty `tally` are there."""

    @abstractmethod
    def next_counts(self) -> Counts | Proposal | StopReason | None:
        """Return the pulls of the next phase, one number per pair, or the reason to stop; None,
        while phases are in flight, to wait for the next outcome.
        """

    @abstractmethod
    def learn(self, outcome: Outcome) -> None:
        """Draw conclusions from a phase; `tally` holds it already."""

    def next_phase(self) -> Phase | None:
        """Return the oldest phase without an outcome. Repeated calls return the same phase until
        `update`.

        All phases that may be in flight are planned first; `flying` holds them. None if the run is
        over; phases that are still open are then called off.
        """
        self._plan_ahead()
        return self.flying[0] if self.flying and self._stop is None else None

    def _plan_ahead(self) -> None:
        """Plan the phases that may be in flight, once after each outcome."""
        if self._planned:
            return
        if self.flying:  # more of them, perhaps, than may be in flight by now
            self._stop = self._stop or self.settled()
        goes_on = self._stop is None
        while goes_on and len(self.flying) < self.settings.phases_in_flight:
            goes_on = self._plan(self.next_counts())
        self._planned = True

    def settled(self) -> StopReason | None:
        """Return a final reason to stop if outcomes in flight cannot change the answer."""
        return None

    def _plan(self, found: Counts | Proposal | StopReason | None) -> bool:
        """Let a phase wait for its outcome; or stop, or wait until more is known: False."""
        if isinstance(found, np.ndarray):
            found = Proposal(found)
        stop = self._refused(found.counts) if isinstance(found, Proposal) else found
        if isinstance(found, Proposal) and stop is None:
            self._commit_to(found)
            return True
        if stop is None and not self.flying:
            raise InputError(f"{self.name} waits, but no phase is in flight: let it give counts")
        if stop is not None and (stop.final or not self.flying):
            self._stop = stop
        return False

    def _refused(self, counts: Counts) -> StopReason | None:
        """Return why a phase may not be pulled."""
        if self.problem.pulled is not None and counts[~self.problem.pulled].any():
            raise InputError(
                f"{self.name} asks for pulls of pairs that cannot be pulled: let it choose among "
                "problem.pullable"
            )
        pulls = int(counts.sum())
        if pulls > self.remaining:
            return StopReason.BUDGET
        return StopReason.LOOKS_SPENT if self.samples + pulls > MOST_PULLS else None

    def _commit_to(self, proposal: Proposal) -> None:
        phase = Phase(
            len(self.history) + len(self.flying),
            proposal.counts.astype(np.int64),
            proposal.batches,
            proposal.shared,
            overlaps=len(self.flying),
        )
        self.flying = (*self.flying, phase)
        self.asked(phase, proposal)

    def asked(self, phase: Phase, proposal: Proposal) -> None:  # noqa: B027
        """Take note of a phase that is to be pulled now, as it was proposed."""

    def commitment_of(self, phase: Phase) -> Commitment | None:
        """Return the commitment of an open phase; None for algorithms without a certifier."""
        return None

    def recall(
        self,
        phase: Phase,
        claims: Sequence[Claims] = (),
        variances: Array | None = None,
        others: Sequence[Uses] = (),
    ) -> None:
        """Take up a phase that a study file holds, in the place of the one planned now."""
        self.next_phase()
        self.flying, self._stop = (phase,), None

    def update(self, outcome: Outcome) -> None:
        """Take the outcome of the phase that `next_phase` gave; refuse anything else."""
        if self.flying:
            self._plan_ahead()  # without this outcome, as its place in the order of steps says
        self.replay(outcome)

    def replay(self, outcome: Outcome, limits: Sequence[Array | None] | None = None) -> None:
        """Take the outcome of a phase without planning others: those are recalled.

        Args:
            limits: by which evidence was lowered when the phase was scored first, if it was.
        """
        waiting = self.flying[0] if self.flying else None
        phase = _answered(waiting, outcome, self.problem, self.settings)
        self.tally, self.stored_limits = self.tally.after(outcome), limits
        self.learn(outcome)
        self.flying, self._planned = self.flying[1:], False
        self.history = [*self.history, self._record(phase)]

    @property
    def samples(self) -> int:
        return self.tally.samples

    @property
    def remaining(self) -> float:
        """Pulls left in the budget: those in flight are spent."""
        budget = math.inf if self.settings.budget is None else self.settings.budget
        return budget - self.samples - sum(phase.samples for phase in self.flying)

    @property
    def rivals(self) -> NDArray[np.bool_]:
        """(n_arms,) the arms that the leader has yet to be told from."""
        others = self.survivors.copy()
        others[self.leader] = False
        return others

    @property
    def weakest_evidence(self) -> float:
        """The evidence against the rival that is hardest to tell from the leader; 0 before any."""
        rivals = self.rivals
        if self.evidence is None or not rivals.any():
            return 0.0
        return max(float(self.evidence[rivals].min()), 0.0)

    @property
    def result(self) -> Result:
        """The answer as it stands now."""
        return self.tally.result(self.verdict())

    def verdict(self) -> Verdict:
        """Return the conclusion as it stands now.

        Algorithms that know more than which arms are left, such as how sure they are, add it here.
        """
        reason = self._stop or StopReason.RUNNING
        return Verdict(self.name, self.leader, reason, self.survivors, list(self.history))

    def options(self) -> dict[str, Any]:
        """Return the algorithm's own options as plain values, as stored in study files."""
        return as_plain(self)

    @classmethod
    def from_options(cls, stored: Mapping[str, Any]) -> Self:
        """Rebuild an algorithm from its `options`, of this version or an earlier one."""
        return built(cls, stored)

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
