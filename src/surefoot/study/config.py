"""A study as a TOML file: read, checked, and turned into what surefoot works with."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from surefoot.algorithms import ALGORITHMS, Algorithm, Settings, algorithm_from
from surefoot.algorithms.settings import usable_delta
from surefoot.errors import InputError
from surefoot.noise import NOISE_MODELS, Noise
from surefoot.problem import RobustProblem
from surefoot.study.command import CommandSimulator, imported, simulator_from
from surefoot.study.description import Description
from surefoot.study.pull import Pull, refuse_reserved
from surefoot.study.space import (
    Arms,
    Features,
    Number,
    Perturbations,
    Section,
    Steps,
    Whole,
    build_problem,
)
from surefoot.study.study import Study


def _path(text: str) -> str:
    if "\0" in text:
        raise ValueError("a path cannot hold a NUL character")
    return text


def _shared(given: Any) -> Any:
    if not isinstance(given, bool) and given != "auto":
        raise ValueError('it should be true, false or "auto"')
    return given


Positive = Annotated[Number, Field(gt=0)]
PathText = Annotated[str, AfterValidator(_path)]
TYPE_NAMES = {"float", "int", "str", "Steps"}  # those that stand in the paths of Pydantic's errors


class NoiseSection(Section):
    """What is known about the noise."""

    model_config = ConfigDict(extra="allow")
    kind: Literal[tuple(NOISE_MODELS)]  # type: ignore[valid-type]

    @model_validator(mode="after")
    def _possible(self) -> Self:
        self.build()
        return self

    def build(self) -> Noise:
        return NOISE_MODELS[self.kind].from_options(self.model_extra or {})

    def beside(self, stored: Noise) -> Noise:
        """What this section means where a study holds the given noise. Gaussian noise of an unknown
        scale meant equal variances in version 0.1: where no more is said, the study decides.
        """
        says_no_more = self.kind == stored.kind and not self.model_extra and not stored.known
        return stored if says_no_more else self.build()


class AlgorithmSection(Section):
    """Which algorithm, and its own options."""

    model_config = ConfigDict(extra="allow")
    name: Literal[tuple(ALGORITHMS)] = "prime"  # type: ignore[valid-type]

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, given: Any) -> Any:
        return {"name": given} if isinstance(given, str) else given

    def build(self) -> Algorithm:
        return algorithm_from(self.name, **(self.model_extra or {}))

    def options_beside(self, stored: dict[str, Any]) -> dict[str, Any]:
        """The options that this section asks for, where a study holds those given. Constants of a
        tuning that it does not name are the study's own: another version may have better ones.
        """
        options, named = self.build().options(), (self.model_extra or {}).get("tuning", {})
        own = stored.get("tuning", {})
        return options | ({"tuning": own | named} if "tuning" in options else {})


class SimulatorSection(Section):
    """A Python function or any program."""

    python: str | None = None
    command: str | list[str] | None = None
    json_field: str | None = None
    file: PathText | None = None
    time_limit: Positive | None = None
    folder: PathText = "."

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.python is None) == (self.command is None):
            raise ValueError("needs exactly one of python and command")
        extras = [k for k in ("json_field", "file", "time_limit") if getattr(self, k) is not None]
        if self.python is not None and extras:
            raise ValueError(
                f"has {extras[0]}, which is for a command: a Python function returns its reward"
            )
        return self


class RunSection(Section):
    """How to run it; may be changed between runs."""

    processes: Annotated[Whole, Field(ge=1)] | None = None
    retries: Annotated[Whole, Field(ge=0)] = 2
    max_in_flight: Annotated[Whole, Field(ge=1)] | None = None


class Config(Section):
    """The whole file."""

    name: str | None = None
    file: PathText | None = None
    direction: Literal["maximize", "minimize"] = "maximize"
    features: Features = "linear"
    delta: Annotated[float, PlainValidator(usable_delta)]
    tolerance: Annotated[Number, Field(ge=0)] = 0.0
    budget: Annotated[Whole, Field(ge=0)] | None = None
    confidence: Literal["valid", "paper"] = "valid"
    on_misfit: Literal["reject", "ignore"] = "reject"
    on_identical: Literal["refuse", "accept"] = "refuse"
    seed: Annotated[Whole, Field(ge=0)] | None = None
    noise: NoiseSection = NoiseSection(kind="gaussian")
    trust: Literal["model", "pairs"] | None = None
    guide: str | None = None
    common_random_numbers: Annotated[bool | Literal["auto"], PlainValidator(_shared)] = False
    arms: Arms
    perturbations: Perturbations = Perturbations()
    environment: dict[str, Number] = Field(default_factory=dict)
    algorithm: AlgorithmSection = AlgorithmSection()
    simulator: SimulatorSection | None = None
    run: RunSection = RunSection()


class StudyConfig:
    """A configuration file and what it describes.

    Attributes:
        path: the TOML file; paths in it are relative to its folder.
        settings: what every run is asked for.
        file: the study file that belongs to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values = read_config(path)
        if self.values.guide is not None and ":" in self.values.guide:
            imported(self.values.guide, path.parent, "guide")
        self.settings = _settings(self.values)
        self.file = path.parent / (self.values.file or f"{path.stem}.db")

    def problem(self) -> RobustProblem:
        values = self.values
        problem = build_problem(
            values.arms,
            values.perturbations,
            values.environment,
            values.features,
            self.path.parent,
        )
        if not self.file.exists():  # a study of an earlier version may have them, and goes on
            refuse_reserved(problem.parameter_names)
        return problem

    def simulator(self, problem: RobustProblem) -> Callable[[Pull], float]:
        """The simulator, ready to be called."""
        section = self.values.simulator
        if section is None:
            raise InputError(
                f"{self.path}: there is no [simulator]: give one, or work by hand with `surefoot "
                "ask` and `surefoot tell`"
            )
        if section.python is not None:
            return simulator_from(section.python, self.path.parent)
        command = CommandSimulator(
            section.command or [],
            section.json_field,
            section.file,
            section.time_limit,
            str(self.path.parent.absolute() / section.folder),
        )
        command.check_fields(problem.parameter_names)
        return command

    def open_study(self) -> Study:
        """Create the study, or go on with it."""
        if not self.file.exists():
            return self._create()
        study = Study.open(self.file)
        try:
            self._refuse_changes(study)
            if study.description.settings.budget != self.values.budget:
                study.change_budget(self.values.budget)
        except BaseException:
            study.close()
            raise
        return study

    def description(self) -> Description:
        """What a new study would be asked; nothing is stored."""
        values = self.values
        return Description.fresh(
            values.name or self.file.stem,
            self.problem(),
            self.settings,
            values.algorithm.build(),
            direction=values.direction,
            seed=values.seed,
            on_identical=values.on_identical,
        )

    def _create(self) -> Study:
        values = self.values
        return Study.begin(
            self.file,
            self.problem(),
            self.settings,
            values.algorithm.build(),
            on_identical=values.on_identical,
            direction=values.direction,
            seed=values.seed,
            name=values.name,
            configuration={"file": str(self.path), "text": self.path.read_text(encoding="utf-8")},
        )

    def _refuse_changes(self, study: Study) -> None:
        """What a study is asked cannot change half-way: its guarantee is for one question.

        What the file leaves unsaid is as the study has it: versions differ in what they then do.
        """
        asked, values = study.description, self.values
        options, described = asked.full_options(), asked.problem.to_dict()
        now: dict[str, Any] = {
            "arms, perturbations or features": {
                key: value for key, value in self.problem().to_dict().items() if key in described
            },
            "noise": values.noise.beside(asked.settings.noise).to_dict(),
            "algorithm": [values.algorithm.name, values.algorithm.options_beside(options)],
            "direction": values.direction,
        }
        then: dict[str, Any] = {
            "arms, perturbations or features": described,
            "noise": asked.settings.noise.to_dict(),
            "algorithm": [asked.algorithm, options],
            "direction": asked.direction,
        }
        for key in ("delta", "tolerance", "confidence", "on_misfit"):
            now[key], then[key] = getattr(values, key), getattr(asked.settings, key)
        if "noise" not in values.model_fields_set:
            del now["noise"]
        for key in ("trust", "guide", "common_random_numbers"):
            if key in values.model_fields_set:
                now[key], then[key] = getattr(values, key), getattr(asked.settings, key)
        for key in ("on_identical", "seed"):
            if key in values.model_fields_set:
                now[key], then[key] = getattr(values, key), getattr(asked, key)
        changed = [key for key in now if now[key] != then[key]]
        if changed:
            raise InputError(
                f"{self.path} asks another question than {self.file} was made for: "
                f"{', '.join(changed)} changed. "
                "Change it back to go on, or give another `file` to start a new study"
            )


def _settings(values: Config) -> Settings:
    return Settings(
        delta=values.delta,
        noise=values.noise.build(),
        confidence=values.confidence,
        tolerance=values.tolerance,
        budget=values.budget,
        on_misfit=values.on_misfit,
        trust=values.trust or _trust_of(values.algorithm.build()),
        guide=values.guide,
        common_random_numbers=values.common_random_numbers,
    )


def _trust_of(algorithm: Algorithm) -> Literal["model", "pairs"]:
    """What a certificate relies on if the file does not say: on a model only where it must."""
    return "model" if algorithm.needs_model else "pairs"


def read_config(path: Path) -> Config:
    """Read and check a TOML file; what is wrong is said for every key at once."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"there is no file {path}: `surefoot init {path}` writes an example"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error})") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply to be a configuration") from None
    except ValueError as error:  # TOMLDecodeError, and numbers of over 4 300 digits
        raise InputError(f"{path} is not TOML: {error}") from None
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        lines = dict.fromkeys(_explain(detail) for detail in error.errors())
        raise InputError(f"{path}:\n" + "\n".join(f"  {line}" for line in lines)) from None


def _explain(detail: ErrorDetails) -> str:
    """One mistake in a line: the key, what was given, what is allowed."""
    keys = [str(part) for part in detail["loc"] if not _is_type_name(part)]
    key, given = ".".join(keys), detail["input"]
    if detail["type"] == "missing":
        return f"{key}: is missing, and there is no default: {_purpose(key)}"
    if detail["type"] == "extra_forbidden":
        allowed = _keys_at(keys[:-1])
        close = get_close_matches(keys[-1], allowed, 1)
        hint = f"did you mean {close[0]}?" if close else f"allowed are {', '.join(allowed)}"
        return f"{key}: is not known (given {given!r:.60}); {hint}"
    text = detail["msg"].removeprefix("Value error, ").replace("Input should", "it should")
    return f"{key}: given {given!r:.60}; {text}"


def _purpose(key: str) -> str:
    purposes = {
        "delta": "the probability with which the answer may be wrong, such as 0.05",
        "noise.kind": " or ".join(f'"{kind}"' for kind in NOISE_MODELS),
        "arms": "the configurations to choose among",
    }
    return purposes.get(key, "give it")


def _is_type_name(part: int | str) -> bool:
    """Pydantic puts the name of the type it tried into the path of a union."""
    return isinstance(part, str) and (
        part.startswith(("list[", "function-", "constrained-")) or part in TYPE_NAMES
    )


def _keys_at(path: list[str]) -> list[str]:
    """The keys that a section may have."""
    if path[:2] == ["arms", "grid"]:
        return _keys(Steps)
    sections: dict[str, type[BaseModel]] = {
        "noise": NoiseSection,
        "arms": Arms,
        "perturbations": Perturbations,
        "simulator": SimulatorSection,
        "run": RunSection,
    }
    return _keys(sections.get(path[0], Config) if path else Config)


def _keys(section: type[BaseModel]) -> list[str]:
    return sorted(field.alias or name for name, field in section.model_fields.items())
