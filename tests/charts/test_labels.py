from surefoot.view.charts.labels import telling


def test_what_tells_names_apart_comes_first():
    names = [
        ("nurses=4, doctors=6, rooms=5", "flu"),
        ("nurses=4, doctors=7, rooms=5", "flu"),
        ("nurses=4, doctors=7, rooms=5", "holiday"),
    ]
    assert telling(names) == [
        "doctors=6 · flu · nurses=4 · rooms=5",
        "doctors=7 · flu · nurses=4 · rooms=5",
        "doctors=7 · holiday · nurses=4 · rooms=5",
    ]


def test_names_of_other_kinds_stay_whole_and_different():
    assert telling([("fast", "worn"), ("steady", "worn")]) == ["fast · worn", "steady · worn"]
    assert telling([("a, b", "c"), ("a", "c")]) == ["a, b · c", "a · c"]
    assert telling([("only one, long", "as designed")]) == ["only one, long · as designed"]
    assert telling([]) == []
    for names in ([("a, b", "c"), ("a", "b, c")], [("x", "x"), ("y", "x"), ("x", "y")]):
        assert len(set(telling(names))) == len(names)
