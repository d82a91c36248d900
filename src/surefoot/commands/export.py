"""`surefoot export`: all pulls of a study as a table, or study and answer as JSON."""

from __future__ import annotations

import json
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.commands.locate import StudyArgument, study_file

if TYPE_CHECKING:
    import pandas as pd

    from surefoot.study import StudyReader


def command(
    study: StudyArgument = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Its ending says how: .csv, .parquet or .json.")
    ] = Path("pulls.csv"),
) -> None:
    """Write every pull with its pair, reward, times and errors."""
    from surefoot.errors import InputError
    from surefoot.study import StudyReader

    writers = {".csv": _write_csv, ".parquet": _write_parquet, ".json": _write_json}
    if output.suffix not in writers:
        raise InputError(f"{output} ends in {output.suffix!r}: choose {', '.join(writers)}")
    with StudyReader(study_file(study)) as reader:
        output.parent.mkdir(parents=True, exist_ok=True)
        writers[output.suffix](reader, output)
        print(f"{output}: {reader.status().told} rewards of {reader.name}")


def _write_csv(reader: StudyReader, output: Path) -> None:
    reader.pulls().to_csv(output, index=False)


def _write_parquet(reader: StudyReader, output: Path) -> None:
    reader.pulls().to_parquet(output, index=False)


def _write_json(reader: StudyReader, output: Path) -> None:
    """The question, the answer, the phases and the pulls."""
    document: dict[str, Any] = reader.description.to_entries() | {
        "created": reader.created,
        "configuration": reader.configuration,
        "result": _result(reader),
        "phases": _records(reader.phases()),
        "pulls": _records(reader.pulls()),
    }
    output.write_text(json.dumps(document, indent=1))


def _records(frame: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """The rows with every digit (pandas' own JSON keeps at most 15 decimals); None where there is
    nothing.
    """
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def _result(reader: StudyReader) -> dict[str, Any]:
    """In the user's own unit and direction."""
    from surefoot.study.notes import Note

    result = reader.result
    return Note.of(result).to_dict() | {
        "robust_values": dict(
            zip(result.problem.arm_names, (reader.sign * result.values).tolist(), strict=True)
        ),
        "pulls_of_pairs": result.counts.tolist(),
        "model_check": str(result.model_check),
    }
