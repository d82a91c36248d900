from __future__ import annotations

import math
from pathlib import Path

import pytest

from surefoot.errors import InputError, SurefootWarning
from tests.study.toys import linear, rewards_of, toy_study


def test_a_repeated_tell_is_ignored_with_a_warning(path: Path) -> None:
    with toy_study(path) as study:
        assert study.tell(0, 1.0) is True
        with pytest.warns(SurefootWarning, match="pull 0 has its reward already"):
            assert study.tell(0, 2.0) is False
        assert study.told == 1
    assert rewards_of(path)[0][2] == 1.0


def test_a_repeated_sheet_is_one_warning(path: Path) -> None:
    with toy_study(path) as study:
        study.tell_many([(0, 1.0), (2, 1.5)])
        with pytest.warns(SurefootWarning, match="1.0 is ignored, and 1 more like it$") as said:
            assert study.tell_many([(0, 1.0), (1, 3.0), (2, 1.5)]) == 1
    assert len(said) == 1


def test_a_late_tell_for_a_past_phase_is_ignored_with_a_warning(path: Path) -> None:
    with toy_study(path) as study:
        for pull in study.ask(1000):
            study.tell(pull.id, linear(pull))
        with pytest.warns(SurefootWarning, match="pull 3"):
            assert study.tell(3, 5.0) is False


@pytest.mark.parametrize("reward", [math.nan, math.inf, "1.0", None, True, 1j, [1.0]])
def test_what_is_not_a_number_is_refused(path: Path, reward: object) -> None:
    with toy_study(path) as study:
        with pytest.raises(InputError, match="reward of pull 0"):
            study.tell(0, reward)  # type: ignore[arg-type]
        assert study.told == 0


@pytest.mark.parametrize("number", [-1, 16, 10**9, "0", 0.0, None])
def test_an_unknown_pull_is_refused(path: Path, number: object) -> None:
    with toy_study(path) as study:
        with pytest.raises(InputError, match="pulls 0 to 15"):
            study.tell(number, 1.0)  # type: ignore[arg-type]
        assert study.told == 0


def test_a_pull_of_another_study_is_refused(path: Path, tmp_path: Path) -> None:
    with toy_study(path) as study, toy_study(tmp_path / "other.db") as other:
        with pytest.raises(InputError, match="belongs to study"):
            study.tell(other.ask(1)[0], 1.0)
        with pytest.raises(InputError, match="belongs to study"):
            study.tell(0, 1.0, study=other.id)
        assert study.told == 0
        assert study.tell(0, 1.0, study=study.id)


def test_several_rewards_are_stored_all_or_none(path: Path) -> None:
    with toy_study(path) as study:
        with pytest.raises(InputError):
            study.tell_many([(0, 1.0), (1, math.nan)])
        assert study.told == 0
        assert study.tell_many([(0, 1.0), (1, 2.0)]) == 2
    assert [reward for *_, reward in rewards_of(path)[:2]] == [1.0, 2.0]


def test_pulls_can_be_told_and_corrected_as_they_came(path: Path, tmp_path: Path) -> None:
    with toy_study(path) as study, toy_study(tmp_path / "other.db") as other:
        first, second = study.ask(2)
        assert study.tell_many([(first, 1.0), (second, 2.0)]) == 2
        study.correct(second, 3.0)
        for change in (study.tell_many, study.correct_many):
            with pytest.raises(InputError, match="belongs to study"):
                change([(other.ask(1)[0], 1.0)])
    assert [reward for *_, reward in rewards_of(path)[:2]] == [1.0, 3.0]


def test_the_warning_points_at_whoever_told(path: Path) -> None:
    with toy_study(path) as study:
        study.tell(0, 1.0)
        with pytest.warns(SurefootWarning) as caught:
            study.tell(0, 2.0)
    assert caught[0].filename == __file__
