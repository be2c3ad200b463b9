"""The logs that a testbed keeps of a run: how it was set up, and its statistics when it was torn down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from sojourn import _core, metrics
from sojourn.results import ResultsError, Run, flatten
from sojourn.scenario import Scenario
from sojourn.text import harmless

Log = Literal["setup", "teardown"]
#: A threshold of this many segments is none.
NO_THRESHOLD = 1_000_000


def log(run: Run, which: Log) -> str:
    """One of the two logs as text."""
    lines = _setup(run) if which == "setup" else _teardown(run)
    return "\n".join([*_heading(run), *lines]) + "\n"


def _heading(run: Run) -> Iterator[str]:
    manifest = run.manifest
    yield f"# {run.id}"
    yield f"# sojourn {manifest.get('version', '?')}, seed {manifest.get('seed', '?')}"
    if "started" in manifest:
        yield f"# started {manifest['started']} on {manifest.get('host', '?')}: {manifest.get('command', '?')}"
    yield ""


def _setup(run: Run) -> Iterator[str]:
    """The commands that build the scenario on Linux, and each queue with all its parameters."""
    try:
        # Read as any scenario is: a script for root takes no word from a file that was not checked.
        resolved = Scenario(run.scenario, run.files.where("scenario.toml")).resolve()
        script, _, _ = _core.tc_script(resolved.text)
        yield from script.rstrip("\n").split("\n")
    except (_core.ScenarioError, ResultsError) as error:
        yield f"# not to be built: {harmless(str(error))}"
    yield ""
    for queue in run.queues:
        yield f"# qdisc show dev {queue['name']}: {queue.get('qdisc', '')}"


def _teardown(run: Run) -> Iterator[str]:
    """Every queue as `tc -s qdisc show` has it, and every flow as `ss` and `netstat` count it."""
    for queue in run.queues:
        yield from statistics(queue)
        yield ""
    flows = run.summary.get("flows")
    for flow in flows if isinstance(flows, list) else []:
        carried = " ".join(str(flow[key]) for key in ("cc", "app") if key in flow)
        yield f"flow {flow['name']} {carried}".rstrip()
        for end in ("sender", "receiver"):
            if counters := flow.get(end):
                yield f"  {end} " + " ".join(f"{name} {_shown(value)}" for name, value in flatten(counters).items())

    yield from _tcp_metrics(run)


def statistics(queue: Mapping[str, Any]) -> Iterator[str]:
    """A queue as `tc -s qdisc show` has it."""
    stats = dict(queue.get("stats") or {})
    yield f"qdisc {queue.get('qdisc', '?')} dev {queue['name']}"
    yield (
        f" Sent {queue.get('sent_bytes', 0)} bytes {queue.get('sent_packets', 0)} pkt"
        f" (dropped {queue.get('dropped', 0)}, overlimits {stats.pop('overlimits', 0)} requeues 0)"
    )
    yield f" backlog {queue.get('backlog_bytes', 0)}b {queue.get('backlog_packets', 0)}p requeues 0"
    for what in ("marks", "drops"):
        if reasons := queue.get(what):
            yield f"  {what} " + " ".join(f"{reason} {count}" for reason, count in reasons.items())
    if stats:
        yield "  " + " ".join(f"{name} {_shown(value)}" for name, value in flatten(stats).items())
    if sojourn := queue.get("sojourn_ms"):
        yield "  sojourn " + " ".join(f"{name} {_shown(v)}{'' if name == 'n' else 'ms'}" for name, v in sojourn.items())


def _tcp_metrics(run: Run) -> Iterator[str]:
    """Each sender's last sample in the form of `ip tcp_metrics`: what a connection would leave to the next one."""
    lines = []
    for flow in metrics.flows(run):
        values = {}
        for key, unit in (("ssthresh", 1), ("cwnd", 1), ("rtt", 1000)):
            t, series = metrics.finite(run, f"flow.{flow}.{key}")
            if t.size and 0 < series[-1] < NO_THRESHOLD:
                values[key] = round(float(series[-1]) * unit)
        if {"cwnd", "rtt"} <= values.keys():
            known = " ".join(f"{key} {value}{'us' if key == 'rtt' else ''}" for key, value in values.items())
            lines.append(f"{flow}.receiver {known} source {flow}.sender")
    if lines:
        yield ""
        yield "# ip tcp_metrics, from each sender's last sample; simulated hosts keep nothing between runs"
        yield from lines


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
