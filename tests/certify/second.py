"""A second proof checker, from the theorem alone: loops over single numbers, no code in common.

A run is plain data, as `random_runs` writes it down: a setting (offsets, points, features, misfit,
noise, scales, times, levels, tolerance) and steps. A step is a phase as it was fixed beforehand
(counts, batches, shared, variances, claims) with its single pulls (pair, reward) in their order.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, NamedTuple

from scipy.special import betainc

LEAST_TAIL = 1e-300
LOWEST = NormalDist().inv_cdf(LEAST_TAIL)
Cell = tuple[int, int, int, int]  # kind of sum (0 plain, 1 eased), challenger, its point, arm


class Proved(NamedTuple):
    """The arms that are left, those shown to be near each challenger, and all walks."""

    survivors: set[int]
    near: dict[int, set[int]]
    walk: list[float]
    eased: dict[int, list[float]]
    settled: int


def solve(matrix: list[list[float]], right: list[float]) -> tuple[list[float], int, float]:
    """Return one solution by elimination, the rank, and by how much the best one must fail."""
    n, rows, pivots = len(right), [[*row, b] for row, b in zip(matrix, right, strict=True)], {}
    least = 1e-10 * max(abs(v) for row in matrix for v in row)
    for column in range(n):
        best = max(set(range(n)) - set(pivots), key=lambda r: abs(rows[r][column]))
        if abs(rows[best][column]) <= least:
            continue
        pivots[best] = column
        for r in set(range(n)) - {best}:
            factor = rows[r][column] / rows[best][column]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[best], strict=True)]
    solution = [0.0] * n
    for r, column in pivots.items():
        solution[column] = rows[r][n] / rows[r][column]
    missed = max((abs(rows[r][n]) for r in range(n) if r not in pivots), default=0.0)
    return solution, len(pivots), missed


def fit(
    Z: list[list[float]], w: dict[int, float], y: list[float]
) -> tuple[list[float], int, float]:
    """Solve (Σ w_i z_i z_iᵀ) θ = y."""
    d = range(len(y))
    return solve([[sum(v * Z[i][r] * Z[i][c] for i, v in w.items()) for c in d] for r in d], y)


def dot(a: list[float], b: list[float]) -> float:
    return sum(u * v for u, v in zip(a, b, strict=True))


class Seen:
    """Rewards of a step in order: the pairs in use, their means, and those of their batches."""

    def __init__(self, setting: Any, step: Any) -> None:
        self.setting, self.counts, m = setting, step.counts, step.batches
        batched = setting.noise in ("batches", "wealth")
        least = m if batched else 1
        used = [i for i, n in enumerate(step.counts) if n >= least]
        mine = {i: [y for pair, y in step.pulls if pair == i] for i in used}
        self.mean = {i: sum(ys) / len(ys) for i, ys in mine.items()}
        self.squares = {i: sum((y - self.mean[i]) ** 2 for y in ys) for i, ys in mine.items()}
        guess = step.variances or [s**2 for s in setting.scales]
        self.variance = {i: guess[i] / step.counts[i] for i in used}
        self.rows = [self.mean]
        if batched:
            size = {i: step.counts[i] // m for i in used}
            self.rows = [
                {i: sum(mine[i][b * q : b * q + q]) / q for i, q in size.items()} for b in range(m)
            ]
        for i in used if setting.noise == "batches" and not step.shared else []:
            centre, full = sum(row[i] for row in self.rows) / m, m * size[i] / step.counts[i]
            for row in self.rows:  # all pulls count: Scheffé's trick
                row[i] = self.mean[i] + math.sqrt(full) * (row[i] - centre)
        self.spread = self._spread() if setting.noise == "equal" else (0.0, 0)

    def _spread(self) -> tuple[float, int]:
        """Return a sum of squares and its degrees of freedom, for scales known up to a factor."""
        scales, Z = self.setting.scales, self.setting.features
        total = sum(v / scales[i] ** 2 for i, v in self.squares.items())
        freedom = sum(self.counts[i] - 1 for i in self.mean)
        if self.setting.misfit:
            return total, freedom
        w = {i: self.counts[i] / scales[i] ** 2 for i in self.mean}
        moments = [sum(w[i] * Z[i][r] * y for i, y in self.mean.items()) for r in range(len(Z[0]))]
        theta, rank, _ = fit(Z, w, moments)
        total += sum(w[i] * (y - dot(Z[i], theta)) ** 2 for i, y in self.mean.items())
        return total, freedom + len(w) - rank

    def weights(self, c: dict[int, float], deviation: float) -> dict[int, float] | None:
        """Return the best unbiased predictor a of c·μ, by its multipliers; None if there is none.

        It minimises Σ a_i² s_i + (a_i − c_i)² τ² subject to Zᵀa = Zᵀc.
        """
        Z = self.setting.features
        if math.isinf(self.setting.misfit):
            return c if all(i in self.mean for i in c) else None
        target = [sum(v * Z[i][r] for i, v in c.items()) for r in range(len(Z[0]))]
        if max(abs(v) for v in target) <= 1e-10:
            return None
        endless = math.isinf(deviation)
        total = {i: 1.0 if endless else s + deviation for i, s in self.variance.items()}
        keep = {i: c.get(i, 0.0) * (1.0 if endless else deviation / v) for i, v in total.items()}
        left = [t - sum(v * Z[i][r] for i, v in keep.items()) for r, t in enumerate(target)]
        multipliers, _, missed = fit(Z, {i: 1 / v for i, v in total.items()}, left)
        if missed > 1e-8:
            return None
        return {i: keep[i] + dot(Z[i], multipliers) / v for i, v in total.items()}


def student(t: float, freedom: int) -> float:
    """Return the normal score of Student's t."""
    tail = 0.5 * float(betainc(freedom / 2, 0.5, freedom / (freedom + t * t)))
    return math.copysign(NormalDist().inv_cdf(max(tail, LEAST_TAIL)), t) if t else 0.0


def wealth(values: list[float], shift: float, loss: float, stake: tuple[float, ...]) -> float:
    """Return the logarithm of a gambler's wealth after these batches."""
    (mean, doubt, variance, aim), before, total = stake, 0.0, 0.0
    for number, value in enumerate(values):
        hope = (variance / doubt**2 * mean + before) / (variance / doubt**2 + number + 12) + aim
        bet = min(max(hope / (variance + hope**2), 0.0), 0.8 / loss)
        before, total = before + value, total + math.log1p(bet * (value + shift))
    return total


def score(seen: Seen, claim: Any, k: int, j: int, shift: float) -> float:
    """Return the score of one claim, `shift` added to its contrast."""
    setting, c = seen.setting, dict(seen.setting.points[claim.points[k]])
    for point, share in claim.shares[k][j].items():
        for i, v in setting.points[point].items():
            c[i] = c.get(i, 0.0) - share * v
    a = seen.weights(c, claim.deviation[k][j]) if claim.shares[k][j] else None
    if a is None:
        return 0.0
    far = sum(abs(a.get(i, 0.0) - c.get(i, 0.0)) for i in {*a, *c})
    bias = setting.misfit * far if math.isfinite(setting.misfit) else 0.0
    values = [sum(v * row[i] for i, v in a.items()) - bias for row in seen.rows]
    if setting.noise == "wealth":
        return wealth(values, shift, 2 * max(setting.scales), (*claim.stakes[k][j], claim.aim))
    m, value = len(values), sum(values) / len(values) + shift
    if setting.noise == "batches":
        error = math.sqrt(sum((v + shift - value) ** 2 for v in values) / (m - 1) / m)
        if error <= 1e-12 * max(abs(v) for v in values):
            return LOWEST if value < 0 else 0.0
        return student(value / error, m - 1)
    error = math.sqrt(sum((v * setting.scales[i]) ** 2 / seen.counts[i] for i, v in a.items()))
    if setting.noise == "scale":
        return value / error
    squares, freedom = seen.spread
    if not squares or not freedom:
        return LOWEST if value < 0 else 0.0
    return student(value / (error * math.sqrt(squares / freedom)), freedom)


class Evidence:
    """Sums of scores, exact and lowered, and the cells that are settled."""

    def __init__(self, setting: Any) -> None:
        self.setting, self.arms = setting, range(len(setting.offsets) - 1)
        self.exact: dict[Cell, float] = {}
        self.sums: dict[Cell, float] = {}
        self.settled: set[Cell] = set()
        self.clock, self.survivors = dict.fromkeys(self.arms, -1), set(self.arms)
        self.near: dict[int, set[int]] = {}
        self.challengers: list[int] = []
        self.shifts = [0.0, setting.tolerance] if setting.tolerance > 0 else [0.0]

    def count(self, seen: Seen, claim: Any) -> None:
        """Add the scores of one challenger's claims."""
        times, ell = self.setting.times, claim.challenger
        self.challengers += [ell] if ell not in self.challengers else []
        for j, arm in enumerate(claim.arms):
            begun = times[self.clock[arm]] if self.clock[arm] >= 0 else 0.0
            w = 1.0 if self.setting.noise == "wealth" else times[claim.clocks[j]] - begun
            self.clock[arm] = claim.clocks[j]
            for k, point in enumerate(claim.points):
                for kind, shift in enumerate(self.shifts):
                    cell, new = (kind, ell, point, arm), score(seen, claim, k, j, shift)
                    exact = self.exact[cell] = self.exact.get(cell, 0.0) + math.sqrt(w) * new
                    cap = claim.caps[kind][k][j] if claim.caps else math.nan
                    self.sums[cell] = cap if cap < exact else exact

    def open(self, kind: int, ell: int, arm: int) -> dict[Cell, float]:
        """Return the sums of a challenger's points that are not settled."""
        own = range(self.setting.offsets[ell], self.setting.offsets[ell + 1])
        cells = {(kind, ell, point, arm) for point in own} - self.settled
        return {cell: self.sums.get(cell, 0.0) for cell in cells}

    def walk(self, arm: int, eased: int = -1, without: int = -1) -> float:
        """Return W(x), eased in favour of one challenger, or without another."""
        ells = [ell for ell in self.challengers if ell != without]
        return sum(min(self.open(int(ell == eased), ell, arm).values()) for ell in ells)

    def crossed(self, arm: int, walk: float) -> bool:
        return self.clock[arm] >= 0 and walk >= self.setting.levels[self.clock[arm]]

    def look(self) -> None:
        """Eliminate arms, then settle points, unless that would leave a challenger none."""
        self.survivors -= {x for x in self.arms if self.crossed(x, self.walk(x))}
        for ell in self.challengers if len(self.shifts) > 1 else []:
            near = {x for x in self.arms if self.crossed(x, self.walk(x, eased=ell))}
            self.near[ell] = self.near.get(ell, set()) | near
        for kind in range(len(self.shifts)):
            for ell in self.challengers:
                for x in self.arms:
                    cells, others = self.open(kind, ell, x), self.walk(x, without=ell)
                    reached = {cell for cell, v in cells.items() if self.crossed(x, others + v)}
                    self.settled |= reached if len(reached) < len(cells) else set()


def check(setting: Any, steps: list[Any]) -> list[Proved]:
    """Return what is proved after each step."""
    evidence, proved = Evidence(setting), []
    for step in steps:
        seen = Seen(setting, step)
        for claim in step.claims:
            evidence.count(seen, claim)
        if step.claims:
            evidence.look()
        near = {ell: set(arms) for ell, arms in evidence.near.items()}
        walk = [evidence.walk(x) for x in evidence.arms]
        eased = {ell: [evidence.walk(x, ell) for x in evidence.arms] for ell in near}
        proved.append(Proved(set(evidence.survivors), near, walk, eased, len(evidence.settled)))
    return proved
