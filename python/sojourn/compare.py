"""Two result sets beside each other, run by run: a simulation and a testbed, or any two.

Each side may be a Sojourn results folder or a folder of Flent files; without a second side the
measured data of `sojourn.reference` are used. Runs are matched by id, and the window of side B
counts for both.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from sojourn import metrics, reference
from sojourn.interop import flent
from sojourn.metrics import FlowSummary, RunSummary, Source, Stats
from sojourn.results import ResultsError, ResultSet, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

SCHEMA = "sojourn/compare/1"
QUANTILES = ("mean", "p50", "p95", "p99")


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
        ceiling = metrics.ceiling_mbps(self.id)
        for flow in self.flows:
            if ceiling and flow.goodput_mbps.diff is not None:
                yield 100 * abs(flow.goodput_mbps.diff) / ceiling

    def document(self) -> dict[str, Any]:
        """One element of `runs` of the JSON document."""
        return {
            "id": self.id,
            "window_s": [round(edge, 2) for edge in self.summary_b.window_s],
            "ceiling_mbps": _round(metrics.ceiling_mbps(self.id)),
            "flows": [
                {
                    "name": flow.name,
                    "goodput_mbps": flow.goodput_mbps.document(),
                    "delivery_rate_mbps": flow.delivery_rate_mbps.document(),
                    "tcp_rtt_ms": {key: value.document() for key, value in flow.tcp_rtt_ms.items()},
                }
                for flow in self.flows
            ],
            "ratio": self.ratio and self.ratio.document(),
            "rtt_ms": self.rtt_ms.document(),
            "ping_ms": {key: value.document() for key, value in self.ping_ms.items()},
        }


@dataclass
class Comparison:
    """What two result sets have in common, and what could not be read."""

    pairs: list[Pair] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    only_a: list[str] = field(default_factory=list)
    only_b: list[str] = field(default_factory=list)
    lone: list[Source] = field(default_factory=list)

    @property
    def goodput_error_percent(self) -> float | None:
        """Median over all flows, as a share of the link ceiling."""
        return _median([error for pair in self.pairs for error in pair.goodput_error_percent()])

    @property
    def rtt_error_ms(self) -> float | None:
        """Median over all runs of the absolute error of mean TCP RTT."""
        return _median([abs(pair.rtt_ms.diff) for pair in self.pairs if pair.rtt_ms.diff is not None])

    @property
    def rtt_error_percent(self) -> float | None:
        """The same as a share of side B."""
        return _median([abs(pair.rtt_ms.percent) for pair in self.pairs if pair.rtt_ms.percent is not None])

    def document(self) -> dict[str, Any]:
        """The JSON document of `sojourn compare --json`."""
        return {
            "schema": SCHEMA,
            "runs": [pair.document() for pair in self.pairs],
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

    With `sides`, the names of two engines that ran the same scenarios, their measuring windows count.
    """
    try:
        result = collect(a, b, only=only, own_window=sides is not None)
    except CompareError as error:
        sys.stderr.write(f"sojourn compare: {error}\n")
        return 2
    for line in result.errors:
        sys.stderr.write(f"sojourn compare: {line}\n")
    if as_json:
        sys.stdout.write(json.dumps(result.document(), indent=2, allow_nan=False) + "\n")
    else:
        _print(result, sides or ("ours", "measured"))
    if page is not None:
        page(result)
    if result.errors:
        return 3
    return 0 if result.pairs else 1


class CompareError(ValueError):
    """The comparison cannot start: no such folder, no such expression."""


def collect(a: Path, b: Path | None, *, only: str | None = None, own_window: bool = False) -> Comparison:
    """Match the runs of both sides and summarise each over the window of side B, or the scenario's own."""
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
    result.only_a = sorted(ours.keys() - theirs.keys())
    result.only_b = sorted(theirs.keys() - ours.keys())
    result.lone = [ours[run_id] for run_id in sorted(result.only_a, key=natural)]
    for run_id in sorted(ours.keys() & theirs.keys(), key=natural):
        try:
            window = _measured_window(theirs[run_id]) if own_window else None
            pair = pair_up(run_id, ours[run_id], theirs[run_id], window)
        except ResultsError as error:
            result.errors.append(str(error))
            continue
        if pair is None:
            result.errors.append(f"{run_id}: expected flows that live longer than 11 s together on both sides")
        else:
            result.pairs.append(pair)
    return result


def _measured_window(source: Source) -> metrics.Window | None:
    """The measuring window of a run's scenario."""
    path = getattr(source, "path", None)
    if path is None:
        return None
    measure = Run(path).summary["measure"]
    return float(measure["from_s"]), float(measure["to_s"])


def pair_up(run_id: str, a: Source, b: Source, over: metrics.Window | None = None) -> Pair | None:
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
        tuple(_flow(of_a, of_b) for of_a, of_b in _matched(ours.flows, theirs.flows)),
        spread(ours.ping_ms, theirs.ping_ms),
    )


def _flow(a: FlowSummary, b: FlowSummary) -> Flow:
    rate_a, rate_b = a.delivery_rate_mbps, b.delivery_rate_mbps
    return Flow(
        a.name,
        Difference(a.goodput_mbps, b.goodput_mbps),
        Difference(rate_a.mean if rate_a else None, rate_b.mean if rate_b else None),
        spread(a.tcp_rtt_ms, b.tcp_rtt_ms),
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


def _print(result: Comparison, sides: tuple[str, str]) -> None:
    console = Console(highlight=False)
    console.width = max(console.width, 100)
    for pair in result.pairs:
        opens, closes = pair.summary_b.window_s
        heading = f"{_escape(pair.id)}, {opens:.1f}-{closes:.1f} s"
        table = Table(title=heading, title_justify="left", title_style="bold", box=None)
        table.add_column(f"{sides[0]} / {sides[1]} (difference)", no_wrap=True)
        for flow in pair.flows:
            table.add_column(_escape(flow.name), justify="right", no_wrap=True)
        table.add_column("ping", justify="right", no_wrap=True)
        table.add_row("goodput, Mbit/s", *(_cell(flow.goodput_mbps) for flow in pair.flows))
        for key in QUANTILES:
            columns = [*(flow.tcp_rtt_ms for flow in pair.flows), pair.ping_ms]
            table.add_row(f"RTT {key}, ms", *(_cell(column[key]) for column in columns))
        if pair.ratio is not None:
            table.add_row("goodput 2nd/1st flow", "", _cell(pair.ratio))
        console.print(table)
        console.print()
    console.print(_escape(conclusion(result)), soft_wrap=True)


def conclusion(result: Comparison) -> str:
    """The comparison in one sentence."""
    if not result.pairs:
        return (
            "Nothing to compare: no run is on both sides. Measured runs: `sojourn list ect1 --json`, key `reference`."
        )
    text = f"{len(result.pairs)} run{'s' if len(result.pairs) != 1 else ''} compared"
    if result.goodput_error_percent is not None:
        text += f"; median absolute error of goodput {result.goodput_error_percent:.1f} %"
        text += " of the link ceiling"
    if result.rtt_error_ms is not None:
        text += f"; of mean TCP RTT {result.rtt_error_ms:.2f} ms"
        text += f" ({result.rtt_error_percent or 0:.1f} %)"
    return text + "."


def _escape(text: str) -> str:
    return text.replace("[", r"\[")


def _cell(value: Difference) -> str:
    digits = 1 if max(abs(value.a or 0), abs(value.b or 0)) >= 100 else 2

    def show(number: float | None, sign: str = "") -> str:
        return "-" if number is None else format(number, f"{sign}z.{digits}f")

    return f"{show(value.a)} / {show(value.b)} ({show(value.diff, '+')})"


def _median(values: list[float]) -> float | None:
    return float(np.median(values)) if values else None


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
