"""Runs of one's own scenario beside each other: what they differ in, and a table with a column for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from sojourn import path, results
from sojourn.metrics import FlowSummary, Source
from sojourn.path import objects
from sojourn.report.model import NOTHING, number

#: Keys that distinguish no run from another.
NAMES = ("name", "description", "seed")
#: More runs than these do not fit beside each other.
MOST = 6


def differing(sources: Sequence[Source]) -> dict[str, list[str]]:
    """Keys whose values differ between scenarios, and the value of each; keys that vary alike count once."""
    flat = [results.flatten(path.scenario(source)) for source in sources]
    found: dict[str, list[str]] = {}
    for key in dict.fromkeys(key for one in flat for key in one):
        values = [str(one.get(key, NOTHING)) for one in flat]
        if key not in NAMES and len(set(values)) > 1 and values not in found.values():
            found[key] = values
    return found


def labels(sources: Sequence[Source]) -> list[str]:
    """A short name for each run: the values that distinguish it from the others; empty where nothing does."""
    parts: list[list[str]] = [[] for _ in sources]
    keys = differing(sources)
    for key, values in keys.items():
        for part, value in zip(parts, _shortened(values), strict=True):
            part.append(value if len(keys) == 1 else f"{key.rpartition('.')[2]} {value}")
    named = [", ".join(part) for part in parts]
    return named if len(set(named)) == len(named) else [""] * len(named)


def _shortened(values: Sequence[str]) -> list[str]:
    """Of texts in tc's grammar the name, if that distinguishes them; else without the parameters that all share."""
    split = [value.split() for value in values]
    heads = [words[0] if words else "" for words in split]
    if len(set(heads)) == len(set(values)):
        return heads
    shared = set.intersection(*(set(words) for words in split))
    return [
        " ".join([words[0], *(word for word in words[1:] if word not in shared)]) if words else "" for words in split
    ]


def columns(sources: Sequence[Source]) -> list[str]:
    """What distinguishes runs, or their ids where nothing does."""
    return [label or source.id for label, source in zip(labels(sources), sources, strict=True)]


def over_time(seen: Sequence[FlowSummary]) -> str:
    """The goodput in short intervals: p05, p50 and p95, of several flows the median of each."""
    found = [stats for flow in seen if (stats := flow.goodput_over_time_mbps)]
    each = ((stats.p05, stats.p50, stats.p95) for stats in found)
    return " / ".join(number(float(median(values))) for values in zip(*each, strict=True))


def classic(summaries: Sequence[Mapping[str, Any]]) -> str:
    """How long, since when and how often flows took their path for classic: mean, least and sum of several."""
    shares = [x for one in summaries if (x := number_at(one, "classic_detection", "share")) is not None]
    if not shares:
        return ""
    flips = total(summaries, "classic_detection", "flips")
    afters = [x for one in summaries if (x := number_at(one, "classic_detection", "after_s")) is not None]
    if not afters:
        return "never"
    changes = f"{count(flips)} change{'' if flips == 1 else 's'}"
    return f"{number(100 * float(np.mean(shares)))} %, first after {min(afters):.1f} s, {changes}"


def media(summaries: Sequence[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
    """What a viewer or a listener has of a flow: frame delay, incomplete frames, voice quality."""
    frames = [
        (number_at(one, "media", "frames", "delay_ms", "p50"), number_at(one, "media", "frames", "delay_ms", "p99"))
        for one in summaries
    ]
    medians = [p50 for p50, _ in frames if p50 is not None]
    if medians:
        tails = [p99 for _, p99 in frames if p99 is not None]
        yield "frame delay p50 / p99, ms", pair(float(np.median(medians)), max(tails, default=None))
    yield from quality(summaries)


def quality(summaries: Sequence[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
    """Of media flows, what is no delay: the mean share of incomplete frames, and the worst voice quality."""
    lost = [x for one in summaries if (x := number_at(one, "media", "frames", "incomplete")) is not None]
    if lost:
        yield "incomplete frames, %", number(100 * float(np.mean(lost)))
    scores = [x for one in summaries if (x := number_at(one, "one_way", "voice", "mos")) is not None]
    if scores:
        yield "voice quality, MOS", number(min(scores))


def summary(source: Source) -> dict[str, Any]:
    """What summary.json of a run with results holds; empty where it cannot be read."""
    run = results.run_of(source)
    try:
        return run.summary if run else {}
    except results.ResultsError:
        return {}


def queues(source: Source) -> list[dict[str, Any]]:
    """What queue.json holds; empty where it cannot be read."""
    run = results.run_of(source)
    try:
        return objects(run.queues) if run else []
    except results.ResultsError:
        return []


def flows_of(source: Source) -> dict[str, dict[str, Any]]:
    """What summary.json has of each flow."""
    return {str(flow.get("name")): flow for flow in objects(summary(source).get("flows"))}


def ping_label(name: str) -> str:
    """`ping NAME`."""
    return name if name.startswith("ping") else f"ping {name}"


def number_at(document: Any, *keys: str) -> float | None:
    """A finite number below these keys, if there is one."""
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    fits = isinstance(document, int | float) and not isinstance(document, bool) and np.isfinite(document)
    return float(document) if fits else None


def total(summaries: Sequence[Mapping[str, Any]], *keys: str) -> float | None:
    values = [value for one in summaries if (value := number_at(one, *keys)) is not None]
    return sum(values) if values else None


def pair(low: float | None, high: float | None) -> str:
    return f"{number(low)} / {number(high)}"


def count(value: Any) -> str:
    return f"{value:.0f}" if isinstance(value, int | float) else NOTHING
