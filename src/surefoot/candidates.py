"""From a search to a study: the best trials of an optimiser become the arms of a problem.

A search keeps what looked best in one or two noisy evaluations under nominal conditions. A study
finds which of its finalists has the best worst case.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from surefoot.errors import InputError
from surefoot.problem.coding import number_from_text
from surefoot.problem.problem import RobustProblem
from surefoot.problem.tables import read_fields
from surefoot.study.pull import refuse_reserved
from surefoot.study.toml.space import Arms, Perturbations, build_problem

Direction = Literal["minimize", "maximize"]
OPTUNA_PREFIX = "params_"
NOT_PARAMETERS = ("name", "number", "value", "state", "duration")
NOT_PARAMETER_PREFIXES = ("datetime_", "user_attrs_", "system_attrs_")


@dataclass(frozen=True)
class Candidates:
    """The best trials of a search, best first.

    Attributes:
        arms: the parameters of each by name, and its `name`: what a study's list of arms holds.
        values: the search's own measurement of each: optimistic, since the best were kept.
        direction: "minimize" if small values are good, as a study takes it.
    """

    arms: tuple[dict[str, Any], ...]
    values: tuple[float, ...]
    direction: Direction

    def problem(
        self,
        perturbations: Sequence[Mapping[str, Any]] = ({"name": "none"},),
        environment: Mapping[str, Any] | None = None,
        features: str = "linear",
    ) -> RobustProblem:
        """Return the problem of choosing among them when things go wrong.

        Args:
            perturbations: offsets as in `study.toml`: `{"name": "worn", "gain": "-30%"}`.
            environment: nominal values of the parameters that no arm chooses.
            features: the feature map that guides the choice of pulls.
        """
        return build_problem(
            Arms(list=[dict(arm) for arm in self.arms]),
            Perturbations(list=[dict(row) for row in perturbations]),
            dict(environment or {}),
            features,
            Path(),
        )

    def to_csv(self, path: str | Path) -> None:
        """Write them as a table that `arms.csv` in `study.toml` may name."""
        import pandas as pd

        pd.DataFrame(list(self.arms)).to_csv(path, index=False)


def from_optuna(study: Any, top: int = 20) -> Candidates:
    """Return the best complete trials of an Optuna study, categorical parameters included.

    Args:
        study: an `optuna.Study` with one objective.
        top: how many, at most; trials with the same parameters count once.
    """
    if len(study.directions) != 1:
        raise InputError(
            f"the study has {len(study.directions)} objectives: candidates are the best by one, so "
            "give a study with one"
        )
    finished = [trial for trial in study.trials if trial.state.name == "COMPLETE"]
    trials = [(f"trial {trial.number}", dict(trial.params), trial.value) for trial in finished]
    return _best(trials, top, study.direction.name.lower())


def from_csv(
    path: str | Path, top: int = 20, *, direction: Direction = "minimize", value: str = "value"
) -> Candidates:
    """Return the best trials of a table, one row per trial.

    Args:
        path: a CSV. Columns that begin with `params_`, as Optuna's `trials_dataframe` has them, are
            the parameters; if there are none, all columns but `value`, `name` and `number` are.
        value: the column of measured values; rows without it are left out.
    """
    if direction not in ("minimize", "maximize"):
        raise InputError(f'direction={direction!r} is not known: choose "minimize" or "maximize"')
    header, rows = read_fields(Path(path))
    if value not in header:
        raise InputError(f"{path} has columns {header}, but none called {value!r}: name it")
    table = {name: [row[place] for row in rows] for place, name in enumerate(header)}
    finished = [place for place, text in enumerate(table[value]) if text.strip()]
    if "state" in table:
        finished = [place for place in finished if table["state"][place] in ("COMPLETE", "")]
    names = _parameters(header, value)
    columns = {
        name.removeprefix(OPTUNA_PREFIX): _column([table[name][place] for place in finished])
        for name in names
    }
    labels = table.get("name") or [f"trial {n}" for n in table.get("number", range(len(rows)))]
    trials = [
        (
            labels[place],
            {name: column[turn] for name, column in columns.items()},
            number_from_text(table[value][place]),
        )
        for turn, place in enumerate(finished)
    ]
    return _best(trials, top, direction)


def _best(
    trials: Iterable[tuple[str, dict[str, Any], float]], top: int, direction: str
) -> Candidates:
    sign = 1 if direction == "minimize" else -1
    usable = [trial for trial in trials if trial[2] is not None and math.isfinite(trial[2])]
    ranked = sorted(usable, key=lambda trial: sign * trial[2])
    arms: list[dict[str, Any]] = []
    values: list[float] = []
    for name, parameters, value in ranked:
        if parameters not in [{k: v for k, v in arm.items() if k != "name"} for arm in arms]:
            arms.append({"name": name, **parameters})
            values.append(float(value))
        if len(arms) == top:
            break
    _refuse_useless(arms, top)
    return Candidates(tuple(arms), tuple(values), "minimize" if sign > 0 else "maximize")


def _refuse_useless(arms: list[dict[str, Any]], top: int) -> None:
    if top < 2 or len(arms) < 2:
        raise InputError(
            f"top={top} of this search leaves {len(arms)} candidates: there must be two or more "
            "complete trials with different parameters to choose among"
        )
    refuse_reserved(name for name in arms[0] if name != "name")
    for arm in arms:
        if arm.keys() != arms[0].keys():
            differ = sorted(arm.keys() ^ arms[0].keys())
            raise InputError(
                f"{arm['name']} and {arms[0]['name']} do not have the same parameters ("
                f"{', '.join(differ)} in one only): give every trial a value for each, or take "
                "the branches of the search apart"
            )


def _parameters(header: list[str], value: str) -> list[str]:
    own = [name for name in header if name.startswith(OPTUNA_PREFIX)]
    rest = [
        name
        for name in header
        if name not in (*NOT_PARAMETERS, value) and not name.startswith(NOT_PARAMETER_PREFIXES)
    ]
    return own or rest


def _column(texts: list[str]) -> list[Any]:
    """Numbers where all are, True and False where all are, else the texts."""
    try:
        return [number_from_text(text) for text in texts]
    except InputError:
        logical = {"True": True, "False": False}
        return [logical[text] for text in texts] if set(texts) <= set(logical) else texts
