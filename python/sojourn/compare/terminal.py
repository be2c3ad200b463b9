"""A comparison on a terminal: tables of numbers that keep within its width."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sojourn import metrics
from sojourn.compare import means
from sojourn.compare.comparison import Comparison
from sojourn.compare.pairs import DELIVERY_RATE, QUANTILES, Difference, Pair
from sojourn.precision import point_of

#: Rows of the printed list of effects.
SHOWN = 30
#: Ids that are named of the runs on one side alone.
SHOWN_IDS = 8
#: Columns of the table of means.
WIDE = 150
#: Between two columns.
GAP = 2


def show(result: Comparison) -> None:
    """Prints it for people, as wide as their terminal."""
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDE
    seeds = len({point_of(pair.id) for pair in result.pairs}) < len(result.pairs)
    for pair in result.pairs:
        if pair.reason:
            console.print(escape(f"{pair.id} beside {pair.b.id}: {pair.reason}"), soft_wrap=True)
    for pair in result.pairs if not seeds else ():
        opens, closes = pair.summary_b.window_s
        heading = f"{pair.id}, {opens:.1f}-{closes:.1f} s: {result.sides[0]} / {result.sides[1]} (difference)"
        console.print(heading, style="bold", markup=False, soft_wrap=True)
        columns, rows = _quantities(pair)
        for table in fitted(columns, rows, console.width):
            console.print(table)
        for label, value in _of_run(pair):
            console.print(f"{label}  {_cell(value)}", markup=False, soft_wrap=True)
        console.print()
    _print_effects(result, console)
    if seeds:
        console.print(_means(result))
        console.print()
    for (key, a, b), runs in result.parameters.items():
        of = f" in {runs} runs" if runs > 1 else ""
        console.print(escape(f"{key}{of}: {a} / {b}"), soft_wrap=True)
    for side, alone in zip(result.sides, (result.only_a, result.only_b), strict=True):
        if alone and not result.measured:
            more = f" and {len(alone) - SHOWN_IDS} more" if len(alone) > SHOWN_IDS else ""
            console.print(escape(f"only in {side}: {', '.join(alone[:SHOWN_IDS])}{more}"), soft_wrap=True)
    console.print(escape(result.conclusion), soft_wrap=True)
    if result.effects:
        console.print(escape(result.verdict), soft_wrap=True)
    if len(result.means) > 1:
        for line in means.lines(result.means):
            console.print(escape(line), soft_wrap=True)
    for quantity in result.chance:
        console.print(escape(str(quantity)), soft_wrap=True)


def _quantities(pair: Pair) -> tuple[list[str], dict[str, list[str]]]:
    """Names of the flows, and of the ping; by quantity, a cell for each of them."""
    flows = pair.flows
    pinged = any(value.a is not None or value.b is not None for value in pair.ping_ms.values())
    rows = {"goodput, Mbit/s": [_cell(flow.goodput_mbps) for flow in flows]}
    if any(flow.rate == DELIVERY_RATE for flow in flows):
        rows["delivery rate, Mbit/s"] = [_cell(flow.delivery_rate_mbps) for flow in flows]
    for kind in metrics.DELAYS:
        of_flows = [flow.delays.get(kind) for flow in flows]
        ping = pair.ping_ms if pinged and kind == metrics.RTT else None
        if ping or any(of_flows):
            for key in QUANTILES:
                rows[f"{kind} {key}, ms"] = [_cell(delay[key]) if delay else "" for delay in (*of_flows, ping)]
    summaries = (*pair.summary_a.flows, *pair.summary_b.flows)
    if any(flow.marks_text not in ("", "0") for flow in summaries):
        rows["marks received"] = [_cell(flow.marks) for flow in flows]
    if any(flow.believes_otherwise for flow in summaries):
        rows["marks the sender believes"] = [_cell(flow.believed_marks) for flow in flows]
    if any(flow.retransmits.diff is not None for flow in flows):
        rows["retransmits, whole run"] = [_cell(flow.retransmits) for flow in flows]
    columns = [*(flow.label for flow in flows), *(["ping"] if pinged else [])]
    return columns, {label: [*cells, ""][: len(columns)] for label, cells in rows.items()}


def _of_run(pair: Pair) -> Iterator[tuple[str, Difference]]:
    """What is of no single flow."""
    if pair.ratio is not None:
        yield "goodput 2nd/1st flow", pair.ratio
    for name, counts in pair.queues.items():
        yield from ((f"{name} {what}, whole run", value) for what, value in counts.items() if value.a or value.b)


def _print_effects(result: Comparison, console: Console) -> None:
    """The largest effects; all are in the JSON document."""
    if not any(effect.seeds > 1 for effect in result.effects):
        return
    table = Table(
        title="By effect size; * beyond what seeds explain", title_justify="left", title_style="bold", box=None
    )
    for heading in ("", "run", "quantity"):
        table.add_column(heading, overflow="fold")
    for heading in (*result.sides, "difference", "95 % interval", "effect", "d"):
        table.add_column(escape(heading), justify="right", overflow="fold")
    for effect in result.effects[:SHOWN]:
        low_high = effect.interval
        table.add_row(
            "*" if effect.distinct else "",
            escape(effect.run),
            escape(f"{effect.quantity}{'' if effect.unit == '1' else f', {effect.unit}'}"),
            f"{effect.a:.4g}",
            f"{effect.b:.4g}",
            f"{effect.diff:+.3g}",
            f"{low_high[0]:+.3g} to {low_high[1]:+.3g}" if low_high else "-",
            f"{effect.percent:+.1f} %",
            f"{effect.cohen_d:+.1f}" if effect.cohen_d is not None else "-",
        )
    console.print(table)
    if len(result.effects) > SHOWN:
        console.print(f"and {len(result.effects) - SHOWN} smaller ones; --json has all")
    console.print()


def _cell(value: Difference) -> str:
    if value.a is None and value.b is None:
        return ""
    digits = 1 if max(abs(value.a or 0), abs(value.b or 0)) >= 100 else 2

    def show(number: float | None, sign: str = "") -> str:
        return "-" if number is None else format(number, f"{sign}z.{digits}f")

    return f"{show(value.a)} / {show(value.b)} ({show(value.diff, '+')})"


def _means(result: Comparison) -> Table:
    """A row a flow."""
    shown = Table(title="Means over seeds", title_justify="left", title_style="bold", box=None)
    for heading in ("run", "flow"):
        shown.add_column(heading, no_wrap=True)
    a, b = result.sides
    for heading in ("Mbit/s", "RTT, ms", "retransmits"):
        shown.add_column(f"{heading}: {a} / {b}", justify="right", no_wrap=True)
        shown.add_column("error", justify="right", no_wrap=True)
    previous = None
    for row in result.means:
        shown.add_row(
            "" if row.run == previous else escape(row.run),
            escape(row.flow),
            _both(row.rate_mbps, 2),
            _percent(row.rate_error_percent),
            _both(row.rtt_ms, 2),
            _percent(row.rtt_ms.percent),
            _both(row.retransmits, 0),
            _percent(row.retransmits_error_percent),
        )
        previous = row.run
    return shown


def _both(value: Difference, digits: int) -> str:
    if value.a is None or value.b is None:
        return ""
    return f"{value.a:.{digits}f} / {value.b:.{digits}f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:+z.1f} %"


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
