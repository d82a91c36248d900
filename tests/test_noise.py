from __future__ import annotations

import json

import numpy as np
import pytest

from surefoot.errors import InputError
from surefoot.noise import Gaussian, Noise, SubGaussian, noise_from_dict


def test_one_scale_or_one_for_each_pair() -> None:
    assert Gaussian(2.0).scales(3).tolist() == [2.0, 2.0, 2.0]
    assert SubGaussian([1.0, 2.0, 3.0]).scales(3).tolist() == [1.0, 2.0, 3.0]


def test_the_callers_array_is_copied() -> None:
    scale = np.ones(2)
    noise = Gaussian(scale)
    scale[:] = -1.0
    assert noise.scales(2).tolist() == [1.0, 1.0]


def test_an_unknown_scale_counts_as_one() -> None:
    assert not Gaussian().known
    assert Gaussian(1.0).known
    assert Gaussian().scales(2).tolist() == [1.0, 1.0]


def test_scales_for_another_number_of_pairs_are_refused() -> None:
    with pytest.raises(InputError, match="the noise has 2 scales, but the problem has 3 pairs"):
        Gaussian([1.0, 2.0]).scales(3)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf, [1.0, 0.0], [], [[1.0]], "loud"])
def test_a_scale_must_be_positive(scale: object) -> None:
    with pytest.raises(InputError, match="must be one positive number, or one for each pair"):
        Gaussian(scale)  # type: ignore[arg-type]


def test_sub_gaussian_noise_needs_a_scale() -> None:
    with pytest.raises(InputError, match="SubGaussian needs a scale"):
        SubGaussian(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("noise", [Gaussian(), Gaussian(0.1), SubGaussian([1.0, 2.5])])
def test_it_survives_json(noise: Noise) -> None:
    again = noise_from_dict(json.loads(json.dumps(noise.to_dict())))
    assert type(again) is type(noise)
    assert again.scales(2).tolist() == noise.scales(2).tolist()
    assert again.known == noise.known


@pytest.mark.parametrize(
    "data", [{}, {"kind": "Cauchy", "scale": 1.0}, {"kind": "SubGaussian", "scale": None}]
)
def test_unknown_noise_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(InputError, match="its kind is Gaussian or SubGaussian"):
        noise_from_dict(data)
