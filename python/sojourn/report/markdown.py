"""The page as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sojourn.report.model import Cell, Column, Group, Page, Section, Table, number

RIGHT = ("value", "number", "change")


def render(page: Page) -> str:
    """The whole text."""
    data = {figure.run: figure.data for figure in page.figures if figure.data}
    blocks = [f"# {escape(page.title)}", *map(escape, filter(None, (page.lead, page.intro)))]
    for section in page.sections:
        blocks += _section(section, data)
    if page.errors:
        blocks += ["## Left out", "\n".join(f"- {escape(line)}" for line in page.errors)]
    return "\n\n".join(blocks) + "\n"


def _section(section: Section, data: Mapping[str, str]) -> Iterator[str]:
    yield f"## {escape(section.heading)}"
    if section.question:
        yield f"*{escape(section.question)}*"
    if section.tally:
        yield ", ".join(f"{count} {verdict}" for verdict, count in section.tally.items())
    yield from map(escape, section.text)
    for one in section.tables:
        if one.caption:
            yield escape(one.caption)
        yield table(one, data)
    if section.terms:
        yield "\n".join(f"- **{escape(term)}**: {escape(meaning)}" for term, meaning in section.terms.items())
    yield from map(escape, section.notes)


def table(shown: Table, data: Mapping[str, str] | None = None) -> str:
    """A table; runs lead to their file in `data`."""
    headings = [escape(column.heading) for column in shown.columns]
    numbers = [index for index, column in enumerate(shown.columns) if column.kind == "number"]
    if shown.sides and numbers:
        headings[numbers[0]] += f", {' / '.join(map(escape, shown.sides))}"
    rule = ["--:" if column.kind in RIGHT else "---" for column in shown.columns]
    lines = [headings, rule, *(line for group in shown.groups for line in _group(group, shown.columns, data or {}))]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _group(group: Group, columns: list[Column], data: Mapping[str, str]) -> Iterator[list[str]]:
    first = [_text(cell) for cell in group.head]
    if group.run in data:
        first[0] = link(group.head[0].text, data[group.run])
    for row in group.rows or [[Cell(group.note), *[None] * (len(columns) - len(first) - 1)]]:
        cells = zip(row, columns[len(first) :], strict=True)
        yield [*first, *(_cell(cell, column) for cell, column in cells)]
        first = [""] * len(first)


def _cell(cell: Cell | None, column: Column) -> str:
    if cell is None:
        return ""
    if column.kind not in ("number", "change"):
        return _text(cell)
    sign = "+" if column.kind == "change" else ""
    return number(cell.a, sign) if cell.b is None else f"{number(cell.a)} / {number(cell.b)}"


def _text(cell: Cell) -> str:
    links = [link(label, address) for label, address in cell.links.items()]
    parts = [*filter(None, [escape(cell.text)]), *([" - ".join(links)] if links else [])]
    return " ".join([*parts, *([f"({escape(cell.note)})"] if cell.note else [])])


def link(label: str, address: str) -> str:
    """A link to an address that is quoted."""
    return f"[{escape(label)}]({address})"


def escape(text: str) -> str:
    """Text that is no markup, in a cell or a paragraph."""
    return re.sub(r"([\\`*|\[\]])", r"\\\1", text).replace("<", "&lt;")
