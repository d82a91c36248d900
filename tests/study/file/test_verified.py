"""A study file proves its answer, or says in one sentence what was changed."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import surefoot as sf
from surefoot import cli
from surefoot.algorithms.base import Proposal
from surefoot.algorithms.planner import Past, Planner
from surefoot.certify import Claims, Rows
from surefoot.plan import Prime
from surefoot.study import Pull, Study, StudyReader
from surefoot.study.file.encoding import packed, unpacked
from tests.study.file.test_follower import create, linear
from tests.study.test_fed import edit
from tests.study.toys import THETA, Rounds, open_ledger, toy_problem, toy_study

PAIRS = {"noise": sf.Gaussian(), "misfit": math.inf}


@pytest.fixture(scope="module", params=["model", "pairs"])
def finished(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("finished") / "study.db"
    with create(path, **(PAIRS if request.param == "pairs" else {})) as study:
        assert study.run(linear, "serial").certified
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, finished: bytes) -> Path:
    path = tmp_path / "study.db"
    path.write_bytes(finished)
    return path


def values(path: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    found = connection.execute(query).fetchall()
    connection.close()
    return found


def refused(path: Path) -> str:
    found = sf.verify(path)
    assert not found
    assert not found.intact
    assert "\n" not in found.sentence
    return found.sentence


def test_a_study_that_nobody_touched_is_proved(path: Path) -> None:
    found = sf.verify(path)
    assert found
    assert found.intact
    assert found.claimed is not None
    assert found.claimed in found.sentence
    assert found.assumed[0] == "pulls are independent"
    assert found.pulls == values(path, "SELECT count(*) FROM pulls")[0][0]
    assert found.phases == values(path, "SELECT count(*) FROM phases")[0][0]
    (stored,) = values(path, "SELECT value FROM study WHERE key = 'fingerprint'")[0]
    assert json.loads(str(stored)) == found.fingerprint


def test_every_edit_of_a_reward_is_found(tmp_path: Path, finished: bytes) -> None:
    path = tmp_path / "study.db"
    path.write_bytes(finished)
    numbers = [int(str(row[0])) for row in values(path, "SELECT id FROM pulls")]
    for number in numbers[:: max(1, len(numbers) // 30)]:
        path.write_bytes(finished)
        edit(path, "UPDATE pulls SET reward = reward * (1 + 1e-12) + 1e-12 WHERE id = ?", number)
        assert "a reward was changed" in refused(path)
        with StudyReader(path) as reader:
            assert reader.recorded.reason is sf.StopReason.NOT_VERIFIED
            assert not reader.status().certified


@pytest.mark.parametrize("column", ["commitment", "limits"])
def test_every_edit_of_what_was_fixed_is_found(
    tmp_path: Path, finished: bytes, column: str
) -> None:
    path, generator = tmp_path / "study.db", np.random.default_rng(0)
    path.write_bytes(finished)
    for phase, stored in values(path, f"SELECT phase, {column} FROM phases"):
        assert isinstance(stored, bytes)
        for _ in range(5):
            content = bytearray(unpacked(stored))
            content[generator.integers(len(content))] ^= 1 << int(generator.integers(8))
            path.write_bytes(finished)
            changed = packed(bytes(content))
            edit(path, f"UPDATE phases SET {column} = ? WHERE phase = ?", changed, phase)
            assert f"phase {phase}" in refused(path)


@pytest.mark.parametrize("column", ["plan", "link", "rewards", "closing"])
def test_every_edit_of_a_digest_is_found(path: Path, column: str) -> None:
    edit(path, f"UPDATE phases SET {column} = zeroblob(32) WHERE phase = 1")
    assert "phase 1" in refused(path)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE phases SET batches = batches + 1 WHERE phase = 0", "phase 0"),
        ("UPDATE phases SET shared = 1 - shared WHERE phase = 0", "phase 0"),
        ("UPDATE study SET value = '\"minimize\"' WHERE key = 'direction'", "question"),
        ("UPDATE study SET value = '\"7\"' WHERE key = 'seed'", "question"),
        ("UPDATE study SET value = replace(value, '0.05', '0.2') WHERE key = 'settings'", ""),
        ("UPDATE study SET value = '\"00\"' WHERE key = 'head'", "question"),
        ("UPDATE study SET value = '\"00\"' WHERE key = 'fingerprint'", "fingerprint"),
        ("DELETE FROM phases WHERE phase = 0", ""),
        ("DELETE FROM phases WHERE phase = (SELECT max(phase) FROM phases)", "fingerprint"),
        ("UPDATE phases SET summary = NULL WHERE phase = 0", ""),
    ],
)
def test_changes_of_layout_and_question_are_found(path: Path, statement: str, said: str) -> None:
    edit(path, statement)
    assert said in refused(path)


def test_pulls_in_another_order_are_found(path: Path) -> None:
    """The same rewards of the same pairs, but two pulls have changed places."""
    rows = values(path, "SELECT id, pair, reward FROM pulls WHERE phase = 0 ORDER BY id")
    first = rows[0]
    other = next(row for row in rows if row[1] != first[1])
    for number, source in ((first[0], other), (other[0], first)):
        edit(
            path, "UPDATE pulls SET pair = ?, reward = ? WHERE id = ?", source[1], source[2], number
        )
    assert "the order of its pulls was changed" in refused(path)


def test_a_file_cut_short_is_found(tmp_path: Path, finished: bytes) -> None:
    path = tmp_path / "study.db"
    for size in range(0, len(finished), 512):
        path.write_bytes(finished[:size])
        refused(path)


def test_the_command_says_it_by_its_code(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def outcome() -> tuple[object, str]:
        with pytest.raises(SystemExit) as end:
            cli.main(["verify", str(path)])
        return end.value.code, capsys.readouterr().out

    code, said = outcome()
    assert code == 0
    assert "The certificate holds" in said
    assert "every choice was stored before its rewards" in said
    assert f"fingerprint: {sf.verify(path).fingerprint}" in said
    edit(path, "UPDATE pulls SET reward = reward + 1 WHERE id = 3")
    code, said = outcome()
    assert code == 1
    assert said.count("\n") == 1


def test_a_study_on_its_way_is_intact_and_no_certificate(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with create(path) as study:
        for pull in study.ask()[:3]:
            study.tell(pull, linear(pull))
    found = sf.verify(path)
    assert found.intact
    assert not found
    assert "not finished" in found.sentence
    edit(path, "UPDATE phases SET link = zeroblob(32)")
    refused(path)


def test_algorithms_without_a_kernel_have_a_chain_too(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with create(path, "robust-rage") as study:
        study.run(linear, "serial")
    found = sf.verify(path)
    assert found
    assert "no kernel" in found.assumed[-1]
    edit(path, "UPDATE pulls SET reward = reward + 1e-9 WHERE id = 3")
    assert "a reward was changed" in refused(path)


def test_a_certificate_is_one_file(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "c.json"
    with pytest.raises(SystemExit) as end:
        cli.main(["export", str(path), "--certificate", str(target)])
    assert end.value.code == 0
    found, study = sf.verify(target), sf.verify(path)
    assert found
    assert (found.claimed, found.fingerprint) == (study.claimed, study.fingerprint)
    assert "which nobody can repeat without its rewards" in found.assumed[-1]
    document = json.loads(target.read_text())

    def changed(**values: object) -> str:
        target.write_text(json.dumps(document | values))
        return refused(target)

    names = document["question"]["problem"]["arm_names"]
    other = next(name for name in names if name != document["arm"])
    assert "is not the arm that is proved" in changed(arm=other)
    assert "fingerprint" in changed(phases=document["phases"][:-1])
    assert "phase 0" in changed(phases=document["phases"][1:])
    assert "phase 0" in changed(question=document["question"] | {"seed": "7"})
    for key in ("layout", "commitment", "sums", "limits", "origins"):
        first = document["phases"][0] | {key: document["phases"][1][key]}
        if first != document["phases"][0]:
            assert "phase 0" in changed(phases=[first, *document["phases"][1:]])
    target.write_text("{}")
    refused(target)


def half_way(path: Path, **options: object) -> int:
    with create(path, **(PAIRS | options)) as study:
        while study.told < 60:
            for pull in study.ask():
                study.tell(pull, linear(pull))
        for pull in study.ask()[:3]:
            study.tell(pull, linear(pull))
        return study.told


def goes_on(path: Path, planner: Planner | None = None, **changed: object) -> None:
    with Study.open(path, algorithm=planner) as study:
        study.change(**changed)
        assert study.run(linear, "serial").certified
    assert sf.verify(path)


@pytest.mark.parametrize(
    "changed",
    [{"budget": 1_000_000}, {"budget": None}, {"guide": "tabular"}, {"parallel": 50}],
)
def test_a_study_goes_on_with_other_means(tmp_path: Path, changed: dict[str, object]) -> None:
    path = tmp_path / "study.db"
    half_way(path, budget=900_000)
    goes_on(path, **changed)
    with StudyReader(path) as reader:
        assert [name in reader.log()["text"].iloc[-1] for name in changed] == [True]


def test_a_question_cannot_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    half_way(path)
    with (
        Study.open(path) as study,
        pytest.raises(sf.InputError, match="delta is part of the question"),
    ):
        study.change(delta=0.2)


@dataclass(eq=False)
class Own(Planner):
    """A planner that surefoot does not ship: all pairs alike, the leader against all others."""

    pulls: int = 20
    name: ClassVar[str] = "own"

    def begin_planning(self, past: Past) -> None:
        self.proposed = 0

    def propose(self, past: Past) -> Proposal:
        self.proposed += 1
        problem, walks = past.problem, past.certifier.walks
        counts = np.full(problem.n_pairs, self.pulls)
        if not past.tally.samples:
            return Proposal(counts)
        leader, means = self.best_guess(), past.tally.pair_means
        arms = np.array([arm for arm in np.flatnonzero(walks.survivors) if arm != leader])
        own = np.arange(*problem.offsets[leader : leader + 2])
        worst = [problem.offsets[a] + means[problem.pairs_of(a)].argmin() for a in arms]
        shares = Rows(np.arange(len(arms) + 1), np.array(worst), np.ones(len(arms)))
        claims = Claims(leader, own, arms, walks.places[arms] + 1, shares, np.array(np.inf))
        return Proposal(counts, claims=[claims])


KNOWN = {"noise": sf.Gaussian(0.5), "misfit": math.inf}


def test_a_planner_of_ones_own_is_resumed_and_verified(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with create(path, Own(), **KNOWN) as study:
        for pull in [*study.ask()]:
            study.tell(pull, linear(pull))
        for pull in study.ask()[:5]:
            study.tell(pull, linear(pull))
    with pytest.raises(sf.InputError, match="If it is your own, give it"):
        Study.open(path)
    with open_ledger(path, Own()) as ledger:
        assert ledger._run.algorithm.proposed == 0  # type: ignore[attr-defined]
    with Study.open(path, algorithm=Own()) as study:
        assert study.run(linear, "serial").certified
    assert sf.verify(path)


def test_another_planner_may_go_on(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with create(path, Own(1), **KNOWN) as study:
        for pull in study.ask():
            study.tell(pull, linear(pull))
    with Study.open(path, algorithm=Prime()) as study:
        assert study.run(linear, "serial").certified
    assert sf.verify(path)
    with StudyReader(path) as reader:
        assert "prime" in reader.log()["text"].iloc[-1]


def test_the_same_seed_draws_other_streams_for_another_question(tmp_path: Path) -> None:
    def seeds(name: str, **options: object) -> set[int]:
        with toy_study(tmp_path / f"{name}.db", **options) as study:
            return {pull.study_seed for pull in study.ask()}

    first = seeds("first")
    assert first == seeds("again")
    assert first == seeds("cheaper", budget=1_000)
    assert first != seeds("surer", delta=0.01)
    assert first != seeds("lower", direction="minimize")


def test_each_phase_has_its_own_streams(tmp_path: Path) -> None:
    with Study.create(
        tmp_path / "toy.db", toy_problem(), Rounds(), delta=0.05, noise=sf.Gaussian(1.0)
    ) as study:
        found = {}
        for pull in study.pulls():
            found.setdefault(pull.phase, set()).add(pull.study_seed)
            study.tell(pull, linear(pull))
    assert [len(own) for own in found.values()] == [1, 1, 1]
    assert len(set.union(*found.values())) == 3


def noisy(pull: Pull) -> float:
    return float(pull.features @ THETA + 3 * pull.rng().normal())


def within(pull: Pull) -> float:
    return float(1 / (1 + np.exp(-noisy(pull))))


def test_rewards_outside_of_the_stated_range_prove_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file whose maker left that check out claims what its own assumption rules out."""
    path = tmp_path / "study.db"
    with monkeypatch.context() as careless:
        careless.setattr(sf.Bounded, "refuse_impossible", lambda self, outcome: None)
        careless.setattr(sf.Bounded, "limits", None)
        with create(path, noise=sf.Bounded(0, 1), misfit=math.inf, budget=2000) as study:
            study.run(lambda pull: 3 + within(pull), "serial")
    assert "where Bounded says that all lie" in refused(path)


@pytest.mark.parametrize(
    ("options", "simulate"),
    [
        ({"noise": sf.Gaussian(3.0)}, noisy),
        ({"noise": sf.Gaussian()}, noisy),
        ({"noise": sf.Gaussian(equal=True)}, noisy),
        ({"noise": sf.Gaussian(3.0), "misfit": 0.05}, noisy),
        ({"noise": sf.Gaussian(), "misfit": math.inf, "guide": "trend"}, noisy),
        ({"noise": sf.Gaussian(), "misfit": math.inf, "guide": "gaussian-process"}, noisy),
        ({"noise": sf.Gaussian(), "misfit": math.inf, "common_random_numbers": "auto"}, noisy),
        ({"noise": sf.Bounded(0, 1), "misfit": math.inf}, within),
    ],
)
def test_a_study_opened_again_and_again_has_the_same_bits(
    tmp_path: Path, options: dict[str, object], simulate: Callable[[Pull], float]
) -> None:
    straight, broken = tmp_path / "straight.db", tmp_path / "broken.db"
    with create(straight, budget=400, **options) as study:
        for pull in study.pulls():
            study.tell(pull, simulate(pull))
    create(broken, budget=400, **options).close()
    done = False
    while not done:
        with Study.open(broken) as study:
            pulls = study.ask()
            study.tell_many([(pull, simulate(pull)) for pull in pulls[: len(pulls) // 2]])
        with Study.open(broken) as study:
            study.tell_many([(pull, simulate(pull)) for pull in study.ask()])
            done = study.done
    expected, found = sf.verify(straight), sf.verify(broken)
    assert found.intact
    assert (found.fingerprint, found.sentence) == (expected.fingerprint, expected.sentence)


def test_status_too_finds_a_file_cut_short(
    tmp_path: Path, finished: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "study.db"
    for size in range(len(finished) - 4096, len(finished), 512):
        path.write_bytes(finished[:size])
        with pytest.raises(SystemExit) as end:
            cli.main(["status", str(path)])
        assert end.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("column", ["first_pull", "pulls", "batches", "shared"])
def test_a_phase_without_its_numbers_is_refused(path: Path, column: str) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        (made,) = connection.execute(
            "SELECT sql FROM sqlite_master WHERE name = 'phases'"
        ).fetchone()
        change = "UPDATE sqlite_master SET sql = ? WHERE name = 'phases'"
        connection.execute(change, (made.replace("NOT NULL", ""),))
    connection.close()
    edit(path, f"UPDATE phases SET {column} = NULL")
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(change, (made,))
    connection.close()
    refused(path)
    with pytest.raises(sf.InputError, match="is damaged"), StudyReader(path) as reader:
        reader.status()


@pytest.mark.parametrize("stored", ["NaN", "null", "3", '"other"'])
def test_another_fingerprint_ends_the_check(path: Path, stored: str) -> None:
    """NaN is no number that it could have been before, so waiting for it never ended."""
    edit(path, "UPDATE study SET value = ? WHERE key = 'fingerprint'", stored)
    assert "the last phases were dropped or replaced" in refused(path)


def test_a_boundary_without_one_of_its_times_is_refused_wherever_it_is_read(
    path: Path, tmp_path: Path
) -> None:
    document = tmp_path / "certificate.json"
    with pytest.raises(SystemExit):
        cli.main(["export", str(path), "--certificate", str(document)])
    content = json.loads(document.read_text())
    boundary = content["question"]["boundary"]
    del boundary["times"][20]
    document.write_text(json.dumps(content))
    edit(path, "UPDATE study SET value = ? WHERE key = 'boundary'", json.dumps(boundary))
    refused(document)
    refused(path)
