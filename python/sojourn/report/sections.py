"""From a comparison to sections: one for each scenario, with its question, answer, table and rows of runs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sojourn import compare, conditions, metrics, path, results
from sojourn.compare import Comparison, Pair
from sojourn.metrics import Stats
from sojourn.report import own
from sojourn.suites import Role

if TYPE_CHECKING:
    from sojourn.metrics import RunSummary, Source

#: More questions than these are those of single runs.
MOST_QUESTIONS = 3
#: With more sides than these a sentence with all of them is easier to read than one after the other.
SIDE_BY_SIDE = 2


@dataclass(frozen=True)
class Run:
    """A run of the page; without a pair there is nothing to hold it against."""

    id: str
    ours: Source
    summary: RunSummary | None
    pair: Pair | None
    pings: dict[str, Stats | None] = field(default_factory=dict)
    """Each of its pings in the window, by its label."""
    path_rtt_ms: float | None = None
    """The empty path's RTT: what its suite states, else the least ping or RTT of the run."""
    kernel: Source | None = None
    """The same run on a real kernel, if there is one."""

    @classmethod
    def of(cls, source: Source, pair: Pair | None, kernel: Source | None) -> Run:
        """All that the page says of a run's series but their curves."""
        summary = pair.summary_a if pair else metrics.summarise(source, metrics.measuring_window(source))
        pings: dict[str, Stats | None] = {}
        path_rtt = None
        if summary:
            over = summary.window_s
            for name, label in path.pings(source).items():
                pings[label] = Stats.of(metrics.inside(source, name, over))
            path_rtt = _path_rtt_ms(source)
        return cls(source.id, source, summary, pair, pings, path_rtt, kernel)

    @cached_property
    def kernel_summary(self) -> RunSummary | None:
        """What it did there in the same window."""
        return (
            metrics.summarise(metrics.Cached(self.kernel), self.summary.window_s)
            if self.kernel and self.summary
            else None
        )

    @property
    def measured(self) -> Source | None:
        """The other side, if there is one."""
        return self.pair.b if self.pair else None

    @property
    def role(self) -> Role:
        """Its role beside others."""
        return conditions.role(self.ours)

    @property
    def condition(self) -> str:
        """What it shares with its counterparts on the other sides, and its variant."""
        return self.role.condition + "".join(self.id.partition("~")[1:])

    @property
    def side(self) -> str:
        """`L4S`, `SCE`, `classic` or nothing."""
        return self.role.side


@dataclass
class Section:
    """A scenario."""

    key: str
    runs: list[Run] = field(default_factory=list)

    @property
    def heading(self) -> str:
        """What happens in it."""
        stated = next((run.role.heading for run in self.runs if run.role.heading), "")
        return stated or (_description(self.runs[0].ours) if self.own and self.runs else "") or self.key

    @property
    def own(self) -> bool:
        """Whether its runs are of one scenario of the user's, and of no suite."""
        return not any(run.role.section for run in self.runs)

    @property
    def tabled(self) -> bool:
        """Whether its runs are the columns of one table."""
        return self.own and 1 <= len(self.runs) <= own.MOST and all(run.pair is None for run in self.runs)

    @property
    def beside(self) -> bool:
        """Whether the figures of its runs are shown beside each other."""
        return self.tabled and len(self.runs) > 1

    @property
    def question(self) -> str:
        """What its runs are there to find out: one question, or one for each side."""
        asked = dict.fromkeys(run.role.question for run in self.runs if run.role.question)
        return " ".join(asked) if len(asked) <= MOST_QUESTIONS else ""

    @property
    def sides(self) -> list[str]:
        """The architectures that are shown side by side in it."""
        order = dict.fromkeys(side for run in self.runs for side in run.role.sides)
        present = [side for side in order if any(run.side == side for run in self.runs)]
        return present if len(present) > 1 else []

    def columns(self) -> list[str]:
        """The heading of the figures of a row; empty where each has a row of its own."""
        return own.columns([run.ours for run in self.runs]) if self.beside else self.sides

    def rows(self) -> list[tuple[str, list[list[Run]]]]:
        """What is shown side by side: a name of the condition, and the runs of each column."""
        if self.beside:
            return [("", [[run] for run in self.runs])]
        if not self.sides:
            return [("", [[run]]) for run in self.runs]
        found: dict[str, list[Run]] = {}
        for run in self.runs:
            found.setdefault(run.condition, []).append(run)
        ordered = sorted(found.items(), key=lambda item: compare.natural(item[0]))
        return [(name, [[run for run in runs if run.side == side] for side in self.sides]) for name, runs in ordered]


def _description(source: Source) -> str:
    run = results.run_of(source)
    try:
        return str(run.document.get("description", "")) if run else ""
    except results.ResultsError:
        return ""


def shown(comparison: Comparison) -> set[str]:
    """Ids of the runs of a page: the first seed of each, and of a suite its first variant."""
    paired = {pair.id for pair in comparison.pairs if "@" not in pair.id}
    ids = paired | {source.id for source in comparison.lone}
    return paired | {source.id for source in comparison.lone if not any(shorter in ids for shorter in _shorter(source))}


def runs_of(comparison: Comparison, use: Callable[[Source, Run | None], None] = lambda *_: None) -> list[Run]:
    """The runs of a page.

    `use` has every run of side A, and what the page says of it if it is on it, while its series are in memory. One
    whose series cannot be read is left out of the comparison, and gets a line in its errors.
    """
    pairs = {pair.id: pair for pair in comparison.pairs}
    sources = [*comparison.lone, *(pair.a for pair in comparison.pairs)]
    on_page = shown(comparison)
    runs = []
    for source in sorted(sources, key=lambda source: compare.natural(source.id)):
        try:
            if isinstance(source, metrics.Cached):
                source.read()  # also of one that is not on the page
            kernel = comparison.kernel.get(source.id)
            run = Run.of(source, pairs.get(source.id), kernel) if source.id in on_page else None
            use(source, run)
        except results.ResultsError as error:
            comparison.errors.append(str(error))
            comparison.lone = [one for one in comparison.lone if one is not source]
            comparison.pairs = [pair for pair in comparison.pairs if pair.a is not source]
        else:
            runs += [run] if run else []
    return runs


def _path_rtt_ms(source: Source) -> float | None:
    if (stated := conditions.role(source).rtt_ms) is not None:
        return stated
    series = metrics.pings(source) or [
        *(f"flow.{flow}.rtt" for flow in metrics.flows(source)),
        *(f"group.{group}.rtt.min" for group in metrics.groups(source)),
    ]
    least = [float(values.min()) for name in series if (values := metrics.finite(source, name)[1]).size]
    return min(least) if least else None


def _shorter(source: Source) -> Iterator[str]:
    """Ids of the runs that represent this one: its first seed, and of a suite's variant the suite's own run."""
    if "@" in source.id:
        yield source.id.partition("@")[0]
    if "~" in source.id and conditions.role(source).section:
        yield re.split("[@~]", source.id)[0]


def sections_of(runs: Iterable[Run]) -> list[Section]:
    """Runs by scenario; both architectures of a scenario are one section."""
    found: dict[str, Section] = {}
    for run in runs:
        parts = run.id.split("/")
        key = run.role.section or ("/".join(parts[:2]) if len(parts) > 2 else re.split("[@~]", parts[0])[0])
        found.setdefault(key, Section(key)).runs.append(run)
    return sorted(found.values(), key=lambda section: compare.natural(section.key))


def short_names(section: Section) -> dict[str, str]:
    """Ids without the labels that all runs of the section have in common."""
    split = [run.id.split("/") for run in section.runs]
    most = min(map(len, split)) - 1
    same = [len({parts[index] for parts in split}) == 1 for index in range(most)]
    shared = next((index for index, one in enumerate(same) if not one), most) if len(split) > 1 else min(2, most)
    return {run.id: "/".join(parts[shared:]) or run.id for run, parts in zip(section.runs, split, strict=True)}


def link(source: Source, folder: Path) -> str:
    """A file of the run's full series alone, relative to a folder; empty if there is none."""
    run = results.run_of(source)
    return relative(file, folder) if run and (file := run.files.place("series.parquet")) else ""


def relative(file: Path, folder: Path) -> str:
    """A file's address in a page in this folder."""
    return quote(Path(os.path.relpath(file.resolve(), folder.resolve())).as_posix())
