"""Simulations of several outputs: what comes back, what is kept, and what is said of the rest."""

from __future__ import annotations

import csv
import json
import math
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pytest

import surefoot as sf
from surefoot.algorithms.settings import QUESTION
from surefoot.errors import InputError
from surefoot.study import Pull, Study, StudyPaused, StudyReader, verify
from surefoot.study.file.chain import head_of
from surefoot.study.input import Outputs, Reading, _as_text, from_text, outputs_of
from surefoot.study.sheet import read_sheet, write_sheet
from surefoot.study.toml.config import StudyConfig

ARMS = [{"a": 0.0}, {"a": 2.0}]
SHIFTS = {"as planned": {}, "worn": {"a": -0.5}}


def problem() -> sf.RobustProblem:
    return sf.RobustProblem.from_lists(ARMS, SHIFTS)


def several(pull: Pull) -> dict[str, float]:
    noise = pull.rng().standard_normal(2)
    return {"cost": pull["a"] + noise[0], "wait": 10 + noise[1], "failed": bool(noise[1] > 0)}


def cost_alone(pull: Pull) -> float:
    return several(pull)["cost"]


def new_study(path: Path, objective: str | None = "cost", **asked: object) -> Study:
    settings = {"delta": 0.05, "noise": sf.Gaussian(1.0), "seed": 3} | asked
    return Study.create(path, problem(), objective=objective, **settings)


def stored(path: Path) -> list[tuple[float, str | None]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT reward, others FROM pulls ORDER BY id").fetchall()
    finally:
        connection.close()


def test_all_outputs_are_stored_and_the_objective_decides(tmp_path: Path) -> None:
    with new_study(tmp_path / "one.db") as study:
        result = study.run(several, "serial")
    assert result.certified
    assert result.best_parameters == {"a": 2.0}
    assert verify(tmp_path / "one.db").certified
    for reward, others in stored(tmp_path / "one.db"):
        if reward is not None:
            assert set(json.loads(others or "")) == {"wait", "failed"}
    with StudyReader(tmp_path / "one.db") as reader:
        assert reader.output_names == ["failed", "wait"]
        pulls = reader.pulls()
    assert pulls["wait"].mean() == pytest.approx(10, abs=1)
    assert set(pulls["failed"]) == {0.0, 1.0}


def test_a_single_number_without_a_name_is_the_question_that_it_was(tmp_path: Path) -> None:
    """Streams follow from the head: outputs and limits are in it only where they are given."""
    with new_study(tmp_path / "one.db", objective=None) as study:
        study.run(cost_alone, "serial")
        described = study.description
    entries = described.to_entries()
    always = [each.name for each in QUESTION if not each.metadata.get("named if given")]
    asked = {key: entries["settings"][key] for key in always}
    keys = ("problem", "direction", "seed", "on_identical", "boundary")
    assert described.head == head_of(asked | {key: entries[key] for key in keys})
    assert all(others is None for _, others in stored(tmp_path / "one.db"))
    with new_study(tmp_path / "two.db") as named:
        assert named.description.head != described.head


def test_workers_and_resuming_give_the_same(tmp_path: Path) -> None:
    with new_study(tmp_path / "serial.db") as study:
        study.run(several, "serial")
    with new_study(tmp_path / "told.db") as study:
        for pull in study.ask(5):
            study.tell(pull, several(pull))
    with Study.open(tmp_path / "told.db") as study:
        study.run(several, 2)
    found = [stored(tmp_path / name) for name in ("serial.db", "told.db")]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("objective", "given", "words"),
    [
        ("cost", 3.0, r"one number came, 3, but the study needs 'cost'"),
        ("cost", {"wait": 3.0}, r"'wait' came, but not 'cost': the study needs 'cost'"),
        ("cost", {}, "nothing came, but not 'cost'"),
        ("cost", {"cost": math.nan}, "output 'cost' is nan: give one finite number"),
        ("cost", {"cost": 1.0, "wait": math.inf}, "output 'wait' is inf"),
        ("cost", {"cost": 1.0, "wait": "long"}, "output 'wait' is 'long': give one finite number"),
        ("cost", {"cost": 1.0, " ": 2.0}, "outputs are named by printable text"),
        (None, {"cost": 3.0}, r"'cost' came: name the one .* objective=\"cost\""),
    ],
)
def test_what_came_and_what_is_needed(
    tmp_path: Path, objective: str | None, given: object, words: str
) -> None:
    with new_study(tmp_path / "one.db", objective=objective) as study:
        with pytest.raises(InputError, match=words):
            study.tell(0, given)
        with pytest.raises(StudyPaused, match=words):
            study.run(lambda pull: given, "serial", retries=0)
        assert study.told == 0


def test_limits_need_an_objective_and_their_outputs(tmp_path: Path) -> None:
    limits = {"failed": {"at_most": 0.6}}
    with pytest.raises(InputError, match=r"limits are on 'failed'.*objective=\"cost\""):
        new_study(tmp_path / "one.db", objective=None, limits=limits)
    needed = Outputs("cost", ("failed",))
    with pytest.raises(InputError, match="but not 'failed': the study needs 'cost', 'failed'"):
        needed.read({"cost": 1.0, "faults": 0.0})
    assert needed.read({"cost": 1.0, "failed": 0.0}) == Reading(1.0, '{"failed":0.0}')
    assert Outputs("cost", ("cost",)).needed == ("cost",)
    with pytest.raises(InputError, match="no name of an output"):
        new_study(tmp_path / "one.db", objective="")


def test_outputs_as_text_come_back_to_the_bit() -> None:
    outputs = {"b": 0.1 + 0.2, "a": -1e-300, "ü": 3.0}
    text = _as_text(outputs)
    assert from_text(text) == outputs
    assert text == _as_text(dict(reversed(outputs.items())))
    for damaged in ('{"a": 1.0}', "[1.0]", '{"a":NaN}', '{"a":1}', "{"):
        with pytest.raises(ValueError, match=r".*"):
            from_text(damaged)
    assert outputs_of({"failed": True}) == {"failed": 1.0}


@pytest.mark.parametrize("column", ["reward", "others"])
def test_an_output_that_was_changed_breaks_the_chain(tmp_path: Path, column: str) -> None:
    with new_study(tmp_path / "one.db") as study:
        study.run(several, "serial")
    value = 1.5 if column == "reward" else '{"failed":0.0,"wait":1.0}'
    with sqlite3.connect(tmp_path / "one.db") as connection:
        connection.execute(f"UPDATE pulls SET {column} = ? WHERE id = 1", (value,))
    connection.close()
    found = verify(tmp_path / "one.db")
    assert not found.certified
    assert "a reward was changed after the phase was closed" in found.sentence


def test_by_hand_a_column_for_each_output(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    with new_study(tmp_path / "one.db") as study:
        pulls = study.ask(4, remember=True)
        with sheet.open("w", newline="") as file:
            write_sheet(study, pulls, file)
        rows = list(csv.reader(sheet.open()))
        assert rows[0][-2:] == ["seed", "cost"]
        rows[0].append("wait")
        for number, row in enumerate(rows[1:4]):
            row[-1:] = [str(1.5 + number), "12" if number else ""]
        rows[4].append("")
        with sheet.open("w", newline="") as file:
            csv.writer(file).writerows(rows)
        rewards, identifier = read_sheet(study, sheet)
        assert rewards == [
            (pulls[0].id, {"cost": 1.5}),
            (pulls[1].id, {"cost": 2.5, "wait": 12.0}),
            (pulls[2].id, {"cost": 3.5, "wait": 12.0}),
        ]
        assert study.tell_many(rewards, study=identifier) == 3
        study.correct(pulls[1], {"cost": 9.0, "wait": 13.0})
    with StudyReader(tmp_path / "one.db") as reader:
        corrected = reader.correction_records()[0]
        assert (corrected["was"], corrected["became"]) == (2.5, 9.0)
        assert (corrected["others_were"], corrected["others_became"]) == (
            '{"wait":12.0}',
            '{"wait":13.0}',
        )


def test_an_objective_without_noise_beside_one_with_noise(tmp_path: Path) -> None:
    """The cost of a setting may be known; its failures are random, so the seed is not fixed."""

    def known(pull: Pull) -> dict[str, float]:
        return {"cost": pull["a"] / 3, "wait": float(pull.rng().standard_normal())}

    with new_study(tmp_path / "one.db") as study:
        assert study.run(known, "serial").certified

    def fixed(pull: Pull) -> dict[str, float]:
        return {"cost": pull["a"] / 3, "wait": pull["a"] / 7}

    with new_study(tmp_path / "two.db") as study:
        assert study.run(fixed, "serial").reason.name == "IDENTICAL_REPLICATES"


PROGRAM = """
import json, random, sys
gain, noise = float(sys.argv[1]), random.Random(int(sys.argv[2])).gauss(0, 1)
print("warming up")
print(json.dumps({"cost": gain + noise, "run": {"wait": noise, "ok": noise < 9}, "note": "fine"}))
"""
CONFIG = """
delta = 0.1
seed = 5
direction = "minimize"
objective = "cost"
noise = { kind = "gaussian", scale = 1.0 }
[arms]
grid = { a = [0.0, 2.0] }
[simulator]
"""


@pytest.mark.parametrize(
    ("entry", "names"),
    [("", ["run.ok", "run.wait"]), ('json_field = "run"', ["wait"])],
)
def test_a_program_prints_a_json_object(tmp_path: Path, entry: str, names: list[str]) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = f'command = ["{sys.executable}", "program.py", "{{a}}", "{{seed}}"]'
    objective = 'objective = "ok"' if entry else 'objective = "cost"'
    text = CONFIG.replace('objective = "cost"', objective) + f"{command}\n{entry}\n"
    (tmp_path / "study.toml").write_text(text)
    config = StudyConfig(tmp_path / "study.toml")
    with config.open_study() as study:
        pulls = study.ask(3)
        simulate = config.simulator(study.problem)
        for pull in pulls:
            study.tell(pull, simulate(pull))
    with StudyReader(config.file) as reader:
        assert reader.output_names == names
        told = reader.pulls().dropna(subset=["reward"])
    assert len(told) == 3
    if not entry:
        assert np.allclose(told["reward"] - told["a"], told["run.wait"])


def test_a_configuration_that_asks_for_other_outputs_is_another_question(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    config = CONFIG + 'python = "math:sqrt"\n'
    path.write_text(config)
    StudyConfig(path).open_study().close()
    path.write_text(config.replace('"cost"', '"price"'))
    with pytest.raises(InputError, match=r"asks another question .*: objective changed"):
        StudyConfig(path).open_study()
    path.write_text("limits = { wait = { at_least_most = 3 } }\n" + config)
    with pytest.raises(InputError, match=r"the limit of 'wait' is .*give some of at_most"):
        StudyConfig(path)
