"""Certificates, and `verify`: the check that a file proves its answer and is unchanged.

A certificate is a proof without rewards: the question, and the commitments and sums of every phase.
The file to check may be a study or the certificate of one. No planner is asked; for algorithms that
draw their own conclusions, the algorithm itself is fed with the phases as they were stored.
"""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.algorithms import Algorithm, Result, Settings, Tally
from surefoot.errors import InputError
from surefoot.statistics import Outcome, Phase
from surefoot.study.file.chain import Chain, ChainBroken, Sealed
from surefoot.study.file.description import UNREADABLE, Description
from surefoot.study.file.encoding import (
    ByteReader,
    Writer,
    layout_bytes,
    layout_from,
    packed,
    unpacked,
)
from surefoot.study.file.proof import Proof
from surefoot.study.file.reader import StudyReader
from surefoot.study.file.storage import schema
from surefoot.study.provenance import FailureCounts, Simulators, origins_from, remarks

KIND = "surefoot certificate"
VERSION = 1
DIGESTS = ("order", "rewards", "plan", "link", "closing")


def certificate_of(reader: StudyReader) -> dict[str, Any]:
    """Return the certificate of a study as plain values; raise an error if it proves nothing."""
    if reader.description.boundary is None:
        raise InputError(
            f"{reader.description.algorithm} draws its own conclusions, which no file without the "
            'rewards proves: give the study itself, or use "prime"'
        )
    chain, result = reader.check(), reader.recorded
    if not (reader.over and result.certified):
        on = "" if reader.over else f" Go on with {reader.how_to_go_on}."
        raise InputError(f"{reader.path} has no certificate: {result.reason.value}{on}")
    return {
        "kind": KIND,
        "version": VERSION,
        "claimed": result.sentence,
        "arm": result.arm_name,
        "fingerprint": chain.fingerprint(reader.simulators),
        "simulators": reader.simulators.to_plain(),
        "question": reader.description.to_entries(),
        "phases": [_phase(sealed, _outputs(reader.description)) for sealed in reader.sealed()],
    }


def _outputs(described: Description) -> list[str]:
    """Return the names of further outputs that decide."""
    return list(dict.fromkeys(limit.output for limit in described.settings.limits))


def _phase(sealed: Sealed, outputs: list[str]) -> dict[str, str]:
    phase, writer = sealed.phase, Writer()
    for outcome in (sealed.outcome, *(sealed.outcome.others[name] for name in outputs)):
        for values in (outcome.sums, outcome.scatter, outcome.batch_sums):
            writer.numbers(values)
    content = {
        "layout": layout_bytes(phase),
        "commitment": sealed.commitment,
        "sums": writer.content,
        "limits": sealed.limits,
        "origins": sealed.origins,
    }
    digests = {name: getattr(sealed, name).hex() for name in DIGESTS}
    return {key: base64.b64encode(packed(each)).decode() for key, each in content.items()} | digests


def _check_certificate(path: Path) -> tuple[Chain, Result, str, list[str]]:
    """Check a certificate, and return its chain, its answer, its fingerprint and its sentences on
    simulators and failures; raise an error if it is invalid.
    """
    try:
        document = json.loads(path.read_bytes())
        if document["kind"] != KIND or document["version"] != VERSION:
            raise ValueError("it is none of this version")
        described = Description.from_entries(document["question"])
        outputs = _outputs(described)
        phases = [
            _sealed(index, stored, outputs) for index, stored in enumerate(document["phases"])
        ]
        arm = described.problem.arm_names.index(document["arm"])
        fingerprint = str(document["fingerprint"])
        origins = [one for sealed in phases for one in origins_from(sealed.origins)]
        simulators = Simulators.from_plain(document["simulators"], origins)
        tries = FailureCounts.of(origins, simulators.first)
    except InputError:
        raise
    except (*UNREADABLE, RecursionError) as error:
        raise ChainBroken(f"{path} is no certificate ({error!s:.100})") from None
    try:
        proof, tally = _fed(described, phases)
        if proof.chain.fingerprint(simulators) != fingerprint:
            raise ChainBroken(
                "the fingerprint is of another certificate, or of other simulators: phases were "
                "dropped, or what was said of a simulator was changed"
            )
        verdict = proof.verdict(arm, proof.reason(arm))
        if not verdict.reason.certifies:
            raise ChainBroken(f"{described.problem.arm_names[arm]} is not the arm that is proved")
        result = described.measured(tally.result(verdict))
        said = remarks(simulators, tries, described.problem)
        return proof.chain, tries.judge(simulators.judge(result)), fingerprint, said
    except InputError:
        raise
    except (*UNREADABLE, RecursionError) as error:
        raise ChainBroken(
            f"{path} is damaged ({type(error).__name__}: {error!s:.100}): restore it from a copy"
        ) from None


def _fed(described: Description, phases: list[Sealed]) -> tuple[Proof, Tally]:
    proof, tally = Proof(described), Tally.empty(described.problem, described.signed_settings)
    for sealed in phases:
        proof.take(sealed)
        tally = tally.after(sealed.outcome)
    return proof, tally


def _sealed(index: int, stored: dict[str, str], outputs: list[str]) -> Sealed:
    layout, commitment, sums, limits, origins = (
        unpacked(base64.b64decode(stored[key]))
        for key in ("layout", "commitment", "sums", "limits", "origins")
    )
    digests = {name: bytes.fromhex(stored[name]) for name in DIGESTS}
    phase = layout_from(index, layout)
    of_sums = ByteReader(sums)
    outcome = _outcome(phase, of_sums)
    others = {name: _outcome(phase, of_sums) for name in outputs}
    of_sums.end()
    return Sealed(
        phase=phase,
        commitment=commitment,
        limits=limits,
        origins=origins,
        outcome=replace(outcome, others=others),
        kept_rewards=digests["rewards"],
        **digests,
    )


def _outcome(phase: Phase, of_sums: ByteReader) -> Outcome:
    """Read the sums of one output of a phase."""
    sums, scatter, batch_sums = (of_sums.numbers() for _ in range(3))
    counts = phase.counts
    if any(each.shape[-1:] not in (counts.shape, (0,)) for each in (sums, scatter, batch_sums)):
        raise ValueError("its sums are of other pairs")
    return Outcome(phase.index, counts.astype(np.int64), sums, scatter, batch_sums)


@dataclass(frozen=True)
class Verified:
    """The outcome of the check of a study file.

    Attributes:
        certified: whether the file proves the answer that it claims.
        sentence: the outcome in one sentence: the proved answer, or the fault.
        intact: whether the file is unchanged since it was stored.
        claimed: the answer in the file; None if it cannot be read.
        assumed: the answer's assumptions, one sentence each.
        phases, pulls: that were checked.
        fingerprint: the digest of the whole chain and of the simulators, in hexadecimal digits;
            None if the chain is broken.
    """

    certified: bool
    sentence: str
    intact: bool
    claimed: str | None = None
    assumed: tuple[str, ...] = ()
    phases: int = 0
    pulls: int = 0
    fingerprint: str | None = None

    def __bool__(self) -> bool:
        return self.certified


def verify(path: str | os.PathLike[str], *, algorithm: Algorithm | None = None) -> Verified:
    """Check whether a study file proves its answer, and that nobody has changed it.

    Args:
        path: of the study, or of its certificate (.json), as `surefoot export` wrote it.
        algorithm: only if the study was made with an algorithm without a kernel that surefoot does
            not ship.

    Raises:
        StudyFileError: the file does not exist.
    """
    if not Path(path).is_file():
        schema.refuse_no_database(Path(path))
    try:
        if Path(path).suffix == ".json":
            return _certificate(Path(path))
        with StudyReader(path, algorithm=algorithm) as reader:
            return _verified(reader)
    except InputError as error:
        return Verified(False, f"The file proves nothing: {error}", intact=False)


def _verified(reader: StudyReader) -> Verified:
    chain, result, over = reader.check(), reader.recorded, reader.over
    return Verified(
        certified=over and result.certified,
        sentence=_sentence(result, over, chain.phases),
        intact=True,
        claimed=result.sentence,
        assumed=(
            *_assumptions(result.settings, reader.description.boundary is not None),
            *reader.remarks,
        ),
        phases=chain.phases,
        pulls=result.samples,
        fingerprint=chain.fingerprint(reader.simulators),
    )


def _certificate(path: Path) -> Verified:
    chain, result, fingerprint, said = _check_certificate(path)
    return Verified(
        certified=result.certified,
        sentence=_sentence(result, True, chain.phases),
        intact=True,
        claimed=result.sentence,
        assumed=(
            *_assumptions(result.settings, has_kernel=True),
            *said,
            "the sums are those of the rewards in the study: single rewards are not in this file",
            "pulls neither depended on those before nor repeated: the study was tested for both, "
            "which nobody can repeat without its rewards",
        ),
        phases=chain.phases,
        pulls=result.samples,
        fingerprint=fingerprint,
    )


def _sentence(result: Result, over: bool, phases: int) -> str:
    if over and result.certified:
        return f"The certificate holds: {result.sentence}"
    why = result.reason.value if over else "The study is not finished."
    return f"Nothing was changed in {phases} phases, but there is no certificate. {why}"


def _assumptions(settings: Settings, has_kernel: bool) -> tuple[str, ...]:
    """Return an answer's assumptions, the most important first."""
    shared = settings.common_random_numbers is not False
    found = ["pulls are independent" + (", but for streams shared on purpose" if shared else "")]
    if not settings.modelled:
        found.append("nothing about how means depend on parameters")
    elif settings.misfit > 0:
        found.append(f"means are linear in the features to within {settings.misfit:g}")
    else:
        found.append("means are linear in the features")
    found.append(settings.noise.assumption)
    for limit in settings.limits:
        of_output = f"of {limit.output}: {limit.noise.assumption}"
        found += [] if of_output in found else [of_output]
    if not has_kernel:
        found.append("the conclusions of the algorithm itself: it has no kernel that checks them")
    return tuple(found)
