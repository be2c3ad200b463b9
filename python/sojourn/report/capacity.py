"""What the links of a path can carry in a window, where a queue shapes below its link or a rate changes."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
MBPS = {"": 1e-6, "k": 1e-3, "M": 1.0, "G": 1e3, "T": 1e6}
RATE = r"(\d+(?:\.\d+)?)([kMGT]?)bit"


def told_mbps(scenario: str, window: tuple[float, float]) -> float | None:
    """Mean over the window of the least forward rate of all links; None where counters of links tell it better.

    They do where no queue has a shaper of its own and no rate changes during the run.
    """
    document = tomllib.loads(scenario)
    links: dict[str, dict[str, str]] = {
        link["name"]: {"rate": str(link["rate"]), "qdisc": str(link["qdisc"])} for link in document["link"]
    }
    changes = sorted(((_seconds(change["at"]), change) for change in document.get("schedule", [])), key=lambda c: c[0])
    steps = [(0.0, _least(links))]
    for at, change in changes:
        for dotted, value in {**change.get("set", {}), **change.get("replace", {})}.items():
            _, name, *way, what = dotted.split(".")
            if way != ["reverse"] and what in links.get(name, {}):
                links[name][what] = str(value)
        steps.append((at, _least(links)))
    shaped = any("bandwidth" in _rates(link) for link in links.values())
    if not shaped and len({rate for _, rate in steps}) == 1:
        return None
    carried = 0.0
    for (start, rate), end in zip(steps, [*(at for at, _ in steps[1:]), window[1]], strict=True):
        over = min(end, window[1]) - max(start, window[0])
        if over > 0:
            if rate is None:
                return None
            carried += rate * over
    return carried / (window[1] - window[0])


def ways_up(scenario: str) -> set[str]:
    """Names of the flows whose data travel backward."""
    return {flow["name"] for flow in tomllib.loads(scenario).get("flow", []) if flow.get("direction") == "up"}


def _least(links: Mapping[str, Mapping[str, str]]) -> float | None:
    return min((rate for link in links.values() for rate in _rates(link).values()), default=None)


def _rates(link: Mapping[str, str]) -> dict[str, float]:
    """Of the link, and of a queue that shapes."""
    found: dict[str, Any] = {
        "rate": re.fullmatch(RATE, link["rate"]),
        "bandwidth": re.search(rf"\bbandwidth {RATE}", link["qdisc"]),
    }
    return {key: float(match[1]) * MBPS[match[2]] for key, match in found.items() if match}


def _seconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(ns|us|ms|s)", text).groups()  # type: ignore[union-attr]
    return float(number) * SECONDS[unit]
