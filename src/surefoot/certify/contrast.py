"""Points, trust, and contrasts that cannot overstate a lead.

Pairs i are pulled and have mean rewards μ_i. Points q, weights on pairs, are compared: an arm's
value is the least q·μ of its points. A point that weighs no pair is the constant 0, known without
a pull: an arm of such a point may challenge others, and is never tested. The claim "point z' beats
arm x" is held against shares p of x's points. With c = z' − Σ p_j q_j, the value of x is at most
Σ p_j q_j·μ; so if x is the best arm and z' the true worst point of its own, c·μ ≤ 0.

What is trusted is μ = Zθ + η with |η_i| ≤ ε. A contrast a on pulled pairs is admissible if
Zᵀ(a − c) = 0, or a = c where ε = ∞: then a·μ − ε‖a − c‖₁ ≤ c·μ. Weights a are derived here, from
shares, a deviation τ² and guessed variances; nobody hands them in.

Where an arm is the least of too many mixtures to list them, its points are its pairs, and q runs
over all Σ q_j z_j with 0 ≤ q ≤ most, Σ q = 1. Shares p must be such a mixture. All contrasts of an
arm's points with p are divided by one deviation, at least that of q − p for any q: so they add up
to a score of q, and the least one is found by a sort.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.arrays import Array, IntArray, fixed, fixed_integers
from surefoot.errors import InputError

RANK = 1e-11  # singular values below this share of the largest are zero
DEPENDENT = 1e-14  # the share, for one row, that is more than rounding
UNMEASURED = 1e-12  # share of a claim that pulled pairs may leave unexplained: rounding
ROUNDING = 1e-9  # by which a mixture may hold more of a point than it may
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

    @property
    def row(self) -> IntArray:
        """(n_entries,) the row of each entry."""
        return np.repeat(np.arange(len(self.starts) - 1), self.sizes)

    def fixed(self, n_columns: int) -> Rows:
        """Return a validated, immutable copy of the rows."""
        starts, columns = map(fixed_integers, (self.starts, self.columns))
        values = fixed(self.values)
        ordered = len(starts) and not starts[0] and (np.diff(starts) >= 0).all()
        if not ordered or not (starts[-1],) == columns.shape == values.shape:
            raise InputError("rows need starts from 0 on, and a column and a value for each entry")
        if not ((columns >= 0) & (columns < n_columns)).all():
            raise InputError(f"rows name columns from 0 to {n_columns - 1}, and no others")
        rows = Rows(starts, columns, values)
        if len(np.unique(rows.row * n_columns + columns)) < len(columns):
            raise InputError("a row names a column once: add its values up")
        return rows

    def totals(self, entries: Array) -> Array:
        """Return (n_rows,) the sums of numbers that stand for the entries."""
        return np.asarray(np.bincount(self.row, entries, len(self.starts) - 1), dtype=np.float64)

    def take(self, rows: IntArray) -> Rows:
        """Return some of the rows, in the order asked for."""
        sizes = self.sizes[rows]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], sizes)
        return Rows(starts, self.columns[places], self.values[places])

    def through(self, points: Rows) -> Rows:
        """Return the product with the rows that this one's columns name, entries merged."""
        inner, width = points.take(self.columns), int(points.columns.max(initial=0)) + 1
        row, values = self.row.repeat(inner.sizes), self.values.repeat(inner.sizes) * inner.values
        keys, place = np.unique(row * width + inner.columns, return_inverse=True)
        starts = np.searchsorted(keys, np.arange(len(self.starts)) * width)
        return Rows(starts, keys % width, np.bincount(place, values, len(keys)).astype(np.float64))

    def dot(self, matrix: Array, power: int = 1) -> Array:
        """Return (n_rows, k) the product of entries to a power with an (n_columns, k) matrix."""
        out, filled = np.zeros((len(self.sizes), matrix.shape[1])), np.flatnonzero(self.sizes)
        if len(filled):
            entries = self.values[:, None] ** power * matrix[self.columns]
            out[filled] = np.add.reduceat(entries, self.starts[filled], axis=0)
        return out

    def on(self, place: IntArray, width: int) -> Array:
        """Return (n_rows, width + 1) entries at their columns' places; `width` adds up sizes."""
        out, column = np.zeros((len(self.sizes), width + 1)), place[self.columns]
        sizes = np.where(column == width, np.abs(self.values), self.values)
        np.add.at(out, (self.row, column), sizes)
        return out


def lowest(values: Array, most: Array) -> Array:
    """Return (…, n) the mixture q ≤ most, Σ q = 1, at which Σ q v is least, for (…, n) values."""
    order, mixture = np.argsort(values, axis=-1, kind="stable"), np.zeros_like(values)
    room = most[order]
    taken = np.clip(1.0 - (np.cumsum(room, axis=-1) - room), 0.0, room)
    np.put_along_axis(mixture, order, taken, axis=-1)
    return mixture


class Stakes(NamedTuple):
    """Guesses, made before a phase, from which bets on its batches follow.

    Attributes:
        means: (n_own, n_tested) expected contrasts.
        doubts: (n_own, n_tested) standard deviations of these expectations.
        variances: (n_own, n_tested) of a single batch's contrast.
        aim: added to the expected contrast when a stake is chosen.
    """

    means: Array
    doubts: Array
    variances: Array
    aim: float

    def fixed(self, shape: tuple[int, int]) -> Stakes:
        """Return a validated, immutable copy of the guesses."""
        means, doubts, variances = copies = tuple(map(fixed, self[:3]))
        fit = all(each.shape in (shape, ()) and np.isfinite(each).all() for each in copies)
        if not fit or (variances < 0).any() or not np.isfinite(self.aim):
            raise InputError("claims need finite guesses that stakes follow from, one for each")
        return Stakes(means, doubts, variances, float(self.aim))


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

    def fixed(self, n_points: int) -> Claims:
        """Return an immutable copy of the claims."""
        points, arms, clocks = map(fixed_integers, (self.points, self.arms, self.clocks))
        stakes = self.stakes and self.stakes.fixed(self.shape)
        shares, deviation = self.shares.fixed(n_points), fixed(self.deviation)
        return Claims(int(self.challenger), points, arms, clocks, shares, deviation, stakes)


@dataclass(frozen=True, eq=False)
class Question:
    """The arms that are compared, and the means that are trusted.

    Attributes:
        offsets: (n_arms + 1,) where the points of each arm begin.
        points: (n_points) rows of weights on pairs.
        features: (n_pairs, dimension) Z; unused where ε = ∞.
        misfit: ε.
        most: (n_points,) if arms are the least of mixtures of their points: the largest share of
            each.
    """

    offsets: IntArray
    points: Rows
    features: Array
    misfit: float
    most: Array | None = None

    @classmethod
    def worst_case(cls, offsets: IntArray, features: Array, misfit: float) -> Question:
        """Ask for the best worst case: the points of an arm are its pairs."""
        n = int(offsets[-1])
        pairs = Rows(np.arange(n + 1), np.arange(n), np.ones(n))
        return cls(np.asarray(offsets), pairs, np.asarray(features, dtype=np.float64), misfit)

    def beside_zero(self) -> Question:
        """Return the question with one more arm, the last: the constant 0."""
        starts = np.append(self.points.starts, self.points.starts[-1])
        offsets = np.append(self.offsets, self.offsets[-1] + 1)
        return replace(self, offsets=offsets, points=self.points._replace(starts=starts))

    def each_point(self) -> Question:
        """Return the question in which every point is an arm of its own."""
        return replace(self, offsets=np.arange(self.offsets[-1] + 1))

    @property
    def n_arms(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_pairs(self) -> int:
        return len(self.features)

    @property
    def averages(self) -> bool:
        """True where points are weighted means of pairs, and no model is trusted."""
        total = self.points.totals(self.points.values)[self.points.sizes > 0]
        return bool(np.isinf(self.misfit) and (np.abs(total - 1) <= SAME).all())

    @cached_property
    def basis(self) -> Array:
        """(n_pairs, rank) columns that span the model's means, orthogonal, of mean square 1."""
        largest = np.frexp(np.abs(self.features).max(axis=0))[1]
        features = np.ldexp(self.features, -largest)  # squares of any unit are finite, and not 0
        size = np.linalg.norm(features, axis=0)
        left, singular, _ = np.linalg.svd(features / np.where(size > 0, size, 1.0), False)
        share = singular / singular[0]
        rank = int((share > RANK).sum())
        if (share[rank:] > DEPENDENT * np.sqrt(len(left))).any():
            raise InputError("columns of features nearly depend on each other: centre them first")
        return np.asarray(np.ascontiguousarray(left[:, :rank]) * np.sqrt(len(left)))

    def __post_init__(self) -> None:
        points, model = self.points.fixed(self.n_pairs), np.isfinite(self.misfit)
        copies = {"features": fixed(self.features), "misfit": float(self.misfit)}
        vars(self).update(copies, points=points, offsets=fixed_integers(self.offsets))
        if not (self.misfit >= 0 and np.isfinite(self.features).all() and points.sizes.any()):
            raise InputError("a question needs a misfit of 0 or more, finite features, and points")
        ends = self.offsets[[0, -1]].tolist()
        if ends != [0, len(points.sizes)] or (np.diff(self.offsets) < 1).any():
            raise InputError("every arm needs a point at least")
        if not np.isfinite(points.values).all():
            raise InputError("a point needs finite weights")
        if not self.features.any() if model else (points.values < 0).any():
            raise InputError("a model needs features that are not all 0, no model weights above 0")
        if model:
            _ = self.basis  # refuses what could not be told from rounding later
        if self.most is not None:
            most, pairs = fixed(self.most), points.columns
            vars(self)["most"] = most
            alone = (points.sizes == 1).all() and (points.values == 1).all()
            if model or not alone or len(np.unique(pairs)) != len(pairs):
                raise InputError("mixtures of points are of pairs themselves, without a model")
            fit = most.shape == pairs.shape and ((most > 0) & (most <= 1)).all()
            if not fit or (np.add.reduceat(most, self.offsets[:-1]) < 1 - ROUNDING).any():
                raise InputError("mixtures need the most of each point, up to 1, and 1 in all")

    def check(self, claims: Claims) -> None:
        """Refuse invalid claims."""
        ell, x, own, shares = claims.challenger, claims.arms, claims.points, claims.shares
        if not 0 <= ell < self.n_arms or (x == ell).any() or not len(x):
            raise InputError(f"arm {ell} cannot challenge arms {x.tolist()!s:.60}: give another")
        if not 0 <= x.min() <= x.max() < self.n_arms:
            raise InputError(f"arms {x.tolist()!s:.60} are tested, but there are {self.n_arms}")
        inside = (self.offsets[ell] <= own) & (own < self.offsets[ell + 1])
        if not len(own) or not inside.all() or len(np.unique(own)) != len(own):
            raise InputError(f"points {own.tolist()!s:.60} are not points of arm {ell}, once each")
        rows, fits = len(shares.sizes), claims.deviation.shape in ((), claims.shape)
        if rows not in (len(x), len(own) * len(x)) or not fits or not (claims.deviation >= 0).all():
            raise InputError("claims need a row of shares each, and deviations of 0 or more")
        if self.misfit == 0 and claims.deviation.any():
            raise InputError("a model that is exact leaves no deviation: give 0")
        arm, rival = x[shares.row % len(x)], shares.columns
        if ((rival < self.offsets[arm]) | (rival >= self.offsets[arm + 1])).any():
            raise InputError("an arm is compared by points of another arm: give points of its own")
        if not self.points.sizes[rival].all():
            raise InputError("a constant is known: it can challenge arms, and is never tested")
        mine, theirs = (self.points.take(rows).columns for rows in (own, np.unique(rival)))
        if np.isinf(self.misfit) and np.isin(mine, theirs).any():
            raise InputError("without a model arms are compared that have no pair in common")
        total = shares.totals(shares.values)[shares.row]
        if not (shares.values >= 0).all() or not (np.abs(total - 1) <= ROUGHLY).all():
            raise InputError("shares of an arm's points must be 0 or more, and add up to 1")
        if self.most is not None:
            whole = len(own) == self.offsets[ell + 1] - self.offsets[ell] and rows == len(x)
            if not whole or (shares.values / total > self.most[rival] + ROUNDING).any():
                raise InputError("mixtures take claims of all points, by one allowed for each arm")

    def sides(self, claims: Claims) -> tuple[Rows, Rows]:
        """Return weights on pairs: of the challenger's points, and of the tested arms' mixtures."""
        own, shares = self.points.take(claims.points), claims.shares
        scaled = shares.values / shares.totals(shares.values)[shares.row]
        return own, shares._replace(values=scaled).through(self.points)


class Spread(NamedTuple):
    """One unknown scale as a phase shows it: a sum of squares and its degrees of freedom."""

    squares: float
    freedom: int
    least: float = 0.0


class Contrasts(NamedTuple):
    """The values of contrasts, (…, n_own, n_tested) each; zeros where nothing is measured.

    Attributes:
        values: (n_batches, …) a·Ȳ, less the bias that the contrast may have.
        variances: (n_noises, …) Σ a_i² s_i for each row s of noises.
        spread: of one unknown scale.
        stakes: for bets.
        varied: whether no batches of a pair that it rests on repeat each other.
        size: root sum of squares of the terms; rounding is a share of it.
    """

    values: Array
    variances: Array
    spread: Spread | None = None
    stakes: Stakes | None = None
    varied: NDArray[np.bool_] | bool = False
    size: Array | float = 0.0


class Pulled(NamedTuple):
    """The pairs that a phase pulls, as a contrast may use them.

    Attributes:
        pairs: (n_pulled,) their numbers.
        variances: (n_pulled,) of their means, as guessed before the phase.
        centre: (rank,) a guess of θ, from earlier phases: it is subtracted from rewards, so that
            they keep their digits.
    """

    pairs: IntArray
    variances: Array
    centre: Array


def contrasts(
    question: Question, claims: Claims, pulled: Pulled, means: Array, noise: Array
) -> Contrasts:
    """Apply the contrasts of some claims to (n_batches, n_pulled) means and (k, n_pulled) noise."""
    apply = _direct if np.isinf(question.misfit) else _fitted
    return apply(question, claims, pulled, means, noise)


def _direct(
    question: Question, claims: Claims, pulled: Pulled, means: Array, noise: Array
) -> Contrasts:
    """Take a = c: pairs of two arms differ, so their noises add."""
    own, shares = question.sides(claims)
    of_pairs = np.zeros((question.n_pairs, len(means) + 1 + len(noise)))
    of_pairs[:, len(means)] = 1.0  # where a pair is not pulled
    of_pairs[pulled.pairs] = np.vstack([means, np.zeros_like(means[:1]), noise]).T
    said, unseen, noise = np.split(of_pairs, [len(means), len(means) + 1], axis=1)

    def each(matrix: Array, power: int = 1) -> tuple[Array, Array]:
        mine, theirs = own.dot(matrix, power).T, shares.dot(matrix, power).T
        return mine[:, :, None], theirs.reshape(len(theirs), -1, len(claims.arms))

    (mine, theirs), outside, noises = each(said), each(unseen), each(noise, 2)
    usable = (outside[0] + outside[1])[0] + (shares.sizes == 0).reshape(-1, len(claims.arms)) == 0
    if question.most is not None:  # one deviation for all mixtures of the challenger's points
        most = question.most[claims.points]
        parts = most * noises[0][..., 0]  # Σ q² s ≤ Σ q · most · s
        largest = (lowest(-parts, most) * parts).sum(axis=-1)[:, None, None]
        noises, usable = (largest, noises[1]), np.broadcast_to(usable.all(axis=0), usable.shape)
    variances = np.where(usable, noises[0] + noises[1], 0.0)
    return Contrasts(np.where(usable, mine - theirs, 0.0), variances)


def _fitted(
    question: Question, claims: Claims, pulled: Pulled, means: Array, noise: Array
) -> Contrasts:
    """Derive a = G P + k∘c, G = (c − k∘c) U, P the least squares with variances s + τ².

    Each pulled pair keeps the share k = τ² / (s + τ²) of its own residual.
    """
    (own, shares), U, n = question.sides(claims), question.basis, len(pulled.pairs)
    row_of = np.arange(np.prod(claims.shape)) % len(shares.sizes)
    place = np.full(question.n_pairs, n)
    place[pulled.pairs] = np.arange(n)
    surprise = means - U[pulled.pairs] @ pulled.centre
    own_U, shares_U = own.dot(U), shares.dot(U)
    typical = np.sqrt(U.shape[1])  # length of a pair's features: mean squares are 1
    sizes = [typical * side.totals(np.abs(side.values)) for side in (own, shares)]
    values, variances = (np.zeros((len(rows), len(row_of))) for rows in (means, noise))
    for deviation, cells in _groups(claims, row_of, n):
        kept_share, P = _fit(U[pulled.pairs], pulled.variances, deviation)
        left = np.eye(U.shape[1]) - P @ U[pulled.pairs]
        k, row = cells // len(claims.arms), row_of[cells]
        mine, theirs = own.take(k).on(place, n), shares.take(row).on(place, n)
        c, inside, outside = own_U[k] - shares_U[row], (mine - theirs)[:, :n], (mine + theirs)[:, n]
        kept = inside * kept_share
        G = c - kept @ U[pulled.pairs]
        gap = G @ left  # zero in directions that are measured, up to rounding
        a = (G + gap) @ P + kept
        gap = gap @ left  # the remainder
        stray = np.abs(a - inside).sum(axis=1) + outside
        length = np.linalg.norm(c, axis=1)
        usable = (np.linalg.norm(gap, axis=1) <= UNMEASURED * length) & (
            length > SAME * (sizes[0][k] + sizes[1][row])
        )
        found = surprise @ a.T + c @ pulled.centre - question.misfit * stray
        values[:, cells] = np.where(usable, found, 0.0)
        variances[:, cells] = np.where(usable, noise @ (a * a).T, 0.0)
    shape = (-1, *claims.shape)
    return Contrasts(values.reshape(shape), variances.reshape(shape))


def _fit(U: Array, variances: Array, deviation: float) -> tuple[Array, Array]:
    """Return (n_pulled,) shares k, and (rank, n_pulled) P from means to θ."""
    bounded = np.isfinite(deviation)
    total = variances + deviation if bounded else np.ones(len(variances))
    left, singular, right = np.linalg.svd(U / np.sqrt(total)[:, None], full_matrices=False)
    rank = int((singular > RANK * singular.max(initial=0.0)).sum())
    P = (right[:rank].T / singular[:rank]) @ left[:, :rank].T / np.sqrt(total)
    return deviation / total if bounded else total, P


def _groups(claims: Claims, row_of: IntArray, n_pulled: int) -> Iterator[tuple[float, IntArray]]:
    """Yield blocks of claims that say something and have one deviation."""
    deviation = np.broadcast_to(claims.deviation, claims.shape).ravel()
    speaking = claims.shares.sizes[row_of] > 0
    for tau in np.unique(deviation[speaking]).tolist():
        cells = np.flatnonzero(speaking & (deviation == tau))
        for block in np.array_split(cells, 1 + len(cells) * n_pulled // BLOCK):
            yield tau, block
