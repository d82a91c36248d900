"""The simulators of a study: their rewards, their changes, and why these were accepted.

A certificate speaks of one simulator. If a second one gave rewards too, they may be of two
distributions or in two units, and no test of a mean can see it: so the certificate is withheld
until a user states, with a reason that is stored, that the change makes no difference to rewards.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import special

from surefoot.algorithms import Result, StopReason
from surefoot.errors import StudyFileError
from surefoot.problem.problem import RobustProblem

MOST_SAID = 6  # differences of two simulators


@dataclass(frozen=True)
class Source:
    """The code of which a simulator is made.

    Attributes:
        asked: by its caller: the name of a function, or a command and how its output is read.
        files: by name, the digests of a file as it is and, for Python, of its code without remarks.
    """

    asked: Mapping[str, Any]
    files: Mapping[str, Sequence[str]]

    def differences(self, before: Self) -> list[str]:
        """Return the differences from an earlier source, each in a few words, at most six."""
        said = [
            f"{key} = {self.asked.get(key)!r:.80}, was {before.asked.get(key)!r:.80}"
            for key in sorted({*self.asked, *before.asked})
            if self.asked.get(key) != before.asked.get(key)
        ]
        for name in sorted({*self.files, *before.files}):
            now, then = self.files.get(name), before.files.get(name)
            if now is None or then is None:
                said.append(f"{name} is {'new' if then is None else 'gone'}")
            elif not set(now) & set(then):
                said.append(f"{name} changed")
        return said if len(said) <= MOST_SAID else [*said[: MOST_SAID - 1], "and more"]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values that JSON knows."""
        return {"asked": dict(self.asked), "files": {k: list(v) for k, v in self.files.items()}}

    @classmethod
    def from_dict(cls, stored: Any) -> Self:
        """Rebuild a source from `to_dict`."""
        try:
            files = {str(name): [str(one) for one in own] for name, own in stored["files"].items()}
            return cls({str(key): value for key, value in stored["asked"].items()}, files)
        except (TypeError, KeyError, AttributeError) as error:
            raise StudyFileError(
                f"the study file is damaged: a simulator in it cannot be read ({error!s:.100}); "
                "restore it from a copy"
            ) from None


@dataclass(frozen=True)
class UsedSimulator:
    """A simulator that a study was run with.

    Attributes:
        number: stands beside each reward that it gave.
        since: rewards that were there when it was first used.
        pulls: rewards that it gave.
        accepted: why its rewards are those of the first one; None if not accepted.
    """

    number: int
    source: Source
    since: int
    pulls: int = 0
    accepted: str | None = None


class Simulators(list[UsedSimulator]):
    """All simulators of a study, in the order of their first use."""

    @property
    def first(self) -> UsedSimulator | None:
        """The one that all others are compared with: the first that gave a reward."""
        return next((one for one in self if one.pulls), None)

    @property
    def changed(self) -> list[UsedSimulator]:
        """Those that gave rewards beside the first one."""
        return [one for one in self if one.pulls and one is not self.first]

    @property
    def pending(self) -> list[UsedSimulator]:
        """Changes not accepted yet."""
        return [one for one in self.changed if one.accepted is None]

    def known(self, source: Source) -> UsedSimulator | None:
        """Return the one that has this source."""
        return next((one for one in self if not one.source.differences(source)), None)

    def to_plain(self) -> list[list[Any]]:
        """Return the number, source, first use and acceptance of each simulator for JSON."""
        return [[one.number, one.source.to_dict(), one.since, one.accepted] for one in self]

    @property
    def content(self) -> bytes:
        """The canonical bytes of `to_plain`, which the fingerprint of a study covers."""
        return json.dumps(self.to_plain(), sort_keys=True, separators=(",", ":")).encode()

    @classmethod
    def from_plain(cls, stored: Any, origins: Iterable[Origin]) -> Self:
        """Rebuild the simulators from `to_plain`, with the number of rewards of each."""
        pulls: dict[int, int] = {}
        for one in origins:
            pulls[one.simulator] = pulls.get(one.simulator, 0) + one.pulls
        return cls(
            UsedSimulator(number, Source.from_dict(source), since, pulls.get(number, 0), accepted)
            for number, source, since, accepted in stored
        )

    def sentences(self) -> list[str]:
        """Return a sentence for each change: its content, when, and whether it is accepted."""
        first = self.first
        return [
            f"the simulator changed after {one.since} rewards and gave {one.pulls} "
            f"({'; '.join(one.source.differences(first.source))}); "
            + (f"accepted: {one.accepted}" if one.accepted else "not accepted")
            for one in self.changed
            if first is not None
        ]

    def judge(self, result: Result) -> Result:
        """Return a result without its certificate if a change is not accepted.

        Rewards that follow each other are named only once it is: a change is a likelier cause.
        """
        if not self.pending:
            return result
        if result.certified or result.reason is StopReason.PULLS_DEPEND:
            return replace(result, certified=False, reason=StopReason.SIMULATOR_CHANGED)
        return replace(result, confidence_later=None)


USUAL = 0.01  # share of pulls that failing disks, networks and licences explain
LEVEL = 0.01  # of the exact test that no larger share of an arm's pulls fails


class Origin(NamedTuple):
    """The pulls of one pair in one phase whose rewards one simulator gave.

    Attributes:
        simulator: its number; 0: the rewards were told by hand.
        pulls: their number.
        retried: pulls that failed, and gave a reward when they were tried again.
        counted: failed pulls that count as a given reward.
    """

    pair: int
    simulator: int
    pulls: int
    retried: int
    counted: int


def origins_bytes(origins: Iterable[Origin]) -> bytes:
    """Return the origins of a phase's rewards as canonical bytes."""
    return np.array(sorted(origins), dtype="<i8").tobytes()


def origins_from(content: bytes) -> list[Origin]:
    """Read origins from `origins_bytes`."""
    rows = np.frombuffer(content, dtype="<i8").reshape(-1, len(Origin._fields))
    return [Origin(*row) for row in rows.tolist()]


class FailureCounts(dict[int, tuple[int, int, int]]):
    """The number of pulls of each pair with a reward, of those that failed before they gave it,
    and of failed ones that count as a given reward.
    """

    @classmethod
    def of(cls, origins: Iterable[Origin], first: UsedSimulator | None) -> Self:
        """Add up the pulls of each pair, and the failures of the first simulator."""
        found, number = cls(), first.number if first else None
        for one in origins:
            failed = (one.retried, one.counted) if one.simulator == number else (0, 0)
            told, retried, counted = map(add, found.get(one.pair, (0, 0, 0)), (one.pulls, *failed))
            found[one.pair] = told, retried, counted
        return found

    def by_arm(self, problem: RobustProblem) -> dict[str, tuple[int, int, int]]:
        """Return the sums of each arm of which a pull failed."""
        found: dict[str, tuple[int, int, int]] = {}
        for pair, counts in self.items():
            arm = problem.arm_names[int(problem.arm_of_pair[pair])]
            told, retried, counted = map(add, found.get(arm, (0, 0, 0)), counts)
            found[arm] = told, retried, counted
        return {arm: counts for arm, counts in found.items() if any(counts[1:])}

    def sentences(self, problem: RobustProblem) -> list[str]:
        """Return a sentence for each arm with failures: their number and their treatment."""
        said = []
        for arm, (told, retried, counted) in self.by_arm(problem).items():
            if retried:
                said.append(
                    f"{retried} of {told} pulls of {arm!r} failed, and gave a reward when they "
                    "were tried again with the same seed"
                )
            if counted:
                said.append(
                    f"{counted} of {told} pulls of {arm!r} failed, and count as was asked "
                    "with on_failure"
                )
        return said

    def judge(self, result: Result) -> Result:
        """Return a result without its certificate if failures seem to depend on the reward."""
        found = self.by_arm(result.problem).values()
        if not any(r > 0 and special.bdtrc(r - 1, told, USUAL) < LEVEL for told, r, _ in found):
            return result
        if result.certified:
            return replace(result, certified=False, reason=StopReason.FAILURES_DEPEND)
        return replace(result, confidence_later=None)


def remarks(simulators: Simulators, tries: FailureCounts, problem: RobustProblem) -> list[str]:
    """Return a sentence for each change of the simulator, and for each kind of pull that failed."""
    return [*simulators.sentences(), *tries.sentences(problem)]
