"""Programs as simulators, and functions by their names."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot import Gaussian, RobustProblem, Study
from surefoot.errors import InputError
from surefoot.study import Pull
from surefoot.study.programs.simulators import CommandSimulator, fill, simulator_from
from surefoot.study.toml.config import StudyConfig
from tests.study.toys import rewards_of, toy_study


def make_pull(**parameters: float) -> Pull:
    values = {"gain": 0.1, "delay time": 1e-17} | parameters
    return Pull(7, "abc", 0, 3, "fast; rm -rf /", "worn", values, np.zeros(2), 5)


def python(program: str, *arguments: str, **options: object) -> CommandSimulator:
    return CommandSimulator([sys.executable, "-c", program, *arguments], **options)


def test_fields_are_filled_exactly() -> None:
    pull = make_pull()
    assert (
        fill("{gain}|{delay time}|{id}|{arm}|{perturbation}", pull)
        == "0.1|1e-17|7|fast; rm -rf /|worn"
    )
    assert fill("{seed}", pull) == str(pull.seed)
    assert fill("{{gain}} {{}}", pull) == "{gain} {}"


def test_the_last_line_is_the_reward() -> None:
    assert python("print('starting'); print(2.5)")(make_pull()) == 2.5


def test_a_field_of_json_is_the_reward() -> None:
    program = "import json; print('log'); print(json.dumps({{'metrics': {{'score': -3}} }}))"
    assert python(program, json_field="metrics.score")(make_pull()) == -3.0


def test_a_string_is_split_without_a_shell(tmp_path: Path) -> None:
    program = (
        'import sys; assert sys.argv[2:] == ["; exit 1", "$HOME"]; print(float(sys.argv[1]) * 2)'
    )
    assert (
        CommandSimulator(f"{sys.executable} -c '{program}' {{gain}} '; exit 1' $HOME")(make_pull())
        == 0.2
    )


def test_numbers_arrive_to_the_bit() -> None:
    value = float(np.nextafter(0.1, 1))
    program = "import sys; print(repr(float(sys.argv[1])))"
    assert python(program, "{gain}")(make_pull(gain=value)) == value


def test_the_folder_is_made_and_used(tmp_path: Path) -> None:
    program = (
        "import os; open('out.txt', 'w').write('header\\n' + os.path.basename(os.getcwd()) + '\\n')"
    )
    simulator = python(program, folder=str(tmp_path / "runs" / "{id}"), file="out.txt")
    assert simulator(make_pull()) == 7.0


@pytest.mark.parametrize(
    ("program", "options", "words"),
    [
        (
            "import sys; sys.exit('mesh does not converge')",
            {},
            "exit code 1: mesh does not converge",
        ),
        ("import os; os.kill(os.getpid(), 9)", {}, "killed by signal 9"),
        ("print('done')", {}, "last line of the output must be the reward, but it is 'done'"),
        *(
            (f"print({said!r})", {}, f"must be the reward, but it is '{said}'")
            for said in ("1_0", "\u0661", "nan", "infinity", "1e999", "2 3")
        ),
        ("pass", {}, "it is nothing"),
        ("print('{{}}')", {"json_field": "score"}, "no field 'score'"),
        ("print('diverged')", {"json_field": "score"}, "must be JSON, but it ends in 'diverged'"),
        ("", {"json_field": "score"}, "must be JSON, but it ends in ''"),
        ('print(\'{{"score": "high"}}\')', {"json_field": "score"}, "'high', not a number"),
        ("import time; time.sleep(60)", {"time_limit": 0.2}, "longer than its time limit of 0.2 s"),
    ],
)
def test_failures_say_what_happened(program: str, options: dict[str, object], words: str) -> None:
    with pytest.raises((RuntimeError, ValueError, TimeoutError), match=words):
        python(program, **options)(make_pull())


def test_a_command_that_cannot_be_split_is_refused() -> None:
    with pytest.raises(InputError, match=r"No closing quotation.*close its quotes"):
        CommandSimulator("run 'it {gain}")


def test_the_folder_of_an_arm_cannot_lead_elsewhere(tmp_path: Path) -> None:
    simulator = python("print(1)", folder=str(tmp_path / "runs" / "{arm}"))
    for arm in ("../../elsewhere", "/elsewhere", "..", "a/b"):
        with pytest.raises(InputError, match="cannot be part of the name"):
            simulator(replace(make_pull(), arm=arm))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("field", ["arm", "perturbation"])
def test_a_name_that_is_no_folder_is_refused_before_anything_is_spent(
    tmp_path: Path, field: str
) -> None:
    problem = RobustProblem.paper(
        [[1.0], [2.0]],
        [[[0.0]], [[0.1]]],
        arm_names=["../out", "in"],
        perturbation_names=[["a/b"], ["c"]],
    )
    simulator = python("print(1)", folder=str(tmp_path / "runs" / f"{{{field}}}"))
    with (
        Study.create(tmp_path / "s.db", problem, delta=0.1, noise=Gaussian(1.0), misfit=0) as study,
        pytest.raises(InputError, match="cannot be part of the name"),
    ):
        study.run(simulator, "serial")
    assert not (tmp_path / "runs").exists()


class TestResultFile:
    """A file that a program writes its reward to belongs to one pull."""

    def test_what_another_pull_left_is_not_read(self, tmp_path: Path) -> None:
        (tmp_path / "out.txt").write_text("4.0")
        with pytest.raises(RuntimeError, match=r"ended well, but wrote no .*out\.txt"):
            python("pass", folder=str(tmp_path), file="out.txt")(make_pull())

    @pytest.mark.parametrize("executor", [2, "threads"])
    @pytest.mark.parametrize("file", ["out.txt", "{arm}-{perturbation}.txt", "{seed}.txt"])
    def test_two_pulls_at_a_time_need_two_files(
        self, tmp_path: Path, executor: Any, file: str
    ) -> None:
        """Pulls of one pair differ in their seeds, but those of a block may share one."""
        simulator = python("pass", folder=str(tmp_path), file=file)
        with (
            toy_study(tmp_path / "toy.db") as study,
            ThreadPoolExecutor(2) as threads,
            pytest.raises(InputError, match=r'give each its own, with folder = "runs/{id}"'),
        ):
            study.run(simulator, threads if executor == "threads" else executor)

    @pytest.mark.parametrize(
        ("options", "run"),
        [
            ({"file": "out.txt"}, {"executor": "serial"}),
            ({"file": "out.txt"}, {"executor": 2, "max_in_flight": 1}),
            ({"file": "out-{id}.txt"}, {"executor": 2}),
            ({"file": "out.txt", "folder": "runs/{id}"}, {"executor": 2}),
        ],
    )
    def test_each_pull_reads_its_own(
        self, tmp_path: Path, options: dict[str, str], run: dict[str, Any]
    ) -> None:
        program = "echo {id} > $0"
        folder = str(tmp_path / options.get("folder", "."))
        command = CommandSimulator(
            ["sh", "-c", program, options["file"]], file=options["file"], folder=folder
        )
        with toy_study(tmp_path / "toy.db", rounds=1) as study:
            study.run(command, **run)
        assert [reward for _, _, reward in rewards_of(tmp_path / "toy.db")] == list(range(16))


@pytest.mark.parametrize("name", ["seed", "id", "arm", "perturbation", "block", "stream"])
def test_a_parameter_cannot_have_the_name_of_what_each_pull_has(tmp_path: Path, name: str) -> None:
    problem = RobustProblem.paper([[1.0], [2.0]], [[[0.0]], [[0.0]]], parameter_names=[name])
    with pytest.raises(InputError, match=f"cannot be called '{name}'.*rename it"):
        Study.create(tmp_path / "new.db", problem, delta=0.05, noise=Gaussian(1.0), misfit=0)
    with pytest.raises(InputError, match=f"cannot be called '{name}'"):
        CommandSimulator(["x"]).check(problem, alone=True)
    (tmp_path / "study.toml").write_text(
        'delta = 0.05\nnoise = { kind = "gaussian", scale = 1.0 }\n'
        f"arms.grid = {{ {name} = [1.0, 2.0] }}\n"
    )
    with pytest.raises(InputError, match=f"cannot be called '{name}'"):
        StudyConfig(tmp_path / "study.toml").problem()


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        CommandSimulator(["no-such-program"])(make_pull())


def test_unknown_fields_and_senseless_options_are_refused() -> None:
    with pytest.raises(InputError, match=r"a field {gian}, but a pull has only arm, gain"):
        CommandSimulator(["x", "{gian}"]).check_fields(["gain"])
    CommandSimulator(["x", "{gain}", "{{gian}}"]).check_fields(["gain"])
    with pytest.raises(InputError, match="empty"):
        CommandSimulator("")
    with pytest.raises(InputError, match="time_limit=0"):
        CommandSimulator("x", time_limit=0)


def test_a_function_is_found_beside_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "model_for_this_test.py").write_text(
        "NUMBER = 3\ndef simulate(pull):\n    return 1.5\n"
    )
    assert simulator_from("model_for_this_test:simulate", tmp_path)(make_pull()) == 1.5
    with pytest.raises(InputError, match="has no 'simulat': did you mean 'simulate'"):
        simulator_from("model_for_this_test:simulat", tmp_path)
    (tmp_path / "model_that_needs_more.py").write_text("import no_such_package\n")
    with pytest.raises(InputError, match="needs 'no_such_package', which this Python"):
        simulator_from("model_that_needs_more:simulate", tmp_path)
    with pytest.raises(InputError, match="is a int, not a function"):
        simulator_from("model_for_this_test:NUMBER", tmp_path)
    with pytest.raises(InputError, match="cannot be imported"):
        simulator_from("no_such_model:simulate", tmp_path)
    with pytest.raises(InputError, match='write "module:name"'):
        simulator_from("model_for_this_test", tmp_path)


def test_whole_numbers_are_written_as_such() -> None:
    pull = replace(make_pull(), parameters={"a": 2.0, "b": -0.0, "c": 0.5, "d": 1e20})
    assert fill("{a} {b} {c} {d}", pull) == "2 -0 0.5 1e+20"


def test_the_environment_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "LICENCE", "4")
    assert python("import os; print(os.environ['LICENCE'])")(make_pull()) == 4.0
