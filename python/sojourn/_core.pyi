"""Types of the native module; its Rust source is `crates/py`."""

import pathlib
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Literal, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

class ScenarioError(ValueError):
    """A scenario or an algorithm text that cannot be used; the message is one line for the user."""

#: Name, unit, times in seconds and values.
Series: TypeAlias = tuple[str, str, NDArray[np.float64], NDArray[np.float64]]

class RunResult:
    """What one run left behind."""

    @property
    def summary(self) -> str:
        """The summary as JSON text."""
    @property
    def queues(self) -> str:
        """Statistics of every queue as JSON text."""
    @property
    def series(self) -> list[Series]:
        """Name, unit, times in seconds and values of every series, in a fixed order."""
    def packed(self) -> bytes:
        """All series that have a sample, for `series_table`.

        A line of JSON with their names, units and numbers of samples, then the times of all and the values of all as
        little-endian doubles.
        """
    @property
    def complete(self) -> bool:
        """Whether the run reached its end."""
    @property
    def kernel(self) -> str | None:
        """Release of the kernel that it ran on; None for the simulator."""

class Inspection:
    """What captures say."""

    @property
    def report(self) -> str:
        """The report as JSON text."""
    @property
    def scetrace(self) -> str:
        """The JSON of scetrace, as text."""
    @property
    def facts(self) -> str:
        """Format, interfaces and damage of each file, as JSON text."""
    @property
    def warnings(self) -> list[str]:
        """What is damaged or missing, a line each that names the file."""
    def packets(self, flow: int) -> dict[str, Any] | None:
        """Columns of a flow's packets by their names; None where they were not kept."""
    def series(self, flow: int, backward: bool, interval_ns: int | None) -> dict[str, Any] | None:
        """What a flow's data of one direction did in intervals, or without these in round trips, as columns."""

class InspectLive:
    """What passes an interface from now on; OSError is one line where it cannot be opened."""

    def __init__(self, name: str, expression: str | None, events: bool) -> None: ...
    def advance(self, seconds: float) -> None:
        """Takes packets for so long."""
    def report(self) -> Inspection:
        """What was seen so far."""

class Anonymiser:
    """Other addresses for those of captures, under one key that nobody has; what two share of a prefix they keep."""

    def addresses(self, of: list[IPv4Address | IPv6Address]) -> list[IPv4Address | IPv6Address]:
        """What stands for each of these."""
    def copy(self, paths: list[str], to: pathlib.Path) -> int:
        """Copies headers of captures into one pcapng file, without payload; the number of packets."""

def inspect(paths: list[str], expression: str | None, events: bool) -> Inspection:
    """Analyses files in their order as one capture; `-` is standard input.

    ValueError is one line that names the file, or what is wrong in the filter.
    """

def inspect_pair(first: str, second: str, translated: bool) -> tuple[str, list[str]]:
    """Two captures of the same packets: the report as JSON text, and what is damaged.

    ValueError is one line that names the file.
    """

class KernelOptions(Protocol):
    """What the user chooses of an engine with kernel hosts."""

    @property
    def bound_s(self) -> float | None:
        """Packets pass the simulator's network if there is a bound of its lateness, s, else the kernel's."""
    @property
    def super_packets(self) -> bool:
        """Whether the hosts before it may send several packets as one."""
    @property
    def keep_awake(self) -> bool:
        """Whether idle CPUs poll while it runs."""
    @property
    def names(self) -> str | None:
        """What precedes the names that the hosts have in `ip netns`; without it they have none."""
    @property
    def allows_exec(self) -> bool:
        """Whether a scenario may run the programs that it names."""

class Engine:
    """What carries out scenarios."""

    @staticmethod
    def simulator() -> Engine:
        """The simulator."""
    @staticmethod
    def linux(
        identity: str,
        capabilities: Capabilities,
        launcher: list[str],
        agent: list[str],
        stall_s: int,
        limit_s: int,
        options: KernelOptions,
    ) -> Engine:
        """Hosts of a kernel: in virtual time, or without a launcher this machine's.

        A guest is ended after `stall_s` of wall time without progress, or `limit_s` in all.
        """
    @property
    def version(self) -> str:
        """What results are recognised by."""
    def check(self, text: str) -> None:
        """Raises ValueError with key and reason if it cannot run this resolved scenario."""
    def commands(self, text: str) -> list[str]:
        """The commands that build the hosts of a run of this resolved scenario."""
    def names(self, text: str) -> list[str]:
        """The names in `ip netns` of the hosts while a run of this resolved scenario lasts."""
    def start(self, text: str, captures: pathlib.Path | None = None) -> Run:
        """A run of a resolved scenario, at 0 s; RuntimeError with one line if it cannot begin.

        Its capture files are written to the folder `captures`; without one there are none.
        """

class Run:
    """A run under way; it keeps the GIL free while it works."""

    @property
    def duration_s(self) -> float:
        """Length of the scenario."""
    @property
    def now_s(self) -> float:
        """Seconds of the scenario up to which it has come."""
    def advance(self, until_s: float | None = None, budget_s: float = 0.05) -> Literal["going", "paused", "ended"]:
        """Goes on to `until_s`, to the end, or for `budget_s` of wall time.

        RuntimeError if it fails, after which it is over.
        """
    def drain(self) -> list[Series]:
        """What was sampled since the last call."""
    def finish(self) -> RunResult:
        """The results so far; after that the run is over."""

class Middlebox:
    """A middlebox between two devices, from its start to `finish`; only on Linux. Texts are JSON."""

    def __new__(cls, settings: str) -> Self:
        """Raises ScenarioError about a setting, a device or a right; gives up this thread's capabilities."""
    @property
    def refused(self) -> list[str]:
        """What the forwarding thread was not granted, with the reasons."""
    @property
    def warnings(self) -> list[str]:
        """What of the settings is valid but may not be meant, a line each."""
    def next(self, wait_s: float) -> str | None:
        """The next reading, if one comes within this time, s."""
    @property
    def is_over(self) -> bool:
        """Whether it has ended by itself."""
    def finish(self) -> str:
        """Ends it; the reading of the whole run. OSError if it has ended early."""

def middlebox_request(socket: pathlib.Path, line: str) -> str:
    """Sends a line of JSON to a middlebox's socket; its answer."""

def version() -> str:
    """Version of the engine; results of different versions are never mixed."""

def schema() -> str:
    """JSON Schema of the scenario file."""

def resolve(
    text: str, file: str, overrides: list[tuple[str, str]], within: pathlib.Path | None = None
) -> tuple[str, list[str]]:
    """Validates a scenario; returns it with every default written out, and warnings.

    With `within` no trace file outside of this folder is read, nor by way of a symbolic link.
    """

def resolve_seeds(
    text: str, file: str, overrides: list[tuple[str, str]], seeds: list[int], within: pathlib.Path | None = None
) -> tuple[list[str], list[str]]:
    """The same for each of these seeds, in place of the scenario's, with the warnings of all: it is read once."""

def design(text: str, file: str, overrides: list[tuple[str, str]]) -> tuple[str, int, int, list[str]] | None:
    """Method, points, seed and names of a file's `[sample]`, if it has one."""

def runs(text: str, file: str, overrides: list[tuple[str, str]]) -> int:
    """How many runs a file's sweep and sample make; of either, one without."""

def expand(
    text: str,
    file: str,
    overrides: list[tuple[str, str]],
    cube: list[list[float]] = ...,
    within: pathlib.Path | None = None,
) -> list[tuple[list[tuple[str, str]], str]]:
    """The runs of a file's sweep, or its only one: names and values of the axes, and the resolved scenario.

    `cube` has a row for each point of its `[sample]`, with a coordinate from 0 to below 1 for each of its names.
    """

def draw_rules() -> int:
    """Grows with every change of what cases are drawn."""

def draw(kinds: Literal["linux", "all"], seed: int, index: int) -> tuple[str, str]:
    """A scenario drawn at random, resolved, and what it is about; of `linux` what a kernel can run too."""

def conditions(text: str) -> str:
    """JSON: capacity, RTT of the empty path and bottlenecks of a scenario, as its run's summary has them."""

def edit(text: str, file: str, key: str, value: str | None, within: pathlib.Path | None = None) -> str:
    """The text of a scenario with another value at a dotted name, or without it; comments and layout stay."""

def outline(text: str) -> str:
    """JSON: nodes, links, and the ways of flows, pings and tunnels of a scenario, for a drawing."""

def toml(text: str) -> dict[str, Any] | None:
    """What `tomllib` makes of a text; None for what only that decides, errors among it."""

def series_table(runs: list[bytes], ids: list[str] | None = None, *, group_rows: int) -> bytes:
    """Packed series of runs as a Parquet file: columns `series`, `unit`, `t_s` and `value`, with `ids` `id` first.

    Of one run without an id the footer notes the names of the series. The same series give the same bytes.
    ValueError if one is not as `RunResult.packed` has it.
    """

def series_names(file: pathlib.Path) -> str | None:
    """JSON: names of the series in a file of one run; None if it is not as `series_table` makes it."""

def series_read(
    file: pathlib.Path, names: set[str], begin: int = 0, rows: int = ...
) -> list[tuple[str, bytes, bytes]] | None:
    """Of series of these names among some rows of a file: name, times and values as little-endian doubles.

    None if the file is not as `series_table` makes it.
    """

def table_file(columns: list[tuple[str, str, list[Any]]]) -> bytes:
    """Columns as a Parquet file: of each its name, its kind (text, double, long, int or bool) and its values or None.

    ValueError or TypeError for another kind or value.
    """

def table_read(file: pathlib.Path, names: set[str], *, others: bool = False) -> dict[str, list[Any]] | None:
    """The columns of these names that a file has, or all but them; None if it is not as `table_file` makes it."""

def scream_tool(end: Literal["tx", "rx"], args: list[str]) -> int:
    """One end of the SCReAM bandwidth test tool until it is over; its exit code.

    Raises:
        ValueError: `end` is neither.
    """

def timer_trial(real_time: bool, spin_us: int, period_us: int, departures: int) -> str:
    """JSON: how late departures were that a thread was to make every `period_us`, spinning the last `spin_us` before.

    Keys `lateness_ms` (statistics), `granted` and `refused`: what a thread of live mode asks for, with `real_time`.

    Raises:
        OSError: no thread, or no waiting.
        RuntimeError: not on Linux.
    """

class Capabilities:
    """What a kernel in virtual time and the tc inside it have; ValueError for a text that is not its JSON."""

    def __new__(cls, text: str) -> Self: ...
    @staticmethod
    def ask(launcher: list[str], agent: list[str], limit_s: int) -> Capabilities:
        """Starts the kernel and asks it; RuntimeError if the kernel fails."""

    @property
    def json(self) -> str: ...
    def nearest(self, text: str) -> tuple[str, str]:
        """The nearest resolved scenario that the kernel can do, and a JSON array of what differs in it."""

def tc_script(
    text: str, on: str | None = None, ingress: str | None = None
) -> tuple[str, list[tuple[float, str]], list[str]]:
    """The script that builds a resolved scenario on Linux, its commands with their times in seconds, and its limits.

    With `on` it puts the bottleneck on that interface, with `ingress` on an ifb for what arrives there. Raises
    `ScenarioError` with one line about these.
    """

def linux_inside(folder: str) -> None:
    """What runs inside the kernel."""

def qdiscs() -> str:
    """JSON array of the queue disciplines."""

def controllers() -> str:
    """JSON array of the congestion controllers."""

def apps() -> str:
    """JSON array of the applications."""

def app_usage(name: str) -> str:
    """Usage text of one application."""

def harm(solo: float, competing: float, more_is_better: bool) -> float | None:
    """Share of its solo performance that a flow loses to competition; None if there is none to lose."""

def jain(shares: list[float]) -> float | None:
    """Jain's fairness index; None if there is nothing to share."""

def rate_bps(text: str) -> int | None:
    """Bits per second of a text such as `100Mbit`, as tc reads it; None if it is no rate."""

def size_bytes(text: str) -> int | None:
    """Bytes of a text such as `10kb`, as tc reads it, in powers of 1024; None if it is no size."""

def qdisc_usage(name: str) -> str:
    """Usage text of one queue discipline."""

def brief(text: str) -> str:
    """A scenario without the parameters of algorithms that have their defaults; ScenarioError if it is none."""

def cc_usage(name: str) -> str:
    """Usage text of one congestion controller."""

def define_controller(
    name: str, cls: type, file: str, summary: str, parameters: list[tuple[str, str, str, str]]
) -> None:
    """Makes a class the congestion controller of this name; ScenarioError if an own one has it.

    A parameter is its name, its kind (flag, int, float, time, rate, size, text), its default as a text
    and a description; `file` is that of the class in tracebacks.
    """

def define_qdisc(name: str, cls: type, file: str, summary: str, parameters: list[tuple[str, str, str, str]]) -> None:
    """Makes a class the queue discipline of this name, as `define_controller`."""

class Path:
    """What the end point knows of the path at the moment of the call."""

    @property
    def mss(self) -> int:
        """Payload bytes of a full segment."""
    @property
    def mtu(self) -> int:
        """IP bytes of a full segment."""
    @property
    def srtt_s(self) -> float | None:
        """Smoothed RTT; None before the first sample."""
    @property
    def mdev_s(self) -> float | None:
        """Mean deviation of the RTT."""
    @property
    def min_rtt_s(self) -> float | None:
        """Windowed minimum RTT."""
    @property
    def packets_out(self) -> int:
        """Segments sent and not cumulatively acknowledged."""
    @property
    def in_flight(self) -> int:
        """Segments in the network by the end point's reckoning."""
    @property
    def snd_nxt(self) -> int:
        """Sequence number of the next new byte."""
    @property
    def snd_una(self) -> int:
        """First unacknowledged byte."""
    @property
    def delivered(self) -> int:
        """Segments delivered since the start, SACKed ones included."""
    @property
    def delivered_ce(self) -> int:
        """Of those, reported CE."""
    @property
    def state(self) -> Literal["open", "disorder", "cwr", "recovery", "loss"]:
        """State of the end point."""
    @property
    def feedback(self) -> Literal["rfc3168", "accecn", "dctcp", "sce"] | None:
        """ECN feedback that was negotiated."""
    @property
    def signal(self) -> Literal["loss", "mark"]:
        """In `ssthresh`: what the reduction answers."""
    @property
    def cwnd_limited(self) -> bool:
        """The last transmission stopped because cwnd was full."""
    @property
    def backlogged(self) -> bool:
        """Data is waiting in the write queue."""
    @property
    def paced(self) -> bool:
        """The end point paces."""
    @property
    def departure_s(self) -> float:
        """Earliest departure of the next burst by the pacer."""
    @property
    def pacing_ss_ratio(self) -> int:
        """Pacing ratio in slow start, percent."""
    @property
    def pacing_ca_ratio(self) -> int:
        """Pacing ratio in congestion avoidance, percent."""
    @property
    def hz(self) -> int:
        """Kernel tick rate."""

class Window:
    """The window that end point and controller share, in segments."""

    INFINITE: int
    """ssthresh before the first reduction."""
    cwnd: int
    cwnd_cnt: int
    """Growth carry of `additive_increase`."""
    ssthresh: int

    @property
    def prior_cwnd(self) -> int:
        """The cwnd when the running reduction began."""
    @property
    def prior_ssthresh(self) -> int:
        """The ssthresh when the running reduction began."""
    @property
    def clamp(self) -> int:
        """Upper limit of cwnd."""
    @property
    def in_slow_start(self) -> bool:
        """Whether cwnd is below ssthresh."""
    def slow_start(self, acked: int) -> int:
        """Linux `tcp_slow_start`: grows up to ssthresh and returns the segments left over."""
    def additive_increase(self, w: int, acked: int) -> None:
        """Linux `tcp_cong_avoid_ai`: one segment per `w` acknowledged, with carry."""

class RateSample:
    """A delivery-rate sample."""

    @property
    def delivered(self) -> int:
        """Segments delivered over the interval."""
    @property
    def delivered_ce(self) -> int:
        """Of those, CE."""
    @property
    def interval_s(self) -> float:
        """Longer of send and ACK time."""
    @property
    def prior_delivered(self) -> int:
        """`delivered` when the sampled segment was sent."""
    @property
    def tx_in_flight(self) -> int:
        """In flight when the sampled segment was sent, itself included."""
    @property
    def lost(self) -> int:
        """Segments marked lost since it was sent."""
    @property
    def app_limited(self) -> bool:
        """Sent while the application had nothing to send."""
    @property
    def ack_delayed(self) -> bool:
        """The ACK of a lone segment that was probably delayed."""

class AckEvent:
    """What an acknowledgement says at first sight."""

    @property
    def path(self) -> Path:
        """The path; `snd_una` is the new one, `delivered` and `in_flight` count SACKs only."""
    @property
    def acked_bytes(self) -> int:
        """Bytes by which `snd_una` advanced."""
    @property
    def window_update(self) -> bool:
        """The send window moved: False for a duplicate."""
    @property
    def ece(self) -> bool:
        """ECE flag."""
    @property
    def esce(self) -> bool:
        """ESCE flag (SCE)."""

class Ack:
    """Facts of one acknowledgement; counts are of this one."""

    @property
    def path(self) -> Path:
        """The path after this acknowledgement."""
    @property
    def acked(self) -> int:
        """Segments newly acknowledged cumulatively that no SACK had covered before."""
    @property
    def sacked(self) -> int:
        """Segments newly SACKed."""
    @property
    def delivered(self) -> int:
        """Both: what growth counts."""
    @property
    def acked_bytes(self) -> int:
        """Bytes newly acknowledged cumulatively."""
    @property
    def lost(self) -> int:
        """Segments newly marked lost."""
    @property
    def ce(self) -> int:
        """CE-marked segments newly reported (AccECN, DCTCP)."""
    @property
    def ect1(self) -> int:
        """ECT(1) segments newly reported."""
    @property
    def ece(self) -> bool:
        """ECE flag (RFC 3168)."""
    @property
    def esce(self) -> bool:
        """ESCE flag (SCE)."""
    @property
    def rtt_s(self) -> float | None:
        """RTT sample, if this acknowledgement gives one."""
    @property
    def rate(self) -> RateSample | None:
        """Rate sample, if valid."""
    @property
    def prior_in_flight(self) -> int:
        """In flight before this acknowledgement."""
    @property
    def may_raise(self) -> bool:
        """The cwnd may grow now: new data was acknowledged, and no reduction is running."""
    @property
    def app_limited(self) -> bool:
        """The sender had nothing more to send."""

class Sent:
    """A transmission."""

    @property
    def bytes(self) -> int:
        """Payload bytes."""
    @property
    def segments(self) -> int:
        """Segments."""
    @property
    def retransmit(self) -> bool:
        """Whether it repeats data."""
    @property
    def from_idle(self) -> bool:
        """Nothing was in flight before."""

class Lost:
    """A transmission that was given up for lost."""

    @property
    def tx_in_flight(self) -> int:
        """In flight when the segment was sent, itself included."""
    @property
    def lost(self) -> int:
        """Segments marked lost since it was sent, itself included."""
    @property
    def app_limited(self) -> bool:
        """Sent while the application had nothing to send."""
    @property
    def delivered(self) -> int:
        """Segments delivered since the start."""

class Packet:
    """A packet in a queue, until it is returned from `dequeue` or dropped."""

    @property
    def len(self) -> int:
        """Bytes of the layer-2 frame."""
    @property
    def flow(self) -> int:
        """Direction of a flow; that of the other direction is `flow ^ 1`."""
    @property
    def hash(self) -> int:
        """Hash of the 5-tuple."""
    @property
    def src(self) -> int:
        """Source host."""
    @property
    def dst(self) -> int:
        """Destination host."""
    @property
    def dscp(self) -> int:
        """DSCP."""
    @property
    def ecn(self) -> Literal["not-ect", "ect1", "ect0", "ce"]:
        """ECN codepoint."""
    @property
    def kind(self) -> Literal["tcp-data", "tcp-ack", "tcp-control", "udp", "icmp"]:
        """Protocol class."""
    @property
    def arrived_s(self) -> float:
        """When the queue received it."""
    def mark(self, reason: str) -> bool:
        """Sets CE; False if the packet is not ECN-capable, so that only a drop can signal."""
    def mark_sce(self, reason: str) -> bool:
        """Sets SCE, ECT(0) to ECT(1); False for every other codepoint."""
    def drop(self, reason: str) -> None:
        """Discards the packet."""

class ScreamSender:
    """What `sojourn.scream.Sender` wraps."""

    def __init__(self, parameters: str, now_ns: int) -> None: ...
    def add_stream(self, ssrc: int, priority: float, min_rate: float, init_rate: float, max_rate: float) -> None: ...
    def push(self, now_ns: int, packet: bytes) -> bool: ...
    def target(self, now_ns: int, ssrc: int) -> tuple[int, bool]: ...
    def next(self, now_ns: int) -> tuple[bytes | None, int | None]: ...
    def feedback(self, now_ns: int, datagram: bytes) -> None: ...
    @property
    def ecn(self) -> int: ...
    def stats(self) -> list[tuple[str, float]]: ...

class ScreamReceiver:
    """What `sojourn.scream.Receiver` wraps."""

    def __init__(self, parameters: str, now_ns: int) -> None: ...
    def arrived(self, now_ns: int, packet: bytes, tos: int) -> None: ...
    def report(self, now_ns: int) -> tuple[bytes | None, int | None]: ...
