import numpy as np
import pytest
from scipy import stats

import surefoot as sf
from surefoot.algorithms.prime.misfit.clearest import View
from surefoot.algorithms.prime.misfit.evidence import BiasedTests
from surefoot.algorithms.prime.misfit.predictors import guess
from surefoot.algorithms.settings import Settings
from surefoot.simulate import TableSimulator
from tests.algorithms.prime.misfit.worlds import MISFIT, OWN, RIVALS, parabola, worst_corner

NOISES = [sf.Gaussian(0.3), sf.Gaussian(equal=True), sf.Gaussian()]


def scores(noise, n_phases):
    """T of arm 2's true worst pair against arm 3, which ties with it, phase after phase."""
    problem, means = worst_corner()
    pairs = problem.pairs / np.linalg.norm(problem.pairs, axis=1).max()
    everything, single = np.arange(problem.n_pairs), np.full(problem.n_pairs, 0.09)
    fit = parabola()[1]  # what past data seemed to say
    known = guess(pairs, everything, single / 40, fit, MISFIT**2 / 3)
    view = View(pairs, problem.offsets, *known, single, MISFIT, OWN, 0.5)
    counts = np.full(problem.n_pairs, 12)
    settings = Settings(delta=0.05, noise=noise, misfit=MISFIT)
    simulator = TableSimulator(means, 0.3, 7)
    own = int(np.argmin(means[problem.offsets[RIVALS[0]] : problem.offsets[RIVALS[0] + 1]]))
    for index in range(n_phases):
        tests = BiasedTests(view, fit, counts)
        tests.add(RIVALS[0], np.array([RIVALS[1]]))
        outcome = simulator.pull(sf.Phase(index, counts, 12 if noise.evidence == "batches" else 0))
        (plain, eased), *_ = tests.statistics(outcome, settings)
        assert eased is None
        yield plain[own, 0]


@pytest.mark.parametrize("noise", NOISES, ids=["known", "equal", "unequal"])
def test_scores_are_no_larger_than_normal_ones_at_the_worst_corner(noise):
    found = np.array(list(scores(noise, 400)))
    assert found.std() > 0.5  # the phase says something
    assert stats.kstest(found, "norm", alternative="less").pvalue > 1e-3
