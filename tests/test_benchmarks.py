"""Every benchmark can be imported and asked for its rows: `make bench` never ends half-way by a
name that is gone.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable

import benchmarks
import pytest


@pytest.mark.parametrize("name", benchmarks.NAMES)
def test_a_benchmark_can_be_asked_for_its_rows(name: str) -> None:
    assert isinstance(importlib.import_module(f"benchmarks.{name}").rows(), Iterable)
