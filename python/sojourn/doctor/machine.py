"""The machine as it is: gathers, and hands to the checks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sojourn import _core
from sojourn.doctor import clock, cpu, gather, rights, tcp
from sojourn.doctor.finding import Finding

SOURCE = Path("/sys/devices/system/clocksource/clocksource0")
CPUS = Path("/sys/devices/system/cpu")
#: Departures of full packets at 100 Mbit/s, for 0.4 s; live mode spins for at most the last 60 us.
PERIOD_US, DEPARTURES, SPIN_US = 120, 3300, 60
ACCECN = 'echo 3 > /proc/sys/net/ipv4/tcp_ecn && read value < /proc/sys/net/ipv4/tcp_ecn && [ "$value" = 3 ]'


def examine() -> Iterator[Finding]:
    """Clock, CPUs and rights. It takes a second."""
    yield from clock.source(gather.text(SOURCE / "current_clocksource"), gather.text(SOURCE / "available_clocksource"))
    yield from clock.slack(gather.text("/proc/self/timerslack_ns"))
    before = gather.text("/proc/stat")
    load = gather.text("/proc/loadavg")
    live = _core.timer_trial(True, SPIN_US, PERIOD_US, DEPARTURES)
    yield from clock.lateness(live, _core.timer_trial(False, 0, PERIOD_US, DEPARTURES))
    yield from cpu.steal(before, gather.text("/proc/stat"))
    yield from cpu.load(load, len(os.sched_getaffinity(0)))
    governors = ((one.name, gather.text(one / "cpufreq/scaling_governor")) for one in sorted(CPUS.glob("cpu[0-9]*")))
    yield from cpu.governors({name: text for name, text in governors if text})
    states = sorted((CPUS / "cpu0/cpuidle").glob("state*"))
    yield from cpu.idle(
        {
            (gather.text(state / "name") or state.name).strip(): (
                gather.text(state / "latency"),
                gather.text(state / "disable"),
            )
            for state in states
        }
    )
    kernel = Path("/proc/sys/kernel")
    yield from cpu.throttling(gather.text(kernel / "sched_rt_runtime_us"), gather.text(kernel / "sched_rt_period_us"))
    settings = {key: gather.text(Path("/proc/sys", key)) for key in rights.FORBIDDING}
    yield from rights.capabilities(gather.text("/proc/self/status"), settings)
    yield from rights.tun(_tun())
    yield from rights.tools({name: gather.tool(name) for name in rights.TOOLS})


def examine_tcp(rate_bps: float | None, rtt_s: float | None) -> Iterator[Finding]:
    """Settings of TCP in this network namespace."""
    files = gather.texts("/proc/sys/net/ipv4").items()
    settings = {name: " ".join(text.split()) for name, text in files if name.startswith("tcp_")}
    yield from tcp.ecn(settings, _accecn(settings))
    yield from tcp.controllers(settings, gather.text(f"/lib/modules/{os.uname().release}/modules.dep"))
    yield from tcp.switches(settings)
    yield from tcp.defaults(settings)
    yield from tcp.buffers(settings, rate_bps, rtt_s)


def _accecn(settings: tcp.Settings) -> bool | None:
    """Whether the kernel has AccECN: it is asked in a network namespace of its own, so that nothing changes here."""
    if settings.get("tcp_ecn") in ("3", "4", "5"):
        return True
    inside = ["--net"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--net"]
    if gather.answer("unshare", *inside, "true") is None:
        return None
    return gather.answer("unshare", *inside, "sh", "-c", ACCECN) is not None


def _tun() -> str | None:
    """Why `/dev/net/tun` does not open; opening it makes no device yet."""
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return error.strerror
    return None
