"""Models of the noise. The user must choose: there is no default.

Each model knows itself: its tail, the boundary that its walks need, which tests its data allow, how
a file holds it and what it assumes. A new one is a file here and its name in `NOISE_MODELS`.
"""

from __future__ import annotations

from typing import Any

from surefoot.errors import InputError
from surefoot.noise.base import EvidenceKind, Noise
from surefoot.noise.bounded import Bounded
from surefoot.noise.gaussian import Gaussian
from surefoot.noise.sub_gaussian import SubGaussian

__all__ = [
    "NOISE_MODELS",
    "USAGE",
    "Bounded",
    "EvidenceKind",
    "Gaussian",
    "Noise",
    "SubGaussian",
    "noise_from_dict",
]

NOISE_MODELS: dict[str, type[Noise]] = {
    model.kind: model for model in (Gaussian, SubGaussian, Bounded)
}
USAGE = ", or ".join(model.usage for model in NOISE_MODELS.values())


def noise_from_dict(data: dict[str, Any]) -> Noise:
    """Rebuild a noise model from `Noise.to_dict`."""
    for model in NOISE_MODELS.values():
        if data.get("kind") == model.__name__:
            return model.from_dict(data)
    kinds = " or ".join(model.__name__ for model in NOISE_MODELS.values())
    raise InputError(f"noise {data!r:.80} is not known: its kind is {kinds}")
