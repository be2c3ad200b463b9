"""Static figures in Flent's names: `sojourn plot RUN -p tcp_delivery_with_rtt -o x.svg`.

Each figure is one file with one pure function `draw(ours, measured, ax) -> ax`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from html import escape
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from sojourn import reference
from sojourn.files import write_whole
from sojourn.interop import flent
from sojourn.metrics import Source
from sojourn.plot import (
    ping_cdf,
    tcp_cwnd,
    tcp_delivery_with_rtt,
    tcp_rtt_cdf,
    totals,
    upload_with_ping_and_tcp_rtt,
)
from sojourn.plot.upload_with_ping_and_tcp_rtt import Scale

Draw = Callable[[Source, Source | None, Axes], Axes]
PLOTS: dict[str, Draw] = {
    "tcp_delivery_with_rtt": tcp_delivery_with_rtt.draw,
    "totals": totals.draw,
    "ping_cdf": ping_cdf.draw,
    "tcp_rtt_cdf": tcp_rtt_cdf.draw,
    "tcp_cwnd": tcp_cwnd.draw,
    "upload_with_ping_and_tcp_rtt": upload_with_ping_and_tcp_rtt.draw,
}
#: The figure that the suites drew with a fixed and with a variable scale, at the size that they had.
SCALED = "upload_with_ping_and_tcp_rtt"
SIZES_IN = {SCALED: (10.0, 7.5)}
FORMATS = (".svg", ".png", ".pdf")


class PlotError(ValueError):
    """One line that says what was expected."""


def plot(
    run_or_file: str,
    *,
    plot: str = "tcp_delivery_with_rtt",
    output: Path | None = None,
    title: str = "",
    scale: Scale = "auto",
) -> Path:
    """Draw one figure of a run folder or a Flent file, over the measurement if there is one."""
    if plot not in PLOTS:
        raise PlotError(f"{plot}: expected one of {', '.join(PLOTS)}")
    if scale != "auto" and plot != SCALED:
        raise PlotError(f"--scale {scale}: expected with the plot {SCALED}")
    source = load(Path(run_or_file))
    measured = None if isinstance(source, flent.FlentFile) else reference.find(source.id)
    ending = plot if scale == "auto" else scale
    target = picture(output, source.id, ending)
    render(source, measured, plot=plot, target=target, title=title, scale=scale)
    return target


def picture(output: Path | None, of: str, ending: str) -> Path:
    """The file to write: the one that was asked for, or one after what it shows."""
    target = output or Path(f"{re.sub(r'[^A-Za-z0-9.]+', '-', of)}-{ending}.svg")
    if target.suffix not in FORMATS:
        raise PlotError(f"{target}: expected a name that ends in {', '.join(FORMATS)}")
    return target


def load(path: Path) -> Source:
    """The one run that a path names."""
    if path.is_file():
        return flent.FlentFile(path)
    if not path.is_dir():
        raise PlotError(f"{path}: expected a run folder or a Flent file")
    from sojourn.results import ResultSet

    runs: list[Source] = list(ResultSet.open(path).runs.values())
    if len(runs) != 1:
        raise PlotError(f"{path}: expected the folder of one run, found {len(runs)} runs")
    return runs[0]


def styled() -> AbstractContextManager[None]:
    """Within it figures are made and saved: text stays text, and the same figure is the same bytes."""
    return mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "sojourn", "pdf.fonttype": 42, "font.size": 10})


def render(
    source: Source, measured: Source | None, *, plot: str, target: Path, title: str = "", scale: Scale = "auto"
) -> None:
    """Write the figure; the ending of the name decides the format."""
    heading = f"{source.id} {title}".strip()
    description = f"{plot} of {source.id}" + (", with the measured run" if measured else "")
    with styled():
        figure = Figure(figsize=SIZES_IN.get(plot, (10, 6.2)), layout="constrained")
        FigureCanvasAgg(figure)
        draw = partial(upload_with_ping_and_tcp_rtt.draw, scale=scale) if plot == SCALED else PLOTS[plot]
        ax = draw(source, measured, figure.subplots())
        ax.set_title(heading.replace("$", r"\$"), loc="left", fontsize="medium")
        save(figure, target, heading=heading, description=description)


def save(figure: Figure, target: Path, *, heading: str, description: str) -> None:
    """Write a figure, the same bytes each time; to be called where it is `styled`."""
    buffer = io.BytesIO()
    form = target.suffix[1:]
    undated = {
        "svg": {"Date": None},
        "pdf": {"CreationDate": None, "Title": heading},
        "png": {"Title": heading},
    }
    figure.savefig(buffer, format=form, dpi=150, metadata=undated[form])
    content = buffer.getvalue()
    if form == "svg":
        said = f"<title>{escape(heading)}</title>\n <desc>{escape(description)}</desc>".encode()
        head, tag, rest = content.partition(b"<svg")
        opening, bracket, body = rest.partition(b">")
        content = head + tag + opening + bracket + b"\n " + said + body
    write_whole(target, content)
