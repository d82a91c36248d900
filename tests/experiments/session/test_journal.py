from __future__ import annotations

from pathlib import Path

import pytest

from surefoot.errors import InputError
from surefoot.experiments import session as journals
from surefoot.experiments.session import _Journal


def reopened(journal: _Journal, out: Path) -> _Journal:
    journal.close()
    return _Journal(out, "toy", {"seed": 1})


def test_what_was_recorded_is_read_back_to_the_bit(tmp_path: Path) -> None:
    journal = _Journal(tmp_path, "toy", {"seed": 1})
    journal.record("a", {"third": 1 / 3, "tuple": (1, 2)})
    at_once = dict(journal.results)
    assert (
        reopened(journal, tmp_path).results == at_once == {"a": {"third": 1 / 3, "tuple": [1, 2]}}
    )


def test_a_line_cut_off_anywhere_costs_only_its_own_job(tmp_path: Path) -> None:
    journal = _Journal(tmp_path, "toy", {"seed": 1})
    journal.record("a", 1)
    first = journal.path.stat().st_size
    journal.record("b", "two")
    whole = journal.path.read_bytes()
    for length in range(first, len(whole)):
        journal.path.write_bytes(whole[:length])
        journal = reopened(journal, tmp_path)
        assert journal.results == {"a": 1}
        journal.record("b", "two")
        assert journal.path.read_bytes() == whole


def test_other_seeds_versions_and_code_have_other_journals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def name(seed: int) -> str:
        journal = _Journal(tmp_path, "toy", {"seed": seed})
        journal.close()
        return journal.path.name

    names = {name(1), name(2)}
    monkeypatch.setattr(journals, "code_digest", lambda: "changed")
    names.add(name(1))
    monkeypatch.setattr(journals, "versions", lambda: {"numpy": "0"})
    names.add(name(1))
    assert len(names) == 4


def test_the_code_digest_sees_every_change_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    (package / "inner" / "code.py").write_text("a = 1")
    monkeypatch.setattr(journals, "PACKAGE", package)
    before = journals.code_digest()
    assert before == journals.code_digest()
    (package / "inner" / "code.py").write_text("a = 2")
    assert journals.code_digest() != before


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    journal = _Journal(tmp_path, "toy", {"seed": 1})
    with pytest.raises(InputError, match="already running"):
        _Journal(tmp_path, "toy", {"seed": 1})
    reopened(journal, tmp_path).remove()
    assert list(tmp_path.iterdir()) == []


def test_removing_one_leaves_the_others(tmp_path: Path) -> None:
    one, two = _Journal(tmp_path, "one", {}), _Journal(tmp_path, "two", {})
    one.remove()
    assert two.path.exists()
