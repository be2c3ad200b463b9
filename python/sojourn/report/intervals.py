"""The page of `sojourn fidelity --intervals`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sojourn import fidelity
from sojourn.fidelity import intervals
from sojourn.fidelity.intervals import Coverage, Judged
from sojourn.report.model import NOTHING, Cell, Column, Group, Page, Section, Table

LEAD = (
    "For every published or measured number of the scoreboard, and goodput and mean TCP RTT of each flow of the "
    "measured runs of ect1: whether it lies inside the central 90 % of our seeds. A model that is right would have the "
    "expected share inside, ranks of the measured values among the seeds that are uniform, and intervals as wide as "
    "the measurement's own variation: the widths stand beside what the measured series span in blocks of 10 s. A "
    "number that was printed with one digit after the point stands for all that round to it."
)
BARS = "▁▂▃▄▅▆▇█"


def page(judged: Sequence[Judged], version: str) -> Page:
    """Coverage of each group, and the rows outside."""
    groups = intervals.groups(judged)
    text = [headline(groups[0])] if groups else ["No row has enough seeds."]
    if errors := intervals.ceiling_errors(judged):
        rtts = [abs(row.error) for row in judged if row.row.id == "rtt"]
        text.append(
            f"Median absolute error of the median seed over the flows of ect1: goodput {np.median(errors):.2f} % "
            f"of the link's ceiling, mean TCP RTT {np.median(rtts):.2f} ms."
        )
    outside = [row for row in judged if not row.inside]
    sections = [
        Section("coverage", "Coverage", text=text, tables=[coverage(groups)] if groups else []),
        Section("outside", "Rows outside", tables=[rows(outside)] if outside else []),
    ]
    return Page(
        "Measured values in the intervals of seeds", f"{LEAD} Version {version}.", ("ours", "measured"), sections
    )


def headline(whole: Coverage) -> str:
    """One sentence on all rows."""
    seeds = sorted({len(row.values) for row in whole.rows})
    span = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    return (
        f"{whole.inside} of {len(whole.rows)} measured values ({100 * whole.share:.0f} %) lie inside the interval of "
        f"{span} seeds; {100 * whole.expected:.0f} % are expected."
    )


def bars(counts: Sequence[int]) -> str:
    """A histogram as text."""
    top = max(counts) or 1
    return "".join(BARS[round(count / top * (len(BARS) - 1))] for count in counts)


def coverage(groups: Sequence[Coverage]) -> Table:
    """A line for each group."""
    columns = [
        Column("Group", "name"),
        Column("Rows", "value"),
        Column("Inside", "value", main=True),
        Column("Expected", "value"),
        Column("Ranks, 0 to 1", "text"),
        Column("Counts", "text"),
        Column("Width", "value"),
        Column("Blocks", "value"),
        Column("Width / blocks", "value"),
        Column("Error", "value"),
    ]
    lines: list[list[Cell | None]] = [
        [
            Cell(group.name),
            Cell(str(len(group.rows))),
            Cell(f"{100 * group.share:.0f} %"),
            Cell(f"{100 * group.expected:.0f} %"),
            Cell(bars(group.histogram)),
            Cell(" ".join(map(str, group.histogram))),
            Cell(_shown(group.median("width"))),
            Cell(_shown(group.median("spread"))),
            Cell(_shown(group.width_over_spread)),
            Cell(_shown(group.median("error"))),
        ]
        for group in groups
    ]
    caption = (
        "Ranks: a histogram of the measured value's place among the seeds, in ten classes. Width of the interval, "
        "spread of the measured blocks of 10 s and error of the median seed are medians over the rows."
    )
    return Table("intervals", columns, [Group(lines)], caption)


def rows(judged: Sequence[Judged]) -> Table:
    """A line for each row."""
    columns = [
        Column("Row", "name"),
        Column("Quantity", "prose"),
        Column("Measured", "value"),
        Column("Interval", "value", main=True),
        Column("Blocks", "value"),
        Column("Rank", "value"),
    ]
    lines: list[list[Cell | None]] = [
        [
            Cell(one.row.key),
            Cell(f"{one.row.quantity}{'' if one.row.unit == '1' else f', {one.row.unit}'}"),
            Cell(fidelity.shown(one.measured)),
            Cell(" to ".join(map(fidelity.shown, one.interval))),
            Cell(_shown(one.spread)),
            Cell(f"{one.rank:.2f}"),
        ]
        for one in judged
    ]
    return Table("intervals-rows", columns, [Group(lines)])


def _shown(value: float | None) -> str:
    return NOTHING if value is None else fidelity.shown(value)
