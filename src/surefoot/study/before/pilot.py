"""A few pulls before a study: their lengths, their noise, and suggestions from these.

Nothing of it is stored or counts as evidence: pilots use random streams that no study uses.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.limits import Limit
from surefoot.problem.problem import RobustProblem
from surefoot.study.before.rehearsal import given_by
from surefoot.study.forecast import Durations
from surefoot.study.input import Outputs, Reading, from_text
from surefoot.study.pull import Pull, PullFactory, Simulate

SILENT = 1e-9  # a share of the variance below this is rounding: differences never varied
QUIET = 0.05  # share of the largest deviation below which a pair may hide rare rewards
OF_PILOT = 2**62  # blocks from here on: no study has as many pulls
MOST_ONCE = 500  # pairs that are all pulled once; of more, so many spread evenly


@dataclass(frozen=True, eq=False)
class Pilot:
    """The findings of a few pulls.

    Attributes:
        pairs: (n_pulled,) the pairs that were pulled.
        rewards: (n_blocks, n_pulled) with common random numbers in each row.
        times: (n_blocks, n_pulled) seconds that the pulls took.
        repeatable: whether a pull that was made twice gave one reward.
        others: (n_blocks, n_pulled) each, further outputs by name.
        once: the number of further pairs that were pulled once, to see failures.
    """

    pairs: IntArray
    rewards: Array
    times: Array
    repeatable: bool = True
    others: Mapping[str, Array] = field(default_factory=dict)
    once: int = 0

    @property
    def durations(self) -> Durations:
        """The time that each pull took."""
        return Durations(np.tile(self.pairs, len(self.times)), self.times.ravel())

    @property
    def deviations(self) -> Array:
        """(n_pulled,) standard deviations of single pulls."""
        return deviations_of(self.rewards)

    @property
    def _centred(self) -> Array:
        """The rewards about their pairs' means; exactly 0 where they never differed."""
        return _centred(self.rewards)

    @property
    def ratio(self) -> float:
        """The largest standard deviation in the smallest; NaN if one of them is 0."""
        smallest, largest = self.deviations.min(), self.deviations.max()
        return float(largest / smallest) if smallest > 0 else math.nan

    @property
    def skewness(self) -> float:
        """Of the rewards about their pairs' means, all pairs together; 0 without any noise."""
        used = self.deviations > 0
        scores = self._centred[:, used] / self.deviations[used]
        return float((scores**3).mean()) if used.any() else 0.0

    @property
    def shared_variance(self) -> float:
        """The variance of differences under common random numbers, in that of independent pulls:
        the mean over all pairs of pairs; NaN without any noise.
        """
        centred = self._centred
        covariance = centred.T @ centred / (len(centred) - 1)
        own = np.diag(covariance)
        above = np.triu_indices(len(own), 1)
        alone = (own[:, None] + own)[above]
        together = np.maximum(alone - 2 * covariance[above], 0.0)  # below it is rounding
        used = alone > 0
        return float((together[used] / alone[used]).mean()) if used.any() else math.nan

    @property
    def common_share(self) -> float:
        """The share of the variance that common random numbers take out of differences, 0 to 1."""
        left = self.shared_variance
        return 0.0 if math.isnan(left) else float(np.clip(1 - left, 0.0, 0.999))

    def scales(self, n_pairs: int) -> Array:
        """Return (n_pairs,) standard deviations; those of pairs that were not tried are typical
        ones.
        """
        if self.silent:
            raise InputError(
                "the pilot saw no noise at all: is the seed fixed? Use pull.rng(), pull.seed or "
                "{seed}"
            )
        noisy = self.deviations > 0
        scales = np.full(n_pairs, float(np.median(self.deviations[noisy])))
        scales[self.pairs[noisy]] = self.deviations[noisy]
        return scales

    def to_json(self, problem: RobustProblem) -> str:
        """Return it as a file keeps it, with the names of the pairs."""
        names = [list(problem.describe_pair(pair).values()) for pair in self.pairs.tolist()]
        kept = {"pairs": names, "rewards": self.rewards.tolist(), "times": self.times.tolist()}
        if self.others:
            kept["others"] = {name: values.tolist() for name, values in self.others.items()}
        return json.dumps(kept, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, problem: RobustProblem) -> Pilot:
        """Rebuild a pilot from `to_json`, for a problem that has these pairs."""
        places = {
            tuple(problem.describe_pair(pair).values()): pair for pair in range(problem.n_pairs)
        }
        try:
            kept = {"others": {}} | json.loads(text)
            pairs = np.array([places[tuple(names)] for names in kept["pairs"]], dtype=np.int64)
            rewards, times = (np.array(kept[key], dtype=np.float64) for key in ("rewards", "times"))
            others = {name: np.array(v, dtype=np.float64) for name, v in kept["others"].items()}
            found = cls(pairs, rewards, times, others=others)
            shapes = {values.shape for values in (rewards, times, *others.values())}
            if len(shapes) > 1 or rewards.shape[1:] != pairs.shape or len(rewards) < 3:
                raise ValueError
        except (ValueError, TypeError, KeyError, IndexError, RecursionError):
            raise InputError(
                "this is no pilot of these arms and perturbations: make one with `surefoot pilot`"
            ) from None
        return found

    @property
    def two_values(self) -> bool:
        """True if rewards were 0 or 1 alone, as successes and failures are."""
        return bool(np.isin(self.rewards, (0.0, 1.0)).all())

    def two_valued(self, output: str) -> bool:
        """Return whether an output was 0 or 1 alone."""
        return bool(np.isin(self.others[output], (0.0, 1.0)).all())

    @property
    def silent(self) -> bool:
        """True if no two pulls of a pair ever differed."""
        return not self.deviations.any()

    def suggestions(
        self, shares: bool | str = False, ranged: bool = False, limits: Sequence[Limit] = ()
    ) -> list[str]:
        """Return entries that a configuration could have.

        Args:
            shares: the setting of common random numbers.
            ranged: whether it names a range of the rewards.
            limits: those that it has.
        """
        of_rewards = self._of_rewards(shares, ranged, bool(limits))
        return [*self._of_limits(limits), *of_rewards] or [
            "nothing: leave the configuration as it is"
        ]

    def _of_limits(self, limits: Sequence[Limit]) -> list[str]:
        return [
            f"output {limit.output!r} is 0 or 1: give its limit "
            'noise = { kind = "bounded", low = 0, high = 1 }'
            for limit in limits
            if limit.noise.limits is None
            and limit.output in self.others
            and self.two_valued(limit.output)
        ]

    def _of_rewards(self, shares: bool | str, ranged: bool, limited: bool) -> list[str]:
        if self.silent and any(deviations_of(values).any() for values in self.others.values()):
            return []  # the objective has no noise, and the seed is not fixed
        if self.silent and not self.two_values:
            return [
                "all pulls of a pair gave the same reward: is the seed fixed? Use pull.rng(), "
                "pull.seed or {seed}"
            ]
        said = []
        if not self.repeatable:
            said.append(
                "the same pull gave another reward when it was made again: take all randomness "
                "from pull.rng(), pull.seed or {seed}, or nothing can be repeated, and common "
                "random numbers do nothing"
            )
        if self.two_values and not ranged:
            said.append('rewards are 0 or 1: noise = { kind = "bounded", low = 0, high = 1 }')
        if self.shared_variance < 0.8 and not shares:
            choice = "true" if limited else '"auto"'  # which does not go with limits
            said.append(f"differences vary less with common_random_numbers = {choice}")
        quiet = self.deviations.min() < QUIET * self.deviations.max()
        if (abs(self.skewness) > 1 or quiet) and not (self.two_values or ranged or limited):
            why = "some pairs hardly vary" if quiet else "rewards are skewed"
            said.append(
                f"{why}: what is rare decides unseen. rarest = 0.02 waits until a pair was pulled "
                "149 times at delta = 0.05; if rewards have a known range, give it as bounded noise"
            )
        return said


def deviations_of(values: Array) -> Array:
    """Return (n_pulled,) standard deviations of an output: exactly 0 where it never differed.

    Args:
        values: (n_blocks, n_pulled).
    """
    return np.asarray(np.sqrt((_centred(values) ** 2).sum(axis=0) / (len(values) - 1)))


def _centred(values: Array) -> Array:
    differ = np.ptp(values, axis=0) > 0
    return np.asarray(np.where(differ, values - values.mean(axis=0), 0.0))


def run_pilot(
    problem: RobustProblem,
    simulator: Simulate,
    pairs: int,
    pulls: int,
    seed: int,
    outputs: Outputs = Outputs(),  # noqa: B008 - it never changes
) -> Pilot:
    """Pull every pair once and some a few times, one after the other.

    Args:
        pairs: how many of them more than once, spread evenly over the list.
        pulls: of each of these; 3 or more.
        outputs: those that every pull must have.
    """
    if pulls < 3:
        raise InputError(f"{pulls} pulls of a pair say nothing about noise: give 3 or more")
    chosen = _spread_over(problem, max(pairs, 2))
    rest = np.setdiff1d(_spread_over(problem, MOST_ONCE), chosen)
    make = PullFactory(problem, "pilot", seed)
    rewards, times = np.empty((2, pulls, len(chosen)))
    texts: dict[tuple[int, int], str] = {}

    def read(pull: Pull) -> Reading:
        return outputs.read(given_by(simulator, pull))

    for number, pair in enumerate(rest.tolist(), rewards.size):  # first: one may always fail
        read(make(number, 0, pair, OF_PILOT + pulls))
    for block, (place, pair) in product(range(pulls), enumerate(chosen.tolist())):
        began = time.monotonic()
        asked = make(block * len(chosen) + place, 0, pair, OF_PILOT + block)
        rewards[block, place], texts[block, place] = read(asked)
        times[block, place] = time.monotonic() - began
    again = read(make(0, 0, int(chosen[0]), OF_PILOT))
    same = again == Reading(float(rewards[0, 0]), texts[0, 0])
    tables = _tables(texts, rewards.shape, outputs.needed[1:])
    return Pilot(chosen, rewards, times, same, tables, len(rest))


def _spread_over(problem: RobustProblem, wanted: int) -> IntArray:
    """Return so many pairs, spread evenly over the list."""
    places = np.linspace(0, problem.n_pairs - 1, min(wanted, problem.n_pairs))
    return np.unique(places.round().astype(np.int64))


def _tables(
    texts: Mapping[tuple[int, int], str], shape: tuple[int, ...], needed: Sequence[str]
) -> dict[str, Array]:
    """Return the outputs that all pulls have, those that are needed first."""
    found = {place: from_text(text) for place, text in texts.items()}
    common = set.intersection(*(set(each) for each in found.values()))
    tables = {name: np.empty(shape) for name in (*needed, *sorted(common - {*needed}))}
    for place, each in found.items():
        for name, table in tables.items():
            table[place] = each[name]
    return tables
