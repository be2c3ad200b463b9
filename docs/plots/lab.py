"""Bench of the figures: short scenarios, their runs, what is read off them, and SVG files of equal bytes."""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from sojourn import Run, Scenario, metrics, run, style
from sojourn.metrics import FloatArray

#: A full frame on the wire and the payload in it, bytes.
FRAME, PAYLOAD = 1514, 1448

INK = style.INK
BLUE, ORANGE, GREEN, PINK, SKY, YELLOW = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"
#: What was simulated, and the closed form or published value beside it.
OURS: dict[str, Any] = {"linewidth": 1.2}
LAW: dict[str, Any] = {"color": style.INK, "linewidth": 1.0, "linestyle": (0, (4, 2)), "zorder": 3}
LEGEND: dict[str, Any] = {"frameon": False, "fontsize": "small", "handlelength": 1.8, "borderaxespad": 0.3}


def link(rate: str, delay: str, qdisc: str, **more: object) -> dict[str, object]:
    """A bottleneck with an HTB shaper and a way back that is neither shaped nor queued; `delay` is one way."""
    back: dict[str, object] = {"rate": "none", "shaper": "none", "qdisc": "pfifo", "ingress": []}
    shapes = qdisc.startswith("cake")
    shaper = {} if rate == "none" or shapes else {"shaper": "htb"}
    return {
        "name": "bneck",
        "rate": "none" if shapes else rate,
        "delay": delay,
        "qdisc": qdisc,
        **shaper,
        "reverse": back,
        **more,
    }


def flow(cc: str, **more: object) -> dict[str, object]:
    """A bulk flow, named after its controller unless said otherwise."""
    return {"name": re.sub(r"[^a-z0-9-]", "", cc.split()[0].replace("++", "pp")), "cc": cc, **more}


def scenario(
    name: str,
    duration_s: float,
    where: Mapping[str, object],
    flows: Sequence[Mapping[str, object]],
    *,
    step: str = "10ms",
    **more: object,
) -> Scenario:
    """One run over one link."""
    document = {"name": name, "duration": f"{duration_s:g}s", "step": step, **more}
    return Scenario.build({**document, "link": [where], "flow": list(flows)})


def simulate(*scenarios: Scenario) -> list[Run]:
    """Runs them, in this order; their files last as long as `workshop`."""
    folder = Path(tempfile.mkdtemp(dir=_WORKSHOP[-1]))
    by_name = run(scenarios, out=folder).runs
    return [by_name[str(s.resolve().document()["name"])] for s in scenarios]


def of_suite(ids: Iterable[str]) -> Mapping[str, Run]:
    """Runs of shipped suites by their ids; their files last as long as `workshop`."""
    folder = Path(tempfile.mkdtemp(dir=_WORKSHOP[-1]))
    return run([f"^{re.escape(run_id)}$" for run_id in ids], out=folder).runs


@contextmanager
def workshop() -> Iterator[None]:
    """A temporary folder for the runs of the figures drawn inside."""
    with tempfile.TemporaryDirectory(prefix="sojourn-plots-") as folder:
        _WORKSHOP.append(folder)
        try:
            yield
        finally:
            _WORKSHOP.pop()


_WORKSHOP: list[str] = []


def series(source: Run, name: str, start_s: float = 0.0, end_s: float = np.inf) -> tuple[FloatArray, FloatArray]:
    """Times and values within a window; fails on a name that the run does not have."""
    t, values = source.series(name)
    keep = np.isfinite(values) & (t >= start_s) & (t <= end_s)
    return t[keep], values[keep]


def mean(source: Run, name: str, start_s: float, end_s: float = np.inf) -> float:
    """Mean of the samples in a window."""
    return float(series(source, name, start_s, end_s)[1].mean())


def goodput(source: Run, name: str, bin_s: float) -> tuple[FloatArray, FloatArray]:
    """Mbit/s delivered in order, in bins, at their centres."""
    t, total = metrics.finite(source, f"flow.{name}.goodput_bytes")
    edges = np.arange(0.0, t[-1] + bin_s / 2, bin_s)
    delivered = np.interp(edges, t, total, left=0.0)
    return (edges[1:] + edges[:-1]) / 2, np.diff(delivered) * 8e-6 / bin_s


def dress(ax: Axes, title: str, x: str, y: str) -> Axes:
    """Labels, a light frame, and a title that says what the panel shows."""
    style.label_axes(ax, x, y)
    ax.set_title(title, loc="left", fontsize="medium")
    return ax


def delay_panel(ax: Axes, source: Run, window: tuple[float, float], top_ms: float | None = None) -> Axes:
    """Queue delay over time."""
    ax.plot(*series(source, "queue.bneck.sojourn", *window), color=ORANGE, linewidth=0.9)
    ax.set_ylim(0, top_ms)
    return dress(ax, "", "", "queue delay, ms")


def goodput_panel(ax: Axes, source: Run, names: Mapping[str, str], bin_s: float, link_mbps: float) -> Axes:
    """Goodput of flows, by name and colour, below what the link can carry."""
    for name, colour in names.items():
        ax.plot(*goodput(source, name, bin_s), color=colour, **OURS)
    ax.axhline(link_mbps * PAYLOAD / FRAME, **LAW)
    ax.set_ylim(0, 1.1 * link_mbps)
    return dress(ax, "", "time, s", "goodput, Mbit/s")


def response_panel(
    ax: Axes,
    points: Mapping[str, tuple[Sequence[float], FloatArray]],
    laws: Mapping[str, Callable[[FloatArray], FloatArray]],
    *,
    title: str,
    x: str,
    y: str = "mean cwnd, segments",
    colours: Sequence[str] = (BLUE, ORANGE, GREEN, PINK),
) -> Axes:
    """What was simulated as points, closed forms as lines, over a probability; both logarithmic."""
    probabilities = [p for ps, _ in points.values() for p in ps]
    p = np.geomspace(min(probabilities) / 1.3, max(probabilities) * 1.3, 200)
    for dashes, (label, law) in zip(((), (4, 2), (1, 1.5), (6, 2, 1, 2)), laws.items(), strict=False):
        ax.plot(p, law(p), color=INK, linewidth=1.0, dashes=dashes or (None, None), label=label)
    # Markers of different size: points that coincide stay visible.
    for marker, size, colour, (label, (ps, values)) in zip("osD^", (8, 5, 5, 5), colours, points.items(), strict=False):
        ax.plot(ps, values, marker, color=colour, markersize=size, fillstyle="none", markeredgewidth=1.4, label=label)
    ax.set(xscale="log", yscale="log")
    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        axis.set_major_locator(LogLocator(subs=(1,) if high > 99 * low else (1, 2, 5), numticks=20))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    ax.legend(**LEGEND)
    return dress(ax, title, x, y)


def sheet(
    left: Sequence[str], right: Sequence[str] = ("response",), height_in: float = 5
) -> tuple[Figure, dict[str, Axes]]:
    """Panels by name, in a wide column for what happens over time and a narrow one; draw inside `look`."""
    figure = Figure(figsize=(10, height_in), layout="constrained")
    columns = figure.add_gridspec(1, 2 if right else 1, width_ratios=(3, 2) if right else (1,), wspace=0.02)
    panels: dict[str, Axes] = {}
    for number, names in enumerate((left, right) if right else (left,)):
        grid = columns[0, number].subgridspec(
            len(names), 1, height_ratios=[2 if i == 0 else 1.25 for i in range(len(names))]
        )
        for row, name in enumerate(names):
            share = panels[names[0]] if row and number == 0 else None
            panels[name] = figure.add_subplot(grid[row], sharex=share)
            if share is not None:
                panels[names[row - 1]].tick_params(labelbottom=False)
    return figure, panels


def plain(cc: str) -> Figure:
    """What a controller does over CoDel, for one that has no figure of its own yet."""
    name = str(flow(cc)["name"])
    (source,) = simulate(scenario("plain", 20, link("20Mbit", "20ms", "codel ecn"), [flow(cc)], step="20ms"))
    figure, panels = sheet(["goodput", "delay"], ["cwnd"])
    goodput_panel(panels["goodput"], source, {name: BLUE}, 0.5, 20)
    panels["goodput"].set_title(f"{cc} over codel, 20 Mbit/s, 40 ms", loc="left", fontsize="medium")
    delay_panel(panels["delay"], source, (0, 20)).set_xlabel("time, s")
    panels["cwnd"].plot(*series(source, f"flow.{name}.cwnd"), color=BLUE, **OURS)
    dress(panels["cwnd"], "", "time, s", "cwnd, segments")
    return figure


def look() -> Any:
    """One look for all: text stays text, names in the file do not depend on the hour."""
    return mpl.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": "sojourn", "font.size": 9, "path.simplify_threshold": 0.4}
    )


def save(figure: Figure, target: Path, description: str) -> None:
    """Writes an SVG without date or version, its coordinates to a tenth of a point."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue().decode()
    text = re.sub(r'(?<= d=")[^"]*', lambda d: re.sub(r"(\.\d)\d+", r"\1", d[0]), text)
    head, tag, rest = text.partition("<svg")
    opening, bracket, body = rest.partition(">")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"{head}{tag}{opening}{bracket}\n <title>{escape(description)}</title>{body}", encoding="utf-8")
