"""Surefoot: the configuration with the best worst case, with proof, in the fewest simulator calls."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_CONTENTS = {
    # the problem
    "RobustProblem": "surefoot.problem",
    "InputError": "surefoot.errors",
    "SurefootWarning": "surefoot.errors",
    # how hard it is
    "complexity": "surefoot.complexity",
    "g_design": "surefoot.design",
    "robust_xy_design": "surefoot.design",
    "round_design": "surefoot.design",
    # solving it
    "Gaussian": "surefoot.noise",
    "SubGaussian": "surefoot.noise",
    "LinearSimulator": "surefoot.simulate",
    "identify": "surefoot.simulate",
    "Algorithm": "surefoot.algorithms",
    "Settings": "surefoot.algorithms",
    "Result": "surefoot.algorithms",
    "StopReason": "surefoot.algorithms",
    "Phase": "surefoot.statistics",
    "Outcome": "surefoot.statistics",
    "Prime": "surefoot.algorithms.prime",
    "RobustRage": "surefoot.algorithms.robust_rage",
    "RobustStatic": "surefoot.algorithms.robust_static",
    "Oracle": "surefoot.algorithms.oracle",
    "StableOpt": "surefoot.algorithms.stableopt",
    "RobustLinGapE": "surefoot.algorithms.robust_lingape",
    "Uniform": "surefoot.algorithms.uniform",
    # with a real simulator
    "Study": "surefoot.study",
    "StudyReader": "surefoot.study",
}

if TYPE_CHECKING:
    from surefoot.algorithms import Algorithm, Result, Settings, StopReason
    from surefoot.errors import InputError, SurefootWarning
    from surefoot.noise import Gaussian, SubGaussian
    from surefoot.problem import RobustProblem
    from surefoot.simulate import LinearSimulator, identify
    from surefoot.statistics import Outcome, Phase
    from surefoot.study import Study, StudyReader

__all__ = [*_CONTENTS, "__version__"]


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for: `import surefoot` and `surefoot --help` stay quick."""
    if name not in _CONTENTS:
        raise AttributeError(f"module 'surefoot' has no attribute {name!r}")
    value = getattr(importlib.import_module(_CONTENTS[name]), name)
    globals()[name] = value
    return value


class _Package(ModuleType):
    """Keeps `surefoot.complexity` the function: Python binds the module of that name here when it is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _CONTENTS and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return sorted(__all__)
