"""A study as a proof: a chain of digests over its phases, and the check of them by the kernel.

Each phase is tied to all that was known before it, and to its rewards:

    head     the question
    plan     layout and commitment of one phase alone
    link     all that its planner was allowed to know: the closing of the last phase that was not in
             flight, and the link of the phase before (the head where there is none); plan, order of
             the pulls
    closing  the closing of the phase before, link, rewards, their sums, limits, and the origins of
             the rewards: which simulator gave how many, and how many pulls failed before

The fingerprint of a study is the digest of its last closing and of its simulators, with the reasons
for which their changes were accepted. So a changed reward, commitment, limit, origin or reason, and
a phase that was left out or moved, is noticed; a file that is cut back to an earlier phase is the
file of that phase, and only a fingerprint kept elsewhere tells. The streams of a phase follow from
head, number and plan: a plan changed afterwards does not reproduce its own rewards, and another
question draws other streams from the same seed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.certify import Claims
from surefoot.errors import InputError
from surefoot.statistics import Outcome, Phase
from surefoot.study.file.encoding import layout_bytes, limits_from
from surefoot.study.provenance import Simulators


class ChainBroken(InputError):
    """Something in the proof is not as it was stored."""


def digest(what: str, *parts: bytes) -> bytes:
    """Return the SHA-256 of some parts, each with its length before it."""
    found = hashlib.sha256(f"surefoot 1 {what}\0".encode())
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()


def head_of(question: Mapping[str, Any]) -> bytes:
    """Return the digest of a question, given as plain values that JSON knows."""
    text = json.dumps(question, sort_keys=True, separators=(",", ":"))
    return digest("question", text.encode())


def plan_of(layout: bytes, commitment: bytes) -> bytes:
    """Return the digest of a phase's layout and commitment."""
    return digest("plan", layout, commitment)


def phase_seed(head: bytes, index: int, plan: bytes) -> int:
    """Return the number from which all random streams of a phase are derived."""
    return int.from_bytes(digest("streams", head, index.to_bytes(8, "little"), plan)[:16], "little")


def order_of(pairs: IntArray) -> bytes:
    """Return the digest of the pairs of a phase's pulls, in the order of their numbers."""
    return digest("order", pairs.astype("<i8").tobytes())


def rewards_of(rewards: Array, others: Sequence[str] = ()) -> bytes:
    """Return the digest of a phase's rewards as measured, in the order of their numbers.

    Args:
        others: the further outputs of each pull, as canonical text; empty without any.
    """
    whole = (rewards + 0.0).astype("<f8").tobytes()  # SQLite keeps no −0.0
    if not any(others):
        return digest("rewards", whole)
    return digest("outputs", whole, *(text.encode() for text in others))


def sums_of(outcome: Outcome) -> bytes:
    """Return the digest of the sums that the kernel gets, of rewards and of other outputs."""
    values = outcome.sums, outcome.scatter, outcome.batch_sums
    shape = ",".join(map(str, outcome.batch_sums.shape)).encode()
    content = [np.asarray(each, dtype="<f8").tobytes() for each in values]
    for name, other in sorted(outcome.others.items()):
        content += [name.encode(), sums_of(other)]
    return digest("sums", outcome.counts.astype("<i8").tobytes(), shape, *content)


def fingerprint_of(latest: bytes, simulators: Simulators) -> str:
    """Return the digest of the last closing, or of the question, and of the simulators."""
    return digest("study", latest, simulators.content).hex()


class Closing(NamedTuple):
    """The end of a phase: digests of its rewards and of their sums; its limits, and the origins of
    its rewards, as canonical bytes.
    """

    rewards: bytes
    sums: bytes
    limits: bytes
    origins: bytes


@dataclass
class Chain:
    """The chain of a study up to now.

    Attributes:
        head: the digest of the question.
        links: of the phases that were opened, closed ones among them.
        closings: of the closed phases.
    """

    head: bytes
    links: list[bytes] = field(default_factory=list)
    closings: list[bytes] = field(default_factory=list)

    @property
    def phases(self) -> int:
        """Closed phases."""
        return len(self.closings)

    @property
    def latest(self) -> bytes:
        """The closing of the last closed phase; the head before there is one."""
        return self.closings[-1] if self.closings else self.head

    def fingerprint(self, simulators: Simulators) -> str:
        """Return the digest that stands for the whole study up to now, in hexadecimal digits."""
        return fingerprint_of(self.latest, simulators)

    def open(self, phase: Phase, plan: bytes, order: bytes) -> bytes:
        """Add the next phase, or replace the last if its index repeats, and return its link."""
        link = self._link(phase, plan, order)
        self.links[phase.index :] = [link]
        return link

    def _link(self, phase: Phase, plan: bytes, order: bytes) -> bytes:
        known = phase.index - phase.overlaps
        if phase.index > len(self.links) or not 0 <= known <= len(self.closings):
            raise ChainBroken(
                f"phase {phase.index} does not follow what stands before it: a phase is missing"
            )
        seen = self.closings[known - 1] if known else self.head
        before = self.links[phase.index - 1] if phase.index else self.head
        return digest("link", seen, before, plan, order)

    def close(self, closing: Closing) -> bytes:
        """Close the oldest open phase, and return the digest of the chain with it."""
        self.closings.append(self._closing(closing))
        return self.latest

    def _closing(self, closing: Closing) -> bytes:
        return digest("closing", self.latest, self.links[self.phases], *closing)

    def check_open(
        self, phase: Phase, plan: bytes, order: bytes, stored: tuple[bytes, bytes]
    ) -> None:
        """Add the next phase, unless its stored plan and link are not those of its content."""
        if plan != stored[0]:
            raise ChainBroken(
                f"phase {phase.index}: what was committed before its rewards was changed afterwards"
            )
        if self._link(phase, plan, order) != stored[1]:
            raise ChainBroken(
                f"phase {phase.index} does not follow what stands before it: the question, a phase "
                "or the order of its pulls was changed, dropped or moved"
            )
        self.open(phase, plan, order)

    def check_close(self, closing: Closing, stored: tuple[bytes, bytes]) -> None:
        """Close the oldest open phase, unless the digests stored of its end are those of others."""
        index = self.phases
        if closing.rewards != stored[0]:
            raise ChainBroken(f"phase {index}: a reward was changed after the phase was closed")
        if self._closing(closing) != stored[1]:
            raise ChainBroken(
                f"phase {index}: the sums, the limits of its evidence, or the origins of its "
                "rewards were changed after the phase was closed"
            )
        self.close(closing)


@dataclass(frozen=True, eq=False)
class Sealed:
    """A closed phase as it is stored.

    Attributes:
        phase: its pulls, batches and streams.
        commitment, limits, origins: as canonical bytes.
        outcome: the sums of its rewards, for rewards to be maximised.
        order, rewards: digests of its pairs and of its rewards, computed from the stored ones.
        plan, link, kept_rewards, closing: digests that were stored.
    """

    phase: Phase
    commitment: bytes
    limits: bytes
    origins: bytes
    outcome: Outcome
    order: bytes
    rewards: bytes
    plan: bytes
    link: bytes
    kept_rewards: bytes
    closing: bytes


def follow(chain: Chain, sealed: Sealed) -> None:
    """Add a closed phase to a chain; raise an error of one sentence if it does not fit."""
    if sealed.phase.index != chain.phases:
        raise ChainBroken(
            f"phase {chain.phases} is missing: phase {sealed.phase.index} stands in its place"
        )
    follow_plan(chain, sealed.phase, sealed.commitment, sealed.order, (sealed.plan, sealed.link))
    close(chain, sealed)


def close(chain: Chain, sealed: Sealed) -> None:
    """Close the oldest open phase of a chain, if its end is as it was stored."""
    closing = Closing(sealed.rewards, sums_of(sealed.outcome), sealed.limits, sealed.origins)
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
