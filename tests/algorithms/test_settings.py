from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surefoot.algorithms import Settings
from surefoot.errors import InputError
from surefoot.noise import Gaussian


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delta": 0.0}, "delta=0.0 is not a probability"),
        ({"delta": 1.0}, "is not a probability"),
        ({"delta": "5%"}, "is not a probability"),
        (
            {"noise": 1.0},
            "noise=1.0 does not say what is known about the noise: give surefoot.Gaussian",
        ),
        ({"confidence": "sure"}, "confidence='sure' is not known"),
        ({"tolerance": -0.1}, "tolerance=-0.1 must be a number ≥ 0"),
        ({"tolerance": np.nan}, "tolerance=nan must be a number ≥ 0"),
        ({"budget": -1}, "budget=-1 must be a whole number"),
        ({"budget": 1.5}, "budget=1.5 must be a whole number"),
        ({"budget": np.inf}, "budget=inf must be a whole number"),
        ({"budget": "many"}, "budget='many' must be a whole number"),
        ({"on_misfit": "shrug"}, "on_misfit='shrug' is not known"),
    ],
)
def test_settings_that_cannot_be_used(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Settings(**({"delta": 0.05, "noise": Gaussian(1.0)} | changes))
