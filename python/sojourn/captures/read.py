"""Capture files, live interfaces and stdin: analysed by the core, into flows."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.captures.flow import Flow
from sojourn.text import harmless

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sojourn import _core

SCHEMA = "sojourn/pcap/1"
#: Names of capture files, which may be compressed.
SUFFIXES = tuple(f".{kind}{packed}" for kind in ("pcap", "pcapng", "cap") for packed in ("", ".gz", ".xz", ".zst"))


class CaptureError(ValueError):
    """A capture that cannot be read, or an option of one: one line."""


def refused(error: Exception) -> CaptureError:
    """What the core says, without the numbers of the system's errors."""
    return CaptureError(re.sub(r" \(os error \d+\)", "", str(harmless(str(error)))))


@dataclass(frozen=True)
class Capture:
    """What files say together."""

    files: tuple[str, ...]
    document: dict[str, Any]
    """The report (`sojourn_inspect::report::Report`)."""
    warnings: tuple[str, ...] = ()
    """What could not be read, a line each."""
    analysis: _core.Inspection | None = field(default=None, repr=False)

    @cached_property
    def flows(self) -> list[Flow]:
        """In the order of their first packets."""
        documents: list[dict[str, Any]] = self.document["flows"]
        return [Flow(number, one, self.analysis) for number, one in enumerate(documents, 1)]

    def flow(self, number: int) -> Flow:
        """The flow of this number."""
        if not 1 <= number <= len(self.flows):
            raise CaptureError(f"--flow {number}: expected 1 to {len(self.flows)}, the first column of the table")
        return self.flows[number - 1]

    @property
    def duration_s(self) -> float:
        """From the first to the last packet."""
        return float(self.document["duration_s"])

    def json(self) -> dict[str, Any]:
        """The JSON document of `sojourn pcap --json`."""
        return {"schema": SCHEMA, "files": list(self.files), "warnings": list(self.warnings), **self.document}

    def scetrace(self) -> dict[str, Any]:
        """The document of scetrace, with this capture's addresses."""
        if self.analysis is None:
            raise CaptureError("--scetrace: expected a capture that was read")
        document: dict[str, Any] = json.loads(self.analysis.scetrace)
        flows = [flow for flow in self.document["flows"] if flow["tcp"] is not None]
        for one, flow in zip(document["TCP"], flows, strict=True):
            one["SrcIP"], one["DstIP"] = flow["opener"]["address"], flow["peer"]["address"]
        return document

    def anonymised(self, by: _core.Anonymiser) -> Capture:
        """The same with other addresses. Names of files stay, without their folders."""
        ends = [flow[end] for flow in self.document["flows"] for end in ("opener", "peer")]
        addresses = list(dict.fromkeys(str(end["address"]) for end in ends))
        others = dict(zip(addresses, map(str, by.addresses([ip_address(one) for one in addresses])), strict=True))
        flows = [
            flow | {end: flow[end] | {"address": others[str(flow[end]["address"])]} for end in ("opener", "peer")}
            for flow in self.document["flows"]
        ]
        names = tuple(Path(name).name for name in self.files)
        warnings = list(self.warnings)
        for name, short in zip(self.files, names, strict=True):
            warnings = [line.replace(f"{name}:", f"{short}:") for line in warnings]
        return replace(self, files=names, document=self.document | {"flows": flows}, warnings=tuple(warnings))


def read(files: Sequence[Path | str], *, chosen: str | None = None, packets: bool = False) -> Capture:
    """Analyses files in the order given, as one capture; `-` is stdin.

    `chosen` is a filter, and `packets` keeps every packet of each flow for plots and series. Raises `CaptureError`
    where a file cannot be read.
    """
    from sojourn import _core

    names = [str(file) for file in files]
    try:
        analysis = _core.inspect(names, chosen, packets)
    except (ValueError, OSError) as error:
        raise refused(error) from None
    return of(analysis, names)


def copy(files: Sequence[Path | str], to: Path, by: _core.Anonymiser) -> int:
    """Writes what is left of captures without payload and with other addresses; the number of packets."""
    try:
        return by.copy([str(file) for file in files], to)
    except (ValueError, OSError) as error:
        raise refused(error) from None


def of(analysis: _core.Inspection, names: Sequence[str]) -> Capture:
    """From what the core made of these files."""
    document: dict[str, Any] = harmless(json.loads(analysis.report))
    warnings = tuple(harmless(line) for line in analysis.warnings)
    shown = ("stdin" if name == "-" else harmless(name) for name in names)
    return Capture(tuple(shown), document, warnings, analysis)
