"""The files of simulators are read by as many threads as there are studies."""

from __future__ import annotations

import gc
import threading
import time

from surefoot.study.programs.functions import Watched
from surefoot.study.provenance import Source


def test_threads_read_files_at_the_same_time() -> None:
    """Python 3.11 fails if a collection of garbage lets another thread parse in between."""
    found: list[Source] = []

    def look() -> None:
        found.append(Watched(simulate).source)

    def let_others_go_on(*_: object) -> None:
        time.sleep(0)

    before = gc.get_threshold()
    gc.callbacks.append(let_others_go_on)
    gc.set_threshold(50)
    try:
        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(let_others_go_on)
    assert len(found) == 4
    assert all(one == found[0] for one in found)


def simulate(pull: object) -> float:
    return 0.0
