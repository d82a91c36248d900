"""`surefoot report`: a study as one HTML file that opens without the internet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surefoot.commands.terminal import StudyArgument, study_file


def command(
    study: StudyArgument = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The file to write; by default the study's name.html.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write the answer, why it is right, the charts and the settings to one HTML file."""
    from surefoot.errors import InputError
    from surefoot.study import StudyReader
    from surefoot.system.drafts import write_whole
    from surefoot.system.progress import printable
    from surefoot.view.report import study_page

    if output is not None and output.suffix not in (".html", ".htm"):
        raise InputError(f"{output} ends in {output.suffix!r}: a report is .html")
    path = study_file(study)
    with StudyReader(path) as reader:
        target = output or Path(f"{path.stem}.html")
        write_whole(target, study_page(reader).encode())
        print(f"{target}: {printable(reader.recorded.sentence)}")
