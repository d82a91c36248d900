"""`surefoot verify`: whether a study file proves its answer."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from surefoot.commands.terminal import StudyArgument, study_file


def command(
    study: StudyArgument = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Check that a study proves its answer and is unchanged; else exit with code 1."""
    from surefoot.study.file.verified import verify
    from surefoot.system.progress import printable

    found = verify(study_file(study))
    if as_json:
        print(json.dumps(asdict(found), indent=1))
        raise typer.Exit(0 if found.certified else 1)
    print(printable(found.sentence))
    if found.intact:
        print(f"claimed: {printable(found.claimed)}")
        for text in found.assumed:
            print(f"assumed: {printable(text)}")
        print(
            f"checked: {found.phases} phases of {found.pulls} pulls; every choice was stored "
            "before its rewards, and neither was changed since"
        )
        print(f"fingerprint: {found.fingerprint}")
    raise typer.Exit(0 if found.certified else 1)
