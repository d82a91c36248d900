"""How many samples an instance needs: the exact characteristic time H* and the paper's H_R."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from surefoot.arrays import Array
from surefoot.design.designs import Design
from surefoot.design.separation import (
    exact_separation,
    hulls_meet,
    paper_separation,
    squared_distances,
)
from surefoot.design.whitening import whiten
from surefoot.errors import InputError
from surefoot.noise import Gaussian
from surefoot.problem.coding import probability
from surefoot.problem.problem import RobustProblem

if TYPE_CHECKING:
    import pandas as pd

PAPER_EPSILON = 0.1


@dataclass(frozen=True, eq=False)
class Complexity:
    """The sample complexity of one instance (a problem and its true θ).

    Numbers of samples are for noise of scale 1 unless the rows that were given say otherwise.

    Attributes:
        best_arm: the arm whose worst case is best under θ.
        gap: Δ_r, by how much its robust value exceeds the second best.
        exact_design: the design of H*; its value and lower bound are `exact` and the ends of
            `exact_bounds`.
        paper_design: the best design found for H_R; its lower bound is that of H*.
        dimension: of the span of the pairs.
        n_pairs: |Z|.
        noise_scale: the largest noise scale of a pair (1 unless rows were given).
        hulls_meet: whether a pair of the best arm lies in the convex hull of another arm. Then the
            two may tie on a whole region, and the lower bound is the usual one.
    """

    best_arm: int
    gap: float
    exact_design: Design
    paper_design: Design
    dimension: int
    n_pairs: int
    noise_scale: float = 1.0
    hulls_meet: bool = True

    @property
    def exact(self) -> float:
        """H*, the exact characteristic time: at most `exact_design.gap` above the optimum."""
        return self.exact_design.value

    @property
    def exact_bounds(self) -> tuple[float, float]:
        """Proven bounds on H*."""
        return self.exact_design.lower_bound, self.exact_design.value

    @property
    def paper(self) -> float:
        """The paper's H_R at the best design found."""
        return self.paper_design.value

    @property
    def paper_bounds(self) -> tuple[float, float]:
        """Proven bounds on H_R: H* from below, the best design found from above."""
        return self.paper_design.lower_bound, self.paper_design.value

    @property
    def allocation(self) -> Array:
        """(n_pairs,) the shares of pulls that attain H*."""
        return self.exact_design.weights

    @property
    def paper_allocation(self) -> Array:
        """(n_pairs,) the shares of pulls of the paper's oracle (`eq:oracle`)."""
        return self.paper_design.weights

    @property
    def worst_case(self) -> float:
        """The paper's bound 4d/Δ_r² on H_R (Proposition 1), times the largest noise variance."""
        return 4.0 * self.dimension * self.noise_scale**2 / self.gap**2

    def lower_bound(self, delta: float) -> float:
        """Pulls that every algorithm with tolerance 0 needs on average: the better of two bounds.

        Twice H* at its proven lower end, times (1 − δ) log((1 − δ)/δ) where no pair of the best arm
        lies in another arm's hull, else times kl(δ, 1 − δ). `lower_bound_source` says which. With
        δ ≥ ½ a guess is good enough, and the bound is 0.
        """
        if probability(delta) >= 0.5:
            return 0.0
        divergence = binary_divergence(delta) if self.hulls_meet else _tie_divergence(delta)
        return 2.0 * divergence * self.exact_design.lower_bound

    @property
    def lower_bound_source(self) -> str:
        """The formula of `lower_bound`."""
        return "2 kl(δ, 1−δ) H*" if self.hulls_meet else "2 (1−δ) log((1−δ)/δ) H*"

    def lower_bound_paper(self, delta: float) -> float:
        """Return 2 log(1/2δ) H_R, which the paper's Theorem 1 states as a lower bound; it is
        not."""
        return 2.0 * math.log(1.0 / (2.0 * probability(delta))) * self.paper

    def oracle_samples(self, delta: float) -> float:
        """Return the paper's oracle, which knows θ: 2 log(|Z|²/δ) H_R samples (Appendix B)."""
        return 2.0 * math.log(self.n_pairs**2 / probability(delta)) * self.paper

    def static_bound(self, delta: float, epsilon: float = PAPER_EPSILON) -> float:
        """Return the paper's upper bound for Robust Static (`thm:static`)."""
        log_term = math.log(self.n_pairs**2 / probability(delta))
        return 8.0 * (1.0 + epsilon) * log_term * self.worst_case

    def rage_bound(self, delta: float, epsilon: float = PAPER_EPSILON) -> float:
        """Return the paper's upper bound for Robust RAGE (`thm:robust_rage`).

        Its r(ε) = 2‖λ‖₀/ε takes the largest support an optimal design needs, d(d + 1)/2 + 1 pairs
        (Carathéodory).
        """
        phases = max(1, math.ceil(math.log2(4.0 / self.gap)))
        support = min(self.n_pairs, self.dimension * (self.dimension + 1) // 2 + 1)
        log_term = math.log(self.n_pairs**2 * phases**2 / probability(delta) ** 2)
        rounding = math.ceil(2.0 * support / epsilon)
        return 128.0 * log_term * (1.0 + epsilon) * phases * self.paper + phases * (1.0 + rounding)

    def to_frame(self, delta: float = 0.05) -> pd.DataFrame:
        """Return one row per quantity, with where it comes from; bounds on samples are at this
        δ.
        """
        import pandas as pd

        rows = [
            ("robust gap", self.gap, "Δ_r"),
            ("exact", self.exact, "H*"),
            ("exact, proven lower end", self.exact_bounds[0], "certificate"),
            ("paper", self.paper, "H_R of the paper, at the best design found"),
            ("paper, proven lower end", self.paper_bounds[0], "certificate"),
            ("worst case", self.worst_case, "4d/Δ_r² of the paper"),
            (f"lower bound, δ = {delta:g}", self.lower_bound(delta), self.lower_bound_source),
            (
                f"paper's lower bound, δ = {delta:g}",
                self.lower_bound_paper(delta),
                "the paper's 2 log(1/2δ) H_R",
            ),
            (
                f"oracle samples, δ = {delta:g}",
                self.oracle_samples(delta),
                "the paper's 2 log(|Z|²/δ) H_R",
            ),
            (
                f"Robust Static at most, δ = {delta:g}",
                self.static_bound(delta),
                "the paper's thm:static",
            ),
            (
                f"Robust RAGE at most, δ = {delta:g}",
                self.rage_bound(delta),
                "the paper's thm:robust_rage",
            ),
        ]
        return pd.DataFrame(rows, columns=["quantity", "value", "source"])

    def __repr__(self) -> str:
        return (
            f"Complexity(best_arm={self.best_arm}, gap={self.gap:.6g}, "
            f"exact H*={self.exact:.6g} in [{self.exact_bounds[0]:.6g}, "
            f"{self.exact_bounds[1]:.6g}], "
            f"paper H_R={self.paper:.6g} in [{self.paper_bounds[0]:.6g}, "
            f"{self.paper_bounds[1]:.6g}], "
            f"worst_case={self.worst_case:.6g})"
        )


def complexity(
    problem: RobustProblem, theta: ArrayLike, tolerance: float = 1e-4, rows: Array | None = None
) -> Complexity:
    """Return the sample complexity of telling the best arm under θ from all others.

    Args:
        problem: the arms and their pairs.
        theta: the true parameter, one number per feature.
        tolerance: the largest relative gap between H* and its proven lower bound.
        rows: (n_pairs, dimension) what one pull of each pair measures, `problem.pairs / scale` for
            noise of that scale (one number, or one per pair); by default scale 1. H* and H_R are
            then in samples at that noise.
    """
    best, gap = _best_and_gap(problem, theta)
    pairs, offsets = problem.pairs[problem.compared_pairs], problem.compared_offsets
    instance = (pairs, offsets, problem.reduced(theta), best)
    measured = (problem.pairs if rows is None else rows)[problem.pullable]
    meet = hulls_meet(*instance, measured)
    exact = exact_separation(*instance, rows=measured, tolerance=tolerance)
    paper = paper_separation(*instance, rows=measured, tolerance=tolerance)
    scale = 1.0 if rows is None else _largest_scale(problem.pairs, rows)
    return Complexity(best, gap, exact, paper, problem.dimension, len(pairs), scale, meet)


def complexity_by_pairs(
    problem: RobustProblem, means: Array, tolerance: float, scales: Array
) -> Complexity:
    """Return the sample complexity where no model is trusted: each pair's mean is a parameter.

    Args:
        means: (n_pairs,) true mean rewards.
        tolerance: the largest relative gap between H* and its proven lower bound.
        scales: (n_pairs,) of the noise.
    """
    alone = RobustProblem.from_pairs(np.eye(problem.n_pairs), problem.arm_of_pair)
    return complexity(alone, means, tolerance, alone.pairs / scales[:, None])


def _largest_scale(pairs: Array, rows: Array) -> float:
    """Return the largest ratio of a pair to its pull's direction, over pairs that are measured."""
    lengths = np.linalg.norm(rows, axis=1)
    measured = lengths > 0.0
    return float(np.max(np.linalg.norm(pairs, axis=1)[measured] / lengths[measured]))


def _best_and_gap(problem: RobustProblem, theta: ArrayLike) -> tuple[int, float]:
    if problem.n_arms < 2:
        raise InputError(
            "the problem has a single arm: there is nothing to tell apart, so no samples are needed"
        )
    best, gaps = problem.best_arm(theta), problem.robust_gaps(theta)
    if not gaps[best] > 0.0:
        tied = np.flatnonzero(gaps == 0.0).tolist()
        raise InputError(
            f"under theta arms {tied} are equally good, so no number of samples tells them apart: "
            "give a theta with one best arm"
        )
    return best, float(gaps[best])


def likelihood_ratio(
    problem: RobustProblem,
    theta: ArrayLike,
    counts: ArrayLike,
    scales: ArrayLike = 1.0,
    leader: int | None = None,
) -> float:
    """Return the generalised likelihood ratio of pulls: ½ min ‖θ' − θ‖²_A over all θ' under which
    another arm beats the leader.

    At the least-squares estimate it is the logarithm of how much more likely the rewards are under
    it than under any such θ' (Gaussian noise). At the true θ, with counts n λ, it is n times half
    of 1/H of the design λ: at best n/(2 H*).

    Args:
        theta: one number per feature.
        counts: (n_pairs,) pulls of each pair, or the shares of a design.
        scales: of the noise, one number or one per pair.
        leader: by default the best arm under θ.
    """
    pulls = np.asarray(counts, dtype=np.float64)
    if pulls.shape != (problem.n_pairs,) or not (pulls >= 0).all():
        raise InputError(
            f"counts have shape {pulls.shape}: give one number ≥ 0 for each of the "
            f"{problem.n_pairs} pairs"
        )
    noise = Gaussian(scales).scales(problem.n_pairs)
    pairs, rows = whiten(problem.pairs, problem.pairs / noise[:, None])
    arm = problem.best_arm(theta) if leader is None else leader
    means, seen = problem.pair_means(theta), (rows.T * pulls) @ rows
    return 0.5 * float(squared_distances(pairs, problem.offsets, means, seen, arm).min())


def binary_divergence(delta: float) -> float:
    """Return kl(δ, 1 − δ) = (1 − 2δ) log((1 − δ)/δ)."""
    delta = probability(delta)
    return (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta)


def _tie_divergence(delta: float) -> float:
    """Return (1 − δ) log((1 − δ)/δ), for answers that both have probability ≤ δ at the nearest
    tie."""
    delta = probability(delta)
    return (1.0 - delta) * math.log((1.0 - delta) / delta)
