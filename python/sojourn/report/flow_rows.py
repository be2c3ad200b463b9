"""The numbers of a run, a row for each flow and kind of delay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sojourn import compare, metrics, path
from sojourn.compare import Difference
from sojourn.compare.comparison import median
from sojourn.groups import groups
from sojourn.metrics import Stats
from sojourn.report import own
from sojourn.report.sections import Run, Section


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
    told = {
        str(one.get("name")): one for one in path.objects(own.read(getattr(run.ours, "path", None))[0].get("flows"))
    }
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


def of(run: Run) -> list[dict[str, Any]]:
    """A row for each flow and kind of delay, one for the ratio, one for each ping: label, kind and cells.

    Copies of a flow are one row: the sum of their goodputs, and the median of each statistic of their delays.
    """
    ceiling = metrics.ceiling_mbps(run.id)
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
    told = own.flows_of(run.ours)
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
    return [Difference(median([x.a for x in column if x.a is not None]), None) for column in columns]


def _alone(stats: Stats | None) -> list[Difference]:
    return list(compare.spread(stats, None).values())


def _cell(value: Difference, scale: float | None, limits: tuple[float, float]) -> dict[str, Any]:
    """Numbers, and how far apart they are: "" (near), "some" or "far", with the direction."""
    percent = 100 * value.diff / scale if value.diff is not None and scale else 0.0
    size = "far" if abs(percent) > limits[1] else "some" if abs(percent) > limits[0] else ""
    direction = "over" if percent > 0 else "under"
    return {"a": value.a, "b": value.b, "diff": value.diff, "mark": f"{size} {direction}" if size else ""}
