"""The contract of an algorithm: phases out, outcomes in, a result at any time. Pure: no file, clock
or randomness.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms.result import ModelCheck, PhaseRecord, Result, StopReason
from surefoot.algorithms.settings import Settings
from surefoot.arrays import Array
from surefoot.confidence import self_normalised_radius
from surefoot.errors import InputError
from surefoot.problem import RobustProblem
from surefoot.statistics import (
    Counts,
    FitTest,
    Outcome,
    Phase,
    combine,
    equal_variances,
    information,
    lack_of_fit,
    least_squares,
)

MISFIT_LEVEL = 0.001
MOST_PULLS = 2**52  # counts stay exact as floating-point numbers


class Algorithm(ABC):
    """One run of one algorithm. A subclass is a dataclass of its own options and keeps its state in
    `begin`.

    `start` binds a copy to a problem; then `next_phase` and `update` alternate until `next_phase`
    gives None. The state is a function of (problem, settings, options, outcomes): resuming a run is
    replaying its outcomes.

    Subclasses write `begin` (set up the state), `plan` (the next counts, or why to stop) and
    `learn` (an outcome). They may set `leader` and `survivors`, and put what decided into
    `evidence` and `boundary`.
    """

    name: ClassVar[str]
    needs_scale: ClassVar[bool] = True
    has_paper_policy: ClassVar[bool] = True
    supports_tolerance: ClassVar[bool] = False

    problem: RobustProblem
    settings: Settings

    def start(self, problem: RobustProblem, settings: Settings) -> Self:
        """A fresh run of this algorithm on the problem."""
        self._refuse_unsupported(settings)
        run = copy.copy(self)
        run.problem, run.settings = problem, settings
        run.scales = settings.noise.scales(problem.n_pairs)
        run.rows = problem.pairs / run.scales[:, None]
        run.counts = np.zeros(problem.n_pairs, dtype=np.int64)
        run.sums = np.zeros(problem.n_pairs)
        run.scatter, run.freedom = np.zeros(problem.n_pairs), np.zeros(problem.n_pairs)
        run.first_information = None
        run.survivors = np.ones(problem.n_arms, dtype=bool)
        run.leader, run.evidence, run.boundary = 0, None, None
        run.history, run._fits = [], []
        run._pending, run._stop = None, None
        if problem.n_arms == 1:
            run._stop = StopReason.ONE_ARM
        else:
            run.begin()
        return run

    rows: Array
    scales: Array
    counts: Counts
    sums: Array
    scatter: Array
    freedom: Array
    first_information: Array | None
    survivors: NDArray[np.bool_]
    leader: int
    evidence: Array | None
    boundary: float | None
    history: list[PhaseRecord]
    _fits: list[FitTest]
    _pending: Phase | None
    _stop: StopReason | None

    @abstractmethod
    def begin(self) -> None:
        """Set up the state of a run; `problem`, `settings`, `rows` (pairs / scales) are there."""

    @abstractmethod
    def plan(self) -> Counts | StopReason:
        """The counts of the next phase, or the reason to stop."""

    @abstractmethod
    def learn(self, outcome: Outcome) -> None:
        """Draw conclusions from a phase; `counts` and `sums` hold it already."""

    def next_phase(self) -> Phase | None:
        """The phase to pull now (the same one until its outcome is told), or None when the run is
        over.
        """
        if self._pending is None and self._stop is None:
            planned = self.plan()
            if isinstance(planned, StopReason):
                self._stop = planned
            elif (
                self.settings.budget is not None
                and self.samples + int(planned.sum()) > self.settings.budget
            ):
                self._stop = StopReason.BUDGET
            elif self.samples + int(planned.sum()) > MOST_PULLS:
                self._stop = StopReason.LOOKS_SPENT
            else:
                self._pending = Phase(len(self.history), planned.astype(np.int64))
        return self._pending

    def update(self, outcome: Outcome) -> None:
        """Take the outcome of the phase that `next_phase` gave. Anything else is refused and
        changes nothing.
        """
        phase = self._expected(outcome)
        self.counts = self.counts + outcome.counts
        self.sums = self.sums + outcome.sums
        self.scatter = self.scatter + outcome.scatter
        self.freedom = self.freedom + np.maximum(outcome.counts - 1, 0)
        if self.first_information is None:
            self.first_information = information(self.rows, self.counts)
        comparable = self.settings.noise.scales_are_deviations
        self._fits = [*self._fits, lack_of_fit(self.rows, self.scales, outcome, comparable)]
        self.learn(outcome)
        self._pending = None
        self.history = [*self.history, self._record(phase)]

    @property
    def samples(self) -> int:
        return int(self.counts.sum())

    @property
    def remaining(self) -> float:
        """Pulls left in the budget."""
        return np.inf if self.settings.budget is None else self.settings.budget - self.samples

    @property
    def estimate(self) -> Array:
        """(dimension,) least squares on all data so far: for choices, not for guarantees."""
        return least_squares(self.rows, self.counts, self.sums, self.scales)

    @property
    def relative_variance(self) -> float | None:
        """Of the noise, relative to `scales`: 1 if these are known, else from replicates; None
        without any.
        """
        if self.settings.noise.known:
            return 1.0
        freedom = float(self.freedom.sum())
        return float(self.scatter.sum()) / freedom if freedom else None

    @property
    def ellipsoid_radius(self) -> float:
        """β of the self-normalised ellipsoid about the estimate, valid at all looks; ∞ while it
        cannot be formed.
        """
        if self.first_information is None:
            return math.inf
        return self_normalised_radius(
            self.first_information, information(self.rows, self.counts), self.settings.delta
        )

    @property
    def result(self) -> Result:
        """The answer as it stands now."""
        reason = self._stop or StopReason.RUNNING
        check = self.model_check
        refused = (
            check.rejected
            and self.settings.on_misfit == "reject"
            and self.settings.confidence == "valid"
        )
        if reason.certifies and refused:
            reason = StopReason.MODEL_REJECTED
        theta = self.estimate
        return Result(
            problem=self.problem,
            settings=self.settings,
            algorithm=self.name,
            arm=self.leader,
            samples=self.samples,
            certified=reason.certifies,
            reason=reason,
            candidates=np.flatnonzero(self.survivors),
            theta=theta,
            pair_means=self.problem.pairs @ theta,
            pair_widths=self._widths(),
            pair_averages=np.divide(
                self.sums,
                self.counts,
                out=np.full(self.problem.n_pairs, np.nan),
                where=self.counts > 0,
            ),
            pair_errors=self._standard_errors(),
            counts=self.counts,
            model_check=check,
            history=list(self.history),
        )

    @property
    def model_check(self) -> ModelCheck:
        """What the replicates say about the linear model so far."""
        return ModelCheck(
            lack_of_fit=combine(self._fits),
            equal_variances=equal_variances(self.freedom, self.scatter / self.scales**2),
            level=MISFIT_LEVEL,
        )

    def options(self) -> dict[str, Any]:
        """The algorithm's own options as plain values: what study files hold."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Rebuild what `options` described, from a file of this version or an earlier one."""
        try:
            return cls(**options)
        except TypeError as error:
            raise InputError(
                f"algorithm {cls.name!r} does not take these options: {error}"
            ) from None

    def _refuse_unsupported(self, settings: Settings) -> None:
        if self.needs_scale and not settings.noise.known:
            raise InputError(
                f"{self.name} needs the noise scale: give Gaussian(scale), or use "
                f'"prime", which can do without'
            )
        if settings.confidence == "paper" and not self.has_paper_policy:
            raise InputError(
                f'{self.name} is not an algorithm of the paper: it has only confidence="valid"'
            )
        if settings.tolerance > 0 and not self.supports_tolerance:
            raise InputError(f'{self.name} has no tolerance: leave it at 0, or use "prime"')

    def _expected(self, outcome: Outcome) -> Phase:
        phase = self._pending
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
        shapes = {name: getattr(outcome, name).shape for name in ("counts", "sums", "scatter")}
        if any(shape != phase.counts.shape for shape in shapes.values()):
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
        usable = np.isfinite(outcome.sums) & np.isfinite(outcome.scatter)
        if not usable.all():
            bad = int(np.argmin(usable))
            raise InputError(
                f"the rewards of pair {bad} ({self.problem.describe_pair(bad)}) are "
                f"not finite numbers: "
                "mend the simulator and tell the phase again"
            )
        if (outcome.scatter < 0).any():
            raise InputError("the scatter of an outcome is a sum of squares and cannot be negative")
        unpulled = phase.counts == 0
        if outcome.sums[unpulled].any() or outcome.scatter[unpulled].any():
            raise InputError(
                "the outcome holds rewards of pairs that were not pulled: tell only "
                "the pulls asked for"
            )
        return phase

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

    def _widths(self) -> Array:
        """(n_pairs,) simultaneous half-widths for all pairs, looks and any adaptivity; inf where
        nothing is known.
        """
        radius, scale = self.ellipsoid_radius, self._relative_scale()
        if scale is None or not math.isfinite(radius):
            return np.full(self.problem.n_pairs, np.inf)
        root = np.linalg.cholesky(information(self.rows, self.counts))
        whitened = np.linalg.solve(root, self.problem.pairs.T)
        return np.asarray(scale * radius * np.linalg.norm(whitened, axis=0))

    def _relative_scale(self) -> float | None:
        variance = self.relative_variance
        return None if variance is None else math.sqrt(variance)

    def _standard_errors(self) -> Array:
        """(n_pairs,) of the pairs' averages; NaN where nothing was pulled or the noise is not known
        yet.
        """
        scale, pulled = self._relative_scale(), self.counts > 0
        errors = np.full(self.problem.n_pairs, np.nan)
        if scale is not None:
            errors[pulled] = scale * self.scales[pulled] / np.sqrt(self.counts[pulled])
        return errors


def _plain(value: Any) -> Any:
    """As JSON knows it: dataclasses as dictionaries, arrays and tuples as lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_plain(entry) for entry in value] if isinstance(value, tuple | list) else value
