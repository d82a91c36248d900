"""Limits: no planner brings about an error more often than δ; what is no commitment is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from surefoot.certify import LimitedBoundary, LimitedCertifier, Uses
from surefoot.errors import InputError
from surefoot.statistics import Outcome, Phase
from tests.certify import limited_saboteur as saboteur

RUNS, FALSE_ALARM = 20, 1e-3


@pytest.mark.statistical
@pytest.mark.parametrize("delta", [0.2, 0.05])
def test_errors_on_limits_and_at_ties_have_probability_delta_at_most(delta: float) -> None:
    worlds = [world for world in saboteur.rows() if world.delta == delta]
    found = [saboteur.errors(world, RUNS) for world in worlds]
    of_rows, of_sum = (
        stats.binom.isf(alarm, runs, delta)
        for alarm, runs in (
            (FALSE_ALARM / 4 / len(worlds), RUNS),
            (FALSE_ALARM / 4, RUNS * len(worlds)),
        )
    )
    assert max(found) <= of_rows
    assert sum(found) <= of_sum
    # the saboteur is real: with no level at all it wins some runs
    assert sum(found) >= stats.binom.ppf(FALSE_ALARM / 4, RUNS * len(worlds), 0.15 * delta)


def world(slack: float = 0.0) -> saboteur.World:
    return saboteur.World("known", slack, 0.2)


class TestChallenges:
    """An arm that is not shown to qualify eliminates nobody, and its evidence waits for it."""

    def test_only_arms_that_are_shown_eliminate_others(self) -> None:
        kernel = saboteur.certifier(world())
        kernel.walks.counted[:] = False
        good = np.full(6, 1.0)
        for index in range(1, 4):
            claims = saboteur._beat(
                kernel, world(), np.random.default_rng(np.random.SeedSequence(1))
            )
            points = np.arange(4, 6)
            claims = [claims[0]._replace(challenger=2, points=points, clocks=np.array([index]))]
            phase = Phase(index - 1, np.full(6, 400), 4)
            pairs = np.repeat(np.arange(6), phase.counts)
            rewards = np.array([0.0, 0.0, 0.0, 0.0, 9.0, 9.0])[pairs]
            uses = [Uses(), Uses()]
            if index == 3:
                uses = saboteur._limits(
                    kernel, world(), np.random.default_rng(np.random.SeedSequence(5))
                )
                assert uses[1].claims
            made = kernel.commit(phase, claims, None, uses)
            outcome = Outcome.from_rewards(phase, 6, pairs, rewards, {"cost": good[pairs]})
            kernel.update(made, outcome)
            assert kernel.shown.all() == (index == 3)
            assert kernel.walks.survivors[0] == (index < 3)


@pytest.mark.parametrize("slack", [0.0, 0.25])
def test_nobody_qualifies_where_every_arm_misses_its_limit(slack: float) -> None:
    kernel = saboteur.certifier(world(slack))
    rng = np.random.default_rng(np.random.SeedSequence(1))
    unfit = kernel.unfit_by[0]
    for arm in range(3):
        shares = saboteur.Rows(np.array([0, 1]), saboteur.OFFSETS[[arm]], np.ones(1))
        clock, zero = np.array([3]), np.array([6])
        claims = saboteur.Claims(3, zero, np.array([arm]), clock, shares, np.array(np.inf))
        phase = Phase(arm, np.full(6, 100), 4)
        made = kernel.commit(phase, (), None, [Uses([claims]), Uses()])
        pairs = np.repeat(np.arange(6), phase.counts)
        cost = {"cost": 4.0 + rng.normal(size=len(pairs))}
        kernel.update(made, Outcome.from_rewards(phase, 6, pairs, 0.0 * pairs, cost))
        assert kernel.nobody == (arm == 2)
    assert not unfit.survivors[:3].any()
    assert kernel.answer() is None


def test_commitments_that_hold_arms_against_each_other_or_spend_too_much_are_refused() -> None:
    kernel = saboteur.certifier(world())
    rng = np.random.default_rng(np.random.SeedSequence(2))
    uses = saboteur._limits(kernel, world(), rng)
    phase = Phase(0, np.full(6, 4), 4)
    by_arm = uses[1].claims[0]._replace(challenger=0, points=np.array([0]), arms=np.array([1]))
    with pytest.raises(InputError, match="by the constant alone"):
        kernel.commit(phase, (), None, [Uses(), Uses([by_arm])])
    with pytest.raises(InputError, match="as many uses"):
        kernel.commit(phase, (), None, uses[:1])
    boundary = kernel.whole
    greedy = LimitedBoundary(boundary.parts, [*boundary.deltas[:3], 1.1 * boundary.deltas[3]])
    limited = replace(kernel.limited[0], slack=0.1)
    for parts, several, said in (
        (greedy, kernel.limited, "spend more than delta"),
        (boundary, [limited], "need their own boundary"),
    ):
        with pytest.raises(InputError, match=said):
            LimitedCertifier(kernel.question, kernel.scores, parts, several, delta=0.2)


def test_the_boundary_of_shown_arms_holds_its_own_share() -> None:
    """With slack each arm that is shown has a boundary of its own; that of all would be too low."""
    kernel = saboteur.certifier(world(0.25))
    boundary, several = kernel.whole, list(kernel.limited)
    parts = [boundary.objective, boundary.objective, *boundary.parts[2:]]
    low = LimitedBoundary(parts, boundary.deltas)
    with pytest.raises(InputError, match="would cross this boundary"):
        LimitedCertifier(kernel.question, kernel.scores, low, several, delta=0.2)
    missing = [*boundary.parts[:2], None, *boundary.parts[3:]]
    with pytest.raises(InputError, match="two boundaries each"):
        LimitedBoundary(missing, boundary.deltas)


def test_what_limits_spend_adds_up() -> None:
    """The objective, each shown arm, each limit for the unfit, each arm for the fit, once."""
    parts = saboteur.certifier(world(0.25)).whole.parts
    boundary = LimitedBoundary([*parts, *parts[2:]], [0.1, 0.01, 0.05, 0.002, 0.04, 0.003])
    assert boundary.spent(3) == pytest.approx(0.1 + 3 * 0.01 + 0.05 + 0.04 + 3 * 0.003)


def test_limits_are_of_means_without_a_model() -> None:
    """A margin is a mean less the limit only if weights add up to 1, and no line holds it."""
    kernel = saboteur.certifier(world())
    asked = kernel.limited[0].question
    halves = asked.points._replace(values=0.5 * asked.points.values)
    for wrong in (replace(asked, misfit=0.0), replace(asked, points=halves)):
        limited = [replace(kernel.limited[0], question=wrong)]
        with pytest.raises(InputError, match="means and no model"):
            LimitedCertifier(kernel.question, kernel.scores, kernel.whole, limited, delta=0.2)


def test_a_constant_is_never_tested() -> None:
    kernel = saboteur.certifier(world())
    unfit = kernel.unfit_by[0]
    shares = saboteur.Rows(np.array([0, 1]), np.array([6]), np.ones(1))
    arm, zero = np.array([3]), np.array([0])
    claims = saboteur.Claims(0, zero, arm, np.array([1]), shares, np.array(np.inf))
    with pytest.raises(InputError, match="is never tested"):
        unfit.commit(Phase(0, np.full(6, 4), 4), [claims])
