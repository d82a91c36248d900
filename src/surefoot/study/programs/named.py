"""Functions of named parameters as simulators of pulls: `simulate(nurses, doctors, rng)`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

from surefoot.errors import InputError
from surefoot.study.outputs import Simulated
from surefoot.study.pull import Pull

RANDOM = ("rng", "seed", "stream", "pull")  # with these a pull is repeatable
OFFERED = (*RANDOM, "arm", "perturbation")
EMPTY, BY_NAME = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
ALL_OTHERS, ANY_PLACES = inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL


class Named:
    """A function that is called with what its signature names.

    A function of one argument that is called like no parameter is given the pull itself, which is
    a mapping of the parameters too.

    Attributes:
        function: what is called.
        names: the arguments by name; None: the pull alone.
        module: where a configuration says that the function is; it may come from elsewhere.
        raised: what the function raised last in this process.

    Args:
        parameters: the names of what is simulated.
    """

    def __init__(
        self,
        function: Callable[..., Simulated],
        parameters: Sequence[str],
        module: str | None = None,
    ) -> None:
        if not callable(function):
            raise InputError(
                f"the simulator is {function!r:.80}, which cannot be called: give a function such "
                f"as simulate({', '.join([*parameters[:3], 'rng'])}) that returns one number"
            )
        self.function, self.module = function, module
        self.raised: BaseException | None = None
        self.names = _arguments(function, list(parameters))

    @property
    def __wrapped__(self) -> Callable[..., Simulated]:
        """The function, for whoever looks for its source."""
        return self.function

    @property
    def title(self) -> str:
        """The name of the function."""
        inner = self.function
        while isinstance(inner, functools.partial):
            inner = inner.func
        return getattr(inner, "__name__", type(inner).__name__).strip("<>")

    @property
    def is_repeatable(self) -> bool:
        """True if the function asks for the random streams of its pull."""
        return self.names is None or any(name in RANDOM for name in self.names)

    def __call__(self, pull: Pull) -> Simulated:
        """Return what the function gives for a pull."""
        try:
            if self.names is None:
                return self.function(pull)
            return self.function(**{name: _argument(pull, name) for name in self.names})
        except (Exception, SystemExit) as error:
            self.raised = error
            raise


def _argument(pull: Pull, name: str) -> Any:
    if name in pull.parameters:
        return pull.parameters[name]
    if name == "pull":
        return pull
    return pull.rng() if name == "rng" else getattr(pull, name)


def _arguments(function: Callable[..., Simulated], parameters: list[str]) -> list[str] | None:
    """Return the names that a function is called with; None: it is given the pull."""
    try:
        taken = inspect.signature(function).parameters
    except (TypeError, ValueError):  # compiled, without a signature
        return None
    named = [name for name, one in taken.items() if one.kind not in (ALL_OTHERS, ANY_PLACES)]
    needed = [name for name in named if taken[name].default is EMPTY]
    known = [*parameters, *OFFERED]
    if _takes_a_pull(taken, needed, known):
        return None
    unknown = [name for name in needed if name not in known]
    if unknown:
        close = get_close_matches(unknown[0], known, 1)
        hint = f"did you mean {close[0]!r}? T" if close else "t"
        raise InputError(
            f"the simulator needs {unknown[0]!r}, which neither arms nor environment have: {hint}he"
            f" parameters are {parameters}, and rng, seed, stream, pull are given where they are "
            "named; or give it a default"
        )
    if any(one.kind is ALL_OTHERS for one in taken.values()):
        return [*parameters, *(name for name in named if name in OFFERED)]
    left_out = [name for name in parameters if name not in named]
    if left_out and "pull" not in named:
        raise InputError(
            f"the simulator takes {', '.join(named) or 'nothing'}, but not {left_out[0]!r}, which "
            "arms or environment have: add it to the function's arguments, or **others for all "
            "that it does not use"
        )
    return [name for name in named if name in known]


def _takes_a_pull(taken: Any, needed: list[str], known: list[str]) -> bool:
    """Return whether the one argument that has to be given is called like nothing that is known."""
    if not needed:
        return any(one.kind is ANY_PLACES for one in taken.values())
    if len(needed) > 1 or taken[needed[0]].kind is BY_NAME:
        return False
    others = [name for name in taken if name in known and name != needed[0]]
    return needed[0] == "pull" or (needed[0] not in known and not others)
