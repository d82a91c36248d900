"""Any change of a question, plan, reward, limit or order breaks the chain, in one sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from surefoot.statistics import Outcome, Phase
from surefoot.study.file import chain
from surefoot.study.file.encoding import layout_bytes

HEAD = chain.head_of({"delta": 0.05, "seed": "3"})
PAIRS, REWARDS = np.array([0, 1, 0, 1]), np.array([1.0, 2.0, 3.0, 4.0])
PHASE = Phase(0, np.array([2, 2]), 2)
PLAN = chain.plan_of(layout_bytes(PHASE), b"commitment")
ORDER = chain.order_of(PAIRS)


def closing(rewards: np.ndarray = REWARDS, limits: bytes = b"limits") -> chain.Closing:
    outcome = Outcome.from_rewards(PHASE, 2, PAIRS, REWARDS)
    return chain.Closing(chain.rewards_of(rewards), chain.sums_of(outcome), limits, b"origins")


def stored_link() -> bytes:
    return chain.Chain(HEAD).open(PHASE, PLAN, ORDER)


def opened() -> chain.Chain:
    found = chain.Chain(HEAD)
    found.open(PHASE, PLAN, ORDER)
    return found


def test_an_untouched_phase_is_taken() -> None:
    written, read = opened(), chain.Chain(HEAD)
    end = written.close(closing())
    read.check_open(PHASE, PLAN, ORDER, (PLAN, stored_link()))
    read.check_close(closing(), (closing().rewards, end))
    assert read.latest == written.latest
    assert read.phases == 1


def test_a_changed_plan_is_found() -> None:
    other = chain.plan_of(layout_bytes(PHASE), b"another")
    with pytest.raises(chain.ChainBroken, match="phase 0: what was committed"):
        chain.Chain(HEAD).check_open(PHASE, other, ORDER, (PLAN, stored_link()))


@pytest.mark.parametrize("latest", [chain.head_of({"delta": 0.1}), b"another phase before"])
def test_another_question_or_phase_before_is_found(latest: bytes) -> None:
    with pytest.raises(chain.ChainBroken, match="phase 0 does not follow"):
        chain.Chain(latest).check_open(PHASE, PLAN, ORDER, (PLAN, stored_link()))


def test_pulls_of_exchanged_pairs_are_found() -> None:
    order = chain.order_of(PAIRS[::-1])
    with pytest.raises(chain.ChainBroken, match="the order of its pulls"):
        chain.Chain(HEAD).check_open(PHASE, PLAN, order, (PLAN, stored_link()))


@pytest.mark.parametrize("place", range(4))
def test_a_reward_changed_in_its_last_bit_is_found(place: int) -> None:
    end, rewards = opened().close(closing()), REWARDS.copy()
    rewards[place] = np.nextafter(rewards[place], 9)
    stored = closing().rewards, end
    with pytest.raises(chain.ChainBroken, match="phase 0: a reward was changed"):
        opened().check_close(closing(rewards), stored)


def test_changed_limits_are_found() -> None:
    end = opened().close(closing())
    stored = closing().rewards, end
    with pytest.raises(chain.ChainBroken, match="limits of its evidence"):
        opened().check_close(closing(limits=b"others"), stored)


def test_a_phase_rests_on_what_its_planner_could_know_and_on_nothing_later() -> None:
    """With two phases in flight, phase 2 knows the rewards of phase 0, and of phase 1 the plan."""

    def link_of_the_third(first: bytes, second: bytes, plan: bytes = PLAN) -> bytes:
        found = opened()
        found.open(replace(PHASE, index=1, overlaps=1), plan, ORDER)
        found.close(closing(limits=first))
        link = found.open(replace(PHASE, index=2, overlaps=1), PLAN, ORDER)
        found.close(closing(limits=second))
        assert found.open(replace(PHASE, index=2, overlaps=1), PLAN, ORDER) == link
        return link

    link = link_of_the_third(b"a", b"b")
    assert link_of_the_third(b"a", b"c") == link
    assert link_of_the_third(b"c", b"b") != link
    assert link_of_the_third(b"a", b"b", plan=b"another") != link


def test_a_phase_cannot_know_of_phases_that_are_not_there() -> None:
    with pytest.raises(chain.ChainBroken, match="phase 1 does not follow"):
        opened().open(replace(PHASE, index=1), PLAN, ORDER)


def test_streams_follow_from_question_number_and_plan_alone() -> None:
    seeds = {
        chain.phase_seed(HEAD, 0, PLAN),
        chain.phase_seed(HEAD, 1, PLAN),
        chain.phase_seed(HEAD, 0, chain.plan_of(b"", b"")),
        chain.phase_seed(chain.head_of({"delta": 0.1, "seed": "3"}), 0, PLAN),
    }
    assert len(seeds) == 4
    assert chain.phase_seed(HEAD, 0, PLAN) in seeds


def test_the_order_of_a_questions_keys_does_not_matter() -> None:
    assert chain.head_of({"seed": "3", "delta": 0.05}) == HEAD
