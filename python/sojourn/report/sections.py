"""From a comparison to sections: one for each scenario, with its question, answer, table and rows of runs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sojourn import compare, metrics, results, suites
from sojourn.compare import Comparison, Pair
from sojourn.report import own
from sojourn.suites import future, hackathon, scream

if TYPE_CHECKING:
    from sojourn.metrics import RunSummary, Source

#: Headings and questions of scenarios whose runs ask each their own.
SCENARIOS = {
    "ect1/s1-oneflow": ("One flow alone over the new queue", "Is the link full, and how deep is the queue?"),
    "ect1/s2-twoflow": (
        "Two flows: CUBIC, joined 10 s later by the new controller, 50 Mbit/s",
        "How do they share each queue, and at what delay?",
    ),
    "ect1/s3-bottleneck-shift": (
        "The bottleneck moves from the new queue to a classic one and back",
        "How long does the flow take to notice?",
    ),
    "ect1/s4-capacity-reduction": (
        "The link's rate falls and rises again",
        "What does the step cost in delay, and how fast is the way back?",
    ),
    "ect1/s5-burstiness": ("Packets arrive in Wi-Fi-like bursts", "What is left of the link's rate?"),
    "ect1/s6-jitter": ("The path's delay jitters", "How much jitter is taken for congestion?"),
    **{f"hackathon/{key}": asked for key, asked in hackathon.SCENARIOS.items()},
    **{f"future/{key}": asked for key, asked in future.SCENARIOS.items()},
    **scream.SCENARIOS,
}
#: Suites whose questions ask how the runs of a scenario differ, even without sides.
COMPARING = ("hackathon", "future")
SIDES = {"l4s": "L4S", "sce": "SCE", "classic": "classic"}
#: With more sides than these a sentence with all of them is easier to read than one after the other.
SIDE_BY_SIDE = 2
#: Words of run ids that mean the same on both sides: each side's own controllers and queues.
COUNTERPARTS = {
    **dict.fromkeys(("prague", "cubic-sce", "reno-sce"), "own"),
    **dict.fromkeys(("dctcp", "dctcp-sce"), "dctcp"),
    **dict.fromkeys(("dualpi2", "twin_codel_af", "lfq_cobalt", "cake"), "aqm"),
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
        """The other side, if there is one."""
        return self.pair.b if self.pair else None

    @property
    def side(self) -> str:
        """`l4s`, `sce`, `classic` or nothing."""
        parts = self.id.split("/")
        found = re.match(rf"({'|'.join(SIDES)})-", parts[1]) if len(parts) > 2 else None
        return found[1] if found else ""


@dataclass
class Section:
    """A scenario."""

    key: str
    runs: list[Run] = field(default_factory=list)

    @property
    def heading(self) -> str:
        """What happens in it."""
        if self.key in SCENARIOS:
            return SCENARIOS[self.key][0]
        return (_description(self.runs[0].ours) if self.own and self.runs else "") or self.key

    @property
    def own(self) -> bool:
        """Whether its runs are of one scenario of the user's: no suite's, and of no architecture's half."""
        return self.key.split("/")[0] not in suites.NAMES and not any(run.side for run in self.runs)

    @property
    def tabled(self) -> bool:
        """Whether its runs are the columns of one table."""
        return self.own and 1 <= len(self.runs) <= own.MOST and all(run.pair is None for run in self.runs)

    @property
    def beside(self) -> bool:
        """Whether the figures of its runs stand beside each other."""
        return self.tabled and len(self.runs) > 1

    @property
    def question(self) -> str:
        """What its runs are there to find out: one question, or one for each side."""
        if self.key in SCENARIOS:
            return SCENARIOS[self.key][1]
        asked = dict.fromkeys(text for run in self.runs if (text := _questions().get(run.id)))
        return " ".join(asked) if len(asked) <= len(SIDES) else ""

    @property
    def sides(self) -> list[str]:
        """The architectures that stand side by side in it."""
        present = [side for side in SIDES if any(run.side == side for run in self.runs)]
        return present if len(present) > 1 else []

    def columns(self) -> list[str]:
        """What stands above the figures of a row; empty where each has a row of its own."""
        return own.columns([run.ours for run in self.runs]) if self.beside else [SIDES[side] for side in self.sides]

    def rows(self) -> list[tuple[str, list[list[Run]]]]:
        """What stands side by side: a name of the condition, and the runs of each column."""
        if self.beside:
            return [("", [[run] for run in self.runs])]
        if not self.sides:
            return [("", [[run]]) for run in self.runs]
        found: dict[str, list[Run]] = {}
        for run in self.runs:
            found.setdefault(condition(run.id), []).append(run)
        ordered = sorted(found.items(), key=lambda item: compare.natural(item[0]))
        return [(name, [[run for run in runs if run.side == side] for side in self.sides]) for name, runs in ordered]


def condition(run_id: str) -> str:
    """What a run shares with its counterpart on the other side."""
    labels = ["-vs-".join(_counterpart(word) for word in label.split("-vs-")) for label in run_id.split("/")[2:]]
    return "/".join(labels)


def _counterpart(word: str) -> str:
    stem, gamed, _ = word.partition("-gamed")
    return COUNTERPARTS.get(stem, stem) + gamed


@cache
def _questions() -> dict[str, str]:
    return {case.id: case.question for case in suites.every()}


def _description(source: Source) -> str:
    path = getattr(source, "path", None)
    try:
        return str(results.Run(path).document.get("description", "")) if path else ""
    except results.ResultsError:
        return ""


def runs_of(comparison: Comparison) -> list[Run]:
    """The runs of a page: the first seed of each, and of a suite its first variant."""
    runs = [Run(pair.id, pair.a, pair.summary_a, pair) for pair in comparison.pairs if "@" not in pair.id]
    ids = {source.id for source in comparison.lone} | {run.id for run in runs}
    runs += [
        Run(source.id, source, metrics.summarise(source, metrics.measuring_window(source)), None)
        for source in comparison.lone
        if not any(shorter in ids for shorter in _shorter(source.id))
    ]
    return sorted(runs, key=lambda run: compare.natural(run.id))


def _shorter(run_id: str) -> Iterator[str]:
    """Ids of the runs that stand for this one: its first seed, and of a suite's variant the suite's own run."""
    if "@" in run_id:
        yield run_id.partition("@")[0]
    if "~" in run_id and run_id.split("/")[0] in suites.NAMES:
        yield re.split("[@~]", run_id)[0]


def sections_of(runs: Iterable[Run]) -> list[Section]:
    """Runs by scenario; both architectures of a scenario are one section."""
    found: dict[str, Section] = {}
    for run in runs:
        parts = run.id.split("/")
        scenario = re.sub(rf"^({'|'.join(SIDES)})-", "", parts[1]) if len(parts) > 2 else ""
        key = f"{parts[0]}/{scenario}" if scenario else re.split("[@~]", parts[0])[0]
        found.setdefault(key, Section(key)).runs.append(run)
    return sorted(found.values(), key=lambda section: compare.natural(section.key))


def short_names(section: Section) -> dict[str, str]:
    """Ids without the labels that all runs of the section have in common."""
    split = [run.id.split("/") for run in section.runs]
    most = min(map(len, split)) - 1
    same = [len({parts[index] for parts in split}) == 1 for index in range(most)]
    shared = next((index for index, one in enumerate(same) if not one), most) if len(split) > 1 else min(2, most)
    return {run.id: "/".join(parts[shared:]) or run.id for run, parts in zip(section.runs, split, strict=True)}


def link(source: Source, out: Path) -> str | None:
    """Relative link to the run's full series, if it has a folder."""
    folder = getattr(source, "path", None)
    if folder is None or not (file := Path(folder) / "series.parquet").is_file():
        return None
    return quote(Path(os.path.relpath(file.resolve(), out.parent.resolve())).as_posix())


def numbered(sections: list[Section]) -> Iterator[tuple[int, Run]]:
    """Figures in the order of the page."""
    yield from enumerate((run for s in sections for _, columns in s.rows() for column in columns for run in column), 1)
