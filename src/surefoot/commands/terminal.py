"""Tables in a terminal, with whatever words users chose."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def print_table(table: Table) -> None:
    """Print names and messages as they are: rich would take [brackets] for markup, and :words: for
    pictures. What would steer the terminal is written out.
    """
    from rich.console import Console

    from surefoot.system.display import printable

    for column in table.columns:
        column.header = printable(column.header)
        column._cells = [printable(text) for text in column._cells]
    Console(markup=False, emoji=False).print(table)
