"""A kernel fed from the file comes to the same end, and finds every edit, without a planner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from surefoot.algorithms import Settings, StopReason
from surefoot.certify import Claims, GaussianBoundary, Rows
from surefoot.noise import Gaussian
from surefoot.problem.problem import RobustProblem
from surefoot.statistics import Outcome, Phase
from surefoot.study.file import chain
from surefoot.study.file.chain import Sealed
from surefoot.study.file.description import Description
from surefoot.study.file.encoding import commitment_bytes, layout_bytes, limits_bytes
from surefoot.study.file.proof import Proof

ARMS, PHASES = 3, 4
MEANS = np.array([2.0, 2.1, 0.0, 0.5, -1.0, 1.0])
QUESTION = Description(
    id="toy",
    name="toy",
    problem=RobustProblem.from_pairs(np.eye(6), np.repeat(np.arange(ARMS), 2)),
    settings=Settings(delta=0.05, noise=Gaussian(1.0), misfit=np.inf),
    algorithm="prime",
    options={},
    direction="maximize",
    seed=1,
    versions={},
    on_identical="refuse",
    boundary=GaussianBoundary(np.arange(1.0, PHASES + 1), np.zeros(PHASES), 12.0),
    on_failure=None,
)


def claims(clock: int) -> Claims:
    """Arm 0 against the others, each by its first pair alone."""
    shares = Rows(np.arange(3), np.array([2, 4]), np.ones(2))
    return Claims(
        0, np.array([0, 1]), np.array([1, 2]), np.full(2, clock), shares, np.array(np.inf)
    )


def proof(in_flight: int = 1) -> Iterator[Sealed]:
    """What a tiny planner and a noisy simulator leave behind."""
    generator, links = np.random.default_rng(5), chain.Chain(QUESTION.head)
    counts = np.full(6, 10)
    for index in range(PHASES):
        pairs = generator.permutation(np.repeat(np.arange(6), counts))
        rewards = MEANS[pairs] + generator.normal(size=len(pairs))
        phase = Phase(index, counts, overlaps=min(index, in_flight - 1))
        outcome = Outcome.from_rewards(phase, 6, pairs, rewards)
        commitment = commitment_bytes([claims(index)], None)
        limits = limits_bytes([np.full((1, 2, 2), np.nan)])
        plan = chain.plan_of(layout_bytes(phase), commitment)
        order, seen = chain.order_of(pairs), chain.rewards_of(rewards)
        link = links.open(phase, plan, order)
        end = links.close(chain.Closing(seen, chain.sums_of(outcome), limits, b""))
        yield Sealed(
            phase, commitment, limits, b"", outcome, order, seen, plan, link, kept_rewards=seen,
            closing=end,
        )  # fmt: skip


@pytest.mark.parametrize("in_flight", [1, 2, 3])
def test_the_kernel_comes_to_its_answer_from_what_is_stored(in_flight: int) -> None:
    check = Proof(QUESTION)
    for sealed in proof(in_flight):
        check.take(sealed)
    assert check.kernel.answer() == 0
    assert check.kernel.survivors.tolist() == [True, False, False]
    assert check.chain.phases == PHASES
    assert check.reason(0) is StopReason.IDENTIFIED
    assert check.reason(1) is StopReason.NOT_VERIFIED
    assert check.verdict(0, check.reason(0)).survivors.tolist() == [True, False, False]


def test_a_phase_that_is_missing_or_moved_is_found() -> None:
    phases = list(proof())
    with pytest.raises(chain.ChainBroken, match="phase 0 is missing"):
        Proof(QUESTION).take(phases[1])
    for after_the_first in (0, 2):
        check = Proof(QUESTION)
        check.take(phases[0])
        with pytest.raises(chain.ChainBroken, match="phase 1 is missing"):
            check.take(phases[after_the_first])
    moved = replace(phases[2], phase=replace(phases[2].phase, index=1))
    check = Proof(QUESTION)
    check.take(phases[0])
    with pytest.raises(chain.ChainBroken, match="phase 1 does not follow"):
        check.take(moved)


def test_every_edit_is_found_in_one_sentence() -> None:
    first = next(proof())
    sums = replace(first.outcome, sums=first.outcome.sums + 1)
    knowing_less = replace(first, phase=replace(first.phase, overlaps=1))
    edits = {
        "what was committed before": knowing_less,
        "what was committed": replace(first, commitment=commitment_bytes([claims(1)], None)),
        "a reward was changed": replace(first, rewards=chain.rewards_of(np.ones(60))),
        "limits of its evidence": replace(first, limits=limits_bytes([None])),
        "the sums": replace(first, outcome=sums),
        "the order of its pulls": replace(first, order=chain.order_of(np.zeros(60, dtype=int))),
    }
    for said, edited in edits.items():
        with pytest.raises(chain.ChainBroken, match=said) as found:
            Proof(QUESTION).take(edited)
        assert "\n" not in str(found.value)


def test_a_chain_over_claims_that_are_none_proves_nothing() -> None:
    """Whoever forges a chain with all its digests still needs claims that the kernel takes."""
    first, links = next(proof()), chain.Chain(QUESTION.head)
    shares = Rows(np.arange(3), np.array([2, 4]), np.array([2.0, 1.0]))
    commitment = commitment_bytes([claims(0)._replace(shares=shares)], None)
    plan = chain.plan_of(layout_bytes(first.phase), commitment)
    link = links.open(first.phase, plan, first.order)
    sums = chain.sums_of(first.outcome)
    closing = chain.Closing(first.rewards, sums, first.limits, first.origins)
    end = links.close(closing)
    forged = replace(first, commitment=commitment, plan=plan, link=link, closing=end)
    with pytest.raises(chain.ChainBroken, match="phase 0 proves nothing: shares"):
        Proof(QUESTION).take(forged)
