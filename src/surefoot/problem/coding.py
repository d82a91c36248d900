"""The values of parameters as people write them, and the numbers that stand for them.

A number is read exactly or refused. Pairs are numbers everywhere else: the number of a word is its
place in the list of its parameter's values; code that needs an order or a distance sees a column of
0 and 1 for each value instead.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError

DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)


def exact_number(value: Any) -> float:
    """Return a finite number as a float that equals it; refuse text and truth values."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{_shown(value)} is not a number: write one such as 0.5, without quotes")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    return _same(value, number, isinstance(value, Integral))


def number_from_text(text: str) -> float:
    """Return the number that a field of a table or a percentage writes out in decimal digits."""
    written = text.strip()
    if not DECIMAL.fullmatch(written):
        raise InputError(f"{_shown(text)} is not a number: write one such as 1000 or 2.5e-3")
    return _same(written, float(written), bool(WHOLE.fullmatch(written)))


def _same(written: Any, number: float, whole: bool) -> float:
    """Return the float, if it is finite and, for a whole number, the very number that was
    written.
    """
    if not math.isfinite(number):
        raise InputError(f"{_shown(written)} is not a finite number that a computer can hold")
    if whole and int(number) != int(written):
        raise InputError(
            f"{_shown(written)} has more digits than a number can hold, and would become "
            f"{int(number)}: write a number of at most 15 digits"
        )
    return number


def _shown(value: Any) -> str:
    """Return the value in a message; an integer may have more digits than Python prints."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**40:
        return "a whole number of more than 40 digits"
    return f"{value!r:.60}"


def probability(delta: Any) -> float:
    """Return δ as a float, if it is a probability of error."""
    try:
        number = exact_number(delta)
    except InputError:
        number = 0.0
    if isinstance(delta, str):
        raise InputError(
            f"delta={delta!r:.60} is text: write the number without quotes, such as 0.05"
        )
    if not 0 < number < 1:
        raise InputError(
            f"delta={delta!r:.60} is not a probability between 0 and 1: 0.05 "
            f"means sure in 95 of 100 runs"
        )
    return number


Value = float | str | bool
Categories = Mapping[str, Sequence[str | bool]]  # the values of parameters, by name
Category = tuple[str | bool, ...]  # the values of a parameter, in the order of their numbers
TRUTH: Category = (False, True)
TRUTHS = {"false": False, "true": True}  # as texts write them
NO_WORDS = {*TRUTHS, "na", "nan", "null", "inf", "infinity"}


class Coding:
    """The code in which the numbers of a problem's parameters stand for their values.

    Attributes:
        names: of all parameters, in the order of their columns.
        categories: the values of those that are no numbers, by name.
        whole: those that were given as whole numbers, and stay so where they can.
    """

    def __init__(
        self, names: Sequence[str], categories: Categories, whole: Sequence[str] = ()
    ) -> None:
        unknown = [name for name in categories if name not in names]
        if unknown:
            raise InputError(
                f"categories has {unknown[0]!r}, but the parameters are {list(names)}: "
                "use their names"
            )
        self.names = list(names)
        self.categories = {
            name: _distinct(categories[name], name) for name in names if name in categories
        }
        self.whole = [name for name in names if name in whole]
        self._whole = [self.names.index(name) for name in self.whole]
        self._columns = {self.names.index(name): own for name, own in self.categories.items()}

    def check(self, numbers: Array) -> None:
        """Refuse numbers that stand for no value.

        Args:
            numbers: (n_rows, n_parameters).
        """
        for column, own in self._columns.items():
            given = numbers[:, column]
            wrong = given[~np.isin(given, np.arange(len(own)))]
            if len(wrong):
                raise InputError(
                    f"parameter {self.names[column]!r} holds {wrong[0]:g}, which stands for none "
                    f"of its {len(own)} values: give their numbers, 0 for the first"
                )

    def values(self, numbers: Array) -> dict[str, Value]:
        """Return the values that (n_parameters,) numbers stand for, by name."""
        row: list[Value] = numbers.tolist()
        for column, own in self._columns.items():
            row[column] = own[int(numbers[column])]
        for column in self._whole:
            if numbers[column].is_integer():
                row[column] = int(numbers[column])
        return dict(zip(self.names, row, strict=True))

    def column(self, numbers: Array, column: int) -> Sequence[Value] | Array | IntArray:
        """Return the values that one column of (n_rows, n_parameters) numbers stands for."""
        own = self._columns.get(column)
        given = numbers[:, column]
        if column in self._whole and (given == given.round()).all():
            return given.astype(np.int64)
        return given if own is None else [own[int(number)] for number in given]

    def expanded(self, numbers: Array) -> Array:
        """Return (n_rows, n_columns) numbers that can be added and compared: one column for each
        value of a category, 1 where it is that one.
        """
        if not self._columns:
            return numbers
        return np.column_stack([self._expanded(numbers, k) for k in range(len(self.names))])

    @property
    def expanded_names(self) -> list[str]:
        """A name for each column of `expanded`."""
        return [
            label
            for name in self.names
            for label in (
                [f"{name}={written(value)}" for value in self.categories[name]]
                if name in self.categories
                else [name]
            )
        ]

    @property
    def numeric(self) -> list[int]:
        """The columns that are numbers."""
        return [k for k in range(len(self.names)) if k not in self._columns]

    def _expanded(self, numbers: Array, column: int) -> Array:
        own, given = self._columns.get(column), numbers[:, [column]]
        return given if own is None else (given == np.arange(len(own))).astype(np.float64)


class ValueReader:
    """Reads the values of one parameter, one after another; the first decides their kind.

    Attributes:
        category: the values so far, if they are words or truth values; None for numbers.
        whole: whether all values so far are whole numbers, and written as such.
    """

    def __init__(self, first: Any) -> None:
        self.whole = not isinstance(first, bool | str)
        self.category: Category | None = None
        if isinstance(first, bool):
            self.category = TRUTH
        elif isinstance(first, str):
            self.category = ()

    def number(self, value: Any) -> float:
        """Return the number that stands for the value, or an error if it is of another kind."""
        if self.category is None:
            self.whole = self.whole and isinstance(value, Integral)
            return exact_number(value)
        if self.category == TRUTH:
            return float(_truth(value))
        word = _word(value)
        if word not in self.category:
            self.category = (*self.category, word)
        return float(self.category.index(word))

    def read(self, values: Sequence[Any], place: str, first: int = 0) -> list[float]:
        """Return the numbers of all values; an error says at which place, from `first`, its value
        stands.
        """
        numbers = []
        for k, value in enumerate(values, start=first):
            try:
                numbers.append(self.number(value))
            except InputError as error:
                raise InputError(f"{place} {k}: {error}") from None
        return numbers


def typed(fields: Sequence[str]) -> list[Any]:
    """Return the fields of one column of a table: numbers, truth values or words, by the first of
    them.
    """
    texts = [field.strip() for field in fields]
    if not texts or texts[0].lower() in TRUTHS:
        return [TRUTHS.get(text.lower(), text) for text in texts]
    if texts[0][:1].isalpha():
        return texts
    numbers = [number_from_text(text) for text in texts]
    return [int(number) for number in numbers] if all(map(WHOLE.fullmatch, texts)) else numbers


def written(value: Value, style: str = "") -> str:
    """Return a value as text: numbers in the given style, truth values as in TOML and JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else f"{float(value):{style}}"


def _distinct(values: Sequence[Any], name: str) -> Category:
    own = tuple(values)
    if own != TRUTH:
        for value in own:
            _word(value)
    if len(set(own)) < len(own) or not own:
        raise InputError(f"category {name!r} has the values {list(own)}: give each once")
    return own


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{value!r:.60} is neither true nor false, as the values before it are")
    return value


def _word(value: Any) -> str:
    """Return a text that cannot be taken for anything but a word."""
    if not isinstance(value, str):
        raise InputError(f"{value!r:.60} is not a word in quotes, as the values before it are")
    if not value[:1].isalpha() or value != value.strip() or value.lower() in NO_WORDS:
        raise InputError(
            f"{value!r:.60} is neither a number nor a word: write numbers, true and false without "
            "quotes; words begin with a letter, such as 'v2'"
        )
    return value
