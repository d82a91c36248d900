"""Names that arms and perturbations have by their values alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surefoot.problem.categories import Value, written

NO_PARAMETERS = ("name", "arm")  # keys of an entry that are no parameters

Entry = Mapping[str, Value]


def labels(entries: Sequence[Entry]) -> list[str]:
    """A name for each entry from its parameters, with as many digits as tell them apart."""
    short = [_label(entry, "g") for entry in entries]
    return short if len(set(short)) == len(short) else [_label(entry, "") for entry in entries]


def arm_labels(entries: Sequence[Entry]) -> list[str]:
    """The same, where all entries have the same parameters: from those that vary."""
    varying = [key for key in entries[0] if len({written(entry[key]) for entry in entries}) > 1]
    return labels(
        [{key: entry[key] for key in varying} for entry in entries] if varying else entries
    )


def parameters_of(entry: Entry) -> dict[str, Value]:
    return {key: value for key, value in entry.items() if key not in NO_PARAMETERS}


def _label(entry: Entry, style: str) -> str:
    return ", ".join(
        f"{key}={written(value, style)}" for key, value in parameters_of(entry).items()
    )
