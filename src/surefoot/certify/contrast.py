"""Points, trust, and contrasts that cannot overstate a lead.

Pairs i are pulled and have mean rewards μ_i. Points q, weights on pairs, are compared: an arm's
value is the least q·μ of its points. The claim "point z' beats arm x" is held against shares p of
x's points. With c = z' − Σ p_j q_j, the value of x is at most Σ p_j q_j·μ; so if x is the best arm
and z' the true worst point of its own, c·μ ≤ 0.

What is trusted is μ = Zθ + η with |η_i| ≤ ε. A contrast a on pulled pairs is admissible if
Zᵀ(a − c) = 0, or a = c where ε = ∞: then a·μ − ε‖a − c‖₁ ≤ c·μ. Weights a are derived here, from
shares, a deviation τ² and guessed variances; nobody hands them in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError

RANK = 1e-11  # singular values below this share of the largest are zero
UNMEASURED = 1e-9  # share of a claim that pulled pairs may leave unexplained: rounding
SAME = 1e-12  # share of a claim's size below which its two sides are one point, up to rounding
ROUGHLY = 1e-5  # by which shares may miss 1 before they are scaled to it
BLOCK = 2_000_000  # numbers that are formed at a time


class Rows(NamedTuple):
    """Sparse rows: row r holds `values[starts[r]:starts[r + 1]]` in the columns named beside."""

    starts: IntArray
    columns: IntArray
    values: Array

    @property
    def sizes(self) -> IntArray:
        """(n_rows,) entries of each row."""
        return np.diff(self.starts)

    def take(self, rows: IntArray) -> Rows:
        """Return some of the rows, in the order asked for."""
        sizes = self.sizes[rows]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], sizes)
        return Rows(starts, self.columns[places], self.values[places])

    def through(self, points: Rows) -> Rows:
        """Return the product with the rows that this one's columns name, entries merged."""
        inner, width = points.take(self.columns), int(points.columns.max(initial=0)) + 1
        row = np.repeat(np.repeat(np.arange(len(self.sizes)), self.sizes), inner.sizes)
        values = np.repeat(self.values, inner.sizes) * inner.values
        keys, place = np.unique(row * width + inner.columns, return_inverse=True)
        starts = np.searchsorted(keys, np.arange(len(self.starts)) * width)
        merged = np.bincount(place, values, len(keys)).astype(np.float64)
        return Rows(starts, keys % width, merged)

    def squared(self) -> Rows:
        """Return the rows with every entry squared."""
        return self._replace(values=self.values**2)

    def absolute(self) -> Array:
        """(n_rows,) the sums of entries' sizes."""
        row = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return np.asarray(np.bincount(row, np.abs(self.values), len(self.sizes)), dtype=np.float64)

    def dot(self, matrix: Array) -> Array:
        """Return (n_rows, k) the product with an (n_columns, k) matrix; 0 for empty rows."""
        out, filled = np.zeros((len(self.sizes), matrix.shape[1])), np.flatnonzero(self.sizes)
        if len(filled):
            entries = self.values[:, None] * matrix[self.columns]
            out[filled] = np.add.reduceat(entries, self.starts[filled], axis=0)
        return out


class Stakes(NamedTuple):
    """Guesses, made before a phase, from which bets on its batches follow.

    Attributes:
        means: (n_own, n_tested) expected contrasts.
        doubts: (n_own, n_tested) standard deviations of these expectations.
        variances: (n_own, n_tested) of a single batch's contrast.
        aim: added to what is expected when a stake is chosen.
    """

    means: Array
    doubts: Array
    variances: Array
    aim: float

    def usable(self, shape: tuple[int, int]) -> bool:
        """Return whether there is a finite guess for each claim."""
        guesses = self.means, self.doubts, self.variances
        finite = all(each.shape == shape and np.isfinite(each).all() for each in guesses)
        return finite and bool((self.variances >= 0).all()) and bool(np.isfinite(self.aim))


class Claims(NamedTuple):
    """The claims "these points of the challenger beat these arms", fixed before a phase.

    Attributes:
        challenger: the arm whose points should win.
        points: (n_own,) its points, by their numbers among all points.
        arms: (n_tested,) the arms under test.
        clocks: (n_tested,) the point of the boundary's grid to which each arm's clock goes on.
        shares: the mixture of points that each arm is compared by: a row for each arm, or one for
            each (point, arm), arms fastest. A claim whose row is empty says nothing.
        deviation: () or (n_own, n_tested) τ² of the contrast: 0 the fit, ∞ the pairs' own means.
        stakes: for rewards of which only the range is known.
    """

    challenger: int
    points: IntArray
    arms: IntArray
    clocks: IntArray
    shares: Rows
    deviation: Array
    stakes: Stakes | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.points), len(self.arms)


@dataclass(frozen=True, eq=False)
class Question:
    """What is compared, and what is trusted.

    Attributes:
        offsets: (n_arms + 1,) where the points of each arm begin.
        points: (n_points) rows of weights on pairs.
        features: (n_pairs, dimension) Z; of no account where ε = ∞.
        misfit: ε.
    """

    offsets: IntArray
    points: Rows
    features: Array
    misfit: float

    @classmethod
    def worst_case(cls, offsets: IntArray, features: Array, misfit: float) -> Question:
        """Ask for the best worst case: the points of an arm are its pairs."""
        n = int(offsets[-1])
        pairs = Rows(np.arange(n + 1), np.arange(n), np.ones(n))
        return cls(np.asarray(offsets), pairs, np.asarray(features, dtype=np.float64), misfit)

    @property
    def n_arms(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_pairs(self) -> int:
        return len(self.features)

    @cached_property
    def basis(self) -> Array:
        """(n_pairs, rank) columns that span what the model allows, orthogonal, of mean square 1."""
        size = np.linalg.norm(self.features, axis=0)
        left, singular, _ = np.linalg.svd(self.features / np.where(size > 0, size, 1.0), False)
        rank = int((singular > RANK * singular[0]).sum())
        return np.asarray(np.ascontiguousarray(left[:, :rank]) * np.sqrt(len(left)))

    def __post_init__(self) -> None:
        points, misfit = self.points, self.misfit
        row = np.repeat(np.arange(len(points.sizes)), points.sizes)
        entries = row * self.n_pairs + points.columns
        if not (misfit >= 0 and np.isfinite(self.features).all() and (points.sizes > 0).all()):
            raise InputError("a question needs a misfit of 0 or more, finite features, and points")
        if self.offsets[-1] != len(points.sizes) or (np.diff(self.offsets) < 1).any():
            raise InputError("every arm needs a point at least")
        if len(np.unique(entries)) != len(entries) or not np.isfinite(points.values).all():
            raise InputError("a point must name a pair once, with a finite weight")
        if np.isfinite(misfit) and not self.features.any():
            raise InputError("a model needs features that are not all 0")
        if np.isinf(misfit) and (points.values < 0).any():
            raise InputError("without a model, points need weights of 0 or more")

    def check(self, claims: Claims) -> None:
        """Refuse what is no claim."""
        ell, x, shares = claims.challenger, claims.arms, claims.shares
        own, rows = claims.points, len(shares.sizes)
        if not 0 <= ell < self.n_arms or (x == ell).any() or not len(x):
            raise InputError(f"arm {ell} cannot challenge arms {x.tolist()!s:.60}: give another")
        if not 0 <= x.min() <= x.max() < self.n_arms:
            raise InputError(f"arms {x.tolist()!s:.60} are tested, but there are {self.n_arms}")
        inside = (self.offsets[ell] <= own) & (own < self.offsets[ell + 1])
        if not len(own) or not inside.all() or len(np.unique(own)) != len(own):
            raise InputError(f"points {own.tolist()!s:.60} are not points of arm {ell}, once each")
        deviation, fits = claims.deviation, claims.deviation.shape in ((), claims.shape)
        if rows not in (len(x), len(own) * len(x)) or not fits or not (deviation >= 0).all():
            raise InputError("claims need a row of shares each, and deviations of 0 or more")
        if self.misfit == 0 and deviation.any():
            raise InputError("a model that is exact leaves no deviation: give 0")
        row = np.repeat(np.arange(rows), shares.sizes)
        arm, rival, share = x[row % len(x)], shares.columns, shares.values
        if ((rival < self.offsets[arm]) | (rival >= self.offsets[arm + 1])).any():
            raise InputError("an arm is compared by points of another arm: give points of its own")
        total = np.bincount(row, share, rows)[row]
        if not (share >= 0).all() or not (np.abs(total - 1) <= ROUGHLY).all():
            raise InputError("shares of an arm's points must be 0 or more, and add up to 1")

    def mixtures(self, claims: Claims) -> Rows:
        """Return the weights on pairs that arms are compared by: shares that add up to 1."""
        shares = claims.shares
        row = np.repeat(np.arange(len(shares.sizes)), shares.sizes)
        total = np.bincount(row, shares.values, len(shares.sizes))[row]
        return shares._replace(values=shares.values / total).through(self.points)


class Contrasts(NamedTuple):
    """What contrasts say, (…, n_own, n_tested) each; zeros where nothing is measured.

    Attributes:
        values: (n_batches, …) a·Ȳ, less the bias that the contrast may have.
        variances: (n_noises, …) Σ a_i² s_i for each row s of noises.
    """

    values: Array
    variances: Array


class Pulled(NamedTuple):
    """The pairs that a phase pulls, as a contrast may use them.

    Attributes:
        pairs: (n_pulled,) their numbers.
        variances: (n_pulled,) of their means, as guessed before the phase.
        centre: (rank,) a guess of θ, from earlier phases: rewards keep the digits of what is new.
    """

    pairs: IntArray
    variances: Array
    centre: Array


def contrasts(
    question: Question, claims: Claims, pulled: Pulled, means: Array, noise: Array
) -> Contrasts:
    """Apply the contrasts of some claims to (n_batches, n_pulled) means and (k, n_pulled) noise."""
    if np.isinf(question.misfit):
        return _direct(question, claims, pulled.pairs, means, noise)
    return _fitted(question, claims, pulled, means, noise)


def _direct(
    question: Question, claims: Claims, pairs: IntArray, means: Array, noise: Array
) -> Contrasts:
    """Take a = c: pairs of two arms differ, so their noises add."""
    own, shares = question.points.take(claims.points), question.mixtures(claims)
    n_tested = len(claims.arms)

    def on_pairs(rows: Array, elsewhere: float) -> Array:
        spread = np.full((question.n_pairs, len(rows)), elsewhere)
        spread[pairs] = rows.T
        return spread

    def sides(own: Rows, shares: Rows, rows: Array) -> tuple[Array, Array]:
        mine, theirs = own.dot(rows).T[:, :, None], shares.dot(rows).T
        return mine, theirs.reshape(len(theirs), -1, n_tested)

    mine, theirs = sides(own, shares, on_pairs(means, 0.0))
    noises = sides(own.squared(), shares.squared(), on_pairs(noise, 0.0))
    unseen = sides(own, shares, on_pairs(np.zeros((1, len(pairs))), 1.0))
    usable = (unseen[0] + unseen[1])[0] + (shares.sizes == 0).reshape(-1, n_tested) == 0
    return Contrasts(np.where(usable, mine - theirs, 0.0), np.where(usable, sum(noises), 0.0))


def _fitted(
    question: Question, claims: Claims, pulled: Pulled, means: Array, noise: Array
) -> Contrasts:
    """Derive a = G P + k∘c, G = (c − k∘c) U, P the least squares with variances s + τ².

    Each pulled pair keeps the share k = τ² / (s + τ²) of its own residual.
    """
    own, shares = question.points.take(claims.points), question.mixtures(claims)
    U, n_tested = question.basis, len(claims.arms)
    row_of = np.arange(claims.shape[0] * n_tested) % len(shares.sizes)
    surprise = means - U[pulled.pairs] @ pulled.centre
    own_U, shares_U = own.dot(U), shares.dot(U)
    typical = np.sqrt(U.shape[1])  # length of a pair's features: mean squares are 1
    sizes = typical * own.absolute(), typical * shares.absolute()
    values, variances = (np.zeros((len(rows), len(row_of))) for rows in (means, noise))
    for deviation, cells in _groups(claims, row_of, len(pulled.pairs)):
        fit = _Fit(U[pulled.pairs], pulled.variances, deviation)
        k, row = cells // n_tested, row_of[cells]
        c = own_U[k] - shares_U[row]
        inside, outside = _on_pulled((own, k), (shares, row), pulled.pairs, question.n_pairs)
        kept = inside * fit.kept
        G = c - kept @ fit.U
        a = G @ fit.P + kept
        bias = (
            question.misfit * (np.abs(a - inside).sum(axis=1) + outside) if question.misfit else 0
        )
        length = np.linalg.norm(c, axis=1)
        measured = np.linalg.norm(G @ fit.gap, axis=1) <= UNMEASURED * length
        usable = measured & (length > SAME * (sizes[0][k] + sizes[1][row]))
        values[:, cells] = np.where(usable, surprise @ a.T + c @ pulled.centre - bias, 0.0)
        variances[:, cells] = np.where(usable, noise @ (a * a).T, 0.0)
    return Contrasts(*(each.reshape(-1, *claims.shape) for each in (values, variances)))


class _Fit:
    """Least squares on pulled pairs.

    Attributes:
        U: (n_pulled, rank) the pulled pairs' features.
        kept: (n_pulled,) the share of its own residual that each pair keeps.
        P: (rank, n_pulled) from means to θ.
        gap: (rank, rank) P U − 1: zero in every direction that is measured.
    """

    def __init__(self, U: Array, variances: Array, deviation: float) -> None:
        bounded = np.isfinite(deviation)
        total = variances + deviation if bounded else np.ones(len(variances))
        self.U, self.kept = U, deviation / total if bounded else total
        left, singular, right = np.linalg.svd(U / np.sqrt(total)[:, None], full_matrices=False)
        rank = int((singular > RANK * singular[0]).sum())
        self.P = (right[:rank].T / singular[:rank]) @ left[:, :rank].T / np.sqrt(total)
        self.gap = self.P @ U - np.eye(U.shape[1])


def _groups(claims: Claims, row_of: IntArray, n_pulled: int) -> Iterator[tuple[float, IntArray]]:
    """Yield blocks of claims that say something and have one deviation."""
    deviation = np.broadcast_to(claims.deviation, claims.shape).ravel()
    speaking = claims.shares.sizes[row_of] > 0
    for tau in np.unique(deviation[speaking]):
        cells = np.flatnonzero(speaking & (deviation == tau))
        yield from (
            (float(tau), block)
            for block in np.array_split(cells, -(-len(cells) * n_pulled // BLOCK))
        )


def _on_pulled(
    own: tuple[Rows, IntArray], shares: tuple[Rows, IntArray], pairs: IntArray, n_pairs: int
) -> tuple[Array, Array]:
    """Return (n_cells, n_pulled) c on pulled pairs, and (n_cells,) the sum of |c| elsewhere."""
    place = np.full(n_pairs, len(pairs))
    place[pairs] = np.arange(len(pairs))
    out = np.zeros((len(own[1]), len(pairs) + 1))
    for sign, (rows, which) in ((1.0, own), (-1.0, shares)):
        taken = rows.take(which)
        cell = np.repeat(np.arange(len(which)), taken.sizes)
        column = place[taken.columns]
        outside = column == len(pairs)
        np.add.at(out, (cell, column), np.where(outside, np.abs(taken.values), sign * taken.values))
    return out[:, :-1], out[:, -1]
