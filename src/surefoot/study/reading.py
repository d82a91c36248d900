"""A configuration file, read; what is wrong with it is said for every key at once."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from surefoot.errors import InputError
from surefoot.noise import NOISE_MODELS
from surefoot.study.toml.sections import Config, NoiseSection, RunSection, SimulatorSection
from surefoot.study.toml.space import Arms, Perturbations, Steps

SQLITE = b"SQLite format 3\0"  # what every study file begins with
TYPE_NAMES = {"float", "int", "str", "Steps"}  # those that stand in the paths of Pydantic's errors


def read_config(path: Path) -> Config:
    """Read and check a TOML file; what is wrong is said for every key at once."""
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
    """A table that the key could hold, as TOML has it."""
    examples = {
        "noise": '{ kind = "gaussian" }',
        "arms": "{ grid = { gain = [1.0, 2.0] } }",
        "perturbations": '{ list = [{ name = "as designed" }, { name = "worn", gain = "-30%" }] }',
        "simulator": '{ python = "module:function" }',
        "run": "{ retries = 2 }",
    }
    return examples.get(key, "{ … }")


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
