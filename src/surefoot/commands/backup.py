"""`surefoot backup STUDY COPY`: a whole copy of a study, also while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surefoot.commands.terminal import study_file


def command(
    study: Annotated[Path, typer.Argument(help="study.toml or its .db file.")],
    copy: Annotated[Path, typer.Argument(help="The file to write; it must not exist yet.")],
) -> None:
    """Copy a study to one file that holds everything stored at this moment."""
    from surefoot.study import StudyReader

    with StudyReader(study_file(study)) as reader:
        reader.backup(copy)
    with StudyReader(copy) as copied:
        print(f"{copy}: {copied.status().told} rewards of {copied.name}")
