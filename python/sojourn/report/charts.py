"""Charts of parameter studies as SVG in a page: every mark says what it is where a pointer rests on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from sojourn.study.chart import Axis, Chart, Curve, Mark, Panel, Scale

#: Size of a pair of axes, of what is around it, and of the scale of colours.
WIDTH, HEIGHT, LEFT, TOP, BELOW, RIGHT = 330, 240, 62, 28, 48, 14
BAR_WIDTH = 240
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 2", "10 3", "4 4", "5 2 1 2")
#: Longer words beneath an axis are turned, and so are many.
LONG_WORD, LONG_LINE = 9, 40
#: Shapes of marks around a point, for those who see no colours.
SHAPES = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z",
    "M-3.6 -3.6H3.6V3.6H-3.6Z",
    "M0 -5L5 0L0 5L-5 0Z",
    "M-4.4 -3.4H4.4L0 4.6Z",
    "M-4.4 3.4H4.4L0 -4.6Z",
    "M-1.5 -4.5H1.5V-1.5H4.5V1.5H1.5V4.5H-1.5V1.5H-4.5V-1.5H-1.5Z",
    "M0 -5L1.5 -1.5L5 -1.5L2.2 0.8L3.2 4.6L0 2.4L-3.2 4.6L-2.2 0.8L-5 -1.5L-1.5 -1.5Z",
    "M-2.2 -4.6H2.2L4.6 0L2.2 4.6H-2.2L-4.6 0Z",
)
#: Below this lightness what is written on a cell is white.
DARK = 0.55


@dataclass(frozen=True)
class Frame:
    """Where a chart's values are in a picture."""

    x_axis: Axis
    y_axis: Axis
    left: float
    is_turned: bool

    @classmethod
    def of(cls, chart: Chart) -> Frame:
        """With room for the labels of both axes."""
        words = [len(text) for _, text in chart.x.ticks]
        is_turned = sum(words) > LONG_LINE or max(words, default=0) > LONG_WORD
        longest = max((len(text) for _, text in chart.y.ticks), default=0)
        return cls(chart.x, chart.y, LEFT + 6 * max(longest - 6, 0), is_turned)

    @property
    def bottom(self) -> float:
        return TOP + HEIGHT

    @property
    def size(self) -> tuple[float, float]:
        return self.left + WIDTH + RIGHT, self.bottom + BELOW + (44 if self.is_turned else 0)

    def x(self, value: float) -> float:
        return self.left + WIDTH * _share(self.x_axis, value)

    def y(self, value: float) -> float:
        return self.bottom - HEIGHT * _share(self.y_axis, value)


def render(chart: Chart) -> str:
    """The panels, and before them their legend or scale."""
    legend = _legend(chart) if chart.legend else _scale(chart.scale) if chart.scale else ""
    panels = "".join("".join(_panel(chart, panel)) for panel in chart.panels)
    return f'<div class="legend">{legend}</div><div class="overview charts">{panels}</div>'


def _panel(chart: Chart, panel: Panel) -> Iterator[str]:
    frame = Frame.of(chart)
    width, height = frame.size
    name = escape(f"{chart.title} {panel.title}".strip())
    yield f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{name}">'
    yield f'<text x="{frame.left}" y="18" class="head-text">{escape(panel.title)}</text>'
    yield from _axes(chart, frame)
    for curve in panel.curves:
        if curve.is_joined:
            points = " ".join(f"{frame.x(mark.x):.1f},{frame.y(mark.y):.1f}" for mark in curve.marks)
            dash = "4 3" if curve.is_front else DASHES[curve.shape % len(DASHES)]
            look = f'stroke="{curve.colour}" stroke-width="1.5" stroke-dasharray="{dash}"'
            yield f'<polyline points="{points}" fill="none" {look}/>'
    for curve in panel.curves:
        if not curve.is_front:
            for mark in sorted(curve.marks, key=lambda mark: not mark.faint):
                yield from _cell(chart, frame, mark) if chart.kind == "heat" else _mark(curve, frame, mark)
    yield "</svg>"


def _axes(chart: Chart, frame: Frame) -> Iterator[str]:
    right, bottom, has_grid = frame.left + WIDTH, frame.bottom, chart.kind != "heat"
    for at, text in chart.x.ticks:
        x = frame.x(at)
        if has_grid:
            yield f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{TOP}" class="grid"/>'
        place = f'x="{x:.1f}" y="{bottom + 16}" text-anchor="middle"'
        if frame.is_turned:
            place = f'transform="translate({x:.1f} {bottom + 14}) rotate(-30)" text-anchor="end"'
        yield f"<text {place}>{escape(text)}</text>"
    for at, text in chart.y.ticks:
        y = frame.y(at)
        if has_grid:
            yield f'<line x1="{frame.left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" class="grid"/>'
        yield f'<text x="{frame.left - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>'
    x, y = frame.left + WIDTH / 2, frame.size[1] - 10
    yield f'<text x="{x}" y="{y}" text-anchor="middle">{escape(_named(chart.x))}</text>'
    turned = f'transform="translate(13 {TOP + HEIGHT / 2}) rotate(-90)" text-anchor="middle"'
    yield f"<text {turned}>{escape(_named(chart.y))}</text>"


def _cell(chart: Chart, frame: Frame, mark: Mark) -> Iterator[str]:
    width, height = WIDTH / len(chart.x.ticks) - 2, HEIGHT / len(chart.y.ticks) - 2
    x, y = frame.x(mark.x), frame.y(mark.y)
    tip = f"<title>{escape(mark.label)}</title>"
    yield (
        f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="{mark.colour}">{tip}</rect>'
    )
    if mark.text and 7 * len(mark.text) < width:
        ink = "#fff" if _lightness(mark.colour) < DARK else "#000"
        place = f'x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle"'
        yield f'<text {place} style="fill:{ink};pointer-events:none">{escape(mark.text)}</text>'


def _mark(curve: Curve, frame: Frame, mark: Mark) -> Iterator[str]:
    x, y = frame.x(mark.x), frame.y(mark.y)
    colour = mark.colour or curve.colour
    if mark.low is not None and mark.high is not None:
        ends = f'y1="{frame.y(mark.low):.1f}" y2="{frame.y(mark.high):.1f}"'
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" {ends} stroke="{colour}" stroke-width="1.6"/>'
    pale = ' fill-opacity=".3"' if mark.faint else ""
    yield (
        f'<path d="{SHAPES[curve.shape % len(SHAPES)]}" transform="translate({x:.1f} {y:.1f})" '
        f'fill="{colour}"{pale}><title>{escape(mark.label)}</title></path>'
    )


def _legend(chart: Chart) -> str:
    """What the curves are, each with its shape and its dashes."""
    curves = {curve.name: curve for panel in chart.panels for curve in panel.curves if curve.name}
    entries = []
    for curve in curves.values():
        dash = DASHES[curve.shape % len(DASHES)]
        look = f'stroke="{curve.colour}" stroke-width="1.5" stroke-dasharray="{dash}"'
        line = f'<line x1="0" x2="26" y1="7" y2="7" {look}/>' if curve.is_joined else ""
        shape = f'<path d="{SHAPES[curve.shape % len(SHAPES)]}" transform="translate(13 7)" fill="{curve.colour}"/>'
        picture = f'<svg viewBox="0 0 26 14" width="26" height="14" aria-hidden="true">{line}{shape}</svg>'
        entries.append(f"<span>{picture} {escape(curve.name)}</span>")
    return f"<b>{escape(chart.legend)}</b> {' '.join(entries)}"


def _scale(scale: Scale) -> str:
    """Its colours from low to high, with the values at their places."""
    step = BAR_WIDTH / len(scale.colours)
    parts = [f'<svg viewBox="0 0 {BAR_WIDTH + 60} 30" width="{BAR_WIDTH + 60}" height="30" aria-hidden="true">']
    for at, colour in enumerate(scale.colours):
        parts.append(f'<rect x="{30 + at * step:.1f}" y="0" width="{step + 0.5:.1f}" height="10" fill="{colour}"/>')
    for share, text in scale.ticks:
        parts.append(f'<text x="{30 + share * BAR_WIDTH:.1f}" y="24" text-anchor="middle">{escape(text)}</text>')
    return f"<b>{escape(scale.label)}</b> {''.join(parts)}</svg>"


def _share(axis: Axis, value: float) -> float:
    """Within the axis: an end of an interval may be beyond it, or below zero on a logarithmic one."""
    return min(max(axis.share(value), 0.0), 1.0) if value > axis.range[0] else 0.0


def _named(axis: Axis) -> str:
    return axis.label + (" (logarithmic)" if axis.log else "")


def _lightness(colour: str) -> float:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue
