"""Numbers as people write them: read exactly, or refused."""

from __future__ import annotations

import math
import re
from numbers import Integral, Real
from typing import Any

from surefoot.errors import InputError

DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)


def exact_number(value: Any) -> float:
    """A finite number as a float that equals it; text and truth values are none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{_shown(value)} is not a number: write one such as 0.5, without quotes")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    return _same(value, number, isinstance(value, Integral))


def number_from_text(text: str) -> float:
    """The number that a field of a table or a percentage writes out in decimal digits."""
    written = text.strip()
    if not DECIMAL.fullmatch(written):
        raise InputError(f"{_shown(text)} is not a number: write one such as 1000 or 2.5e-3")
    return _same(written, float(written), bool(WHOLE.fullmatch(written)))


def _same(written: Any, number: float, whole: bool) -> float:
    """The float, if it is finite and, for a whole number, the very number that was written."""
    if not math.isfinite(number):
        raise InputError(f"{_shown(written)} is not a finite number that a computer can hold")
    if whole and int(number) != int(written):
        raise InputError(
            f"{_shown(written)} has more digits than a number can hold, and would become "
            f"{int(number)}: write a number of at most 15 digits"
        )
    return number


def _shown(value: Any) -> str:
    """The value in a message; an integer may have more digits than Python prints."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**40:
        return "a whole number of more than 40 digits"
    return f"{value!r:.60}"


def probability(delta: Any) -> float:
    """δ as a float, if it is a probability of error."""
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
