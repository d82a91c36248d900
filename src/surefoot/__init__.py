"""Surefoot: the configuration with the best worst case, with proof, in the fewest simulator
calls.
"""

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

if TYPE_CHECKING:  # the same for type checkers; "as" says that a name is meant to be used from here
    from surefoot.algorithms import Algorithm as Algorithm
    from surefoot.algorithms import Result as Result
    from surefoot.algorithms import Settings as Settings
    from surefoot.algorithms import StopReason as StopReason
    from surefoot.algorithms.oracle import Oracle as Oracle
    from surefoot.algorithms.prime import Prime as Prime
    from surefoot.algorithms.robust_lingape import RobustLinGapE as RobustLinGapE
    from surefoot.algorithms.robust_rage import RobustRage as RobustRage
    from surefoot.algorithms.robust_static import RobustStatic as RobustStatic
    from surefoot.algorithms.stableopt import StableOpt as StableOpt
    from surefoot.algorithms.uniform import Uniform as Uniform
    from surefoot.complexity import complexity as complexity
    from surefoot.design import g_design as g_design
    from surefoot.design import robust_xy_design as robust_xy_design
    from surefoot.design import round_design as round_design
    from surefoot.errors import InputError as InputError
    from surefoot.errors import SurefootWarning as SurefootWarning
    from surefoot.noise import Gaussian as Gaussian
    from surefoot.noise import SubGaussian as SubGaussian
    from surefoot.problem import RobustProblem as RobustProblem
    from surefoot.simulate import LinearSimulator as LinearSimulator
    from surefoot.simulate import identify as identify
    from surefoot.statistics import Outcome as Outcome
    from surefoot.statistics import Phase as Phase
    from surefoot.study import Study as Study
    from surefoot.study import StudyReader as StudyReader

__all__ = [*_CONTENTS, "__version__"]


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for: `import surefoot` and `surefoot --help` stay
    quick.
    """
    if name not in _CONTENTS:
        raise AttributeError(f"module 'surefoot' has no attribute {name!r}")
    value = getattr(importlib.import_module(_CONTENTS[name]), name)
    globals()[name] = value
    return value


class _Package(ModuleType):
    """Keeps `surefoot.complexity` the function: Python binds the module of that name here when it
    is imported.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _CONTENTS and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return sorted(__all__)
