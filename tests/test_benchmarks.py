"""Every benchmark can be imported and asked for its rows: `make bench` never ends half-way by a
name that is gone.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path

import benchmarks
import pytest

NAMES = sorted(path.stem for path in Path(benchmarks.__file__).parent.glob("[a-z]*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_can_be_asked_for_its_rows(name: str) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    if name not in ("table", "frank_wolfe"):
        assert isinstance(module.rows(), Iterable)
