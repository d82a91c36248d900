"""RobustProblem: arms, the perturbations of each, and the grouped pairs of the two."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.problem.coding import Categories, Coding, Value
from surefoot.problem.features import FeatureMap, Function, feature_map, map_from_file
from surefoot.problem.grouping import (
    Groups,
    Labels,
    Names,
    arm_numbers,
    basis_of,
    box_corners,
    finite,
    grouped_by_arm,
    joined,
    matrix,
    names_for,
    nominal_arms,
    perturbed,
    refuse_twin_arms,
    refuse_uncompared,
    refuse_unmeasurable,
    require_memory,
)

if TYPE_CHECKING:
    import pandas as pd

    Given = Sequence[Mapping[str, Value]] | Mapping[str, Any] | pd.DataFrame | str | Path


class _LinearRewards(Groups):
    """Pairs whose mean rewards are linear in their features.

    Attributes:
        features: (n_pairs, n_features).
        pairs: (n_pairs, dimension) the features in a basis of their span, so of full column rank.
    """

    features: Array
    pairs: Array

    @property
    def dimension(self) -> int:
        """The rank of the features: how many numbers have to be learnt."""
        return int(self.pairs.shape[1])

    def pair_means(self, theta: ArrayLike) -> Array:
        """Return (n_pairs,) mean rewards under θ, given for the features or for their reduced
        basis.
        """
        parameter = finite(theta, "theta")
        if parameter.shape == (self.features.shape[1],):
            return np.asarray(self.features @ parameter)
        if parameter.shape == (self.dimension,):
            return np.asarray(self.pairs @ parameter)
        raise InputError(
            f"theta has shape {parameter.shape}, but the features have {self.features.shape[1]} "
            f"columns (rank {self.dimension}): give one number per column"
        )

    def robust_values(self, theta: ArrayLike) -> Array:
        """Return (n_arms,) each arm's mean reward under its worst perturbation."""
        return self.worst_of(self.pair_means(theta))

    def worst_pairs(self, theta: ArrayLike) -> IntArray:
        """Return (n_arms,) the pair at which each arm is worst under θ."""
        return self.worst_pairs_of(self.pair_means(theta))

    def best_arm(self, theta: ArrayLike) -> int:
        """Return the arm whose worst case is best under θ; the first of several."""
        return int(np.argmax(self.robust_values(theta)))

    def robust_gaps(self, theta: ArrayLike) -> Array:
        """Return (n_arms,) how far each robust value is below the best; for the best, above the
        second.
        """
        values = self.robust_values(theta)
        best = int(np.argmax(values))
        gaps = np.asarray(values[best] - values)
        gaps[best] = np.delete(gaps, best).min() if self.n_arms > 1 else np.inf
        return gaps

    def reduced(self, theta: ArrayLike) -> Array:
        """Return (dimension,) the θ of the reduced basis with equal mean rewards."""
        solution, *_ = np.linalg.lstsq(self.pairs, self.pair_means(theta), rcond=None)
        return np.asarray(solution)


WRITE_IT = "write it with to_dict() or to_json()"


@dataclass(frozen=True)
class _Uses:
    """The pairs that can be pulled and those that are compared, as given; None: all of them."""

    pulled: ArrayLike | None = None
    compared: ArrayLike | None = None


@dataclass(frozen=True)
class _Portable:
    """All that a problem is rebuilt from.

    Attributes:
        parameters: (n_pairs, n_parameters), grouped by arm.
        arm: (n_pairs,) the arm that owns each pair.
        features: the entry for `features.map_from_file`.
        arms: (n_arms, n_parameters) the nominal arms, where they are known.
    """

    parameters: Array
    arm: IntArray
    features: Any
    labels: Labels
    arms: Any
    uses: _Uses

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> _Portable:
        """Read the result of `RobustProblem.to_dict`; refuse any other value."""
        try:
            parameters, features = matrix(data["parameters"], "parameters"), data["features"]
            sizes = np.diff(data["offsets"])
            labels = Labels(
                data["arm_names"],
                data["perturbation_names"],
                data["parameter_names"],
                data.get("categories"),  # left out where all parameters are numbers
                data.get("whole", ()),
            )
        except KeyError as missing:
            raise InputError(f"a problem needs the entry {missing}: {WRITE_IT}") from None
        if sizes.sum() != len(parameters) or not (sizes >= 1).all():
            raise InputError(
                f"offsets {data['offsets']!r:.80} do not divide {len(parameters)} pairs among the "
                f"arms: {WRITE_IT}"
            )
        owners = np.repeat(np.arange(len(sizes)), sizes)
        uses = _Uses(data.get("pulled"), data.get("compared"))
        return cls(parameters, owners, features, labels, data.get("arms"), uses)


def _from_json(text: str) -> dict[str, Any]:
    """Return the object that a JSON text holds."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"this is not JSON ({error}): give the text that to_json() wrote"
        ) from None
    if not isinstance(data, dict):
        raise InputError(
            f"this JSON holds a {type(data).__name__}: give the object that to_json() wrote"
        )
    return data


INNER = 1  # values between the ends, without which every value is at one


class RobustProblem(_LinearRewards):
    """A finite list of arms, each with a finite list of perturbations.

    `from_lists` adds perturbations to arms, `paper` subtracts them, as the paper does;
    `from_pairs`, `from_boxes`, `from_csv` and `from_frame` take pairs in other forms.

    All pairs stand in one array grouped by arm: arm `a` owns `pairs[offsets[a]:offsets[a + 1]]`.

    Attributes:
        parameters: (n_pairs, n_parameters) the perturbed arms, which are simulated. Numbers
            stand for words and truth values; `coding` says for which.
        features: (n_pairs, n_features) the feature map's image of the parameters.
        pairs: (n_pairs, dimension) the features in a basis of their span, so of full column rank.
        basis: (n_features, dimension) with `pairs = features @ basis`.
        offsets: (n_arms + 1,) where each arm's pairs begin.
        arms: (n_arms, n_parameters) the nominal arms; None if only their pairs are known.
        coding: the words and truth values that numbers stand for.
    """

    arms: Array | None

    def __init__(self, *_: object, **__: object) -> None:
        raise InputError(
            "RobustProblem(…) does not say whether perturbations are added or subtracted: "
            "RobustProblem.from_lists(arms, perturbations) adds them, by name, and "
            "RobustProblem.paper(arms, perturbations) subtracts them, as the paper does"
        )

    @classmethod
    def paper(
        cls,
        arms: ArrayLike,
        perturbations: Sequence[ArrayLike],
        *,
        features: str | Function = "given",
        arm_names: Names = None,
        perturbation_names: Sequence[Sequence[str]] | None = None,
        parameter_names: Names = None,
    ) -> RobustProblem:
        """Build a problem in the paper's form, with the pairs z = x − y.

        Args:
            arms: (n_arms, n_parameters) the arms x.
            perturbations: for each arm its own (n_perturbations, n_parameters) perturbations y,
                which are subtracted.
        """
        nominal = matrix(arms, "arms")
        groups = perturbed(nominal, perturbations)
        names = None if perturbation_names is None else joined(perturbation_names, groups)
        problem = cls.__new__(cls)
        problem._build(
            np.concatenate(groups),
            np.repeat(np.arange(len(groups)), [len(group) for group in groups]),
            feature_map(features),
            Labels(arm_names, names, parameter_names),
            _Uses(),
        )
        problem.arms = nominal
        return problem

    @classmethod
    def from_pairs(
        cls,
        pairs: ArrayLike,
        arm_of_pair: ArrayLike,
        *,
        features: str | Function = "given",
        arm_names: Names = None,
        perturbation_names: Names = None,
        parameter_names: Names = None,
        categories: Categories | None = None,
        whole: Sequence[str] = (),
        arms: ArrayLike | None = None,
        pulled: ArrayLike | None = None,
        compared: ArrayLike | None = None,
    ) -> RobustProblem:
        """Return a problem from its pairs: any feature map φ(arm, perturbation) works, not only x −
        y.

        Args:
            pairs: (n_pairs, n_parameters), in any order.
            arm_of_pair: (n_pairs,) which arm owns each pair, numbered from 0 without holes.
            categories: the values of parameters that are no numbers, by name: in `pairs`, 0 stands
                for the first of them.
            whole: the names of parameters that are whole numbers: simulators are given integers.
            arms: (n_arms, n_parameters) the nominal arms, if they are known.
            pulled: (n_pairs,) True for pairs that can be pulled; None: all can. Others are judged
                by a model, as "prime" and "robust-rage" do.
            compared: (n_pairs,) True for pairs by which arms are compared; None: all are. Others
                only teach, and it does not matter to which arm they belong.
        """
        parameters = matrix(pairs, "pairs")
        arm = arm_numbers(arm_of_pair, len(parameters))
        problem = cls.__new__(cls)
        labels = Labels(arm_names, perturbation_names, parameter_names, categories, whole)
        uses = _Uses(pulled, compared)
        problem._build(parameters, arm, feature_map(features), labels, uses)
        problem.arms = nominal_arms(arms, problem.coding, problem.n_arms)
        return problem

    @classmethod
    def from_lists(
        cls,
        arms: Given,
        perturbations: Given | None = None,
        *,
        environment: Mapping[str, Value] | None = None,
        features: str | Function = "linear",
    ) -> RobustProblem:
        """Build a problem from named values, as a configuration file writes them.

        Args:
            arms: a list with the parameters of each arm by name (numbers, words or truth values;
                perhaps `name`); a dictionary of the values of each parameter, all combinations of
                which are arms; a data frame with a row for each; or the path of a CSV.
            perturbations: changes by the name of the perturbation, `{"flu": {"demand": "+20%"}}`,
                or as a list, data frame or CSV. A number is added to the arm's own, "-10%" changes
                it by a share, a word or truth value replaces it. In lists and tables perhaps
                `name`, and `arm` for one arm alone. None: arms are not perturbed.
            environment: nominal values of parameters that no arm chooses.
        """
        from surefoot.problem.given import problem_from_lists

        return problem_from_lists(arms, perturbations, environment or {}, features)

    @classmethod
    def from_boxes(
        cls,
        arms: ArrayLike,
        radii: ArrayLike,
        *,
        features: str | Function = "given",
        arm_names: Names = None,
        parameter_names: Names = None,
    ) -> RobustProblem:
        """Perturbations are the corners of a box round each arm: exact for linear rewards.

        A linear function is smallest over a box at one of its corners, so the corners lose nothing.

        Args:
            arms: (n_arms, n_parameters).
            radii: half-widths, broadcast to the shape of arms; 0 where a parameter cannot err.
        """
        arm_array = matrix(arms, "arms")
        corners = box_corners(radii, arm_array.shape)
        return cls.paper(
            arm_array,
            corners,
            features=features,
            arm_names=arm_names,
            parameter_names=parameter_names,
        )

    def _build(
        self,
        parameters: Array,
        arm: NDArray[Any],
        features: FeatureMap,
        labels: Labels,
        uses: _Uses,
    ) -> None:
        require_memory(parameters.shape[0], parameters.shape[1], "pairs")
        self.arm_names = names_for(labels.arms, int(arm.max()) + 1, "arm")
        self.parameter_names = names_for(labels.parameters, parameters.shape[1], "parameter")
        self.coding = Coding(self.parameter_names, labels.categories or {}, labels.whole)
        self.coding.check(parameters)
        grouped = grouped_by_arm(parameters, arm, self.arm_names, labels.perturbations)
        self.parameters, self.offsets = grouped.parameters, grouped.offsets
        self.perturbation_names = grouped.perturbation_names
        self.pulled = grouped.marked(uses.pulled, "pulled")
        self.compared = grouped.marked(uses.compared, "compared")
        columns = self.coding.expanded_names
        width = features.width(self.n_pairs, len(columns))
        require_memory(self.n_pairs, width, f"{features.kind} features")
        self.features = matrix(features.image(self.coding.expanded(self.parameters)), "features")
        if len(self.features) != self.n_pairs:
            raise InputError(
                f"the feature map gave {len(self.features)} rows for {self.n_pairs} "
                f"pairs: it must give one row per pair"
            )
        self.arms = None
        self.feature_map = features.settled(self.features)
        self.feature_names = features.names(columns, self.features.shape[1])
        self.basis = basis_of(self.features)
        full_rank = self.basis.shape[0] == self.basis.shape[1]
        self.pairs = self.features if full_rank else self.features @ self.basis
        for array in (self.parameters, self.offsets, self.features, self.pairs, self.basis):
            array.flags.writeable = False
        if self.compared is not None:
            refuse_uncompared(self.compared, self.offsets, self.arm_names)
        if self.pulled is not None:
            refuse_unmeasurable(self.pairs, self.pulled)
        seen = self.features if self.compared is None else self.features[self.compared]
        refuse_twin_arms(seen, self.compared_offsets, self.arm_names)

    @property
    def feature_kind(self) -> str:
        """The name of the feature map; "custom" for a function of the caller's own."""
        return self.feature_map.kind

    def edges_of(self, arm: int) -> list[str]:
        """Return the parameters of which the arm has the smallest or the largest value, where arms
        are all combinations of values: beyond them may be a better one.
        """
        if self.arms is None:
            return []
        values = [np.unique(column) for column in self.arms.T]
        if math.prod(len(own) for own in values) != self.n_arms:
            return []
        return [
            name
            for name, own, value in zip(self.parameter_names, values, self.arms[arm], strict=True)
            if name not in self.coding.categories
            and len(own) >= INNER + 2
            and value in (own[0], own[-1])
        ]

    def describe_pair(self, pair: int) -> dict[str, Any]:
        """Return one pair in words: names and parameters."""
        arm = int(self.arm_of_pair[pair])
        return {
            "arm": self.arm_names[arm],
            "perturbation": self.perturbation_names[pair],
            **self.values_of(pair),
        }

    def values_of(self, pair: int) -> dict[str, Value]:
        """Return the values that are simulated at a pair, by name."""
        return self.coding.values(self.parameters[pair])

    def arm_named(self, given: str | Mapping[str, Value]) -> str:
        """Return the name of the arm that is given by it, or by its own parameters."""
        if isinstance(given, str):
            found = [name for name in self.arm_names if name == given]
        else:
            known = [(name, self.own_values(k)) for k, name in enumerate(self.arm_names)]
            found = [name for name, own in known if given and given.items() <= own.items()]
        if len(found) == 1:
            return found[0]
        raise InputError(
            f"{given!r:.80} is {'none' if not found else f'{len(found)}'} of the arms: give the "
            f"name of one, or its parameters; they are {', '.join(map(repr, self.arm_names[:10]))}"
        )

    def own_values(self, arm: int) -> dict[str, Value]:
        """Return the nominal arm, by name; where only its pairs are known, the values that they
        share.
        """
        known = self.nominal_values(arm)
        if known is not None:
            return known
        first, *others = [self.values_of(pair) for pair in range(*self.offsets[arm : arm + 2])]
        return {
            name: value
            for name, value in first.items()
            if all(other[name] == value for other in others)
        }

    def nominal_values(self, arm: int) -> dict[str, Value] | None:
        """Return the nominal arm, by name; None if only its pairs are known."""
        return None if self.arms is None else self.coding.values(self.arms[arm])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair: arm, perturbation, parameters."""
        from surefoot.problem.tables import problem_to_frame

        return problem_to_frame(self)

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, *, features: str | Function = "given"
    ) -> RobustProblem:
        """Return a problem from a table: columns `arm`, optionally `perturbation`, one per
        parameter.
        """
        from surefoot.problem.tables import problem_from_frame

        return problem_from_frame(frame, features)

    def to_csv(self, path: str | Path) -> None:
        """Write `to_frame()` as CSV, exact to the last bit."""
        if self.transductive:
            raise InputError(
                "a table does not say which pairs can be pulled, and which are compared: write "
                "to_json()"
            )
        self.to_frame().to_csv(path, index=False)

    @classmethod
    def from_csv(cls, path: str | Path, *, features: str | Function = "given") -> RobustProblem:
        """Read a CSV of `to_csv`, or any table that `from_frame` takes."""
        from surefoot.problem.tables import read_csv

        return cls.from_frame(read_csv(path), features=features)

    def to_dict(self) -> dict[str, Any]:
        """Everything needed to rebuild the problem to the bit, as plain lists for JSON."""
        categories = {name: list(own) for name, own in self.coding.categories.items()}
        return {
            "parameters": self.parameters.tolist(),
            "offsets": self.offsets.tolist(),
            "features": self.feature_map.to_file(),
            "arm_names": self.arm_names,
            "perturbation_names": self.perturbation_names,
            "parameter_names": self.parameter_names,
            **({"categories": categories} if categories else {}),
            **({"whole": self.coding.whole} if self.coding.whole else {}),
            **({} if self.arms is None else {"arms": self.arms.tolist()}),
            **({} if self.pulled is None else {"pulled": self.pulled.tolist()}),
            **({} if self.compared is None else {"compared": self.compared.tolist()}),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RobustProblem:
        """Rebuild a problem from `to_dict`."""
        told = _Portable.from_dict(data)
        problem = cls.__new__(cls)
        features = map_from_file(told.features)
        problem._build(told.parameters, told.arm, features, told.labels, told.uses)
        problem.arms = nominal_arms(told.arms, problem.coding, problem.n_arms)
        return problem

    def to_json(self) -> str:
        """Return `to_dict()` as JSON text."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> RobustProblem:
        """Rebuild a problem from `to_json`."""
        return cls.from_dict(_from_json(text))

    def __repr__(self) -> str:
        size = f"{self.n_arms} arms, {self.n_pairs} pairs, dimension {self.dimension}"
        return f"RobustProblem({size}, features {self.feature_kind!r})"
