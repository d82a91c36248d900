"""The statistics so far: all that follows from the rewards alone, not from who chose the pulls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from surefoot.algorithms.assumptions import (
    FitTest,
    Strayed,
    combine,
    equal_variances,
    lack_of_fit,
    misfit_p_value,
    past_strays,
    stated_variances,
    stray_test,
)
from surefoot.algorithms.confidence import (
    combined_intervals,
    scale_bound,
    self_normalised_radius,
)
from surefoot.algorithms.fitting import ROUNDING, information, least_squares
from surefoot.algorithms.independence import Independence
from surefoot.algorithms.result import Result
from surefoot.algorithms.settings import Settings
from surefoot.algorithms.verdict import ModelCheck, OutputEstimate, StopReason, Verdict
from surefoot.arrays import Array, IntArray
from surefoot.certify import student_widths
from surefoot.design.whitening import cholesky_whitener, unit_free_root, whiten
from surefoot.guides import Seen, guide_from
from surefoot.limits import Limit
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Counts, Outcome

MISFIT_LEVEL = 0.001
TYPICAL = 2  # pulls at the mean cost of all that a pair's own costs count beside
CHEAPEST = 0.01  # of the mean cost, that a pull costs at least


@dataclass(frozen=True, eq=False)
class Tally:
    """The statistics of the outcomes so far. It never changes: `after` gives the next one.

    Attributes:
        scales: (n_pairs,) noise scales; ones where they are unknown.
        rows: (n_pairs, dimension) pairs divided by their scales: what a pull measures.
        counts: (n_pairs,) pulls.
        sums: (n_pairs,) their rewards, summed.
        scatter: (n_pairs,) squared deviations from the pair's mean in each phase, summed.
        freedom: (n_pairs,) their degrees of freedom.
        spread: (n_pairs,) squared deviations from the pair's mean over all phases.
        charged, costs: (n_pairs,) pulls whose cost is known, and what they cost together.
        fits: one test per phase of the model that is trusted, for noise levels known up to a
            factor.
        strays: one test per phase of that model that needs batches, but no noise levels.
        independence: bets that pulls depend on those before.
        first_root: (dimension, dimension) R with RᵀAR = I, where A is the information of the first
            phase; None before it, or if it did not measure all directions.
        others: of further outputs that have limits, by name, as they are measured.
    """

    problem: RobustProblem
    settings: Settings
    scales: Array
    rows: Array
    counts: Counts
    sums: Array
    scatter: Array
    freedom: Array
    spread: Array
    charged: Counts
    costs: Array
    fits: tuple[FitTest, ...] = ()
    strays: tuple[FitTest, ...] = ()
    independence: Independence = field(default_factory=Independence)
    first_root: Array | None = None
    others: Mapping[str, Tally] = field(default_factory=dict)

    @classmethod
    def empty(cls, problem: RobustProblem, settings: Settings) -> Tally:
        """Return the tally before any pull."""
        n = problem.n_pairs
        scales = settings.noise.scales(n)
        return cls(
            problem=problem,
            settings=settings,
            scales=scales,
            rows=problem.pairs / scales[:, None],
            counts=np.zeros(n, dtype=np.int64),
            sums=np.zeros(n),
            scatter=np.zeros(n),
            freedom=np.zeros(n),
            spread=np.zeros(n),
            charged=np.zeros(n, dtype=np.int64),
            costs=np.zeros(n),
            others={
                limit.output: cls.empty(problem, _alone(settings, limit))
                for limit in settings.limits
            },
        )

    def after(self, outcome: Outcome) -> Tally:
        """Return the tally with one more phase."""
        first = not self.samples
        shared = bool(self.settings.common_random_numbers)
        pulls, costs = outcome.charged or (0, 0.0)
        return replace(
            self,
            counts=self.counts + outcome.counts,
            sums=self.sums + outcome.sums,
            scatter=self.scatter + outcome.scatter,
            freedom=self.freedom + np.maximum(outcome.counts - 1, 0),
            spread=self.spread + outcome.scatter + self._between(outcome),
            charged=self.charged + pulls,
            costs=self.costs + costs,
            fits=(*self.fits, *self._fit_of(outcome)),
            strays=(*self.strays, *self._stray_of(outcome)),
            independence=self.independence.after(outcome, shared),
            first_root=self._root_of(outcome) if first else self.first_root,
            others={name: each.after(outcome.others[name]) for name, each in self.others.items()},
        )

    def _between(self, outcome: Outcome) -> Array:
        """Return (n_pairs,) squared deviations that two means add to those within: before, and
        now."""
        before, now = self.counts, outcome.counts
        apart = self.sums / np.maximum(before, 1) - outcome.sums / np.maximum(now, 1)
        return np.asarray(before * (now / np.maximum(before + now, 1)) * apart**2)

    def _root_of(self, outcome: Outcome) -> Array | None:
        return unit_free_root(information(self.rows, outcome.counts))

    def _fit_of(self, outcome: Outcome) -> list[FitTest]:
        """Return the lack of fit of a phase to a model that is trusted: one test, or an empty list.

        The test needs noise levels up to a factor.
        """
        if not self.settings.modelled:
            return []
        known = self.settings.noise.scales_are_deviations
        return [lack_of_fit(self.rows, self.scales, outcome, known, self.settings.misfit)]

    def _stray_of(self, outcome: Outcome) -> list[FitTest]:
        """Test a model that is trusted without any noise levels, where these are unknown and may
        differ.
        """
        if not self.settings.modelled or self.settings.noise.evidence != "batches":
            return []
        n_pairs, dimension = self.problem.pairs.shape
        if dimension == n_pairs or not self.scatter.any():  # no pair can, or it may all be chance
            return []
        test = stray_test(self.problem.pairs, self.strayed, outcome, self.settings.misfit)
        return [] if test is None else [test]

    @cached_property
    def strayed(self) -> Strayed:
        """The deviations of the means so far from the model."""
        variances = self.settings.noise.variances(self.scatter, self.freedom)
        return past_strays(self.problem.pairs, self.counts, self.sums, variances)

    def waits_for(self, pairs: IntArray) -> bool:
        """Return whether nothing should be concluded from pulls of these pairs yet: they seem to
        follow each other, and whether they do is not clear.
        """
        if self.ignores_contradictions or not self.independence.seems_broken(pairs):
            return False
        p_value = self.independence.p_value
        return p_value is None or p_value >= MISFIT_LEVEL

    @property
    def ignores_contradictions(self) -> bool:
        """True if the user accepts an assumption that rewards contradict."""
        return self.settings.on_misfit == "ignore" or self.settings.rules == "paper"

    @cached_property
    def prices(self) -> Array:
        """(n_pairs,) expected costs of a pull, 1 on average; ones where no cost is asked for.

        A pair's own costs count beside some pulls at the mean of all: lengths vary by chance too.
        """
        pulls, costs = float(self.charged.sum()), float(self.costs.sum())
        if self.settings.cost is None or not costs > 0:
            return np.ones(self.problem.n_pairs)
        usual = costs / pulls
        expected = (self.costs + TYPICAL * usual) / (self.charged + TYPICAL)
        expected = np.maximum(expected, CHEAPEST * usual)
        return np.asarray(expected / expected.mean())

    @cached_property
    def samples(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def estimate(self) -> Array:
        """(dimension,) least squares on all data: for choices, not for guarantees."""
        return least_squares(self.rows, self.counts, self.sums, self.scales)

    @property
    def noise_scales(self) -> Array | None:
        """(n_pairs,) scales of the noise, as given or estimated from replicates; None if
        unknown."""
        noise = self.settings.noise
        if noise.evidence == "scales":
            return self.scales
        if not self.freedom.any():
            return None
        return np.sqrt(noise.variances(self.scatter, self.freedom))

    @property
    def residual_variance(self) -> float:
        """The variance about the phases' linear fits: it needs no replicates, but the model."""
        squares = sum(fit.squares for fit in self.fits)
        return squares / max(sum(fit.freedom for fit in self.fits), 1)

    @property
    def ellipsoid_radius(self) -> float:
        """β of the self-normalised ellipsoid, valid at all looks; ∞ while it cannot be formed."""
        return self._ellipsoid(self.settings.delta)

    def _ellipsoid(self, delta: float) -> float:
        total = information(self.rows, self.counts)
        return self_normalised_radius(self.first_root, total, delta)

    @property
    def averages(self) -> Array:
        """(n_pairs,) means of the rewards, without the model; NaN before the first pull."""
        unknown = np.full(self.problem.n_pairs, np.nan)
        return np.asarray(np.divide(self.sums, self.counts, out=unknown, where=self.counts > 0))

    @property
    def standard_errors(self) -> Array:
        """(n_pairs,) of the averages; NaN where nothing was pulled or the noise is unknown."""
        scales, pulled = self.noise_scales, self.counts > 0
        errors = np.full(self.problem.n_pairs, np.nan)
        if scales is not None:
            errors[pulled] = scales[pulled] / np.sqrt(self.counts[pulled])
        return errors

    @property
    def pair_means(self) -> Array:
        """(n_pairs,) expected rewards: of the linear model; without one, the pairs' own averages,
        and a trend through these for pairs not pulled.
        """
        if self.settings.modelled:
            return np.asarray(self.problem.pairs @ self.estimate)
        if self.counts.all() or not self.counts.any():
            return self.sums / np.maximum(self.counts, 1)
        scales = self.scales if self.noise_scales is None else self.noise_scales
        means = self.sums / np.maximum(self.counts, 1)
        guess = guide_from(None, self.problem).guess(
            Seen(self.problem, self.counts, means, scales**2)
        )
        return np.where(self.counts > 0, means, guess.means)

    @cached_property
    def intervals(self) -> tuple[Array, Array]:
        """(n_pairs,) lower and upper ends, infinite where nothing is known. They hold the means of
        all pairs at all looks at once with probability ≥ 1 − δ, however pulls were chosen.

        Scales or bounds that are known: the self-normalised bound. One unknown scale: the same
        bound with an upper bound of the scale, each of which may fail with probability δ/2. Unknown
        scales that differ: Student's t confidence sequence of each pair, at δ / n_pairs.
        """
        noise, delta = self.settings.noise, self.settings.delta
        if noise.evidence == "batches":
            return self._student_intervals()
        scale = 1.0 if noise.known else self._largest_scale(delta / 2)
        widths = self._widths(scale, delta if noise.known else delta / 2)
        return self.pair_means - widths, self.pair_means + widths

    def _student_intervals(self) -> tuple[Array, Array]:
        """By the pairs' own sequences; where the model is trusted also by what it makes of them,
        and no end is beyond the estimate, which weighs pairs otherwise.
        """
        averages, means = self.averages, self.pair_means
        alpha = self.settings.delta / self.problem.n_pairs
        widths = student_widths(self.counts, self.spread, alpha)
        # rewards that never varied say nothing of their noise: normal ones always do
        size = ROUNDING * np.abs(np.nan_to_num(averages))
        widths[self.spread <= self.counts * size**2] = np.inf
        if not self.settings.modelled:
            return means - widths, means + widths
        points, _ = whiten(self.problem.pairs, self.problem.pairs)
        lower, upper = combined_intervals(points, averages, widths, self.settings.misfit)
        return np.minimum(lower, means), np.maximum(upper, means)

    def _largest_scale(self, delta: float) -> float:
        """Return the upper bound of one unknown scale: by replicates, and if the model is trusted
        to be exact also by residuals from it.
        """
        squares, freedom = float(self.scatter.sum()), float(self.freedom.sum())
        if self.settings.misfit == 0:
            squares = float(sum(fit.squares for fit in self.fits))
            freedom = float(sum(fit.freedom for fit in self.fits))
        return scale_bound(squares, freedom, delta)

    def _widths(self, scale: float, delta: float) -> Array:
        """Return (n_pairs,) half-widths about the means for noise of `scale` times `scales`."""
        if not math.isfinite(scale):
            return np.full(self.problem.n_pairs, np.inf)
        if not self.settings.modelled:
            return scale * self._own_widths(delta)
        radius = self._ellipsoid(delta)
        whitener = cholesky_whitener(information(self.rows, self.counts))
        if whitener is None or not math.isfinite(radius):
            return np.full(self.problem.n_pairs, np.inf)
        whitened = self.problem.pairs @ whitener.T
        by_chance = scale * radius * np.linalg.norm(whitened, axis=1)
        return np.asarray(by_chance + self._bias(whitened)) if self.settings.misfit else by_chance

    def _bias(self, whitened: Array) -> Array:
        """Return (n_pairs,) how far the fit may be from a pair's mean: the pair's own deviation
        from the model, and what those of the pulled pairs do to the fit.
        """
        pulled = np.flatnonzero(self.counts)
        weights = (whitened[pulled] * (self.counts[pulled] / self.scales[pulled] ** 2)[:, None]).T
        return np.asarray(self.settings.misfit * (1 + np.abs(whitened @ weights).sum(axis=1)))

    def _own_widths(self, delta: float) -> Array:
        """By each pair's own pulls: the self-normalised bound in one dimension, one per pair."""
        counts = self.counts.astype(np.float64)
        spent = 2 * math.log(self.problem.n_pairs / delta)
        radius = np.sqrt((1 + 1 / np.maximum(counts, 1)) * (np.log1p(counts) + spent))
        errors = np.divide(
            self.scales, np.sqrt(counts), out=np.full(len(counts), np.inf), where=counts > 0
        )
        return np.asarray(radius * errors)

    @property
    def model_check(self) -> ModelCheck:
        """The findings of the replicates on the linear model and on the noise."""
        independent = not self.settings.common_random_numbers
        relative = self.scatter / self.scales**2
        equal = equal_variances(self.freedom, relative) if independent else None
        return ModelCheck(
            lack_of_fit=self._misfit,
            equal_variances=equal,
            level=MISFIT_LEVEL,
            stated_noise=(
                stated_variances(self.freedom, relative)
                if self.settings.noise.scales_are_deviations
                else None
            ),
            independence=self.independence.p_value,
        )

    @property
    def _misfit(self) -> float | None:
        """p-value of the linear model, by the test that the noise model allows."""
        if self.settings.noise.evidence != "batches":
            return combine(list(self.fits))
        return misfit_p_value(self.strays)

    def result(self, verdict: Verdict) -> Result:
        """Return the answer: an algorithm's verdict, with estimates and checks from the rewards.

        A model, or a statement about the noise, that the rewards reject takes the certificate away,
        unless the user says otherwise.
        """
        check, reason, settings = self.model_check, verdict.reason, self.settings
        judged = reason.certifies and verdict.reason is not StopReason.ONE_ARM
        if judged and not self.ignores_contradictions:
            reason = self._contradiction(check) or reason
            for each in self.others.values() if reason.certifies else ():
                reason = each._contradiction(each.model_check) or reason
        return Result(
            problem=self.problem,
            settings=settings,
            algorithm=verdict.algorithm,
            arm=verdict.arm,
            samples=self.samples,
            certified=reason.certifies,
            reason=reason,
            candidates=np.flatnonzero(verdict.survivors),
            theta=self.estimate,
            pair_means=self.pair_means,
            pair_lower=self.intervals[0],
            pair_upper=self.intervals[1],
            pair_averages=self.averages,
            pair_errors=self.standard_errors,
            noise_scales=self.noise_scales,
            counts=self.counts,
            model_check=check,
            history=verdict.history,
            skewness=verdict.skewness,
            confidence_later=verdict.confidence_later,
            leads_later=verdict.leads_later,
            qualifying=verdict.qualifying,
            outputs={name: each.estimates for name, each in self.others.items()},
        )

    @property
    def estimates(self) -> OutputEstimate:
        """The estimates of an output by itself."""
        return OutputEstimate(self.averages, *self.intervals, self.standard_errors)

    def _contradiction(self, check: ModelCheck) -> StopReason | None:
        """Return the assumption of the guarantee that the rewards' own tests reject."""
        depend = [each.model_check for each in self.others.values()]
        if any(each.below(each.independence) for each in (check, *depend)):
            return StopReason.PULLS_DEPEND
        if check.rejected and self.settings.modelled:
            return StopReason.MODEL_REJECTED
        levels_differ = check.below(check.equal_variances)
        if self.settings.noise.evidence == "residual" and levels_differ:
            return StopReason.NOISE_NOT_EQUAL
        return StopReason.NOISE_TOO_LARGE if check.below(check.stated_noise) else None


def _alone(settings: Settings, limit: Limit) -> Settings:
    """Return the settings by which a limited output is looked at alone."""
    return replace(
        settings, noise=limit.noise, measure=limit.measure, limits=(), tolerance=0.0, baseline=None
    )
