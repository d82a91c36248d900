"""Measures: an arm's value from its pairs' mean rewards, as the least of some mixtures of them.

An arm's value is the least q·μ over its *points* q, each a mixture of its pairs. Worst case: every
pair is a point. Mean: one point. The mean of the worst share: q may be w / share at most, w the
weights of the perturbations, and the points are the extreme points of these mixtures. If they are
too many, the points are the pairs, and an arm is the least of all mixtures that are allowed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.problem.coding import exact_number
from surefoot.problem.grouping import Groups, least_mixtures_of, smallest_of

ROUNDING = 1e-12  # entries that differ by less are equal
TOTAL = 1e-6  # by which weights may miss 1 before they are scaled to it
MOST_POINTS = 2000  # of one arm
MOST_ENTRIES = 5_000_000  # of all points
EXAMPLES = '"worst", "mean", {"as planned": 0.7, "flu": 0.3} or CVaR(0.2)'
QUANTILES = ("median", "quantile", "percentile", "var", "value at risk")

Weights = tuple[float, ...]


class _TooManyPointsError(InputError):
    """Raised for an arm that has too many extreme points to list them."""


class Points(NamedTuple):
    """Mixtures of pairs: point r holds `values[starts[r]:starts[r + 1]]` of the pairs beside.

    Attributes:
        offsets: (n_arms + 1,) where the points of each arm begin.
        most: (n_points,) if an arm is the least of mixtures of its points: the largest share of
            each.
    """

    offsets: IntArray
    starts: IntArray
    columns: IntArray
    values: Array
    most: Array | None = None

    def means(self, pair_means: Array) -> Array:
        """Return (n_points,) the points' means."""
        weighed = self.values * pair_means[self.columns]
        return np.asarray(np.add.reduceat(weighed, self.starts[:-1]))

    def values_of(self, pair_means: Array) -> Array:
        """Return (n_arms,) the least mean of each arm's points, or of their mixtures."""
        return values_of(self.means(pair_means), self.offsets, self.most)


def values_of(point_means: Array, offsets: IntArray, most: Array | None) -> Array:
    """Return (n_arms,) the least mean of each arm's points, or of mixtures with so much of each."""
    if most is None:
        return smallest_of(point_means, offsets)
    shares = least_mixtures_of(point_means, offsets, most)
    weighed = np.where(shares > 0, shares * point_means, 0.0)
    return np.asarray(np.add.reduceat(weighed, offsets[:-1]))


class Measure(ABC):
    """The value of an arm, by the means of its pairs."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The measure as part of a sentence: the best …"""

    @abstractmethod
    def to_plain(self) -> Any:
        """Return plain values that JSON knows, from which `measure_from` makes it again."""

    @abstractmethod
    def extreme_points(self, weights: Weights) -> Array:
        """Return (n_points, n) mixtures for pairs of these weights, which add up to 1."""

    @property
    def weights(self) -> Mapping[str, float] | None:
        """Weights by the names of perturbations; None if all are equal."""
        return None

    def points(self, problem: Groups) -> Points:
        """Return the points of all arms of a problem."""
        own = np.split(problem.compared_pairs, problem.compared_offsets[1:-1])
        each = [self.extreme_points(self._weights_of(problem, arm, p)) for arm, p in enumerate(own)]
        entries = sum(int(np.count_nonzero(points)) for points in each)
        if entries > MOST_ENTRIES:
            raise _TooManyPointsError(
                f"the {self.words} of {len(own)} arms takes {entries:,} weights of pairs: give "
                'fewer arms or perturbations, or measure="mean" or "worst"'
            )
        rows, columns = zip(*(np.nonzero(points) for points in each), strict=True)
        before = np.cumsum([0, *(len(points) for points in each)])
        row = np.concatenate([r + first for r, first in zip(rows, before[:-1], strict=True)])
        pairs = [mine[c] for c, mine in zip(columns, own, strict=True)]
        values = [points[points != 0] for points in each]
        starts = np.searchsorted(row, np.arange(before[-1] + 1))
        return Points(before, starts, np.concatenate(pairs), np.concatenate(values))

    def _weights_of(self, problem: Groups, arm: int, own: IntArray) -> Weights:
        n, given = len(own), self.weights
        if given is None:
            return (1.0 / n,) * n
        every: list[str] = getattr(problem, "perturbation_names", [])
        names = [every[pair] for pair in own]
        if len(set(names)) < n or set(names) != set(given):
            raise InputError(
                f"measure has weights of {', '.join(map(repr, given))!s:.200}, but the "
                f"perturbations of arm {arm} are {', '.join(map(repr, names))!s:.200}: give each "
                "of them a weight, by its name"
            )
        return tuple(float(given[name]) for name in names)


@dataclass(frozen=True)
class Worst(Measure):
    """The worst case over the perturbations."""

    @property
    def words(self) -> str:
        return "worst case"

    def to_plain(self) -> str:
        return "worst"

    def extreme_points(self, weights: Weights) -> Array:
        return np.eye(len(weights))

    def points(self, problem: Groups) -> Points:
        """Take the pairs themselves."""
        own, n = problem.compared_pairs, len(problem.compared_pairs)
        return Points(problem.compared_offsets, np.arange(n + 1), own, np.ones(n))


@dataclass(frozen=True)
class _Mean(Measure):
    """The mean over the perturbations.

    Attributes:
        by_name: pairs of a perturbation's name and its weight; None: equal weights.
    """

    by_name: tuple[tuple[str, float], ...] | None = None

    @property
    def weights(self) -> Mapping[str, float] | None:
        return None if self.by_name is None else dict(self.by_name)

    @property
    def words(self) -> str:
        return "mean over its perturbations" if self.by_name is None else "weighted mean"

    def to_plain(self) -> Any:
        return "mean" if self.by_name is None else {"weights": dict(self.by_name)}

    def extreme_points(self, weights: Weights) -> Array:
        return np.array([weights])


class CVaR(Measure):
    """The mean of the worst share of the perturbations, by weight: conditional value at risk.

    Half of twenty perturbations can be chosen in 184,756 ways; from 2,000 on the scale of the noise
    must be stated.

    Args:
        share: from above 0, where it is the worst case, to 1, where it is the mean.
        weights: of the perturbations, by name, adding up to 1; None: equal weights.
    """

    def __init__(self, share: float, weights: Mapping[str, float] | None = None) -> None:
        self.share = _share(share)
        self._by_name = None if weights is None else _by_name(weights)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CVaR) and self.to_plain() == other.to_plain()

    def __hash__(self) -> int:
        return hash((self.share, self._by_name))

    def __repr__(self) -> str:
        named = "" if self._by_name is None else f", weights={dict(self._by_name)}"
        return f"CVaR({self.share:g}{named})"

    @property
    def weights(self) -> Mapping[str, float] | None:
        return None if self._by_name is None else dict(self._by_name)

    @property
    def words(self) -> str:
        return f"mean of its worst {100 * self.share:g} %"

    def to_plain(self) -> Any:
        weights = {} if self._by_name is None else {"weights": dict(self._by_name)}
        return {"cvar": self.share} | weights

    def extreme_points(self, weights: Weights) -> Array:
        return _extreme_points(self._most(weights), repr(self))

    def _most(self, weights: Weights) -> Weights:
        return tuple(min(w / self.share, 1.0) for w in weights)

    def points(self, problem: Groups) -> Points:
        """List the extreme points; if they are too many take all mixtures of the pairs."""
        try:
            return super().points(problem)
        except _TooManyPointsError:
            pairs, offsets = problem.compared_pairs, problem.compared_offsets
            own = np.split(pairs, offsets[1:-1])
            each = [self._most(self._weights_of(problem, arm, p)) for arm, p in enumerate(own)]
            n, most = len(pairs), np.array([share for arm in each for share in arm])
            return Points(offsets, np.arange(n + 1), pairs, np.ones(n), most)


@lru_cache(maxsize=256)
def _extreme_points(most: Weights, named: str) -> Array:
    """Return the extreme points of the mixtures whose entries are at most these.

    All entries but one are 0 or as large as they may be, and that one takes the rest.
    """
    found: dict[bytes, Array] = {}

    def choose(partial: int, others: list[int], left: float, point: Array) -> None:
        if left < -ROUNDING or left > most[partial] + sum(most[i] for i in others) + ROUNDING:
            return
        if others and left > ROUNDING:
            with_it = point.copy()
            with_it[others[0]] = most[others[0]]
            choose(partial, others[1:], left - most[others[0]], with_it)
            choose(partial, others[1:], left, point)
        elif left <= most[partial] + ROUNDING:
            point[partial] = max(left, 0.0)
            found.setdefault((np.rint(point / ROUNDING)).tobytes(), point)
            if len(found) > MOST_POINTS:
                raise _TooManyPointsError(
                    f"{named} of {len(most)} perturbations has more than {MOST_POINTS:,} extreme "
                    "points, each of which would be compared: give fewer perturbations, another "
                    'share, or measure="mean" or "worst"'
                )

    for partial in range(len(most)):
        others = [i for i in range(len(most)) if i != partial]
        choose(partial, others, 1.0, np.zeros(len(most)))
    return np.array(list(found.values()))


def measure_from(given: Any) -> Measure:
    """Return the measure that somebody asks for, in Python or in a file."""
    if isinstance(given, Measure):
        return given
    if isinstance(given, str):
        if given in ("worst", "mean"):
            return Worst() if given == "worst" else _Mean()
        if given.lower().split("(")[0].strip() in QUANTILES:
            raise InputError(
                f"measure={given!r:.60} is a quantile, which is no mean of anything, so that no "
                "number of pulls of its pairs proves it: give CVaR(0.2), the mean beyond a quantile"
            )
    if isinstance(given, Mapping) and given:
        if "cvar" in given and set(given) <= {"cvar", "weights"}:
            return CVaR(given["cvar"], given.get("weights"))
        if set(given) == {"weights"} and isinstance(given["weights"], Mapping):
            return _Mean(_by_name(given["weights"]))
        return _Mean(_by_name(given))
    raise InputError(f"measure={given!r:.80} is not known: give {EXAMPLES}")


def _by_name(given: Any) -> tuple[tuple[str, float], ...]:
    """Return weights in the order of their names."""
    if not isinstance(given, Mapping) or not given:
        raise InputError(f"weights={given!r:.80} must be numbers by the names of perturbations")
    weights = {}
    for name, weight in given.items():
        try:
            weights[str(name)] = exact_number(weight)
        except InputError:
            weights[str(name)] = -1.0
        if not 0 <= weights[str(name)] <= 1:
            raise InputError(
                f"the weight of perturbation {name!r:.60} is {weight!r:.60}: give a number from 0 "
                "to 1"
            )
    total = math.fsum(weights.values())
    if abs(total - 1) > TOTAL:
        raise InputError(
            f"the weights of the perturbations add up to {total:g}: give weights that add up to 1"
        )
    return tuple((name, weight / total) for name, weight in sorted(weights.items()))


def _share(given: Any) -> float:
    try:
        share = exact_number(given)
    except InputError:
        share = -1.0
    if not 0 < share <= 1:
        raise InputError(
            f"CVaR({given!r:.60}) is the mean of no share of the perturbations: give a number "
            "above 0, where it is the worst case, up to 1, where it is the mean"
        )
    return share
