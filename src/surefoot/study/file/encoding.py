"""Canonical bytes of commitments and limits, and boundaries as numbers.

Equal numbers are equal bytes on every machine. A boundary is stored when a study is made, and never
computed again.

All is little-endian. Whole numbers are stored as differences in the smallest signed type that
holds them all. Other numbers are a table of the distinct ones with small indices, entries among
NaN, or, where they hardly repeat, byte planes (the first bytes of all numbers, then the second …).
The choice follows from the numbers alone, and numbers come back to the bit.
"""

from __future__ import annotations

import inspect
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surefoot.arrays import Array, IntArray
from surefoot.certify import (
    Boundary,
    Claims,
    GaussianBoundary,
    LimitedBoundary,
    MixtureBoundary,
    Rows,
    Stakes,
    Uses,
    WealthBoundary,
)
from surefoot.errors import InputError
from surefoot.statistics import Phase

VERSION = 1
MOST_NUMBERS = 2**27  # of one array; a crafted file cannot ask for more memory
MOST_BYTES = 2**29  # of one phase, once it is unpacked
TABLE, SPARSE, PLANES = 0, 1, 2
INDEX = {1: "u1", 2: "<u2"}


class Writer:
    """Collects the bytes of arrays, one after the other."""

    def __init__(self) -> None:
        self._parts = [bytes([VERSION])]

    def integers(self, values: IntArray) -> None:
        """Write (n,) whole numbers."""
        steps = np.diff(np.asarray(values, dtype=np.int64), prepend=0)
        low, high = int(steps.min(initial=0)), int(steps.max(initial=0))
        size = next(
            s for s in (1, 2, 4, 8) if -(2 ** (8 * s - 1)) <= low <= high < 2 ** (8 * s - 1)
        )
        self._parts += [struct.pack("<BQ", size, len(steps)), steps.astype(f"<i{size}").tobytes()]

    def numbers(self, values: Array) -> None:
        """Write an array of any shape."""
        flat = np.array(values, dtype="<f8").ravel()
        flat[np.isnan(flat)] = np.nan  # one NaN for all
        self._parts.append(struct.pack(f"<B{values.ndim}Q", values.ndim, *values.shape))
        known = np.flatnonzero(~np.isnan(flat))
        if len(flat) and 2 * len(known) < len(flat):
            self._parts.append(bytes([SPARSE]))
            self.integers(known)
            self._dense(flat[known])
        else:
            self._dense(flat)

    def optional(self, values: Array | None) -> None:
        """Write an array or None."""
        self._parts.append(bytes([values is not None]))
        if values is not None:
            self.numbers(values)

    def _dense(self, flat: Array) -> None:
        distinct, places = np.unique(flat.view("<i8"), return_inverse=True)
        size = 1 if len(distinct) <= 2**8 else 2
        if len(distinct) <= 2**16 and 2 * len(distinct) <= len(flat):
            self._parts += [
                struct.pack("<BBI", TABLE, size, len(distinct)),
                distinct.tobytes(),
                places.astype(INDEX[size]).tobytes(),
            ]
        else:
            planes = flat.view(np.uint8).reshape(-1, 8).T
            self._parts += [bytes([PLANES]), planes.tobytes()]

    @property
    def content(self) -> bytes:
        """All that was written."""
        return b"".join(self._parts)


class ByteReader:
    """Reads the bytes of a `Writer`; raises ValueError for any others."""

    def __init__(self, content: bytes) -> None:
        self._content, self._place = content, 0
        if self._number("<B") != VERSION:
            raise ValueError("it is of a version that is not known here")

    def integers(self) -> IntArray:
        """Read (n,) whole numbers."""
        size, count = self._number("<B"), self._count(self._number("<Q"))
        if size not in (1, 2, 4, 8):
            raise ValueError("whole numbers have no such size")
        return np.cumsum(self._array(f"<i{size}", count), dtype=np.int64)

    def numbers(self) -> Array:
        """Read an array of any shape."""
        dimensions = self._number("<B")
        shape = [self._number("<Q") for _ in range(dimensions)]
        return self._flat(self._count(math.prod(shape))).reshape(shape)

    def optional(self) -> Array | None:
        """Read an array or None."""
        return self.numbers() if self._number("<B") else None

    @property
    def over(self) -> bool:
        """True if everything was read."""
        return self._place == len(self._content)

    def end(self) -> None:
        """Refuse bytes that are left."""
        if not self.over:
            raise ValueError("there is more than should be")

    def _flat(self, count: int) -> Array:
        mode = self._number("<B")
        if mode == SPARSE:
            places = self.integers()
            if len(places) and not 0 <= places.min() <= places.max() < count:
                raise ValueError("an entry lies outside of its array")
            flat = np.full(count, np.nan)
            flat[places] = self._flat(len(places))
            return flat
        if mode == TABLE:
            size, distinct = self._number("<B"), self._number("<I")
            if size not in INDEX:
                raise ValueError("a table has no such size")
            table = self._array("<i8", distinct).view("<f8")
            places = self._array(INDEX[size], count).astype(np.int64)
            if count and places.max() >= distinct:
                raise ValueError("an entry lies outside of its table")
            return table[places].astype(np.float64)
        if mode != PLANES:
            raise ValueError("numbers are not stored in this way")
        planes = self._array("u1", 8 * count).reshape(8, count)
        return np.ascontiguousarray(planes.T).view("<f8").ravel().astype(np.float64)

    def _array(self, kind: str, count: int) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
        kept = np.dtype(kind).itemsize * count
        piece = self._content[self._place : self._place + kept]
        if len(piece) != kept:
            raise ValueError("it ends too early")
        self._place += kept
        return np.frombuffer(piece, kind)

    def _number(self, kind: str) -> int:
        size = struct.calcsize(kind)
        piece = self._content[self._place : self._place + size]
        if len(piece) != size:
            raise ValueError("it ends too early")
        self._place += size
        return int(struct.unpack(kind, piece)[0])

    def _count(self, count: int) -> int:
        if count > MOST_NUMBERS:
            raise ValueError(f"it has an array of {count} numbers, more than {MOST_NUMBERS}")
        return count


def layout_bytes(phase: Phase) -> bytes:
    """Return the bytes of a phase's pulls, batches, streams and overlaps, without its index."""
    writer = Writer()
    writer.integers(np.array([phase.batches, int(phase.shared), phase.overlaps]))
    writer.integers(phase.counts)
    return writer.content


def layout_from(index: int, content: bytes) -> Phase:
    """Return the phase of `layout_bytes`; raise ValueError for other bytes."""
    reader = ByteReader(content)
    batches, shared, overlaps = reader.integers().tolist()
    counts = reader.integers()
    reader.end()
    return Phase(index, counts, batches, bool(shared), overlaps)


def commitment_bytes(
    claims: Sequence[Claims], variances: Array | None, others: Sequence[Uses] = ()
) -> bytes:
    """Return the bytes of a phase's commitment; those on other outputs come last."""
    writer = Writer()
    _write_uses(writer, Uses(claims, variances))
    if others:
        writer.integers(np.array([len(others)]))
        for each in others:
            _write_uses(writer, each)
    return writer.content


def _write_uses(writer: Writer, uses: Uses) -> None:
    claims, variances = uses
    writer.integers(np.array([each.challenger for each in claims], dtype=np.int64))
    for each in claims:
        for whole in (each.points, each.arms, each.clocks, each.shares.starts, each.shares.columns):
            writer.integers(whole)
        writer.numbers(each.shares.values)
        writer.numbers(np.asarray(each.deviation, dtype=np.float64))
        stakes = each.stakes
        writer.optional(None if stakes is None else np.stack(stakes[:3]))
        if stakes is not None:
            writer.numbers(np.array(stakes.aim, dtype=np.float64))
    writer.optional(variances)


def commitment_from(
    content: bytes,
) -> tuple[tuple[Claims, ...], Array | None, tuple[Uses, ...]]:
    """Return the claims, the variances and the uses of others that `commitment_bytes` wrote."""
    reader = ByteReader(content)
    (claims, variances), others = _read_uses(reader), tuple[Uses, ...]()
    if not reader.over:
        count = reader.integers()
        if len(count) != 1 or not 0 < count[0] <= len(content):
            raise ValueError("it has no number of certifiers")
        others = tuple(_read_uses(reader) for _ in range(int(count[0])))
    reader.end()
    return tuple(claims), variances, others


def _read_uses(reader: ByteReader) -> Uses:
    claims = tuple(_claims(reader, int(challenger)) for challenger in reader.integers())
    return Uses(claims, reader.optional())


def _claims(reader: ByteReader, challenger: int) -> Claims:
    points, arms, clocks, starts, columns = (reader.integers() for _ in range(5))
    values, deviation, stacked = reader.numbers(), reader.numbers(), reader.optional()
    shape = len(points), len(arms)
    ordered = len(starts) and starts[0] == 0 and (np.diff(starts) >= 0).all()
    if not ordered or starts[-1] != len(columns) or values.shape != columns.shape:
        raise ValueError("its shares are no rows")
    if deviation.shape not in ((), shape) or len(clocks) != len(arms) or (clocks < 0).any():
        raise ValueError("its deviations or clocks are of other claims")
    stakes = None
    if stacked is not None:
        if stacked.shape != (3, *shape):
            raise ValueError("its stakes are of other claims")
        means, doubts, variances = stacked
        stakes = Stakes(means, doubts, variances, float(reader.numbers().reshape(())))
    return Claims(
        challenger, points, arms, clocks, Rows(starts, columns, values), deviation, stakes
    )


def limits_bytes(limits: Sequence[Array | None]) -> bytes:
    """Return the bytes of the limits of each of a phase's claims."""
    writer = Writer()
    writer.integers(np.array([len(limits)]))
    for each in limits:
        writer.optional(each)
    return writer.content


def limits_from(content: bytes) -> list[Array | None]:
    """Return the limits that `limits_bytes` wrote."""
    reader = ByteReader(content)
    count = reader.integers()
    if len(count) != 1 or not 0 <= count[0] <= len(content):
        raise ValueError("it has no number of limits")
    limits = [reader.optional() for _ in range(int(count[0]))]
    reader.end()
    return limits


def packed(content: bytes) -> bytes:
    """Compress bytes for the file."""
    return zlib.compress(content, 6)


def unpacked(content: bytes) -> bytes:
    """Return the unpacked bytes; raise ValueError if they are not packed, or far too many."""
    inflate = zlib.decompressobj()
    try:
        found = inflate.decompress(content, MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"it cannot be unpacked ({error})") from None
    if not inflate.eof or inflate.unused_data:
        raise ValueError("it is cut off, or too long")
    return found


KINDS: dict[str, type[Boundary]] = {
    "gaussian": GaussianBoundary,
    "mixture": MixtureBoundary,
    "wealth": WealthBoundary,
}
LIMITED = "limited"


def boundary_to_dict(boundary: Boundary) -> dict[str, Any]:
    """Return a boundary as plain values that JSON knows."""
    if isinstance(boundary, LimitedBoundary):
        parts = [None if each is None else boundary_to_dict(each) for each in boundary.parts]
        return {"kind": LIMITED, "parts": parts, "deltas": list(boundary.deltas)}
    for kind, cls in KINDS.items():
        if type(boundary) is cls:
            names = inspect.signature(cls).parameters
            return {"kind": kind} | {n: np.asarray(getattr(boundary, n)).tolist() for n in names}
    raise InputError(
        f"a boundary of type {type(boundary).__name__} cannot be kept in a study file: give one of "
        f"{', '.join(cls.__name__ for cls in KINDS.values())}"
    )


def boundary_from_dict(stored: Mapping[str, Any]) -> Boundary:
    """Return the boundary of `boundary_to_dict`; raise ValueError for other values."""
    given = dict(stored)
    if given.get("kind") == LIMITED:
        parts = [None if each is None else boundary_from_dict(each) for each in given["parts"]]
        return LimitedBoundary(parts, given["deltas"])
    cls = KINDS.get(given.pop("kind", ""))
    if cls is None or set(given) != set(inspect.signature(cls).parameters):
        raise ValueError("it is no boundary")
    values = {
        name: np.array(value, dtype=np.float64) if isinstance(value, list) else float(value)
        for name, value in given.items()
    }
    lists = [value for name, value in values.items() if np.ndim(value) and name != "times"]
    if cls is GaussianBoundary:
        lists.append(np.asarray(values["times"]))
    if len({np.shape(each) for each in lists}) > 1:
        raise ValueError("the lists of its boundary are of different lengths")
    return cls(**values)
