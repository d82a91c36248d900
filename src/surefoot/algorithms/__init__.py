"""One algorithm a file, loaded when it is asked for: by its class, or by its registered name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from surefoot.algorithms.base import Algorithm
from surefoot.algorithms.result import Result
from surefoot.algorithms.settings import Settings, built
from surefoot.algorithms.tally import Tally
from surefoot.algorithms.verdict import ModelCheck, PhaseRecord, StopReason, Verdict
from surefoot.errors import InputError

__all__ = [
    "ALGORITHMS",
    "PEERS",
    "Algorithm",
    "ModelCheck",
    "PhaseRecord",
    "Result",
    "Settings",
    "StopReason",
    "Tally",
    "Verdict",
    "algorithm_from",
    "stored_algorithm",
]

PLANNED = "surefoot.plan.prime"  # in a room of its own
PEERS = {
    "two-stage-rsb": ("peers.two_stage_rsb", "TwoStageRsb"),
    "kn-rsb": ("peers.kn_rsb", "KnRsb"),
    "ak-rsb": ("peers.ak_rsb", "AkRsb"),
    "m-lucb": ("peers.m_lucb", "MLucb"),
    "m-kl-lucb": ("peers.m_kl_lucb", "MKlLucb"),
    "m-racing": ("peers.m_racing", "MRacing"),
    "r-ocba": ("peers.r_ocba", "ROcba"),
    "ar-ocba": ("peers.ar_ocba", "ArOcba"),
    "equal": ("peers.equal", "Equal"),
}
ALGORITHMS = {
    "prime": (PLANNED, "Prime"),
    "robust-rage": ("robust_rage", "RobustRage"),
    "robust-static": ("robust_static", "RobustStatic"),
    "oracle": ("oracle", "Oracle"),
    "stableopt": ("stableopt", "StableOpt"),
    "robust-lingape": ("robust_lingape", "RobustLinGapE"),
    "robust-track-and-stop": ("robust_track_and_stop", "RobustTrackAndStop"),
    "robust-lazy-track-and-stop": ("robust_lazy_track_and_stop", "RobustLazyTrackAndStop"),
    "robust-lingame": ("robust_lingame", "RobustLinGame"),
    "robust-frank-wolfe-sampling": ("robust_frank_wolfe_sampling", "RobustFrankWolfeSampling"),
    "uniform": ("uniform", "Uniform"),
    **PEERS,
}


def __getattr__(name: str) -> Any:
    """Load the class of a registered algorithm."""
    for known, (_, cls) in ALGORITHMS.items():
        if cls == name:
            return _class_of(known)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *(cls for _, cls in ALGORITHMS.values())})


def algorithm_from(choice: str | Algorithm, **options: Any) -> Algorithm:
    """Return the algorithm of that name with its options, or the instance given."""
    if isinstance(choice, Algorithm):
        return choice
    if isinstance(choice, type) and issubclass(choice, Algorithm):
        raise InputError(f"{choice.__name__} is a class: give an instance, {choice.__name__}(…)")
    return built(_class_of(choice), options)


def stored_algorithm(name: str, options: Mapping[str, Any]) -> Algorithm:
    """Return the algorithm that a study file describes: options that it lacks are as they were
    then.
    """
    return _class_of(name).from_options(options)


def _class_of(name: str) -> type[Algorithm]:
    if name not in ALGORITHMS:
        close = get_close_matches(str(name).replace("_", "-").lower(), ALGORITHMS, 1, 0.5)
        hint = f"did you mean {close[0]!r}? There are" if close else "choose"
        raise InputError(
            f"algorithm {name!r} is not known: {hint} {', '.join(ALGORITHMS)}; or give an Algorithm"
        )
    home, cls = home_of(name)
    found: type[Algorithm] = getattr(importlib.import_module(home), cls)
    return found


def home_of(name: str) -> tuple[str, str]:
    """Return the module and the class of a registered algorithm."""
    module, cls = ALGORITHMS[name]
    return (PLANNED if module == PLANNED else f"surefoot.algorithms.{module}"), cls
