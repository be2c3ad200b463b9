"""What `run --until` prints: a line for each point, and which points need more seeds."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.cli.screen import ABSENT, AROUND_RUNS, Screen, figure, without_common
from sojourn.jobs import Job, Outcome
from sojourn.precision import QUANTITIES, Goal, Mean, short
from sojourn.seeds import Point

#: What is shown beside the quantities that were asked for, where there is room.
BESIDE = ("goodput_mbps", "utilisation", "rtt_p50_ms", "sojourn_p99_ms")
#: Points that are named as short of seeds.
MOST_NAMED = 5


def show_points(points: Sequence[Point[Job, Outcome]], goals: Sequence[Goal], *, full: bool = False) -> None:
    """Prints means with half of their intervals, as many points as fit; with `full` all and every quantity."""
    screen = Screen()
    failing = [point for point in points if point.why_not]
    named = failing if full else failing[:MOST_NAMED]
    room = len(points) if full else max(screen.height - AROUND_RUNS - len(named) - 1, 3)
    shown = points if len(points) <= room else points[: room - 1]
    common, names = without_common([point.id for point in points])
    wanted = ", ".join(map(str, goals))
    screen.line(f"{len(points)} point{'s' if len(points) > 1 else ''}{f' of {common}' if common else ''}", "bold")
    screen.line(f"means over seeds \N{PLUS-MINUS SIGN} half of the 95 % interval (Student's t); wanted: {wanted}")
    asked = list(dict.fromkeys(goal.quantity for goal in goals))
    columns = [*asked, *(one for one in (QUANTITIES if full else BESIDE) if one not in asked)]
    means = [point.means() for point in shown]
    columns = [column for column in columns if any(column in one for one in means)]
    rows = [
        (name, str(len(point.outcomes)), *(_mean(one.get(column)) for column in columns))
        for name, point, one in zip(names, shown, means, strict=False)
    ]
    if more := len(points) - len(shown):
        rows.append((f"... {more} more", *[""] * (len(columns) + 1)))
    heading = ("point", "seeds", *(_heading(column) for column in columns))
    optional = range(len(heading) - 1, 1 + len(asked), -1)
    screen.table(heading, rows, {0}, optional=list(optional))
    screen.line("")
    screen.line(f"{len(points) - len(failing)} of {len(points)} reached {wanted}")
    for point in named:
        screen.line(f"not reached: {point.id}: {point.why_not}")
    if rest := len(failing) - len(named):
        screen.line(f"not reached: {rest} more")
    if any(len(point.outcomes) == len(point.jobs) for point in failing):
        screen.line("a higher --seeds with the same --out adds seeds to these")


def _heading(column: str) -> str:
    unit = QUANTITIES[column]
    return short(column) + (f", {unit}" if unit in ("Mbit/s", "ms") else "")


def _mean(mean: Mean | None) -> str:
    if mean is None:
        return ABSENT
    half = "" if mean.half_width is None else f" \N{PLUS-MINUS SIGN} {figure(mean.half_width)}"
    return f"{figure(mean.mean)}{half}"
