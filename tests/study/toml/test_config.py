"""Configurations: every way to write arms and perturbations, and errors that name the key."""

from __future__ import annotations

import math
import re
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot.errors import InputError, SurefootWarning
from surefoot.noise import Gaussian
from surefoot.plan import Tuning
from surefoot.study import Study
from surefoot.study.pull import PullFactory
from surefoot.study.toml.config import StudyConfig

BASE = """
delta = 0.05
noise = { kind = "gaussian", scale = 1.0 }
features = "given"
"""
ARMS = """
arms.list = [{ name = "gentle", gain = 1.0, delay = 2.0 },
             { name = "brisk", gain = 4.0, delay = 0.5 }]
"""


def configure(folder: Path, text: str) -> StudyConfig:
    path = folder / "study.toml"
    path.write_text(text)
    return StudyConfig(path)


def pairs_of(folder: Path, text: str) -> list[tuple[str, str, list[float]]]:
    problem = configure(folder, BASE + text).problem()
    arms = [problem.arm_names[a] for a in problem.arm_of_pair]
    return list(
        zip(arms, problem.perturbation_names, problem.parameters.round(12).tolist(), strict=True)
    )


def test_a_list_of_arms_without_perturbations(tmp_path: Path) -> None:
    assert pairs_of(tmp_path, ARMS) == [
        ("gentle", "none", [1.0, 2.0]),
        ("brisk", "none", [4.0, 0.5]),
    ]


def test_a_grid_of_arms(tmp_path: Path) -> None:
    text = "arms.grid = { gain = [1.0, 2.0], delay = { from = 0.0, to = 1.0, steps = 3 } }"
    problem = configure(tmp_path, BASE + text).problem()
    assert problem.parameters.tolist() == [[1, 0], [1, 0.5], [1, 1], [2, 0], [2, 0.5], [2, 1]]
    assert problem.arm_names[1] == "gain=1, delay=0.5"
    assert problem.parameter_names == ["gain", "delay"]


def test_arms_from_csv(tmp_path: Path) -> None:
    (tmp_path / "arms.csv").write_text("name,gain,delay\ngentle,0.1,2\nbrisk,4,0.5\n")
    assert pairs_of(tmp_path, 'arms.csv = "arms.csv"') == [
        ("gentle", "none", [0.1, 2.0]),
        ("brisk", "none", [4.0, 0.5]),
    ]


def test_absolute_and_relative_offsets_are_added(tmp_path: Path) -> None:
    text = (
        ARMS + 'perturbations.list = [{}, { name = "weak", gain = "-50%" }, { gain = 0.5, '
        'delay = "10%" }]'
    )
    assert pairs_of(tmp_path, text) == [
        ("gentle", "none", [1.0, 2.0]),
        ("gentle", "weak", [0.5, 2.0]),
        ("gentle", "gain=0.5, delay=10%", [1.5, 2.2]),
        ("brisk", "none", [4.0, 0.5]),
        ("brisk", "weak", [2.0, 0.5]),
        ("brisk", "gain=0.5, delay=10%", [4.5, 0.55]),
    ]


def test_a_box_has_all_its_corners(tmp_path: Path) -> None:
    found = pairs_of(tmp_path, ARMS + 'perturbations.box = { gain = "10%", delay = 0.1 }')
    assert [values for arm, _, values in found if arm == "brisk"] == [
        [3.6, 0.4],
        [3.6, 0.6],
        [4.4, 0.4],
        [4.4, 0.6],
    ]
    assert len(found) == 8


def test_a_relative_box_keeps_the_percentage_as_written(tmp_path: Path) -> None:
    problem = configure(tmp_path, BASE + ARMS + 'perturbations.box = { gain = "7%" }').problem()
    assert problem.perturbation_names[:2] == ["gain=-7%", "gain=7%"]
    assert problem.parameters[:2, 0].tolist() == [1.0 - 0.07, 1.0 + 0.07]


def test_a_box_for_some_parameters(tmp_path: Path) -> None:
    found = pairs_of(tmp_path, ARMS + "perturbations.box = { delay = 0.1 }")
    assert [values for arm, _, values in found if arm == "gentle"] == [[1.0, 1.9], [1.0, 2.1]]


def test_names_in_a_csv_stay_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "arms.csv").write_text("name,gain\n1,0.1\n02,4\n")
    (tmp_path / "p.csv").write_text("arm,name,gain\n1,7,0\n02,8,0\n")
    problem = configure(
        tmp_path, BASE + 'arms.csv = "arms.csv"\nperturbations.csv = "p.csv"'
    ).problem()
    assert (problem.arm_names, problem.perturbation_names) == (["1", "02"], ["7", "8"])


def test_perturbations_from_csv_for_one_arm_or_all(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("name,arm,gain\nnominal,,0\nheavy,brisk,-20%\n")
    assert pairs_of(tmp_path, ARMS + 'perturbations.csv = "p.csv"') == [
        ("gentle", "nominal", [1.0, 2.0]),
        ("brisk", "nominal", [4.0, 0.5]),
        ("brisk", "heavy", [3.2, 0.5]),
    ]


@pytest.mark.parametrize(
    ("features", "columns"), [("linear", 3), ("quadratic", 6), ("tabular", 6), ("given", 2)]
)
def test_features(tmp_path: Path, features: str, columns: int) -> None:
    text = BASE.replace('"given"', f'"{features}"')
    problem = configure(tmp_path, text + "arms.grid = { a = [0, 1, 2], b = [0, 1] }").problem()
    assert problem.features.shape[1] == columns
    if features in ("linear", "quadratic"):
        assert problem.features[:, 0].tolist() == [1.0] * 6
        assert np.abs(problem.features[:, 1:3].mean(axis=0)).max() < 1e-12
        assert problem.features[:, 1:3].std(axis=0) == pytest.approx([1, 1])


def test_a_study_is_not_taken_for_a_configuration(tmp_path: Path) -> None:
    config = configure(tmp_path, BASE + ARMS)
    config.open_study().close()
    with pytest.raises(InputError, match=r"^\S*study\.db is a study, not a configuration"):
        StudyConfig(config.file)


def test_noise_that_is_no_table_is_shown_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"it should be a table, such as { kind = \"gaussian\" }"):
        configure(tmp_path, 'delta = 0.05\nnoise = "gaussian"' + ARMS)


def test_a_confidence_in_the_place_of_delta_is_noticed(tmp_path: Path) -> None:
    with pytest.warns(SurefootWarning, match=r"5 % confidence; for 95 % write delta = 0.05"):
        configure(tmp_path, BASE.replace("0.05", "0.95") + ARMS)


MISTAKES: list[tuple[str, str]] = [
    ("", r"arms: is missing"),
    (ARMS.replace("arms.list", "arms.lst"), r"arms.lst: is not known .*; did you mean list\?"),
    (ARMS + 'direction = "up"', r"direction: given 'up'; it should be 'maximize' or 'minimize'"),
    (ARMS + "budget = -1", r"study.toml: budget=-1 must be a whole number of pulls from 0"),
    (
        ARMS + 'algorithm = "magic"',
        r"algorithm.name: given 'magic'; it should be one of 'prime', 'robust-rage'",
    ),
    (
        ARMS + "algorithm = { name = 'prime', speed = 3 }",
        r"'prime' does not take these options: 'speed'; it has tuning",
    ),
    (
        ARMS + "algorithm = { name = 'kn-rsb', indifference_zone = 3 }",
        r"'kn-rsb' does not take these options: 'indifference_zone'; it has zone",
    ),
    (
        ARMS + "arms.csv = 'x.csv'",
        r"arms: .*has list and csv: give exactly one of list, grid or csv",
    ),
    (
        ARMS + "perturbations.box = { gain = 'much' }",
        r"perturbations.box.gain: given 'much'; 'much' is no offset",
    ),
    (
        ARMS + "perturbations.list = [{ gain = 'much' }]",
        r"in entry 1, gain: 'much' is no offset: write a number",
    ),
    (ARMS + "perturbations.list = [{ gian = 1 }]", r"entry 1 .*changes 'gian', which no arm has"),
    (ARMS + "perturbations.box = { gain = -1 }", r"perturbations.box: gain is -1"),
    (ARMS + "perturbations.csv = 'missing.csv'", r"perturbations.csv: there is no file"),
    ("arms.list = []", r"arms: there are none"),
    (
        "arms.list = [{ a = 1 }, { b = 1 }]",
        r"arms: entry 2 has parameters \['b'\], the first has \['a'\]",
    ),
    ("arms.list = [{ a = 1 }, { a = 'x' }]", r"arms: a of entry 2: 'x' is not a number"),
    (
        "arms.grid = { a = { from = 0, to = 1, steps = 1 } }",
        r"arms.grid.a.steps: given 1; it should be greater",
    ),
    (
        "arms.grid = { a = { form = 0, to = 1, steps = 2 } }",
        r"arms.grid.a.form: is not known .*; did you mean from\?",
    ),
    (ARMS + "simulator = {}", r"simulator: .*needs exactly one of python and command"),
    (
        ARMS + "simulator = { python = 'a:b', json_field = 'score' }",
        r"has json_field, which is for a command",
    ),
    (ARMS + "simulator = { command = 'x {gian}' }", r"a field {gian}, but a pull has only"),
    (ARMS + "run.retries = 1.5", r"run.retries: given 1.5"),
    (ARMS + "run.retries = true", r"run.retries: given True; it should be a whole number"),
    (ARMS + "budget = true", r"budget=True must be a whole number"),
    (ARMS + "tolerance = true", r"tolerance=True must be a number"),
    (ARMS + f"budget = {10**30}", r"budget=1000000000000000000000000000000 must be a whole"),
    ("arms.list = [{ a = 1 }, { a = true }]", r"arms: a of entry 2: True is not a number"),
    (
        f"arms.list = [{{ a = 1 }}, {{ a = {2**53 + 1} }}]",
        r"arms.list.1.a: .*would become 9007199254740992",
    ),
    (f"arms.grid = {{ a = [1, {2**53 + 1}] }}", r"arms.grid.a.1: .*would become 9007199254740992"),
    ("arms.list = [{ name = 1, a = 1 }, { a = 2 }]", r"name of entry 1 is 1: write names in quo"),
    (ARMS + "perturbations.list = [{ gain = true }]", r"in entry 1, gain: True is no offset"),
    (ARMS + "perturbations.list = [{ gain = '1_0%' }]", r"'1_0%' is no offset"),
    (
        ARMS + "perturbations.list = [{ name = 'x' }, { name = 'x', gain = 1 }]",
        r"perturbations: 'x' stands twice for arm 'gentle'",
    ),
    ("arms.grid = { a = [] }", r"arms: there are none"),
    (ARMS + 'file = "a\\u0000b"', r"file: given .*a path cannot hold a NUL character"),
    ("x = " + "[" * 5000, r"nested too deeply"),
    ("x = " + "9" * 5000, r"is not TOML: Exceeds the limit"),
]


@pytest.mark.parametrize(("text", "words"), MISTAKES)
def test_mistakes_name_the_key_what_was_given_and_what_is_allowed(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        use(tmp_path, BASE + text)


def use(folder: Path, text: str) -> None:
    config = configure(folder, text)
    problem = config.problem()
    config.values.algorithm.build()
    if config.values.simulator:
        config.simulator(problem)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("delta = 0.05", "", "delta: is missing, and there is no default: the probability"),
        (
            "delta = 0.05",
            "delta = 5",
            "study.toml: delta=5 is not a probability",
        ),
        ("scale = 1.0", "scale = -1.0", "noise: given .*a noise scale must be one positive number"),
        ('"gaussian", scale = 1.0', '"sub-gaussian"', "noise: given .*SubGaussian needs a scale"),
        ("scale = 1.0", "scala = 1.0", "gaussian noise has no scala: it takes scale"),
        ('"gaussian"', '"cauchy"', "noise.kind: given 'cauchy'; it should be 'gaussian', "),
        ('features = "given"', 'features = "cubic"', "features: given 'cubic'"),
        ("delta = 0.05", "delta = = 0.05", "is not TOML"),
    ],
)
def test_mistakes_in_the_settings(tmp_path: Path, old: str, new: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        configure(tmp_path, (BASE + ARMS).replace(old, new))


def test_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        configure(tmp_path, 'seed = -1\ndirection = "up"\ncolour = 1')
    assert [
        word
        for word in ("delta", "seed", "direction", "colour", "arms")
        if f"  {word}: " in str(caught.value)
    ] == [
        "delta",
        "seed",
        "direction",
        "colour",
        "arms",
    ]


def test_a_missing_file_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="surefoot init"):
        StudyConfig(tmp_path / "study.toml")


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("delta = 0.05", "delta = 0.01", "delta"),
        ("gain = 4.0", "gain = 4.5", "arms, perturbations or features"),
        ("scale = 1.0", "scale = 2.0", "noise"),
        (
            'features = "given"',
            'features = "given"\nalgorithm = "uniform"\nbudget = 50',
            "algorithm",
        ),
        ('features = "given"', 'features = "given"\ndirection = "minimize"', "direction"),
    ],
)
def test_another_question_for_the_same_file_is_refused(
    tmp_path: Path, old: str, new: str, what: str
) -> None:
    text = BASE + ARMS
    configure(tmp_path, text).open_study().close()
    with pytest.raises(InputError, match=f"asks another question .*: {what} changed"):
        configure(tmp_path, text.replace(old, new)).open_study()
    configure(tmp_path, text + "run.retries = 7").open_study().close()


def test_settings_reach_the_study(tmp_path: Path) -> None:
    extra: dict[str, Any] = {
        "direction": '"minimize"',
        "budget": "70",
        "tolerance": "0.5",
        "seed": "9",
        "name": '"dose"',
    }
    text = (
        BASE
        + ARMS
        + "\n".join(f"{key} = {value}" for key, value in extra.items())
        + '\nfile = "other.db"'
    )
    with configure(tmp_path, text).open_study() as study:
        asked = study.description
    assert (tmp_path / "other.db").exists()
    assert (asked.direction, asked.seed, asked.name) == ("minimize", 9, "dose")
    assert (asked.settings.budget, asked.settings.tolerance, asked.settings.delta) == (
        70,
        0.5,
        0.05,
    )


def test_a_changed_budget_reaches_the_study(tmp_path: Path) -> None:
    text = BASE + ARMS + 'algorithm = "robust-lingape"\n'
    with configure(tmp_path, text + "budget = 0").open_study() as study:
        assert study.state == "finished"
    with configure(tmp_path, text).open_study() as study:
        assert study.state == "running"
        assert study.description.settings.budget is None
        assert not study.done


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "arms.grid = { "
            + ", ".join(f"{k} = {{ from = 0, to = 1, steps = 1000 }}" for k in "abc")
            + " }",
            "make 1,000,000,000 pairs, and at most 2,000,000",
        ),
        (
            f"arms.list = [{{ {', '.join(f'p{k} = 1' for k in range(40))} }}]\n"
            f"perturbations.box = {{ {', '.join(f'p{k} = 0.1' for k in range(40))} }}",
            "make 1,099,511,627,776 pairs, and at most 2,000,000",
        ),
        (
            "arms.grid = { a = { from = 0, to = 1, steps = 2000 } }\nperturbations.list = ["
            + ", ".join(f"{{ a = {k} }}" for k in range(1001))
            + "]",
            "make 2,002,000 pairs, and at most 2,000,000",
        ),
    ],
)
def test_a_problem_too_large_is_refused_before_memory_is_taken(
    tmp_path: Path, text: str, words: str
) -> None:
    config = configure(tmp_path, BASE + text)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=words):
            config.problem()
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_a_box_with_most_sides_of_no_length(tmp_path: Path) -> None:
    names = [f"p{k}" for k in range(70)]
    arms = ", ".join(f"{name} = {k + 1}" for k, name in enumerate(names))
    box = ", ".join(f"{name} = {int(k < 2)}" for k, name in enumerate(names))
    text = f"arms.list = [{{ {arms} }}]\nperturbations.box = {{ {box} }}"
    assert configure(tmp_path, BASE + text).problem().n_pairs == 4


def test_names_in_a_csv_that_look_like_nothing(tmp_path: Path) -> None:
    (tmp_path / "arms.csv").write_text("name,gain\nNone,1\nNA,4\n")
    (tmp_path / "p.csv").write_text("arm,name,gain\nNone,a,0\nNA,b,1\n,c,2\n")
    assert pairs_of(tmp_path, 'arms.csv = "arms.csv"\nperturbations.csv = "p.csv"') == [
        ("None", "a", [1.0]),
        ("None", "c", [3.0]),
        ("NA", "b", [5.0]),
        ("NA", "c", [6.0]),
    ]


@pytest.mark.parametrize(
    ("offset", "words"),
    [("NA", "'NA' is no offset"), ("1_000", "'1_000' is no offset"), ('"1', "is not a CSV table")],
)
def test_an_offset_in_a_csv_that_is_no_number(tmp_path: Path, offset: str, words: str) -> None:
    (tmp_path / "p.csv").write_text(f"name,gain\na,0\nb,{offset}\n")
    with pytest.raises(InputError, match=words):
        pairs_of(tmp_path, ARMS + 'perturbations.csv = "p.csv"')


def test_labels_are_as_long_as_they_must_be_to_differ(tmp_path: Path) -> None:
    problem = configure(tmp_path, BASE + "arms.grid = { a = [0.12345671, 0.12345672] }").problem()
    assert problem.arm_names == ["a=0.12345671", "a=0.12345672"]


def test_a_configuration_goes_on_when_the_defaults_of_the_tuning_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = BASE + ARMS
    configure(tmp_path, text).open_study().close()
    later = dict(Tuning.__init__.__kwdefaults__) | {"growth": 1.4}
    monkeypatch.setattr(Tuning.__init__, "__kwdefaults__", later)
    configure(tmp_path, text).open_study().close()
    named = text.replace(
        'features = "given"',
        'features = "given"\nalgorithm = {name = "prime", tuning = {growth = 1.2}}',
    )
    with pytest.raises(InputError, match=r"asks another question .*: algorithm changed"):
        configure(tmp_path, named).open_study()


def test_nothing_need_be_said_of_noise_or_features(tmp_path: Path) -> None:
    settings = configure(tmp_path, "delta = 0.05" + ARMS).settings
    assert (settings.misfit, settings.guide) == (math.inf, None)
    assert settings.common_random_numbers is False
    assert settings.noise.evidence == "batches"


def test_an_algorithm_that_needs_a_model_trusts_it(tmp_path: Path) -> None:
    config = configure(tmp_path, BASE + ARMS + 'algorithm = "robust-rage"')
    assert config.settings.misfit == 0
    config.open_study().close()


def test_more_can_be_said(tmp_path: Path) -> None:
    (tmp_path / "my_guide.py").write_text("from surefoot.guides import Tabular as Mine\n")
    text = 'delta = 0.05\nnoise = { kind = "bounded", low = 0, high = 1 }\nmisfit = inf\n'
    text += 'guide = "my_guide:Mine"\ncommon_random_numbers = "auto"\n'
    with configure(tmp_path, text + ARMS).open_study() as study:
        asked = study.description.settings
    assert asked.noise.limits == (0, 1)
    assert (asked.guide, asked.common_random_numbers) == ("my_guide:Mine", "auto")
    for old, new, what in [
        ('"auto"', "true", "common_random_numbers"),
        ("high = 1", "high = 2", "noise"),
        ("delta = 0.05", 'delta = 0.05\non_identical = "accept"', "on_identical"),
    ]:
        with pytest.raises(InputError, match=f"another question .*: {what} changed"):
            configure(tmp_path, text.replace(old, new) + ARMS).open_study()
    other = text.replace("my_guide:Mine", "tabular") + "parallel = 8\n"
    with configure(tmp_path, other + ARMS).open_study() as study:
        assert study.description.settings.guide == "tabular"
        assert study.description.settings.parallel == 8


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('guide = "nowhere:guide"', "the guide's module 'nowhere' cannot be imported"),
        ('common_random_numbers = "yes"', "common_random_numbers='yes' is not known"),
        ("common_random_numbers = true", "common random numbers make pulls dependent"),
        ('trust = "pairs"', "trust"),
        ("common_random_numbers = 1", "common_random_numbers=1 is not known"),
        ("misfit = -1", "misfit=-1 must be a number"),
    ],
)
def test_mistakes_in_what_is_trusted(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        configure(tmp_path, BASE + text + ARMS)


def test_what_a_configuration_leaves_unsaid_is_as_the_study_has_it(tmp_path: Path) -> None:
    config = configure(tmp_path, "delta = 0.05\n" + ARMS)
    noise = Gaussian(equal=True)
    Study.create(config.file, config.problem(), delta=0.05, noise=noise, misfit=0).close()
    with config.open_study() as study:
        assert study.description.settings.misfit == 0
        assert study.description.settings.noise.to_dict() == noise.to_dict()
    for said in ("misfit = inf", "noise = { kind = 'gaussian' }"):
        changed = configure(tmp_path, f"delta = 0.05\n{said}\n" + ARMS)
        with pytest.raises(InputError, match=f"{said.split()[0]} changed"):
            changed.open_study()


def test_what_no_arm_chooses_has_its_value_in_the_environment(tmp_path: Path) -> None:
    text = """
    delta = 0.05
    arms.grid = { nurses = [2, 3, 4] }
    environment = { demand = 8.0, wear = 0 }
    perturbations.list = [{ name = "usual" }, { name = "busy", demand = "25%", wear = 1 }]
    """
    problem = configure(tmp_path, text).problem()
    assert problem.arm_names == ["nurses=2", "nurses=3", "nurses=4"]
    assert problem.parameter_names == ["nurses", "demand", "wear"]
    assert problem.parameters[:2].tolist() == [[2, 8, 0], [2, 10, 1]]
    with configure(tmp_path, text).open_study() as study:
        assert study.ask(1)[0].parameters.keys() == {"nurses", "demand", "wear"}
    changed = configure(tmp_path, text.replace("demand = 8.0", "demand = 9.0"))
    with pytest.raises(InputError, match="arms, perturbations or features changed"):
        changed.open_study()


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ("gain = 1", "'gain' is a parameter of the arms too"),
        ("demand = '8'", "environment: demand: '8' is neither a number nor a word"),
        ("demand = 1979-05-27", "environment.demand: given"),
        ("demand = [7, 8]", "what may happen instead goes into .perturbations."),
        ("seed = 1", "every pull has a seed of its own"),
        ("name = 1", "cannot be called 'name'"),
    ],
)
def test_mistakes_in_the_environment(tmp_path: Path, environment: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        use(tmp_path, BASE + ARMS + f"environment = {{ {environment} }}")


MODELS = """
delta = 0.05
arms.grid = { model = ["tree", "linear"], scaled = [true, false] }
environment = { noise = 0.1, sensor = "works", fixed = 1 }
perturbations.list = [{ name = "usual" }, { name = "raw", noise = "50%", scaled = false },
                      { name = "blind", sensor = "broken" }]
"""


def test_words_and_truth_values_are_parameters(tmp_path: Path) -> None:
    config = configure(tmp_path, MODELS)
    with config.open_study() as study:
        pulls = {(pull.arm, pull.perturbation): pull for pull in study.ask()}
    config.open_study().close()  # the same question again
    raw = pulls["model=tree, scaled=true", "raw"]
    given = {"model": "tree", "scaled": False, "sensor": "works", "fixed": 1.0}
    assert raw.parameters == given | {"noise": pytest.approx(0.15)}
    assert raw.nominal == given | {"scaled": True, "noise": 0.1}
    with pytest.raises(InputError, match="arms, perturbations or features changed"):
        configure(tmp_path, MODELS.replace('"linear"', '"forest"')).open_study()


def test_words_in_tables(tmp_path: Path) -> None:
    (tmp_path / "arms.csv").write_text("model,scaled,depth\ntree,true,1\nlinear,false,2\n")
    (tmp_path / "p.csv").write_text("name,scaled,model,depth\nusual,,,\nother,false,svm,-50%\n")
    text = 'delta = 0.05\narms.csv = "arms.csv"\nperturbations.csv = "p.csv"\n'
    problem = configure(tmp_path, text).problem()
    assert problem.values_of(1) == {"model": "svm", "scaled": False, "depth": 0.5}
    assert problem.values_of(2) == {"model": "linear", "scaled": False, "depth": 2.0}


def test_words_reach_a_command_as_they_are(tmp_path: Path) -> None:
    text = MODELS + 'simulator.command = ["sh", "-c", "echo $1 $2 $3 >> seen; echo 1", "x", '
    text += '"{model}", "{scaled}", "{nominal.scaled}"]\n'
    config = configure(tmp_path, text)
    problem = config.problem()
    pull = PullFactory(problem, "abc", 1)(0, 0, 1)
    assert config.simulator(problem)(pull) == 1.0
    assert (tmp_path / "seen").read_text() == "tree false true\n"


def test_arms_may_be_called_by_a_pattern(tmp_path: Path) -> None:
    text = "delta = 0.05\narms.grid = { nurses = [2, 3], doctors = [4] }\n"
    named = text + 'arms.name = "{nurses} nurses, {doctors} doctors"\n'
    assert configure(tmp_path, text).problem().arm_names == ["nurses=2", "nurses=3"]
    assert configure(tmp_path, named).problem().arm_names[0] == "2 nurses, 4 doctors"
    with pytest.raises(InputError, match=r"name has a field \{cooks\}, but an arm has only nurses"):
        configure(tmp_path, text + 'arms.name = "{cooks}"').problem()


def test_features_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "my_features.py").write_text("def squares(rows):\n    return rows**2\nnine = 9\n")
    text = "delta = 0.05\nfeatures = 'my_features:squares'" + ARMS
    with configure(tmp_path, text).open_study() as study:
        assert study.problem.features.tolist() == [[1.0, 4.0], [16.0, 0.25]]
    configure(tmp_path, text).open_study().close()
    for name, words in [
        ("my_features:nine", "is a int, not a function"),
        ("my_features:cubes", "has no 'cubes'"),
        ("cubes", "it should be one of 'given', 'linear'"),
    ]:
        with pytest.raises(InputError, match=words):
            configure(tmp_path, text.replace("my_features:squares", name)).problem()


def test_an_algorithm_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "my_algorithm.py").write_text(
        "from surefoot.algorithms import Uniform\n\n"
        "class Mine(Uniform):\n    name = 'mine'\n\nclass No: ...\n"
    )
    text = BASE + "algorithm = 'my_algorithm:Mine'" + ARMS
    config = configure(tmp_path, text)
    with config.open_study() as study:
        assert study.description.algorithm == "mine"
    config.open_study().close()
    with pytest.raises(InputError, match=r"algorithm 'mine' is not known: .* give it"):
        configure(tmp_path, BASE + "algorithm = 'uniform'" + ARMS).open_study()
    with pytest.raises(InputError, match=r"no subclass of surefoot\.Algorithm"):
        configure(tmp_path, text.replace("Mine", "No"))


def test_scales_have_names(tmp_path: Path) -> None:
    noise = "noise = { kind = 'gaussian', scale = { 'brisk / none' = 3, others = 1 } }"
    text = f"delta = 0.05\n{noise}\n" + ARMS
    config = configure(tmp_path, text)
    assert config.settings.noise.scales(2).tolist() == [1, 3]
    config.open_study().close()
    config.open_study().close()
    (tmp_path / "scales.csv").write_text("arm,scale\ngentle,1\nbrisk,3\n")
    table = text.replace(noise, "noise = { kind = 'gaussian', scale = 'scales.csv' }")
    configure(tmp_path, table).open_study().close()
    with pytest.raises(InputError, match="noise changed"):
        configure(tmp_path, text.replace("others = 1", "others = 2")).open_study()
    config.file.unlink()
    by_position = text.replace("{ 'brisk / none' = 3, others = 1 }", "[1, 3]")
    with pytest.raises(InputError, match=r"noise\.scale is a list: give scales by name"):
        configure(tmp_path, by_position)
    with pytest.raises(InputError, match=r"noise\.scale: there is no 'brusk'"):
        configure(tmp_path, text.replace("brisk / none", "brusk"))


def test_a_python_function_may_have_a_time_limit(tmp_path: Path) -> None:
    (tmp_path / "slow_one.py").write_text(
        "import time\n\ndef simulate(pull):\n    time.sleep(60)\n"
    )
    limited = ARMS + "simulator = { python = 'slow_one:simulate', time_limit = 0.1 }"
    config = configure(tmp_path, BASE + limited)
    problem = config.problem()
    with pytest.raises(TimeoutError, match=r"time limit of 0\.1 s"):
        config.simulator(problem)(PullFactory(problem, "abc", 1)(0, 0, 0))


def test_a_misfit_is_part_of_the_question(tmp_path: Path) -> None:
    trusted = BASE + "misfit = 0.25\n" + ARMS
    config = configure(tmp_path, trusted)
    assert config.settings.misfit == 0.25
    with config.open_study() as study:
        result = study.run(lambda pull: 5 * pull.parameters["gain"] + pull.rng().normal(), "serial")
    assert "for all rewards whose means are within 0.25 of the model" in result.sentence
    with pytest.raises(InputError, match="misfit"):
        configure(tmp_path, trusted.replace("0.25", "0.5")).open_study()


def prepare(folder: Path, text: str) -> None:
    config = configure(folder, text)
    config.simulator(config.problem())


@pytest.mark.parametrize(
    ("module", "line", "words"),
    [
        ("1 / 0\n", 'simulator.python = "broken:f"', "ZeroDivisionError: division by zero (broken"),
        (
            "def f(:\n",
            'simulator.python = "broken:f"',
            "SyntaxError: invalid syntax (bro",
        ),
        ("import nothing_of_this\n", 'guide = "broken:f"', "which this Python"),
        ("raise ImportError('no licence')\n", 'algorithm = "broken:f"', "ImportError: no licence"),
        (
            "def f(parameters):\n    return parameters[9]\n",
            'features = "broken:f"',
            "the features function failed on 2 pairs of 2 parameters: IndexError",
        ),
        (
            "raise SystemExit(3)\n",
            'simulator.python = "broken:f"',
            "SystemExit: 3 (broken.py, line 1)",
        ),
        (
            "def __getattr__(name):\n    raise ValueError('no')\n",
            'simulator.python = "broken:f"',
            "cannot give its 'f': ValueError: no (broken.py, line 2)",
        ),
        (
            "def f(parameters):\n    raise SystemExit\n",
            'features = "broken:f"',
            "the features function failed on 2 pairs of 2 parameters: SystemExit",
        ),
        ("", 'simulator.command = "run \\u0000"', "NUL character, which no argument can"),
        ("", 'arms.csv = "' + 3000 * "a" + '.csv"', "there is no file"),
        ("", 'arms.csv = "' + 300 * "a/.." + '/b.csv"', "there is no file"),
        ("", 'simulator.command = "run \'it"', "cannot be split into arguments"),
        ("", 'file = "' + 3000 * "a" + '.db"', "name is too long"),
    ],
)
def test_errors_in_what_a_user_wrote_are_one_sentence(
    tmp_path: Path, module: str, line: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    (tmp_path / "broken.py").write_text(module)
    arms = "" if "arms" in line else ARMS
    with pytest.raises(InputError, match=re.escape(words)) as refused:
        prepare(tmp_path, f"{line}\ndelta = 0.05\n{arms}")
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400
