"""One number for each pair, given by names: never by position, which a new arm would shift."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.problem.literals import exact_number, number_from_text
from surefoot.problem.problem import RobustProblem
from surefoot.problem.tables.fields import read_fields

OTHERS = "others"
Key = tuple[str | None, str | None]  # an arm and a perturbation; None: all of them


def pair_numbers(problem: RobustProblem, named: Mapping[str, Any], what: str) -> Array:
    """(n_pairs,) the numbers that a mapping gives.

    Args:
        named: by "arm / perturbation" for one pair, by an arm or a perturbation for all of its
            pairs, by "others" for the rest. What says more precisely which pair is meant counts.
        what: what the numbers are, for messages.
    """
    places: dict[str, list[Key]] = {OTHERS: [(None, None)]}
    for perturbation in problem.perturbation_names:
        places[perturbation] = [(None, perturbation)]
    for arm in problem.arm_names:
        places.setdefault(arm, []).append((arm, None))
    for pair, arm in enumerate(problem.arm_of_pair.tolist()):
        own = (problem.arm_names[arm], problem.perturbation_names[pair])
        places.setdefault(" / ".join(own), []).append(own)
    given: dict[Key, float] = {}
    for name, value in named.items():
        if len(meant := places.get(name, [])) != 1:
            raise InputError(f"{what}: {_unclear(name, meant, list(places))}")
        try:
            given[meant[0]] = exact_number(value)
        except InputError as error:
            raise InputError(f"{what} of {name!r}: {error}") from None
    return _spread(problem, given, what)


def numbers_from_csv(problem: RobustProblem, path: Path, column: str) -> Array:
    """(n_pairs,) the numbers of a table with columns `arm`, `perturbation` and the one named. One
    of the first two may be missing, or blank in a row: then all are meant.
    """
    header, rows = read_fields(path)
    if column not in header or not set(header) <= {"arm", "perturbation", column}:
        raise InputError(
            f"{path} has the columns {header}: it needs {column!r}, and 'arm', 'perturbation' or "
            "both"
        )
    arms, perturbations = set(problem.arm_names), set(problem.perturbation_names)
    given: dict[Key, float] = {}
    for number, row in enumerate(rows):
        entry = {name: field for name, field in zip(header, row, strict=True) if field.strip()}
        key = (entry.get("arm"), entry.get("perturbation"))
        if key in given or key[0] not in {None, *arms} or key[1] not in {None, *perturbations}:
            raise InputError(
                f"{path}: row {number} is for arm {key[0]!r} and perturbation {key[1]!r}, which "
                f"{'had a row before' if key in given else 'do not exist'}: correct it"
            )
        given[key] = number_from_text(entry.get(column, ""))
    return _spread(problem, given, column)


def _spread(problem: RobustProblem, given: Mapping[Key, float], what: str) -> Array:
    """The number of each pair: its own, else its arm's, its perturbation's, or all others'."""
    numbers = np.empty(problem.n_pairs)
    for pair, arm in enumerate(problem.arm_of_pair.tolist()):
        a, p = problem.arm_names[arm], problem.perturbation_names[pair]
        keys: list[Key] = [(a, p), (a, None), (None, p), (None, None)]
        known = [given[key] for key in keys if key in given]
        if not known:
            raise InputError(
                f"{what}: none is given for {f'{a} / {p}'!r}: give it, or `{OTHERS} = …` for all "
                "that are not named"
            )
        if len(known) > 1 and keys[1] in given and keys[2] in given and keys[0] not in given:
            raise InputError(
                f"{what}: {a!r} and {p!r} are both given, and either could be meant for "
                f"{f'{a} / {p}'!r}: give that one too"
            )
        numbers[pair] = known[0]
    return numbers


def _unclear(name: str, meant: list[Key], names: list[str]) -> str:
    if meant:
        return f"{name!r} could mean more than one thing: rename an arm or a perturbation"
    close = get_close_matches(name, names, 1, 0.4)
    hint = f"did you mean {close[0]!r}?" if close else f"pairs are called like {names[-1]!r}"
    return f"there is no {name!r}; {hint}"
