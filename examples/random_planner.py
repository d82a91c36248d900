"""A planner that chooses at random: it needs more pulls, and its certificate is as good as any."""

import math
from typing import ClassVar

import numpy as np

import surefoot as sf


class RandomPlanner(sf.Planner):
    """Every surviving arm, some pulls of each pair, and a leader drawn by lot now and then."""

    name: ClassVar[str] = "random"

    def propose(self, past: sf.Past) -> sf.Proposal:
        rng = np.random.default_rng(np.random.SeedSequence((7, past.tally.samples)))
        alive = np.flatnonzero(past.certifier.survivors)
        counts = np.where(np.isin(past.problem.arm_of_pair, alive), rng.integers(8, 17), 0)
        if not past.tally.samples:  # the first pulls only teach
            return sf.Proposal(counts, batches=8)
        values = past.problem.worst_of(past.means)[alive]
        leader = int(alive[values.argmax()] if rng.random() < 0.8 else rng.choice(alive))
        claims = past.challenge(leader, counts, batches=8)
        return sf.Proposal(counts, batches=8, claims=claims, variances=past.variances)


if __name__ == "__main__":
    problem = sf.RobustProblem.from_pairs(np.eye(6), [0, 0, 1, 1, 2, 2])
    simulator = sf.TableSimulator([1.0, 0.8, 0.9, 0.1, 1.5, 0.3], [0.5, 1.0, 0.2, 1.0, 2.0, 0.5], 3)
    result = sf.identify(
        problem, simulator, RandomPlanner(), delta=0.05, noise=sf.Gaussian(), misfit=math.inf
    )
    print(result)
