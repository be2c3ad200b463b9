"""Published and measured numbers beside ours, with verdicts.

Every row is data: where the number comes from, what is measured in which run, and what deviation is
allowed. Tolerances are those of the acceptance checks: T1 5 %, T2 15 %, T4 a factor of 2, or the
interval that is printed; the median over the seeds is tested. Grades: A computed from raw data,
B a printed number, C prose, analytic: computed from first principles.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.table import Table

from sojourn import metrics
from sojourn.metrics import Source

SCHEMA = "sojourn/fidelity/1"
SCORE_FOLDER = Path("results/fidelity")
Verdict = Literal["pass", "fail", "not-run", "report-only"]

#: Why a row misses its tolerance, by key (`E8/80ms`) or by id (`E8`).
EXPLANATIONS: dict[str, str] = {}

#: Runs that differ from the suite: name of the variation and what it overrides.
VARIANTS: dict[str, dict[str, str]] = {
    "fallback-off": {"flow.prague.cc": "prague version p2b ecn_fallback 0"},
    "p2a": {"flow.prague.cc": "prague version p2a"},
}


@dataclass(frozen=True)
class Tolerance:
    """An interval, with the words of the specification."""

    text: str
    low: float = -math.inf
    high: float = math.inf

    def admits(self, value: float) -> bool:
        """Whether the value lies within the interval."""
        return self.low <= value <= self.high


def share(name: str, expected: float, percent: float) -> Tolerance:
    """Within so many percent of the expected value."""
    return Tolerance(f"{name} ±{percent:g} %", expected * (1 - percent / 100), expected * (1 + percent / 100))


def t1(expected: float) -> Tolerance:
    """Tolerance class T1."""
    return share("T1", expected, 5)


def t2(expected: float) -> Tolerance:
    """Tolerance class T2."""
    return share("T2", expected, 15)


def t4(expected: float) -> Tolerance:
    """Tolerance class T4."""
    return Tolerance("T4 factor of 2", expected / 2, expected * 2)


def between(low: float, high: float) -> Tolerance:
    """A closed interval."""
    return Tolerance(f"[{low:g}, {high:g}]", low, high)


def above(bound: float) -> Tolerance:
    """Strictly more than the bound."""
    return Tolerance(f"> {bound:g}", low=math.nextafter(bound, math.inf))


def below(bound: float) -> Tolerance:
    """Strictly less than the bound."""
    return Tolerance(f"< {bound:g}", high=math.nextafter(bound, -math.inf))


def at_least(bound: float) -> Tolerance:
    """The bound or more."""
    return Tolerance(f"≥ {bound:g}", low=bound)


Measure = Callable[[Source], float | None]


@dataclass(frozen=True)
class Row:
    """One published, measured or analytic quantity."""

    id: str
    part: str
    grade: str
    source: str
    run: str
    quantity: str
    unit: str
    expected: float | str
    tolerance: Tolerance | None
    measure: Measure
    variant: str | None = None

    @property
    def key(self) -> str:
        """Unique name of the row: its id and part."""
        return f"{self.id}/{self.part}" if self.part else self.id


@dataclass(frozen=True)
class Result:
    """A row with our values, one per seed."""

    row: Row
    values: tuple[float, ...]

    @property
    def ours(self) -> float | None:
        """Median over the seeds."""
        return float(np.median(self.values)) if self.values else None

    @property
    def spread(self) -> tuple[float, float] | None:
        """Least and greatest over the seeds."""
        return (min(self.values), max(self.values)) if self.values else None

    @property
    def verdict(self) -> Verdict:
        """What the median says about the row."""
        if self.ours is None:
            return "not-run"
        if self.row.tolerance is None:
            return "report-only"
        return "pass" if self.row.tolerance.admits(self.ours) else "fail"

    @property
    def explanation(self) -> str:
        """Why the row failed or was not run; empty if it passed."""
        known = EXPLANATIONS.get(self.row.key) or EXPLANATIONS.get(self.row.id)
        if self.verdict == "fail":
            return known or "unexplained"
        if self.verdict == "not-run":
            what = f"its run with {self.row.variant}" if self.row.variant else "its run"
            return f"{what} is not in this result set"
        return ""

    def document(self) -> dict[str, Any]:
        """One element of `rows` of the JSON document."""
        return {
            "id": self.row.id,
            "key": self.row.key,
            "source": self.row.source,
            "grade": self.row.grade,
            "quantity": self.row.quantity,
            "run": self.row.run,
            "variant": self.row.variant,
            "unit": self.row.unit,
            "expected": self.row.expected,
            "ours": None if self.ours is None else round(self.ours, 4),
            "spread": None if self.spread is None else [round(edge, 4) for edge in self.spread],
            "seeds": len(self.values),
            "tolerance": self.row.tolerance.text if self.row.tolerance else "none",
            "verdict": self.verdict,
            "explanation": self.explanation,
        }


# What is measured. H2 is the second half of the time that all flows share.


def _mean_goodput(flow: str) -> Measure:
    def measure(run: Source) -> float | None:
        half = metrics.second_half(run)
        return metrics.goodput(run, flow, half) if half else None

    return measure


def _utilisation(flow: str) -> Measure:
    def measure(run: Source) -> float | None:
        ceiling, rate = metrics.ceiling_mbps(run.id), _mean_goodput(flow)(run)
        return rate / ceiling if ceiling and rate is not None else None

    return measure


def _ratio(run: Source) -> float | None:
    first, second = _mean_goodput("cubic")(run), _mean_goodput("prague")(run)
    return second / first if first and second is not None else None


def _rtt(flow: str, reduce: Callable[[Any], Any], *, above_path: bool = False, whole: bool = False) -> Measure:
    """A statistic of the TCP RTT over H2 or the whole run; optionally minus the path's RTT."""

    def measure(run: Source) -> float | None:
        span = (0.0, math.inf) if whole else metrics.second_half(run)
        values = metrics.inside(run, f"flow.{flow}.rtt", span) if span else np.empty(0)
        base = metrics.path_rtt_ms(run.id) if above_path else 0.0
        return float(reduce(values)) - base if values.size and base is not None else None

    return measure


def _variation(flow: str) -> Measure:
    """Coefficient of variation of one-second goodput over H2."""

    def measure(run: Source) -> float | None:
        half = metrics.second_half(run)
        t, rate = metrics.rate_over_time(run, flow)
        rate = rate[(t >= half[0]) & (t <= half[1])] if half else np.empty(0)
        return float(rate.std() / rate.mean()) if rate.size and rate.mean() > 0 else None

    return measure


def _delivered_share(run: Source) -> float | None:
    """Bytes of all flows, first start to last delivery, as a share of what the ceiling allows."""
    ceiling, total, ends = metrics.ceiling_mbps(run.id), 0.0, []
    for flow in metrics.flows(run):
        t, received = metrics.finite(run, f"flow.{flow}.goodput_bytes")
        grows = np.flatnonzero(np.diff(received) > 0)
        if grows.size:
            total += float(received[-1] - received[0])
            ends += [float(t[grows[0]]), float(t[grows[-1] + 1])]
    return total * 8e-6 / (max(ends) - min(ends)) / ceiling if ceiling and ends else None


def _climb(run: Source) -> float | None:
    """Slope of the delivery rate on its way from 25 to 85 % of the ceiling, Mbit/s per s."""
    t, rate = metrics.finite(run, "flow.prague.delivery_rate")
    ceiling = metrics.ceiling_mbps(run.id)
    if ceiling is None or not (rate >= 0.85 * ceiling).any():
        return None
    full = int(np.argmax(rate >= 0.85 * ceiling))
    low = np.flatnonzero(rate[:full] < 0.25 * ceiling)
    start = int(low[-1]) + 1 if low.size else full
    return float(np.polyfit(t[start:full], rate[start:full], 1)[0]) if full - start >= 5 else None


def _time_to_fill(run: Source) -> float | None:
    """Flent time at which the delivery rate first reaches 98 % of the ceiling."""
    t, rate = metrics.finite(run, "flow.prague.delivery_rate")
    ceiling = metrics.ceiling_mbps(run.id)
    reached = rate >= 0.98 * ceiling if ceiling else np.zeros(0, dtype=bool)
    return float(t[int(np.argmax(reached))]) if reached.any() else None


def _full_window(run: Source) -> float | None:
    """Median cwnd over the last 10 s of the flow."""
    life = metrics.lifetime(run, "prague")
    values = metrics.inside(run, "flow.prague.cwnd", (life[1] - 10, life[1])) if life else np.empty(0)
    return float(np.median(values)) if values.size else None


# The rows.

ANALYTIC, RAW, REPORT = (
    "analytic",
    "sce-l4s-ect1 L4S rerun, Flent files of 25 April 2020",
    "sce-l4s-ect1 README",
)


def _s1(rate: int, rtt: int) -> str:
    return f"ect1/l4s-s1-oneflow/prague/dualpi2/{rate}Mbit/{rtt}ms"


def _s2(queue: str, rtt: int) -> str:
    return f"ect1/l4s-s2-twoflow/cubic-vs-prague/{queue}/{rtt}ms"


def _ceiling_rows() -> Iterable[Row]:
    for rate in (50, 250):
        expected = rate * metrics.PAYLOAD_SHARE
        yield Row(
            "X1", f"{rate}Mbit", ANALYTIC, "htb R * 1448/1514", _s1(rate, 20),
            f"goodput of a full {rate} Mbit/s link, H2", "Mbit/s", round(expected, 3),
            Tolerance("T1 ±5 %, never above +0.5 %", 0.95 * expected, 1.005 * expected),
            _mean_goodput("prague"),
        )  # fmt: skip
    for queue in ("pfifo-1000", "pfifo-50", "dualpi2"):
        yield Row(
            "X1", f"share-{queue}", ANALYTIC, "htb R * 1448/1514", _s2(queue, 20),
            f"everything delivered by two flows over {queue}, as a share of the ceiling", "1", 1.0,
            Tolerance("T1 ±5 %, never above +0.5 %", 0.95, 1.005), _delivered_share,
        )  # fmt: skip


def _rows() -> Iterable[Row]:
    yield from _ceiling_rows()
    for rtt, slope in ((20, 28.4), (80, 1.80), (160, 0.449)):
        yield Row("X2", f"{rtt}ms", "A", "MSS * 8 / RTT^2", _s1(50, rtt),
                  f"slope of the delivery rate while Prague fills the link, {rtt} ms",
                  "Mbit/s per s", slope, t1(slope), _climb)  # fmt: skip
    for rtt, cwnd in ((20, 84.0), (80, 331.0), (160, 660.0)):
        yield Row("X4", f"{rtt}ms", "A", "BDP / 1514 bytes", _s1(50, rtt),
                  f"cwnd on a full 50 Mbit/s link, {rtt} ms, median of the last 10 s", "segments",
                  cwnd, t1(cwnd), _full_window)  # fmt: skip
    for limit in (1000, 50):
        longest = round(20 + limit * 1514 * 8 / 50e3, 1)
        yield Row("X5", f"pfifo-{limit}", "A", "20 ms + limit * 1514 * 8 / R",
                  _s2(f"pfifo-{limit}", 20),
                  f"longest TCP RTT with a full FIFO of {limit} packets, whole run", "ms",
                  longest, t1(longest), _rtt("cubic", np.max, whole=True))  # fmt: skip
    yield Row("X6", "", ANALYTIC, "1514 * 8 / 5 Mbit/s", _s1(5, 20),
              "least TCP RTT above the path's in the steady state at 5 Mbit/s, H2", "ms",
              2.42, at_least(2.4), _rtt("prague", np.min, above_path=True))  # fmt: skip

    yield Row("E1", "utilisation", "A", RAW, _s1(50, 20),
              "goodput as a share of the ceiling, H2", "1",
              0.992, above(0.97), _utilisation("prague"))  # fmt: skip
    yield Row("E1", "rtt", "A", RAW, _s1(50, 20), "TCP RTT above the path's, median, H2", "ms",
              0.5, below(1.5), _rtt("prague", np.median, above_path=True))  # fmt: skip
    yield Row("E2", "", "A", RAW, _s1(50, 80),
              "time at which the delivery rate reaches 98 % of the ceiling", "s",
              31.0, t2(31), _time_to_fill)  # fmt: skip
    for rtt, rate in ((20, 238.8), (80, 149.0)):
        yield Row("E3", f"{rtt}ms", "A", RAW, _s1(250, rtt),
                  f"goodput at 250 Mbit/s, {rtt} ms, H2", "Mbit/s",
                  rate, t2(rate), _mean_goodput("prague"))  # fmt: skip
    yield Row("E4", "goodput", "A", RAW, _s1(5, 20), "goodput at 5 Mbit/s, 20 ms, H2", "Mbit/s",
              4.31, t2(4.31), _mean_goodput("prague"))  # fmt: skip
    yield Row("E4", "rtt", "A", RAW, _s1(5, 20), "TCP RTT at 5 Mbit/s, 20 ms, median, H2", "ms",
              24.7, t2(24.7), _rtt("prague", np.median))  # fmt: skip
    for rtt in (80, 160):
        yield Row("E5", f"{rtt}ms", "A", RAW, _s1(5, rtt),
                  f"goodput at 5 Mbit/s, {rtt} ms, falsely taken for a classic queue, H2", "Mbit/s",
                  3.78, between(3.2, 4.3), _mean_goodput("prague"))  # fmt: skip
        yield Row("E5", f"{rtt}ms-sawtooth", "A", RAW, _s1(5, rtt),
                  f"sawtooth: variation of 1-s goodput (deviation over mean), {rtt} ms, H2", "1",
                  "sawtooth", None, _variation("prague"))  # fmt: skip
        yield Row("E5", f"{rtt}ms-fallback-off", "A", RAW, _s1(5, rtt),
                  f"the same at {rtt} ms with the fallback off", "Mbit/s",
                  "≥ 4.4", at_least(4.4), _mean_goodput("prague"), "fallback-off")  # fmt: skip

    ratios: list[tuple[str, str, dict[int, float], Tolerance | None]] = [
        ("E8", "codel1q-20ms", {20: 35.8, 80: 50.2}, above(15)),
        ("E9", "codel1q", {20: 1.35, 80: 0.57}, between(0.35, 2.2)),
        ("E10", "codel1q-40ms", {20: 1.22, 80: 2.56}, between(0.7, 4)),
        ("E11", "dualpi2", {20: 1.99, 80: 1.57}, between(1.3, 2.6)),
        ("E14", "pfifo-1000", {20: 0.28, 80: 0.18}, None),
        ("E15", "pfifo-50", {20: 1.35, 80: 0.57}, None),
    ]
    for row_id, queue, by_rtt, tolerance in ratios:
        for rtt, expected in by_rtt.items():
            part = f"{rtt}ms" if row_id not in ("E11", "E14") else f"{rtt}ms-ratio"
            yield Row(row_id, part, "A", RAW, _s2(queue, rtt),
                      f"goodput of Prague over CUBIC, {queue}, {rtt} ms, H2", "1",
                      expected, tolerance or t4(expected), _ratio)  # fmt: skip
    for rtt, cubic, prague in ((20, 15.8, 0.5), (80, 13.6, 0.6)):
        yield Row("E11", f"{rtt}ms-cubic-rtt", "A", RAW, _s2("dualpi2", rtt),
                  f"CUBIC's TCP RTT above the path's, dualpi2, {rtt} ms, median, H2", "ms",
                  cubic, between(8, 18), _rtt("cubic", np.median, above_path=True))  # fmt: skip
        yield Row("E11", f"{rtt}ms-prague-rtt", "A", RAW, _s2("dualpi2", rtt),
                  f"Prague's TCP RTT above the path's, dualpi2, {rtt} ms, median, H2", "ms",
                  prague, below(1.5), _rtt("prague", np.median, above_path=True))  # fmt: skip
    for rtt, median in ((20, 232.0), (80, 297.0)):
        yield Row("E14", f"{rtt}ms-rtt", "A", RAW, _s2("pfifo-1000", rtt),
                  f"CUBIC's TCP RTT, pfifo-1000, {rtt} ms, median, H2", "ms",
                  median, t2(median), _rtt("cubic", np.median))  # fmt: skip
    yield Row("E14", "80ms-p2a", "B", f"{REPORT}, Figure 5", _s2("pfifo-1000", 80),
              "goodput of Prague P2a over CUBIC, pfifo-1000, 80 ms, H2: Prague starves CUBIC", "1",
              "> 1", Tolerance("Q: order only, > 1", low=above(1).low), _ratio, "p2a")  # fmt: skip


def _by_id(rows: list[Row]) -> tuple[Row, ...]:
    order = list(dict.fromkeys(row.id for row in rows))
    return tuple(sorted(rows, key=lambda row: order.index(row.id)))


ROWS: tuple[Row, ...] = _by_id(list(_rows()))


# Judging.


def select(only: Iterable[str] | None) -> list[Row]:
    """The rows with these ids or keys, all by default; KeyError names what does not exist."""
    wanted = [name.strip() for names in only or () for name in names.split(",") if name.strip()]
    unknown = [name for name in wanted if not any(name in (row.id, row.key) for row in ROWS)]
    if unknown:
        raise KeyError(", ".join(unknown))
    return [row for row in ROWS if not wanted or row.id in wanted or row.key in wanted]


def split_id(run_id: str) -> tuple[str, str | None, int]:
    """`ID~variant@seed2` -> id, variant, seed."""
    match = re.fullmatch(r"([^@~]*)(?:~([^@]*))?(?:@seed(\d+))?", run_id)
    return (match[1], match[2], int(match[3] or 1)) if match else (run_id, None, 1)


def judge(rows: Iterable[Row], runs: Mapping[str, Source]) -> list[Result]:
    """Each row over every seed of its run that is there."""
    seeds: dict[tuple[str, str | None], list[tuple[int, Source]]] = {}
    for run_id, source in runs.items():
        base, variant, seed = split_id(run_id)
        seeds.setdefault((base, variant), []).append((seed, metrics.Cached(source, base)))
    results = []
    for row in rows:
        found = sorted(seeds.get((row.run, row.variant), []), key=lambda item: item[0])
        values = (row.measure(source) for _, source in found)
        results.append(Result(row, tuple(v for v in values if v is not None and math.isfinite(v))))
    return results


def simulate(rows: list[Row], *, seeds: int, out: Path = SCORE_FOLDER) -> dict[str, Source]:
    """Run what the rows need, each run once."""
    from sojourn.run import run

    runs: dict[str, Source] = {}
    for variant in dict.fromkeys(row.variant for row in rows):
        ids = dict.fromkeys(row.run for row in rows if row.variant == variant)
        targets = [f"^{re.escape(run_id)}$" for run_id in ids]
        overrides = VARIANTS[variant] if variant else None
        runs.update(run(targets, overrides, out=out, seeds=seeds, variant=variant).runs)
    return runs


def main(results: Path | None, *, only: list[str] | None, seeds: int, as_json: bool) -> int:
    """Print the scoreboard; 4 if a row misses unexplained, 3 if a run cannot be read, 2 on misuse, else 0."""
    try:
        rows = select(only)
    except KeyError as error:
        known = ", ".join(dict.fromkeys(row.id for row in ROWS))
        sys.stderr.write(f"sojourn fidelity: {error.args[0]}: expected one of {known}\n")
        return 2
    errors: list[str] = []
    if results is None:
        if seeds < 1:
            sys.stderr.write(f"sojourn fidelity: --seeds {seeds}: expected at least 1\n")
            return 2
        runs: Mapping[str, Source] = simulate(rows, seeds=seeds)
    elif not results.is_dir():
        sys.stderr.write(f"sojourn fidelity: {results}: expected a results folder\n")
        return 2
    else:
        from sojourn.results import ResultSet

        runs = ResultSet.open(results, errors).runs
    for line in errors:
        sys.stderr.write(f"sojourn fidelity: {line}\n")
    judged = judge(rows, runs)
    if as_json:
        sys.stdout.write(json.dumps(document(judged), indent=2, allow_nan=False, ensure_ascii=False) + "\n")
    else:
        _print(judged)
    unexplained = any(r.verdict == "fail" and r.explanation == "unexplained" for r in judged)
    return 4 if unexplained else 3 if errors else 0


def document(judged: list[Result]) -> dict[str, Any]:
    """The JSON document of `sojourn fidelity --json`."""
    return {
        "schema": SCHEMA,
        "rows": [result.document() for result in judged],
        "summary": score(judged),
    }


def score(judged: Iterable[Result]) -> dict[str, int]:
    """How many rows have which verdict."""
    count: dict[str, int] = {"pass": 0, "fail": 0, "not-run": 0, "report-only": 0}
    for result in judged:
        count[result.verdict] += 1
    return count


def shown(value: float | str | None) -> str:
    """A number to three or four significant digits."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"


def shown_spread(result: Result) -> str:
    """Least and greatest value; empty for a single seed."""
    if result.spread is None or len(result.values) < 2:
        return ""
    return f"{shown(result.spread[0])} to {shown(result.spread[1])}"


def _print(judged: list[Result]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=140)
    table = Table(box=None, pad_edge=False)
    for heading in ("row", "verdict", "ours", "spread", "expected", "tolerance", "unit"):
        right = heading in ("ours", "expected")
        table.add_column(heading, justify="right" if right else "left", no_wrap=True)
    table.add_column("quantity")
    style = {"pass": "green", "fail": "bold red", "not-run": "dim", "report-only": "cyan"}
    for result in judged:
        row = result.row
        table.add_row(
            row.key,
            f"[{style[result.verdict]}]{result.verdict}[/]",
            shown(result.ours),
            shown_spread(result),
            shown(row.expected),
            (row.tolerance.text if row.tolerance else "none").replace("[", r"\["),
            row.unit,
            row.quantity,
        )
    console.print(table)
    for result in judged:
        if result.verdict == "fail":
            console.print(f"{result.row.key}: {result.explanation}", markup=False)
    console.print("\n" + ", ".join(f"{number} {verdict}" for verdict, number in score(judged).items()))
