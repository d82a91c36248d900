"""A problem as plain lists: what JSON and study files hold of it, checked before it is rebuilt."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.problem.grouping import Labels, matrix

WRITE_IT = "write it with to_dict() or to_json()"


@dataclass(frozen=True)
class Portable:
    """All that a problem is rebuilt from.

    Attributes:
        parameters: (n_pairs, n_parameters), grouped by arm.
        arm: (n_pairs,) the arm that owns each pair.
        features: what `features.map_from_file` takes.
        arms: (n_arms, n_parameters) the arms as nothing goes wrong, where they are known.
    """

    parameters: Array
    arm: IntArray
    features: Any
    labels: Labels
    arms: Any

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Portable:
        """What `RobustProblem.to_dict` described; anything else is refused."""
        try:
            parameters, features = matrix(data["parameters"], "parameters"), data["features"]
            sizes = np.diff(data["offsets"])
            labels = Labels(
                data["arm_names"],
                data["perturbation_names"],
                data["parameter_names"],
                data.get("categories"),  # left out where all parameters are numbers
            )
        except KeyError as missing:
            raise InputError(f"a problem needs the entry {missing}: {WRITE_IT}") from None
        if sizes.sum() != len(parameters) or not (sizes >= 1).all():
            raise InputError(
                f"offsets {data['offsets']!r:.80} do not divide {len(parameters)} pairs among the "
                f"arms: {WRITE_IT}"
            )
        owners = np.repeat(np.arange(len(sizes)), sizes)
        return cls(parameters, owners, features, labels, data.get("arms"))


def from_json(text: str) -> dict[str, Any]:
    """The object that a JSON text holds."""
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
