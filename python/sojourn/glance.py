"""What a run did in a dozen numbers: a row for each flow and ping, a row for each queue, a row for all of it.

The numbers are those of `summary.json` and `queue.json`, which may come from anywhere: what is no number
is read as absent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol

from sojourn.groups import groups
from sojourn.scenario import head

PING = "ping"
#: What a flow's delay is, and where it is in the summary: the first that it has.
DELAYS = (
    ("transfer", ("completions", "fct_ms")),
    ("frame", ("media", "frames", "delay_ms")),
    ("RTT", ("rtt_ms",)),
    ("one-way", ("one_way", "delay_ms")),
    ("RTT", ("tcp_rtt_ms",)),  # of an imported Flent file
)


class Run(Protocol):
    """What a glance is taken at: `sojourn.results.Run`."""

    @property
    def id(self) -> str: ...
    @property
    def complete(self) -> bool: ...
    @property
    def manifest(self) -> dict[str, Any]: ...
    @property
    def summary(self) -> dict[str, Any]: ...
    @property
    def queues(self) -> list[dict[str, Any]]: ...
    @property
    def scenario(self) -> str: ...


@dataclass(frozen=True, slots=True)
class FlowRow:
    """One flow or ping, or a group of them.

    Goodput and delays are of the measuring window, counts of the whole run. Of a group, goodput and
    counts are sums, `p50_ms` is the median of its flows', `p99_ms` the largest.
    """

    name: str
    what: str
    """Application and controller, without their parameters; the protocol of a ping."""
    goodput_mbps: float | None
    delay: str
    """What the percentiles are of: `RTT`, `one-way`, `frame` (encoder to last packet) or `transfer`."""
    p50_ms: float | None
    p99_ms: float | None
    marks: int | None
    """CE marks that the receiver got."""
    sce_marks: int | None = None
    believed_marks: int | None = None
    """CE marks that the sender counted."""
    retransmits: int | None = None
    lost: float | None = None
    """Share of UDP packets that did not arrive."""
    answered: tuple[int, int] | None = None
    """Of a ping: replies, requests."""
    classic: tuple[float, int, float | None] | None = None
    """Of a detector of classic queues: share of the window in classic mode, changes of mode in the run, seconds from
    the flow's start until the first, None if it never was."""


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue; its sojourn time and utilisation are of the measuring window, counts of the whole run."""

    name: str
    qdisc: str
    p50_ms: float | None
    p99_ms: float | None
    drops: int | None
    marks: int | None
    utilisation: float | None
    """Share of what its rate allows; None without a rate."""

    @property
    def busy(self) -> bool:
        """Whether it did anything worth a line: dropped, marked or delayed, other than at an ingress."""
        return bool(self.drops or self.marks or (self.p99_ms and ".ingress" not in self.name))


@dataclass(frozen=True, slots=True)
class Punctuality:
    """How late a middlebox was with real packets: of its hosts' the worst."""

    p50_ms: float | None
    """None where no packet left."""
    p99_ms: float | None
    bound_ms: float | None
    """What `p99_ms` may be for a result to count."""
    is_late: bool
    lost: int
    """Packets lost outside the queues: a device was full, or they belong to no flow."""
    refused: tuple[str, ...]
    """What the machine did not grant, and why."""
    super_packets: int = 0
    """Packets of several, which queues counted as one."""


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """A program that was an end point of a flow."""

    flow: str
    end: str
    """`client` or `server`."""
    exit_code: int
    """As a shell has it."""
    said: str
    """The last line on standard error."""


@dataclass(frozen=True, slots=True)
class Glance:
    """A run in few numbers."""

    id: str
    description: str
    complete: bool
    seed: int | None
    duration_s: float | None
    window_s: tuple[float, float] | None
    flows: list[FlowRow]
    """Flows in the order of the scenario, copies grouped, and then pings."""
    queues: list[QueueRow]
    over_time_mbps: tuple[float | None, float | None, float | None] = (None, None, None)
    """Of all flows together: p05, p50 and p95 of the goodput in short intervals."""
    punctuality: Punctuality | None = None
    """None where no packet was real."""
    own_flows: tuple[tuple[str, str], ...] = ()
    """Flows of real packets on our end points, not a kernel's, each with its stack."""
    failed_programs: tuple[ProgramRow, ...] = ()
    """Programs that ended by themselves, and not well."""

    @classmethod
    def of(cls, run: Run) -> Glance:
        """Reads `summary.json` and `queue.json`."""
        summary = run.summary
        flows = _named(summary.get("flows"))
        members = groups([str(flow["name"]) for flow in flows])
        rows = {row.name: row for row in map(_flow, flows)}
        window = tuple(_number(summary, "measure", key) for key in ("from_s", "to_s"))
        seed = _count(run.manifest, "seed")
        return cls(
            id=run.id,
            description=_description(run),
            complete=run.complete,
            seed=seed,
            duration_s=_number(summary, "duration_s"),
            window_s=None if None in window else window,  # type: ignore[arg-type]
            flows=[
                *(_group(label, [rows[name] for name in names]) for label, names in members.items()),
                *map(_ping, _named(summary.get("pings"))),
            ],
            queues=[_queue(queue) for queue in run.queues if isinstance(queue, Mapping)],
            over_time_mbps=tuple(  # type: ignore[arg-type]
                _number(summary, "metrics", "throughput", "goodput_over_time_mbps", key)
                for key in ("p05", "p50", "p95")
            ),
            punctuality=_punctuality(summary.get("middlebox")),
            own_flows=tuple(
                (str(flow["name"]), str(flow["stack"])) for flow in flows if flow.get("stack", "kernel") != "kernel"
            ),
            failed_programs=tuple(row for flow in flows for row in _failed_programs(flow)),
        )

    @property
    def is_late(self) -> bool:
        """Whether a middlebox was so late that the result is the machine's."""
        return self.punctuality is not None and self.punctuality.is_late

    def with_pings_joined(self) -> list[FlowRow]:
        """The rows of flows, and all pings in one."""
        pings = [row for row in self.flows if row.what == PING]
        rows = [row for row in self.flows if row.what != PING]
        return [*rows, _group(f"{PING}s ({len(pings)})", pings)] if pings else rows

    @property
    def goodput_mbps(self) -> float | None:
        """Of all flows together."""
        goodputs = _present(flow.goodput_mbps for flow in self.flows)
        return sum(goodputs) if goodputs else None

    @property
    def bottleneck(self) -> QueueRow | None:
        """The queue whose rate was used most; the first of the slowest where none has a rate."""
        rated = [queue for queue in self.queues if queue.utilisation is not None]
        if rated:
            return max(rated, key=lambda queue: queue.utilisation or 0.0)
        return max((q for q in self.queues if q.p99_ms is not None), key=lambda q: q.p99_ms or 0.0, default=None)

    def html(self) -> str:
        """The run's title and its two tables, for a notebook."""
        flows: list[Sequence[object]] = [
            ("flow", "carries", "goodput, Mbit/s", "delay", "p50, ms", "p99, ms", "marks", "retransmits")
        ]
        flows += [
            (f.name, f.what, f.goodput_mbps, f.delay, f.p50_ms, f.p99_ms, f.marks, f.retransmits) for f in self.flows
        ]
        queues: list[Sequence[object]] = [
            ("queue", "qdisc", "sojourn p50, ms", "p99, ms", "drops", "marks", "utilisation")
        ]
        queues += [
            (q.name, q.qdisc, q.p50_ms, q.p99_ms, q.drops, q.marks, q.utilisation) for q in self.queues if q.busy
        ]
        title = f"{self.id}: {self.description}" if self.description else self.id
        return f"<p><b>{escape(title)}</b></p>{_html(flows)}{_html(queues)}"

    def columns(self) -> dict[str, Any]:
        """The run as one row, by the names of `ResultSet.summary()`."""
        rtts = [flow for flow in self.flows if flow.delay == "RTT" and flow.what != PING]
        queue = self.bottleneck
        return {
            "id": self.id,
            "goodput_mbps": self.goodput_mbps,
            **dict(zip(("goodput_p05_mbps", "goodput_p50_mbps", "goodput_p95_mbps"), self.over_time_mbps, strict=True)),
            "utilisation": queue and queue.utilisation,
            "rtt_p50_ms": median(rtt) if (rtt := _present(flow.p50_ms for flow in rtts)) else None,
            "rtt_p99_ms": max(_present(flow.p99_ms for flow in rtts), default=None),
            "queue": queue and queue.name,
            "sojourn_p50_ms": queue and queue.p50_ms,
            "sojourn_p99_ms": queue and queue.p99_ms,
            "drops": _sum(queue.drops for queue in self.queues),
            "marks": _sum(flow.marks for flow in self.flows),
            "retransmits": _sum(flow.retransmits for flow in self.flows),
            "complete": self.complete,
        }


def median(values: Sequence[float]) -> float:
    """The value in the middle, or the mean of the two; `statistics` takes longer to load than a short run."""
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _html(rows: Sequence[Sequence[object]]) -> str:
    """A table; the first row is its heading."""
    lines = []
    for number, row in enumerate(rows):
        cells = ("" if cell is None else f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row)
        kind = "td" if number else "th"
        lines.append("<tr>" + "".join(f"<{kind}>{escape(cell)}</{kind}>" for cell in cells) + "</tr>")
    return f"<table>{''.join(lines)}</table>"


def _flow(flow: Mapping[str, Any]) -> FlowRow:
    app, controller = (str(flow.get(key) or "").partition(" ")[0] for key in ("app", "cc"))
    measured = ((kind, _number(flow, *at, "p50"), _number(flow, *at, "p99")) for kind, at in DELAYS)
    delay, p50, p99 = next((found for found in measured if found[1] is not None), ("", None, None))
    return FlowRow(
        name=str(flow["name"]),
        what=f"{app} {controller}".strip(),
        goodput_mbps=_number(flow, "goodput_mbps"),
        delay=delay,
        p50_ms=p50,
        p99_ms=p99,
        marks=_ends(flow, "ce_received"),
        sce_marks=_ends(flow, "sce_received"),
        believed_marks=_ends(flow, "ce_reported"),
        retransmits=_ends(flow, "retransmits"),
        lost=_number(flow, "one_way", "loss"),
        classic=_classic(flow),
    )


def _classic(flow: Mapping[str, Any]) -> tuple[float, int, float | None] | None:
    share, flips, after = (_number(flow, "classic_detection", key) for key in ("share", "flips", "after_s"))
    return None if share is None or flips is None else (share, int(flips), after)


def _ping(ping: Mapping[str, Any]) -> FlowRow:
    totals = tuple(_count(ping, "totals", key) for key in ("received", "sent"))
    return FlowRow(
        name=str(ping["name"]),
        what=PING,
        goodput_mbps=None,
        delay="RTT",
        p50_ms=_number(ping, "rtt_ms", "p50"),
        p99_ms=_number(ping, "rtt_ms", "p99"),
        marks=None,
        answered=None if None in totals else totals,  # type: ignore[arg-type]
    )


def _queue(queue: Mapping[str, Any]) -> QueueRow:
    # The queue, not the shaper around it: `htb rate 50Mbit; dualpi2 limit ...`.
    described = str(queue.get("qdisc") or "").rpartition("; ")[2]
    return QueueRow(
        name=str(queue.get("name") or ""),
        qdisc=described.partition(" ")[0],
        p50_ms=_number(queue, "sojourn_ms", "p50"),
        p99_ms=_number(queue, "sojourn_ms", "p99"),
        drops=_count(queue, "dropped"),
        marks=_count(queue, "marked"),
        utilisation=_number(queue, "utilisation"),
    )


def _group(label: str, rows: Sequence[FlowRow]) -> FlowRow:
    if len(rows) == 1:
        return rows[0]
    alike = {row.what for row in rows}
    lost = _present(row.lost for row in rows)
    answers = _present(row.answered for row in rows)
    return FlowRow(
        name=label,
        what=alike.pop() if len(alike) == 1 else "mixed",
        goodput_mbps=_sum(row.goodput_mbps for row in rows),
        delay=rows[0].delay,
        p50_ms=median(values) if (values := _present(row.p50_ms for row in rows)) else None,
        p99_ms=max(_present(row.p99_ms for row in rows), default=None),
        marks=_sum(row.marks for row in rows),
        sce_marks=_sum(row.sce_marks for row in rows),
        believed_marks=_sum(row.believed_marks for row in rows),
        retransmits=_sum(row.retransmits for row in rows),
        lost=sum(lost) / len(lost) if lost else None,
        classic=_classics(_present(row.classic for row in rows)),
        answered=(sum(back for back, _ in answers), sum(sent for _, sent in answers)) if answers else None,
    )


def _classics(found: Sequence[tuple[float, int, float | None]]) -> tuple[float, int, float | None] | None:
    """The mean share, all changes and the first of them."""
    if not found:
        return None
    shares, flips, afters = zip(*found, strict=True)
    return sum(shares) / len(shares), sum(flips), min(_present(afters), default=None)


def _punctuality(middlebox: object) -> Punctuality | None:
    if not isinstance(middlebox, Mapping):
        return None
    hosts = _objects(middlebox.get("hosts"))
    p50, p99 = (_present(_number(host, "lateness_ms", key) for host in hosts) for key in ("p50", "p99"))
    lost = _present(_count(host, key) for host in hosts for key in ("strays", "refused", "overrun"))
    return Punctuality(
        max(p50, default=None),
        max(p99, default=None),
        _number(middlebox, "bound_ms"),
        middlebox.get("is_late") is True,
        sum(lost),
        _texts(middlebox.get("refused")),
        sum(_present(_count(host, "super_packets") for host in hosts)),
    )


def _failed_programs(flow: Mapping[str, Any]) -> list[ProgramRow]:
    rows = []
    for program in _objects(flow.get("programs")):
        code = _count(program, "exit_code")
        if code and program.get("was_stopped") is False:
            said = _texts(program.get("stderr"))
            rows.append(ProgramRow(str(flow["name"]), str(program.get("end")), code, said[-1] if said else ""))
    return rows


def _texts(rows: object) -> tuple[str, ...]:
    return tuple(map(str, rows)) if isinstance(rows, list) else ()


def _description(run: Run) -> str:
    try:
        return str(head(run.scenario).get("description", ""))
    except (OSError, ValueError):
        return ""


def _named(rows: object) -> list[dict[str, Any]]:
    """A list of objects with a name each; an imported file has an object of objects."""
    if isinstance(rows, Mapping):
        rows = [{"name": name, **row} for name, row in rows.items() if isinstance(row, Mapping)]
    return [row for row in rows if isinstance(row, dict) and "name" in row] if isinstance(rows, list) else []


def _objects(rows: object) -> list[Mapping[str, Any]]:
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _ends(flow: Mapping[str, Any], key: str) -> int | None:
    """A counter of whichever end has it: data of a `request` flow, for one, go the other way."""
    counts = _present(_count(flow, end, key) for end in ("sender", "receiver"))
    return sum(counts) if counts else None


def _number(document: object, *path: str) -> float | None:
    for key in path:
        document = document.get(key) if isinstance(document, Mapping) else None
    if isinstance(document, bool) or not isinstance(document, int | float) or not math.isfinite(document):
        return None
    return float(document)


def _count(document: object, *path: str) -> int | None:
    value = _number(document, *path)
    return None if value is None else int(value)


def _present(values: Any) -> list[Any]:
    return [value for value in values if value is not None]


def _sum(values: Any) -> Any:
    found = _present(values)
    return sum(found) if found else None
