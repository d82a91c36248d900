"""`surefoot export`: all pulls of a study as a table, or study and answer as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surefoot.commands.terminal import StudyArgument, study_file

if TYPE_CHECKING:
    import pandas as pd

    from surefoot.study import StudyReader

AT_A_TIME = 50_000  # pulls: two million of them as one table would take gigabytes


def command(
    study: StudyArgument = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Its ending says how: .csv, .parquet or .json; by default pulls.csv or arms.csv.",
            show_default=False,
        ),
    ] = None,
    arms: Annotated[
        bool, typer.Option("--arms", help="One row per arm instead: .csv or .parquet.")
    ] = False,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            help="The proof alone instead, a .json file for `surefoot verify`.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write every pull with its pair, reward, times and errors, whole or not at all."""
    from surefoot.errors import InputError
    from surefoot.study import StudyReader
    from surefoot.system.drafts import replaced_file
    from surefoot.system.progress import printable

    if certificate is not None:
        _write_certificate(study_file(study), certificate)
        return
    if output is None:
        output = Path("arms.csv" if arms else "pulls.csv")
    of_pulls = {".csv": _write_csv, ".parquet": _write_parquet, ".json": _write_json}
    writers = {".csv": _arms_csv, ".parquet": _arms_parquet} if arms else of_pulls
    if output.suffix not in writers:
        raise InputError(f"{output} ends in {output.suffix!r}: choose {', '.join(writers)}")
    with StudyReader(study_file(study)) as reader:
        with replaced_file(output) as draft:
            writers[output.suffix](reader, draft)
        written = f"{reader.problem.n_arms} arms" if arms else f"{reader.status().told} rewards"
        print(f"{output}: {written} of {printable(reader.name)}")


def _arms_csv(reader: StudyReader, output: Path) -> None:
    from surefoot.system.progress import spreadsheet_safe

    spreadsheet_safe(_arms(reader)).to_csv(output, index=False)


def _write_certificate(study: Path, output: Path) -> None:
    from surefoot.errors import InputError
    from surefoot.study import StudyReader
    from surefoot.study.file.verified import certificate_of
    from surefoot.system.drafts import replaced_file
    from surefoot.system.progress import printable

    if output.suffix != ".json":
        raise InputError(f"{output} ends in {output.suffix!r}: a certificate is a .json file")
    with StudyReader(study) as reader:
        document = certificate_of(reader)
    with replaced_file(output) as draft:
        draft.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"{output}: {printable(document['claimed'])}")


def _arms_parquet(reader: StudyReader, output: Path) -> None:
    _arms(reader).to_parquet(output, index=False)


def _arms(reader: StudyReader) -> pd.DataFrame:
    """Return the best arm first: its parameters, its worst case as measured with an interval that
    holds for all arms at once, its worst perturbation, its pulls and whether it is still possible;
    with limits, its value of each limit, and whether it qualifies.
    """
    from surefoot.view.charts import arms_frame, limits_frame

    result = reader.result
    table = arms_frame(result)
    names = {name: place for place, name in enumerate(result.problem.arm_names)}
    own = [result.problem.nominal_values(names[arm]) or {} for arm in table["arm"]]
    for number, name in enumerate(dict.fromkeys(key for values in own for key in values)):
        column = name if name not in table.columns else f"parameter_{name}"
        table.insert(1 + number, column, [values.get(name) for values in own])
    held, order = limits_frame(result), [names[arm] for arm in table["arm"]]
    n = len(names)
    for which, limit in enumerate(result.settings.limits):
        mine = held.iloc[which * n : (which + 1) * n].iloc[order]
        for column in ("value", "low", "high"):
            table[f"{limit.words}: {column}"] = mine[column].to_numpy()
        table["qualifies"] = mine["state"].to_numpy()
    return table


def _pulls(reader: StudyReader) -> Iterator[dict[str, Any]]:
    """Yield the pulls in order, read some at a time."""
    since = 0
    while records := reader.pull_records(since, AT_A_TIME):
        yield from records
        since = records[-1]["id"] + 1


def _write_csv(reader: StudyReader, output: Path) -> None:
    import csv

    from surefoot.system.progress import cell

    with output.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(map(cell, reader.pull_columns))
        table.writerows(map(cell, record.values()) for record in _pulls(reader))


def _write_parquet(reader: StudyReader, output: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = reader.pulls(0, AT_A_TIME)
    texts = table.astype({"error": "string", "state": "string"})
    schema = pa.Schema.from_pandas(texts, preserve_index=False)
    with pq.ParquetWriter(output, schema) as writer:
        while True:
            writer.write_table(pa.Table.from_pandas(table, schema, preserve_index=False))
            if len(table) < AT_A_TIME:
                return
            table = reader.pulls(int(table["id"].iloc[-1]) + 1, AT_A_TIME)


def _write_json(reader: StudyReader, output: Path) -> None:
    """Write the question, the answer, the simulators, the phases, the corrections and the pulls."""
    document: dict[str, Any] = reader.description.to_entries() | {
        "created": reader.created,
        "configuration": reader.configuration,
        "result": _result(reader),
        "simulators": [asdict(one) for one in reader.simulators],
        "phases": reader.phase_records(),
        "corrections": reader.correction_records(),
    }
    with output.open("w", encoding="utf-8") as file:
        file.write(json.dumps(document, indent=1).removesuffix("\n}"))
        file.write(',\n "pulls": [')
        file.writelines(_lines(_pulls(reader)))
        file.write("\n ]\n}\n")


def _lines(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    for number, record in enumerate(records):
        yield (",\n  " if number else "\n  ") + json.dumps(record)


def _result(reader: StudyReader) -> dict[str, Any]:
    """Return the answer as plain values, in the unit in which pulls are measured."""
    from surefoot.study.file.storage.records import Note

    result = reader.result
    return Note.of(result).to_dict() | {
        "robust_values": dict(zip(result.problem.arm_names, result.values.tolist(), strict=True)),
        "pulls_of_pairs": result.counts.tolist(),
        "checks": result.checks,
    }
