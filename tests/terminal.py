"""Signals as in a terminal, however the tests were started."""

from __future__ import annotations

import signal


def hear_signals() -> None:
    """Undo what this process was told to ignore.

    A shell starts what it puts in the background deaf to Ctrl-C, and `nohup` deaf to a hang-up. The
    commands that tests start would inherit that, and wait for ever for a signal sent to them.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
