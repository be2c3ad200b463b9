"""The report as plain data: everything that a printer shows, and no markup.

`html`, `markdown` and JSON are printers over it; another front end needs nothing but this. Its JSON Schema is
`docs/page.schema.json`. What has its default is left out of JSON. Numbers are not rounded.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal

from sojourn.study.chart import Chart

#: What printers show for a number that is not known.
NOTHING = "\N{EN DASH}"

Mark = Literal["", "pass", "fail", "not-run", "report-only", "contradicted", "over", "far over", "under", "far under"]
"""A verdict; or that A is over or under B by more than is near, or by far."""
Kind = Literal["name", "text", "soft", "prose", "value", "number", "change"]
"""What a column holds: names of its rows, text, text of less weight, sentences, numbers with their units or several of
them as text, numbers, or numbers with a sign."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Text; in columns of numbers the number of the results, and that of the other side where there is one."""

    text: str = ""
    a: float | None = None
    """A number that is absent is not known."""
    b: float | None = None
    mark: Mark = ""
    note: str = ""
    """Small print below the text."""
    hint: str = ""
    """Where it comes from."""
    links: dict[str, str] = field(default_factory=dict)
    """Files, relative to the page, by what to call them."""
    section: str = ""
    """Id of the section that it leads to."""

    @property
    def diff(self) -> float | None:
        """A minus B."""
        return None if self.a is None or self.b is None else self.a - self.b


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    heading: str
    kind: Kind = "number"
    main: bool = False
    """Whether it is what the table is about: the results."""
    run: str = ""
    """Id of the run whose numbers it holds."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that belong together, as those of a run."""

    rows: list[list[Cell | None]]
    """A cell is null where the column does not apply."""
    head: list[Cell] = field(default_factory=list)
    """The first columns, which all rows share."""
    run: str = ""
    """Id of the run, if they are of one."""
    note: str = ""
    """What to say where there are no rows."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings."""

    id: str
    """What it holds: `glance`, `differences`, `parameters`, `scoreboard`, `grid`, `flows`, `runs`, `criterion`,
    `intervals`, `intervals-rows`, `study`."""
    columns: list[Column]
    groups: list[Group]
    caption: str = ""
    sides: tuple[str, str] | None = None
    """What the two sides of every number are called; null where there is one."""


@dataclass(frozen=True, slots=True)
class Series:
    """One curve: values at `t_s`, or at middles of equal steps from 0 to the figure's end; null for gaps."""

    label: str
    colour: str
    values: list[float | None]
    side: Literal[0, 1] = 0
    """1 for the other side of the comparison."""
    dash: int = 0
    """Curves of one colour differ in it."""
    edge: Literal["", "low", "high"] = ""
    """Whether it bounds the band of copies of a flow."""
    t_s: list[float] = field(default_factory=list)
    """Times of the values, ascending, where they are not equal steps."""
    shape: Literal["line", "stairs", "points", "bars"] = "line"
    """Bars reach from `low` up to the value."""
    low: list[float | None] = field(default_factory=list)
    """Lower ends of bars."""


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves of one kind over the time of a run."""

    kind: Literal["rate", "rtt", "completion", "sequence", "marks", "flight"]
    title: str
    unit: str
    series: list[Series] = field(default_factory=list)
    range: tuple[float, float] = (0.0, 1.0)
    """Of the vertical axis; runs beside each other share it."""
    peak: float | None = None
    """The largest value, where the axis ends below it."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The plots of a run."""

    run: str
    end_s: float
    plots: list[Plot]
    window_s: tuple[float, float] | None = None
    """The measuring window."""
    compared: bool = False
    """Whether the other side has the run."""
    data: str = ""
    """The file with the whole series, relative to the page."""
    caption: str = ""
    """What to see in it; empty for what printers say of all."""


@dataclass(frozen=True, slots=True)
class Row:
    """Figures beside each other: those of each side or, without sides, of one run."""

    columns: list[list[Figure]]
    condition: str = ""
    """What the sides have in common."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A flow: the other side across, the results up."""

    label: str
    x: float
    y: float
    colour: str
    is_new: bool = False
    """Whether its controller is the one that the runs are about."""
    name: str = ""
    """What to write beside it, where it lies far off."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """All flows in one picture, on the diagonal where both sides agree."""

    title: str
    range: tuple[float, float]
    ticks: list[float]
    dots: list[Dot]
    log: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page; what it has is shown in this order."""

    id: str
    heading: str
    question: str = ""
    text: list[str] = field(default_factory=list)
    """Paragraphs, the answer first."""
    tally: dict[str, int] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    scatters: list[Scatter] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    sides: list[str] = field(default_factory=list)
    """Names of the columns of `figures`."""
    figures: list[Row] = field(default_factory=list)
    terms: dict[str, str] = field(default_factory=dict)
    """Definitions."""
    notes: list[str] = field(default_factory=list)
    """Small print."""


@dataclass(frozen=True, slots=True)
class Page:
    """A report, or a report card."""

    title: str
    lead: str
    sides: tuple[str, str]
    """What A and B are called."""
    sections: list[Section]
    intro: str = ""
    errors: list[str] = field(default_factory=list)
    """What was left out, a line each."""
    schema: Literal["sojourn/page/1"] = "sojourn/page/1"

    @property
    def figures(self) -> list[Figure]:
        """Those of all sections, in the order of the page."""
        return [one for part in self.sections for row in part.figures for column in row.columns for one in column]


def to_json(page: Page) -> str:
    """The page as one JSON document."""
    return json.dumps(page, default=_document, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _document(part: Any) -> dict[str, Any]:
    """The fields of a part; those that have their default are left out, but for the name of the schema."""
    found = {}
    for one in fields(part):
        value = getattr(part, one.name)
        default = one.default_factory() if one.default_factory is not MISSING else one.default
        if value != default or one.name == "schema":
            found[one.name] = value
    return found


def number(value: float | None, sign: str = "") -> str:
    """As printers show it: two decimals, one from 100 on; a true minus sign, and no sign for what rounds to nothing."""
    if value is None:
        return NOTHING
    text = format(value, f"{sign}.{1 if abs(value) >= 100 else 2}f")
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")
