"""From a comparison to sections: one for each scenario, with its question, answer, table and rows of runs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from sojourn import compare, conditions, metrics, path, results
from sojourn.compare import Comparison, Difference, Pair
from sojourn.groups import groups
from sojourn.report import across, own
from sojourn.report.own import number
from sojourn.suites import Role

if TYPE_CHECKING:
    from sojourn.metrics import RunSummary, Source, Stats

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

    @property
    def measured(self) -> Source | None:
        """The other side, if there is one."""
        return self.pair.b if self.pair else None

    @property
    def role(self) -> Role:
        """What it stands for beside others."""
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
        told = next((run.role.heading for run in self.runs if run.role.heading), "")
        return told or (_description(self.runs[0].ours) if self.own and self.runs else "") or self.key

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
        """Whether the figures of its runs stand beside each other."""
        return self.tabled and len(self.runs) > 1

    @property
    def question(self) -> str:
        """What its runs are there to find out: one question, or one for each side."""
        asked = dict.fromkeys(run.role.question for run in self.runs if run.role.question)
        return " ".join(asked) if len(asked) <= MOST_QUESTIONS else ""

    @property
    def sides(self) -> list[str]:
        """The architectures that stand side by side in it."""
        order = dict.fromkeys(side for run in self.runs for side in run.role.sides)
        present = [side for side in order if any(run.side == side for run in self.runs)]
        return present if len(present) > 1 else []

    def columns(self) -> list[str]:
        """What stands above the figures of a row; empty where each has a row of its own."""
        return own.table(self.runs).columns if self.beside else self.sides

    def rows(self) -> list[tuple[str, list[list[Run]]]]:
        """What stands side by side: a name of the condition, and the runs of each column."""
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
        if not any(shorter in ids for shorter in _shorter(source))
    ]
    return sorted(runs, key=lambda run: compare.natural(run.id))


def _shorter(source: Source) -> Iterator[str]:
    """Ids of the runs that stand for this one: its first seed, and of a suite's variant the suite's own run."""
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


# Answers, from the numbers.


@dataclass(frozen=True)
class Glance:
    """Medians over the runs of a side."""

    side: str
    runs: int
    utilisation: list[tuple[float, str]]
    queueing_ms: list[tuple[float, str]]
    p99_ms: list[tuple[float, str]]
    ratios: list[tuple[float, str]]

    @staticmethod
    def median(values: list[tuple[float, str]]) -> float | None:
        """Of the values alone."""
        return float(np.median([value for value, _ in values])) if values else None


def glances(section: Section) -> list[Glance]:
    """The section in numbers, each side by itself."""
    if section.beside:
        return [_glance(name, [run]) for name, run in zip(section.columns(), section.runs, strict=True)]
    return [
        _glance(side, [run for run in section.runs if not side or run.side == side]) for side in section.sides or [""]
    ]


def _glance(side: str, runs: list[Run]) -> Glance:
    glance = Glance(side, len(runs), [], [], [], [])
    for run in runs:
        if run.summary is None:
            continue
        where = "/".join(run.id.split("/")[2:]) or run.id
        if (used := utilisation(run)) is not None:
            glance.utilisation.append((100 * used, where))
        rtts = [flow.tcp_rtt_ms for flow in run.summary.flows if flow.tcp_rtt_ms]
        base = _path_rtt_ms(run)
        if rtts and base is not None:
            glance.queueing_ms.append((float(np.mean([rtt.p50 for rtt in rtts])) - base, where))
            if tails := [rtt.p99 for rtt in rtts if rtt.p99 is not None]:
                glance.p99_ms.append((max(tails) - base, where))
        if run.summary.ratio is not None and all(flow.tcp_rtt_ms for flow in run.summary.flows):
            glance.ratios.append((run.summary.ratio, where))
    return glance


def utilisation(run: Run) -> float | None:
    """Of the busiest link, from its counters; from goodput where a queue shapes below its link or a rate changes."""
    path = getattr(run.ours, "path", None)
    rates = [flow.goodput_mbps for flow in run.summary.flows if flow.goodput_mbps] if run.summary else []
    if path is None:
        ceiling = conditions.ceiling_mbps(run.ours)
        return sum(rates) / ceiling if ceiling and rates else None
    try:
        finished = results.Run(path)
        met, told = finished.conditions, None
        # A rate that changes can move the bottleneck from one link to another.
        if run.summary and (met.queue_shapes or len(met.capacity) > 1):
            told = met.mean_mbps(run.summary.window_s)
        if run.summary is None or told is None:
            used = finished.summary["metrics"]["throughput"]["utilisation"]
            return max(float(value) for value in used.values())
        up = across.ways_up(run)
        rates = [flow.goodput_mbps for flow in run.summary.flows if flow.goodput_mbps and flow.name not in up]
        return sum(rates) / metrics.PAYLOAD_SHARE / told if rates else None
    except (OSError, results.ResultsError, AttributeError, KeyError, TypeError, ValueError):
        return None


def _path_rtt_ms(run: Run) -> float | None:
    """The empty path's RTT: what its suite states, else the least ping or RTT of the run."""
    if (stated := run.role.rtt_ms) is not None:
        return stated
    series = metrics.pings(run.ours) or [f"flow.{flow}.rtt" for flow in metrics.flows(run.ours)]
    least = [float(values.min()) for name in series if (values := metrics.finite(run.ours, name)[1]).size]
    return min(least) if least else None


def answers(section: Section, sides: tuple[str, str]) -> list[str]:
    """A sentence that the numbers of a section give, and one about the other side of the comparison."""
    parts = [text for glance in glances(section) if (text := _said(glance))]
    said = [text] if (text := _across(section)) else []
    joined = "; ".join(parts)
    said += [(joined if section.beside else _capital(joined)) + "."] if parts else []
    if beside := _beside(section.runs, sides):
        said.append(beside)
    return said or [f"{_count(len(section.runs), 'run')}, none with a flow that lives long enough for a window."]


def _across(section: Section) -> str:
    """What the flows get in each condition, all sides in one sentence; empty where runs are not to be compared."""
    if len(section.sides) > SIDE_BY_SIDE:
        rows = [(name, [column[0] if column else None for column in columns]) for name, columns in section.rows()]
        return across.sentence(rows, " / ".join(section.sides))
    if section.sides or not any(run.role.compares for run in section.runs):
        return ""
    names = short_names(section)
    return across.sentence((names[run.id], [run]) for run in section.runs)


def _said(glance: Glance) -> str:
    words = []
    if glance.utilisation:
        words.append(f"the busiest link is {_spread(glance.utilisation, '.1f')} % used")
    if glance.queueing_ms:
        worst, where = max(glance.p99_ms)
        words.append(f"the flows' median RTT is {_spread(glance.queueing_ms, '.1f')} ms above the path's")
        words[-1] += f" and their p99 up to {worst:.0f} ms ({where})" if glance.runs > 1 else f", p99 {worst:.1f} ms"
    if glance.ratios:
        unequal, where = max(glance.ratios, key=lambda item: abs(np.log(max(item[0], 1e-9))))
        fair = sum(1 / 1.5 <= ratio <= 1.5 for ratio, _ in glance.ratios)
        text = f"the second flow gets {number(unequal)} times the first's goodput"
        if glance.runs > 1:
            text = f"the flows' goodputs are within a factor of 1.5 in {fair} of {len(glance.ratios)} runs"
            text += f", most unequal in {where}, where {_ratio(unequal)}"
        words.append(text)
    if not words:
        return ""
    joined = words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
    return f"{glance.side}: {joined}" if glance.side else joined


def _ratio(ratio: float) -> str:
    """The second flow over the first, in words."""
    return f"the second flow has {number(ratio)} times the first's"


def _spread(values: list[tuple[float, str]], form: str) -> str:
    """Least to greatest and the median; one number where they are one."""
    numbers = [value for value, _ in values]
    low, high, middle = (
        number_text.replace("-", "\N{MINUS SIGN}")
        for number_text in (format(x, form) for x in (min(numbers), max(numbers), float(np.median(numbers))))
    )
    return low if low == high else f"{low} to {high} (median {middle})"


def _beside(runs: list[Run], sides: tuple[str, str]) -> str:
    """How far apart the two sides of the comparison are."""
    pairs = [run.pair for run in runs if run.pair is not None]
    if not pairs:
        return ""
    part = Comparison(pairs=pairs)
    other = "the testbed's" if sides == compare.MEASURED else f"{sides[1]}'s"
    text = f"In {_count(len(pairs), 'run')} with a {'measured ' if sides == compare.MEASURED else ''}counterpart"
    errors = [(max(pair.goodput_error_percent(), default=0.0), pair) for pair in pairs]
    if part.goodput_error_percent is not None:
        worst, where = max(errors, key=lambda item: item[0])
        text += f" the median flow's goodput is {part.goodput_error_percent:.1f} %"
        text += f" of the link ceiling away from {other}, the worst {worst:.1f} %"
        text += f" ({'/'.join(where.id.split('/')[2:])})"
    if part.rtt_error_percent is not None:
        text += f"{';' if part.goodput_error_percent is not None else ''} mean TCP RTT differs by"
        text += f" {part.rtt_error_ms:.2f} ms in the median ({part.rtt_error_percent:.1f} %)"
    ratios = [(r.a, r.b) for pair in pairs if (r := pair.ratio) is not None]
    both = [(a, b) for a, b in ratios if a is not None and b is not None]
    if both:
        same = sum((a >= 1) == (b >= 1) for a, b in both)
        text += f"; the same flow is ahead in {same} of {len(both)}"
    return text + "."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


# Tables.


def marks_of(run: Run) -> dict[str, str]:
    """The marks of each flow or group of copies, of both sides where there are two; empty where none came."""
    if run.pair is not None:
        sides = [{flow.name: flow for flow in side.flows} for side in (run.pair.summary_a, run.pair.summary_b)]
        texts = {
            name: [side[name].marks_text if name in side else "" for side in sides] for name in {**sides[0], **sides[1]}
        }
    else:
        seen = {flow.name: flow for flow in run.summary.flows} if run.summary else {}
        texts = {
            label: [metrics.marks_text([seen[name] for name in members])] for label, members in groups(seen).items()
        }
    if all(text in ("", "0") for both in texts.values() for text in both):
        return {}
    return {name: " / ".join(text or "\N{EN DASH}" for text in both) for name, both in texts.items()}


def spreads_of(run: Run) -> dict[str, str]:
    """p05, p50 and p95 of the goodput over time of each flow or group of copies, of both sides where there are two."""
    if run.pair is not None:
        sides = [{flow.name: [flow] for flow in side.flows} for side in (run.pair.summary_a, run.pair.summary_b)]
        texts = {name: [own.over_time(side.get(name, [])) for side in sides] for name in {**sides[0], **sides[1]}}
    else:
        seen = {flow.name: flow for flow in run.summary.flows} if run.summary else {}
        texts = {label: [own.over_time([seen[name] for name in names])] for label, names in groups(seen).items()}
    return {name: "; ".join(text or own.NOTHING for text in both) for name, both in texts.items() if any(both)}


def modes_of(run: Run) -> dict[str, str]:
    """What each flow or group of copies that looks for classic queues found."""
    told = {str(one.get("name")): one for one in own.objects(own.read(getattr(run.ours, "path", None))[0].get("flows"))}
    found = {label: own.classic([told[name] for name in names]) for label, names in groups(told).items()}
    return {name: text for name, text in found.items() if text}


#: Columns of text behind the numbers, where a run of the section has them: heading, key of the row, texts by flow.
EXTRAS = (
    ("Marks", "marks", marks_of),
    ("Goodput p05 / p50 / p95, Mbit/s", "spread", spreads_of),
    ("In classic mode", "mode", modes_of),
)


def extras_of(section: Section) -> list[tuple[str, str]]:
    """Heading and key of those that the section has."""
    return [(heading, key) for heading, key, texts in EXTRAS if any(texts(run) for run in section.runs)]


def table_rows(run: Run) -> list[dict[str, Any]]:
    """A row for each flow and kind of delay, one for the ratio, one for each ping: label, kind and cells.

    Copies of a flow are one row: the sum of their goodputs, and the median of each statistic of their delays.
    """
    ceiling = conditions.ceiling_mbps(run.ours)
    flows: list[tuple[str, Difference, dict[str, list[Difference]]]]
    pings: dict[str, list[Difference]]
    if run.pair is not None:
        flows = [
            (flow.name, flow.goodput_mbps, {kind: list(delay.values()) for kind, delay in flow.delays.items()})
            for flow in run.pair.flows
        ]
        pings, ratio = {"ping": list(run.pair.ping_ms.values())}, run.pair.ratio
    elif run.summary is not None:
        flows, pings = list(_lone_flows(run)), _lone_pings(run)
        ratio = Difference(run.summary.ratio, None) if len(run.summary.flows) == 2 else None
    else:
        return []
    rows: list[dict[str, Any]] = []
    extras = {key: texts(run) for _, key, texts in EXTRAS}
    for name, rate, delays in flows:
        for index, (kind, delay) in enumerate((delays or {"": []}).items()):
            rows.append(
                {
                    "label": name if index == 0 else "",
                    "kind": kind,
                    **{key: texts.get(name, "") if index == 0 else "" for key, texts in extras.items()},
                    "goodput": _cell(rate, ceiling, (2, 5)) if index == 0 else None,
                    "rtt": [_cell(x, x.b, (5, 15)) for x in delay] or None,
                }
            )
    if ratio is not None:
        rows.append({"label": "ratio 2nd/1st", "kind": "", "goodput": _cell(ratio, ratio.b, (15, 50)), "rtt": None})
    for label, ping in pings.items():
        if any(x.a is not None for x in ping):
            rtt = [_cell(x, x.b, (5, 15)) for x in ping]
            rows.append({"label": label, "kind": metrics.RTT, "goodput": None, "rtt": rtt})
    return rows


def _lone_flows(run: Run) -> Iterator[tuple[str, Difference, dict[str, list[Difference]]]]:
    """Goodput and delays of each flow or group of copies, and what a viewer or listener has of a media flow."""
    seen = {flow.name: flow for flow in run.summary.flows} if run.summary else {}
    told = {
        str(flow.get("name")): flow for flow in own.objects(own.read(getattr(run.ours, "path", None))[0].get("flows"))
    }
    for label, members in groups(seen).items():
        rates = [rate for name in members if (rate := seen[name].goodput_mbps) is not None]
        delays = {
            kind: _middle([flow.delays[kind] for name in members if kind in (flow := seen[name]).delays])
            for kind in metrics.DELAYS
            if any(kind in seen[name].delays for name in members)
        }
        delays |= _media_rows([told.get(name, {}) for name in members])
        yield label, Difference(sum(rates) if rates else None, None), delays


def _media_rows(told: list[dict[str, Any]]) -> dict[str, list[Difference]]:
    """Frame delays, under a label that also has the other figures of quality."""
    frames = [own.number_at(one, "media", "frames", "delay_ms", "mean") for one in told]
    keys = ("mean", "p50", "p95", "p99")
    quality = "; ".join(f"{name} {value}" for name, value in own.quality(told))
    if not any(mean is not None for mean in frames):
        return {quality: []} if quality else {}
    delay = []
    for key in keys:
        values = [x for one in told if (x := own.number_at(one, "media", "frames", "delay_ms", key)) is not None]
        delay.append(Difference(float(np.median(values)) if values else None, None))
    return {f"frame delay ({quality})" if quality else "frame delay": delay}


def _lone_pings(run: Run) -> dict[str, list[Difference]]:
    series = path.pings(run.ours)
    over = run.summary.window_s if run.summary else (0.0, float("inf"))
    return {
        "ping" if len(series) == 1 else own.ping_label(label): _alone(
            metrics.Stats.of(metrics.inside(run.ours, name, over))
        )
        for name, label in series.items()
    }


def _middle(stats: list[Stats]) -> list[Difference]:
    """Of each statistic the median over the flows."""
    columns = zip(*(_alone(one) for one in stats), strict=True)
    return [Difference(compare.median([x.a for x in column if x.a is not None]), None) for column in columns]


def _alone(stats: Stats | None) -> list[Difference]:
    return list(compare.spread(stats, None).values())


def _cell(value: Difference, scale: float | None, limits: tuple[float, float]) -> dict[str, Any]:
    """Numbers, and how far apart they are: "" (near), "some" or "far", with the direction."""
    percent = 100 * value.diff / scale if value.diff is not None and scale else 0.0
    size = "far" if abs(percent) > limits[1] else "some" if abs(percent) > limits[0] else ""
    direction = "over" if percent > 0 else "under"
    return {"a": value.a, "b": value.b, "diff": value.diff, "mark": f"{size} {direction}" if size else ""}


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
