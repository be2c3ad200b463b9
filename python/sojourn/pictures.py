"""Pictures of runs and Flent files that are named by their paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sojourn.interop import flent
from sojourn.metrics import Source
from sojourn.plot import NO_LIMITS, Limits, PlotError, charts, chosen, picture, save, styled, write
from sojourn.plot.upload_with_ping_and_tcp_rtt import Scale
from sojourn.results import ResultSet, exists
from sojourn.study.chart import Chart
from sojourn.study.points import Study


def plot(
    runs: str | Path | Sequence[str | Path],
    *,
    plot: str | Sequence[str] = (),
    output: Path | None = None,
    title: str = "",
    scale: Scale = "auto",
    limits: Limits = NO_LIMITS,
) -> Path:
    """Draws runs or Flent files in one figure, one alone over its measurement if there is one.

    `plot` names panels, recorded series, or one of Flent's figures; the default is every panel, with a scale other
    than `auto` the figure that has one. Raises `PlotError`, one line that says what was expected.
    """
    names = chosen(plot, scale)
    sources = sources_of(runs)
    ending = ("panels" if not names else "-".join(names)) if scale == "auto" else scale
    of = sources[0].id + (f"-and-{len(sources) - 1}-more" if len(sources) > 1 else "")
    target = picture(output, of, ending)
    write(sources, names, target, title=title, scale=scale, limits=limits)
    return target


def plot_each(
    runs: str | Path | Sequence[str | Path],
    folder: Path,
    *,
    plot: str | Sequence[str] = (),
    title: str = "",
    scales: Sequence[Scale] = ("auto",),
    limits: Limits = NO_LIMITS,
    form: str = "png",
) -> Iterator[Path | PlotError]:
    """Draws every run by itself into `folder`, once for each scale: `ID_fixed.png`, `ID_var.png`, for `auto` `ID.png`.

    Gives the file of each picture, or what was wrong with it; raises `PlotError` before the first one for what
    concerns all.
    """
    wanted = {scale: chosen(plot, scale) for scale in scales}
    pictures: dict[Path, tuple[Source, Scale]] = {}
    for source in sources_of(runs):
        for scale in scales:
            ending = "" if scale == "auto" else f"_{scale}"
            target = picture(folder / f"{source.id.replace('/', '-')}{ending}.{form}", "", "")
            if target in pictures:
                both = f"{pictures[target][0].id} and {source.id}"
                raise PlotError(f"{target}: expected one run for each picture, found {both}")
            pictures[target] = source, scale
    for target, (source, scale) in pictures.items():
        try:
            write([source], wanted[scale], target, title=title, scale=scale, limits=limits)
        except PlotError as error:
            yield PlotError(f"{source.id}: {error}".replace(f"{source.id}: {source.id}:", f"{source.id}:"))
        else:
            yield target


def draw_study(folder: Path, make: Callable[[Study], Chart], output: Path | None = None) -> Path:
    """Draws a chart of the study in a results folder; raises `StudyError` for what the study does not have."""
    study = Study.of(ResultSet.open(folder))
    chart = make(study)
    name = study.points[0].id.partition("/")[0]
    target = picture(output, name, chart.kind)
    with styled():
        heading = f"{name}: {chart.title}"
        description = f"{chart.y.label} over {chart.x.label}, {chart.runs} points of {name}"
        save(charts.draw(chart), target, heading=heading, description=description)
    return target


def sources_of(runs: str | Path | Sequence[str | Path]) -> list[Source]:
    """The runs of all these folders and files."""
    paths = [runs] if isinstance(runs, str | Path) else list(runs)
    return [source for each in paths for source in load(Path(each))]


def load(path: Path) -> list[Source]:
    """The runs that a path names."""
    if path.is_file():
        return [flent.FlentFile(path)]
    if not exists(path):
        raise PlotError(f"{path}: expected a run folder or a Flent file")
    runs: list[Source] = list(ResultSet.open(path).runs.values())
    runs = runs or [flent.FlentFile(file) for file in flent.files(path)]
    if not runs:
        raise PlotError(f"{path}: expected the folder of a run, of several or of Flent files, found none")
    return runs
