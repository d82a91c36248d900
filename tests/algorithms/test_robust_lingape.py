from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from surefoot.algorithms.confidence import self_normalised_radius
from surefoot.algorithms.fitting import information
from surefoot.algorithms.robust_lingape import RobustLinGapE
from surefoot.design.whitening import unit_free_root
from surefoot.experiments.instances import classic, irrelevant_dimensions, random_robust
from surefoot.simulate import LinearSimulator
from tests.algorithms.families import settings_for
from tests.algorithms.quantifiers import beats


def test_it_stops_at_the_first_look_at_which_the_rule_holds() -> None:
    """`eq:11` with its quantifiers and the self-normalised threshold, at every look."""
    problem, _ = instance = random_robust(4, 3, 3)
    run = RobustLinGapE().start(problem, settings_for("robust-lingape"))
    simulator = LinearSimulator(*instance, seed=2)
    first = None
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
        A = information(problem.pairs, run.tally.counts)
        first = A if first is None else first
        c = self_normalised_radius(unit_free_root(first), A, 0.05)
        assert run.boundary == pytest.approx(c)
        estimate = np.linalg.solve(A, problem.pairs.T @ run.tally.sums)
        sure = any(
            all(
                beats(problem, estimate, A, c, x, other, strict=False)
                for other in range(4)
                if other != x
            )
            for x in range(4)
        )
        assert sure == (run.survivors.sum() == 1)
    assert len(run.history) > 5


def test_it_learns_to_leave_irrelevant_dimensions_alone() -> None:
    problem, _ = instance = irrelevant_dimensions(6)
    run = RobustLinGapE().start(problem, settings_for("robust-lingape"))
    simulator = LinearSimulator(*instance, seed=0)
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
    relevant = (problem.pairs[:, :2] != 0).any(axis=1)
    assert run.tally.counts[~relevant].sum() < 0.02 * run.samples
    assert run.result.certified


def test_batches_grow_with_the_data() -> None:
    instance = classic(3, 0.1)
    run = RobustLinGapE(growth=1.5).start(instance[0], settings_for("robust-lingape"))
    simulator = LinearSimulator(*instance, seed=0)
    while phase := run.next_phase():
        run.update(simulator.pull(phase))
    totals = [record.total for record in run.history]
    assert all(after - before == np.ceil(0.5 * before) for before, after in pairwise(totals))
