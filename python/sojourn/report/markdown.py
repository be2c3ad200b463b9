"""The report as Markdown tables, as the suites' own READMEs have them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sojourn import compare, metrics
from sojourn.report import answers, flow_rows, own, sections
from sojourn.text import harmless

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sojourn.compare import Comparison
    from sojourn.report.sections import Run, Section


def render(comparison: Comparison, grouped: list[Section], score: dict[str, Any], *, title: str, out: Path) -> str:
    """The whole text."""
    measured = comparison.measured
    lines = [f"# {escape(title)}", ""]
    lines += [escape(comparison.conclusion), ""] if comparison.pairs else []
    if not measured:
        lines += [escape(comparison.verdict), ""]
    if score["rows"]:
        lines += [*_scoreboard(score), ""]
    for section in grouped:
        lines += [f"## {escape(section.heading)}", ""]
        lines += [f"*{escape(section.question)}*", ""] if section.question else []
        lines += [
            escape(" ".join(answers.answers(section, comparison.sides))),
            "",
            *_table(section, comparison, out),
            "",
        ]
    if comparison.errors:
        lines += ["## Left out", "", *(f"- {escape(harmless(line))}" for line in comparison.errors), ""]
    lines += ["## Definitions", ""]
    lines += [f"- **{term}**: {escape(meaning)}" for term, meaning in metrics.DEFINITIONS.items()]
    return "\n".join(lines) + "\n"


def _scoreboard(score: dict[str, Any]) -> Iterator[str]:
    count = score["count"]
    yield f"## Fidelity: {count['pass']} pass, {count['fail']} fail"
    yield ""
    yield "| Row | Verdict | Ours | Expected | Tolerance | Quantity |"
    yield "|---|---|--:|--:|---|---|"
    for row in score["rows"]:
        unit = "" if row["unit"] == "1" else f", {row['unit']}"
        cells = (row["key"], row["verdict"], row["ours"], row["expected"], row["tolerance"], f"{row['quantity']}{unit}")
        yield "| " + " | ".join(escape(str(cell)) for cell in cells) + " |"
    if score["hypotheses"]:
        yield from ("", f"{score['hypotheses']}.")
    for grid in score["grids"]:
        yield from ("", *grid.markdown())


def _table(section: Section, comparison: Comparison, out: Path) -> Iterator[str]:
    """A row a flow; both sides as `ours / measured` where there are two."""
    compared = any(run.pair is not None for run in section.runs)
    extras = flow_rows.extras_of(section)
    of = f", {' / '.join(comparison.sides)}" if compared else ""
    yield (
        f"| Run | Flow | Goodput, Mbit/s{escape(of)} | Delay | "
        + " | ".join(f"{name}, ms" for name in compare.QUANTILES)
        + "".join(f" | {heading}" for heading, _ in extras)
        + " |"
    )
    yield "|---|---|--:|---|" + "--:|" * (len(compare.QUANTILES) + len(extras))
    short = sections.short_names(section)
    for _, columns in section.rows():
        for run in (run for column in columns for run in column):
            yield from _rows(run, short[run.id], out, [key for _, key in extras])


def _rows(run: Run, name: str, out: Path, extras: Sequence[str]) -> Iterator[str]:
    link = sections.link(run.ours, out)
    label = f"[{escape(name)}]({link})" if link else escape(name)
    for row in flow_rows.of(run):
        delays = row["rtt"] or [None] * len(compare.QUANTILES)
        cells = [escape(row["label"]), cell(row["goodput"]), row["kind"], *map(cell, delays)]
        cells += [row.get(key, "") for key in extras]
        yield f"| {label} | " + " | ".join(cells) + " |"
        label = ""


def cell(value: dict[str, Any] | None) -> str:
    """A number, or both sides'."""
    if value is None:
        return ""
    if value["b"] is None:
        return own.number(value["a"])
    return f"{own.number(value['a'])} / {own.number(value['b'])}"


def escape(text: str) -> str:
    """Text that is no markup, in a cell or a paragraph."""
    return re.sub(r"([\\`*|\[\]])", r"\\\1", text).replace("<", "&lt;")
