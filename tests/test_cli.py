"""The command line, as a user types it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from surefoot import __version__, cli
from surefoot.commands import init
from surefoot.study import StudyReader
from surefoot.study.file.storage import Running
from surefoot.study.toml.config import StudyConfig
from surefoot.system import compiled
from tests.study.toys import open_ledger
from tests.view.dashboard.studies import grid_study
from tests.waiting import PATIENCE, pending_interrupt, wait_for

BY_HAND = """
delta = 0.05
seed = 1
features = "tabular"
algorithm = "robust-static"
noise = { kind = "gaussian", scale = 0.1 }
arms.grid = { dose = [1.0, 3.0] }
perturbations.list = [{ name = "fasted" }, { name = "after a meal", dose = 0.5 }]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("simulator", "model"):
        sys.modules.pop(name, None)
    return tmp_path


def surefoot(*arguments: str, code: int = 0) -> None:
    """Run a command in this process; it must end with the given code."""
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    assert (ended.value.code or 0) == code


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    surefoot("--help")
    text = capsys.readouterr().out
    assert all(name in text for name in cli.COMMANDS)


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    surefoot(name, "--help")
    assert f"surefoot {name}" in capsys.readouterr().out


def test_help_loads_nothing_heavy() -> None:
    heavy = ("numpy", "scipy", "numba", "pandas", "pydantic", "altair", "distributed")
    program = (
        "import sys; from surefoot import cli\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        f"print(*(m for m in {heavy} if m in sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == ""


def test_the_example_runs_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    surefoot("init")
    surefoot("run", "study.toml", "--quiet", "--processes", "1")
    output = capsys.readouterr().out
    assert "has the best worst case, with 95 % confidence" in output
    surefoot("run", "study.toml", "-q")  # it is done: the same answer, nothing pulled
    assert capsys.readouterr().out in output
    surefoot("status")
    assert "finished" in capsys.readouterr().out


def test_the_status_points_out_a_winner_at_the_end_of_its_grid(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    surefoot("status", str(grid_study(folder / "grid.db", best=1.0)))
    assert "gain=1 is at the end of the values of gain" in capsys.readouterr().out
    surefoot("status", "--json", "grid.db")
    assert "a better one may lie beyond" in json.loads(capsys.readouterr().out)["beside"][-1]


def test_every_option_that_the_example_shows_in_a_comment_works(folder: Path) -> None:
    """An option in a comment that is not accepted would be a trap."""
    surefoot("init")
    text = Path("study.toml").read_text()
    Path("arms.csv").write_text("gain,delay\n1,0\n2,0\n3,1\n4,2\n5,1\n6,3\n7,0\n")
    Path("perturbations.csv").write_text("gain\n0\n10%\n")
    inline = re.search(r"^list = \[\n.*?^\]\n", text, re.DOTALL | re.MULTILINE)[
        0
    ]  # the perturbations
    grid = next(line + "\n" for line in text.splitlines() if line.startswith("grid"))
    instead = {
        "list": grid,
        "grid": grid,
        "box": inline,
        "command": 'python = "simulator:simulate"\n',
    }
    options = [line for line in text.splitlines() if re.match(r"# \w+ = ", line)]
    assert len(options) >= 15
    for number, line in enumerate(options):
        key = line[2:].split(" = ")[0]
        replaced = {"csv": grid if "arms" in line else inline}.get(key, instead.get(key, ""))
        variant = text.replace(line, line[2:])
        variant = variant.replace(replaced, "", 1) if replaced else variant
        if key in ("json_field", "time_limit"):
            variant = variant.replace(instead["command"], 'command = "x"\n')
        path = Path(f"variant{number}.toml")
        path.write_text(variant)
        config = StudyConfig(path)
        config.simulator(config.problem())


def test_init_replaces_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path(init.SIMULATOR_NAME).write_text("mine")
    surefoot("init", code=2)
    assert "exists already" in capsys.readouterr().err
    assert Path(init.SIMULATOR_NAME).read_text() == "mine"
    assert not Path("study.toml").exists()


def test_init_makes_the_folder(folder: Path) -> None:
    surefoot("init", "new/wing.toml")
    assert Path("new/wing.toml").exists()
    assert Path("new", init.SIMULATOR_NAME).exists()


def test_a_plan_is_made_before_anything_is_spent(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    surefoot("init")
    surefoot("plan", "study.toml", "--gap", "1", "--gap", "0.5", "--seconds-per-pull", "3600")
    output = capsys.readouterr().out
    assert "8 arms, 32 pairs" in output
    assert "features" not in output  # the study relies on no model
    assert "static" not in output
    assert "days" in output
    assert "Times are for pulls of 1.0 h, 1 at a time." in output
    assert not Path("study.db").exists()
    Path("study.toml").write_text("misfit = 0\n" + Path("study.toml").read_text())
    surefoot("plan", "study.toml", "--gap", "2", "--runs", "1", "-q")
    assert "3 features of rank 3" in capsys.readouterr().out


def test_a_plan_with_a_pilot_knows_the_tolerance(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    surefoot("init")
    text = Path("study.toml").read_text().replace("# tolerance = 0.1 ", "tolerance = 0.1 ")
    Path("study.toml").write_text(text)
    surefoot("plan", "--gap", "1", "--time", "0", "-q")
    output = capsys.readouterr().out
    assert "The tolerance of 0.1 is not counted" in output
    assert "pulls of one second, since nobody said" in output
    surefoot("pilot", "-o", "pilot.json")
    assert "kept: `surefoot plan study.toml --pilot pilot.json`" in capsys.readouterr().out
    for options in (["--pilot", "pilot.json"], ["--try"]):
        surefoot("plan", "--gap", "1", "--time", "0", "-q", *options)
        assert "best to within 0.1" in capsys.readouterr().out
    surefoot("plan", "--pilot", "nowhere.json", code=2)
    assert "nowhere.json cannot be read" in capsys.readouterr().err


def test_a_plan_knows_how_long_pulls_of_the_study_took(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    surefoot("init")
    text = Path("study.toml").read_text().replace("\ndelta = ", "\nbudget = 150\ndelta = ")
    Path("study.toml").write_text(text)
    surefoot("pilot", "-o", "pilot.json")
    surefoot("run", "-q", "--processes", "1")
    connection = sqlite3.connect("study.db")
    with connection:
        connection.execute("UPDATE pulls SET started = finished - 7200 - 60 * pair")
        (n,) = connection.execute("SELECT count(*) FROM pulls WHERE reward IS NOT NULL").fetchone()
    connection.close()
    capsys.readouterr()
    for options in ([], ["--pilot", "pilot.json"]):
        surefoot("plan", "--gap", "1", "--runs", "1", "-q", *options)
        said = " ".join(capsys.readouterr().out.split())
        assert f"pulls of 2.3 h, which vary as {n} pulls of the study did, 1 at a time" in said
    surefoot("plan", "--gap", "1", "--runs", "1", "-q", "--seconds-per-pull", "20")
    said = " ".join(capsys.readouterr().out.split())
    assert f"pulls of 20 s, which vary as {n} pulls of the study did" in said


@pytest.mark.parametrize(("runs", "advises"), [(2, False), (20, True)])
def test_a_plan_advises_after_many_simulated_studies_and_fits_a_terminal(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    runs: int,
    advises: bool,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    Path("study.toml").write_text("parallel = 8\n" + BY_HAND.replace("robust-static", "prime"))
    surefoot("plan", "--gap", "2", "--runs", str(runs), "-q", "--processes", "1")
    output = capsys.readouterr().out
    assert "in_flight 1" in output
    assert "…" not in output
    assert ("too few to advise" in output) is not advises
    assert any(advice in output for advice in ("set it.", "leave it as it is.")) is advises


def reward(row: dict[str, str]) -> float:
    return float(row["dose"]) + int(row["seed"]) % 7 / 100


def test_work_by_hand(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("study.toml").write_text(BY_HAND)
    for _ in range(1000):
        capsys.readouterr()
        surefoot("ask", "-n", "8", "--csv")
        captured = capsys.readouterr()
        if not captured.out:
            break
        rows = list(csv.DictReader(io.StringIO(captured.out)))
        assert list(rows[0]) == ["study", "pull", "arm", "perturbation", "dose", "seed", "reward"]
        with Path("results.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(row | {"reward": repr(reward(row))} for row in reversed(rows))
        surefoot("tell", "results.csv")
    assert "dose=3 has the best worst case" in captured.err
    with StudyReader("study.db") as reader:
        assert reader.result.certified


def test_pulls_are_handed_out_once_and_listed_again_on_demand(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("study.toml").write_text(BY_HAND)

    def pulls(*options: str) -> list[int]:
        capsys.readouterr()
        surefoot("ask", "--csv", *options)
        return [int(row["pull"]) for row in csv.DictReader(io.StringIO(capsys.readouterr().out))]

    assert pulls("-n", "2") == [0, 1]
    assert pulls("-n", "1") == [2]
    assert pulls("--again") == [0, 1, 2]
    while pulls("-n", "50"):
        pass
    surefoot("ask")
    assert "handed out" in capsys.readouterr().err


def test_names_are_shown_as_they_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arms = 'arms.list = [{ name = "[/slow]", dose = 1.0 }, { name = ":x:", dose = 3.0 }]'
    text = BY_HAND.replace("arms.grid = { dose = [1.0, 3.0] }", arms)
    Path("study.toml").write_text('name = "[bold] bread"\n' + text)
    surefoot("ask", "-n", "20")
    surefoot("status")
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("[/slow]", ":x:", "[bold] bread"))


def test_names_steer_neither_the_terminal_nor_a_spreadsheet(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arms = 'arms.list = [{ name = "\\u001b[2J", dose = 1.0 }, { name = "=1+1", dose = 3.0 }]'
    text = BY_HAND.replace("arms.grid = { dose = [1.0, 3.0] }", arms)
    Path("study.toml").write_text('name = "\\u001b]0;title\\u0007"\n' + text)
    surefoot("ask", "-n", "20")
    surefoot("ask", "--again", "--csv", "-n", "20")
    surefoot("status")
    Path("results.csv").write_text("pull,reward\n0,1.5\n")
    surefoot("tell", "results.csv")
    surefoot("export", "-o", "out.csv")
    surefoot("report")
    output = capsys.readouterr().out
    table, commands = output.split("study,pull")[0], output.split("status")[-1]
    assert "\x1b" not in table
    assert "\x1b]" not in commands
    assert "\\x1b[2J" in table
    assert "'=1+1" in output
    assert set(pd.read_csv("out.csv")["arm"]) == {"\x1b[2J", "'=1+1"}


def test_init_in_a_folder_that_cannot_be_written_to(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused by the system, as a read-only folder is; the superuser may write to all others."""
    surefoot("init", "/proc/study/study.toml", code=2)
    assert "/proc/study cannot be written to" in capsys.readouterr().err
    Path("new").mkdir()
    monkeypatch.setattr(init, "SIMULATOR_NAME", "x" * 300)
    surefoot("init", "new/study.toml", code=2)
    assert "new cannot be written to" in capsys.readouterr().err
    assert list(Path("new").iterdir()) == []


def test_rows_without_a_reward_wait(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("study.toml").write_text(BY_HAND)
    Path("results.csv").write_text("pull,reward\n0,1.5\n1,\n")
    surefoot("tell", "results.csv")
    output = capsys.readouterr().out
    assert "1 new reward stored, 1 in all" in output
    assert "not known before the first phase is complete" in output


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("pull,reward\n0,1.5\n9999999,2\n", "no pull 9999999"),
        ("pull,reward\n0,1.5\n1,high\n", "pull '1' with reward 'high'"),
        ("pull,reward\n0,1.5\n1,nan\n", "pull '1' with reward 'nan'"),
        ("pull,reward\n0,1,5\n", "line 2 has 3 fields, the header 2"),
        ("pull,arm,seed,reward\n0,a, b,77\n0,a, b,77,1.5\n", "line 3 has 5 fields"),
        ("pull,arm,reward\n0,1.5\n", "line 2 has 2 fields, the header 3"),
        ('pull,reward\n0,"1.5\n', "is not a CSV table"),
        ("pull,arm,reward\n0," + 200_000 * "a" + ",1.5\n", "field larger than field limit"),
        ("pull,reward\n0,1_000\n", "'1_000' is not a number"),
        ("pull,reward\n0.5,1\n", "a pull has a whole number"),
        ("pull,reward\n0,1e200\n", "of a size below 1e+150"),
        ("pull,reward\n0," + 400 * "9" + "\n", "not a finite number"),
        ("pull,reward,reward\n0,1,2\n", "stands twice"),
        ("study,pull,reward\nabc,0,1.5\n", "belongs to study 'abc'"),
        ("study,pull,reward\nabc,0,1.5\nxyz,1,1\n", "several studies"),
        ("number,value\n0,1.5\n", "needs `pull` and `reward`"),
    ],
)
def test_a_wrong_tell_changes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], content: str, words: str
) -> None:
    Path("study.toml").write_text(BY_HAND)
    Path("results.csv").write_text(content)
    surefoot("ask", "-n", "1")
    surefoot("tell", "results.csv", code=2)
    assert words in capsys.readouterr().err
    with StudyReader("study.db") as reader:
        assert reader.status().told == 0


def test_a_row_whose_fields_have_moved_is_refused_though_it_is_as_long_as_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its quotes are lost and its empty last field too: the seed stands where the reward should."""
    arms = 'arms.list = [{ name = "low, slow", dose = 1.0 }, { name = "high, fast", dose = 3.0 }]'
    Path("study.toml").write_text(BY_HAND.replace("arms.grid = { dose = [1.0, 3.0] }", arms))
    surefoot("ask", "-n", "1", "--csv")
    asked = capsys.readouterr().out
    assert '"low, slow"' in asked or '"high, fast"' in asked
    Path("moved.csv").write_text(asked.replace('"', "").removesuffix(",\n") + "\n")
    Path("right.csv").write_text(asked.removesuffix("\n") + "1.5\n")
    surefoot("tell", "moved.csv", code=2)
    assert "its fields have moved. Nothing was stored" in capsys.readouterr().err
    surefoot("tell", "right.csv")
    surefoot("tell", "--correct", "moved.csv", code=2)
    assert "its fields have moved. Nothing was stored" in capsys.readouterr().err
    with StudyReader("study.db") as reader:
        assert reader.pulls()["reward"].dropna().tolist() == [1.5]
        assert len(reader.corrections()) == 0


def test_a_mistyped_reward_is_corrected_with_a_trace(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("study.toml").write_text(BY_HAND)
    Path("results.csv").write_text("pull,reward\n0,15\n1,2\n")
    surefoot("tell", "results.csv")
    Path("results.csv").write_text("pull,reward\n0,1.5\n")
    capsys.readouterr()
    surefoot("tell", "results.csv")
    said = capsys.readouterr()
    assert said.err == (
        "surefoot: pull 0 has its reward already: the first one counts, 1.5 is ignored\n"
    )
    assert "surefoot tell --correct" in said.out
    surefoot("tell", "--correct", "results.csv")
    assert "1 reward corrected" in capsys.readouterr().out
    surefoot("status")
    assert "1 rewards" in capsys.readouterr().out
    surefoot("export", "-o", "out.json")
    document = json.loads(Path("out.json").read_text())
    assert [pull["reward"] for pull in document["pulls"]][:2] == [1.5, 2.0]
    (trace,) = document["corrections"]
    assert (trace["pull"], trace["was"], trace["became"]) == (0, 15.0, 1.5)
    surefoot("report", "-o", "out.html")
    assert "corrected" in Path("out.html").read_text()


def test_a_backup_is_a_study_of_its_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("study.toml").write_text(BY_HAND)
    Path("results.csv").write_text("pull,reward\n0,1.5\n")
    surefoot("tell", "results.csv")
    surefoot("backup", "study.toml", "copy.db")
    assert "copy.db: 1 rewards of study" in capsys.readouterr().out
    surefoot("backup", "study.toml", "copy.db", code=2)
    assert "copy.db exists already" in capsys.readouterr().err
    surefoot("backup", "study.toml", "nowhere/copy.db", code=2)
    assert "nowhere/copy.db cannot be written" in capsys.readouterr().err


def test_any_program_is_a_simulator(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "model.py").write_text(
        "import json, sys\n"
        "noise = int(sys.argv[2]) % 7 / 100\n"
        "print(json.dumps({'score': float(sys.argv[1]) + noise}))\n"
    )
    command = json.dumps([sys.executable, str(folder / "model.py"), "{dose}", "{seed}"])
    Path("study.toml").write_text(
        BY_HAND + f'simulator = {{ command = {command}, json_field = "score" }}\n'
    )
    surefoot("run", "study.toml", "-q", "--processes", "1")
    assert "dose=3 has the best worst case" in capsys.readouterr().out


def test_it_runs_where_the_locale_knows_nothing_but_ascii(folder: Path) -> None:
    arms = 'arms.list = [{ name = "süß", dose = 1.0 }, { name = "groß", dose = 3.0 }]'
    text = BY_HAND.replace("arms.grid = { dose = [1.0, 3.0] }", arms) + "budget = 4\n"
    text = 'name = "Größe θ"\n' + text + 'simulator.python = "model:simulate"\n'
    Path("study.toml").write_text(text, encoding="utf-8")
    Path("model.py").write_text("def simulate(pull):\n    return pull.rng().normal()\n")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment = os.environ | plain | {"PYTHONIOENCODING": "ascii:strict"}
    for command in (["run", "--quiet", "--processes", "2"], ["status"]):
        ended = subprocess.run(
            [sys.executable, "-m", "surefoot", *command],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "\\xdf" in ended.stdout


@pytest.mark.parametrize(
    "command", [("export", "-o", "file/out.csv"), ("report", "-o", "file/x.html")]
)
def test_a_place_that_cannot_be_written_to(
    folder: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    Path("study.toml").write_text(BY_HAND)
    Path("file").write_text("not a folder")
    surefoot("ask")
    surefoot(*command, code=2)
    assert "cannot be written" in capsys.readouterr().err


def test_an_export_that_breaks_off_leaves_what_was_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("study.toml").write_text(BY_HAND)
    surefoot("ask")
    Path("out.json").write_text("yesterday's")

    def breaks_off(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("surefoot.study.StudyReader.pull_records", breaks_off)
    with pytest.raises(MemoryError):
        cli.main(["export", "-o", "out.json"])
    assert Path("out.json").read_text() == "yesterday's"
    assert not list(folder.glob(".*"))


def test_an_export_of_many_pulls_is_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Read in pieces, the pulls are those of one piece."""
    Path("study.toml").write_text(BY_HAND)
    Path("results.csv").write_text("pull,reward\n0,1.5\n1,2.5\n")
    surefoot("tell", "results.csv")
    for name in ("out.csv", "out.parquet", "out.json"):
        surefoot("export", "-o", name)
        monkeypatch.setattr("surefoot.commands.export.AT_A_TIME", 3)
        surefoot("export", "-o", f"small-{name}")
        monkeypatch.undo()
        monkeypatch.chdir(folder)
    assert Path("out.csv").read_bytes() == Path("small-out.csv").read_bytes()
    assert Path("out.json").read_bytes() == Path("small-out.json").read_bytes()
    pd.testing.assert_frame_equal(
        pd.read_parquet("out.parquet"), pd.read_parquet("small-out.parquet")
    )


def test_an_export_takes_no_more_memory_for_more_pulls(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefoot.commands.export.AT_A_TIME", 250)
    for name, budget in (("warm", 100), ("small", 1000), ("large", 4000)):
        Path(f"{name}.toml").write_text(
            BY_HAND.replace("robust-static", "uniform").replace("0.1", "100.0")
            + f"budget = {budget}\n"
        )
        with StudyConfig(Path(f"{name}.toml")).open_study() as study:
            study.run(lambda pull: pull.parameters["dose"] + pull.rng().normal(), "serial")

    def peak(name: str, ending: str) -> int:
        tracemalloc.start()
        try:
            surefoot("export", f"{name}.db", "-o", f"{name}{ending}")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    for ending in (".json", ".csv", ".parquet"):
        peak("warm", ending)  # what is imported and compiled counts once
        assert peak("large", ending) < 2 * peak("small", ending)  # all at once would be four times


def test_a_program_that_ignores_the_seed_is_not_certified(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "model.py").write_text("import sys\nprint(float(sys.argv[1]))\n")
    command = json.dumps([sys.executable, str(folder / "model.py"), "{dose}"])
    Path("study.toml").write_text(BY_HAND + f"simulator = {{ command = {command} }}\n")
    surefoot("run", "study.toml", "-q", "--processes", "1")
    assert "IDENTICAL_REPLICATES" in capsys.readouterr().out
    surefoot("status", "--json")
    assert json.loads(capsys.readouterr().out)["certified"] is False
    declared = 'on_identical = "accept"\nfile = "declared.db"\n'
    Path("study.toml").write_text(declared + BY_HAND + f"simulator = {{ command = {command} }}\n")
    surefoot("run", "study.toml", "-q", "--processes", "1")
    assert "dose=3 has the best worst case" in capsys.readouterr().out


def test_programs_that_would_read_each_others_results_are_refused_before_anything_is_spent(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulator = 'simulator = { command = ["sh", "-c", "echo {dose} > out.txt"], file = "out.txt" }'
    Path("study.toml").write_text(BY_HAND + simulator + "\n")
    surefoot("run", "study.toml", "-q", "--processes", "2", code=2)
    assert 'give each its own, with folder = "runs/{id}"' in capsys.readouterr().err
    assert told() == 0
    assert not Path("out.txt").exists()


def test_what_is_running_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("study.toml").write_text(BY_HAND)
    StudyConfig(Path("study.toml")).open_study().close()
    with open_ledger(Path("study.db")) as ledger:
        began = time.time() - 7200
        ledger.set_running([Running(3, began, "node 7"), Running(4, began + 60, None)])
        surefoot("status")
        shown = " ".join(capsys.readouterr().out.split())
        assert "running pull 3 for 2.0 h on node 7 running pull 4 for" in shown
        surefoot("status", "--json")
        assert json.loads(capsys.readouterr().out)["running"][0]["worker"] == "node 7"
        surefoot("ask", code=75)
        assert "is being written by process" in capsys.readouterr().err


def test_a_pause_says_how_to_go_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "model.py").write_text("def simulate(pull):\n    raise ArithmeticError('diverged')\n")
    Path("study.toml").write_text(BY_HAND + 'simulator.python = "model:simulate"\n')
    surefoot("run", "study.toml", "-q", "--processes", "1", "--retries", "0", code=3)
    errors = capsys.readouterr().err
    assert "ArithmeticError: diverged" in errors
    assert "`surefoot run study.toml`" in errors
    surefoot("status", "--json")
    assert json.loads(capsys.readouterr().out)["state"] == "paused"
    surefoot("status")
    shown = " ".join(capsys.readouterr().out.split())
    assert "failed 1 now, 0 before and tried again, 0 lost with their worker" in shown


def test_the_end_of_a_forecast_is_no_promise(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("study.toml").write_text(BY_HAND)
    StudyConfig(Path("study.toml")).open_study().close()
    with StudyReader(Path("study.db")) as reader:
        nearly = replace(reader.status(), expected_left=1.0, pulls_per_minute=60.0)
    monkeypatch.setattr(StudyReader, "status", lambda _: nearly)
    surefoot("status")
    assert "left hardly any pulls, if the phase" in " ".join(capsys.readouterr().out.split())


def test_an_interrupt_leaves_a_study_that_goes_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The simulator waits for the interrupt: no machine is so busy that the study ends before."""
    (folder / "model.py").write_text(
        "import pathlib, time\n"
        "def simulate(pull):\n"
        "    while pull.id > 10 and not pathlib.Path('go').exists():\n"
        "        time.sleep(0.01)\n"
        "    return pull.parameters['dose'] + 0.1 * pull.rng().normal()\n"
    )
    text = BY_HAND.replace("scale = 0.1", "scale = 3.0")
    Path("study.toml").write_text(text + 'simulator.python = "model:simulate"\n')
    command = [sys.executable, "-c", "from surefoot.cli import main; main()", "run", "study.toml"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_for(lambda: told() > 0)
    os.killpg(process.pid, signal.SIGINT)
    wait_for(lambda: not pending_interrupt(process.pid))
    Path("go").touch()
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "(`surefoot run study.toml`)" in errors
    assert "Traceback" not in errors
    before = told()
    assert before > 0
    surefoot("run", "study.toml", "-q")
    assert "IDENTIFIED" in capsys.readouterr().out
    assert told() > before


def told() -> int:
    if not Path("study.db").exists():
        return 0
    with StudyReader("study.db") as reader:
        return reader.status().told


def test_export_in_three_formats(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("study.toml").write_text(BY_HAND + 'direction = "minimize"\n')
    Path("results.csv").write_text("pull,reward\n0,1e-17\n1,0.30000000000000004\n")
    surefoot("tell", "results.csv")
    for name in ("new/out.csv", "new/out.parquet", "new/out.json"):
        surefoot("export", "-o", name)
    table = pd.read_csv("new/out.csv", float_precision="round_trip")
    assert table["reward"].tolist()[:2] == [1e-17, 0.30000000000000004]
    assert pd.read_parquet("new/out.parquet")["arm"].tolist() == table["arm"].tolist()
    document = json.loads(Path("new/out.json").read_text())
    assert document["direction"] == "minimize"
    assert [pull["reward"] for pull in document["pulls"]][:3] == [1e-17, 0.30000000000000004, None]
    assert document["result"]["certified"] is False
    surefoot("export", "-o", "out.xls", code=2)
    assert "choose .csv, .parquet, .json" in capsys.readouterr().err


def test_which_study_is_asked_if_it_is_not_clear(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    surefoot("status", code=2)
    said = capsys.readouterr().err
    assert "which study?" in said
    assert "--study NAME" in said
    for name in ("one.toml", "two.toml"):
        Path(name).write_text(BY_HAND)
    surefoot("status", code=2)
    assert "one.toml, two.toml" in capsys.readouterr().err
    surefoot("ask", "--study", "two.toml", "-n", "1")
    surefoot("status", "two.db")
    assert "two" in capsys.readouterr().out


def test_mistakes_end_with_a_message_and_no_traceback(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("study.toml").write_text(BY_HAND.replace("0.05", "5"))
    surefoot("run", "study.toml", code=2)
    assert capsys.readouterr().err.startswith("surefoot: study.toml: delta=5 is not a probability")


def test_no_scheduler_answers(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    surefoot("init")
    surefoot("run", "study.toml", "--dask", "tcp://nonsense", code=75)
    assert "no Dask scheduler answers at tcp://nonsense" in capsys.readouterr().err
    assert not Path("study.db").exists()
    config = Path("study.toml")
    config.write_text(config.read_text() + 'dask = "tcp://nothing"\n')
    surefoot("run", "study.toml", code=75)
    assert "no Dask scheduler answers at tcp://nothing" in capsys.readouterr().err
    surefoot("pilot", "--pairs", "2", "--pulls", "3")
    assert "pulled on this machine" in capsys.readouterr().out
    surefoot("run", "study.toml", "--dask", "tcp://nothing", "--processes", "1", code=2)
    assert "--dask and --processes are both given" in capsys.readouterr().err
    surefoot("run", "study.toml", "--quiet", "--processes", "1")  # here, whatever [run] says
    assert "has the best worst case" in capsys.readouterr().out


def test_a_first_compilation_is_announced_while_a_command_runs(capsys, monkeypatch):
    monkeypatch.setattr(cli, "app", lambda **_: compiled._announce())
    compiled._announce.cache_clear()
    cli.main([])
    assert capsys.readouterr().err.startswith("surefoot: compiling for this machine")
    compiled._announce.cache_clear()
    compiled._announce()
    assert capsys.readouterr() == ("", "")


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    surefoot("--version")
    assert capsys.readouterr().out == f"surefoot {__version__}\n"


def test_a_study_that_was_interrupted_says_how_to_go_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    surefoot("init")
    StudyConfig(Path("study.toml")).open_study().close()
    surefoot("status")
    assert "not begun, with `surefoot run study.toml`" in " ".join(capsys.readouterr().out.split())
    with StudyConfig(Path("study.toml")).open_study() as study:
        study.tell(0, 1.0)
        surefoot("status")  # somebody has it open: it runs
        assert "state running" in " ".join(capsys.readouterr().out.split())
    surefoot("status")
    shown = " ".join(capsys.readouterr().out.split())
    assert "interrupted, go on with `surefoot run study.toml`" in shown
    assert "nobody" not in shown


def test_a_pilot_tries_the_simulator_and_stores_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    surefoot("init")
    surefoot("pilot", "--pairs", "3", "--pulls", "4")
    output = capsys.readouterr().out
    assert "weak and slow" in output
    assert "3 of 32 pairs, 4 pulls each" in output
    assert "s for a pull" in output
    assert "times the standard deviation of the quietest" in output
    assert 'suggested: differences vary less with common_random_numbers = "auto"' in output
    assert "-o pilot.json keeps this" in output
    assert not Path("study.db").exists()


def test_macroreplications_say_how_often_the_study_is_right(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    surefoot("init")
    surefoot("macroreplicate", "--against", "estimate", code=2)
    assert "`surefoot run study.toml` first" in capsys.readouterr().err
    surefoot("macroreplicate", "--against", "nothing", code=2)
    capsys.readouterr()
    surefoot(
        *["macroreplicate", "study.toml", "--runs", "3", "--processes", "1", "-q"],
        *["--best", "gain=1.5, delay=0", "-o", "runs.csv"],
    )
    output = capsys.readouterr().out
    assert "right: 3 of 3, 100.0 % (29.2 to 100.0 %)" in output
    assert "certified and wrong: 0 of 3" in output
    assert len(pd.read_csv("runs.csv")) == 3


def test_an_export_with_one_row_per_arm(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    surefoot("init")
    text = Path("study.toml").read_text()
    Path("study.toml").write_text(text.replace("# seed = 1 ", "seed = 1 "))
    surefoot("run", "-q", "--processes", "1")
    for name in ("arms.csv", "arms.parquet"):
        surefoot("export", "--arms", "-o", name)
    table = pd.read_csv("arms.csv")
    assert len(table) == len(pd.read_parquet("arms.parquet")) == 8
    assert "arms.csv: 8 arms of a controller" in capsys.readouterr().out
    best = table.iloc[0]
    assert (best["gain"], best["delay"], best["kind"]) == (1.5, 0.0, "leader")
    assert (table["low"] <= table["value"]).all()
    assert table["pulls"].sum() > 100
    surefoot("export", "--arms", "-o", "arms.json", code=2)
    assert "choose .csv, .parquet" in capsys.readouterr().err
