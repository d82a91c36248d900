"""Constants of PRIME: their limits and their kinds of numbers."""

from __future__ import annotations

from dataclasses import Field, dataclass, fields
from typing import Any

import numpy as np
import pytest

from surefoot.algorithms.prime.constants import (
    COSTS_SAMPLES,
    ENTERS_BOUNDARY,
    boundary,
    samples,
    suitable,
)
from surefoot.errors import InputError


@dataclass
class Some:
    whole: int = boundary(3, 1, 5, "looks that are planned")
    real: float = samples(0.5, 0.0, 1.0, "share that is explored")
    several: tuple[float, ...] = samples((1.0, 2.0), 0.5, 4.0, "sizes that are tried")


CONSTANTS: dict[str, Field[Any]] = {constant.name: constant for constant in fields(Some)}


def test_a_constant_is_a_default_that_says_what_it_means_and_affects() -> None:
    assert Some() == Some(3, 0.5, (1.0, 2.0))
    told = {name: constant.metadata for name, constant in CONSTANTS.items()}
    assert told["whole"]["effect"] == ENTERS_BOUNDARY
    assert told["real"]["effect"] == told["several"]["effect"] == COSTS_SAMPLES
    assert told["real"]["meaning"] == "share that is explored"


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("whole", np.int64(5), 5),
        ("whole", 1, 1),
        ("real", 1, 1.0),
        ("real", np.float64(0.0), 0.0),
        ("several", [1, np.float64(4)], (1.0, 4.0)),
    ],
)
def test_numbers_within_the_limits_become_plain_ones(name: str, given: Any, kept: Any) -> None:
    found = suitable(CONSTANTS[name], given)
    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("whole", 6),
        ("whole", 2.5),
        ("whole", True),
        ("real", -0.1),
        ("real", float("nan")),
        ("real", "0.5"),
        ("several", ()),
        ("several", (0.1, 1.0)),
    ],
)
def test_anything_else_is_refused_by_name(name: str, given: Any) -> None:
    with pytest.raises(InputError, match=f"{name}=.* must"):
        suitable(CONSTANTS[name], given)
