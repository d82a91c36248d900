"""A second proof checker, from the theorem alone: loops over single numbers, no code in common."""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import sub
from statistics import NormalDist

from scipy.special import betainc

from tests.certify.random_runs import Claim, Setting, Step

Cell = tuple[int, int, int, int]  # kind of sum (0 plain, 1 eased), challenger, its point, arm
Weights = dict[int, float]


def fit(Z: list[list[float]], w: Weights, y: list[float]) -> tuple[list[float], int, float]:
    """Solve (Σ w_i z_i z_iᵀ) θ = y by elimination: a solution, the rank, and what it must miss."""
    n, pivots = len(y), dict[int, int]()
    rows = [[sum(v * Z[i][r] * Z[i][c] for i, v in w.items()) for c in range(n)] for r in range(n)]
    least = 1e-10 * max(abs(v) for row in rows for v in row)
    rows = [[*row, b] for row, b in zip(rows, y, strict=True)]
    for column in range(n):
        best = max(set(range(n)) - set(pivots), key=lambda r: abs(rows[r][column]))
        if abs(rows[best][column]) > least:
            pivots[best] = column
            for r in set(range(n)) - {best}:
                factor = rows[r][column] / rows[best][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[best], strict=True)]
    values = {column: rows[r][n] / rows[r][column] for r, column in pivots.items()}
    missed = max((abs(rows[r][n]) for r in range(n) if r not in pivots), default=0.0)
    return [values.get(column, 0.0) for column in range(n)], len(pivots), missed


def through(Z: list[list[float]], weights: Weights) -> list[float]:
    """Return Zᵀ times weights on pairs."""
    return [sum(v * Z[i][r] for i, v in weights.items()) for r in range(len(Z[0]))]


def near(values: list[float]) -> float:
    """Return a difference that is rounding for numbers of this size."""
    return 1e-12 * max(map(abs, values))


def least(values: list[float], most: list[float]) -> float:
    """Return the least Σ q v with q at most `most` and Σ q = 1."""
    total, left = 0.0, 1.0
    for value, room in sorted(zip(values, most, strict=True)):
        total, left = total + value * min(room, left), left - min(room, left)
    return total


class Seen:
    """Rewards of a step in order: the pairs in use, their means, and those of their batches."""

    def __init__(self, setting: Setting, step: Step) -> None:
        self.setting, self.counts, m = setting, step.counts, step.batches
        batched = setting.noise in ("batches", "wealth")
        used = [i for i, n in enumerate(step.counts) if n >= (m if batched else 1)]
        mine = {i: [y for pair, y in step.pulls if pair == i] for i in used}
        self.mean = {i: sum(ys) / len(ys) for i, ys in mine.items()}
        self.squares = {i: sum((y - self.mean[i]) ** 2 for y in ys) for i, ys in mine.items()}
        guess = step.variances or [s**2 for s in setting.scales]
        self.variance = {i: guess[i] / step.counts[i] for i in used}
        self.rows = [self.mean]
        if batched:
            size = {i: step.counts[i] // m for i in used}
            batch = [{i: mine[i][b * q : b * q + q] for i, q in size.items()} for b in range(m)]
            self.rows = [{i: sum(ys) / len(ys) for i, ys in each.items()} for each in batch]
        sorted_ = {i: sorted(row[i] for row in self.rows) for i in used}
        self.repeats = {
            i for i, ys in sorted_.items() if min(map(sub, ys[1:], ys), default=0) <= near(ys)
        }
        for i in used if setting.noise == "batches" and not step.shared else []:
            centre, full = sum(row[i] for row in self.rows) / m, m * size[i] / step.counts[i]
            for row in self.rows:  # all pulls count: Scheffé's trick
                row[i] = self.mean[i] + math.sqrt(full) * (row[i] - centre)
        self.spread = self._spread() if setting.noise == "equal" else (1.0, 1)

    def _spread(self) -> tuple[float, int]:
        """Return a sum of squares and its degrees of freedom."""
        scales, Z = self.setting.scales, self.setting.features
        total = sum(v / scales[i] ** 2 for i, v in self.squares.items())
        freedom = sum(self.counts[i] - 1 for i in self.mean)
        if self.setting.misfit:
            return total, freedom
        w = {i: self.counts[i] / scales[i] ** 2 for i in self.mean}
        theta, rank, _ = fit(Z, w, through(Z, {i: w[i] * y for i, y in self.mean.items()}))
        for i, y in self.mean.items():
            total += w[i] * (y - sum(z * t for z, t in zip(Z[i], theta, strict=True))) ** 2
        return total, freedom + len(w) - rank

    def weights(self, c: Weights, tau: float) -> Weights | None:
        """Return a that minimises Σ a_i² s_i + (a_i − c_i)² τ² subject to Zᵀa = Zᵀc, if any."""
        if math.isinf(self.setting.misfit):
            return c if all(i in self.mean for i in c) else None
        Z, endless = self.setting.features, math.isinf(tau)
        target = through(Z, c)
        if max(map(abs, target)) <= 1e-10:  # one point, as far as the model tells
            return None
        total = {i: 1.0 if endless else s + tau for i, s in self.variance.items()}
        keep = {i: c.get(i, 0.0) * (1.0 if endless else tau / v) for i, v in total.items()}
        left = [t - kept for t, kept in zip(target, through(Z, keep), strict=True)]
        rates, _, missed = fit(Z, {i: 1 / v for i, v in total.items()}, left)
        added = {i: sum(z * r for z, r in zip(Z[i], rates, strict=True)) / total[i] for i in total}
        return {i: keep[i] + v for i, v in added.items()} if missed <= 1e-8 else None


def student(t: float, freedom: int) -> float:
    """Return the normal score of Student's t."""
    tail = 0.5 * float(betainc(freedom / 2, 0.5, freedom / (freedom + t * t)))
    return math.copysign(NormalDist().inv_cdf(max(tail, 1e-300)), t) if t else 0.0


def wealth(values: list[float], shift: float, loss: float, stake: tuple[float, ...]) -> float:
    """Return the logarithm of a gambler's wealth after these batches."""
    (mean, doubt, variance, aim), total = stake, 0.0
    for k, value in enumerate(values):
        hope = (variance / doubt**2 * mean + sum(values[:k])) / (variance / doubt**2 + k + 12) + aim
        bet = min(max(hope / (variance + hope**2), 0.0), 0.8 / loss)
        total += math.log1p(bet * (value + shift))
    return total


def score(seen: Seen, claim: Claim, k: int, j: int, shift: float) -> float:
    """Return the score of one claim, `shift` added to its contrast."""
    setting, c = seen.setting, dict(seen.setting.points[claim.points[k]])
    for point, share in claim.shares[k][j].items():
        for i, v in setting.points[point].items():
            c[i] = c.get(i, 0.0) - share * v
    a = seen.weights(c, claim.deviation[k][j]) if claim.shares[k][j] else None
    if a is None:
        return 0.0
    bias = sum(setting.misfit * abs(d) for i in {*a, *c} if (d := a.get(i, 0.0) - c.get(i, 0.0)))
    values = [sum(v * row[i] for i, v in a.items()) - bias for row in seen.rows]
    if setting.noise == "wealth":
        return wealth(values, shift, 2 * max(setting.scales), (*claim.stakes[k][j], claim.aim))
    m, value = len(values), sum(values) / len(values) + shift
    if setting.noise == "batches":
        error = math.sqrt(sum((v + shift - value) ** 2 for v in values) / (m - 1) / m)
        parts = math.hypot(*(v * max(abs(row[i]) for row in seen.rows) for i, v in a.items()))
        if error * math.sqrt(m) <= max(near(values), 1e-13 * parts):  # it cancelled, or is coarse
            coarse = any(v and i in seen.repeats for i, v in a.items())
            error = max(near(values), 1e-12 * parts) / math.sqrt(m)
            error = error if value > 0 and not coarse else 0.0
        freedom = m - 1
    else:
        squares, freedom = seen.spread
        each = {i: setting.scales[i] ** 2 / n for i, n in enumerate(seen.counts) if n}
        noise = [v * v * each[i] for i, v in a.items()]
        if setting.most:  # as noisy as any mixture of the challenger's points with the rival's
            own = range(*setting.offsets[claim.challenger : claim.challenger + 2])
            pairs, most = (
                [next(iter(setting.points[z])) for z in own],
                [setting.most[z] for z in own],
            )
            if not all(i in each for i in pairs):
                return 0.0
            noise = [v * v * each[i] for i, v in a.items() if i not in pairs]
            parts = [-c * each[i] for c, i in zip(most, pairs, strict=True)]
            noise.append(-least(parts, most))
        error = math.sqrt(sum(noise) * (squares / max(freedom, 1)))
    if not error:
        return NormalDist().inv_cdf(1e-300) if value < 0 else 0.0
    return value / error if setting.noise == "scale" else student(value / error, freedom)


class Evidence:
    """Sums of scores, exact and lowered, and the cells that are settled."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.arms = setting, range(len(setting.offsets) - 1)
        self.exact, self.sums, self.settled = dict[Cell, float](), dict[Cell, float](), set[Cell]()
        self.near = dict[int, set[int]]()  # of all challengers
        self.clock, self.survivors = dict.fromkeys(self.arms, -1), set(self.arms)
        self.start = dict[int, int]()
        self.shifts = [0.0, setting.tolerance] if setting.tolerance > 0 else [0.0]

    def count(self, seen: Seen, claim: Claim) -> None:
        """Add the scores of one challenger's claims."""
        times, ell = self.setting.times, claim.challenger
        self.near.setdefault(ell, set())
        for j, arm in enumerate(claim.arms):
            begun = times[self.clock[arm]] if self.clock[arm] >= 0 else 0.0
            now = self.clock[arm] = claim.clocks[j]
            w = 1.0 if self.setting.noise == "wealth" else times[now] - begun
            self.start.setdefault(arm, now)
            if not w:  # in question again
                self.survivors.add(arm)
                for near in self.near.values():
                    near.discard(arm)
            for k, point in enumerate(claim.points):
                for kind, shift in enumerate(self.shifts):
                    cell, new = (kind, ell, point, arm), score(seen, claim, k, j, shift)
                    exact = self.exact[cell] = self.exact.get(cell, 0.0) + math.sqrt(w) * new
                    cap = claim.caps[kind][k][j] if claim.caps else math.nan
                    before = self.sums.get(cell, 0.0)
                    self.sums[cell] = cap if cap < exact else exact
                    if not w and self.sums[cell] < before:
                        self.settled.discard(cell)

    def open(self, kind: int, ell: int, arm: int) -> dict[Cell, float]:
        """Return the sums of a challenger's points that are not settled."""
        own = range(*self.setting.offsets[ell : ell + 2])
        cells = {(kind, ell, point, arm) for point in own} - self.settled
        return {cell: self.sums.get(cell, 0.0) for cell in cells}

    def walk(self, arm: int, eased: int = -1, without: int = -1) -> float:
        """Return W(x), eased in favour of one challenger, or without another."""
        ells = [ell for ell in self.near if ell != without]
        return sum(self.part(int(ell == eased), ell, arm) for ell in ells)

    def part(self, kind: int, ell: int, arm: int) -> float:
        """Return what a challenger adds to a walk."""
        sums, own = self.open(kind, ell, arm), slice(*self.setting.offsets[ell : ell + 2])
        if not self.setting.most:
            return min(sums.values())
        return least([sums[cell] for cell in sorted(sums)], self.setting.most[own])

    def crossed(self, x: int, walk: float) -> bool:
        return x in self.start and walk >= self.setting.levels[self.start[x]][self.clock[x]]

    def look(self) -> None:
        """Eliminate arms, then settle points, unless that would leave a challenger none."""
        self.survivors -= {x for x in self.arms if self.crossed(x, self.walk(x))}
        for ell, near in self.near.items() if len(self.shifts) > 1 else ():
            near |= {x for x in self.arms if self.crossed(x, self.walk(x, eased=ell))}
        every = [] if self.setting.most else self.near
        for kind, ell in [(kind, ell) for kind in range(len(self.shifts)) for ell in every]:
            for x in self.arms:
                cells, others = self.open(kind, ell, x), self.walk(x, without=ell)
                reached = {cell for cell, v in cells.items() if self.crossed(x, others + v)}
                self.settled |= reached if len(reached) < len(cells) else set()

    def answer(self) -> int | None:
        """Return the first arm that has no rival left."""
        rivals = {x: self.survivors - {x, *self.near.get(x, ())} for x in sorted(self.survivors)}
        return next((x for x, left in rivals.items() if not left), None)


def check(setting: Setting, steps: list[Step]) -> Iterator[Evidence]:
    """Yield the evidence after each step."""
    evidence = Evidence(setting)
    for step in steps:
        for claim in step.claims:
            evidence.count(Seen(setting, step), claim)
        if step.claims:
            evidence.look()
        yield evidence
