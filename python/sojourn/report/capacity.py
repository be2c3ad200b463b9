"""What the links of a path can carry in a window, where a queue shapes below its link or a rate changes."""

from __future__ import annotations

import tomllib

from sojourn import path


def told_mbps(scenario: str, window: tuple[float, float]) -> float | None:
    """Mean over the window of the least forward rate of all links; None where counters of links tell it better.

    They do where no queue has a shaper of its own and no rate changes during the run.
    """
    document = tomllib.loads(scenario)
    steps = path.rates(document)
    shaped = any("bandwidth" in path.link_rates(link) for link in document["link"])
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
