"""One trial and what came of it; and how to try what may hang or crash."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import InputError


@dataclass(frozen=True)
class Trial:
    """What came of one trial.

    Attributes:
        what: was tried.
        broken: how a promise was broken; None if all held.
    """

    what: str
    broken: str | None = None


@dataclass(frozen=True)
class Suite:
    """One kind of harm.

    Attributes:
        count: how many trials a whole run makes.
        run: makes this many trials in a folder, with random numbers from a generator.
    """

    name: str
    count: int
    run: Callable[[int, Path, np.random.Generator], Iterator[Trial]]


def refused_or_done(attempt: Callable[[], Any]) -> str | None:
    """Run it: bad input may be refused by one clear message, and end in no other way."""
    try:
        attempt()
    except InputError as error:
        return None if str(error).strip() else "refused without a message"
    except Exception:
        return traceback.format_exc(limit=-3)
    return None


def apart(attempt: Callable[[], Any], seconds: float) -> str | None:
    """`refused_or_done` in a process of its own, which may crash or hang."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(refused_or_done(attempt)))
    process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            return f"it took longer than {seconds:g} s"
        answer: str | None = receiver.recv()
        return answer
    except EOFError:
        process.join()
        return f"the process died with code {process.exitcode}"
    finally:
        process.kill()
        process.join()
        receiver.close()
