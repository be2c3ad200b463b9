"""cwnd of single flows over their first 10 s, here beside Linux 7.2: `linux72-cwnd.png`.

The kernel's samples are package data (`sojourn.linux_runs`), ours are run for the picture: no kernel is needed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sojourn import linux_runs, metrics
from sojourn.plot.style import COLOURS, INK, MEASURED, OURS
from sojourn.run import run

ROWS = (
    ("codel1q", "cubic"),
    ("codel1q", "reno"),
    ("pfifo250", "cubic"),
    ("pfifo250", "bbr"),
    ("dualpi2", "cubic"),
    ("dualpi2any", "dctcp"),
)
RTTS_MS = (20, 80)


def make(folder: Path) -> None:
    """Draw the picture into a folder."""
    ids = [[f"linux72/{queue}/50Mbit/{rtt}ms/{cc}" for rtt in RTTS_MS] for queue, cc in ROWS]
    with tempfile.TemporaryDirectory() as out:
        ours = run([f"^{run_id}$" for row in ids for run_id in row], out=Path(out)).runs
        with mpl.rc_context({"font.size": 8}):
            figure = Figure(figsize=(9, 11), layout="constrained")
            FigureCanvasAgg(figure)
            panels = figure.subplots(len(ROWS), len(RTTS_MS), sharex=True)
            for row, panel_row in zip(ids, panels, strict=True):
                for run_id, ax in zip(row, panel_row, strict=True):
                    _, queue, _, rtt, cc = run_id.split("/")
                    (flow,) = linux_runs.shipped()[run_id]
                    t, cwnd = metrics.finite(ours[run_id], f"flow.{flow}.cwnd")
                    early = t <= linux_runs.TRACE_S
                    ax.step(t[early], cwnd[early], where="post", label="here, era 7.x", color=COLOURS[cc], **OURS)
                    ax.step(*linux_runs.cwnd(run_id), where="post", label="Linux 7.2", color=INK, **MEASURED)
                    ax.set_title(f"{cc} over {queue}, {rtt.removesuffix('ms')} ms", loc="left", fontsize="medium")
                    ax.set_ylim(bottom=0)
                    ax.set_xlim(0, linux_runs.TRACE_S)
                panel_row[0].set_ylabel("cwnd, segments")
            for ax in panels[-1]:
                ax.set_xlabel("time, s")
            panels[0][0].legend(loc="lower right", fontsize="small")
            folder.mkdir(parents=True, exist_ok=True)
            figure.savefig(folder / "linux72-cwnd.png", dpi=100)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "images")
