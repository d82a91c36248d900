"""The paper's three algorithms and its two experiments, written anew from its text alone.

Nothing of surefoot is used. Designs are by plain Frank–Wolfe from the uniform design, rounding is
Pukelsheim's, rewards are drawn as sums. `python -m tests.experiments.by_hand` prints its means
beside those of surefoot in seven settings.
"""

from __future__ import annotations

import math
import sys

import numpy as np

DELTA, EPSILON, STATIC_GAMMA, ORACLE_GAMMA = 0.05, 0.1, 1.3, 1.1
STEPS, SMALL = 1000, 1e-5  # of Frank-Wolfe; a weight below counts as none


class Task:
    """Arms with their pairs z = x − y, and θ."""

    def __init__(self, arms, theta):
        self.arms = [np.atleast_2d(arm) for arm in arms]
        self.z = np.vstack(self.arms)
        self.arm = np.repeat(np.arange(len(arms)), [len(arm) for arm in self.arms])
        self.theta = theta
        self.values = self.robust(self.z @ theta)
        self.best = int(np.argmax(self.values))

    def robust(self, means):
        return np.array([means[self.arm == x].min() for x in range(len(self.arms))])

    def pull(self, counts, rng):
        """Return b of Algorithm 1, line 9: the sum of z r over the pulls."""
        sums = counts * (self.z @ self.theta) + np.sqrt(counts) * rng.standard_normal(len(counts))
        return self.z.T @ sums


def irrelevant_dimensions(d):
    """Experiment 1; its "1 − ε" is taken along e₁."""
    unit, steps = np.eye(d), 0.01 * np.arange(1, 6)[:, None]
    arms = [e - steps * e for e in unit]
    last = unit[0] + math.sin(0.01) * unit[1]
    arms.append(last - (steps + 1 - math.cos(0.01)) * unit[0])
    return Task(arms, 2 * unit[0])


def unit_sphere(n, rng, d=10, alpha=0.05):
    """Experiment 2: θ is one of the two closest arms."""

    def points(count):
        drawn = rng.standard_normal((count, d))
        return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)

    x = points(n)
    distance = np.linalg.norm(x[:, None] - x[None], axis=2) + 9 * np.eye(n)
    i, j = np.unravel_index(np.argmin(distance), distance.shape)
    arms = [x[k] - alpha * points(5) for k in range(n)]
    arms[i], arms[j] = (1 + alpha) * x[i], (1 + alpha) * x[j]
    return Task(arms, x[i])


def squares(task, inverse):
    """(n, n) ‖z − z'‖² in A⁻¹."""
    cross = task.z @ inverse @ task.z.T
    return np.maximum(cross.diagonal()[:, None] + cross.diagonal() - 2 * cross, 0)


def hardest(task, ratios, rows, arms):
    """max over z of the rows, max over other arms x', min over z' of x'."""
    top, where = -math.inf, (0, 0)
    for x in arms:
        own = np.flatnonzero(task.arm == x)
        others = [row for row in rows if task.arm[row] != x]
        if not others:
            continue
        block = ratios[np.ix_(others, own)]
        nearest = block.argmin(axis=1)
        value = block[np.arange(len(others)), nearest]
        if value.max() > top:
            k = int(value.argmax())
            top, where = value[k], (others[k], own[nearest[k]])
    return top, task.z[where[0]] - task.z[where[1]]


def frank_wolfe(task, criterion):
    """Minimise the criterion of A⁻¹, which also gives the direction that attains it."""
    weights = np.full(len(task.z), 1 / len(task.z))
    for k in range(1, STEPS + 1):
        inverse = np.linalg.pinv(task.z.T @ (weights[:, None] * task.z), hermitian=True)
        _, v = criterion(inverse)
        toward = int(np.argmax((task.z @ inverse @ v) ** 2))
        weights *= 1 - 2 / (k + 2)
        weights[toward] += 2 / (k + 2)
    weights[weights < SMALL] = 0
    weights /= weights.sum()
    inverse = np.linalg.pinv(task.z.T @ (weights[:, None] * task.z), hermitian=True)
    return weights, criterion(inverse)[0]


def g_criterion(task):
    def criterion(inverse):
        lengths = np.einsum("ij,jk,ik->i", task.z, inverse, task.z)
        return lengths.max(), task.z[int(np.argmax(lengths))]

    return criterion


def rage_criterion(task, arms):
    rows = np.flatnonzero(np.isin(task.arm, arms))
    return lambda inverse: hardest(task, squares(task, inverse), rows, arms)


def oracle_criterion(task):
    own = np.flatnonzero(task.arm == task.best)
    others = [x for x in range(len(task.arms)) if x != task.best]
    means = task.z @ task.theta
    gaps = np.maximum(means[:, None] - means[None, :], 1e-100)
    return lambda inverse: hardest(task, squares(task, inverse) / gaps**2, own, others)


def rounded(weights, total):
    """Pukelsheim's efficient rounding."""
    on = np.flatnonzero(weights)
    counts = np.ceil((total - len(on) / 2) * weights[on])
    while counts.sum() > total:
        counts[np.argmax((counts - 1) / weights[on])] -= 1
    while counts.sum() < total:
        counts[np.argmin(counts / weights[on])] += 1
    whole = np.zeros(len(weights))
    whole[on] = counts
    return whole


def beats(task, means, inverse, winner, loser, width):
    """Line 10 of Algorithm 1: every z' of the winner is above some z of the loser."""
    z, other = task.arms[winner], task.arms[loser]
    v = z[:, None] - other[None]
    lengths = np.sqrt(np.maximum(np.einsum("ijk,kl,ijl->ij", v, inverse, v), 0))
    gaps = means[task.arm == winner][:, None] - means[task.arm == loser][None]
    return bool((gaps > width * lengths).any(axis=1).all())


def robust_rage(task, rng, designs):
    """Algorithm 1; returns the pulls and the arm."""
    alive, t, pulls = list(range(len(task.arms))), 1, 0
    while len(alive) > 1:
        log = math.log(len(task.z) ** 2 * t**2 / DELTA)
        if tuple(alive) not in designs:
            designs[tuple(alive)] = frank_wolfe(task, rage_criterion(task, alive))
        weights, rho = designs[tuple(alive)]
        n = max(
            math.ceil(2 ** (2 * t + 1) * rho * (1 + EPSILON) * log),
            math.ceil(2 * np.count_nonzero(weights) / EPSILON),
        )
        counts = rounded(weights, n)
        inverse = np.linalg.pinv(task.z.T @ (counts[:, None] * task.z), hermitian=True)
        means, pulls = task.z @ inverse @ task.pull(counts, rng), pulls + n
        width = math.sqrt(2 * log)
        alive = [
            x
            for x in alive
            if not any(beats(task, means, inverse, w, x, width) for w in alive if w != x)
        ]
        t += 1
    return pulls, alive[0]


def in_phases(task, rng, weights, gamma, knows):
    """Static (eq:11) or the oracle (eq:57): totals grow by γ, all data are kept."""
    width = math.sqrt(2 * math.log(len(task.z) ** 2 / DELTA))
    counts, b, total = np.zeros(len(task.z)), 0.0, 2 * np.count_nonzero(weights)
    while True:
        more = np.maximum(rounded(weights, total) - counts, 0)
        b, counts = b + task.pull(more, rng), counts + more
        inverse = np.linalg.pinv(task.z.T @ (counts[:, None] * task.z), hermitian=True)
        means = task.z @ inverse @ b
        leader = int(np.argmax(task.robust(means)))
        judged, winner = (task.z @ task.theta, task.best) if knows else (means, leader)
        others = [x for x in range(len(task.arms)) if x != winner]
        if all(beats(task, judged, inverse, winner, x, width) for x in others):
            return int(counts.sum()), leader
        total = math.ceil(gamma * counts.sum())


def solve(name, task, rng, designs):
    """One run of "rage", "static" or "oracle"; designs of a task are remembered by the caller."""
    if name == "rage":
        return robust_rage(task, rng, designs)
    if name not in designs:
        criterion = g_criterion(task) if name == "static" else oracle_criterion(task)
        designs[name] = frank_wolfe(task, criterion)[0]
    gamma = STATIC_GAMMA if name == "static" else ORACLE_GAMMA
    return in_phases(task, rng, designs[name], gamma, name == "oracle")


if __name__ == "__main__":
    from tests.experiments.test_by_hand import print_all

    print_all(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
