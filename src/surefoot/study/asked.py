"""The settings of a study: as its file holds them, and as its algorithm is given them."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

from surefoot.algorithms import Settings
from surefoot.errors import InputError
from surefoot.guides import GUIDES
from surefoot.noise import noise_from_dict
from surefoot.study.toml.own import looked_up

NO_MODEL = "inf"  # an infinite misfit in a file: JSON has no such number


def settings_to_dict(settings: Settings) -> dict[str, Any]:
    """As plain values that JSON knows, for a study file: ∞ as text."""
    plain = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return plain | {
        "noise": settings.noise.to_dict(),
        "misfit": settings.misfit if settings.modelled else NO_MODEL,
        "guide": _by_name(settings.guide),
    }


def settings_from_dict(stored: dict[str, Any]) -> Settings:
    """Rebuild what `settings_to_dict` wrote."""
    misfit = math.inf if stored["misfit"] == NO_MODEL else stored["misfit"]
    return Settings(
        **(dict(stored) | {"noise": noise_from_dict(stored["noise"]), "misfit": misfit})
    )


def with_guide(settings: Settings) -> Settings:
    """The settings with the guide itself in the place of its name."""
    return replace(settings, guide=_found(_by_name(settings.guide)))


def _by_name(guide: Any) -> str | None:
    if guide is None or (isinstance(guide, str) and (guide in GUIDES or ":" in guide)):
        return guide
    raise InputError(
        f"guide={guide!r:.80} cannot be kept in a study file: give the name of one "
        f'({", ".join(map(repr, GUIDES))}), or where to find your own, as "module:attribute"'
    )


def _found(guide: str | None) -> Any:
    """What "module:attribute" names; other names as they are."""
    if guide is None or ":" not in guide:
        return guide
    found = looked_up(guide, "guide")
    return found() if isinstance(found, type) else found
