"""Problems of every kind: small and large, degenerate, in any unit."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.algorithms import StopReason
from surefoot.experiments.instances import classic, on_sphere
from surefoot.noise import Gaussian, SubGaussian
from surefoot.problem.problem import RobustProblem
from surefoot.testing.harness import Harness, finished, two_arms


class Variety(Harness):
    """Problems on which an algorithm must find the best arm."""

    def test_two_arms_one_perturbation_each(self) -> None:
        assert self.right(self.solved(two_arms()), two_arms())

    def test_one_arm_is_trivial(self) -> None:
        instance = RobustProblem([[1.0, 2.0]], [[[0.0, 0.1], [0.1, 0.0]]]), np.ones(2)
        result = self.solved(instance)
        assert result.certified
        assert result.reason is StopReason.ONE_ARM
        assert (result.arm, result.samples) == (0, 0)
        assert "only arm" in result.sentence

    def test_one_dimension(self) -> None:
        instance = (
            RobustProblem([[1.0], [2.0], [3.0]], [[[0.1]], [[0.1], [0.2]], [[0.1], [2.5]]]),
            np.array([1.0]),
        )
        assert self.right(self.solved(instance), instance)

    def test_rank_deficient_pairs(self) -> None:
        thin = np.random.default_rng(0).standard_normal((2, 5))
        arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 0.3]]) @ thin
        instance = (
            RobustProblem(arms, [np.zeros((1, 5)), 0.1 * thin, 0.1 * thin]),
            np.linalg.pinv(thin) @ [0.2, 1.0],
        )
        assert instance[0].dimension == 2
        assert self.right(self.solved(instance), instance)

    def test_a_thousand_arms(self) -> None:
        generator = np.random.default_rng(0)
        arms = on_sphere(generator, 1000, 3) * generator.uniform(0.2, 0.7, (1000, 1))
        arms[400] = [1.5, 0.0, 0.0]
        instance = (
            RobustProblem(arms, [0.05 * on_sphere(generator, 1, 3) for _ in arms]),
            np.array([1.0, 0.0, 0.0]),
        )
        budget = 25_000 if self.spends_budget else None
        assert self.right(self.solved(instance, budget=budget), instance)

    def test_perturbation_sets_of_very_different_sizes(self) -> None:
        generator = np.random.default_rng(2)
        arms = np.array([[1.0, 0.0, 0.0], [0.4, 0.4, 0.0], [0.3, 0.0, 0.5]])
        perturbations = [0.1 * on_sphere(generator, size, 3) for size in (1, 400, 7)]
        instance = RobustProblem(arms, perturbations), np.array([1.0, 0.1, 0.0])
        assert self.right(self.solved(instance), instance)

    @pytest.mark.parametrize("size", [1e9, 1e-9])
    def test_rewards_of_any_size(self, size: float) -> None:
        problem, theta = two_arms()
        result = self.solved((problem, size * theta), scale=size)
        assert self.right(result, (problem, theta))
        assert np.isfinite(result.theta).all()

    def test_large_rewards_with_little_noise(self) -> None:
        problem = RobustProblem([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [np.zeros((1, 3))] * 2)
        instance = problem, np.array([1e9, 3.0, 1.0])
        assert self.right(self.solved(instance), instance)

    def test_features_in_very_different_units(self) -> None:
        problem, theta = two_arms()
        units = np.array([1e8, 1e-6])
        scaled = RobustProblem(problem.features * units, [np.zeros((1, 2))] * 2)
        assert self.right(self.solved((scaled, theta / units)), (problem, theta))

    def test_noise_of_another_scale_for_each_pair(self) -> None:
        problem, theta = instance = classic(3, 0.5)
        scales = np.array([0.5, 1.0, 3.0, 2.0])
        if self.refused(Gaussian(scales)):
            return
        run = self.begun(instance, noise=Gaussian(scales))
        result = finished(run, self.simulator((problem, theta), scales))
        assert self.right(result, instance)

    def test_sub_gaussian_noise(self) -> None:
        instance = classic(3, 0.5)
        if self.refused(SubGaussian(1.0)):
            return
        run = self.begun(instance, noise=SubGaussian(1.0))
        assert self.right(finished(run, self.simulator(instance, family="rademacher")), instance)

    def test_a_shared_pair_does_no_harm(self) -> None:
        arms = np.array([[1.0, 0.0], [1.0, 0.0]])
        problem = RobustProblem(arms, [[[0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]])
        instance = problem, np.array([1.0, 0.7])
        assert self.right(self.solved(instance), instance)

    def test_units_of_rewards_do_not_matter(self) -> None:
        """All widths follow the noise: rewards and noise eight times larger give the same run."""
        problem, theta = classic(3, 0.4)
        one, eight = (
            self.solved((problem, size * theta), scale=size, seed=5) for size in (1.0, 8.0)
        )
        assert one.samples == eight.samples
        assert one.arm == eight.arm
        assert [r.counts.tolist() for r in one.history] == [
            r.counts.tolist() for r in eight.history
        ]
