from __future__ import annotations

from surefoot.algorithms import ModelCheck


def test_a_model_check_says_what_it_found() -> None:
    assert (
        str(ModelCheck(None, 0.5, 0.001))
        == "linear model not tested (untestable); equal variances p = 0.5"
    )
    assert ModelCheck(1e-5, None, 0.001).rejected
    assert not ModelCheck(None, None, 0.001).rejected
