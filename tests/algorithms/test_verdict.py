from __future__ import annotations

from surefoot.algorithms import ModelCheck


def test_a_model_check_says_what_it_found() -> None:
    check = ModelCheck(None, 0.5, 0.001)
    assert check.say(check.lack_of_fit) == "could not be tested"
    assert check.say(check.equal_variances) == "not rejected (p = 0.5)"
    assert check.say(1e-5) == "rejected (p = 1e-05)"
    assert ModelCheck(1e-5, None, 0.001).rejected
    assert not ModelCheck(None, None, 0.001).rejected
