from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from surefoot.errors import InputError
from surefoot.experiments.session.output import Folder, short, write_origin, write_table


def test_files_appear_together_when_all_are_written(tmp_path: Path) -> None:
    with Folder(tmp_path / "new" / "out").staged() as stage:
        (stage / "a.txt").write_text("a")
        (stage / "b.txt").write_text("b")
        assert not (tmp_path / "new" / "out" / "a.txt").exists()
    assert sorted(path.name for path in (tmp_path / "new" / "out").iterdir()) == ["a.txt", "b.txt"]


def test_a_failure_in_the_middle_leaves_what_was_there_before(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(OSError, match="disk full"), Folder(tmp_path).staged() as stage:  # noqa: PT012
        (stage / "a.txt").write_text("new")
        raise OSError("disk full")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_folder_that_cannot_be_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"file.*--out"):
        Folder(tmp_path / "file" / "out")


def test_tables_come_back_as_they_were(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"samples": np.array([1, 2**52]), "correct": [True, False], "label": ["a, b", "c"]}
    )
    write_table(frame, tmp_path / "table")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "table.parquet"), frame)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "table.csv"), frame)


def test_the_sidecar_says_where_it_comes_from(tmp_path: Path) -> None:
    write_origin(tmp_path / "origin.json", "surefoot reproduce x", 7, runs=3)
    origin = json.loads((tmp_path / "origin.json").read_text(encoding="utf-8"))
    assert (origin["command"], origin["seed"], origin["runs"]) == ("surefoot reproduce x", 7, 3)
    assert {"python", "surefoot", "numpy", "numba"} <= set(origin["versions"])
    assert origin["code"]


@pytest.mark.parametrize(
    ("number", "words"),
    [(9400.4, "9,400"), (303_012, "303 k"), (999_642, "1.00 M"), (1_221_378, "1.22 M")],
)
def test_numbers_for_people(number: float, words: str) -> None:
    assert short(number) == words
