"""`verify`: whether a study file proves the answer that stands in it, and nobody changed anything.

The file may be a study or the certificate of one. No planner is asked anything; for algorithms that
draw their own conclusions, the algorithm itself is fed with the phases as they were stored.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from surefoot.algorithms import Algorithm, Result, Settings
from surefoot.errors import InputError
from surefoot.study.file.certificate import check_certificate
from surefoot.study.file.reader import StudyReader
from surefoot.study.file.storage import schema


@dataclass(frozen=True)
class Verified:
    """The outcome of the check of a study file.

    Attributes:
        certified: whether the file proves the answer that it claims.
        sentence: the outcome in one sentence: what is proved, or what is wrong.
        intact: whether nothing was changed since it was stored.
        claimed: the answer that stands in the file; None if it cannot be read.
        assumed: what the answer rests on, one sentence each.
        phases, pulls: that were checked.
        fingerprint: the digest of the whole chain, in hexadecimal digits; None if it is broken.
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
        StudyFileError: there is no such file.
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
        fingerprint=chain.fingerprint,
    )


def _certificate(path: Path) -> Verified:
    chain, result, changes = check_certificate(path)
    return Verified(
        certified=result.certified,
        sentence=_sentence(result, True, chain.phases),
        intact=True,
        claimed=result.sentence,
        assumed=(
            *_assumptions(result.settings, has_kernel=True),
            *changes,
            "the sums are those of the rewards in the study: single rewards are not in this file",
        ),
        phases=chain.phases,
        pulls=result.samples,
        fingerprint=chain.fingerprint,
    )


def _sentence(result: Result, over: bool, phases: int) -> str:
    if over and result.certified:
        return f"The certificate holds: {result.sentence}"
    why = result.reason.value if over else "The study is not finished."
    return f"Nothing was changed in {phases} phases, but there is no certificate. {why}"


def _assumptions(settings: Settings, has_kernel: bool) -> tuple[str, ...]:
    """Return what an answer rests on, the most important first."""
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
