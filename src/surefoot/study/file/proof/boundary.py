"""A boundary as numbers: stored when a study is made, and never computed again."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from surefoot.certify import (
    Boundary,
    GaussianBoundary,
    LimitedBoundary,
    MixtureBoundary,
    WealthBoundary,
)
from surefoot.errors import InputError

KINDS: dict[str, type[Boundary]] = {
    "gaussian": GaussianBoundary,
    "mixture": MixtureBoundary,
    "wealth": WealthBoundary,
}
LIMITED = "limited"


def boundary_to_dict(boundary: Boundary) -> dict[str, Any]:
    """Return a boundary as plain values that JSON knows."""
    if isinstance(boundary, LimitedBoundary):
        parts = [None if each is None else boundary_to_dict(each) for each in boundary.parts]
        return {"kind": LIMITED, "parts": parts, "deltas": list(boundary.deltas)}
    for kind, cls in KINDS.items():
        if type(boundary) is cls:
            names = inspect.signature(cls).parameters
            return {"kind": kind} | {n: np.asarray(getattr(boundary, n)).tolist() for n in names}
    raise InputError(
        f"a boundary of type {type(boundary).__name__} cannot be kept in a study file: give one of "
        f"{', '.join(cls.__name__ for cls in KINDS.values())}"
    )


def boundary_from_dict(stored: Mapping[str, Any]) -> Boundary:
    """Return the boundary that `boundary_to_dict` described; ValueError if it is none."""
    given = dict(stored)
    if given.get("kind") == LIMITED:
        parts = [None if each is None else boundary_from_dict(each) for each in given["parts"]]
        return LimitedBoundary(parts, given["deltas"])
    cls = KINDS.get(given.pop("kind", ""))
    if cls is None or set(given) != set(inspect.signature(cls).parameters):
        raise ValueError("it is no boundary")
    values = {
        name: np.array(value, dtype=np.float64) if isinstance(value, list) else float(value)
        for name, value in given.items()
    }
    lists = [value for name, value in values.items() if np.ndim(value) and name != "times"]
    if cls is GaussianBoundary:
        lists.append(np.asarray(values["times"]))
    if len({np.shape(each) for each in lists}) > 1:
        raise ValueError("the lists of its boundary are of different lengths")
    return cls(**values)
