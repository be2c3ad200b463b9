"""The report by a template of the user's: their text, with our tables, pictures and links.

A template may come from a stranger. It runs in jinja2's sandbox and is handed text, numbers and the classes of this
module, whose public names neither read nor write a file of its choice. What it asks for (pictures, logs) is written
after it has been rendered whole, into `NAME_files` beside the page.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from sojourn import compare, logs, metrics, path, plot, results
from sojourn.files import write_whole
from sojourn.plot.upload_with_ping_and_tcp_rtt import Scale
from sojourn.report import answers, flow_rows, html, markdown, own, sections
from sojourn.report.flow_rows import FlowRow
from sojourn.report.model import Cell, Column, number
from sojourn.text import harmless

if TYPE_CHECKING:
    from sojourn.compare import Comparison
    from sojourn.metrics import Source
    from sojourn.report.sections import Section

HTML = (".html", ".htm")
#: What a page's template is called after the page's name.
ENDINGS = (".j2", ".jinja", ".jinja2")
WRONG = (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)
NOTHING = Markup("")


class TemplateError(ValueError):
    """One line that says where in a template something is wrong, and what was expected."""


def write(results_: Path, template: Path, out: Path | None, measured: Path | None, errors: list[str]) -> Path:
    """Renders a template with the runs of a results folder; returns the page.

    `out` ending in .html makes HTML, anything else Markdown; without one the template's name decides, before an ending
    such as .j2. Raises `TemplateError`, one line, before anything is written.
    """
    text = _read(template)
    as_html = _page_name(out or template).endswith(HTML)
    target = out or Path("report.html" if as_html else "report.md")
    if target.exists() and target.resolve() == template.resolve():
        raise TemplateError(f"--output {target}: expected another file than the template")
    comparison = compare.collect(results_, measured)
    comparison.sides = (compare.names_of(results_, measured) if measured else None) or compare.MEASURED
    page = Target(comparison, target, as_html=as_html)
    content = page.render(text, template, harmless(results_.resolve().name))
    errors += comparison.errors
    for file, make in page.files.items():
        try:
            make(file)
        except (plot.PlotError, results.ResultsError) as error:
            errors.append(f"{file}: {error}")
    write_whole(target, content)
    return target


class Target:
    """What a template is rendered into: the runs that it shows, and the files that it refers to."""

    def __init__(self, comparison: Comparison, target: Path, *, as_html: bool) -> None:
        self.html = as_html
        self.files: dict[Path, Callable[[Path], None]] = {}
        self.sides = comparison.sides
        self._comparison = comparison
        # A page that goes to a pipe has its files in the current folder.
        self.folder = target.parent if target.is_file() or not target.exists() else Path()
        self.beside = self.folder / f"{target.stem}_files"

    def render(self, text: str, template: Path, name: str) -> str:
        """The page's text; what it refers to is in `files`."""
        environment = ImmutableSandboxedEnvironment(
            autoescape=self.html,
            finalize=None if self.html else _finalize,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        environment.filters["number"] = number
        try:
            return environment.from_string(text).render(self._names(name))
        except WRONG as error:
            line = getattr(error, "lineno", None) or _line(error)
            where = f"{template}: line {line}" if line else str(template)
            message = " ".join(str(error).split()) or type(error).__name__
            raise TemplateError(f"{where}: {harmless(message)}") from None

    def _names(self, name: str) -> dict[str, Any]:
        runs = sections.runs_of(self._comparison)
        views = {run.id: View(run, self) for run in runs}
        return {
            "title": name,
            "runs": list(views.values()),
            "sections": [Part(section, self, views) for section in sections.sections_of(runs)],
            "select": lambda pattern: _select(views, pattern),
            "run": lambda pattern: _only(views, pattern),
            "table": self.table,
            "definitions": dict(metrics.DEFINITIONS),
            "left_out": [harmless(line) for line in self._comparison.errors],
        }

    def table(self, runs: Iterable[View], *, plot: str = "", scale: str = "auto") -> Markup:
        """A row for each flow, with links to a picture of the run (`plot` and `scale` choose it), logs and data."""
        views = {view.id: view for view in runs}
        found = flow_rows.table([view._run for view in views.values()], {name: name for name in views}, self.sides)
        groups = []
        for group in found.groups:
            first, *others = group.rows or [
                [None if column.kind == "number" else Cell() for column in found.columns[1:]]
            ]
            links = Cell(links=views[group.run]._links(plot, scale))
            rows = [[*first, links], *([*row, Cell()] for row in others)]
            groups.append(replace(group, head=[Cell(group.run)], rows=rows))
        columns = [Column("Run", "name"), *found.columns[1:], Column("Links", "text")]
        shown = replace(found, columns=columns, groups=groups)
        return html.table(shown) if self.html else Markup(markdown.table(shown))  # noqa: S704 - escaped

    def link(self, label: str, address: str) -> Markup:
        """A link in the page's own markup."""
        if self.html:
            return Markup('<a href="{}">{}</a>').format(address, label)
        return Markup(markdown.link(label, address))  # noqa: S704 - the address is quoted, the label escaped

    def image(self, label: str, address: str) -> Markup:
        """A picture in the page's own markup, which leads to its file."""
        if self.html:
            return Markup('<a href="{0}"><img src="{0}" alt="{1}"></a>').format(address, label)
        return Markup(f"[![{markdown.escape(label)}]({address})]({address})")  # noqa: S704 - as above

    def wants(self, name: str, make: Callable[[Path], None]) -> Markup:
        """The address of a file beside the page, which is made once the page is rendered."""
        self.files[self.beside / name] = make
        return self.address(self.beside / name)

    def address(self, file: Path) -> Markup:
        """Of a file, relative to the page."""
        return Markup(sections.relative(file, self.folder))  # noqa: S704 - quoted


class View:
    """A run as a template sees it: text and numbers, and links."""

    def __init__(self, run: sections.Run, page: Target) -> None:
        self._run, self._page = run, page
        self._finished = results.run_of(run.ours)
        self.id = run.id
        self.labels = run.id.split("/")
        self.side = run.side
        way = path.of(run.ours)
        self.queues, self.rates_mbps, self.rtts_ms, self.path = way.queues, way.rates_mbps, way.rtts_ms, str(way)
        self.window_s = run.summary.window_s if run.summary else None

    def __str__(self) -> str:
        return self.id

    @property
    def scenario(self) -> dict[str, Any]:
        """The resolved scenario."""
        return dict(path.scenario(self._run.ours))

    @property
    def description(self) -> str:
        """What the scenario says of itself."""
        return str(self.scenario.get("description", ""))

    @property
    def summary(self) -> dict[str, Any]:
        """What summary.json holds."""
        return own.summary(self._run.ours)

    @property
    def qdiscs(self) -> list[dict[str, Any]]:
        """What queue.json holds: a table for each queue."""
        return own.queues(self._run.ours)

    @property
    def manifest(self) -> dict[str, Any]:
        """What manifest.json holds: version, seed, hash, and when, where and how it was made."""
        return dict(self._finished.manifest) if self._finished else {}

    @property
    def rows(self) -> list[FlowRow]:
        """The rows of the report's table: `label`, `kind` of delay, `goodput`, `rtt` (mean, p50, p95, p99), texts.

        The texts are `marks`, `spread` of goodput over time, and `mode`: the share in classic mode. A cell has `a`, `b`
        of the measured run where there is one, and `diff`.
        """
        return flow_rows.of(self._run)

    def picture(self, plot: str = "", scale: str = "auto", form: str = "svg") -> Markup:
        """Address of a picture, drawn as by `sojourn plot`."""
        names = _drawable(plot, scale, form)
        of = f"-{re.sub('[^A-Za-z0-9_.]+', '-', plot)}" if plot else ""
        ending = f"{of}_{scale}" if scale != "auto" else of
        make = partial(_draw, self._run.ours, names, cast("Scale", scale))
        return self._page.wants(f"{self.id}{ending}.{form}", make)

    def inline(self, title: str = "", plot: str = "", scale: str = "auto", form: str = "svg") -> Markup:
        """A picture within the text."""
        return self._page.image(title or self.id, self.picture(plot, scale, form))

    @property
    def setup(self) -> Markup:
        """Address of the log of the commands that build it."""
        return self._log("setup")

    @property
    def teardown(self) -> Markup:
        """Address of the log of the queues' and flows' statistics at its end."""
        return self._log("teardown")

    @property
    def qdisc(self) -> Markup:
        """Address of the queues' statistics, JSON."""
        return self._file("queue.json")

    @property
    def series(self) -> Markup:
        """Address of all series, Parquet."""
        return self._file("series.parquet")

    def links(self, plot: str = "", scale: str = "auto") -> Markup:
        """Links to the picture and to what else there is of the run."""
        return Markup(" - ").join(self._page.link(label, at) for label, at in self._links(plot, scale).items())

    def _links(self, plot: str, scale: str) -> dict[str, str]:
        addresses = {
            "plot": self.picture(plot, scale),
            "setup": self.setup,
            "teardown": self.teardown,
            "qdisc": self.qdisc,
            "series": self.series,
        }
        return {label: at for label, at in addresses.items() if at}

    def _log(self, which: logs.Log) -> Markup:
        run = self._finished
        if run is None:
            return NOTHING
        return self._page.wants(f"{self.id}.{which}.log", lambda file: write_whole(file, logs.log(run, which)))

    def _file(self, name: str) -> Markup:
        file = self._finished.files.place(name) if self._finished else None
        return self._page.address(file) if file else NOTHING


class Part:
    """A section of the report: the runs of one scenario, its question, and the answer from the numbers."""

    def __init__(self, section: Section, page: Target, views: dict[str, View]) -> None:
        self.key, self.heading, self.question = section.key, section.heading, section.question
        self.answer = " ".join(answers.answers(section, page.sides))
        self.runs = [views[run.id] for run in section.runs]

    def __str__(self) -> str:
        return self.key


def _select(views: dict[str, View], pattern: str) -> list[View]:
    try:
        wanted = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise TemplateError(f"select({pattern!r}): expected a regular expression over run ids ({error})") from None
    return [view for run_id, view in views.items() if wanted.search(run_id)]


def _only(views: dict[str, View], pattern: str) -> View:
    if pattern in views:
        return views[pattern]
    found = _select(views, pattern)
    if len(found) != 1:
        near = get_close_matches(str(pattern), list(views), n=1)
        hint = f"; nearest is {near[0]}" if near and not found else ""
        raise TemplateError(f"run({pattern!r}): expected one run, found {len(found)}{hint}")
    return found[0]


def _drawable(names: str, scale: str, form: str) -> list[str]:
    """What to draw, checked before the page is written."""
    if scale not in get_args(Scale):
        raise TemplateError(f"scale {scale!r}: expected one of {', '.join(get_args(Scale))}")
    if f".{form}" not in plot.FORMATS:
        raise TemplateError(f"format {form!r}: expected one of {', '.join(plot.FORMATS)}")
    return plot.chosen([name for name in re.split(r"[,\s]+", str(names)) if name], cast("Scale", scale))


def _draw(run: Source, names: list[str], scale: Scale, file: Path) -> None:
    plot.write([run], names, file, scale=scale)


def _finalize(value: Any) -> str:
    """A value in a Markdown page; what is no markup of ours is text."""
    return str(value) if isinstance(value, Markup) else markdown.escape(str(value))


def _line(error: BaseException) -> int | None:
    """Of the template, where it went wrong."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == "<template>"), None)


def _page_name(file: Path) -> str:
    name = file.name.lower()
    return name.removesuffix(next((end for end in ENDINGS if name.endswith(end)), ""))


def _read(template: Path) -> str:
    try:
        return template.read_text(encoding="utf-8")
    except OSError as error:
        raise TemplateError(f"--template {template}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise TemplateError(f"--template {template}: is not UTF-8 text") from None
