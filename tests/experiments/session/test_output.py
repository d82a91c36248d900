from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.errors import InputError
from surefoot.experiments.publication import _markdown_table, short
from surefoot.experiments.session import _Folder
from surefoot.system.interrupts import SENTENCE
from tests.waiting import PATIENCE


def test_files_appear_together_when_all_are_written(tmp_path: Path) -> None:
    with _Folder(tmp_path / "new" / "out").staged() as stage:
        (stage / "a.txt").write_text("a")
        (stage / "b.txt").write_text("b")
        assert not (tmp_path / "new" / "out" / "a.txt").exists()
    assert sorted(path.name for path in (tmp_path / "new" / "out").iterdir()) == ["a.txt", "b.txt"]


def test_a_failure_in_the_middle_leaves_what_was_there_before(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")

    def fills_the_disk() -> None:
        with _Folder(tmp_path).staged() as stage:
            (stage / "a.txt").write_text("new")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fills_the_disk()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_an_interrupt_in_the_middle_leaves_what_was_there_before(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    program = (
        "import signal\n"
        "from pathlib import Path\n"
        "from surefoot.experiments.session import _Folder\n"
        "from surefoot.system import interrupts\n"
        "interrupts.PATIENCE = interrupts.LIMIT = 200\n"
        "interrupts.end_this_process()\n"
        f"with _Folder(Path({str(tmp_path)!r})).staged() as stage:\n"
        "    (stage / 'a.txt').write_text('new')\n"
        "    signal.raise_signal(signal.SIGINT)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (130, f"surefoot: {SENTENCE}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_an_interrupt_while_files_are_moved_waits_for_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    move = Path.replace

    def interrupted_move(self: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGINT)
        return move(self, target)

    monkeypatch.setattr(Path, "replace", interrupted_move)
    with pytest.raises(KeyboardInterrupt), _Folder(tmp_path).staged() as stage:  # noqa: PT012
        for name in ("a.txt", "b.txt"):
            (stage / name).touch()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt"]


def test_a_folder_that_cannot_be_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"file.*give another folder"):
        _Folder(tmp_path / "file" / "out")


@pytest.mark.parametrize(
    ("number", "words"),
    [(9400.4, "9,400"), (303_012, "303 k"), (999_642, "1.00 M"), (1_221_378, "1.22 M")],
)
def test_numbers_for_people(number: float, words: str) -> None:
    assert short(number) == words


def test_markdown_tables_have_a_rule_below_their_headings() -> None:
    assert _markdown_table([("", "a"), ("x", "1")]) == "|  | a |\n| --- | --- |\n| x | 1 |"
