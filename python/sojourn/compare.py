"""Two result sets beside each other, run by run: a simulation and a testbed, or any two.

Each side may be a Sojourn results folder or a folder of Flent files; without a second side the
measured data of `sojourn.reference` are used. Runs are matched by id, those left over by their
parameters, and the window of side B counts for both.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sojourn import chance, conditions, effects, means, metrics, reference
from sojourn.effects import Effect
from sojourn.interop import flent
from sojourn.metrics import FlowSummary, RunSummary, Source, Stats
from sojourn.results import ResultsError, ResultSet, Run, flatten
from sojourn.tables import fitted
from sojourn.text import harmless, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from sojourn.chance import Chance
    from sojourn.means import FlowMeans

SCHEMA = "sojourn/compare/1"
QUANTILES = ("mean", "p50", "p95", "p99")
MEASURED = ("ours", "measured")
#: Rows of the printed list of effects.
SHOWN = 30
#: Ids that are named of the runs on one side alone.
SHOWN_IDS = 8
#: Columns of the table of means.
WIDE = 150


@dataclass(frozen=True)
class Difference:
    """A quantity on both sides."""

    a: float | None
    b: float | None

    @property
    def diff(self) -> float | None:
        """Side A minus side B."""
        return None if self.a is None or self.b is None else self.a - self.b

    @property
    def percent(self) -> float | None:
        """The difference as a share of side B."""
        return None if self.diff is None or not self.b else 100 * self.diff / self.b

    def document(self) -> dict[str, float | None]:
        """For JSON, to three decimals."""
        values = {"a": self.a, "b": self.b, "diff": self.diff}
        return {key: None if value is None else round(value, 3) for key, value in values.items()}


@dataclass(frozen=True)
class Flow:
    """One flow on both sides."""

    name: str
    goodput_mbps: Difference
    delivery_rate_mbps: Difference
    tcp_rtt_ms: dict[str, Difference]
    #: Every kind of delay of the flow, TCP RTT included.
    delays: dict[str, dict[str, Difference]]
    #: Segments, whole run.
    retransmits: Difference
    #: CE marks that reached the receiver, and those that the sender counted.
    marks: Difference = Difference(None, None)
    believed_marks: Difference = Difference(None, None)
    #: Its name on side B, if that is another one.
    name_b: str = ""

    @property
    def label(self) -> str:
        """Both names where there are two."""
        return f"{self.name} / {self.name_b}" if self.name_b else self.name


@dataclass(frozen=True)
class Pair:
    """One run on both sides."""

    id: str
    a: Source
    b: Source
    summary_a: RunSummary
    summary_b: RunSummary
    flows: tuple[Flow, ...]
    ping_ms: dict[str, Difference]
    #: Of each queue that both sides have: `drops` and `marks`, packets of the whole run.
    queues: dict[str, dict[str, Difference]]
    #: Why these two, where their ids are not the same.
    reason: str = ""

    @property
    def ratio(self) -> Difference | None:
        """Second flow over first, of runs with two flows."""
        return Difference(self.summary_a.ratio, self.summary_b.ratio) if len(self.flows) == 2 else None

    @property
    def rtt_ms(self) -> Difference:
        """Mean TCP RTT, averaged over the flows."""
        return Difference(self.summary_a.mean_rtt_ms, self.summary_b.mean_rtt_ms)

    def goodput_error_percent(self) -> Iterator[float]:
        """Of each flow: the absolute goodput error as a share of the link ceiling."""
        ceiling = conditions.ceiling_mbps(self.a)
        for flow in self.flows:
            if ceiling and flow.goodput_mbps.diff is not None:
                yield 100 * abs(flow.goodput_mbps.diff) / ceiling

    def document(self) -> dict[str, Any]:
        """One element of `runs` of the JSON document."""
        return {
            "id": self.id,
            **({"id_b": self.b.id, "paired_as": self.reason} if self.reason else {}),
            "window_s": [round(edge, 2) for edge in self.summary_b.window_s],
            "ceiling_mbps": _round(conditions.ceiling_mbps(self.a)),
            "flows": [
                {
                    "name": flow.name,
                    **({"name_b": flow.name_b} if flow.name_b else {}),
                    "goodput_mbps": flow.goodput_mbps.document(),
                    "delivery_rate_mbps": flow.delivery_rate_mbps.document(),
                    "tcp_rtt_ms": _documents(flow.tcp_rtt_ms),
                    "marks": flow.marks.document(),
                    "sender_believes_marks": flow.believed_marks.document(),
                    "retransmits": flow.retransmits.document(),
                    **{
                        f"{kind.replace('-', '_').replace(' ', '_')}_ms": _documents(delay)
                        for kind, delay in flow.delays.items()
                        if kind != metrics.RTT
                    },
                }
                for flow in self.flows
            ],
            "ratio": self.ratio and self.ratio.document(),
            "rtt_ms": self.rtt_ms.document(),
            "ping_ms": _documents(self.ping_ms),
            "queues": {name: _documents(counts) for name, counts in self.queues.items()},
        }


@dataclass
class Comparison:
    """What two result sets have in common, and what could not be read."""

    pairs: list[Pair] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    only_a: list[str] = field(default_factory=list)
    only_b: list[str] = field(default_factory=list)
    lone: list[Source] = field(default_factory=list)
    #: Further seeds of side A beside the one run that side B has.
    seeds: list[Pair] = field(default_factory=list)
    #: What the scenarios of the pairs differ in: the values of both sides, and in how many runs.
    parameters: dict[tuple[str, str, str], int] = field(default_factory=dict)
    sides: tuple[str, str] = MEASURED

    @cached_property
    def effects(self) -> list[Effect]:
        """Every quantity of every run over its seeds, by effect size."""
        return effects.effects([*self.pairs, *self.seeds])

    @cached_property
    def means(self) -> list[FlowMeans]:
        """Every flow of every run, as means over the seeds that both sides have."""
        return means.of(self.pairs)

    @cached_property
    def chance(self) -> list[Chance]:
        """What seeds make of the median errors beside one run of side B each."""
        return chance.of([*self.pairs, *self.seeds]) if self.seeds else []

    @property
    def goodput_error_percent(self) -> float | None:
        """Median over all flows, as a share of the link ceiling."""
        return median([error for pair in self.pairs for error in pair.goodput_error_percent()])

    @property
    def rtt_error_ms(self) -> float | None:
        """Median over all runs of the absolute error of mean TCP RTT."""
        return median([abs(pair.rtt_ms.diff) for pair in self.pairs if pair.rtt_ms.diff is not None])

    @property
    def rtt_error_percent(self) -> float | None:
        """The same as a share of side B."""
        return median([abs(pair.rtt_ms.percent) for pair in self.pairs if pair.rtt_ms.percent is not None])

    def document(self) -> dict[str, Any]:
        """The JSON document of `sojourn compare --json`."""
        return {
            "schema": SCHEMA,
            "sides": dict(zip("ab", self.sides, strict=True)),
            "runs": [pair.document() for pair in self.pairs],
            "parameters": [{"key": key, "a": a, "b": b, "runs": runs} for (key, a, b), runs in self.parameters.items()],
            "method": effects.METHOD,
            "flows": [row.document() for row in self.means],
            "median_errors_of_flows": means.summary(self.means),
            "chance": [quantity.document() for quantity in self.chance],
            "effects": [effect.document() for effect in self.effects],
            "verdict": effects.verdict(self.effects, self.sides),
            "summary": {
                "compared": len(self.pairs),
                "only_a": self.only_a,
                "only_b": self.only_b,
                "errors": self.errors,
                "goodput_median_abs_error_percent_of_ceiling": _round(self.goodput_error_percent),
                "rtt_mean_median_abs_error_ms": _round(self.rtt_error_ms),
                "rtt_mean_median_abs_error_percent": _round(self.rtt_error_percent),
            },
        }


def compare(
    a: Path,
    b: Path | None,
    *,
    as_json: bool,
    only: str | None,
    page: Callable[[Comparison], None] | None = None,
    sides: tuple[str, str] | None = None,
) -> int:
    """Print the comparison of two result sets, hand it to `page`; the exit code of `sojourn compare`.

    `sides` are their names, by default "ours" and "measured".
    """
    try:
        result = collect(a, b, only=only)
    except CompareError as error:
        sys.stderr.write(f"sojourn compare: {shortened(harmless(str(error)))}\n")
        return 2
    result.sides = sides or MEASURED
    for line in result.errors:
        sys.stderr.write(f"sojourn compare: {shortened(harmless(line))}\n")
    if as_json:
        sys.stdout.write(json.dumps(result.document(), indent=2, allow_nan=False) + "\n")
    else:
        show(result)
    if page is not None:
        page(result)
    if result.errors:
        return 3
    return 0 if result.pairs else 1


def names_of(a: Path, b: Path) -> tuple[str, str] | None:
    """What to call two result sets; None if B is a measurement."""
    if b.is_file() or (b.is_dir() and flent.files(b)):
        return None
    a, b = a.resolve(), b.resolve()
    names = (a.name, b.name) if a.name != b.name else (f"{a.parent.name}/{a.name}", f"{b.parent.name}/{b.name}")
    return harmless(names[0]), harmless(names[1])


class CompareError(ValueError):
    """The comparison cannot start: no such folder, no such expression."""


def collect(a: Path, b: Path | None, *, only: str | None = None) -> Comparison:
    """Match the runs of both sides and summarise each over the window of side B."""
    try:
        wanted = re.compile(only or "")
    except re.error as error:
        raise CompareError(f"--only {only}: expected a regular expression ({error})") from None
    result = Comparison()
    ours = {key: run for key, run in _side(a, result.errors).items() if wanted.search(key)}
    if b is None:
        theirs = _measured(ours, result.errors)
    else:
        theirs = {key: run for key, run in _side(b, result.errors).items() if wanted.search(key)}
    found = matches(ours, theirs)
    result.only_a = sorted(ours.keys() - {match.a for match in found}, key=natural)
    result.only_b = sorted(theirs.keys() - {match.b for match in found}, key=natural)
    alone = ours.keys() - {match.a for match in found if not match.is_extra}
    result.lone = [ours[run_id] for run_id in sorted(alone, key=natural)]
    for match in sorted(found, key=lambda match: natural(match.a)):
        try:
            b_side = theirs[match.b]
            pair = pair_up(match.a, ours[match.a], b_side, metrics.measuring_window(b_side), match.reason)
        except ResultsError as error:
            result.errors.append(str(error))
            continue
        if pair is None:
            result.errors.append(f"{match.a}: expected flows that live longer than 11 s together on both sides")
            continue
        (result.seeds if match.is_extra else result.pairs).append(pair)
        for difference in _parameters(pair):
            result.parameters[difference] = result.parameters.get(difference, 0) + 1
    return result


@dataclass(frozen=True)
class Match:
    """Ids of both sides that belong together."""

    a: str
    b: str
    #: Why, where the ids are not the same.
    reason: str = ""
    #: A further seed of A beside a single run of B.
    is_extra: bool = False


SAME_SCENARIO = "the same scenario under another name"
ONLY_ONES = "the only ones left on both sides"


def matches(ours: Mapping[str, Source], theirs: Mapping[str, Source]) -> list[Match]:
    """Runs of both sides that belong together.

    By id; then those left over by scenario, whatever its name; and if each side is left with one
    scenario, these two, if they have something in common: they were given to be compared.
    """
    found = [Match(run_id, run_id) for run_id in ours if run_id in theirs]
    seeded = {effects.base_of(run_id) for run_id in theirs if "@seed" in run_id}
    for run_id in ours:
        base = effects.base_of(run_id)
        if run_id not in theirs and base in theirs and base not in seeded:
            found.append(Match(run_id, base, is_extra=True))
    left_a = [run_id for run_id in ours if run_id not in {match.a for match in found}]
    left_b = [run_id for run_id in theirs if run_id not in {match.b for match in found}]
    by_scenario = {key: run_id for run_id in left_b if (key := _conditions(theirs[run_id])) is not None}
    for run_id in list(left_a):
        other = by_scenario.pop(_conditions(ours[run_id]) or "", None)
        if other is not None:
            found.append(Match(run_id, other, SAME_SCENARIO))
            left_a.remove(run_id)
            left_b.remove(other)
    if len({effects.base_of(run_id) for run_id in left_a}) == 1 == len({effects.base_of(i) for i in left_b}):
        by_seed = {run_id[len(effects.base_of(run_id)) :]: run_id for run_id in left_b}
        seeds_of_a = {run_id: run_id[len(effects.base_of(run_id)) :] for run_id in left_a}
        pairs = [(run_id, by_seed[seed]) for run_id, seed in seeds_of_a.items() if seed in by_seed]
        found += [Match(a, b, ONLY_ONES) for a, b in pairs if _have_in_common(ours[a], theirs[b])]
    return found


def _have_in_common(a: Source, b: Source) -> bool:
    """A flow's name, or one flow for each of the other side; a queue is no reason to lay a call over a download."""
    of_a, of_b = metrics.flows(a), metrics.flows(b)
    return bool(set(of_a) & set(of_b)) or len(of_a) == len(of_b)


def _scenario(source: Source) -> dict[str, Any] | None:
    """The scenario of a simulated run."""
    path = getattr(source, "path", None)
    try:
        return Run(path).document if path else None
    except ResultsError:
        return None


def _conditions(source: Source) -> str | None:
    """All that a run depends on, its seed included, but for what it is called."""
    document = _scenario(source)
    if document is None:
        return None
    return json.dumps({key: document[key] for key in document if key not in ("name", "description")}, sort_keys=True)


def _parameters(pair: Pair) -> Iterator[tuple[str, str, str]]:
    """Dotted names of the scenario whose values differ, and both values."""
    a, b = _scenario(pair.a), _scenario(pair.b)
    if a is None or b is None:
        return
    of_a, of_b = flatten(a), flatten(b)
    for key in dict.fromkeys([*of_a, *of_b]):
        if key not in ("name", "description") and of_a.get(key) != of_b.get(key):
            yield key, str(of_a.get(key, "-")), str(of_b.get(key, "-"))


def pair_up(run_id: str, a: Source, b: Source, over: metrics.Window | None = None, reason: str = "") -> Pair | None:
    """Both sides of one run over this window or that of side B; None if a side has no window."""
    theirs = reference.summary_of(b, over)
    ours = reference.summary_of(a, theirs.window_s) if theirs else None
    if ours is None or theirs is None:
        return None
    return Pair(
        run_id,
        a,
        b,
        ours,
        theirs,
        tuple(
            _flow(of_a, of_b, _counted(a, b, f"flow.{of_a.name}.retransmits", f"flow.{of_b.name}.retransmits"))
            for of_a, of_b in _matched(ours.flows, theirs.flows)
        ),
        spread(ours.ping_ms, theirs.ping_ms),
        dict(_queues(a, b)),
        reason,
    )


def _queues(a: Source, b: Source) -> Iterator[tuple[str, dict[str, Difference]]]:
    for name in a.names():
        if (match := re.fullmatch(r"queue\.(.+)\.drops", name)) and name in b.names():
            counts = {what: _counted(a, b, f"queue.{match[1]}.{what}") for what in ("drops", "marks")}
            yield match[1], counts


def _counted(a: Source, b: Source, name: str, name_b: str | None = None) -> Difference:
    """The last values of a counter."""

    def last(source: Source, of: str) -> float | None:
        _, values = metrics.finite(source, of)
        return float(values[-1]) if values.size else None

    return Difference(last(a, name), last(b, name_b or name))


def _flow(a: FlowSummary, b: FlowSummary, retransmits: Difference) -> Flow:
    rate_a, rate_b = a.delivery_rate_mbps, b.delivery_rate_mbps
    return Flow(
        a.name,
        Difference(a.goodput_mbps, b.goodput_mbps),
        Difference(rate_a.mean if rate_a else None, rate_b.mean if rate_b else None),
        spread(a.tcp_rtt_ms, b.tcp_rtt_ms),
        {
            kind: spread(a.delays.get(kind), b.delays.get(kind))
            for kind in metrics.DELAYS
            if kind in {**a.delays, **b.delays}
        },
        retransmits,
        Difference(a.marks, b.marks),
        Difference(a.believed_marks, b.believed_marks),
        "" if a.name == b.name else b.name,
    )


def natural(run_id: str) -> list[tuple[int, str]]:
    """Sort key with numbers by value: 5Mbit before 50Mbit, 20ms before 160ms."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", run_id)]


def _matched(a: tuple[FlowSummary, ...], b: tuple[FlowSummary, ...]) -> Iterator[tuple[FlowSummary, FlowSummary]]:
    """Flows by name; by order of start where the names have nothing in common."""
    if not {flow.name for flow in a} & {flow.name for flow in b} and len(a) == len(b):
        yield from zip(a, b, strict=True)
        return
    of_a = {flow.name: flow for flow in a}
    of_b = {flow.name: flow for flow in b}
    for name in {**of_a, **of_b}:
        absent = FlowSummary(name, None, None, None)
        yield of_a.get(name, absent), of_b.get(name, absent)


def spread(a: Stats | None, b: Stats | None) -> dict[str, Difference]:
    """Mean and percentiles of both sides."""

    def of(stats: Stats | None, key: str) -> float | None:
        value = getattr(stats, key, None)
        return None if value is None else float(value)

    return {key: Difference(of(a, key), of(b, key)) for key in QUANTILES}


def _side(path: Path, errors: list[str]) -> Mapping[str, Source]:
    if not path.exists():
        raise CompareError(f"{path}: expected a results folder or Flent files, found nothing")
    if path.is_dir() and not flent.files(path):
        found = ResultSet.open(path, errors).runs
        runs: Mapping[str, Source] = {key: metrics.Cached(run) for key, run in found.items()}
        if not runs and not errors:
            raise CompareError(f"{path}: expected a results folder or Flent files, found neither")
        return runs
    read: dict[str, Source] = {}
    for file in flent.files(path):
        try:
            source = flent.FlentFile(file)
        except flent.FlentError as error:
            errors.append(str(error))
            continue
        if source.id in read:
            errors.append(f"{file.name}: file: expected one file per run, {source.id} was read already")
        else:
            read[source.id] = source
    return read


def _measured(ours: Mapping[str, Source], errors: list[str]) -> dict[str, Source]:
    found: dict[str, Source] = {}
    for run_id in ours:
        try:
            source = reference.find(run_id)
        except flent.FlentError as error:
            errors.append(str(error))
            source = reference.shipped().get(run_id)
        if source is not None:
            found[run_id] = source
    return found


def show(result: Comparison) -> None:
    """Prints it for people, as wide as their terminal."""
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDE
    seeds = len({effects.base_of(pair.id) for pair in result.pairs}) < len(result.pairs)
    for pair in result.pairs:
        if pair.reason:
            console.print(escape(f"{pair.id} beside {pair.b.id}: {pair.reason}"), soft_wrap=True)
    for pair in result.pairs if not seeds else ():
        opens, closes = pair.summary_b.window_s
        heading = f"{pair.id}, {opens:.1f}-{closes:.1f} s: {result.sides[0]} / {result.sides[1]} (difference)"
        console.print(heading, style="bold", markup=False, soft_wrap=True)
        columns, rows = _quantities(pair)
        for table in fitted(columns, rows, console.width):
            console.print(table)
        for label, value in _of_run(pair):
            console.print(f"{label}  {_cell(value)}", markup=False, soft_wrap=True)
        console.print()
    _print_effects(result, console)
    if seeds:
        console.print(means.table(result.means, result.sides))
        console.print()
    for (key, a, b), runs in result.parameters.items():
        of = f" in {runs} runs" if runs > 1 else ""
        console.print(escape(f"{key}{of}: {a} / {b}"), soft_wrap=True)
    for side, alone in zip(result.sides, (result.only_a, result.only_b), strict=True):
        if alone and result.sides != MEASURED:
            more = f" and {len(alone) - SHOWN_IDS} more" if len(alone) > SHOWN_IDS else ""
            console.print(escape(f"only in {side}: {', '.join(alone[:SHOWN_IDS])}{more}"), soft_wrap=True)
    console.print(escape(conclusion(result)), soft_wrap=True)
    if result.effects:
        console.print(escape(effects.verdict(result.effects, result.sides)), soft_wrap=True)
    if len(result.means) > 1:
        for line in means.lines(result.means):
            console.print(escape(line), soft_wrap=True)
    for quantity in result.chance:
        console.print(escape(str(quantity)), soft_wrap=True)


def _quantities(pair: Pair) -> tuple[list[str], dict[str, list[str]]]:
    """Names of the flows, and of the ping; by quantity, a cell for each of them."""
    flows = pair.flows
    pinged = any(value.a is not None or value.b is not None for value in pair.ping_ms.values())
    rows = {"goodput, Mbit/s": [_cell(flow.goodput_mbps) for flow in flows]}
    for kind in metrics.DELAYS:
        of_flows = [flow.delays.get(kind) for flow in flows]
        ping = pair.ping_ms if pinged and kind == metrics.RTT else None
        if ping or any(of_flows):
            for key in QUANTILES:
                rows[f"{kind} {key}, ms"] = [_cell(delay[key]) if delay else "" for delay in (*of_flows, ping)]
    summaries = (*pair.summary_a.flows, *pair.summary_b.flows)
    if any(flow.marks_text not in ("", "0") for flow in summaries):
        rows["marks received"] = [_cell(flow.marks) for flow in flows]
    if any(flow.believes_otherwise for flow in summaries):
        rows["marks the sender believes"] = [_cell(flow.believed_marks) for flow in flows]
    if any(flow.retransmits.diff is not None for flow in flows):
        rows["retransmits, whole run"] = [_cell(flow.retransmits) for flow in flows]
    columns = [*(flow.label for flow in flows), *(["ping"] if pinged else [])]
    return columns, {label: [*cells, ""][: len(columns)] for label, cells in rows.items()}


def _of_run(pair: Pair) -> Iterator[tuple[str, Difference]]:
    """What is of no single flow."""
    if pair.ratio is not None:
        yield "goodput 2nd/1st flow", pair.ratio
    for name, counts in pair.queues.items():
        yield from ((f"{name} {what}, whole run", value) for what, value in counts.items() if value.a or value.b)


def _print_effects(result: Comparison, console: Console) -> None:
    """The largest effects; all are in the JSON document."""
    if not any(effect.seeds > 1 for effect in result.effects):
        return
    table = Table(
        title="By effect size; * beyond what seeds explain", title_justify="left", title_style="bold", box=None
    )
    for heading in ("", "run", "quantity"):
        table.add_column(heading, overflow="fold")
    for heading in (*result.sides, "difference", "95 % interval", "effect", "d"):
        table.add_column(escape(heading), justify="right", overflow="fold")
    for effect in result.effects[:SHOWN]:
        low_high = effect.interval
        table.add_row(
            "*" if effect.distinct else "",
            escape(effect.run),
            escape(f"{effect.quantity}{'' if effect.unit == '1' else f', {effect.unit}'}"),
            f"{effect.a:.4g}",
            f"{effect.b:.4g}",
            f"{effect.diff:+.3g}",
            f"{low_high[0]:+.3g} to {low_high[1]:+.3g}" if low_high else "-",
            f"{effect.percent:+.1f} %",
            f"{effect.cohen_d:+.1f}" if effect.cohen_d is not None else "-",
        )
    console.print(table)
    if len(result.effects) > SHOWN:
        console.print(f"and {len(result.effects) - SHOWN} smaller ones; --json has all")
    console.print()


def conclusion(result: Comparison) -> str:
    """The comparison in one sentence."""
    if not result.pairs:
        return (
            "Nothing to compare: no run is on both sides, and no two of those left have a flow's name or the number of "
            "flows in common. Measured runs: `sojourn list ect1 --json`, key `reference`."
        )
    text = f"{len(result.pairs)} run{'s' if len(result.pairs) != 1 else ''} compared"
    errors = []
    if result.goodput_error_percent is not None:
        errors.append(f"of goodput {result.goodput_error_percent:.1f} % of the link ceiling")
    if result.rtt_error_ms is not None:
        errors.append(f"of mean TCP RTT {result.rtt_error_ms:.2f} ms ({result.rtt_error_percent or 0:.1f} %)")
    if errors:
        word = "error" if result.sides == MEASURED else "difference"
        text += f"; median absolute {word} " + "; ".join(errors)
    return text + "."


def _documents(values: dict[str, Difference]) -> dict[str, dict[str, float | None]]:
    return {key: value.document() for key, value in values.items()}


def _cell(value: Difference) -> str:
    if value.a is None and value.b is None:
        return ""
    digits = 1 if max(abs(value.a or 0), abs(value.b or 0)) >= 100 else 2

    def show(number: float | None, sign: str = "") -> str:
        return "-" if number is None else format(number, f"{sign}z.{digits}f")

    return f"{show(value.a)} / {show(value.b)} ({show(value.diff, '+')})"


def median(values: list[float]) -> float | None:
    """The median; None of nothing."""
    return float(np.median(values)) if values else None


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
