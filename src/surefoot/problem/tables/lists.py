"""Problems as lists of named values: arms, what may go wrong with them, and what surrounds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.problem.categories import Reader, Value
from surefoot.problem.features import Function
from surefoot.problem.problem import RobustProblem
from surefoot.problem.tables.labels import NO_PARAMETERS, arm_labels, parameters_of
from surefoot.problem.tables.offsets import OffsetTable, Row, require_text, rows_from

MOST_PAIRS = 2_000_000
NOTHING_GOES_WRONG = Row("none", {})


def problem_from_lists(
    arms: Sequence[Mapping[str, Value]],
    perturbations: Sequence[Mapping[str, Value]] | None,
    environment: Mapping[str, Value],
    features: str | Function,
) -> RobustProblem:
    """The problem of these entries; see `RobustProblem.from_lists`."""
    given = None if perturbations is None else rows_from(perturbations, "perturbations")
    return problem_from_rows(arms, given, environment, features)


def problem_from_rows(
    entries: Sequence[Mapping[str, Value]],
    rows: Sequence[Row] | None,
    environment: Mapping[str, Value],
    features: str | Function,
) -> RobustProblem:
    """The same where perturbations are rows already; None: nothing goes wrong."""
    arms = ArmTable(entries, environment)
    changes = [NOTHING_GOES_WRONG] if rows is None else arms.allowed(rows)
    table = OffsetTable(changes, arms.readers)
    require_size(table.n_pairs(len(arms.names)))
    own = [table.pairs_of(arm, row) for arm, row in zip(arms.names, arms.numbers, strict=True)]
    return RobustProblem.from_pairs(
        np.concatenate([pairs for pairs, _ in own]),
        np.repeat(np.arange(len(own)), [len(pairs) for pairs, _ in own]),
        features=features,
        arm_names=arms.names,
        perturbation_names=[name for _, names in own for name in names],
        parameter_names=list(arms.readers),
        categories={
            name: reader.category
            for name, reader in arms.readers.items()
            if reader.category is not None
        },
        arms=arms.numbers,
    )


def require_size(pairs: int) -> None:
    """Refuse more pairs than can be worked with, before memory is taken for them."""
    if pairs > MOST_PAIRS:
        raise InputError(
            f"arms and perturbations make {f'{pairs:,}' if pairs < 10**15 else 'over 10^15'} "
            f"pairs, and at most {MOST_PAIRS:,} can be worked with: give fewer values to the "
            "grid, fewer parameters to the box, or lists of those that matter"
        )


class ArmTable:
    """Arms and what surrounds them, as numbers.

    Attributes:
        names: of the arms.
        readers: of all parameters by name, those of the environment last.
        numbers: (n_arms, n_parameters).
    """

    def __init__(
        self, entries: Sequence[Mapping[str, Value]], environment: Mapping[str, Value]
    ) -> None:
        if not entries:
            raise InputError("arms: there are none: give at least two")
        own = _same_parameters(entries)
        _refuse_chosen(environment, own)
        self.readers = {name: Reader(entries[0][name]) for name in own}
        columns = [
            self.readers[name].read([entry[name] for entry in entries], f"arms: {name} of entry", 1)
            for name in own
        ]
        self.readers |= {name: Reader(value) for name, value in environment.items()}
        around = [_surrounding(self.readers[name], name, environment[name]) for name in environment]
        surroundings = np.tile(np.array(around).reshape(1, -1), (len(entries), 1))
        self.numbers: Array = np.hstack([np.array(columns).T, surroundings])
        self.names = arm_names(entries)

    def allowed(self, rows: Sequence[Row]) -> Sequence[Row]:
        """The rows, if each changes parameters that there are, of an arm that there is."""
        for number, row in enumerate(rows):
            unknown = [key for key in row.offsets if key not in self.readers]
            if unknown:
                close = get_close_matches(unknown[0], self.readers, 1)
                hint = f"did you mean {close[0]!r}? T" if close else "t"
                raise InputError(
                    f"perturbations: {_place_of(number, row)} changes {unknown[0]!r}, which no arm "
                    f"has, nor the environment: {hint}he parameters are {list(self.readers)}"
                )
        called = set(self.names)
        for number, row in enumerate(rows):
            if row.arm is not None and row.arm not in called:
                raise InputError(
                    f"perturbations: {_place_of(number, row)} is for arm {row.arm!r}: the arms are "
                    f"{self.names[:10]}"
                )
        return rows


def _place_of(number: int, row: Row) -> str:
    """A perturbation's place in its list, counted as people do, and its name."""
    return f"entry {number + 1}" + (f" ({row.name!r})" if row.name else "")


def arm_names(entries: Sequence[Mapping[str, Value]]) -> list[str]:
    """The names that entries give to their arms; where there are none, what varies among them."""
    own = arm_labels([parameters_of(entry) for entry in entries])
    return [str(entry.get("name") or label) for entry, label in zip(entries, own, strict=True)]


def _same_parameters(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of the parameters that all entries have."""
    names = [key for key in entries[0] if key != "name"]
    if "arm" in names:
        raise InputError(
            "arms: a parameter cannot be called 'arm': rename it, to arm_value perhaps"
        )
    for number, entry in enumerate(entries, start=1):
        keys = [key for key in entry if key != "name"]
        if sorted(keys) != sorted(names) or not names:
            raise InputError(
                f"arms: entry {number} has parameters {keys}, the first has {names}: "
                f"all need the same"
            )
        if "name" in entry:
            require_text(entry["name"], f"arms: name of entry {number}")
    return names


def _surrounding(reader: Reader, name: str, value: Value) -> float:
    try:
        return reader.number(value)
    except InputError as error:
        raise InputError(f"environment: {name}: {error}") from None


def _refuse_chosen(environment: Mapping[str, Value], names: list[str]) -> None:
    for name in environment:
        if name in names:
            raise InputError(
                f"environment: {name!r} is a parameter of the arms too: leave it to one of them"
            )
        if name in NO_PARAMETERS:
            raise InputError(f"environment: a parameter cannot be called {name!r}: rename it")
