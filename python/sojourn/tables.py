"""Tables of numbers that keep within the width of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.markup import escape
from rich.table import Table

#: Between two columns.
GAP = 2


def fitted(columns: Sequence[str], rows: Mapping[str, Sequence[str]], width: int) -> Iterator[Table]:
    """Rows by their label, with a cell for each column; no number is left out.

    If they are too wide for `width` characters, columns are continued in further tables, and rows and columns
    change places if that takes fewer lines.
    """
    turned = {column: [cells[index] for cells in rows.values()] for index, column in enumerate(columns)}
    blocks, others = _blocks(columns, rows, width), _blocks(list(rows), turned, width)
    if len(blocks) > 1 and len(others) * (len(turned) + 1) < len(blocks) * (len(rows) + 1):
        columns, rows, blocks = list(rows), turned, others
    for block in blocks:
        table = Table(box=None, padding=(0, GAP, 0, 0))
        table.add_column("", no_wrap=True)
        for column in columns[block]:
            table.add_column(escape(column), justify="right", no_wrap=True)
        for label, cells in rows.items():
            if any(cells[block]):
                table.add_row(escape(label), *cells[block])
        yield table


def _blocks(columns: Sequence[str], rows: Mapping[str, Sequence[str]], width: int) -> list[slice]:
    """Columns that fit beside the labels; one of them at least."""
    room = width - GAP - max(map(len, rows), default=0)
    blocks: list[slice] = []
    first, left = 0, room
    for index, column in enumerate(columns):
        needed = GAP + max(len(text) for text in (column, *(cells[index] for cells in rows.values())))
        if needed > left and index > first:
            blocks.append(slice(first, index))
            first, left = index, room
        left -= needed
    return [*blocks, slice(first, len(columns))]
