"""What a campaign found, as tables: agreement per quantity, and classes of disagreement."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sojourn.crosscheck.campaign import Campaign, Case
    from sojourn.crosscheck.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of one quantity over all cases."""

    name: str
    agree: int
    count: int
    #: The same of the cases that the kernel ran more than once.
    spread: tuple[int, int]
    #: Of these, the kernel's own further runs, each by all others.
    itself: tuple[int, int]
    #: Our further runs likewise; nothing if means were not asked for.
    likewise: tuple[int, int]
    #: All cases, and the kernel's further runs, by the kernel's first run and the fixed tolerances alone.
    alone: tuple[int, int]
    itself_alone: tuple[int, int]
    #: All cases with the means of as many runs of ours as the kernel has; nothing if they were not asked for.
    means: tuple[int, int]

    @property
    def percent(self) -> float:
        return percent((self.agree, self.count))


def percent(share: tuple[int, int]) -> float:
    """NaN of nothing."""
    return 100 * share[0] / share[1] if share[1] else math.nan


@dataclass(frozen=True, slots=True)
class Class:
    """Disagreements that have quantity, queue and controllers in common."""

    name: str
    queue: str
    controllers: str
    cases: tuple[str, ...]
    #: Median of the differences in tolerances, with the sign of ours less the kernel's.
    excess: float
    #: Where the difference is made, of most of them.
    origin: str
    worst: Verdict


def agreements(found: Campaign) -> list[Agreement]:
    """All quantities, those that agree least first, after the sum over all."""
    again = {verdict.case for verdict in found.itself}
    spread = [verdict for verdict in found.verdicts if verdict.case in again]
    groups = (found.verdicts, spread, found.itself, found.likewise, found.alone, found.itself_alone, found.means)

    def row(name: str, names: set[str]) -> Agreement:
        chosen = [[verdict.agrees for verdict in group if verdict.name in names] for group in groups]
        whole, *others = ((sum(agree), len(agree)) for agree in chosen)
        return Agreement(name, *whole, *others)

    names = {verdict.name for verdict in found.verdicts}
    rows = sorted((row(name, {name}) for name in names), key=lambda row: (row.percent, row.name))
    return [row("all", names), *rows] if rows else []


def classes(found: Campaign) -> list[Class]:
    """Ranked by how many cases they explain, then by size."""
    groups: dict[tuple[str, str, str], list[Verdict]] = defaultdict(list)
    for verdict in found.disagreements:
        groups[verdict.name, *features(found.cases[verdict.case])].append(verdict)
    rows = [_class(key, members) for key, members in groups.items()]
    return sorted(rows, key=lambda row: (-len(row.cases), -abs(row.excess), row.name, row.queue, row.controllers))


def _class(key: tuple[str, str, str], members: list[Verdict]) -> Class:
    signed = sorted(member.excess if member.error > 0 else -member.excess for member in members)
    cases = tuple(sorted({member.case for member in members}))
    origin = Counter(member.origin for member in members).most_common(1)[0][0]
    return Class(*key, cases, signed[len(signed) // 2], origin, max(members, key=lambda member: member.excess))


def features(case: Case) -> tuple[str, str]:
    """The bottleneck's queue and the controllers of a case, by their names."""
    document: dict[str, Any] = case.job.scenario.document()
    queue = _first(document["link"][0]["qdisc"])
    return queue, "+".join(sorted({_first(flow["cc"]) for flow in document["flow"] if "cc" in flow}))


def _first(text: object) -> str:
    return re.split(r"\s", str(text), maxsplit=1)[0]


def markdown(found: Campaign) -> str:
    """Both tables, and what was left out."""
    columns = ["quantity", "agree", "of", "%", "where the kernel ran again, %", "the kernel itself, %"]
    columns += ["ours likewise, %"] if found.means else []
    columns += ["by the first run alone, %", "the kernel itself by it, %"]
    columns += ["means of as many runs, %"] if found.means else []
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    lines += [
        f"| {row.name} | {row.agree} | {row.count} | {row.percent:.1f} | {percent(row.spread):.1f} "
        f"| {percent(row.itself):.1f} |"
        + (f" {percent(row.likewise):.1f} |" if found.means else "")
        + f" {percent(row.alone):.1f} | {percent(row.itself_alone):.1f} |"
        + (f" {percent(row.means):.1f} |" if found.means else "")
        for row in agreements(found)
    ]
    lines += [
        "",
        "| quantity | queue | controllers | cases | excess | made by | worst: ours, kernel's |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.name} | {row.queue} | {row.controllers} | {len(row.cases)} | {row.excess:+.1f} | {row.origin} | "
        f"{row.worst.case} {row.worst.of}: {row.worst.ours:.4g}, {row.worst.kernel:.4g} |"
        for row in classes(found)
    ]
    return "\n".join([*lines, *_left_out(found)]) + "\n"


def _left_out(found: Campaign) -> Iterable[str]:
    if found.refused:
        yield ""
    for reason, count in found.refused.most_common():
        yield f"{count} cases left out: {reason}"


def document(found: Campaign) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "schema": "sojourn/crosscheck/1",
        "cases": len({verdict.case for verdict in found.verdicts}),
        "agreement": [
            {
                "quantity": r.name,
                "agree": r.agree,
                "count": r.count,
                "again": r.spread,
                "itself": r.itself,
                "likewise": r.likewise,
                "alone": r.alone,
                "itself_alone": r.itself_alone,
                "means": r.means,
            }
            for r in agreements(found)
        ],
        "classes": [
            {
                "quantity": r.name,
                "queue": r.queue,
                "controllers": r.controllers,
                "cases": list(r.cases),
                "excess": r.excess,
                "made_by": r.origin,
            }
            for r in classes(found)
        ],
        "left_out": dict(found.refused),
        "failed": found.failed,
    }
