"""From a comparison to one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import json
import os
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import jinja2
import numpy as np
from markupsafe import Markup

from sojourn import compare, fidelity, metrics, reference
from sojourn.compare import Comparison, Difference, Pair
from sojourn.plot import style
from sojourn.report import overview

if TYPE_CHECKING:
    from sojourn.metrics import FloatArray, RunSummary, Source

#: What all series together may take in the page, in base64; the page stays below 1 MB.
SERIES_BYTES = 640_000
BYTES_PER_POINT = 4 * 4 / 3
MAX_POINTS = 600
MIN_POINTS = 60

SCENARIOS = {
    "l4s-s1-oneflow": "One flow: TCP Prague alone over DualPI2",
    "l4s-s2-twoflow": "Two flows: CUBIC, joined by TCP Prague 10 s later, 50 Mbit/s",
}


@dataclass(frozen=True)
class Run:
    """A run of the page; without a pair there is nothing to hold it against."""

    id: str
    ours: Source
    summary: RunSummary | None
    pair: Pair | None

    @property
    def measured(self) -> Source | None:
        """The measured side, if there is one."""
        return self.pair.b if self.pair else None


def write(results: Path, out: Path, reference: Path | None) -> Path:
    """The report of a results folder, beside `reference` or the measured data; returns the file."""
    return write_comparison(compare.collect(results, reference), out, title=f"Sojourn report: {results.resolve().name}")


def write_comparison(comparison: Comparison, out: Path, *, title: str) -> Path:
    """The report of a comparison that was made already; returns the file."""
    runs = [Run(pair.id, pair.a, pair.summary_a, pair) for pair in comparison.pairs]
    plain = [source for source in comparison.lone if not re.search("[@~]", source.id)]
    runs += [Run(source.id, source, metrics.summarise(source), None) for source in plain]
    runs.sort(key=lambda run: compare.natural(run.id))
    everything = {source.id: source for source in [*comparison.lone, *(run.ours for run in runs)]}
    page = (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=title,
            conclusion=compare.conclusion(comparison),
            comparison=comparison,
            extra_runs=len(comparison.lone) - len(plain),
            overview=Markup(overview.svg(comparison)),  # noqa: S704 - made of numbers and escaped ids
            score=_scoreboard(everything),
            sections=_sections(runs, out),
            definitions=metrics.DEFINITIONS,
            source=reference.sources(pair.id for pair in comparison.pairs),
            panels=_payload({run.id: _panel(run, points) for points in [_points(runs)] for run in runs}),
            uplot_js=Markup(_vendored("uPlot.iife.min.js")),  # noqa: S704 - shipped file
            uplot_css=Markup(_vendored("uPlot.min.css")),  # noqa: S704 - shipped file
        )
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    building = out.with_name(f".{out.name}.{os.getpid()}")
    building.write_text(page, encoding="utf-8")
    building.replace(out)
    return out


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sojourn.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment


def _vendored(name: str) -> str:
    return resources.files("sojourn.report").joinpath("uplot", name).read_text(encoding="utf-8").strip()


def number(value: float | None, sign: str = "") -> str:
    """Two decimals, one from 100 on; a true minus sign, and no sign for what rounds to nothing."""
    if value is None:
        return "\N{EN DASH}"
    text = format(value, f"{sign}.{1 if abs(value) >= 100 else 2}f")
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


# Tables.


def _scenario(run_id: str) -> list[str]:
    return run_id.split("/")[:2]


def _scoreboard(runs: dict[str, Source]) -> dict[str, Any]:
    """The rows of the scenarios that there are runs of."""
    present = [_scenario(run_id) for run_id in runs]
    judged = fidelity.judge([row for row in fidelity.ROWS if _scenario(row.run) in present], runs)
    return {
        "count": fidelity.score(judged),
        "spread": any(len(result.values) > 1 for result in judged),
        "rows": [
            {
                **result.document(),
                "ours": fidelity.shown(result.ours),
                "expected": fidelity.shown(result.row.expected),
                "spread": fidelity.shown_spread(result),
            }
            for result in judged
        ],
    }


def _sections(runs: list[Run], out: Path) -> list[dict[str, Any]]:
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        parts = run.id.split("/")
        grouped.setdefault(parts[1] if len(parts) > 2 else parts[0], []).append(run)
    numbers = {run.id: index for index, run in enumerate((run for group in grouped.values() for run in group), 1)}
    return [
        {
            "anchor": f"section-{index}",
            "name": name,
            "heading": SCENARIOS.get(name, name),
            "answer": _answer(group),
            "runs": [
                {
                    "id": run.id,
                    "short": "/".join(run.id.split("/")[shared:]) or run.id,
                    "figure": numbers[run.id],
                    "window": run.summary.window_s if run.summary else None,
                    "rows": _table_rows(run),
                    "measured": run.pair is not None,
                    "data": _link(run.ours, out),
                }
                for run in group
            ],
        }
        for index, (name, group) in enumerate(grouped.items(), 1)
        for shared in [_shared_labels([run.id for run in group])]
    ]


def _shared_labels(ids: list[str]) -> int:
    """How many leading labels all ids have in common, at least one label being left of each."""
    split = [run_id.split("/") for run_id in ids]
    most = min(map(len, split)) - 1
    same = (len({parts[index] for parts in split}) == 1 for index in range(most))
    return next((index for index, one in enumerate(same) if not one), most) if len(ids) > 1 else min(2, most)


def _table_rows(run: Run) -> list[dict[str, Any]]:
    """One row per flow, one for the ratio, one for the ping; each a label and its cells."""
    ceiling = metrics.ceiling_mbps(run.id)
    if run.pair is not None:
        flows = [(flow.name, flow.goodput_mbps, list(flow.tcp_rtt_ms.values())) for flow in run.pair.flows]
        ping, ratio = list(run.pair.ping_ms.values()), run.pair.ratio
    elif run.summary is not None:
        flows = [
            (flow.name, Difference(flow.goodput_mbps, None), _alone(flow.tcp_rtt_ms)) for flow in run.summary.flows
        ]
        ping = _alone(run.summary.ping_ms)
        ratio = Difference(run.summary.ratio, None) if len(run.summary.flows) == 2 else None
    else:
        return []
    rows: list[dict[str, Any]] = [
        {
            "label": name,
            "goodput": _cell(rate, ceiling, (2, 5)),
            "rtt": [_cell(x, x.b, (5, 15)) for x in rtt],
        }
        for name, rate, rtt in flows
    ]
    if ratio is not None:
        rows.append({"label": "ratio 2nd/1st", "goodput": _cell(ratio, ratio.b, (15, 50)), "rtt": None})
    if any(x.a is not None for x in ping):
        rows.append({"label": "ping", "goodput": None, "rtt": [_cell(x, x.b, (5, 15)) for x in ping]})
    return rows


def _alone(stats: metrics.Stats | None) -> list[Difference]:
    return list(compare.spread(stats, None).values())


def _cell(value: Difference, scale: float | None, limits: tuple[float, float]) -> dict[str, Any]:
    """Numbers, and how far apart they are: "" (near), "some" or "far", with the direction."""
    percent = 100 * value.diff / scale if value.diff is not None and scale else 0.0
    size = "far" if abs(percent) > limits[1] else "some" if abs(percent) > limits[0] else ""
    direction = "over" if percent > 0 else "under"
    return {
        "a": value.a,
        "b": value.b,
        "diff": value.diff,
        "mark": f"{size} {direction}" if size else "",
    }


def _answer(runs: list[Run]) -> str:
    """One sentence that the numbers of a section give."""
    pairs = [run.pair for run in runs if run.pair is not None]
    if not pairs:
        return f"{_count(len(runs), 'run')} without a measured counterpart."
    part = Comparison(pairs=pairs)
    text = f"In {_count(len(pairs), 'run')} with a measured counterpart"
    errors = [(max(pair.goodput_error_percent(), default=0.0), pair) for pair in pairs]
    if part.goodput_error_percent is not None:
        worst, where = max(errors, key=lambda item: item[0])
        text += f" the median flow's goodput is {part.goodput_error_percent:.1f} %"
        text += f" of the link ceiling away from the testbed's, the worst {worst:.1f} %"
        text += f" ({'/'.join(where.id.split('/')[2:])})"
    if part.rtt_error_percent is not None:
        text += f"; mean TCP RTT differs by {part.rtt_error_ms:.2f} ms in the median"
        text += f" ({part.rtt_error_percent:.1f} %)"
    ratios = [(r.a, r.b) for pair in pairs if (r := pair.ratio) is not None]
    both = [(a, b) for a, b in ratios if a is not None and b is not None]
    if both:
        ours, measured = zip(*both, strict=True)
        same = sum((a >= 1) == (b >= 1) for a, b in both)
        text += f"; the same flow is ahead in {same} of {len(both)}, the second with"
        text += f" {number(min(ours))} to {number(max(ours))} times the first's goodput"
        text += f" (measured {number(min(measured))} to {number(max(measured))})"
    return text + "."


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _link(source: Source, out: Path) -> str | None:
    """Relative link to the run's full series, if it has a folder."""
    folder = getattr(source, "path", None)
    if folder is None or not (file := Path(folder) / "series.parquet").is_file():
        return None
    return quote(Path(os.path.relpath(file.resolve(), out.parent.resolve())).as_posix())


# Panels.


def _points(runs: list[Run]) -> int:
    """Points per series such that all series together keep within their budget."""
    count = sum(len(list(_curves(source))) for run in runs for source in (run.ours, run.measured) if source)
    affordable = int(SERIES_BYTES / BYTES_PER_POINT / max(count, 1))
    return max(MIN_POINTS, min(MAX_POINTS, affordable)) // 2 * 2


def _curves(source: Source) -> list[tuple[str, str, str]]:
    """Panel, label and series of what is drawn of a run."""
    flows = metrics.flows(source)
    curves = [("rate", flow, f"flow.{flow}.delivery_rate") for flow in flows]
    curves += [("rtt", flow, f"flow.{flow}.rtt") for flow in flows]
    return curves + [("rtt", "ICMP", name) for name in metrics.pings(source)[:1]]


def _panel(run: Run, points: int) -> dict[str, Any]:
    sources = [(0, run.ours), *([(1, run.measured)] if run.measured else [])]
    ends = [metrics.finite(source, name)[0] for _, source in sources for _, _, name in _curves(source)]
    end = max((float(t[-1]) for t in ends if t.size), default=1.0)
    colours = {**style.colours(metrics.flows(run.ours)), "ICMP": style.PING}
    panel: dict[str, Any] = {
        "end": round(end, 3),
        "window": [round(edge, 2) for edge in run.summary.window_s] if run.summary else None,
        "rate": {"range": style.rate_range(run.id), "series": []},
        "rtt": {
            "range": style.rtt_range(run.id, style.longest_ping(run.measured or run.ours)),
            "series": [],
        },
    }
    for side, source in sources:
        for where, label, name in _curves(source):
            t, values = metrics.finite(source, name)
            panel[where]["series"].append(
                {
                    "label": label,
                    "measured": side,
                    "colour": colours.get(label, style.INK),
                    "data": _packed(decimate(t, values, end, points)),
                }
            )
    return panel


def decimate(t: FloatArray, values: FloatArray, end: float, points: int) -> FloatArray:
    """Minimum and maximum, as they come, of points/2 equal stretches of [0, end]; NaN if empty."""
    stretches = points // 2
    grid = np.full((stretches, 2), np.nan)
    inside = (t >= 0) & (t <= end)
    t, values = t[inside], values[inside]
    index = np.minimum((t / end * stretches).astype(int), stretches - 1)
    starts = np.flatnonzero(np.diff(index, prepend=-1))
    for low, high in zip(starts, [*starts[1:], t.size], strict=True):
        stretch = values[low:high]
        least, most = int(np.argmin(stretch)), int(np.argmax(stretch))
        grid[index[low]] = stretch[[min(least, most), max(least, most)]]
    return grid.ravel()


def _packed(values: FloatArray) -> str:
    return base64.b64encode(values.astype("<f4").tobytes()).decode("ascii")


def _payload(panels: dict[str, Any]) -> Markup:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(panels, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704
