"""What the flows of a section's runs get, in one sentence over all of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sojourn import path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sojourn.report.sections import Run

#: Controllers that a new one is set beside; the first that a run has is the one.
INCUMBENTS = {"cubic": "CUBIC", "prague": "Prague"}
RATE = "Goodput in Mbit/s"
WAYS = "Goodput down + up in Mbit/s"
SHARE = "Share of the goodput that the flows beside {} get, in %"
NOTHING = "\N{EN DASH}"


def sentence(rows: Iterable[tuple[str, Sequence[Run | None]]], sides: str = "") -> str:
    """By condition: in Mbit/s, each way where flows go both ways, or the share beside CUBIC or Prague.

    A row is a condition and its runs, one for each side; `sides` names these.
    """
    said: dict[str, list[str]] = {RATE: [], WAYS: [], SHARE: []}
    beside: set[str] = set()
    for name, runs in rows:
        cells = [_told(run, beside) if run else (RATE, NOTHING) for run in runs]
        for what, texts in said.items():
            if any(kind == what and text != NOTHING for kind, text in cells):
                shown = " / ".join(text if kind == what else NOTHING for kind, text in cells)
                texts.append(f"{name} {shown}")
    incumbents = " or ".join(word for key, word in INCUMBENTS.items() if key in beside)
    columns = f", {sides}" if sides else ""
    return " ".join(f"{what.format(incumbents)}{columns}: {'; '.join(texts)}." for what, texts in said.items() if texts)


def _told(run: Run, beside: set[str]) -> tuple[str, str]:
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
        return SHARE, _number(100 * others / total) if total else NOTHING
    up = ways_up(run)
    if up and not up >= rates.keys():
        return WAYS, f"{_number(_sum(rates, rates.keys() - up))} + {_number(_sum(rates, up))}"
    return RATE, _number(sum(rates.values()))


def _sum(rates: Mapping[str, float], names: Iterable[str]) -> float:
    # In the order of the flows, so that the last digit is the same every time.
    chosen = set(names)
    return sum(rate for name, rate in rates.items() if name in chosen)


def ways_up(run: Run) -> set[str]:
    """Names of the flows whose data travel backward."""
    return {
        str(flow.get("name"))
        for flow in path.objects(path.scenario(run.ours).get("flow"))
        if flow.get("direction") == "up"
    }


def _number(value: float) -> str:
    return f"{value:.{1 if value >= 1 else 2}f}"
