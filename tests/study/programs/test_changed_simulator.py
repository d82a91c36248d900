"""A simulator that changes while its study goes on: noticed, marked, and no certificate without a
reason.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from surefoot import StopReason, cli, verify
from surefoot.errors import InputError, SurefootWarning
from surefoot.study import Pull, Study, StudyReader
from surefoot.study.toml.config import StudyConfig
from surefoot.system.progress import NoProgress, Snapshot

CONFIG = """
delta = 0.05
seed = 3
arms.grid = {{ dose = [1.0, 2.0, 3.0] }}
simulator = {simulator}
"""
MODEL = """
from scale import UNIT

def simulate(pull):
    return UNIT * pull.parameters["dose"] + pull.rng().normal()

if __name__ == "__main__":
    print(1)
"""
PROGRAM = """
import random, sys
from scale import UNIT
random.seed(int(sys.argv[2]))
minutes = UNIT * float(sys.argv[1]) + random.gauss(0, 0.3)
print('{"minutes": %r, "seconds": %r}' % (minutes, 60 * minutes))
"""
PYTHON = '{ python = "changing:simulate" }'
COMMAND = (
    '{{ command = ["{0}", "-S", "program.py", "{{dose}}", "{{seed}}"], json_field = "minutes" }}'
)
WORDS = "not the one that gave the first"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "changing.py").write_text(MODEL)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "scale.py").write_text("UNIT = 1.0\n")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    forget()


class Stop(NoProgress):
    """Ends a run once so many rewards are there, after doing something else."""

    def __init__(self, told: int, first: Callable[[], object] = lambda: None) -> None:
        self.told, self.first, self.done = told, first, False

    def update(self, snapshot: Snapshot) -> None:
        if snapshot.told >= self.told and not self.done:
            self.done = True
            self.first()


def begun(simulator: str, told: int = 16) -> StudyConfig:
    """A study by this simulator that has some rewards."""
    Path("study.toml").write_text(CONFIG.format(simulator=simulator))
    config = StudyConfig(Path("study.toml"))
    with config.open_study() as study:
        simulate = config.simulator(study.problem)
        count = 0

        def interrupted(pull: Pull) -> float:
            nonlocal count
            count += 1
            if count > told:
                raise KeyboardInterrupt
            return simulate(pull)

        interrupted.__wrapped__ = simulate  # type: ignore[attr-defined]
        with pytest.raises(KeyboardInterrupt):
            study.run(interrupted, "serial")
    return config


def forget() -> None:
    for name in ("changing", "scale", "elsewhere", "decorators"):
        sys.modules.pop(name, None)


def finished(accept: str | None = None) -> Study:
    forget()
    config = StudyConfig(Path("study.toml"))
    with config.open_study() as study:
        study.run(config.simulator(study.problem), "serial", accept_change=accept)
    return study


def shown(*words: str, code: int = 0) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(list(words))
    assert (end.value.code or 0) == code


def edit(file: str, old: str, new: str) -> None:
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new))


CHANGES: dict[str, tuple[str, Callable[[], None], str]] = {
    "a sign": (PYTHON, partial(edit, "changing.py", "UNIT *", "-UNIT *"), "changing.py changed"),
    "what it imports": (PYTHON, partial(edit, "scale.py", "1.0", "2.0"), "scale.py changed"),
    "the unit": (
        COMMAND.format(sys.executable),
        partial(edit, "study.toml", '"minutes"', '"seconds"'),
        "json_field = 'seconds', was 'minutes'",
    ),
    "what a program imports": (
        COMMAND.format(sys.executable),
        partial(edit, "scale.py", "1.0", "2.0"),
        "scale.py changed",
    ),
}


DECORATED = """
import functools
from decorators import doubled
from elsewhere import Model, base

UNIT = 1.0

@functools.wraps(base)
def wrapped(pull):
    return UNIT * base(pull)

simulate = doubled(base)
model = Model(1.0)
"""
ELSEWHERE = """
class Model:
    def __init__(self, unit):
        self.unit = unit

    def __call__(self, pull):
        return self.unit * base(pull)

def base(pull):
    return pull.parameters["dose"] + pull.rng().normal()
"""
DECORATOR = """
import functools

def doubled(function):
    @functools.wraps(function)
    def decorated(pull):
        return 2.0 * function(pull)

    return decorated
"""


@pytest.mark.parametrize(
    ("name", "file", "old", "new"),
    [
        ("wrapped", "changing.py", "UNIT = 1.0", "UNIT = -1.0"),
        ("simulate", "decorators.py", "2.0 *", "-2.0 *"),
        ("simulate", "elsewhere.py", '["dose"] +', '["dose"] -'),
        ("model", "changing.py", "Model(1.0)", "Model(-1.0)"),
    ],
)
def test_decorators_and_the_module_that_is_named_are_parts_of_a_simulator(
    folder: Path, name: str, file: str, old: str, new: str
) -> None:
    (folder / "changing.py").write_text(DECORATED)
    (folder / "elsewhere.py").write_text(ELSEWHERE)
    (folder / "decorators.py").write_text(DECORATOR)
    begun(PYTHON.replace("simulate", name))
    edit(file, old, new)
    with pytest.warns(SurefootWarning, match=f"{file} changed"):
        finished()
    with StudyReader("study.db") as reader:
        assert reader.recorded.reason is StopReason.SIMULATOR_CHANGED


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_noticed_and_withholds_the_certificate(folder: Path, kind: str) -> None:
    simulator, change, words = CHANGES[kind]
    begun(simulator)
    change()
    with pytest.warns(SurefootWarning, match=WORDS):
        finished()
    with StudyReader("study.db") as reader:
        assert reader.recorded.reason is StopReason.SIMULATOR_CHANGED
        assert not reader.recorded.certified
        assert not reader.result.certified
        assert reader.recorded.attained_confidence is None
        counts = reader.pulls()["simulator"].value_counts().to_dict()
        assert counts == {one.number: one.pulls for one in reader.simulators}
        said = f"changed after {counts[1]} rewards and gave {counts[2]} ({words}); not accepted"
        assert said in reader.status().changes[0]


def test_everybody_says_so_until_it_is_accepted_with_a_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulator, change, words = CHANGES["a sign"]
    begun(simulator)
    change()
    with pytest.warns(SurefootWarning, match=WORDS):
        finished()
    shown("verify", code=1)
    shown("export", "--certificate", "proof.json", code=2)
    shown("report")
    capsys.readouterr()
    shown("status")
    said = " ".join(capsys.readouterr().out.split())
    assert f"({words}); not accepted" in said
    assert '--accept-change "why"' in said
    page = Path("study.html").read_text()
    assert page.count(words) == 1
    assert "not accepted" in page

    shown("run", "--quiet", "--accept-change", " ", code=2)
    shown("run", "--quiet", "--accept-change", "the same to rounding")
    assert "has the best worst case" in capsys.readouterr().out
    shown("verify")
    assert "accepted: the same to rounding" in capsys.readouterr().out
    shown("export", "--certificate", "proof.json")
    assert "the same to rounding" in str(verify("proof.json").assumed)
    shown("run", "--quiet", "--accept-change", "again", code=2)
    assert "there is no change" in capsys.readouterr().err


def test_the_report_prints_every_simulator_and_the_last_configuration(folder: Path) -> None:
    begun(COMMAND.format(sys.executable))
    edit("study.toml", '"minutes"', '"seconds"')
    with pytest.warns(SurefootWarning, match=WORDS):
        finished("seconds are what was meant, and the unit is one for all")
    shown("report")
    page = Path("study.html").read_text()
    assert "json_field minutes" in page
    with StudyReader("study.db") as reader:
        assert reader.configuration is not None
        assert '"seconds"' in reader.configuration["text"]
        assert "another configuration after" in reader.log()["text"].str.cat()


@pytest.mark.parametrize(
    "change",
    [
        lambda: edit("changing.py", "def simulate", "# a remark\n\ndef simulate"),
        lambda: Path("other.py").write_text("UNIT = 3\n"),
        lambda: edit("changing.py", "print(1)", "print(2)"),
        lambda: os.utime("changing.py"),
        lambda: edit("study.toml", "seed = 3", "seed = 3\nbudget = 5000"),
    ],
)
def test_what_gives_the_same_rewards_is_no_change(
    folder: Path, change: Callable[[], object], recwarn: pytest.WarningsRecorder
) -> None:
    begun(PYTHON)
    change()
    finished()
    with StudyReader("study.db") as reader:
        assert reader.recorded.certified
        assert reader.status().changes == []
    assert not [one for one in recwarn if WORDS in str(one.message)]


def test_a_change_that_gave_no_reward_can_be_undone(folder: Path) -> None:
    begun(PYTHON)
    edit("changing.py", "UNIT *", "-UNIT *")
    with pytest.warns(SurefootWarning, match=WORDS):
        begun(PYTHON, told=0)
    edit("changing.py", "-UNIT *", "UNIT *")
    finished()
    with StudyReader("study.db") as reader:
        assert reader.recorded.certified


def test_a_program_that_changes_while_it_runs_is_noticed(folder: Path) -> None:
    Path("study.toml").write_text(CONFIG.format(simulator=COMMAND.format(sys.executable)))
    config = StudyConfig(Path("study.toml"))
    stop = Stop(10, partial(edit, "program.py", "UNIT *", "-UNIT *"))
    with config.open_study() as study:
        simulator = config.simulator(study.problem)
        with pytest.warns(SurefootWarning, match=r"program\.py changed"):
            result = study.run(simulator, "serial", progress=stop)
    assert result.reason is StopReason.SIMULATOR_CHANGED


def test_a_confidence_on_the_way_is_not_shown_either(folder: Path) -> None:
    begun(PYTHON, told=24)
    with StudyReader("study.db") as reader:
        assert reader.recorded.attained_confidence is not None
    edit("changing.py", "UNIT *", "-UNIT *")
    sys.modules.pop("changing", None)
    with pytest.warns(SurefootWarning, match=WORDS):
        begun(PYTHON, told=12)
    with StudyReader("study.db") as reader:
        assert reader.recorded.attained_confidence is None


def test_accepting_nothing_is_refused(folder: Path) -> None:
    begun(PYTHON)
    with pytest.raises(InputError, match="there is no change"):
        finished("for good measure")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE simulators SET pulls = 0 WHERE id = 2", "marked with other simulators"),
        ("DELETE FROM simulators WHERE id = 2", "marked with other simulators"),
        ("UPDATE pulls SET simulator = 1", "marked with other simulators"),
        (
            "UPDATE pulls SET simulator = 1; UPDATE simulators SET pulls = 0; "
            "UPDATE simulators SET pulls = (SELECT count(*) FROM pulls WHERE reward IS NOT NULL) "
            "WHERE id = 1",
            "the origins of its rewards",
        ),
        ("UPDATE simulators SET accepted = 'nobody said so' WHERE id = 2", "of a simulator"),
        ("UPDATE simulators SET since = 0 WHERE id = 2", "of a simulator"),
        (
            "UPDATE simulators SET source = (SELECT source FROM simulators WHERE id = 1)",
            "of a simulator",
        ),
    ],
)
def test_an_edit_of_who_gave_the_rewards_is_found(folder: Path, statement: str, said: str) -> None:
    begun(PYTHON)
    edit("changing.py", "UNIT *", "-UNIT *")
    with pytest.warns(SurefootWarning, match=WORDS):
        finished()
    assert verify("study.db").intact
    with contextlib.closing(sqlite3.connect("study.db")) as connection, connection:
        connection.executescript(statement)
    found = verify("study.db")
    assert not found.intact
    assert said in found.sentence
    with StudyReader("study.db") as reader:
        assert not reader.status().certified


def test_an_edit_of_an_accepted_change_is_found(folder: Path) -> None:
    """The reason is signed though no phase follows, in a study as in its certificate."""
    begun(PYTHON)
    edit("changing.py", "UNIT *", "-UNIT *")
    with pytest.warns(SurefootWarning, match=WORDS):
        finished()
    before = verify("study.db").fingerprint
    with Study.open("study.db") as study:
        study.accept_change("the sign was wrong")
    found = verify("study.db")
    assert found.certified
    assert found.fingerprint != before
    shown("export", "--certificate", "proof.json")
    assert verify("proof.json").certified
    assert any("the sign was wrong" in text for text in verify("proof.json").assumed)
    document = json.loads(Path("proof.json").read_text())
    for reason in ("another", None):
        changed = [document["simulators"][0], [*document["simulators"][1][:-1], reason]]
        Path("proof.json").write_text(json.dumps(document | {"simulators": changed}))
        assert "of a simulator" in verify("proof.json").sentence
    with contextlib.closing(sqlite3.connect("study.db")) as connection, connection:
        connection.execute("UPDATE simulators SET accepted = 'another' WHERE id = 2")
    assert not verify("study.db").intact
    with StudyReader("study.db") as reader:
        assert reader.recorded.reason is StopReason.NOT_VERIFIED
