"""Pairs grouped by arm: their worst cases, their span, and all checks of a caller's arrays.

Values stand in a row, group after group; group g owns those from `offsets[g]` to `offsets[g + 1]`.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError, SurefootWarning
from surefoot.problem.coding import Categories, Coding


def smallest_of(values: Array, offsets: IntArray, axis: int = -1) -> Array:
    """Return the smallest value of each group, along one axis: n values become n_groups."""
    return np.asarray(np.minimum.reduceat(values, offsets[:-1], axis=axis))


def least_mixtures_of(values: Array, offsets: IntArray, most: Array) -> Array:
    """Return (n_entries,) shares q ≤ most of each group at which Σ q v is least and Σ q is 1: the
    smallest values have as much as they may.
    """
    group = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((values, group))
    room = most[order]
    before = np.cumsum(room) - room
    before -= np.repeat(before[offsets[:-1]], np.diff(offsets))
    shares = np.empty_like(room)
    shares[order] = np.clip(1.0 - before, 0.0, room)
    return shares


def largest_of(values: Array, offsets: IntArray, axis: int = -1) -> Array:
    """Return the largest value of each group, along one axis: n values become n_groups."""
    return np.asarray(np.maximum.reduceat(values, offsets[:-1], axis=axis))


def places_of_smallest(values: Array, offsets: IntArray) -> IntArray:
    """Return (n_groups,) where the smallest of (n,) values stands in each group: the first of
    equals.

    A group in which nothing is smallest, because a value is not a number, gives its first place.
    """
    smallest = np.repeat(smallest_of(values, offsets), np.diff(offsets))
    places = np.where(values == smallest, np.arange(len(values)), len(values))
    first = np.minimum.reduceat(places, offsets[:-1])
    return np.where(first < len(values), first, offsets[:-1])


def members_of(groups: IntArray, offsets: IntArray) -> tuple[IntArray, IntArray]:
    """Return the places of all members of these groups, and (n + 1,) where each group begins in
    them.
    """
    begins = offsets[groups]
    sizes = offsets[groups + 1] - begins
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return np.arange(starts[-1]) + np.repeat(begins - starts[:-1], sizes), starts


class Groups:
    """Pairs in groups, one for each arm.

    Where an arm is worst counts among the pairs that are compared; they need not be those that can
    be pulled.

    Attributes:
        offsets: (n_arms + 1,) where each arm's pairs begin.
        pulled: (n_pairs,) True for pairs that can be pulled; None: all can.
        compared: (n_pairs,) True for pairs by which arms are compared; None: all are.
    """

    offsets: IntArray
    pulled: NDArray[np.bool_] | None = None
    compared: NDArray[np.bool_] | None = None

    @property
    def transductive(self) -> bool:
        """True if the pairs that are compared are not those that can be pulled."""
        return self.pulled is not None or self.compared is not None

    @cached_property
    def pullable(self) -> IntArray:
        """The pairs that can be pulled, in order."""
        return np.arange(self.n_pairs) if self.pulled is None else np.flatnonzero(self.pulled)

    @cached_property
    def compared_pairs(self) -> IntArray:
        """The pairs by which arms are compared, in order."""
        return np.arange(self.n_pairs) if self.compared is None else np.flatnonzero(self.compared)

    @cached_property
    def compared_offsets(self) -> IntArray:
        """(n_arms + 1,) where each arm's pairs begin among those that are compared."""
        return np.searchsorted(self.compared_pairs, self.offsets)

    @property
    def n_pairs(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_arms(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def arm_of_pair(self) -> IntArray:
        """(n_pairs,) the arm that owns each pair."""
        return np.repeat(np.arange(self.n_arms), np.diff(self.offsets))

    def pairs_of(self, arm: int) -> slice:
        """Return where the pairs of an arm stand."""
        return slice(int(self.offsets[arm]), int(self.offsets[arm + 1]))

    def worst_of(self, values: Array) -> Array:
        """Return (…, n_arms) the smallest of the given (…, n_pairs) values within each arm."""
        return smallest_of(self._compared_only(values), self.offsets)

    def worst_pair(self, arm: int, values: Array) -> int:
        """Return the pair at which the given (n_pairs,) values are smallest within the arm."""
        own = self.pairs_of(arm)
        return int(own.start + np.argmin(self._compared_only(values)[own]))

    def worst_pairs_of(self, values: Array) -> IntArray:
        """Return (n_arms,) the pair at which the given (n_pairs,) values are smallest within each
        arm.
        """
        return places_of_smallest(self._compared_only(values), self.offsets)

    def _compared_only(self, values: Array) -> Array:
        return values if self.compared is None else np.where(self.compared, values, np.inf)


RANK_TOLERANCE = 1e-9


def basis_of(features: Array) -> Array:
    """Return (n_features, dimension) B: features @ B has full rank and keeps all products
    with θ.
    """
    norms = np.linalg.norm(features, axis=0)
    if not norms.any():
        raise InputError(
            "all pairs are zero: their rewards cannot depend on the arm, so there is "
            "nothing to find"
        )
    scale = np.where(norms > 0, norms, 1.0)
    _, singular, right = np.linalg.svd(features / scale, full_matrices=False)
    rank = int((singular > RANK_TOLERANCE * singular[0]).sum())
    if rank == features.shape[1]:
        return np.eye(rank)
    return np.asarray((right[:rank] / scale).T)


Names = Sequence[str] | None


@dataclass(frozen=True)
class Labels:
    """The names that a caller gave; None: numbered names."""

    arms: Names = None
    perturbations: Names = None
    parameters: Names = None
    categories: Categories | None = None
    whole: Sequence[str] = ()


def finite(values: ArrayLike, what: str) -> Array:
    """Return a copy as an array of finite numbers; errors call it `what`."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} is not an array of numbers: {values!r:.80}") from None
    if not np.isfinite(array).all():
        place = np.argwhere(~np.isfinite(array))[0]
        axes = ("row", "column") if array.ndim > 1 else ("entry",)
        where = ", ".join(f"{axis} {i}" for axis, i in zip(axes, place.tolist(), strict=False))
        at = f" at {where}" if where else ""
        raise InputError(
            f"{what} holds {array[tuple(place)]}{at}: replace or remove it; every "
            f"entry must be finite"
        )
    return array


def matrix(
    values: ArrayLike, what: str, empty: str = "give at least one row and one column"
) -> Array:
    """Return finite numbers in rows and columns; `empty` is the remedy without any."""
    array = finite(values, what)
    if array.size == 0:
        raise InputError(f"{what} is empty (shape {array.shape}): {empty}")
    if array.ndim != 2:
        raise InputError(
            f"{what} has shape {array.shape}: give a two-dimensional array, one row for each"
        )
    return array


def perturbed(arms: Array, perturbations: Sequence[ArrayLike]) -> list[Array]:
    """For each arm x the rows x − y, one for each of its perturbations y."""
    if len(perturbations) != len(arms):
        raise InputError(
            f"perturbations has {len(perturbations)} entries, but there are {len(arms)} arms: "
            "give one array of perturbations for each arm"
        )
    groups = []
    for number, (arm, given) in enumerate(zip(arms, perturbations, strict=True)):
        own = matrix(
            given,
            f"perturbations[{number}]",
            empty="give it at least one row (zeros: no perturbation)",
        )
        if own.shape[1] != arms.shape[1]:
            raise InputError(
                f"perturbations[{number}] has {own.shape[1]} columns, but arms have "
                f"{arms.shape[1]}: a perturbation y is subtracted from its arm x, so "
                f"give them equal columns"
            )
        groups.append(arm - own)
    return groups


def nominal_arms(given: ArrayLike | None, coding: Coding, n_arms: int) -> Array | None:
    """Return (n_arms, n_parameters) the nominal arms, where they are known."""
    if given is None:
        return None
    arms = matrix(given, "arms")
    if arms.shape != (n_arms, len(coding.names)):
        raise InputError(
            f"arms have shape {arms.shape}, but the problem has {n_arms} arms of "
            f"{len(coding.names)} parameters: give one row for each arm"
        )
    coding.check(arms)
    return arms


def box_corners(radii: ArrayLike, shape: tuple[int, ...]) -> list[Array]:
    """For each arm the (2^k, n_parameters) corners of a box about 0 with k positive sides."""
    given = finite(radii, "radii")
    try:
        radius = np.broadcast_to(given, shape)
    except ValueError:
        raise InputError(
            f"radii of shape {given.shape} do not fit arms of shape {shape}: give one number, one "
            "for each parameter, or one for each parameter of each arm"
        ) from None
    if (radius < 0).any():
        raise InputError(f"radii must be ≥ 0, the smallest given is {radius.min():g}")
    corners_an_arm = 2 ** int((radius > 0).sum(axis=1).max())
    require_memory(shape[0] * corners_an_arm, shape[1], "corners of the boxes")
    sides = [[(-r, r) if r > 0 else (0.0,) for r in row] for row in radius]
    return [np.array(list(itertools.product(*box))) for box in sides]


def arm_numbers(arm_of_pair: ArrayLike, n_pairs: int) -> NDArray[Any]:
    """Return (n_pairs,) whole numbers that use each of 0, 1, …, n_arms − 1."""
    arm = np.asarray(arm_of_pair)
    if arm.shape != (n_pairs,):
        raise InputError(
            f"arm_of_pair has shape {arm.shape}, but there are {n_pairs} pairs: give "
            f"one arm number a pair"
        )
    if not np.issubdtype(arm.dtype, np.integer):
        raise InputError(
            f"arm_of_pair has type {arm.dtype}: give whole numbers, 0 for the first arm"
        )
    present = np.unique(arm)
    if present[0] != 0 or present[-1] != len(present) - 1:
        missing = np.setdiff1d(np.arange(len(present)), present)[:5].tolist()
        wrong = f"it holds {present[0]}" if present[0] < 0 else f"none for arms {missing}"
        raise InputError(f"arm_of_pair must number the arms 0, 1, 2, … without holes: {wrong}")
    return arm


def names_for(given: Names, count: int, what: str) -> list[str]:
    """Return the names given, all different, or "arm 0", "arm 1", … where `what` is "arm"."""
    if given is None:
        return [f"{what} {k}" for k in range(count)]
    names = [str(name) for name in given]
    if len(names) != count:
        raise InputError(f"{len(names)} {what} names were given for {count} {what}s: give one each")
    if len(set(names)) != count:
        twice, _ = Counter(names).most_common(1)[0]
        raise InputError(f"the {what} name {twice!r} stands twice: {what} names must differ")
    return names


def joined(names: Sequence[Sequence[str]], groups: list[Array]) -> list[str]:
    """Return the names of all arms' perturbations, one after another."""
    if [len(group) for group in names] != [len(group) for group in groups]:
        raise InputError(
            f"perturbation_names has {[len(group) for group in names][:10]} names for arms with "
            f"{[len(group) for group in groups][:10]} perturbations: give one name "
            f"for each perturbation of each arm"
        )
    return [name for group in names for name in group]


@dataclass(frozen=True)
class _Grouped:
    """Pairs sorted by arm, with duplicates within an arm merged.

    Attributes:
        parameters: (n_pairs, n_parameters).
        offsets: (n_arms + 1,) where each arm's pairs begin.
        perturbation_names: one per pair.
        places: (n_given,) where each pair that was given stands now.
    """

    parameters: Array
    offsets: IntArray
    perturbation_names: list[str]
    places: IntArray

    def marked(self, given: ArrayLike | None, what: str) -> NDArray[np.bool_] | None:
        """Return (n_pairs,) True where any given pair at that place is marked; None if all are."""
        if given is None:
            return None
        marks = np.asarray(given)
        if marks.shape != self.places.shape or marks.dtype != np.bool_:
            raise InputError(
                f"{what} has shape {marks.shape} and type {marks.dtype}, but there are "
                f"{len(self.places)} pairs: give True or False for each"
            )
        found = np.bincount(self.places, marks, len(self.parameters)) > 0
        return None if found.all() else found


def grouped_by_arm(
    parameters: Array, arm: NDArray[Any], arm_names: list[str], perturbation_names: Names
) -> _Grouped:
    """Sort pairs by arm, keeping their order within it, and merge equal pairs of one arm."""
    if perturbation_names is not None and len(perturbation_names) != len(parameters):
        raise InputError(
            f"{len(perturbation_names)} perturbation names were given for "
            f"{len(parameters)} pairs: give one each"
        )
    keyed = np.column_stack([arm, parameters + 0.0])  # + 0.0 turns -0.0 into 0.0
    _, first, same = np.unique(keyed, axis=0, return_index=True, return_inverse=True)
    if len(first) < len(parameters):
        repeated = sorted(set(range(len(parameters))) - set(first.tolist()))
        warnings.warn(
            f"{len(repeated)} pairs repeat another pair of the same arm and were merged; the first "
            f"is row {repeated[0]} (arm {arm_names[int(arm[repeated[0]])]!r})",
            SurefootWarning,
            stacklevel=4,  # the caller of RobustProblem
        )
    keep = np.sort(first)
    order = keep[np.argsort(arm[keep], kind="stable")]
    sizes = np.bincount(arm[order], minlength=len(arm_names))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if perturbation_names is not None:
        names = [str(perturbation_names[i]) for i in order]
    else:
        names = [f"perturbation {k}" for size in sizes for k in range(size)]
    place_of = np.empty(len(parameters), dtype=np.int64)
    place_of[order] = np.arange(len(order))
    return _Grouped(parameters[order], offsets, names, place_of[first[same.ravel()]])


def refuse_unmeasurable(pairs: Array, pulled: NDArray[np.bool_]) -> None:
    """Refuse pulls that do not measure every direction in which pairs differ."""
    rank = np.linalg.matrix_rank(pairs[pulled]) if pulled.any() else 0
    if rank < pairs.shape[1]:
        raise InputError(
            f"the {int(pulled.sum())} pairs that can be pulled measure {rank} of the "
            f"{pairs.shape[1]} directions of the pairs, so nothing is learnt of the others: let "
            "more pairs be pulled"
        )


def refuse_uncompared(compared: NDArray[np.bool_], offsets: IntArray, names: list[str]) -> None:
    """Refuse arms without any compared pair."""
    left_out = np.flatnonzero(~np.logical_or.reduceat(compared, offsets[:-1]))
    if len(left_out):
        raise InputError(
            f"arm {names[left_out[0]]!r} has no pair that is compared: mark one, or leave out the "
            "arm"
        )


def refuse_twin_arms(features: Array, offsets: IntArray, names: list[str]) -> None:
    """Refuse two arms with equal pairs."""
    rows = np.ascontiguousarray(features + 0.0)  # −0 is 0
    cells = rows.view(f"V{rows.shape[1] * rows.itemsize}").ravel().tolist()
    seen: dict[frozenset[bytes], int] = {}
    for arm in range(len(offsets) - 1):
        key = frozenset(cells[offsets[arm] : offsets[arm + 1]])
        if key in seen:
            raise InputError(
                f"arms {names[seen[key]]!r} and {names[arm]!r} have identical pairs, so no number "
                "of pulls can tell them apart: remove one of them"
            )
        seen[key] = arm


def require_memory(rows: int, columns: int, what: str) -> None:
    """Refuse an array of more than a quarter of the machine's memory, before it is built."""
    needed = 8 * rows * columns
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > available / 4:
        raise InputError(
            f"the {what} are {rows} × {columns} numbers, {min(needed, 2**80) / 2**30:.1f} GiB, "
            f"too large for this machine's "
            f"{available / 2**30:.1f} GiB: give fewer arms or perturbations, or fewer features"
        )
