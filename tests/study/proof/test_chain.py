"""Any change of a question, plan, reward, limit or order breaks the chain, in one sentence."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.statistics import Outcome, Phase
from surefoot.study.file.proof import chain
from surefoot.study.file.proof.encoding import layout_bytes

HEAD = chain.head_of({"delta": 0.05, "seed": "3"})
PAIRS, REWARDS = np.array([0, 1, 0, 1]), np.array([1.0, 2.0, 3.0, 4.0])
PLAN = chain.plan_of(layout_bytes(np.array([2, 2]), 2, False), b"commitment")
ORDER = chain.order_of(PAIRS)


def closing(rewards: np.ndarray = REWARDS, limits: bytes = b"limits") -> chain.Closing:
    outcome = Outcome.from_rewards(Phase(0, np.array([2, 2]), 2), 2, PAIRS, REWARDS)
    return chain.Closing(chain.rewards_of(rewards), chain.sums_of(outcome), limits)


def stored_link() -> bytes:
    return chain.Chain(HEAD).link(PLAN, ORDER)


def test_an_untouched_phase_is_taken() -> None:
    written, read = chain.Chain(HEAD), chain.Chain(HEAD)
    end = written.close(stored_link(), closing())
    read.check_link(PLAN, ORDER, (PLAN, stored_link()))
    read.check_closing(stored_link(), closing(), (closing().rewards, end))
    assert read.fingerprint == written.fingerprint
    assert read.phases == 1


def test_a_changed_plan_is_found() -> None:
    other = chain.plan_of(layout_bytes(np.array([2, 2]), 2, False), b"another")
    with pytest.raises(chain.ChainBroken, match="phase 0: what was committed"):
        chain.Chain(HEAD).check_link(other, ORDER, (PLAN, stored_link()))


@pytest.mark.parametrize("latest", [chain.head_of({"delta": 0.1}), b"another phase before"])
def test_another_question_or_phase_before_is_found(latest: bytes) -> None:
    with pytest.raises(chain.ChainBroken, match="phase 0 does not follow"):
        chain.Chain(latest).check_link(PLAN, ORDER, (PLAN, stored_link()))


def test_pulls_of_exchanged_pairs_are_found() -> None:
    order = chain.order_of(PAIRS[::-1])
    with pytest.raises(chain.ChainBroken, match="the order of its pulls"):
        chain.Chain(HEAD).check_link(PLAN, order, (PLAN, stored_link()))


@pytest.mark.parametrize("place", range(4))
def test_a_reward_changed_in_its_last_bit_is_found(place: int) -> None:
    end, rewards = chain.Chain(HEAD).close(stored_link(), closing()), REWARDS.copy()
    rewards[place] = np.nextafter(rewards[place], 9)
    stored = closing().rewards, end
    with pytest.raises(chain.ChainBroken, match="phase 0: a reward was changed"):
        chain.Chain(HEAD).check_closing(stored_link(), closing(rewards), stored)


def test_changed_limits_are_found() -> None:
    end = chain.Chain(HEAD).close(stored_link(), closing())
    stored = closing().rewards, end
    with pytest.raises(chain.ChainBroken, match="limits of its evidence"):
        chain.Chain(HEAD).check_closing(stored_link(), closing(limits=b"others"), stored)


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
