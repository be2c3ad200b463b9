"""Runs of one's own scenario beside each other: what they differ in, and a table with a column for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn import metrics, results
from sojourn.groups import groups
from sojourn.path import pings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sojourn.metrics import FlowSummary, Source
    from sojourn.report.sections import Run

#: Keys that tell no run from another.
NAMES = ("name", "description", "seed")
#: More runs than these do not fit beside each other.
MOST = 6
#: What stands in a cell for a quantity that a run does not have.
NOTHING = "\N{EN DASH}"


@dataclass
class Subject:
    """A group of rows: a flow, copies of one, a ping or a queue."""

    name: str
    rows: list[tuple[str, list[str]]] = field(default_factory=list)


@dataclass(frozen=True)
class Table:
    """The runs of a scenario, a column each."""

    #: What the columns differ in, such as `link.home.qdisc`.
    parameter: str
    columns: list[str]
    subjects: list[Subject]


def scenario(source: Source) -> dict[str, Any]:
    """The flattened scenario of a simulated run; empty if there is none to read."""
    path = getattr(source, "path", None)
    try:
        return results.flatten(results.Run(path).document) if path else {}
    except (OSError, ValueError):
        return {}


def differing(sources: Sequence[Source]) -> dict[str, list[str]]:
    """Keys whose values differ between scenarios, and the value of each; keys that vary alike count once."""
    flat = [scenario(source) for source in sources]
    found: dict[str, list[str]] = {}
    for key in dict.fromkeys(key for one in flat for key in one):
        values = [str(one.get(key, NOTHING)) for one in flat]
        if key not in NAMES and len(set(values)) > 1 and values not in found.values():
            found[key] = values
    return found


def labels(sources: Sequence[Source]) -> list[str]:
    """A short name for each run: the values that tell it from the others; empty where nothing does."""
    parts: list[list[str]] = [[] for _ in sources]
    keys = differing(sources)
    for key, values in keys.items():
        for part, value in zip(parts, _shortened(values), strict=True):
            part.append(value if len(keys) == 1 else f"{key.rpartition('.')[2]} {value}")
    named = [", ".join(part) for part in parts]
    return named if len(set(named)) == len(named) else [""] * len(named)


def _shortened(values: Sequence[str]) -> list[str]:
    """Of texts in tc's grammar the name, if that tells them apart; else without the parameters that all share."""
    split = [value.split() for value in values]
    heads = [words[0] if words else "" for words in split]
    if len(set(heads)) == len(set(values)):
        return heads
    shared = set.intersection(*(set(words) for words in split))
    return [
        " ".join([words[0], *(word for word in words[1:] if word not in shared)]) if words else "" for words in split
    ]


def table(runs: Sequence[Run]) -> Table:
    """Everything that was measured of the runs, with a column for each."""
    columns = [_quantities(run) for run in runs]
    subjects: list[Subject] = []
    for name in dict.fromkeys(name for column in columns for name in column):
        of_runs = [column.get(name, {}) for column in columns]
        subject = Subject(name)
        for quantity in dict.fromkeys(quantity for one in of_runs for quantity in one):
            subject.rows.append((quantity, [one.get(quantity, NOTHING) for one in of_runs]))
        subjects.append(subject)
    sources = [run.ours for run in runs]
    named = labels(sources)
    return Table(
        ", ".join(differing(sources)),
        [label or run.id for label, run in zip(named, runs, strict=True)],
        subjects,
    )


def _quantities(run: Run) -> dict[str, dict[str, str]]:
    """Quantities as text, by subject; flows first, then pings and queues."""
    path = getattr(run.ours, "path", None)
    document, queues = read(path)
    found: dict[str, dict[str, str]] = {}
    told = {str(flow.get("name")): flow for flow in objects(document.get("flows"))}
    seen = {flow.name: flow for flow in run.summary.flows} if run.summary else {}
    for label, members in groups(name for name in told or seen).items():
        found[label] = dict(
            _of_flows([seen[name] for name in members if name in seen], [told.get(name, {}) for name in members])
        )
    over = run.summary.window_s if run.summary else None
    for series, label in pings(run.ours).items():
        stats = metrics.Stats.of(metrics.inside(run.ours, series, over)) if over else None
        if stats:
            found[ping_label(label)] = {"RTT p50 / p99, ms": _pair(stats.p50, stats.p99)}
    for queue in queues:
        median, tail = number_at(queue, "sojourn_ms", "p50"), number_at(queue, "sojourn_ms", "p99")
        # A queue in which nothing ever waited says nothing.
        if median is not None and (tail or queue.get("dropped") or queue.get("marked")):
            rows = found.setdefault(f"queue {queue.get('name')}", {})
            rows["sojourn p50 / p99, ms"] = _pair(median, tail)
            rows["drops / marks"] = f"{_count(queue.get('dropped'))} / {_count(queue.get('marked'))}"
            used = number_at(queue, "utilisation")
            if used is not None:
                rows["utilisation, %"] = number(100 * used)
    return {name: rows for name, rows in found.items() if rows}


def _of_flows(seen: Sequence[FlowSummary], told: Sequence[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
    rates = [flow.goodput_mbps for flow in seen if flow.goodput_mbps is not None]
    together = ", all" if len(seen) > 1 else ""
    if rates:
        yield f"goodput{together}, Mbit/s", number(sum(rates))
    if text := over_time(seen):
        yield f"goodput p05 / p50 / p95{', each' if len(seen) > 1 else ''}, Mbit/s", text
    if text := classic(told):
        yield "in classic mode", text
    for kind in metrics.DELAYS:
        stats = [flow.delays[kind] for flow in seen if kind in flow.delays]
        if stats:
            tails = [one.p99 for one in stats if one.p99 is not None]
            yield f"{kind} p50 / p99, ms", _pair(float(np.median([one.p50 for one in stats])), max(tails, default=None))
    yield from media(told)
    counts = [_total(told, "receiver", "ce_received"), _total(told, "sender", "retransmits")]
    if any(count is not None for count in counts):
        yield "marks / retransmits", " / ".join(_count(count) for count in counts)
    if any(isinstance(marks := one.get("marks"), Mapping) and "note" in marks for one in told):
        yield "marks that the sender believes", _count(_total(told, "marks", "sender_believes_packets"))


def over_time(seen: Sequence[FlowSummary]) -> str:
    """The goodput in short intervals: p05, p50 and p95, of several flows the median of each."""
    found = [stats for flow in seen if (stats := flow.goodput_over_time_mbps)]
    each = ((stats.p05, stats.p50, stats.p95) for stats in found)
    return " / ".join(number(float(np.median(values))) for values in zip(*each, strict=True))


def classic(told: Sequence[Mapping[str, Any]]) -> str:
    """How long, since when and how often flows took their path for classic: mean, least and sum of several."""
    shares = [x for one in told if (x := number_at(one, "classic_detection", "share")) is not None]
    if not shares:
        return ""
    flips = _total(told, "classic_detection", "flips")
    afters = [x for one in told if (x := number_at(one, "classic_detection", "after_s")) is not None]
    if not afters:
        return "never"
    changes = f"{_count(flips)} change{'' if flips == 1 else 's'}"
    return f"{number(100 * float(np.mean(shares)))} %, first after {min(afters):.1f} s, {changes}"


def media(told: Sequence[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
    """What a viewer or a listener has of a flow: frame delay, incomplete frames, voice quality."""
    frames = [
        (number_at(one, "media", "frames", "delay_ms", "p50"), number_at(one, "media", "frames", "delay_ms", "p99"))
        for one in told
    ]
    medians = [p50 for p50, _ in frames if p50 is not None]
    if medians:
        tails = [p99 for _, p99 in frames if p99 is not None]
        yield "frame delay p50 / p99, ms", _pair(float(np.median(medians)), max(tails, default=None))
    yield from quality(told)


def quality(told: Sequence[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
    """Of media flows, what is no delay: the mean share of incomplete frames, and the worst voice quality."""
    lost = [x for one in told if (x := number_at(one, "media", "frames", "incomplete")) is not None]
    if lost:
        yield "incomplete frames, %", number(100 * float(np.mean(lost)))
    scores = [x for one in told if (x := number_at(one, "one_way", "voice", "mos")) is not None]
    if scores:
        yield "voice quality, MOS", number(min(scores))


def read(path: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Summary and queues of a run's folder; empty where they cannot be read."""
    if not path:
        return {}, []
    run = results.Run(path)
    try:
        return run.summary, objects(run.queues)
    except results.ResultsError:
        return {}, []


def ping_label(name: str) -> str:
    """`ping NAME`."""
    return name if name.startswith("ping") else f"ping {name}"


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a JSON array that may be anything."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def number_at(document: Any, *keys: str) -> float | None:
    """A finite number below these keys, if there is one."""
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    fits = isinstance(document, int | float) and not isinstance(document, bool) and np.isfinite(document)
    return float(document) if fits else None


def _total(told: Sequence[Mapping[str, Any]], *keys: str) -> float | None:
    values = [value for one in told if (value := number_at(one, *keys)) is not None]
    return sum(values) if values else None


def _pair(low: float | None, high: float | None) -> str:
    return f"{number(low)} / {number(high)}"


def number(value: float | None, sign: str = "") -> str:
    """Two decimals, one from 100 on; a true minus sign, and no sign for what rounds to nothing."""
    if value is None:
        return NOTHING
    text = format(value, f"{sign}.{1 if abs(value) >= 100 else 2}f")
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def _count(value: Any) -> str:
    return f"{value:.0f}" if isinstance(value, int | float) else NOTHING
