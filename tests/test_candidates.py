"""Trials of a search become arms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
import pytest

from surefoot.candidates import Candidates, from_csv, from_optuna
from surefoot.errors import InputError


@pytest.fixture(scope="module")
def search() -> optuna.Study:
    """Twelve trials, one of them failed and one a repetition."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))

    def objective(trial: optuna.Trial) -> float:
        gain, delay = trial.suggest_float("gain", 0, 2), trial.suggest_int("delay", 0, 3)
        if trial.number == 5:
            raise optuna.TrialPruned
        return -((gain - 1) ** 2) - 0.1 * delay

    study.enqueue_trial({"gain": 1.0, "delay": 0})
    study.enqueue_trial({"gain": 1.0, "delay": 0})
    study.optimize(objective, n_trials=12)
    return study


def test_the_best_distinct_trials_come_first(search: optuna.Study) -> None:
    found = from_optuna(search, top=5)
    assert found.arms[0] == {"name": "trial 0", "gain": 1.0, "delay": 0}
    assert len(found.arms) == len({str(sorted(arm.items())) for arm in found.arms}) == 5
    assert list(found.values) == sorted(found.values, reverse=True)
    assert found.direction == "maximize"
    assert len(from_optuna(search, top=100).arms) == 10


def test_a_table_of_the_same_search_gives_the_same(search: optuna.Study, tmp_path: Path) -> None:
    search.trials_dataframe().to_csv(tmp_path / "trials.csv", index=False)
    read = from_csv(tmp_path / "trials.csv", top=5, direction="maximize")
    found = from_optuna(search, top=5)
    assert [{**arm, "delay": float(arm["delay"])} for arm in found.arms] == list(read.arms)
    assert read.values == pytest.approx(found.values)


def test_a_table_of_any_search(tmp_path: Path) -> None:
    path = tmp_path / "trials.csv"
    path.write_text("loss,depth,kind,deep\n3,1,a,True\n1,2,b,False\n,3,a,True\n2,2,a,True\n")
    found = from_csv(path, value="loss")
    assert found.arms[0] == {"name": "trial 1", "depth": 2.0, "kind": "b", "deep": False}
    assert found.values == (1.0, 2.0, 3.0)
    with pytest.raises(InputError, match="none called 'value'"):
        from_csv(path)
    with pytest.raises(InputError, match='choose "minimize"'):
        from_csv(path, value="loss", direction="up")  # type: ignore[arg-type]


def test_they_make_a_problem_with_perturbations_as_in_a_study(search: optuna.Study) -> None:
    problem = from_optuna(search, top=3).problem(
        [{"name": "as designed"}, {"name": "worn", "gain": "-10%", "load": 2}], {"load": 5.0}
    )
    assert problem.arm_names[0] == "trial 0"
    assert problem.parameter_names == ["gain", "delay", "load"]
    assert problem.parameters[1].tolist() == pytest.approx([0.9, 0.0, 7.0])


def test_they_are_a_table_of_arms_for_a_configuration(search: optuna.Study, tmp_path: Path) -> None:
    from surefoot.study.toml.space import Arms, Perturbations, build_problem

    found = from_optuna(search, top=4)
    found.to_csv(tmp_path / "arms.csv")
    problem = build_problem(Arms(csv="arms.csv"), Perturbations(), {}, "linear", tmp_path)
    assert problem.arm_names == [arm["name"] for arm in found.arms]
    assert (problem.parameters == found.problem().parameters).all()


class Trial:
    def __init__(self, number: int, value: float, **params: Any) -> None:
        self.number, self.value, self.params = number, value, params
        self.state = optuna.trial.TrialState.COMPLETE


class Study:
    def __init__(self, *trials: Trial, directions: int = 1) -> None:
        self.trials = trials
        self.direction = optuna.study.StudyDirection.MINIMIZE
        self.directions = [self.direction] * directions


@pytest.mark.parametrize(
    ("study", "message"),
    [
        (Study(Trial(0, 1, a=1)), "leaves 1 candidates"),
        (Study(Trial(0, 1, a=1), Trial(1, float("nan"), a=2)), "leaves 1 candidates"),
        (Study(Trial(0, 1, a=1), Trial(1, 2, b=1)), "trial 1 and trial 0 do not have the same"),
        (Study(Trial(0, 1, a=1), directions=2), "2 objectives"),
    ],
)
def test_what_gives_no_choice_is_refused(study: Study, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_optuna(study)


def test_categories_stay_as_they_are() -> None:
    found = from_optuna(Study(Trial(0, 1, kind="a", on=True), Trial(1, 2, kind="b", on=False)))
    assert isinstance(found, Candidates)
    assert found.arms[1] == {"name": "trial 1", "kind": "b", "on": False}
    problem = found.problem([{"name": "as found"}, {"name": "off", "on": False}])
    assert problem.values_of(0) == {"kind": "a", "on": True}
    assert problem.values_of(1) == {"kind": "a", "on": False}


@pytest.mark.parametrize("name", ["seed", "id", "arm"])
def test_a_parameter_that_a_pull_has_of_its_own_is_refused(name: str, tmp_path: Path) -> None:
    words = f"a parameter cannot be called '{name}'"
    with pytest.raises(InputError, match=words):
        from_optuna(Study(Trial(0, 1.0, **{name: 1}), Trial(1, 2.0, **{name: 2})))
    (tmp_path / "search.csv").write_text(f"params_{name},value\n1,1.0\n2,2.0\n")
    with pytest.raises(InputError, match=words):
        from_csv(tmp_path / "search.csv")
