"""What the runs of a section answer, in sentences from their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sojourn import compare, conditions, path, results
from sojourn.compare import Comparison
from sojourn.groups import written_out
from sojourn.report.model import NOTHING, number
from sojourn.report.sections import SIDE_BY_SIDE, Run, Section, short_names

#: Controllers that a new one is set beside; the first that a run has is the one.
INCUMBENTS = {"cubic": "CUBIC", "prague": "Prague"}
RATE = "Goodput in Mbit/s"
WAYS = "Goodput down + up in Mbit/s"
SHARE = "Share of the goodput that the flows beside {} get, in %"


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
        base = run.path_rtt_ms
        if rtts and base is not None:
            glance.queueing_ms.append((float(np.mean([rtt.p50 for rtt in rtts])) - base, where))
            if tails := [rtt.p99 for rtt in rtts if rtt.p99 is not None]:
                glance.p99_ms.append((max(tails) - base, where))
        if run.summary.ratio is not None and all(flow.tcp_rtt_ms for flow in run.summary.flows):
            glance.ratios.append((run.summary.ratio, where))
    return glance


def utilisation(run: Run) -> float | None:
    """Of the busiest link, from its counters; from goodput where a queue shapes below its link or a rate changes."""
    finished = results.run_of(run.ours)
    rates = [flow.goodput_mbps for flow in run.summary.flows if flow.goodput_mbps] if run.summary else []
    if finished is None:
        ceiling = conditions.ceiling_mbps(run.ours)
        return sum(rates) / ceiling if ceiling and rates else None
    try:
        met, capacity = finished.conditions, None
        # A rate that changes can move the bottleneck from one link to another.
        if run.summary and (met.queue_shapes or len(met.capacity) > 1):
            capacity = met.mean_mbps(run.summary.window_s)
        if run.summary is None or capacity is None:
            used = finished.summary["metrics"]["throughput"]["utilisation"]
            return max(float(value) for value in used.values())
        up = _ways_up(run)
        rates = [flow.goodput_mbps for flow in run.summary.flows if flow.goodput_mbps and flow.name not in up]
        return sum(rates) / conditions.PAYLOAD_SHARE / capacity if rates else None
    except (OSError, results.ResultsError, AttributeError, KeyError, TypeError, ValueError):
        return None


def answers(section: Section, sides: tuple[str, str]) -> list[str]:
    """A sentence that the numbers of a section give, and one about the other side of the comparison."""
    parts = [text for glance in glances(section) if (text := _glance_text(glance))]
    sentences = [text] if (text := _across(section)) else []
    joined = "; ".join(parts)
    sentences += [(joined if section.beside else _capital(joined)) + "."] if parts else []
    if beside := _beside(section.runs, sides):
        sentences.append(beside)
    return sentences or [f"{_count(len(section.runs), 'run')}, none with a flow that lives long enough for a window."]


def _across(section: Section) -> str:
    """What the flows get in each condition, all sides in one sentence; empty where runs are not to be compared."""
    if len(section.sides) > SIDE_BY_SIDE:
        rows = [(name, [column[0] if column else None for column in columns]) for name, columns in section.rows()]
        return _sentence(rows, " / ".join(section.sides))
    if section.sides or not any(run.role.compares for run in section.runs):
        return ""
    names = short_names(section)
    return _sentence((names[run.id], [run]) for run in section.runs)


def _glance_text(glance: Glance) -> str:
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
    errors = [(max(pair.rate_error_percent(), default=0.0), pair) for pair in pairs]
    rates = part.rate_errors_percent
    if rates:
        worst, where = max(errors, key=lambda item: item[0])
        text += " and".join(f" the median flow's {rate} is {error:.1f} %" for rate, error in rates.items())
        text += f" of the link ceiling away from {other}, the worst {worst:.1f} %"
        text += f" ({'/'.join(where.id.split('/')[2:])})"
    if part.rtt_error_percent is not None:
        text += f"{';' if rates else ''} mean TCP RTT differs by"
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


def _sentence(rows: Iterable[tuple[str, Sequence[Run | None]]], sides: str = "") -> str:
    """By condition: in Mbit/s, each way where flows go both ways, or the share beside CUBIC or Prague.

    A row is a condition and its runs, one for each side; `sides` names these.
    """
    kinds: dict[str, list[str]] = {RATE: [], WAYS: [], SHARE: []}
    beside: set[str] = set()
    for name, runs in rows:
        cells = [_got(run, beside) if run else (RATE, NOTHING) for run in runs]
        for what, texts in kinds.items():
            if any(kind == what and text != NOTHING for kind, text in cells):
                shown = " / ".join(text if kind == what else NOTHING for kind, text in cells)
                texts.append(f"{name} {shown}")
    incumbents = " or ".join(word for key, word in INCUMBENTS.items() if key in beside)
    columns = f", {sides}" if sides else ""
    return " ".join(
        f"{what.format(incumbents)}{columns}: {'; '.join(texts)}." for what, texts in kinds.items() if texts
    )


def _got(run: Run, beside: set[str]) -> tuple[str, str]:
    """What there is to say of a run, and the number; the incumbent of its flows goes to `beside`."""
    flows = run.summary.flows if run.summary else []
    rates = {flow.name: flow.goodput_mbps or 0.0 for flow in flows}
    if not rates:
        return RATE, NOTHING
    kinds = {name: re.sub(r"-\d+$", "", name) for name in rates}
    incumbent = next((key for key in INCUMBENTS if key in kinds.values()), None)
    if incumbent and len(set(kinds.values())) > 1:
        beside.add(incumbent)
        total = sum(rates.values())
        others = sum(rate for name, rate in rates.items() if kinds[name] != incumbent)
        return SHARE, _goodput(100 * others / total) if total else NOTHING
    up = _ways_up(run)
    if up and not up >= rates.keys():
        return WAYS, f"{_goodput(_sum(rates, rates.keys() - up))} + {_goodput(_sum(rates, up))}"
    return RATE, _goodput(sum(rates.values()))


def _sum(rates: Mapping[str, float], names: Iterable[str]) -> float:
    # In the order of the flows, so that the last digit is the same every time.
    chosen = set(names)
    return sum(rate for name, rate in rates.items() if name in chosen)


def _ways_up(run: Run) -> set[str]:
    """Names of the flows whose data travel backward."""
    flows = written_out(path.scenario(run.ours).get("flow"))
    return {str(flow.get("name")) for flow in flows if flow.get("direction") == "up"}


def _goodput(value: float) -> str:
    return f"{value:.{1 if value >= 1 else 2}f}"
