"""What holds for all tests."""

from __future__ import annotations

from tests.terminal import hear_signals

hear_signals()
