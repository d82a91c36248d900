"""Names where there is little room: what tells them apart comes first, for the end is cut off."""

from __future__ import annotations

from collections.abc import Sequence

BETWEEN = " · "
PART = ", "


def telling(names: Sequence[Sequence[str]]) -> list[str]:
    """One label for each name, of the same parts, in another order: those that differ most often
    first, those that all names share last.

    Args:
        names: each as its parts: an arm alone, or an arm and a perturbation. A part such as
            "gain=1.5, delay=0" is taken apart further if all names have as many of them.
    """
    split = [[piece for part in name for piece in part.split(PART)] for name in names]
    if len({len(pieces) for pieces in split}) != 1:
        split = [list(name) for name in names]
    different = [len(set(column)) for column in zip(*split, strict=True)]
    order = sorted(range(len(different)), key=lambda i: different[i] == 1)
    unchanged = [BETWEEN.join(name) for name in names]
    if order == sorted(order):
        return unchanged
    labels = [BETWEEN.join(pieces[i] for i in order) for pieces in split]
    return labels if len(set(labels)) == len(set(unchanged)) else unchanged
