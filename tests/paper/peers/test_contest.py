from __future__ import annotations

import numpy as np

from surefoot.algorithms.peers import KnRsb
from surefoot.experiments.instances import tabular
from surefoot.paper.peers import PeerContender, PeerContest


def test_all_contenders_see_the_same_noise() -> None:
    contest = PeerContest("toy", np.array([[1.0, 2.0], [-3.0, 0.0]]), 0.5)
    problem = contest.problem()
    first, again = (
        PeerContender("kn", KnRsb(zone=1.0)).run(contest, problem, np.random.SeedSequence(4))
        for _ in range(2)
    )
    assert first == again
    assert first.correct
    assert not first.certified
    assert first.samples >= 4 * 20


def test_the_best_arm_is_the_one_of_the_best_worst_mean() -> None:
    assert PeerContest("toy", np.array([[9.0, -1.0], [0.0, 0.5]])).best == 1


def test_nothing_is_known_about_the_pairs() -> None:
    problem = tabular(3, 4)
    assert (problem.n_arms, problem.n_pairs, problem.dimension) == (3, 12, 12)
