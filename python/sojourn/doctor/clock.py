"""Clock and timers: what times are read from, and how late a thread wakes up."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sojourn.doctor.finding import Finding, Kind, Severity, passed
from sojourn.doctor.numbers import whole

#: Clocks that a program reads without a system call: Linux, `vdso_clock_mode` of `arch/*/include`.
FAST = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "riscv_clocksource")
#: Timer slack that Linux gives a program: PR_SET_TIMERSLACK(2const), milliseconds.
DEFAULT_SLACK_NS = 50_000
#: An L4S queue's step is 1 ms (RFC 9332 A.1): an error of a tenth distorts it, one of that size hides it.
STEP_MS = 1.0
#: Longer than any timer is late on a machine that runs: the CPU was somebody else's.
STALL_MS = 5.0

CLOCK_TICK = Kind(
    "clock-tick",
    Severity.FAULT,
    "the clock source is `jiffies`",
    "Times advance in steps of 1 to 10 ms: RTTs, pacing and queue delays are multiples of that.",
    "boot with a hardware clock, such as the kernel parameter clocksource=tsc",
    "Linux Documentation/timers/timekeeping.rst",
)
CLOCK_SLOW = Kind(
    "clock-slow",
    Severity.WARNING,
    "the clock source cannot be read without a system call (`hpet`, `acpi_pm` ...)",
    "Each reading of the clock, several per packet, takes about a microsecond of a device; rates above some 100 Mbit/s "
    "and times of single packets suffer.",
    "echo {better} | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
    "Linux Documentation/timers/timekeeping.rst; vdso(7)",
)
SLACK = Kind(
    "timer-slack",
    Severity.WARNING,
    "the timer slack is above the default of 50 us",
    "Programs that sleep between packets (traffic generators, ping) send that much later, several packets at a time.",
    "echo 50000 | sudo tee /proc/PID/timerslack_ns, for the programs that send",
    "PR_SET_TIMERSLACK(2const); proc_pid_timerslack_ns(5)",
)
LATE = Kind(
    "timer-late",
    Severity.WARNING,
    "a thread as live mode has it departs more than 100 us late at p99",
    "Live mode's departures are that late, and delays are uncertain by it: a tenth of the 1 ms at which L4S queues "
    "mark.",
    "stop other programs; grant what is refused (real-time-refused), and see the findings on CPUs",
    "RFC 9332 A.1 (step of 1 ms); clock_nanosleep(2)",
)
HIDDEN = Kind(
    "timer-useless",
    Severity.FAULT,
    "a thread as live mode has it departs more than 1 ms late at p99",
    "The error is as large as the queue delay at which L4S queues mark: live mode measures the machine, not the queue.",
    "stop other programs; grant what is refused (real-time-refused); or the engine linux, whose time is virtual",
    "RFC 9332 A.1 (step of 1 ms); clock_nanosleep(2)",
)
STALL = Kind(
    "timer-stall",
    Severity.WARNING,
    "one of the departures was more than 5 ms late",
    "The thread did not run for that long, and the queue was not served: in a run this is a delay that no queue made.",
    "repeat; if it stays, it is the hypervisor (a CPU of your own) or another program with real-time priority",
    "sched(7)",
)
ORDINARY = Kind(
    "timer-late-ordinary",
    Severity.WARNING,
    "an ordinary thread wakes up more than 1 ms late at p99",
    "Traffic generators and programs under test without real-time priority send in bursts of that length.",
    "sudo chrt --fifo 40 PROGRAM, or fewer programs at a time",
    "sched(7); clock_nanosleep(2)",
)
REFUSED = Kind(
    "real-time-refused",
    Severity.WARNING,
    "the machine refuses one of live mode's measures: FIFO scheduling, exact timers, CPUs that stay awake",
    "Live mode does without: other programs delay its departures, by up to some milliseconds on a busy machine, or a "
    "CPU that halts has to be woken first.",
    "sudo prlimit --pid $$ --rtprio=50 --memlock=unlimited, sudo setfacl -m u:$USER:rw /dev/cpu_dma_latency, or run "
    "as root; where there is no cpuidle driver, sojourn run or middlebox with --keep-awake",
    "sched(7); Linux Documentation/power/pm_qos_interface.rst",
)


def source(current: str | None, available: str | None) -> Iterator[Finding]:
    """The clock: texts of `current_clocksource` and `available_clocksource`."""
    name = (current or "").strip()
    if not name:
        return
    if name in ("jiffies", "refined-jiffies"):
        yield CLOCK_TICK.found(f"clock source {name}")
    elif name in FAST:
        yield passed("clock-slow", f"clock source {name}")
    else:
        there = (available or "").split()
        better = next((one for one in FAST if one in there), "tsc (after booting with tsc=reliable)")
        yield CLOCK_SLOW.found(f"clock source {name}; there are {', '.join(there)}", better=better)


def slack(text: str | None) -> Iterator[Finding]:
    """The slack of this program, which what it starts inherits: text of `/proc/self/timerslack_ns`."""
    slack_ns = whole(text)
    if slack_ns is None:
        return
    found = f"timer slack {slack_ns / 1000:g} us"
    yield SLACK.found(found) if slack_ns > DEFAULT_SLACK_NS else passed("timer-slack", found)


def lateness(live: str, ordinary: str) -> Iterator[Finding]:
    """Departures of a thread as live mode has it, and of an ordinary one: JSON of `_core.timer_trial`."""
    trial, plain = json.loads(live), json.loads(ordinary)
    if refused := trial["refused"]:
        yield REFUSED.found(f"refused: {'; '.join(refused)}")
    else:
        yield passed("real-time-refused", "live mode gets FIFO scheduling, exact timers and CPUs that stay awake")
    late = trial["lateness_ms"]
    found = f"live mode departs {_spread(late)} late"
    if late["p99"] > STEP_MS:
        yield HIDDEN.found(found)
    elif late["p99"] > STEP_MS / 10:
        yield LATE.found(found)
    else:
        yield passed("timer-late", found)
    if late["max"] > STALL_MS:
        yield STALL.found(f"a real-time thread did not run for {late['max']:.1f} ms, in {late['n']} departures")
    late = plain["lateness_ms"]
    found = f"an ordinary thread wakes up {_spread(late)} late"
    yield ORDINARY.found(found) if late["p99"] > STEP_MS else passed("timer-late-ordinary", found)


def _spread(late: dict[str, float]) -> str:
    p50, p99, most = (late[key] * 1000 for key in ("p50", "p99", "max"))
    return f"{p50:.0f} us (p50), {p99:.0f} us (p99), {most:.0f} us (most)"
