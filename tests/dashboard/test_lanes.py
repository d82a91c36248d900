import asyncio
import threading

import pytest

from surefoot.view.dashboard.lanes import Lane, TooSlow


def test_a_lane_gives_what_was_read_and_what_went_wrong():
    async def reads():
        lane = Lane()
        assert await lane.run(lambda: 7) == 7
        with pytest.raises(ZeroDivisionError):
            await lane.run(lambda: 1 / 0)
        assert await asyncio.gather(*(lane.run(lambda n=n: n) for n in range(50))) == [*range(50)]

    asyncio.run(reads())


def test_a_read_that_hangs_takes_one_thread_and_its_lane_is_free_again_afterwards():
    gate = threading.Event()

    async def reads():
        lane, other = Lane(0.1), Lane()
        before = set(threading.enumerate())
        stuck = [asyncio.create_task(lane.run(gate.wait)) for _ in range(45)]
        results = await asyncio.gather(*stuck, return_exceptions=True)
        assert all(isinstance(result, TooSlow) for result in results)
        assert len(set(threading.enumerate()) - before) == 1
        assert await other.run(lambda: "quick") == "quick"
        with pytest.raises(TooSlow):
            await lane.run(lambda: "at once")
        gate.set()
        while True:
            try:
                assert await lane.run(lambda: "free") == "free"
                break
            except TooSlow:
                await asyncio.sleep(0.01)

    asyncio.run(reads())
