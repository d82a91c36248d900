from __future__ import annotations

from surefoot.algorithms import StopReason


def test_every_reason_says_what_to_do() -> None:
    for reason in StopReason:
        assert reason.value.endswith(".")
        assert len(reason.value.split()) >= 10
    assert {r for r in StopReason if r.certifies} == {
        StopReason.IDENTIFIED,
        StopReason.WITHIN_TOLERANCE,
        StopReason.ONE_ARM,
        StopReason.NONE_QUALIFIES,
        StopReason.BEATS_BASELINE,
    }
