"""cwnd of single flows over their first 10 s, here beside Linux 7.2.

The kernel's samples are package data (`sojourn.linux_runs`), ours are run for the picture: no kernel is needed.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from plots import lab
from sojourn import linux_runs
from sojourn.style import COLOURS

ROWS = (
    ("codel1q", "cubic"),
    ("codel1q", "reno"),
    ("pfifo250", "cubic"),
    ("pfifo250", "bbr"),
    ("dualpi2", "cubic"),
    ("dualpi2any", "dctcp"),
)
RTTS_MS = (20, 80)


def linux72() -> Figure:
    """A row for each queue and controller, a column for each round-trip time."""
    ids = [[f"linux72/{queue}/50Mbit/{rtt}ms/{cc}" for rtt in RTTS_MS] for queue, cc in ROWS]
    ours = lab.of_suite(run_id for row in ids for run_id in row)
    figure = Figure(figsize=(10, 12), layout="constrained")
    panels = figure.subplots(len(ROWS), len(RTTS_MS), sharex=True)
    for (queue, cc), row, panel_row in zip(ROWS, ids, panels, strict=True):
        for rtt, run_id, ax in zip(RTTS_MS, row, panel_row, strict=True):
            (flow,) = linux_runs.shipped()[run_id]
            early = lab.series(ours[run_id], f"flow.{flow}.cwnd", 0, linux_runs.TRACE_S)
            ax.step(*early, where="post", label="here, era 7.x", color=COLOURS[cc], **lab.OURS)
            ax.step(*linux_runs.cwnd(run_id), where="post", label="Linux 7.2", **lab.LAW)
            ax.set(xlim=(0, linux_runs.TRACE_S), ylim=(0, None))
            lab.dress(
                ax,
                f"{cc} over {queue}, {rtt} ms",
                "time, s" if queue == ROWS[-1][0] else "",
                "cwnd, segments" if rtt == RTTS_MS[0] else "",
            )
    panels[0][0].legend(loc="lower right", **lab.LEGEND)
    return figure


FIGURES = {"linux72": linux72}
