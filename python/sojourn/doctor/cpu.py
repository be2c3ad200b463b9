"""CPUs: who else has them, how fast they run, how deeply they sleep."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sojourn.doctor.finding import Finding, Kind, Severity, passed
from sojourn.doctor.numbers import whole

#: Governors that hold one frequency: Linux Documentation/admin-guide/pm/cpufreq.rst.
FIXED = ("performance", "userspace")
#: Exit latency of an idle state that is longer than the timers' default slack.
DEEP_US = 50
STEAL = 0.01
#: The kernel's default for FIFO threads: sched(7), sched_rt_runtime_us and sched_rt_period_us.
RT_SHARE = 0.95

STOLEN = Kind(
    "cpu-steal",
    Severity.WARNING,
    "the hypervisor had the CPUs for more than 1 % of the trial's time",
    "All of this machine stands still meanwhile: queues are not served, and delays of others' work are in every "
    "result.",
    "a virtual machine with CPUs of its own (pinned), or a real machine",
    "proc_stat(5), steal",
)
LOADED = Kind(
    "cpu-load",
    Severity.WARNING,
    "more programs want to run than there are CPUs",
    "Ends and middlebox wait for a CPU: packets leave in bursts, and RTTs have a tail of scheduler slices (3 to 8 ms).",
    "stop other work; ps -eo pcpu,comm --sort=-pcpu | head shows it",
    "proc_loadavg(5); sched(7)",
)
ONE = Kind(
    "cpu-one",
    Severity.WARNING,
    "there is one CPU",
    "Sender, bottleneck and receiver take turns on it, so that each delays the others.",
    "at least two CPUs: one for live mode, one for the ends; or the engine linux, whose time is virtual",
    "sched(7)",
)
GOVERNOR = Kind(
    "cpu-governor",
    Severity.WARNING,
    "a CPU's frequency follows its load",
    "A packet's processing takes longer at low load than at high load, so that delay depends on the rate under test.",
    "sudo cpupower frequency-set --governor performance",
    "Linux Documentation/admin-guide/pm/cpufreq.rst",
)
IDLE = Kind(
    "cpu-idle",
    Severity.WARNING,
    "an idle state that is in use takes more than 50 us to leave",
    "Timers of the kernel's queues and paced senders fire that late on an idle CPU. Live mode keeps CPUs awake, but"
    " only while it runs.",
    "sudo cpupower idle-set --disable-by-latency 50",
    "Linux Documentation/admin-guide/pm/cpuidle.rst",
)
THROTTLED = Kind(
    "cpu-rt-runtime",
    Severity.WARNING,
    "real-time threads may run for less than 95 % of the time",
    "The kernel takes the CPU from live mode's thread when its share is used up, until the next period.",
    "sudo sysctl -w kernel.sched_rt_runtime_us=950000",
    "sched(7); Linux Documentation/scheduler/sched-rt-group.rst",
)


def steal(before: str | None, after: str | None) -> Iterator[Finding]:
    """What the hypervisor took: text of `/proc/stat` at the start and end of the trial."""
    taken = _steal(before or ""), _steal(after or "")
    if taken[0] is None or taken[1] is None or taken[1][1] <= taken[0][1]:
        return
    share = (taken[1][0] - taken[0][0]) / (taken[1][1] - taken[0][1])
    found = f"CPU time stolen by the hypervisor: {share:.1%}"
    yield STOLEN.found(found) if share > STEAL else passed("cpu-steal", found)


def _steal(stat: str) -> tuple[int, int] | None:
    """Ticks stolen, and all: proc_stat(5). Guests' time, after them, is in the user's already."""
    name, *words = (stat.partition("\n")[0].split() or [""])[:9]
    ticks = [tick for tick in map(whole, words) if tick is not None]
    return (ticks[7], sum(ticks)) if name == "cpu" and len(ticks) == 8 else None


def load(loadavg: str | None, cpus: int) -> Iterator[Finding]:
    """Number of CPUs, and programs that want them: text of `/proc/loadavg`, and the CPUs of this process."""
    if cpus == 1:
        yield ONE.found("1 CPU")
    mean = re.match(r"\d{1,9}\.\d+ ", loadavg or "")
    if not mean:
        return
    wanted = float(mean[0])
    found = f"load {wanted:g} on {cpus} CPU{'s' if cpus > 1 else ''} (mean of a minute)"
    yield LOADED.found(found) if wanted > cpus else passed("cpu-load", found)


def governors(texts: Mapping[str, str]) -> Iterator[Finding]:
    """Text of `scaling_governor` by CPU, such as `cpu0`; empty where the hypervisor or firmware decides."""
    found = {cpu: text.strip() for cpu, text in texts.items()}
    changing = sorted({name for name in found.values() if name not in FIXED})
    if changing:
        number = sum(name not in FIXED for name in found.values())
        yield GOVERNOR.found(f"frequency governor {', '.join(changing)} on {number} of {len(found)} CPUs")
    elif found:
        yield passed("cpu-governor", f"frequency governor {', '.join(sorted(set(found.values())))}")


def idle(states: Mapping[str, tuple[str | None, str | None]]) -> Iterator[Finding]:
    """Texts of `latency` (us) and `disable` of each idle state of a CPU, by its name."""
    exits = {
        name: exit_us
        for name, (latency, disable) in states.items()
        if (exit_us := whole(latency)) is not None and (disable or "0").strip() == "0"
    }
    if not exits:
        return
    deepest = max(exits, key=exits.__getitem__)
    found = f"idle state {deepest} takes {exits[deepest]} us to leave"
    yield IDLE.found(found) if exits[deepest] > DEEP_US else passed("cpu-idle", found)


def throttling(runtime_us: str | None, period_us: str | None) -> Iterator[Finding]:
    """Texts of `sched_rt_runtime_us` (-1: no bound) and `sched_rt_period_us`."""
    runtime, period = whole(runtime_us), whole(period_us)
    if runtime is None or period is None:
        return
    share = 1.0 if runtime < 0 or period <= 0 else runtime / period
    found = f"real-time threads may run for {share:.0%} of the time"
    yield THROTTLED.found(found) if share < RT_SHARE else passed("cpu-rt-runtime", found)
