"""A planner that lets a Gaussian process of scikit-learn choose what to pull."""

import math
from typing import ClassVar

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

import surefoot as sf

BATCHES = 8


class GaussianProcessPlanner(sf.Planner):
    """The process guesses all means; pulls go to the arm whose guessed worst case is best, and to
    the pair of every rival that it guesses lowest.
    """

    name: ClassVar[str] = "gaussian-process"

    def propose(self, past: sf.Past) -> sf.Proposal:
        counts = np.zeros(past.problem.n_pairs, dtype=np.int64)
        if not past.tally.samples:
            return sf.Proposal(counts + 3)
        guess, alive = self._guess(past), past.certifier.survivors
        values = np.where(alive, past.problem.worst_of(guess), -np.inf)
        leader = int(values.argmax())
        pairs = past.problem.worst_pairs_of(guess)[alive]
        counts[pairs] = counts[past.problem.pairs_of(leader)] = 3 * BATCHES
        claims = past.challenge(leader, counts, BATCHES)
        return sf.Proposal(counts, BATCHES, claims=claims, variances=past.variances)

    @staticmethod
    def _guess(past: sf.Past) -> np.ndarray:
        x, seen = past.problem.parameters, past.tally.counts > 0
        means = past.tally.sums[seen] / past.tally.counts[seen]
        noise = past.variances[seen] / past.tally.counts[seen]
        kernel = RBF(np.ones(x.shape[1])) + WhiteKernel(1e-3)
        process = GaussianProcessRegressor(kernel, alpha=noise, normalize_y=True, optimizer=None)
        return process.fit(x[seen], means).predict(x)


if __name__ == "__main__":
    x = np.linspace(-1.0, 1.0, 7)
    problem = sf.RobustProblem.paper(x[:, None], [[[-0.2], [0.2]]] * 7, features="tabular")
    simulator = sf.TableSimulator(1 - 3 * (problem.parameters[:, 0] - 0.3) ** 2, 0.3, seed=5)
    result = sf.identify(
        problem,
        simulator,
        GaussianProcessPlanner(),
        delta=0.05,
        noise=sf.Gaussian(),
        misfit=math.inf,
        tolerance=0.1,
    )
    print(result)
