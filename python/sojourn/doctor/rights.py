"""Rights and tools: what live mode, namespaces and the doctor itself need."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sojourn.doctor.finding import Finding, Kind, Severity, passed

#: capabilities(7), by the bit in `CapEff` of proc_pid_status(5).
CAPABILITIES = {12: "CAP_NET_ADMIN", 13: "CAP_NET_RAW", 21: "CAP_SYS_ADMIN"}
#: Settings that forbid user namespaces to users, and their values that do: user_namespaces(7); Debian's patch of
#: kernel/fork.c; Ubuntu's AppArmor.
FORBIDDING = {
    "user/max_user_namespaces": ("0", "15000"),
    "kernel/unprivileged_userns_clone": ("0", "1"),
    "kernel/apparmor_restrict_unprivileged_userns": ("1", "0"),
}
TOOLS = {"ip": "iproute2", "tc": "iproute2", "ss": "iproute2", "ethtool": "ethtool"}

NO_NAMESPACE = Kind(
    "namespace-forbidden",
    Severity.WARNING,
    "this user may make no network namespace: no CAP_SYS_ADMIN and CAP_NET_ADMIN, and a sysctl forbids user namespaces",
    "Live mode and testbeds on one machine do not start.",
    "sudo sysctl -w {setting}, or run as root",
    "user_namespaces(7); capabilities(7)",
)
NO_RAW = Kind(
    "raw-sockets-forbidden",
    Severity.NOTE,
    "this user has no CAP_NET_RAW",
    "`sojourn doctor --path` cannot look at a path.",
    "sudo .venv/bin/sojourn doctor --path HOST",
    "raw(7); capabilities(7)",
)
NO_TUN = Kind(
    "tun-missing",
    Severity.WARNING,
    "there is no `/dev/net/tun`, or this user may not open it",
    "Live mode has no devices to take packets from.",
    "sudo modprobe tun; where only root may open it, sudo chmod 666 /dev/net/tun; in a container --device /dev/net/tun",
    "Linux Documentation/networking/tuntap.rst",
)
NO_TOOL = Kind(
    "tool-missing",
    Severity.WARNING,
    "one of `ip`, `tc`, `ss` and `ethtool` is missing",
    "What it would show was not examined: without ethtool no offloads, without tc no queues.",
    "sudo apt install {packages}",
    "ip(8); tc(8); ss(8); ethtool(8)",
)


def capabilities(status: str | None, settings: Mapping[str, str | None]) -> Iterator[Finding]:
    """Text of `/proc/self/status`, and of the settings in `FORBIDDING` that exist."""
    mask = re.search(r"^CapEff:\s*([0-9a-fA-F]{1,16})$", status or "", re.MULTILINE)
    if not mask:
        return
    has = {name for bit, name in CAPABILITIES.items() if int(mask[1], 16) >> bit & 1}
    forbids = ((key, no, yes) for key, (no, yes) in FORBIDDING.items() if (settings.get(key) or "").strip() == no)
    forbidden = next(forbids, None)
    if {"CAP_SYS_ADMIN", "CAP_NET_ADMIN"} <= has:
        yield passed("namespace-forbidden", "this user may make network namespaces")
    elif forbidden:
        key, no, yes = forbidden[0].replace("/", "."), *forbidden[1:]
        yield NO_NAMESPACE.found(f"{key}={no} forbids user namespaces", setting=f"{key}={yes}")
    else:
        yield passed("namespace-forbidden", "this user may make network namespaces, in a user namespace")
    if "CAP_NET_RAW" in has:
        yield passed("raw-sockets-forbidden", "this user has CAP_NET_RAW")
    else:
        yield NO_RAW.found("no CAP_NET_RAW")


def tun(error: str | None) -> Iterator[Finding]:
    """What opening `/dev/net/tun` for reading and writing says; None if it opens."""
    if error:
        yield NO_TUN.found(f"/dev/net/tun: {error}")
    else:
        yield passed("tun-missing", "/dev/net/tun opens")


def tools(paths: Mapping[str, str | None]) -> Iterator[Finding]:
    """Where each of `TOOLS` is."""
    missing = [name for name in TOOLS if not paths.get(name)]
    if missing:
        packages = " ".join(dict.fromkeys(TOOLS[name] for name in missing))
        yield NO_TOOL.found(f"no {', '.join(missing)}", packages=packages)
    else:
        yield passed("tool-missing", f"{', '.join(TOOLS)} are there")
