"""The sections of a configuration, with the keys of each."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from surefoot.algorithms import ALGORITHMS, Algorithm, algorithm_from
from surefoot.algorithms.settings import Asked, built
from surefoot.arrays import Array
from surefoot.errors import InputError
from surefoot.noise import NOISE_MODELS, Noise
from surefoot.problem.features import MAPS
from surefoot.study.input import looked_up
from surefoot.study.toml.space import Arms, Entry, Number, Perturbations, Section, Steps, Whole

NO_SCALES: Array = np.ones(1)  # stands for those that are given by name until there is a problem
SQLITE = b"SQLite format 3\0"  # the first bytes of every study file
TYPE_NAMES = {"float", "int", "str", "Steps"}  # those that stand in the paths of Pydantic's errors


def _path(text: str) -> str:
    if "\0" in text:
        raise ValueError("a path cannot hold a NUL character")
    return text


def _single(given: Any) -> Any:
    if isinstance(given, list | dict):
        raise ValueError(
            "environment holds one value of each parameter that no arm chooses, as it is if "
            "nothing goes wrong; what may happen instead goes into [perturbations]"
        )
    return given


def _one_of(names: Iterable[str]) -> Callable[[Any], str]:
    """Allow these names, and "module:attribute" for something of the user's own."""

    def allowed(given: Any) -> str:
        if not isinstance(given, str) or (given not in names and ":" not in given):
            raise ValueError(
                f'it should be one of {", ".join(map(repr, names))}, or "module:name" for your own'
            )
        return given

    return allowed


Positive = Annotated[Number, Field(gt=0)]
PathText = Annotated[str, AfterValidator(_path)]


class _NoiseSection(Section):
    """The noise as it is known."""

    model_config = ConfigDict(extra="allow")
    kind: Literal[tuple(NOISE_MODELS)]  # type: ignore[valid-type]

    @model_validator(mode="after")
    def _possible(self) -> Self:
        self.build(NO_SCALES if self.scales_by_name else None)
        return self

    @property
    def says(self) -> dict[str, Any]:
        """The entries of the section but for the kind."""
        return self.model_extra or {}

    @property
    def scales_by_name(self) -> Mapping[str, Any] | str | None:
        """Scales by the names of pairs, or the table that holds them; None without either."""
        scale = self.says.get("scale")
        return scale if isinstance(scale, dict | str) else None

    def build(self, scales: Array | None) -> Noise:
        """Return the noise.

        Args:
            scales: (n_pairs,) those that were given by name.
        """
        options = self.says if scales is None else self.says | {"scale": scales}
        return NOISE_MODELS[self.kind].from_options(options)


class _AlgorithmSection(Section):
    """An algorithm by its name, with its own options."""

    model_config = ConfigDict(extra="allow")
    name: Annotated[str, PlainValidator(_one_of(ALGORITHMS))] = "prime"

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, given: Any) -> Any:
        return {"name": given} if isinstance(given, str) else given

    def build(self) -> Algorithm:
        """Return the algorithm; the module of one of the user's own must have been imported."""
        options = self.model_extra or {}
        if ":" not in self.name:
            return algorithm_from(self.name, **options)
        found = looked_up(self.name, "algorithm")
        if not isinstance(found, type) or not issubclass(found, Algorithm):
            raise InputError(f"algorithm = {self.name!r} is no subclass of surefoot.Algorithm")
        return built(found, options)

    def options_beside(self, stored: dict[str, Any]) -> dict[str, Any]:
        """Return the options that this section asks for, where a study holds those given. Constants
        of a tuning that it does not name are the study's own: another version may have better ones.
        """
        options, named = self.build().options(), (self.model_extra or {}).get("tuning", {})
        own = stored.get("tuning", {})
        return options | ({"tuning": own | named} if "tuning" in options else {})


class SimulatorSection(Section):
    """A Python function or any program."""

    python: str | None = None
    command: str | list[str] | None = None
    json_field: str | None = None
    cost_field: str | None = None
    file: PathText | None = None
    time_limit: Positive | None = None
    folder: PathText = "."

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.python is None) == (self.command is None):
            raise ValueError("needs exactly one of python and command")
        extras = [k for k in ("json_field", "cost_field", "file") if getattr(self, k) is not None]
        if self.python is not None and extras:
            raise ValueError(
                f"has {extras[0]}, which is for a command: a Python function returns its reward"
            )
        if self.cost_field is not None and self.json_field is None:
            raise ValueError("has cost_field but no json_field: both are fields of one JSON text")
        return self


class RunSection(Section):
    """The way to run it; may be changed between runs."""

    processes: Annotated[Whole, Field(ge=1)] | None = None
    retries: Annotated[Whole, Field(ge=0)] = 2
    max_in_flight: Annotated[Whole, Field(ge=1)] | None = None
    dask: str | None = None


class Config(Section):
    """The whole file. `Settings` checks those keys that are settings."""

    name: str | None = None
    file: PathText | None = None
    direction: Literal["maximize", "minimize"] = "maximize"
    features: Annotated[str, PlainValidator(_one_of(MAPS))] = "linear"
    on_identical: Literal["refuse", "accept"] = "refuse"
    on_failure: Literal["retry", "worst"] | Number = "retry"
    seed: Annotated[Whole, Field(ge=0)] | None = None
    delta: Any
    noise: _NoiseSection = _NoiseSection(kind="gaussian")
    baseline: str | dict[str, Entry] | None = None
    guide: str | None = None
    rules: Any = None
    tolerance: Any = None
    budget: Any = None
    on_misfit: Any = None
    misfit: Any = None
    measure: Any = None
    limits: Any = None
    common_random_numbers: Any = None
    aim: Any = None
    gain: Any = None
    objective: Any = None
    rarest: Any = None
    unseen: Any = None
    parallel: Any = None
    in_flight: Any = None
    cost: Any = None
    arms: Arms
    perturbations: Perturbations = Perturbations()
    environment: dict[str, Annotated[Entry, BeforeValidator(_single)]] = Field(default_factory=dict)
    algorithm: _AlgorithmSection = _AlgorithmSection()
    simulator: SimulatorSection | None = None
    run: RunSection = RunSection()

    @property
    def asked(self) -> dict[str, Any]:
        """The settings that the file names, as given, but for delta, noise and baseline."""
        named = Asked.__annotations__.keys() & self.model_fields_set
        return {name: getattr(self, name) for name in named}


def read_config(path: Path) -> Config:
    """Read and check a TOML file; report the mistakes of all keys at once."""
    try:
        given = path.read_bytes()
        _refuse_study(path, given)
        data = tomllib.loads(given.decode("utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"there is no file {path}: `surefoot init {path}` writes an example"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error})") from None
    except InputError:
        raise
    except RecursionError:
        raise InputError(f"{path} is nested too deeply to be a configuration") from None
    except ValueError as error:  # TOMLDecodeError, and numbers of over 4 300 digits
        raise InputError(f"{path} is not TOML: {error}") from None
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        lines = dict.fromkeys(_explain(detail) for detail in error.errors())
        raise InputError(f"{path}:\n" + "\n".join(f"  {line}" for line in lines)) from None


def _refuse_study(path: Path, given: bytes) -> None:
    if given.startswith(SQLITE):
        raise InputError(
            f"{path} is a study, not a configuration: give the TOML file that it was made from; a "
            "study made in Python goes on with Study.open"
        )


def _explain(detail: ErrorDetails) -> str:
    """Return one mistake in a line: the key, the given value, the allowed ones."""
    keys = [str(part) for part in detail["loc"] if not _is_type_name(part)]
    key, given = ".".join(keys), detail["input"]
    if detail["type"] == "missing":
        return f"{key}: is missing, and there is no default: {_purpose(key)}"
    if detail["type"] == "extra_forbidden":
        allowed = _keys_at(keys[:-1])
        close = get_close_matches(keys[-1], allowed, 1)
        hint = f"did you mean {close[0]}?" if close else f"allowed are {', '.join(allowed)}"
        return f"{key}: is not known (given {given!r:.60}); {hint}"
    if detail["type"] == "model_type":
        return f"{key}: given {given!r:.60}; it should be a table, such as {_example(key)}"
    text = detail["msg"].removeprefix("Value error, ").replace("Input should", "it should")
    return f"{key}: given {given!r:.60}; {text}"


def _purpose(key: str) -> str:
    purposes = {
        "delta": "the probability with which the answer may be wrong, such as 0.05",
        "noise.kind": " or ".join(f'"{kind}"' for kind in NOISE_MODELS),
        "arms": "the configurations to choose among",
    }
    return purposes.get(key, "give it")


def _example(key: str) -> str:
    """Return a table that the key could hold, as TOML has it."""
    examples = {
        "noise": '{ kind = "gaussian" }',
        "arms": "{ grid = { gain = [1.0, 2.0] } }",
        "perturbations": '{ list = [{ name = "as designed" }, { name = "worn", gain = "-30%" }] }',
        "simulator": '{ python = "module:function" }',
        "run": "{ retries = 2 }",
    }
    return examples.get(key, "{ … }")


def _is_type_name(part: int | str) -> bool:
    """Return whether a part of a path is the name of a type, as Pydantic puts it there for
    unions.
    """
    return isinstance(part, str) and (
        part.startswith(("list[", "function-", "constrained-")) or part in TYPE_NAMES
    )


def _keys_at(path: list[str]) -> list[str]:
    """Return the keys that a section may have."""
    if path[:2] == ["arms", "grid"]:
        return _keys(Steps)
    sections: dict[str, type[BaseModel]] = {
        "noise": _NoiseSection,
        "arms": Arms,
        "perturbations": Perturbations,
        "simulator": SimulatorSection,
        "run": RunSection,
    }
    return _keys(sections.get(path[0], Config) if path else Config)


def _keys(section: type[BaseModel]) -> list[str]:
    return sorted(field.alias or name for name, field in section.model_fields.items())
