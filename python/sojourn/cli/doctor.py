"""The verb `doctor`: examines a machine, devices, a path or results."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Annotated

from cyclopts import Parameter

from sojourn import _core
from sojourn.cli.common import FAILED, OK, Json, UsageError, print_json
from sojourn.cli.screen import Screen
from sojourn.doctor import Finding, Severity
from sojourn.planning import seconds

STYLES = {Severity.OK: "green", Severity.NOTE: "cyan", Severity.WARNING: "yellow", Severity.FAULT: "bold red"}
#: Wider lines are hard to read.
WIDTH = 120
INDENT = " " * 8


def doctor(
    *,
    device: Annotated[list[str] | None, Parameter(name=["--device", "-d"])] = None,
    path: Annotated[list[str] | None, Parameter(name=["--path", "-p"])] = None,
    results: Annotated[list[Path] | None, Parameter(name=["--results", "-r"])] = None,
    rate: str | None = None,
    rtt: str | None = None,
    verbose: Annotated[bool, Parameter(name=["--verbose", "-v"])] = False,
    as_json: Json = False,
) -> int:
    """Examine what makes results of a testbed wrong: what was found, what it does to results, how to fix it.

    Without `--device`, `--path` and `--results` it examines the machine, its settings of TCP and all devices that
    are up; with them, only these. It changes nothing. The exit code is 1 if a fault was found, else 0.

    Examples: `sojourn doctor`, `sojourn doctor --device eth0 --rate 100Mbit --rtt 40ms`,
    `sudo .venv/bin/sojourn doctor --path example.com:443`, `sojourn doctor --results results/latest`

    Args:
        device: Network device whose offloads and queues are examined; repeatable.
        path: HOST or HOST:PORT; where the ECN field is changed on the way to it, and whether a TCP server at the
            port negotiates ECN and AccECN; repeatable.
        results: Folder of runs or of Flent's files, or such a file; repeatable.
        rate: Rate of the bottleneck, such as 100Mbit, for what depends on it.
        rtt: RTT of the path, such as 40ms, for what depends on it.
        verbose: Print also what is in order, and the whole text of notes.
        as_json: Print one JSON document.
    """
    if sys.platform != "linux":
        raise UsageError("doctor: expected Linux, whose files and tools it reads")
    findings = list(_examined(device or [], path or [], results or [], _rate(rate), _time(rtt)))
    if as_json:
        print_json({"schema": "sojourn/doctor/1", "findings": [finding.document() for finding in findings]})
    else:
        _print(findings, verbose=verbose)
    return FAILED if any(finding.severity is Severity.FAULT for finding in findings) else OK


def _examined(
    names: Sequence[str], paths: Sequence[str], folders: Sequence[Path], rate_bps: float | None, rtt_s: float | None
) -> Iterator[Finding]:
    from sojourn.doctor import devices, machine, outcomes, probe

    is_all = not (names or paths or folders)
    try:
        targets = [probe.Target.read(text) for text in paths]
        if is_all:
            yield from machine.examine()
            yield from machine.examine_tcp(rate_bps, rtt_s)
        if is_all or names:
            yield from devices.examine(names, rate_bps, rtt_s)
        for target in targets:
            yield from probe.examine(target)
        for folder in folders:
            yield from outcomes.examine(folder, rate_bps, rtt_s)
    except (devices.DeviceError, probe.PathError, outcomes.FolderError) as error:
        raise UsageError(str(error)) from None


def _rate(text: str | None) -> float | None:
    value = None if text is None else _core.rate_bps(text)
    if text is not None and (not value or text.isdigit()):
        raise UsageError(f"--rate {text}: expected a rate such as 100Mbit")
    return value


def _time(text: str | None) -> float | None:
    value = None if text is None else seconds(text)
    if text is not None and not value:
        raise UsageError(f"--rtt {text}: expected a time such as 40ms")
    return value


def _print(findings: Sequence[Finding], *, verbose: bool) -> None:
    """The worst first; notes in one line, and what is in order only with `verbose`."""
    screen = Screen()
    width = min(screen.width, WIDTH)
    for finding in sorted(findings, key=lambda finding: -finding.severity):
        if finding.severity is Severity.OK and not verbose:
            continue
        style = STYLES[finding.severity]
        first, *lines = _indented(f"{finding.severity.name.lower():8}{finding.found} [{finding.kind}]", width, "")
        screen.line(first, style)
        if finding.severity >= Severity.WARNING or (verbose and finding.effect):
            lines += _indented(finding.effect, width)
            lines += _indented(f"fix: {finding.fix}", width)
            lines += _indented(f"see: {finding.source}", width) if verbose else []
        for line in lines:
            screen.line(line)
    counts = Counter(finding.severity for finding in findings)
    levels = (Severity.FAULT, Severity.WARNING, Severity.NOTE)
    said = [f"{counts[level]} {level.name.lower()}{'s' * (counts[level] != 1)}" for level in levels]
    rest = "" if verbose else " (-v prints them, and what notes mean)"
    screen.line(f"{', '.join(said)}; {counts[Severity.OK]} checks passed{rest}", "bold")


def _indented(text: str, width: int, indent: str = INDENT) -> list[str]:
    return wrap(text, width, initial_indent=indent, subsequent_indent=INDENT, break_on_hyphens=False)
