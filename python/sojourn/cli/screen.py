"""What `run` and `show` print: tables that fit a screen, and the next command to type."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, TypeVar

from sojourn import validity
from sojourn.glance import FlowRow, Glance, Punctuality, QueueRow
from sojourn.results import flatten
from sojourn.suites import _scream as scream
from sojourn.text import harmless

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from sojourn.results import Run

#: The least screen, and the one that is assumed where stdout is none; names are then cut far later.
HEIGHT, FILE_WIDTH = 24, 200
#: Lines around the rows: title, headings, counts of what is left out, sum, next commands, folder, prompt.
AROUND_RUN, AROUND_RUNS = 12, 9
NOTES = 2
#: Runs in one figure of `sojourn plot`.
MOST_PLOTTED = 8
GAP = "  "
ABSENT = "-"
#: Beliefs of the sender nearer than this to what the receiver got need no note.
BELIEF_SHARE = 0.1

T = TypeVar("T")


class Screen:
    """Lines on stdout, cut to the terminal's width; where stdout is no terminal, whole."""

    def __init__(self) -> None:
        self._console = _console() if sys.stdout.isatty() or "FORCE_COLOR" in os.environ else None
        self.is_terminal = self._console is not None
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdecimal() else FILE_WIDTH
        self.width = self._console.width if self._console else width
        self.height = max(self._console.height, HEIGHT) if self._console else HEIGHT

    def line(self, text: str, style: str = "") -> None:
        """One line, without characters that move the cursor."""
        line = harmless(text)
        shown = f"{line[: self.width - 3]}..." if cells(line) > self.width else line
        if self._console:
            self._console.print(shown, style=style)
        else:
            print(shown)

    def table(
        self,
        heading: Sequence[str],
        rows: Sequence[Sequence[str]],
        texts: Container[int],
        optional: Sequence[int] = (),
    ) -> None:
        """A blank line, the heading and the rows; the columns `texts` begin at the left, numbers end at the right.

        Where the width does not suffice, `optional` columns are left out, the first one first; then the
        first column is cut.
        """
        columns = [[harmless(cell) for cell in column] for column in zip(heading, *rows, strict=True)]
        widths = [max(map(cells, column)) for column in columns]
        kept = list(range(len(columns)))
        beyond = sum(widths) + len(GAP) * (len(widths) - 1) - self.width
        for column in optional:
            if beyond > 0:
                kept.remove(column)
                beyond -= widths[column] + len(GAP)
        widths[0] = max(widths[0] - max(beyond, 0), 8)
        columns[0] = [shortened(cell, widths[0]) for cell in columns[0]]
        self.line("")
        for number in range(len(rows) + 1):
            line = []
            for column in kept:
                cell = columns[column][number]
                pad = " " * (widths[column] - cells(cell))
                line.append(cell + pad if column in texts else pad + cell)
            self.line(GAP.join(line).rstrip(), "" if number else "bold")


def _console() -> Console:
    """The terminal; a tenth of a second that text on its way to a file or a pipe does not take."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


def cells(text: str) -> int:
    """Columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def show_run(run: Run) -> None:
    """Prints the table of one run."""
    glance, screen = Glance.of(run), Screen()
    late = [*_late(glance.punctuality), *_own(glance), *_failures(glance)]
    others = [*_share(glance), *_beliefs(glance.flows), *_modes(glance.flows), *_validity(run)]
    # Whether a result counts is not left out.
    notes = [*late, *others[: max(NOTES - len(late), 0)]]
    room = screen.height - AROUND_RUN - len(notes)
    busy = [queue for queue in glance.queues if queue.busy] or glance.queues[:1]
    queues = _first(busy, max(room // 2, room - len(glance.flows)))
    room -= min(len(busy), len(queues) + 1)  # one for the line that counts what is left out
    every = glance.flows if len(glance.flows) <= room else glance.with_pings_joined()
    flows = _first(every, room)
    title = f"{glance.id}: {glance.description}" if glance.description else glance.id
    labels = "" if glance.complete else "PARTIAL "
    screen.line(f"{'LATE ' if glance.is_late else ''}{labels}{title}", "bold")
    if measured := _measured(glance):
        screen.line(measured)
    rows: list[tuple[str, ...]] = [*map(_flow, flows), *_more(len(every) - len(flows), 8)]
    if sum(flow.goodput_mbps is not None for flow in glance.flows) > 1:
        rows.append(("sum", "", figure(glance.goodput_mbps), *[""] * 5))
    if rows:
        heading = ("flow", "carries", "Mbit/s", "delay", "p50 ms", "p99 ms", "marks", "retransmits")
        screen.table(heading, rows, {0, 1, 3})
    if queues:
        rows = [*map(_queue, queues), *_more(len(busy) - len(queues), 7)]
        titles = ("queue", "qdisc", "sojourn p50 ms", "p99 ms", "drops", "marks", "utilisation")
        screen.table(titles, rows, {0, 1})
    for note in notes:
        screen.line(note)


def show_runs(runs: Sequence[Run], *, full: bool = False) -> None:
    """Prints a line for each run, as many as fit; with `full` for all."""
    screen = Screen()
    shown = runs if full else _first(runs, screen.height - AROUND_RUNS)
    common, names = without_common([run.id for run in runs])
    screen.line(f"{len(runs)} runs{f' of {common}' if common else ''}", "bold")
    screen.line("all flows together, and the busiest queue; delays in ms")
    glances = [Glance.of(run) for run in shown]
    # What the SCReAM test activity expected, beside what SCReAM got, in IP Mbit/s.
    fair = ("SCReAM", "fair share") if any(map(_fair, glances)) else ()
    rows = [_run(name, glance, full=full, fair=bool(fair)) for name, glance in zip(names, glances, strict=False)]
    over_time = ("p05", "p50", "p95") if full else ()
    delays = ("RTT p50", "RTT p99", "queue p50", "queue p99")
    heading = ("run", "Mbit/s", *fair, *over_time, "used", *delays, "marks", "retrans")
    optional = [column + len(fair) + len(over_time) for column in (5, 3, 2, 8)]
    screen.table(heading, [*rows, *_more(len(runs) - len(shown), len(heading))], {0}, optional=optional)


def show_all(run: Run) -> None:
    """Prints every number of a run's summary under its dotted name."""
    rows = {harmless(name): value for name, value in flatten(run.summary).items()}
    width = max((len(name) for name in rows), default=0)
    for name, value in rows.items():
        print(f"{name:{width}}  {f'{value:.4g}' if isinstance(value, float) else harmless(str(value))}")


def show_next(folder: Path, runs: Sequence[Run]) -> None:
    """Prints what to type next, whole whatever the width."""
    at = shlex.quote(str(runs[0].path if len(runs) == 1 else folder))
    figure = f"sojourn plot {at}" if len(runs) <= MOST_PLOTTED else f"sojourn report {at} -o report.html"
    print(f"\nnext: {harmless(figure)}")
    print(f"      {harmless(f'sojourn show {at} --full')}")


def _validity(run: Run) -> list[str]:
    """Whether a simulated scenario lies outside what was checked against a kernel."""
    try:
        found = None if "engine" in run.manifest else validity.outside(run.scenario)
    except ValueError:
        # Results of other tools may have no scenario.
        return []
    return [str(found)] if found else []


def figure(value: float | None) -> str:
    """Three significant digits, all of them before the point."""
    if value is None:
        return ABSENT
    if value == 0:
        return "0"
    size = abs(value)
    return f"{value:.{0 if size >= 99.95 else 1 if size >= 9.995 else 2 if size >= 0.9995 else 3}f}"


def shortened(text: str, width: int) -> str:
    """The text, or its beginning and its end around three dots."""
    if cells(text) <= width:
        return text
    head = max((width - 3) // 2, 1)
    return f"{text[:head]}...{text[len(text) - (width - 3 - head) :]}"


def _measured(glance: Glance) -> str:
    parts = [] if glance.duration_s is None else [f"{glance.duration_s:g} s"]
    parts += [] if glance.seed is None else [f"seed {glance.seed}"]
    if glance.window_s:
        opens, closes = glance.window_s
        parts.append(f"rates and delays from {opens:g} to {closes:g} s, counts of the whole run")
    return ", ".join(parts)


def _flow(flow: FlowRow) -> tuple[str, ...]:
    if flow.answered:
        last = "{} of {} back".format(*flow.answered)
    elif flow.retransmits is not None:
        last = str(flow.retransmits)
    else:
        last = ABSENT if flow.lost is None else f"{100 * flow.lost:.2g} % lost"
    marks = ABSENT if flow.marks is None else str(flow.marks)
    return (
        flow.name,
        flow.what,
        figure(flow.goodput_mbps),
        flow.delay,
        figure(flow.p50_ms),
        figure(flow.p99_ms),
        f"{marks}+{flow.sce_marks} SCE" if flow.sce_marks else marks,
        last,
    )


def _queue(queue: QueueRow) -> tuple[str, ...]:
    counts = [ABSENT if count is None else str(count) for count in (queue.drops, queue.marks)]
    return (queue.name, queue.qdisc, figure(queue.p50_ms), figure(queue.p99_ms), *counts, _percent(queue.utilisation))


def _run(name: str, glance: Glance, *, full: bool, fair: bool) -> tuple[str, ...]:
    row = glance.columns()
    return (
        f"{name}{'' if glance.complete else ' (partial)'}{' (late)' if glance.is_late else ''}",
        figure(row["goodput_mbps"]),
        *(_fair(glance) or (ABSENT, ABSENT) if fair else ()),
        *(figure(rate) for rate in glance.over_time_mbps if full),
        _percent(row["utilisation"]),
        *(figure(row[key]) for key in ("rtt_p50_ms", "rtt_p99_ms", "sojourn_p50_ms", "sojourn_p99_ms")),
        *(ABSENT if row[key] is None else str(row[key]) for key in ("marks", "retransmits")),
    )


def _fair(glance: Glance) -> tuple[str, str] | None:
    """SCReAM's IP Mbit/s in a cell of the test activity's tables, and the fair share that the activity expected."""
    fair = scream.fair_mbps(glance.id)
    goodput = next((flow.goodput_mbps for flow in glance.flows if flow.name == "scream"), None) if fair else None
    return None if goodput is None else (figure(goodput * scream.IP_PER_PAYLOAD), str(fair))


def _late(punctuality: Punctuality | None) -> list[str]:
    """How far a result is the machine's that carried the packets."""
    if punctuality is None:
        return []
    notes = []
    p50, p99 = ((value or 0) * 1e3 for value in (punctuality.p50_ms, punctuality.p99_ms))
    late = f"packets left {figure(p50)} us late (p50), {figure(p99)} us (p99)"
    if punctuality.is_late:
        bound = f"the bound is {figure(punctuality.bound_ms)} ms; " if punctuality.bound_ms is not None else ""
        notes.append(f"LATE: {late}; {bound}this result is of the machine; run it again with less beside it")
    elif p99:
        notes.append(f"middlebox: {late}")
    if punctuality.lost:
        notes.append(f"middlebox: {punctuality.lost} packets were lost outside the queues (summary.json: middlebox)")
    if punctuality.super_packets:
        notes.append(f"super-packets: {punctuality.super_packets}, each of which the queues counted as one packet")
    if punctuality.is_late and punctuality.refused:
        notes.append(f"not granted: {'; '.join(punctuality.refused)}")
    return notes


def _own(glance: Glance) -> list[str]:
    """Which real packets were not of a kernel's end points."""
    flows = [f"{name} ({stack})" for name, stack in glance.own_flows]
    return [f"on our end points: {', '.join(flows)}"] if flows else []


def _failures(glance: Glance) -> list[str]:
    """Programs that failed: what they were to do was not done."""
    rows = glance.failed_programs
    return [f"{row.flow}: the {row.end} ended with exit code {row.exit_code}: {row.said}" for row in rows]


def _share(glance: Glance) -> list[str]:
    shares = _fair(glance)
    return [f"SCReAM: {shares[0]} IP Mbit/s; the test activity expected a fair share of {shares[1]}"] if shares else []


def _beliefs(flows: Sequence[FlowRow]) -> list[str]:
    """Where the marks that a sender counted are not those that its receiver got."""
    notes = []
    for flow in flows:
        got, believed = flow.marks, flow.believed_marks
        if got is not None and believed and abs(believed - got) > max(BELIEF_SHARE * got, 10):
            notes.append(f"{flow.name}: the sender counted {believed} marks (ce_reported), the receiver got {got}")
    return notes


def _modes(flows: Sequence[FlowRow]) -> list[str]:
    """Where a controller looks for classic queues, what it found."""
    notes = []
    for flow in flows:
        if flow.classic:
            share, flips, after = flow.classic
            changes = f"{flips} change{'' if flips == 1 else 's'}"
            text = f"in classic mode {_percent(share)} of the time, first after {after or 0:.1f} s, {changes}"
            notes.append(f"{flow.name}: {'never in classic mode' if after is None else text}")
    return notes


def _percent(share: float | None) -> str:
    return ABSENT if share is None else f"{100 * share:.1f} %"


def _first(rows: Sequence[T], room: int) -> Sequence[T]:
    """As many as fit, less one for the line that counts the others."""
    return rows if len(rows) <= room else rows[: max(room - 1, 1)]


def _more(count: int, columns: int) -> list[tuple[str, ...]]:
    return [(f"... {count} more", *[""] * (columns - 1))] if count else []


def without_common(names: Sequence[str]) -> tuple[str, list[str]]:
    """The folders that all names share, and the names without them."""
    parts = [name.split("/") for name in names]
    shared = 0
    while all(len(part) > shared + 1 and part[shared] == parts[0][shared] for part in parts):
        shared += 1
    return "/".join(parts[0][:shared]), ["/".join(part[shared:]) for part in parts]
