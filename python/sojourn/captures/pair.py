"""Two captures of the same packets: what the path between them changed, lost and delayed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn.captures.flow import CODEPOINTS, WAYS, Way, end_text
from sojourn.captures.read import refused
from sojourn.text import harmless

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = "sojourn/pcap-pair/1"


@dataclass(frozen=True)
class Both:
    """What two captures say together."""

    files: tuple[str, str]
    document: dict[str, Any]
    """The report (`sojourn_inspect::report::pair::Report`)."""
    warnings: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """The JSON document of `sojourn pcap --pair --json`."""
        return {"schema": SCHEMA, "files": list(self.files), "warnings": list(self.warnings), **self.document}

    @property
    def ways(self) -> list[Between]:
        """Each direction of each flow that has packets at both points, most first."""
        flows = enumerate(self.document["flows"], 1)
        found = [Between(number, flow, way) for number, flow in flows for way in WAYS if flow[way]["both"]]
        return sorted(found, key=lambda one: -one.numbers["both"])


@dataclass(frozen=True)
class Between:
    """One direction of a flow between the two points."""

    number: int
    flow: dict[str, Any]
    way: Way

    @property
    def numbers(self) -> dict[str, Any]:
        """As the core has them."""
        found: dict[str, Any] = self.flow[self.way]
        return found

    @property
    def title(self) -> str:
        """From whom to whom."""
        ends = [end_text(self.flow[key]) for key in ("opener", "peer")]
        return " > ".join(ends if self.way == "forward" else ends[::-1])

    def changed(self, before: tuple[str, ...], behind: tuple[str, ...]) -> int:
        """Packets that had one of these codepoints before, and another, of these, behind."""
        path = self.numbers["path"]
        return sum(path[old][new] for old in before for new in behind if old != new)

    @property
    def marked(self) -> int:
        """Packets that got CE."""
        return self.changed(("ect0", "ect1"), ("ce",))

    @property
    def changes(self) -> Iterator[str]:
        """What the path must not do: a line each."""
        path = self.numbers["path"]
        for old in CODEPOINTS:
            sent = sum(path[old].values())
            for new in CODEPOINTS:
                if old == new or (new == "ce" and old != "not_ect") or not path[old][new]:
                    continue
                word = "bleached" if new == "not_ect" else "CE without ECT" if new == "ce" else "re-marked"
                yield f"{word}: {CODEPOINTS[old]} arrives as {CODEPOINTS[new]}, {path[old][new]} of {sent} packets"
        for one in self.numbers["dscp"]:
            yield f"DSCP {one['from']} arrives as {one['to']}, {one['packets']} packets"
        for flag, counts in self.numbers["tcp_flags"].items():
            said = [f"{word} on {counts[word]}" for word in ("set", "cleared") if counts[word]]
            yield f"TCP flag {flag} {' and '.join(said)} packets"
        for key, word in (("options_removed", "removed from"), ("options_added", "added to")):
            for kind, packets in self.numbers[key].items():
                yield f"TCP option {kind} {word} {packets} packets"


def compare(first: Path | str, second: Path | str, *, translated: bool = False) -> Both:
    """Lays the second capture over the first; with `translated` where a NAT is between them."""
    from sojourn import _core

    try:
        report, warnings = _core.inspect_pair(str(first), str(second), translated)
    except (ValueError, OSError) as error:
        raise refused(error) from None
    names = (str(harmless(str(first))), str(harmless(str(second))))
    return Both(names, harmless(json.loads(report)), tuple(map(harmless, warnings)))
