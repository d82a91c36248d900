"""Varied small studies whose answer is known, by study.toml and from Python.

Each has a folder of its own: the study file, `truth.json` with the mean of every pair, and for some
a `study.toml` with a simulator in a module.
"""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import surefoot as sf
from surefoot.algorithms import algorithm_from
from surefoot.study.toml.config import StudyConfig

MOST, SPENT = 3000, 300  # pulls, at most; and of those that spend their budget whatever comes
SPACES = [
    "arms.grid = { a = [1, 2, 3], b = [0.5, 1.5] }",
    "arms.grid = { a = { from = -1, to = 1, steps = 4 }, b = [0, 1] }\n"
    "perturbations.box = { a = 0.2, b = 0.1 }",
    'arms.list = [{ name = "one", a = 1, b = 4 }, { name = "two", a = 2, b = 1 }, '
    '{ name = "three", a = 3, b = 2 }]\n'
    'perturbations.list = [{ name = "calm" }, { name = "gust", a = "-10%", b = 0.5 }]',
    'arms.grid = { kind = ["plain", "fancy", "odd"], on = [true, false] }\n'
    'perturbations.list = [{ name = "calm" }, { name = "off", on = false }]',
    "arms.grid = { a = { from = 1, to = 2, steps = 5 } }\nenvironment = { load = 3.0 }\n"
    'perturbations.list = [{ name = "usual" }, { name = "busy", load = "50%" }]',
    "arms.grid = { a = [0.5, 1, 2], b = [1, 3] }\nperturbations.box = { a = '10%' }",
]
ASKED = [
    "misfit = 0\nnoise = { kind = 'gaussian', scale = 0.5 }",
    "misfit = 0\nnoise = { kind = 'gaussian' }",
    "misfit = 0\nnoise = { kind = 'gaussian', equal = true }\ndirection = 'minimize'",
    "misfit = 0\nnoise = { kind = 'sub-gaussian', scale = 0.5 }",
    "misfit = 0.02\nnoise = { kind = 'gaussian' }",
    "misfit = inf\nnoise = { kind = 'gaussian' }",
    "misfit = inf\ncommon_random_numbers = {shared}\nnoise = { kind = 'gaussian' }",
    "misfit = inf\nnoise = { kind = 'bounded', low = 0, high = 1 }",
    "misfit = inf\nguide = '{guide}'\nnoise = { kind = 'gaussian', scale = { others = 0.5 } }\n"
    "direction = 'minimize'",
]
PAIRS, MODEL = {"misfit": math.inf}, {"misfit": 0.0}
COIN, UNKNOWN, EQUAL = sf.Bounded(0, 1), sf.Gaussian(), sf.Gaussian(equal=True)
SUB = sf.SubGaussian(0.5)
SPENDERS = ("stableopt", "r-ocba", "ar-ocba", "equal")
CALLS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    *(("prime", {}, MODEL | {"noise": n}) for n in (sf.Gaussian(0.5), UNKNOWN, EQUAL, SUB)),
    *(("prime", {}, {"misfit": 0.02, "noise": n}) for n in (sf.Gaussian(0.5), UNKNOWN, EQUAL, SUB)),
    *(("prime", {}, PAIRS | {"noise": n}) for n in (sf.Gaussian(0.5), UNKNOWN, EQUAL, SUB, COIN)),
    ("prime", {}, PAIRS | {"noise": UNKNOWN, "common_random_numbers": True}),
    ("prime", {}, PAIRS | {"noise": UNKNOWN, "common_random_numbers": "auto"}),
    ("prime", {}, PAIRS | {"noise": COIN, "common_random_numbers": "auto", "tolerance": 0.1}),
    ("prime", {}, PAIRS | {"noise": UNKNOWN, "guide": "trend", "tolerance": 0.1}),
    ("prime", {}, PAIRS | {"noise": UNKNOWN, "guide": "gaussian-process", "tolerance": 0.1}),
    ("prime", {}, PAIRS | {"noise": UNKNOWN, "aim": "guess"}),
    ("prime", {}, PAIRS | {"noise": UNKNOWN, "parallel": 8}),
    *((name, {}, MODEL) for name in ("robust-rage", "robust-static", "oracle", "stableopt")),
    *((name, {}, MODEL) for name in ("robust-lingape", "uniform")),
    ("robust-track-and-stop", {"growth": 3.0}, MODEL),
    ("two-stage-rsb", {"zone": 0.3}, PAIRS),
    ("kn-rsb", {"zone": 0.3, "step": 20}, PAIRS),
    *((name, {"growth": 4.0}, PAIRS | {"noise": COIN}) for name in ("m-lucb", "m-kl-lucb")),
    ("m-racing", {"growth": 4.0}, PAIRS | {"noise": COIN}),
    *((name, {}, PAIRS) for name in SPENDERS if name != "stableopt"),
]
WRITTEN = len(SPACES) * len(ASKED)
KINDS = WRITTEN + len(CALLS)
FEATURES = ["linear", "quadratic", "tabular", "given"]
MODULE = """import json
from pathlib import Path

from tests.chaos.varied import Truth

simulate = Truth(**json.loads(Path(__file__).with_name("truth.json").read_text()))
"""


@dataclass(frozen=True)
class Truth:
    """Draws rewards: the simulator of a varied study.

    Attributes:
        means: of the pairs, as measured.
        kind: of the noise.
        sign: −1 where the study minimises.
        allowance: by which an answer may be worse than the best.
        budget: at the end.
        changeable: whether it may be less until half-way.
    """

    means: list[float]
    kind: str
    sign: int
    allowance: float
    budget: int
    changeable: bool

    def __call__(self, pull: sf.Pull) -> float:
        mean, generator = self.means[pull.pair], pull.rng()
        if self.kind == "bounded":
            return float(generator.random() < mean)
        if self.kind == "sub-gaussian":
            return mean + float(generator.choice([-0.5, 0.5]))
        if pull.block is not None:
            return mean + 0.4 * generator.normal() + 0.3 * pull.stream(1 + pull.pair).normal()
        return mean + 0.5 * float(generator.normal())

    def right(self, result: sf.Result) -> bool:
        """Whether an answer is the best, or within what it may be worse by."""
        worst = result.problem.worst_of(self.sign * np.array(self.means))
        return bool(worst[result.arm] >= worst.max() - self.allowance - 1e-9)


def make(number: int, folder: Path, generator: np.random.Generator) -> None:
    """Put `done.db`, a finished study, and `begun.db`, the same half-way, into a new folder.

    Args:
        number: of the kind of study, below KINDS.
    """
    folder.mkdir()
    written = number < WRITTEN
    create = _by_file(number, folder, generator) if written else _by_python(number, generator)
    (folder / "truth.json").write_text(json.dumps(asdict(create.truth)))
    with create(folder / "done.db", create.truth.budget) as study:
        pulls = study.run(create.truth, "serial").samples
    half = max(int(pulls * generator.uniform(0.2, 0.8)), 1)
    if create.truth.changeable and number % 2:
        with create(folder / "begun.db", half) as study:
            study.run(create.truth, "serial")
        return
    with create(folder / "begun.db", create.truth.budget) as study:
        while study.told < half and not study.done:
            asked = study.ask(min(half - study.told, 7))
            study.tell_many([(pull.id, create.truth(pull)) for pull in asked])


@dataclass(frozen=True)
class _Create:
    """How a study is created: by its configuration, or with these arguments."""

    truth: Truth
    config: Path | None = None
    problem: sf.RobustProblem | None = None
    algorithm: Any = "prime"
    options: dict[str, Any] | None = None

    def __call__(self, file: Path, budget: int) -> sf.Study:
        if self.config is not None:
            return with_budget(self.config, file, budget).open_study()
        assert self.problem is not None
        return sf.Study.create(
            file, self.problem, self.algorithm, budget=budget, **(self.options or {})
        )


def with_budget(config: Path, file: Path, budget: int) -> StudyConfig:
    """Write the file and the budget into a configuration, in the place of those there."""
    lines = config.read_text().splitlines()
    rest = [line for line in lines if not line.startswith(("file =", "budget ="))]
    head = [f"file = '{file.name}'", f"budget = {budget}"]
    config.write_text("\n".join(head + rest) + "\n")
    return StudyConfig(config)


def _by_file(number: int, folder: Path, generator: np.random.Generator) -> _Create:
    asked, space = ASKED[number % len(ASKED)], SPACES[number // len(ASKED) % len(SPACES)]
    categories = "kind" in space.split("\n")[0]
    features = FEATURES[(number + number // len(ASKED)) % len(FEATURES)]
    if categories and features == "given":
        features = "tabular"
    asked = asked.replace("{shared}", ["true", "'auto'"][number // len(ASKED) % 2])
    asked = asked.replace("{guide}", ["trend", "gaussian-process", "tabular"][number // 9 % 3])
    module = f"varied_{folder.name.replace('-', '_')}"
    (folder / f"{module}.py").write_text(MODULE)
    config = folder / "study.toml"
    config.write_text(
        f"file = 'x.db'\nbudget = 1\ndelta = 0.1\nseed = {number}\nfeatures = '{features}'\n"
        f"tolerance = 0.1\n{asked}\n{space}\nsimulator.python = '{module}:simulate'\n"
        "run.processes = 1\n"
    )
    described = StudyConfig(config)
    settings, problem = described.settings, described.problem()
    sign = -1 if described.values.direction == "minimize" else 1
    means = _means(problem, settings.noise.kind, sign, generator)
    allowance = settings.tolerance + 2 * settings.misfit
    return _Create(Truth(means, settings.noise.kind, sign, allowance, MOST, True), config)


def _means(
    problem: sf.RobustProblem, kind: str, sign: int, generator: np.random.Generator
) -> list[float]:
    """Means that are linear in the features, with one arm ahead of the others if there is one."""
    drawn = [problem.pairs @ theta for theta in generator.normal(size=(20, problem.pairs.shape[1]))]
    scaled = [means / np.ptp(means) for means in drawn]
    if kind == "bounded":
        scaled = [0.1 + 0.8 * (means - means.min()) for means in scaled]
    far = max(scaled, key=lambda means: _lead(problem, sign * means))
    return [float(mean) for mean in far]


def _lead(problem: sf.RobustProblem, means: np.ndarray) -> float:
    """By how much the best worst case is above the next."""
    second, first = np.sort(problem.worst_of(means))[-2:]
    return float(first - second)


def _by_python(number: int, generator: np.random.Generator) -> _Create:
    name, options, asked = CALLS[number - WRITTEN]
    problem = _table() if asked.get("misfit") == math.inf and "guide" not in asked else _square()
    asked = {"delta": 0.1, "seed": number, "noise": sf.Gaussian(0.5)} | asked
    means = _means(problem, asked["noise"].kind, 1, generator)
    if name == "oracle":
        options = {"theta": np.linalg.lstsq(problem.features, means, rcond=None)[0].tolist()}
    allowance = asked.get("tolerance", 0.0) + 2 * asked.get("misfit", 0.0)
    allowance += float(options.get("zone", 0.0))
    spends = asked.get("aim") == "guess" or name in SPENDERS
    changeable, budget = name == "prime" and not spends, SPENT if spends else MOST
    truth = Truth(means, asked["noise"].kind, 1, allowance, budget, changeable)
    return _Create(truth, None, problem, algorithm_from(name, **options), asked)


def _table() -> sf.RobustProblem:
    return sf.RobustProblem.from_pairs(np.eye(8), [0, 0, 1, 1, 2, 2, 3, 3])


def _square() -> sf.RobustProblem:
    x = np.linspace(-1, 1, 4)
    arms = np.array(list(itertools.product(x, x[:2])))
    return sf.RobustProblem.paper(arms, [[[-0.1, 0.0], [0.1, 0.0]]] * 8, features="quadratic")
