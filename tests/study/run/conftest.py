"""What tests of runs share."""

from __future__ import annotations

from typing import Any

import pytest

from surefoot.algorithms import Result
from tests.study.toys import linear, rewards_of, toy_study


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, list[Any]]:
    """The result of a toy study that nothing happened to, and all its rewards."""
    path = tmp_path_factory.mktemp("undisturbed") / "toy.db"
    with toy_study(path) as study:
        return study.run(linear, "serial"), rewards_of(path)
