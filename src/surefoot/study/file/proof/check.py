"""The check of a proof: stored commitments and outcomes, through the chain and the kernel.

No planner is asked anything: the kernel refuses commitments that it would not have taken, and
draws its own conclusions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from surefoot.arrays import Array
from surefoot.certify import Certifier, Claims
from surefoot.certify.contrast import Contrasts
from surefoot.errors import InputError
from surefoot.statistics import Outcome, Phase
from surefoot.study.file.proof.chain import Chain, ChainBroken, Closing, plan_of, sums_of
from surefoot.study.file.proof.encoding import commitment_from, layout_bytes, limits_from


@dataclass(frozen=True, eq=False)
class Sealed:
    """A closed phase as it is stored.

    Attributes:
        phase: its pulls, batches and streams.
        commitment, limits: as canonical bytes.
        outcome: what its rewards say, for rewards to be maximised.
        order, rewards: digests of its pairs and of its rewards, computed from those that are there.
        plan, link, kept_rewards, closing: digests that were stored.
    """

    phase: Phase
    commitment: bytes
    limits: bytes
    outcome: Outcome
    order: bytes
    rewards: bytes
    plan: bytes
    link: bytes
    kept_rewards: bytes
    closing: bytes


def _follow(chain: Chain, sealed: Sealed) -> None:
    """Add a closed phase to a chain; an error says in one sentence what does not fit."""
    if sealed.phase.index != chain.phases:
        raise ChainBroken(
            f"phase {chain.phases} is missing: phase {sealed.phase.index} stands in its place"
        )
    follow_plan(chain, sealed.phase, sealed.commitment, sealed.order, (sealed.plan, sealed.link))
    close(chain, sealed)


def close(chain: Chain, sealed: Sealed) -> None:
    """Close the oldest open phase of a chain, if its end is as it was stored."""
    closing = Closing(sealed.rewards, sums_of(sealed.outcome), sealed.limits)
    chain.check_close(closing, (sealed.kept_rewards, sealed.closing))


def follow_plan(
    chain: Chain, phase: Phase, commitment: bytes, order: bytes, stored: tuple[bytes, bytes]
) -> None:
    """Open a phase, unless its stored plan and link are not those of a chain's next one."""
    chain.check_open(phase, plan_of(layout_bytes(phase), commitment), order, stored)


@contextmanager
def proving(index: int) -> Iterator[None]:
    """Say of which phase a proof is refused."""
    try:
        yield
    except (ValueError, IndexError) as error:  # InputError among them
        raise ChainBroken(f"phase {index} proves nothing: {error!s:.200}") from error


def limits_for(claims: Sequence[Claims], content: bytes) -> list[Array | None]:
    """Return stored limits, if there is an entry for each of the claims."""
    limits = limits_from(content)
    if len(limits) != len(claims):
        raise InputError(f"it has {len(claims)} claims, but limits for {len(limits)}")
    return limits


class Check:
    """Feeds a kernel with closed phases, each once and in order.

    Attributes:
        certifier: the kernel, with the stored boundary.
        chain: the digests so far.
        pulls: of the phases so far.
    """

    def __init__(self, certifier: Certifier, head: bytes) -> None:
        self.certifier, self.chain, self.pulls = certifier, Chain(head), 0

    def take(self, sealed: Sealed) -> None:
        """Check a phase and score it; an error says in one sentence what is wrong with it."""
        _follow(self.chain, sealed)
        with proving(sealed.phase.index):
            self._score(sealed)
        self.pulls += sealed.phase.samples

    def _score(self, sealed: Sealed) -> None:
        committed = self.certifier.commit(sealed.phase, *commitment_from(sealed.commitment))
        limits = limits_for(committed.scored, sealed.limits)
        self.certifier.update(committed, sealed.outcome, _Stored(iter(limits)))


@dataclass(frozen=True)
class _Stored:
    """Limits from a file, in the place of a rule that makes them."""

    limits: Iterator[Array | None]

    def __call__(self, claims: Claims, scores: Array, said: Contrasts, root: Array) -> Array | None:
        return next(self.limits)
