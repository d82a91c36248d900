"""An algorithm's own options: plain values for files, and what it refuses to be asked."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from surefoot.algorithms.settings import Settings
from surefoot.errors import InputError
from surefoot.problem.problem import RobustProblem

if TYPE_CHECKING:
    from surefoot.algorithms.base import Algorithm

T = TypeVar("T", bound="Algorithm")


def as_plain(options: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as JSON knows them, nested ones too."""
    return {field.name: _plain(getattr(options, field.name)) for field in fields(options)}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return as_plain(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return [_plain(entry) for entry in value] if isinstance(value, tuple | list) else value


def built(cls: type[T], options: Mapping[str, Any]) -> T:
    """Return an algorithm with these options."""
    try:
        return cls(**options)
    except TypeError as error:
        known = list(inspect.signature(cls).parameters)
        unknown = ", ".join(repr(name) for name in options if name not in known)
        wrong = f"{unknown}; it has {', '.join(known) or 'none'}" if unknown else error
        raise InputError(f"algorithm {cls.name!r} does not take these options: {wrong}") from None


def default_misfit(algorithm: Algorithm) -> float:
    """Return how far a model is trusted if nobody says: only where an algorithm relies on one."""
    return 0.0 if algorithm.needs_model else math.inf


def refuse_unsupported(algorithm: Algorithm, settings: Settings) -> None:
    """Say which of the settings the algorithm cannot do."""
    name = algorithm.name
    if algorithm.needs_scale and not settings.noise.known:
        raise InputError(
            f'{name} needs the noise scale: give Gaussian(scale), or use "prime", which can do '
            "without"
        )
    if settings.parallel > 1 and not algorithm.keeps_workers_busy:
        raise InputError(
            f'{name} has phases of its own sizes: leave parallel at 1, or use "prime", which can '
            "make them larger"
        )
    if settings.phases_in_flight > 1 and not algorithm.overlaps:
        raise InputError(
            f"{name} learns from each phase before it chooses the next: leave in_flight at 1, or "
            'use "prime", which can do without'
        )
    if algorithm.needs_model and not settings.modelled:
        raise InputError(
            f'{name} relies on the linear model: give misfit=0, or use "prime", which can do '
            "without"
        )
    if settings.rules == "paper" and not algorithm.has_paper_policy:
        raise InputError(f'{name} is not an algorithm of the paper: it has only rules="valid"')
    if settings.tolerance > 0 and not algorithm.supports_tolerance:
        raise InputError(f'{name} has no tolerance: leave it at 0, or use "prime"')
    if settings.modelled and settings.misfit > 0 and not algorithm.supports_misfit:
        raise InputError(f'{name} takes its model as exact: leave misfit at 0, or use "prime"')
    if not settings.worst_case and not algorithm.supports_measure:
        raise InputError(
            f'{name} looks for the best worst case: leave measure at "worst", or use "prime"'
        )
    if settings.limits and not algorithm.supports_limits:
        raise InputError(f'{name} looks at no other outputs: leave limits out, or use "prime"')
    for asked in ("rarest", "unseen"):
        if getattr(settings, asked) is not None and not algorithm.waits_for_rare:
            raise InputError(
                f'{name} does not wait for what is rare: leave {asked} out, or use "prime"'
            )
    if settings.cost is not None and not algorithm.weighs_costs:
        raise InputError(f'{name} counts pulls, not what they cost: leave cost out, or use "prime"')
    if settings.aim == "beat baseline" and not algorithm.beats_baselines:
        raise InputError(
            f'{name} does not stop once a baseline is beaten: use aim="certify", or "prime"'
        )
    if settings.aim == "guess" and not algorithm.can_guess:
        raise InputError(
            f'{name} does not spend a budget on a guess: use aim="certify", or "prime"'
        )


def refuse_transductive(algorithm: Algorithm, problem: RobustProblem, settings: Settings) -> None:
    """Refuse pairs that are compared and cannot be pulled, or the other way round, where the
    algorithm or the settings need them to be the same.
    """
    if not problem.transductive:
        return
    if not algorithm.supports_transductive:
        raise InputError(
            f"{algorithm.name} compares the pairs that it pulls, but pulled or compared leave some "
            'out: use "prime" or "robust-rage"'
        )
    if problem.pulled is not None and not settings.modelled:
        raise InputError(
            "pairs that cannot be pulled are known by a model alone: give misfit=0, or how far "
            "means may be from the model"
        )
