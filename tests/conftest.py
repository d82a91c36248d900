"""What holds for all tests."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, settings

from tests.terminal import hear_signals

hear_signals()

# the same examples in every run, however long they take: `--hypothesis-profile drawn
# --hypothesis-seed 7` draws others
PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("repeatable", derandomize=True, database=None, **PATIENT)
settings.register_profile("drawn", **PATIENT)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, help="run files and their tests in this random order")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle files, and tests within them: what a file has set up is used by all of its tests."""
    seed = config.getoption("--shuffle")
    if seed is None:
        return
    order = random.Random(seed)
    files = sorted({str(item.path) for item in items})
    place = {file: (order.random(), file) for file in files}
    items.sort(key=lambda item: (place[str(item.path)], order.random()))
