"""Settings of TCP: those that change what a controller under test does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sojourn.doctor.finding import Finding, Kind, Severity, passed
from sojourn.doctor.numbers import whole

DOC = "Linux Documentation/networking/ip-sysctl.rst"
#: Defaults of Linux that models of its TCP assume: include/net/tcp.h, tcp_sk_init of net/ipv4/tcp_ipv4.c.
DEFAULTS = {
    "tcp_recovery": 1,
    "tcp_dsack": 1,
    "tcp_frto": 2,
    "tcp_reordering": 3,
    "tcp_early_retrans": 3,
    "tcp_comp_sack_nr": 44,
    "tcp_min_tso_segs": 2,
    "tcp_pacing_ss_ratio": 200,
    "tcp_pacing_ca_ratio": 120,
    "tcp_notsent_lowat": 0xFFFFFFFF,
}
#: Two super-packets, which tcp_small_queue_check lets pass at any rate.
LEAST_OUTPUT_BYTES = 2 * 65536
#: A controller that reacts to the share of marks: RFC 9331 4.3. Names of their modules.
SCALABLE = ("prague", "dctcp")

NO_ECN = Kind(
    "tcp-ecn-off",
    Severity.WARNING,
    "`tcp_ecn` is 0, or lets connections from here go without ECN (2, the default, or 5)",
    "Connections from here send Not-ECT packets: an AQM drops them, L4S queues see classic traffic, and no mark is "
    "seen.",
    "sudo sysctl -w net.ipv4.tcp_ecn={value}",
    f"{DOC}, tcp_ecn; RFC 3168 6.1.1",
)
NO_ACCECN = Kind(
    "tcp-accecn-unavailable",
    Severity.NOTE,
    "the kernel refuses `tcp_ecn=3`",
    "No AccECN: a sender learns of one mark per RTT at most (RFC 3168), which Prague takes for its fallback to Reno.",
    "a newer kernel (7.x has it), or the engine linux, which brings one",
    f"{DOC}, tcp_ecn; RFC 9768 1",
)
ACCECN_OFF = Kind(
    "tcp-accecn-off",
    Severity.NOTE,
    "the kernel has AccECN, and `tcp_ecn` does not ask for it",
    "Connections from here negotiate classic ECN: one reaction per RTT; Prague falls back to Reno.",
    "sudo sysctl -w net.ipv4.tcp_ecn=3",
    f"{DOC}, tcp_ecn; RFC 9768 3.1",
)
FALLBACK = Kind(
    "tcp-ecn-fallback",
    Severity.NOTE,
    "`tcp_ecn_fallback` is on, the default",
    "If the SYN is lost or refused, that connection goes without ECN, silently; `ss -ti` shows `ecn` of one that "
    "has it.",
    "sudo sysctl -w net.ipv4.tcp_ecn_fallback=0",
    f"{DOC}, tcp_ecn_fallback; RFC 3168 6.1.1.1",
)
CONTROLLER = Kind(
    "tcp-controller",
    Severity.NOTE,
    "the default controller is neither `cubic` nor `reno`",
    "Programs that name no controller use it, cross traffic too.",
    "sudo sysctl -w net.ipv4.tcp_congestion_control=cubic, or iperf3 -C NAME",
    f"{DOC}, tcp_congestion_control",
)
NOT_ALLOWED = Kind(
    "tcp-controller-not-allowed",
    Severity.NOTE,
    "a controller is available, but not in `tcp_allowed_congestion_control`",
    "Programs without privilege, and the default of a network namespace, cannot have it: they keep the default.",
    'sudo sysctl -w net.ipv4.tcp_allowed_congestion_control="{allowed}", or ip route ... congctl NAME',
    f"{DOC}, tcp_allowed_congestion_control; tcp_set_allowed_congestion_control",
)
NO_SCALABLE = Kind(
    "tcp-no-scalable",
    Severity.NOTE,
    "neither `prague` nor `dctcp` is available",
    "This kernel has no sender that reacts to the share of marks: L4S queues cannot be tested with it.",
    "sudo modprobe tcp_dctcp; Prague's module is in L4STeam's kernel; or the engine linux",
    "RFC 9331 4.3; RFC 8257",
)
NO_TIMESTAMPS = Kind(
    "tcp-timestamps-off",
    Severity.WARNING,
    "`tcp_timestamps` is 0",
    "No RTT of retransmitted data and no detection of spurious retransmissions by Eifel; segments carry 12 bytes more.",
    "sudo sysctl -w net.ipv4.tcp_timestamps=1",
    f"{DOC}, tcp_timestamps; RFC 7323 4",
)
NO_SACK = Kind(
    "tcp-sack-off",
    Severity.FAULT,
    "`tcp_sack` is 0",
    "Loss recovery is NewReno's, one segment per RTT, without RACK and PRR's counts: no controller performs as "
    "published.",
    "sudo sysctl -w net.ipv4.tcp_sack=1",
    f"{DOC}, tcp_sack; RFC 6675; RFC 8985 3.1",
)
NO_SCALING = Kind(
    "tcp-window-scaling-off",
    Severity.FAULT,
    "`tcp_window_scaling` is 0",
    "The receive window ends at 64 KB: throughput is that over the RTT, whatever the controller does.",
    "sudo sysctl -w net.ipv4.tcp_window_scaling=1",
    f"{DOC}, tcp_window_scaling; RFC 7323 2",
)
IDLE_RESTART = Kind(
    "tcp-restart-after-idle",
    Severity.NOTE,
    "`tcp_slow_start_after_idle` is on, the default",
    "A flow that sent nothing for an RTO starts again from its initial window: of pauses in video, games and requests.",
    "sudo sysctl -w net.ipv4.tcp_slow_start_after_idle=0",
    f"{DOC}, tcp_slow_start_after_idle; RFC 5681 4.1",
)
METRICS = Kind(
    "tcp-metrics-saved",
    Severity.WARNING,
    "`tcp_no_metrics_save` is 0",
    "A connection starts with RTT and reordering (and ssthresh, unless tcp_no_ssthresh_metrics_save is on) of the one "
    "before to that host: repeated runs depend on each other.",
    "sudo sysctl -w net.ipv4.tcp_no_metrics_save=1; sudo ip tcp_metrics flush all",
    f"{DOC}, tcp_no_metrics_save; tcp_init_metrics",
)
CHANGED = Kind(
    "tcp-setting-changed",
    Severity.WARNING,
    "one of " + ", ".join(f"`{name}`" for name in DEFAULTS) + " is not Linux's default",
    "Recovery, pacing or the send buffer are not those of other testbeds, nor those that Sojourn simulates.",
    "sudo sysctl -w {settings}",
    DOC,
)
FIXED_BUFFER = Kind(
    "tcp-receive-buffer-fixed",
    Severity.WARNING,
    "`tcp_moderate_rcvbuf` is 0",
    "The receive window does not grow: throughput is the default of tcp_rmem over the RTT.",
    "sudo sysctl -w net.ipv4.tcp_moderate_rcvbuf=1",
    f"{DOC}, tcp_moderate_rcvbuf",
)
WINDOW = Kind(
    "tcp-buffer-below-bdp",
    Severity.FAULT,
    "half of the largest of `tcp_rmem` or `tcp_wmem` is below the bandwidth-delay product (`--rate`, `--rtt`)",
    "The window, not the controller, bounds the flow: no queue and no loss at the bottleneck. The kernel counts its "
    "overhead to the buffer, about as much again as data.",
    'sudo sysctl -w net.ipv4.{setting}="{value}"',
    f"{DOC}, tcp_rmem, tcp_adv_win_scale; RFC 7323 1",
)
TIGHT = Kind(
    "tcp-buffer-below-2-bdp",
    Severity.WARNING,
    "half of the largest of `tcp_rmem` or `tcp_wmem` is below two bandwidth-delay products",
    "With a queue of one BDP, or in slow start, the window bounds the flow.",
    'sudo sysctl -w net.ipv4.{setting}="{value}"',
    f"{DOC}, tcp_rmem, tcp_wmem; RFC 5681 3.1",
)
SMALL_QUEUE = Kind(
    "tcp-small-queue",
    Severity.WARNING,
    "`tcp_limit_output_bytes` is below 128 KiB, or below a millisecond of `--rate`",
    "TCP small queues stop a socket before the link is busy: the flow is limited by the host, not by its controller.",
    "sudo sysctl -w net.ipv4.tcp_limit_output_bytes={value}",
    f"{DOC}, tcp_limit_output_bytes; tcp_small_queue_check",
)
Settings = Mapping[str, str]


def ecn(settings: Settings, has_accecn: bool | None) -> Iterator[Finding]:
    """`tcp_ecn` and what the kernel takes for it: whether it took 3 in a namespace of its own, None if not tried."""
    value = settings.get("tcp_ecn")
    found = f"tcp_ecn={value}"
    # enum tcp_ecn_mode of include/net/tcp_ecn.h
    if value in ("0", "2", "5"):
        incoming = {"0": "no connection has ECN", "2": "only connections from others have ECN"}
        text = f"{found}: {incoming.get(value, 'only connections from others have AccECN or ECN')}"
        yield NO_ECN.found(text, value="3" if has_accecn else "1")
    elif value is not None:
        yield passed("tcp-ecn-off", found)
    if has_accecn is False:
        yield NO_ACCECN.found("the kernel refuses tcp_ecn=3")
    elif has_accecn and value in ("1", "4"):
        yield ACCECN_OFF.found(found)
    elif has_accecn:
        yield passed("tcp-accecn-unavailable", "the kernel has AccECN")
    if settings.get("tcp_ecn_fallback") == "1":
        yield FALLBACK.found("tcp_ecn_fallback=1")
    elif "tcp_ecn_fallback" in settings:
        yield passed("tcp-ecn-fallback", f"tcp_ecn_fallback={settings['tcp_ecn_fallback']}")


def controllers(settings: Settings, modules: str | None) -> Iterator[Finding]:
    """Controllers of the kernel, and the list of its modules that are not loaded (`modules.dep`)."""
    default = settings.get("tcp_congestion_control")
    available = settings.get("tcp_available_congestion_control", "").split()
    allowed = settings.get("tcp_allowed_congestion_control", "").split()
    if default is None or not available:
        return
    kind = "tcp-controller"
    found = f"default controller {default}"
    yield passed(kind, found) if default in ("cubic", "reno") else CONTROLLER.found(found)
    if missing := [name for name in available if name not in allowed]:
        yield NOT_ALLOWED.found(f"{', '.join(missing)}: available, not allowed", allowed=" ".join(available))
    else:
        yield passed("tcp-controller-not-allowed", f"allowed controllers: {', '.join(allowed)}")
    loadable = {name for name in SCALABLE if f"/tcp_{name}.ko" in (modules or "")}
    scalable = [name for name in SCALABLE if name in available or name in loadable]
    if scalable:
        yield passed("tcp-no-scalable", f"scalable controllers: {', '.join(scalable)}")
    else:
        yield NO_SCALABLE.found(f"no prague and no dctcp; there are {', '.join(available)}")


def switches(settings: Settings) -> Iterator[Finding]:
    """Settings that are right with one value."""
    wanted = {
        "tcp_timestamps": (NO_TIMESTAMPS, ("1", "2")),
        "tcp_sack": (NO_SACK, ("1",)),
        "tcp_window_scaling": (NO_SCALING, ("1",)),
        "tcp_slow_start_after_idle": (IDLE_RESTART, ("0",)),
        "tcp_no_metrics_save": (METRICS, ("1",)),
        "tcp_moderate_rcvbuf": (FIXED_BUFFER, ("1",)),
    }
    for name, (kind, right) in wanted.items():
        if (value := settings.get(name)) is not None:
            yield passed(kind.name, f"{name}={value}") if value in right else kind.found(f"{name}={value}")


def defaults(settings: Settings) -> Iterator[Finding]:
    """Settings that others leave alone."""
    known = {name: value for name, value in DEFAULTS.items() if name in settings}
    changed = [name for name, value in known.items() if settings[name] != str(value)]
    if changed:
        text = ", ".join(f"{name}={settings[name]} (Linux: {DEFAULTS[name]})" for name in changed)
        yield CHANGED.found(text, settings=" ".join(f"net.ipv4.{name}={DEFAULTS[name]}" for name in changed))
    elif known:
        yield passed("tcp-setting-changed", f"{len(known)} settings of recovery and pacing have Linux's defaults")


def buffers(settings: Settings, rate_bps: float | None, rtt_s: float | None) -> Iterator[Finding]:
    """Windows and queues in the host, for a rate and an RTT where they are known."""
    if rate_bps and rtt_s:
        bdp = rate_bps * rtt_s / 8
        for name in ("tcp_rmem", "tcp_wmem"):
            values = settings.get(name, "").split()
            most = whole(values[2]) if len(values) == 3 else None
            if most is None:
                continue
            usable = most / 2
            found = f"{name} allows a window of {usable / 1e6:.1f} MB; the BDP is {bdp / 1e6:.1f} MB"
            better = " ".join([*values[:2], str(int(6 * bdp))])
            if usable < 2 * bdp:
                yield (WINDOW if usable < bdp else TIGHT).found(found, setting=name, value=better)
            else:
                yield passed(WINDOW.name, found)
    limit = whole(settings.get("tcp_limit_output_bytes"))
    if limit is not None:
        least = max(LEAST_OUTPUT_BYTES, (rate_bps or 0) / 8 / 1000)
        found = f"a socket has at most {limit} bytes in the queues below TCP"
        if limit < least:
            yield SMALL_QUEUE.found(found, value=max(1 << 20, int(4 * least)))
        else:
            yield passed(SMALL_QUEUE.name, found)
