"""Problems as tables: lists of named values, pandas frames, CSV files, and numbers by name."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.errors import InputError
from surefoot.problem.coding import (
    Value,
    ValueReader,
    exact_number,
    number_from_text,
    typed,
    written,
)
from surefoot.problem.features import Function
from surefoot.problem.problem import RobustProblem

if TYPE_CHECKING:
    import pandas as pd


def read_fields(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of a CSV, every field as it is written; lines left empty are
    skipped.

    A table that is not rectangular is refused: a field too many or too few shifts the others.
    """
    try:
        there = path.is_file()
    except OSError:  # a name that is too long, for example
        there = False
    if not there:
        raise InputError(f"there is no file {str(path)!r:.200}: give the path of a CSV table")
    header: list[str] = []
    rows: list[list[str]] = []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            for row in reader:
                if not row:
                    continue
                if not header:
                    header = _distinct(row)
                elif len(row) != len(header):
                    raise InputError(
                        f"line {reader.line_num} has {len(row)} fields, the header {len(header)}"
                    )
                else:
                    rows.append(row)
        if not header:
            raise InputError("it is empty")
    except (csv.Error, UnicodeDecodeError, OSError, InputError) as error:
        raise InputError(
            f"{str(path)!r} is not a CSV table in UTF-8 ({error}): give comma-separated columns "
            "with a header, and quotes round a field that holds a comma"
        ) from None
    return header, rows


def _distinct(header: list[str]) -> list[str]:
    names = [name.strip() for name in header]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"the column {twice!r} stands twice")
    return names


NO_PARAMETERS = ("name", "arm")  # keys of an entry that are no parameters

Entry = Mapping[str, Value]


def _labels(entries: Sequence[Entry]) -> list[str]:
    """Return a name for each entry from its parameters, with as many digits as tell them apart."""
    short = [_label(entry, "g") for entry in entries]
    return short if len(set(short)) == len(short) else [_label(entry, "") for entry in entries]


def _arm_labels(entries: Sequence[Entry]) -> list[str]:
    """Return names from the parameters that vary, where all entries have equal parameters."""
    varying = [key for key in entries[0] if len({written(entry[key]) for entry in entries}) > 1]
    return _labels(
        [{key: entry[key] for key in varying} for entry in entries] if varying else entries
    )


def _parameters_of(entry: Entry) -> dict[str, Value]:
    return {key: value for key, value in entry.items() if key not in NO_PARAMETERS}


def _label(entry: Entry, style: str) -> str:
    return ", ".join(
        f"{key}={written(value, style)}" for key, value in _parameters_of(entry).items()
    )


@dataclass(frozen=True)
class Row:
    """A named row of offsets, for one arm or (None) for all.

    Attributes:
        place: where it was written, for messages.
    """

    name: str
    offsets: dict[str, Value]
    arm: str | None = None
    place: str = "perturbations"


class _Change(NamedTuple):
    """The change of a parameter by a row: the number is added, as a share of the arm's own value if
    it is relative, or takes its place.
    """

    number: float = 0.0
    relative: bool = False
    replaces: bool = False


UNCHANGED = _Change()


def read_offset(value: Any) -> _Change:
    """Return the change of a number that an offset makes."""
    try:
        if not isinstance(value, str):
            return _Change(exact_number(value))
        written = value.strip()
        if written.endswith("%"):
            return _Change(number_from_text(written.removesuffix("%")) / 100, relative=True)
        return _Change(number_from_text(written))
    except InputError as error:
        raise InputError(
            f"{value!r:.60} is no offset: write a number, or a percentage such as '-10%' ({error})"
        ) from None


def rows_from(entries: Sequence[Mapping[str, Any]], where: str) -> list[Row]:
    """Return rows from dictionaries with the keys `name`, `arm` and parameters."""
    for number, entry in enumerate(entries, start=1):
        for key in NO_PARAMETERS:
            if key in entry:
                _require_text(entry[key], f"{where}: {key} of entry {number}")
    places = [f"{where}: in entry {number}" for number in range(1, len(entries) + 1)]
    return [
        Row(entry.get("name") or label or "none", _parameters_of(entry), entry.get("arm"), place)
        for entry, label, place in zip(entries, _labels(entries), places, strict=True)
    ]


def corners(box: Mapping[str, float | str]) -> list[Row]:
    """Return the corners of a box: enough for linear rewards, which are worst at one of them."""
    sides: list[list[tuple[str, Value]]] = []
    for name, radius in box.items():
        number, relative, _ = read_offset(radius)
        if number < 0:
            raise InputError(f"perturbations.box: {name} is {radius!r}: a half-width must be ≥ 0")
        far: float | str = str(radius).strip().removeprefix("+") if relative else number
        near: float | str = f"-{far}" if relative else -number
        sides.append([(name, near), (name, far)] if number else [(name, 0.0)])
    found = [dict(corner) for corner in itertools.product(*sides)]
    return [
        Row(label or "none", corner, place="perturbations.box")
        for corner, label in zip(found, _labels(found), strict=True)
    ]


def _require_text(value: Any, what: str) -> None:
    """Names are names: a number in their place might be written in another way than it is shown."""
    if not isinstance(value, str):
        raise InputError(f"{what} is {value!r}: write names in quotes, such as {str(value)!r}")


class _OffsetTable:
    """The offsets that each arm has, as arrays.

    Attributes:
        rows: all rows, in the order in which they were given.

    Args:
        readers: of all parameters by name; those of categories learn words that no arm has.
    """

    def __init__(self, rows: Sequence[Row], readers: Mapping[str, ValueReader]) -> None:
        self.rows = rows
        self._for_all: list[int] = []
        self._for_arm: dict[str, list[int]] = {}
        for number, row in enumerate(rows):
            own = self._for_all if row.arm is None else self._for_arm.setdefault(row.arm, [])
            own.append(number)
        changes = [[_change(row, name, readers[name]) for name in readers] for row in rows]
        parts = np.array(changes, dtype=np.float64).reshape(len(rows), len(readers), len(UNCHANGED))
        self._numbers = parts[..., 0]
        self._relative, self._replaces = parts[..., 1] > 0, parts[..., 2] > 0

    def n_pairs(self, n_arms: int) -> int:
        """Return the number of pairs that so many arms have in all."""
        return n_arms * len(self._for_all) + sum(map(len, self._for_arm.values()))

    def pairs_of(self, arm: str, values: Array) -> tuple[Array, list[str]]:
        """Return (n_perturbations, n_parameters) the perturbed values of this arm, and
        their names.
        """
        own = sorted(self._for_all + self._for_arm.get(arm, []))
        if not own:
            raise InputError(
                f"perturbations: none for arm {arm!r}: give each arm at least one row "
                "(zeros will do)"
            )
        names = [self.rows[number].name for number in own]
        if len(set(names)) < len(names):
            raise InputError(
                f"perturbations: {_first_repeated(names)!r} stands twice for arm {arm!r}: "
                "give each perturbation of an arm its own name"
            )
        numbers = self._numbers[own]
        added = values + np.where(self._relative[own], numbers * values, numbers)
        return np.where(self._replaces[own], numbers, added), names


def _first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that stood before."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _change(row: Row, name: str, reader: ValueReader) -> _Change:
    if name not in row.offsets:
        return UNCHANGED
    value = row.offsets[name]
    try:
        if reader.category is None:
            return read_offset(value)
        return _Change(reader.number(value), replaces=True)
    except InputError as error:
        raise InputError(f"{row.place}, {name}: {error}") from None


MOST_PAIRS = 2_000_000
NOTHING_GOES_WRONG = Row("none", {})


def problem_from_rows(
    entries: Sequence[Mapping[str, Value]],
    rows: Sequence[Row] | None,
    environment: Mapping[str, Value],
    features: str | Function,
) -> RobustProblem:
    """Build a problem where perturbations are rows already; None: arms are not perturbed."""
    arms = _ArmTable(entries, environment)
    changes = [NOTHING_GOES_WRONG] if rows is None else arms.allowed(rows)
    table = _OffsetTable(changes, arms.readers)
    require_size(table.n_pairs(len(arms.names)))
    own = [table.pairs_of(arm, row) for arm, row in zip(arms.names, arms.numbers, strict=True)]
    return RobustProblem.from_pairs(
        np.concatenate([pairs for pairs, _ in own]),
        np.repeat(np.arange(len(own)), [len(pairs) for pairs, _ in own]),
        features=features,
        arm_names=arms.names,
        perturbation_names=[name for _, names in own for name in names],
        parameter_names=list(arms.readers),
        categories={
            name: reader.category
            for name, reader in arms.readers.items()
            if reader.category is not None
        },
        whole=[name for name, reader in arms.readers.items() if reader.whole],
        arms=arms.numbers,
    )


def require_size(pairs: int) -> None:
    """Refuse more pairs than can be worked with, before memory is taken for them."""
    if pairs > MOST_PAIRS:
        raise InputError(
            f"arms and perturbations make {f'{pairs:,}' if pairs < 10**15 else 'over 10^15'} "
            f"pairs, and at most {MOST_PAIRS:,} can be worked with: give fewer values to the "
            "grid, fewer parameters to the box, or lists of those that matter"
        )


class _ArmTable:
    """Arms and their environment, as numbers.

    Attributes:
        names: of the arms.
        readers: of all parameters by name, those of the environment last.
        numbers: (n_arms, n_parameters).
    """

    def __init__(
        self, entries: Sequence[Mapping[str, Value]], environment: Mapping[str, Value]
    ) -> None:
        if not entries:
            raise InputError("arms: there are none: give at least two")
        own = _same_parameters(entries)
        _refuse_chosen(environment, own)
        self.readers = {name: ValueReader(entries[0][name]) for name in own}
        columns = [
            self.readers[name].read([entry[name] for entry in entries], f"arms: {name} of entry", 1)
            for name in own
        ]
        self.readers |= {name: ValueReader(value) for name, value in environment.items()}
        around = [_surrounding(self.readers[name], name, environment[name]) for name in environment]
        surroundings = np.tile(np.array(around).reshape(1, -1), (len(entries), 1))
        self.numbers: Array = np.hstack([np.array(columns).T, surroundings])
        self.names = _arm_names(entries)

    def allowed(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return the rows, if each changes parameters that there are, of an arm that there is."""
        for number, row in enumerate(rows):
            unknown = [key for key in row.offsets if key not in self.readers]
            if unknown:
                close = get_close_matches(unknown[0], self.readers, 1)
                hint = f"did you mean {close[0]!r}? T" if close else "t"
                raise InputError(
                    f"perturbations: {_place_of(number, row)} changes {unknown[0]!r}, which no arm "
                    f"has, nor the environment: {hint}he parameters are {list(self.readers)}"
                )
        called = set(self.names)
        for number, row in enumerate(rows):
            if row.arm is not None and row.arm not in called:
                raise InputError(
                    f"perturbations: {_place_of(number, row)} is for arm {row.arm!r}: the arms are "
                    f"{self.names[:10]}"
                )
        return rows


def _place_of(number: int, row: Row) -> str:
    """Return a perturbation's place in its list, counted as people do, and its name."""
    return f"entry {number + 1}" + (f" ({row.name!r})" if row.name else "")


def _arm_names(entries: Sequence[Mapping[str, Value]]) -> list[str]:
    """Return the names that entries give to their arms; by default the parameters that vary."""
    own = _arm_labels([_parameters_of(entry) for entry in entries])
    return [str(entry.get("name") or label) for entry, label in zip(entries, own, strict=True)]


def _same_parameters(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the parameters that all entries have."""
    names = [key for key in entries[0] if key != "name"]
    if "arm" in names:
        raise InputError(
            "arms: a parameter cannot be called 'arm': rename it, to arm_value perhaps"
        )
    for number, entry in enumerate(entries, start=1):
        keys = [key for key in entry if key != "name"]
        if sorted(keys) != sorted(names) or not names:
            raise InputError(
                f"arms: entry {number} has parameters {keys}, the first has {names}: "
                f"all need the same"
            )
        if "name" in entry:
            _require_text(entry["name"], f"arms: name of entry {number}")
    return names


def _surrounding(reader: ValueReader, name: str, value: Value) -> float:
    try:
        return reader.number(value)
    except InputError as error:
        raise InputError(f"environment: {name}: {error}") from None


def _refuse_chosen(environment: Mapping[str, Value], names: list[str]) -> None:
    for name in environment:
        if name in names:
            raise InputError(
                f"environment: {name!r} is a parameter of the arms too: leave it to one of them"
            )
        if name in NO_PARAMETERS:
            raise InputError(f"environment: a parameter cannot be called {name!r}: rename it")


NAMES = ("arm", "perturbation")  # columns that are no parameters


def problem_to_frame(problem: RobustProblem) -> pd.DataFrame:
    """Return one row per pair: arm, perturbation, parameters."""
    import pandas as pd

    columns: dict[str, object] = {
        "arm": [problem.arm_names[a] for a in problem.arm_of_pair],
        "perturbation": problem.perturbation_names,
    }
    for number, name in enumerate(problem.parameter_names):
        columns[name] = problem.coding.column(problem.parameters, number)
    if problem.transductive:
        every = np.arange(problem.n_pairs)
        columns["pulled"] = np.isin(every, problem.pullable)
        columns["compared"] = np.isin(every, problem.compared_pairs)
    return pd.DataFrame(columns)


def problem_from_frame(frame: pd.DataFrame, features: str | Function) -> RobustProblem:
    """Arms in order of appearance; all columns but `arm` and `perturbation` are parameters."""
    import pandas as pd

    if "arm" not in frame.columns:
        raise InputError(
            f"the table has columns {list(frame.columns)}, but none called 'arm': say "
            f"which arm each row belongs to"
        )
    names = [column for column in frame.columns if column not in NAMES]
    if not names or frame.empty:
        raise InputError(
            f"the table has {len(frame)} rows and {len(names)} parameter columns: "
            f"give at least one of each"
        )
    columns = {str(name): frame[name].tolist() for name in names}
    readers = {name: ValueReader(values[0]) for name, values in columns.items()}
    numbers = [
        readers[name].read(values, f"column {name!r}, row") for name, values in columns.items()
    ]
    owners = frame["arm"].mask(frame["arm"].map(lambda arm: isinstance(arm, str) and not arm))
    codes, arms = pd.factorize(owners)
    if (codes < 0).any():
        raise InputError(f"row {int(np.argmax(codes < 0))} has no arm: fill the column 'arm'")
    labels = frame["perturbation"].astype(str).tolist() if "perturbation" in frame.columns else None
    if labels is not None:
        _refuse_repeated(codes, [str(arm) for arm in arms], labels)
    return RobustProblem.from_pairs(
        np.column_stack(numbers),
        codes,
        features=features,
        arm_names=[str(arm) for arm in arms],
        perturbation_names=labels,
        parameter_names=list(columns),
        categories={
            name: reader.category for name, reader in readers.items() if reader.category is not None
        },
        whole=[name for name, reader in readers.items() if reader.whole],
    )


def _refuse_repeated(codes: IntArray, arms: list[str], labels: list[str]) -> None:
    """Refuse two perturbations of one name for an arm: results could not be told apart."""
    seen: set[tuple[int, str]] = set()
    for code, label in zip(codes.tolist(), labels, strict=True):
        if (code, label) in seen:
            raise InputError(
                f"the perturbation {label!r} stands twice for arm {arms[code]!r}: "
                "give each perturbation of an arm its own name"
            )
        seen.add((code, label))


def read_csv(path: str | Path) -> pd.DataFrame:
    """Read the CSV of a problem: arms and perturbations as text, parameters with every digit.

    Names are names: an arm called 1 is not called 1.0, and one called NA or None is an arm.
    """
    import pandas as pd

    header, rows = read_fields(Path(path))
    columns: dict[str, Sequence[Any]] = {}
    for number, name in enumerate(header):
        fields = [row[number] for row in rows]
        columns[name] = fields if name in NAMES else _typed(fields, name)
    return pd.DataFrame({name: pd.Series(own, dtype=object) for name, own in columns.items()})


def _typed(fields: list[str], name: str) -> list[Any]:
    try:
        return typed(fields)
    except InputError as error:
        raise InputError(f"column {name!r}: {error}") from None


OTHERS = "others"
Key = tuple[str | None, str | None]  # an arm and a perturbation; None: all of them


def pair_numbers(problem: RobustProblem, named: Mapping[str, Any], what: str) -> Array:
    """Return (n_pairs,) the numbers that a mapping gives.

    Args:
        named: by "arm / perturbation" for one pair, by an arm or a perturbation for all of its
            pairs, by "others" for the rest. The most specific name counts.
        what: the kind of the numbers, for messages.
    """
    places: dict[str, list[Key]] = {OTHERS: [(None, None)]}
    for perturbation in problem.perturbation_names:
        places[perturbation] = [(None, perturbation)]
    for arm in problem.arm_names:
        places.setdefault(arm, []).append((arm, None))
    for pair, arm in enumerate(problem.arm_of_pair.tolist()):
        own = (problem.arm_names[arm], problem.perturbation_names[pair])
        places.setdefault(" / ".join(own), []).append(own)
    given: dict[Key, float] = {}
    for name, value in named.items():
        if len(meant := places.get(name, [])) != 1:
            raise InputError(f"{what}: {_unclear(name, meant, list(places))}")
        try:
            given[meant[0]] = exact_number(value)
        except InputError as error:
            raise InputError(f"{what} of {name!r}: {error}") from None
    return _spread(problem, given, what)


def numbers_from_csv(problem: RobustProblem, path: Path, column: str) -> Array:
    """Return (n_pairs,) the numbers of a table with columns `arm`, `perturbation` and the one
    named. One of the first two may be missing, or blank in a row: then all are meant.
    """
    header, rows = read_fields(path)
    if column not in header or not set(header) <= {"arm", "perturbation", column}:
        raise InputError(
            f"{path} has the columns {header}: it needs {column!r}, and 'arm', 'perturbation' or "
            "both"
        )
    arms, perturbations = set(problem.arm_names), set(problem.perturbation_names)
    given: dict[Key, float] = {}
    for number, row in enumerate(rows):
        entry = {name: field for name, field in zip(header, row, strict=True) if field.strip()}
        key = (entry.get("arm"), entry.get("perturbation"))
        if key in given or key[0] not in {None, *arms} or key[1] not in {None, *perturbations}:
            raise InputError(
                f"{path}: row {number} is for arm {key[0]!r} and perturbation {key[1]!r}, which "
                f"{'had a row before' if key in given else 'do not exist'}: correct it"
            )
        given[key] = number_from_text(entry.get(column, ""))
    return _spread(problem, given, column)


def _spread(problem: RobustProblem, given: Mapping[Key, float], what: str) -> Array:
    """Return the number of each pair: its own, else its arm's, its perturbation's, or all
    others'.
    """
    numbers = np.empty(problem.n_pairs)
    for pair, arm in enumerate(problem.arm_of_pair.tolist()):
        a, p = problem.arm_names[arm], problem.perturbation_names[pair]
        keys: list[Key] = [(a, p), (a, None), (None, p), (None, None)]
        known = [given[key] for key in keys if key in given]
        if not known:
            raise InputError(
                f"{what}: none is given for {f'{a} / {p}'!r}: give it, or `{OTHERS} = …` for all "
                "that are not named"
            )
        if len(known) > 1 and keys[1] in given and keys[2] in given and keys[0] not in given:
            raise InputError(
                f"{what}: {a!r} and {p!r} are both given, and either could be meant for "
                f"{f'{a} / {p}'!r}: give that one too"
            )
        numbers[pair] = known[0]
    return numbers


def _unclear(name: str, meant: list[Key], names: list[str]) -> str:
    if meant:
        return f"{name!r} could mean more than one thing: rename an arm or a perturbation"
    close = get_close_matches(name, names, 1, 0.4)
    hint = f"did you mean {close[0]!r}?" if close else f"pairs are called like {names[-1]!r}"
    return f"there is no {name!r}; {hint}"
