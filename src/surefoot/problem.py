"""RobustProblem: arms, what may go wrong with each, and the grouped pairs that every algorithm works on."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError, SurefootWarning
from surefoot.features import FeatureMap, feature_map, feature_names

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

__all__ = ["InputError", "RobustProblem", "SurefootWarning"]

Names = Sequence[str] | None
RANK_TOLERANCE = 1e-9


@dataclass(frozen=True)
class _Grouped:
    """Pairs sorted by arm, with duplicates within an arm merged."""

    parameters: Array
    offsets: IntArray
    perturbation_names: list[str]


class RobustProblem:
    """A finite list of arms, each with a finite list of perturbations; a pair is z = x − y.

    All pairs stand in one array grouped by arm: arm `a` owns `pairs[offsets[a]:offsets[a + 1]]`.

    Attributes:
        parameters: (n_pairs, n_parameters) what is simulated: the perturbed arm x − y.
        features: (n_pairs, n_features) the feature map's image of the parameters.
        pairs: (n_pairs, dimension) the features in a basis of their span, so of full column rank.
        basis: (n_features, dimension) with `pairs = features @ basis`.
        offsets: (n_arms + 1,) where each arm's pairs begin.
    """

    def __init__(
        self,
        arms: ArrayLike,
        perturbations: Sequence[ArrayLike],
        *,
        features: str | FeatureMap = "given",
        arm_names: Names = None,
        perturbation_names: Sequence[Sequence[str]] | None = None,
        parameter_names: Names = None,
    ) -> None:
        arm_array = _matrix(arms, "arms")
        if len(perturbations) != len(arm_array):
            raise InputError(
                f"perturbations has {len(perturbations)} entries, but there are {len(arm_array)} arms: "
                "give one array of perturbations for each arm"
            )
        groups = []
        for number, (arm, given) in enumerate(zip(arm_array, perturbations, strict=True)):
            offsets_of_arm = _matrix(
                given, f"perturbations[{number}]", empty="give it at least one row (zeros: no perturbation)"
            )
            if offsets_of_arm.shape[1] != arm_array.shape[1]:
                raise InputError(
                    f"perturbations[{number}] has {offsets_of_arm.shape[1]} columns, but arms have "
                    f"{arm_array.shape[1]}: a perturbation y is subtracted from its arm x, so give them equal columns"
                )
            groups.append(arm - offsets_of_arm)
        names = None if perturbation_names is None else _joined(perturbation_names, groups)
        self._build(
            np.concatenate(groups),
            np.repeat(np.arange(len(groups)), [len(group) for group in groups]),
            features,
            arm_names,
            names,
            parameter_names,
        )

    @classmethod
    def from_pairs(
        cls,
        pairs: ArrayLike,
        arm_of_pair: ArrayLike,
        *,
        features: str | FeatureMap = "given",
        arm_names: Names = None,
        perturbation_names: Names = None,
        parameter_names: Names = None,
    ) -> RobustProblem:
        """A problem from its pairs: any feature map φ(arm, perturbation) works, not only x − y.

        Args:
            pairs: (n_pairs, n_parameters), in any order.
            arm_of_pair: (n_pairs,) which arm owns each pair, numbered from 0 without holes.
        """
        parameters = _matrix(pairs, "pairs")
        arm = np.asarray(arm_of_pair)
        if arm.shape != (len(parameters),):
            raise InputError(
                f"arm_of_pair has shape {arm.shape}, but there are {len(parameters)} pairs: give one arm number a pair"
            )
        if not np.issubdtype(arm.dtype, np.integer):
            raise InputError(f"arm_of_pair has type {arm.dtype}: give whole numbers, 0 for the first arm")
        present = np.unique(arm)
        if present[0] != 0 or present[-1] != len(present) - 1:
            missing = sorted(set(range(max(int(present[-1]), 0) + 1)) - set(present.tolist()))[:5]
            raise InputError(
                f"arm_of_pair must number the arms 0, 1, 2, … without holes: none for arms {missing}, or negative"
            )
        problem = cls.__new__(cls)
        problem._build(parameters, arm, features, arm_names, perturbation_names, parameter_names)
        return problem

    @classmethod
    def from_boxes(
        cls,
        arms: ArrayLike,
        radii: ArrayLike,
        *,
        features: str | FeatureMap = "given",
        arm_names: Names = None,
        parameter_names: Names = None,
    ) -> RobustProblem:
        """Perturbations are the corners of a box round each arm: exact for linear rewards.

        A linear function is smallest over a box at one of its corners, so the corners lose nothing.

        Args:
            arms: (n_arms, n_parameters).
            radii: half-widths, broadcast to the shape of arms; 0 where a parameter cannot err.
        """
        arm_array = _matrix(arms, "arms")
        try:
            radius = np.broadcast_to(_finite(radii, "radii"), arm_array.shape)
        except ValueError as error:
            raise InputError(
                f"radii of shape {np.shape(radii)} do not fit arms of shape {arm_array.shape}: {error}"
            ) from None
        if (radius < 0).any():
            raise InputError(f"radii must be ≥ 0, the smallest given is {radius.min():g}")
        corners_an_arm = 2 ** int((radius > 0).sum(axis=1).max())
        _require_memory(len(arm_array) * corners_an_arm, arm_array.shape[1], "corners of the boxes")
        corners = [_corners(row) for row in radius]
        return cls(arm_array, corners, features=features, arm_names=arm_names, parameter_names=parameter_names)

    def _build(
        self,
        parameters: Array,
        arm: NDArray[Any],
        features: str | FeatureMap,
        arm_names: Names,
        perturbation_names: Names,
        parameter_names: Names,
        explicit_features: Array | None = None,
    ) -> None:
        _require_memory(parameters.shape[0], parameters.shape[1], "pairs")
        n_arms = int(arm.max()) + 1
        self.arm_names = _names(arm_names, n_arms, "arm")
        self.parameter_names = _names(parameter_names, parameters.shape[1], "parameter")
        grouped = _group(parameters, arm, n_arms, self.arm_names, perturbation_names)
        self.parameters, self.offsets = grouped.parameters, grouped.offsets
        self.perturbation_names = grouped.perturbation_names
        self.feature_kind = features if isinstance(features, str) else "custom"
        if features == "tabular":
            _require_memory(len(self.parameters), len(self.parameters), "tabular features")
        mapped = feature_map(features)(self.parameters) if explicit_features is None else explicit_features
        self.features = _matrix(mapped, "features")
        if len(self.features) != self.n_pairs:
            raise InputError(
                f"the feature map gave {len(self.features)} rows for {self.n_pairs} pairs: it must give one row a pair"
            )
        self.feature_names = feature_names(self.feature_kind, self.parameter_names, self.features.shape[1])
        self.basis = _span(self.features)
        self.pairs = self.features if self.basis.shape[0] == self.basis.shape[1] else self.features @ self.basis
        for array in (self.parameters, self.offsets, self.features, self.pairs, self.basis):
            array.flags.writeable = False
        _refuse_twin_arms(self.features, self.offsets, self.arm_names)

    @property
    def n_pairs(self) -> int:
        return len(self.parameters)

    @property
    def n_arms(self) -> int:
        return len(self.offsets) - 1

    @property
    def dimension(self) -> int:
        """The rank of the features: how many numbers have to be learnt."""
        return int(self.pairs.shape[1])

    @cached_property
    def arm_of_pair(self) -> IntArray:
        """(n_pairs,) the arm that owns each pair."""
        return np.repeat(np.arange(self.n_arms), np.diff(self.offsets))

    def pairs_of(self, arm: int) -> slice:
        """Where the pairs of an arm stand."""
        return slice(int(self.offsets[arm]), int(self.offsets[arm + 1]))

    def pair_means(self, theta: ArrayLike) -> Array:
        """(n_pairs,) mean rewards under θ, given for the features or for their reduced basis."""
        parameter = _finite(theta, "theta")
        if parameter.shape == (self.features.shape[1],):
            return np.asarray(self.features @ parameter)
        if parameter.shape == (self.dimension,):
            return np.asarray(self.pairs @ parameter)
        raise InputError(
            f"theta has shape {parameter.shape}, but the features have {self.features.shape[1]} columns "
            f"(rank {self.dimension}): give one number a column"
        )

    def robust_values(self, theta: ArrayLike) -> Array:
        """(n_arms,) each arm's mean reward under its worst perturbation."""
        return self.worst_of(self.pair_means(theta))

    def worst_of(self, values: Array) -> Array:
        """(n_arms,) the smallest of the given (n_pairs,) values within each arm."""
        return np.minimum.reduceat(values, self.offsets[:-1])

    def worst_pairs(self, theta: ArrayLike) -> IntArray:
        """(n_arms,) the pair at which each arm is worst."""
        means = self.pair_means(theta)
        return np.array([self.offsets[a] + np.argmin(means[self.pairs_of(a)]) for a in range(self.n_arms)])

    def best_arm(self, theta: ArrayLike) -> int:
        """The arm whose worst case is best under θ; the first of several."""
        return int(np.argmax(self.robust_values(theta)))

    def robust_gaps(self, theta: ArrayLike) -> Array:
        """(n_arms,) how far each arm's robust value is below the best; for the best, the distance to the second."""
        values = self.robust_values(theta)
        best = int(np.argmax(values))
        gaps = np.asarray(values[best] - values)
        gaps[best] = np.delete(gaps, best).min() if self.n_arms > 1 else np.inf
        return gaps

    def reduced(self, theta: ArrayLike) -> Array:
        """(dimension,) the θ of the reduced basis with the same mean rewards."""
        solution, *_ = np.linalg.lstsq(self.pairs, self.pair_means(theta), rcond=None)
        return np.asarray(solution)

    def describe_pair(self, pair: int) -> dict[str, Any]:
        """One pair in words: names and parameters."""
        arm = int(self.arm_of_pair[pair])
        return {
            "arm": self.arm_names[arm],
            "perturbation": self.perturbation_names[pair],
            **dict(zip(self.parameter_names, self.parameters[pair].tolist(), strict=True)),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row a pair: arm, perturbation, parameters."""
        from surefoot import tables

        return tables.problem_to_frame(self)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, features: str | FeatureMap = "given") -> RobustProblem:
        """A problem from a table with a column `arm`, optionally `perturbation`, and one column a parameter."""
        from surefoot import tables

        return tables.problem_from_frame(frame, features)

    def to_csv(self, path: str | Path) -> None:
        """Write `to_frame()` as CSV, exact to the last bit."""
        self.to_frame().to_csv(path, index=False)

    @classmethod
    def from_csv(cls, path: str | Path, *, features: str | FeatureMap = "given") -> RobustProblem:
        """Read what `to_csv` wrote, or any table that `from_frame` takes."""
        from surefoot import tables

        return cls.from_frame(tables.read_csv(path), features=features)

    def to_dict(self) -> dict[str, Any]:
        """Everything needed to rebuild the problem to the bit, as plain lists: what JSON and study files hold."""
        return {
            "parameters": self.parameters.tolist(),
            "offsets": self.offsets.tolist(),
            "features": self.feature_kind if self.feature_kind != "custom" else self.features.tolist(),
            "arm_names": self.arm_names,
            "perturbation_names": self.perturbation_names,
            "parameter_names": self.parameter_names,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RobustProblem:
        """Rebuild what `to_dict` described."""
        try:
            parameters, features = _matrix(data["parameters"], "parameters"), data["features"]
            arm = np.repeat(np.arange(len(data["offsets"]) - 1), np.diff(data["offsets"]))
            names = (data["arm_names"], data["perturbation_names"], data["parameter_names"])
        except KeyError as missing:
            raise InputError(f"a problem needs the entry {missing}: write it with to_dict() or to_json()") from None
        if len(arm) != len(parameters) or np.min(np.diff(data["offsets"])) < 1:
            raise InputError(
                f"offsets {data['offsets']!r:.80} do not divide {len(parameters)} pairs among the arms: "
                "write the problem with to_dict() or to_json()"
            )
        explicit = None if isinstance(features, str) else np.array(features, dtype=np.float64)
        problem = cls.__new__(cls)
        problem._build(parameters, arm, features if explicit is None else feature_map("given"), *names, explicit)
        return problem

    def to_json(self) -> str:
        """`to_dict()` as JSON text."""
        import json

        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> RobustProblem:
        """Rebuild what `to_json` wrote."""
        import json

        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError(f"this is not JSON ({error}): give the text that to_json() wrote") from None
        if not isinstance(data, dict):
            raise InputError(f"this JSON holds a {type(data).__name__}: give the object that to_json() wrote")
        return cls.from_dict(data)

    def __repr__(self) -> str:
        size = f"{self.n_arms} arms, {self.n_pairs} pairs, dimension {self.dimension}"
        return f"RobustProblem({size}, features {self.feature_kind!r})"


def _finite(values: ArrayLike, what: str) -> Array:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} is not an array of numbers: {values!r:.80}") from None
    if not np.isfinite(array).all():
        place = np.argwhere(~np.isfinite(array))[0]
        where = ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), place.tolist(), strict=False))
        raise InputError(
            f"{what} holds {array[tuple(place)]} at {where}: replace or remove it; every entry must be finite"
        )
    return array


def _matrix(values: ArrayLike, what: str, empty: str = "give at least one row and one column") -> Array:
    array = _finite(values, what)
    if array.size == 0:
        raise InputError(f"{what} is empty (shape {array.shape}): {empty}")
    if array.ndim != 2:
        raise InputError(f"{what} has shape {array.shape}: give a two-dimensional array, one row for each")
    return array


def _joined(names: Sequence[Sequence[str]], groups: list[Array]) -> list[str]:
    """The names of all arms' perturbations, one after another."""
    if [len(group) for group in names] != [len(group) for group in groups]:
        raise InputError(
            f"perturbation_names has {[len(group) for group in names][:10]} names for arms with "
            f"{[len(group) for group in groups][:10]} perturbations: give one name for each perturbation of each arm"
        )
    return [name for group in names for name in group]


def _names(given: Names, count: int, what: str) -> list[str]:
    if given is None:
        return [f"{what} {k}" for k in range(count)]
    names = [str(name) for name in given]
    if len(names) != count:
        raise InputError(f"{len(names)} {what} names were given for {count} {what}s: give one each")
    if len(set(names)) != count:
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the {what} name {twice!r} stands twice: {what} names must differ")
    return names


def _group(
    parameters: Array, arm: NDArray[Any], n_arms: int, arm_names: list[str], perturbation_names: Names
) -> _Grouped:
    """Sort pairs by arm, keeping their order within it, and merge equal pairs of one arm."""
    if perturbation_names is not None and len(perturbation_names) != len(parameters):
        raise InputError(
            f"{len(perturbation_names)} perturbation names were given for {len(parameters)} pairs: give one each"
        )
    keyed = np.column_stack([arm, parameters + 0.0])  # + 0.0 turns -0.0 into 0.0
    _, first = np.unique(keyed, axis=0, return_index=True)
    if len(first) < len(parameters):
        repeated = sorted(set(range(len(parameters))) - set(first.tolist()))
        warnings.warn(
            f"{len(repeated)} pairs repeat another pair of the same arm and were merged; the first is "
            f"row {repeated[0]} (arm {arm_names[int(arm[repeated[0]])]!r})",
            SurefootWarning,
            stacklevel=4,
        )
    keep = np.sort(first)
    order = keep[np.argsort(arm[keep], kind="stable")]
    counts = np.bincount(arm[order], minlength=n_arms)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    if perturbation_names is not None:
        names = [str(perturbation_names[i]) for i in order]
    else:
        names = [f"perturbation {i - offsets[a]}" for a in range(n_arms) for i in range(offsets[a], offsets[a + 1])]
    return _Grouped(parameters[order], offsets, names)


def _span(features: Array) -> Array:
    """(n_features, dimension) a basis B such that features @ B keeps every inner product with θ and has full rank."""
    norms = np.linalg.norm(features, axis=0)
    if not norms.any():
        raise InputError("all pairs are zero: their rewards cannot depend on the arm, so there is nothing to find")
    scale = np.where(norms > 0, norms, 1.0)
    _, singular, right = np.linalg.svd(features / scale, full_matrices=False)
    rank = int((singular > RANK_TOLERANCE * singular[0]).sum())
    if rank == features.shape[1]:
        return np.eye(rank)
    return np.asarray((right[:rank] / scale).T)


def _corners(radius: Array) -> Array:
    """(2^k, n_parameters) the corners of a box with k sides of positive length, centred on 0."""
    sides = [(-r, r) if r > 0 else (0.0,) for r in radius]
    return np.array(np.meshgrid(*sides, indexing="ij")).reshape(len(radius), -1).T


def _refuse_twin_arms(features: Array, offsets: IntArray, names: list[str]) -> None:
    seen: dict[bytes, int] = {}
    for arm in range(len(offsets) - 1):
        key = np.unique(features[offsets[arm] : offsets[arm + 1]] + 0.0, axis=0).tobytes()
        if key in seen:
            raise InputError(
                f"arms {names[seen[key]]!r} and {names[arm]!r} have identical pairs, so no number of pulls can tell "
                "them apart: remove one of them"
            )
        seen[key] = arm


def _require_memory(rows: int, columns: int, what: str) -> None:
    needed = 8 * rows * columns
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > available / 4:
        raise InputError(
            f"the {what} are {rows} × {columns} numbers, {needed / 2**30:.1f} GiB, too large for this machine's "
            f"{available / 2**30:.1f} GiB: give fewer arms or perturbations, or fewer features"
        )
