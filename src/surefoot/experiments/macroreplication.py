"""Macroreplications: a whole study, run many times with independent seeds, and how often its answer
was right.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surefoot.algorithms import Algorithm, Result, Settings, StopReason
from surefoot.algorithms.fitting import least_squares
from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.experiments.session import Job, Session, opened
from surefoot.problem.problem import RobustProblem
from surefoot.proportions import Proportion
from surefoot.study.before.rehearsal import rehearse
from surefoot.study.file.description import Description
from surefoot.study.input import Simulated
from surefoot.study.pull import Pull

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class _Truth:
    """The arm that should have been found, and how good each arm is.

    Attributes:
        best: the arm.
        values: (n_arms,) as asked for, larger is better.
        source: the origin of the truth, in words.
        kept: (n_arms,) which arms keep all limits; None without limits.
        nearly: (n_arms,) which arms keep them to within the slack.
    """

    best: int
    values: Array
    source: str
    kept: NDArray[np.bool_] | None = None
    nearly: NDArray[np.bool_] | None = None

    def under(self, problem: RobustProblem, settings: Settings, others: Outputs) -> _Truth:
        """Return the best arm of those that keep the limits, by the means of outputs that have
        some.
        """
        if not settings.limits:
            return self
        kept, nearly = np.ones((2, problem.n_arms), dtype=bool)
        for limit in settings.limits:
            margins = limit.margins(others[limit.output])
            values = limit.measure.points(problem).values_of(margins)
            kept, nearly = kept & (values >= 0), nearly & (values >= -limit.slack)
        among = np.where(kept, self.values, -np.inf)
        best = among if kept.any() else self.values
        return replace(self, best=int(best.argmax()), kept=kept, nearly=nearly)

    @property
    def nobody(self) -> bool:
        """True if no arm keeps the limits."""
        return self.kept is not None and not self.kept.any()

    def within(self, tolerance: float) -> NDArray[np.bool_]:
        """Return (n_arms,) which arms are the best one, or as good within the tolerance; with
        limits, of those that keep them to within the slack.
        """
        if self.nearly is not None and self.nobody:
            return self.nearly
        good = self.values >= self.values[self.best] - tolerance
        good[self.best] = True
        return np.asarray(good if self.nearly is None else good & self.nearly)

    def beating(self, problem: RobustProblem, settings: Settings) -> NDArray[np.bool_]:
        """Return (n_arms,) which arms are as good as the baseline, or better by the gain."""
        assert settings.baseline is not None
        floor = self.values[problem.arm_names.index(settings.baseline)] + settings.gain
        return np.asarray(self.values >= floor)

    def told(self, problem: RobustProblem, name: str) -> _Truth:
        """Return these values, with the best arm that the user names."""
        if name not in problem.arm_names:
            arms = ", ".join(map(repr, problem.arm_names))
            raise InputError(f"there is no arm {name!r}: the arms are {arms[:400]}")
        best = problem.arm_names.index(name)
        return replace(self, best=best, source="as it was given")


Outputs = Mapping[str, Array]  # (n_pairs,) the means of each output


def _true_means(problem: RobustProblem, settings: Settings, means: Array) -> _Truth:
    """Return the truth where every pair's mean is known."""
    values = settings.measure.points(problem).values_of(means)
    return _Truth(int(values.argmax()), values, "known: the rewards are simulated")


def _pooled(
    problem: RobustProblem, settings: Settings, counts: Sequence[IntArray], sums: Sequence[Array]
) -> _Truth:
    """Return the truth by the rewards of all runs together.

    Sums and counts are pooled before they are divided: that has no bias in the limit, however each
    run chose its pulls. Pairs that no run pulled say nothing where no model is trusted.
    """
    pulls, total = np.sum(counts, axis=0), np.sum(sums, axis=0)
    if settings.modelled:
        scales = settings.noise.scales(problem.n_pairs)
        means = problem.pairs @ least_squares(problem.pairs / scales[:, None], pulls, total, scales)
    else:
        means = np.where(pulls > 0, total / np.maximum(pulls, 1), np.inf)
    values = settings.measure.points(problem).values_of(means)
    values[~np.isfinite(values)] = -np.inf  # an arm without pulls
    unpulled = int((pulls == 0).sum())
    left_out = f", without {unpulled} pairs that no run pulled" if unpulled else ""
    source = f"by the {int(pulls.sum()):,} rewards of all runs together{left_out}"
    return _Truth(int(values.argmax()), values, source)


OF_ESTIMATE = 3  # the second number of a key: neither a pull's own stream nor a block's
NEARLY_ALL = 1 - 1e-9  # of the variance that rewards in a range can have


@dataclass(frozen=True, eq=False)
class EstimatedSimulator:
    """Rewards with the means and standard deviations that a study found.

    They are normal; where rewards have a range they are beta distributed on it, with the same
    means and deviations, or those of 0/1 rewards where the deviations are as large as can be.
    Pulls are independent: the savings of common random numbers in the study are left out.

    Attributes:
        means: (n_pairs,) as measured: costs if the study minimises.
        scales: (n_pairs,) standard deviations of single pulls.
        limits: the range of the rewards, if they have one.
        objective: the name of the rewards, where the study asks for one.
        others: of the outputs that have limits, by name; drawn independently of the rewards.
        stream: a number of its own for each output.
    """

    means: Array
    scales: Array
    limits: tuple[float, float] | None = None
    objective: str | None = None
    others: Mapping[str, EstimatedSimulator] = field(default_factory=dict)
    stream: int = 0

    @classmethod
    def of(cls, description: Description, result: Result) -> EstimatedSimulator:
        """Return the estimates of a study as they stand; pairs without replicates have typical
        noise.
        """
        scales = result.noise_scales
        if not result.samples or scales is None or not np.isfinite(scales).any():
            raise InputError(
                "the study has no estimate yet of its means and its noise: run it first, at least "
                "for its first phases"
            )
        known = scales[np.isfinite(scales)]
        limits = description.settings.noise.limits
        means = result.pair_means
        return cls(
            np.clip(means, *limits) if limits else means,
            np.where(np.isfinite(scales), scales, np.median(known)),
            limits,
            description.settings.objective,
            cls._of_outputs(description.settings, result),
        )

    @classmethod
    def _of_outputs(cls, settings: Settings, result: Result) -> dict[str, EstimatedSimulator]:
        found = dict[str, EstimatedSimulator]()
        for limit in settings.limits:
            said, limits = result.outputs[limit.output], limit.noise.limits
            means = np.clip(said.means, *limits) if limits else said.means
            scales = said.errors * np.sqrt(result.counts)
            known = scales[np.isfinite(scales)]
            usual = float(np.median(known)) if len(known) else 0.0
            scales = np.where(np.isfinite(scales), scales, usual)
            found[limit.output] = cls(means, scales, limits, stream=1 + len(found))
        return found

    def __call__(self, pull: Pull) -> Simulated:
        if self.objective is None:
            return self._drawn(pull)
        others = {name: each._drawn(pull) for name, each in self.others.items()}
        return {self.objective: self._drawn(pull), **others}

    def _drawn(self, pull: Pull) -> float:
        own = (self.stream,) if self.stream else ()
        key = (pull.id, OF_ESTIMATE, *own)
        source = np.random.SeedSequence(pull.study_seed, spawn_key=key)
        generator = np.random.default_rng(source)
        mean, scale = float(self.means[pull.pair]), float(self.scales[pull.pair])
        if self.limits is None:
            return mean + scale * generator.standard_normal()
        return _within(self.limits, mean, scale, generator)


def _within(
    limits: tuple[float, float], mean: float, scale: float, generator: np.random.Generator
) -> float:
    low, high = limits
    share = (mean - low) / (high - low)
    most = share * (1 - share)  # the variance of 0/1 rewards
    variance = (scale / (high - low)) ** 2
    if variance <= 0 or most <= 0:
        return mean
    if variance >= NEARLY_ALL * most:
        return high if generator.random() < share else low
    size = most / variance - 1
    return low + (high - low) * float(generator.beta(share * size, (1 - share) * size))


REFUTED = 1e-3  # p-value below which "wrong in at most a share delta" is given up


@dataclass(frozen=True, eq=False)
class Macroreplications:
    """The answers of many independent runs of one study.

    Attributes:
        truth: the best arm and values against which runs are judged.
        arms: (n_runs,) the arm that each run gave.
        certified: (n_runs,) whether it was certified.
        pulls: (n_runs,) pulls of each run.
        reasons: why each run stopped.
    """

    problem: RobustProblem
    settings: Settings
    truth: _Truth
    arms: IntArray
    certified: NDArray[np.bool_]
    pulls: IntArray
    reasons: tuple[str, ...]

    @property
    def right(self) -> Proportion:
        """Runs that gave the best arm, certified or not; or, where no arm qualifies, said so."""
        return self._share(self._right)

    @property
    def _right(self) -> NDArray[np.bool_]:
        none = self._none
        return none if self.truth.nobody else (self.arms == self.truth.best) & ~none

    @property
    def _none(self) -> NDArray[np.bool_]:
        """(n_runs,) whether the answer was that no arm qualifies."""
        return np.array([reason == StopReason.NONE_QUALIFIES.name for reason in self.reasons])

    @property
    def good(self) -> Proportion:
        """Runs that gave the best arm or one that is as good within the tolerance."""
        return self.good_within(self.settings.tolerance)

    def good_within(self, distance: float) -> Proportion:
        """Count the runs that gave the best arm or one that is as good within this distance."""
        return self._share(self._within(distance))

    @property
    def sure(self) -> Proportion:
        """Runs that ended with a certificate."""
        return self._share(self.certified)

    @property
    def certified_and_wrong(self) -> Proportion:
        """Runs whose certificate was false: delta is the most that this may be."""
        return self._share(self.certified & ~self._good)

    @property
    def refuted(self) -> bool:
        """True if there were more false certificates than delta and chance explain."""
        return self.certified_and_wrong.excess(self.settings.delta) < REFUTED

    @property
    def mean_pulls(self) -> float:
        return float(self.pulls.mean())

    @property
    def pulls_range(self) -> tuple[float, float]:
        """The 10 and 90 % quantiles of the pulls."""
        low, high = np.quantile(self.pulls, [0.1, 0.9])
        return float(low), float(high)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per run."""
        import pandas as pd

        return pd.DataFrame(
            {
                "run": np.arange(len(self.arms)),
                "arm": [self.problem.arm_names[arm] for arm in self.arms],
                "right": self._right,
                "good": self._good,
                "certified": self.certified,
                "pulls": self.pulls,
                "reason": self.reasons,
            }
        )

    def __str__(self) -> str:
        low, high = self.pulls_range
        near = self.settings.tolerance
        lines = [
            f"best: {self._best} ({self.truth.source})",
            f"right: {self.right}",
            *([f"good within {near:g}: {self.good}"] if near else []),
            *(self._certificates if self._may_certify else []),
            f"pulls: {self.mean_pulls:,.0f} on average, from {low:,.0f} to {high:,.0f} in 80 % "
            "of the runs",
        ]
        return "\n".join(lines)

    @property
    def _best(self) -> str:
        return "none" if self.truth.nobody else self.problem.arm_names[self.truth.best]

    @property
    def _may_certify(self) -> bool:
        """True if a run could have ended with a certificate: some procedures never do."""
        return not all(StopReason[reason].never_certifies for reason in self.reasons)

    @property
    def _certificates(self) -> list[str]:
        allowed = f"at most {100 * self.settings.delta:g} % are allowed"
        refuted = ": refuted" if self.refuted else ""
        return [
            f"certified: {self.sure}",
            f"certified and wrong: {self.certified_and_wrong}; {allowed}{refuted}",
        ]

    @property
    def _good(self) -> NDArray[np.bool_]:
        if self.settings.aim == "beat baseline":
            return np.asarray(self.truth.beating(self.problem, self.settings)[self.arms])
        return self._within(self.settings.tolerance)

    def _within(self, distance: float) -> NDArray[np.bool_]:
        """Return (n_runs,) whether the answer is as good as the best within this distance."""
        right = self.truth.within(distance)[self.arms]
        return np.asarray(np.where(self._none, self.truth.nobody, right))

    def _share(self, runs: Array | NDArray[np.bool_]) -> Proportion:
        return Proportion(int(runs.sum()), len(self.arms))


RUNS = 100
APART = 2**40  # numbers of pulls that each run has to itself: files named by them do not collide


def macroreplicate(
    description: Description,
    simulator: Callable[[Pull], Simulated],
    session: Session | None = None,
    *,
    best: str | None = None,
    algorithm: Algorithm | None = None,
) -> Macroreplications:
    """Run a whole study many times with independent seeds, and count how often it was right.

    Args:
        description: of the study, such as `study.description`.
        simulator: gives the reward of a pull; a function of a module, or anything else that can be
            sent to another process, such as an `EstimatedSimulator`.
        session: how many runs, from which seed, in how many processes, and the folder in which
            what is finished is kept until all are. None: 100 runs, one process per core, and
            nothing kept.
        best: the name of the arm that is best. None: as estimated from the rewards of all runs
            together.
        algorithm: only if surefoot does not ship it.
    """
    if hasattr(simulator, "check"):
        simulator.check(description.problem, alone=False)
    _refuse_what_cannot_travel(simulator)
    with opened(session, RUNS) as work:
        seeds = [_seed(work.seed, run) for run in range(work.runs)]
        jobs = [
            Job(str(run), (replace(description, seed=seed), simulator, algorithm, run))
            for run, seed in enumerate(seeds)
        ]
        found = work.map("macroreplicate", _run, jobs, _identity(description, simulator))
    return _summary(description, found, _truth(description, simulator, found, best))


def _run(
    description: Description,
    simulator: Callable[[Pull], Simulated],
    algorithm: Algorithm | None,
    run: int,
) -> dict[str, Any]:
    """Return one run, as a journal keeps it."""
    guide = description.settings.guide
    if guide is not None and ":" in guide:
        importlib.import_module(guide.partition(":")[0])  # a fresh process does not have it
    result = rehearse(description, simulator, algorithm, run * APART)
    return {
        "arm": int(result.arm),
        "certified": bool(result.certified),
        "pulls": int(result.samples),
        "reason": result.reason.name,
        "counts": result.counts.tolist(),
        "sums": np.nan_to_num(result.counts * result.pair_averages).tolist(),
        "others": {
            name: np.nan_to_num(result.counts * each.means).tolist()
            for name, each in result.outputs.items()
        },
    }


def _seed(seed: int, run: int) -> int:
    words = np.random.SeedSequence(seed, spawn_key=(run,)).generate_state(4)
    return int.from_bytes(words.tobytes(), "little")


def _truth(
    description: Description,
    simulator: Callable[[Pull], Simulated],
    found: list[dict[str, Any]],
    best: str | None,
) -> _Truth:
    problem, settings, sign = description.problem, description.settings, description.sign
    if isinstance(simulator, EstimatedSimulator):
        truth = _true_means(problem, settings, sign * simulator.means)
        others = {name: each.means for name, each in simulator.others.items()}
    else:
        counts = [np.array(run["counts"], dtype=np.int64) for run in found]
        sums: list[Array] = [sign * np.array(run["sums"], dtype=np.float64) for run in found]
        truth = _pooled(problem, settings, counts, sums)
        pulls = np.maximum(np.sum(counts, axis=0), 1)
        outputs = found[0]["others"]
        others = {
            name: np.sum([run["others"][name] for run in found], 0) / pulls for name in outputs
        }
    truth = truth.under(problem, settings, others)
    return truth if best is None else truth.told(problem, best)


def _summary(
    description: Description, found: list[dict[str, Any]], truth: _Truth
) -> Macroreplications:
    return Macroreplications(
        problem=description.problem,
        settings=description.settings,
        truth=truth,
        arms=np.array([run["arm"] for run in found]),
        certified=np.array([run["certified"] for run in found]),
        pulls=np.array([run["pulls"] for run in found]),
        reasons=tuple(run["reason"] for run in found),
    )


def _identity(description: Description, simulator: Callable[[Pull], Simulated]) -> dict[str, Any]:
    """Return all that decides the runs, besides the seed: the question and the simulator's code."""
    asked = description.to_entries()
    whole = pickle.dumps(simulator) + _source(simulator)
    del asked["id"], asked["seed"], asked["name"], asked["versions"]
    return {"asked": asked, "simulator": hashlib.sha256(whole).hexdigest()}


def _source(simulator: Any) -> bytes:
    """Return the file that a function stands in; a changed one begins again."""
    try:
        name = inspect.getsourcefile(inspect.unwrap(simulator))
        return Path(name).read_bytes() if name else b""
    except (TypeError, OSError):  # an object, told apart by its values
        return b""


def _refuse_what_cannot_travel(simulator: Callable[[Pull], Simulated]) -> None:
    try:
        pickle.dumps(simulator)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"the simulator cannot be sent to other processes ({error!s:.200}): define it at the "
            "top level of a module"
        ) from None
