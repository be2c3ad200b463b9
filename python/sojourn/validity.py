"""Whether a scenario lies within what drawn scenarios have checked against a real kernel (docs/validity.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn import conditions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

#: What cases are drawn from (`sojourn-draw`, what Linux has).
RATE_MBPS = (0.05, 1000.0)
RTT_MS = (1.0, 450.0)
MOST_FLOWS = 32
QUEUES = frozenset(
    ("pfifo", "bfifo", "pfifo_head_drop", "codel", "fq_codel", "pie", "fq_pie", "red", "sfq", "fq", "cake", "dualpi2")
)
SHAPERS = frozenset(("htb", "tbf", "none"))
CONTROLLERS = frozenset(("cubic", "reno", "dctcp", "bbr", "scalable"))
APPS = frozenset(("bulk", "short", "request", "cbr", "onoff"))
ELEMENTS = frozenset(("netem",))
#: Versions and parameters of these that no mainline kernel has.
OTHERS = re.compile(r"\b(?:version (?!mainline\b|v1\b)\S+|sce\b|sce_threshold|hystart (?!off)|abe\b)")


@dataclass(frozen=True, slots=True)
class Outside:
    """What of a scenario no drawn case had."""

    reasons: tuple[str, ...]

    def __str__(self) -> str:
        shown = ", ".join(self.reasons[:3]) + (f" and {len(self.reasons) - 3} more" if len(self.reasons) > 3 else "")
        return f"not checked against a kernel (docs/validity.md): {shown}"


def outside(text: str) -> Outside | None:
    """None for a scenario, resolved, of which each part was drawn; what is no scenario has no answer."""
    from sojourn.scenario import Resolved

    try:
        document = Resolved(text).brief()
    except ValueError:
        return None
    reasons = tuple(dict.fromkeys([*_of_path(document), *_of_numbers(text, document)]))
    return Outside(reasons) if reasons else None


def _of_path(document: Mapping[str, Any]) -> Iterator[str]:
    for link in document.get("link", []):
        for side in (link, link.get("reverse") or {}):
            yield from _unknown(QUEUES, [side.get("qdisc", "pfifo")])
            yield from _unknown(SHAPERS, [side.get("shaper", "none")])
            yield from _unknown(ELEMENTS, side.get("ingress", []))
    for flow in document.get("flow", []):
        app = str(flow.get("app", "bulk"))
        yield from _unknown(APPS, [app])
        if app.split()[0] in ("bulk", "short", "request"):
            yield from _unknown(CONTROLLERS, [flow.get("cc", "cubic")])
        if (flow.get("tcp") or {}).get("ecn") == "sce":
            yield "feedback of SCE"
    era = str(document.get("tcp", {}).get("era", "7.x"))
    if era != "7.x":
        yield f"era {era}"


def _unknown(known: frozenset[str], texts: Iterable[object]) -> Iterator[str]:
    for text in map(str, texts):
        name = text.split(" ", 1)[0]
        if name not in known:
            yield name
        elif name == "bbr" and "version v1" not in text:
            # Ours is version v3 unless another one is asked for.
            yield text if "version" in text else "bbr version v3"
        elif found := OTHERS.search(text):
            yield f"{name} {found[0]}"


def _of_numbers(text: str, document: Mapping[str, Any]) -> Iterator[str]:
    stated = conditions.of_scenario(text)
    for rate in stated.rates_mbps:
        if not RATE_MBPS[0] <= rate <= RATE_MBPS[1]:
            yield f"{rate:g} Mbit/s"
    for rtt in stated.base_rtts_ms:
        # The serialisation of a packet is in it.
        if not RTT_MS[0] <= rtt <= RTT_MS[1] + 100.0:
            yield f"RTT {rtt:g} ms"
    flows = sum(int(flow.get("flows", 1)) for flow in document.get("flow", []))
    if flows > MOST_FLOWS:
        yield f"{flows} flows"
