"""A certificate in one file without the study: the question, the proof, and sums of the rewards.

It is JSON. Single rewards are not in it: what the kernel is given of them is, and the digests that
tie both to the chain. So it is checked like a study, but for the rewards behind the sums.
"""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.algorithms import Tally, Verdict
from surefoot.algorithms.planner import (
    certifier_for,
    conclusion,
    confidence_later,
    leads_later,
)
from surefoot.algorithms.result import Result
from surefoot.algorithms.verdict import Qualifying
from surefoot.errors import InputError
from surefoot.statistics import Outcome, Phase
from surefoot.study.file.description import UNREADABLE, Description
from surefoot.study.file.proof.chain import Chain, ChainBroken
from surefoot.study.file.proof.check import Check, Sealed
from surefoot.study.file.proof.encoding import (
    ByteReader,
    Writer,
    layout_bytes,
    layout_from,
    packed,
    unpacked,
)
from surefoot.study.file.reader import StudyReader

KIND = "surefoot certificate"
VERSION = 1
DIGESTS = ("order", "rewards", "plan", "link", "closing")


def certificate_of(reader: StudyReader) -> dict[str, Any]:
    """Return the certificate of a study as plain values; an error if there is none to give."""
    if reader.description.boundary is None:
        raise InputError(
            f"{reader.description.algorithm} draws its own conclusions, which no file without the "
            'rewards proves: give the study itself, or use "prime"'
        )
    chain, result = reader.check(), reader.recorded
    if not (reader.over and result.certified):
        raise InputError(f"{reader.path} has no certificate: {result.reason.value}")
    return {
        "kind": KIND,
        "version": VERSION,
        "claimed": result.sentence,
        "arm": result.arm_name,
        "fingerprint": chain.fingerprint,
        "changes": reader.remarks,
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
    }
    digests = {name: getattr(sealed, name).hex() for name in DIGESTS}
    return {key: base64.b64encode(packed(each)).decode() for key, each in content.items()} | digests


def check_certificate(path: Path) -> tuple[Chain, Result, list[str]]:
    """Check a certificate, and return its chain, its answer and the changes that were accepted; an
    error says what is wrong.
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
        changes = [str(each) for each in document["changes"]]
    except InputError:
        raise
    except (*UNREADABLE, RecursionError) as error:
        raise ChainBroken(f"{path} is no certificate ({error!s:.100})") from None
    try:
        return *_proved(described, phases, arm, fingerprint), changes
    except InputError:
        raise
    except (*UNREADABLE, RecursionError) as error:
        raise ChainBroken(
            f"{path} is damaged ({type(error).__name__}: {error!s:.100}): restore it from a copy"
        ) from None


def _proved(
    described: Description, phases: list[Sealed], arm: int, fingerprint: str
) -> tuple[Chain, Result]:
    settings, boundary = described.signed_settings, described.boundary
    if boundary is None:
        raise ChainBroken("the certificate has no boundary")
    check = Check(certifier_for(described.problem, settings, boundary), described.head)
    tally = Tally.empty(described.problem, settings)
    for sealed in phases:
        check.take(sealed)
        tally = tally.after(sealed.outcome)
    if check.chain.fingerprint != fingerprint:
        raise ChainBroken("the fingerprint is of another certificate")
    kernel = check.certifier
    found = conclusion(kernel, described.problem, settings, arm)
    if found is None or found[1] != arm or not found[0].certifies:
        raise ChainBroken(f"{described.problem.arm_names[arm]} is not the arm that is proved")
    verdict = Verdict(
        algorithm=described.algorithm,
        arm=arm,
        reason=found[0],
        survivors=kernel.survivors.copy(),
        history=[],
        attained_confidence=confidence_later(kernel, settings, arm),
        leads=leads_later(described.problem, settings, kernel, arm),
        qualifying=Qualifying.of(kernel),
    )
    return check.chain, described.measured(tally.result(verdict))


def _sealed(index: int, stored: dict[str, str], outputs: list[str]) -> Sealed:
    layout, commitment, sums, limits = (
        unpacked(base64.b64decode(stored[key]))
        for key in ("layout", "commitment", "sums", "limits")
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
