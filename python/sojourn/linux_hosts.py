"""The hosts of the engine `linux`: one at each end of the links, and one wherever else a path begins or ends.

A path that begins between two links begins at a host that sends into the second link's namespace and hears from
the first one's, so that its packets pass the queues and delays of the links that it crosses and of no other. One
that ends there ends at a host that does the opposite.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from sojourn.tc import ECN, settings

# The wires of these hosts are numbered from here, four for each pair of neighbouring links.
FIRST_WIRE = 100
LAST_WIRE = 255


class PathError(ValueError):
    """A path that the kernel's network does not have."""


@dataclass(frozen=True, slots=True)
class Host:
    """A host: its namespace, its address, the device that it sends on, and the commands that join it to the rest."""

    namespace: str
    address: str
    device: str
    commands: tuple[str, ...] = ()


def check_path(path: list[str], links: list[dict[str, Any]]) -> None:
    """Raises `PathError` unless the network has this path.

    Its links follow one another; and where it begins or ends between two of them, no element stands before a queue,
    since packets would pass what the simulator's do not, or the other way round.
    """
    names = [link["name"] for link in links]
    first, last = names.index(path[0]), names.index(path[-1])
    if path != names[first : last + 1]:
        raise PathError("expected links that follow one another")
    for junction in sorted({first, last + 1} - {0, len(links)}):
        before, behind = links[junction - 1], links[junction]
        for name, way in (
            (f"{before['name']}.reverse", {**before, **before.get("reverse", {})}),
            (behind["name"], behind),
        ):
            if way["ingress"]:
                between = f"`{before['name']}` and `{behind['name']}`"
                raise PathError(f"link.{name}.ingress leaves no place between {between} where a path begins or ends")
        if FIRST_WIRE + 4 * junction + 3 > LAST_WIRE:
            raise PathError(f"no path begins or ends behind link {(LAST_WIRE - 3 - FIRST_WIRE) // 4}")


def namespace(role: str, junction: int, links: int) -> str:
    """Of the host at which paths begin (`near`) or end (`far`) before link number `junction` of so many."""
    ends = {("near", 0): "cli", ("far", links): "srv"}
    return ends.get((role, junction), f"{role}-{junction}")


def hosts(document: Mapping[str, Any], mtu: int) -> list[Host]:
    """All hosts, the two ends of the links first."""
    links = [link["name"] for link in document["link"]]
    found = {
        "cli": Host("cli", "10.9.0.1", "right"),
        "srv": Host("srv", f"10.9.{len(links)}.2", "left"),
    }
    tables = [flow.get("tcp", document["tcp"]) for flow in document.get("flow", [])] or [document["tcp"]]
    window = max(int(tcp.get("initial_cwnd", 10)) for tcp in tables)
    for flow in [*document.get("flow", []), *document.get("ping", [])]:
        for role, junction in _ends(list(flow["path"]), links):
            name = namespace(role, junction, len(links))
            if name not in found:
                found[name] = _between(name, role, junction, links, mtu, window)
    return list(found.values())


def ends(document: Mapping[str, Any], among: list[Host]) -> dict[str, list[int]]:
    """Of each link, the index of the host at which paths begin (`near`) or end (`far`) with it."""
    count = len(document["link"])
    index = {host.namespace: number for number, host in enumerate(among)}
    # Where no path begins or ends there is no host, and nobody asks.
    return {
        "near": [index.get(namespace("near", link, count), 0) for link in range(count)],
        "far": [index.get(namespace("far", link + 1, count), 0) for link in range(count)],
    }


def _ends(path: list[str], links: list[str]) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("near", links.index(path[0])), ("far", links.index(path[-1]) + 1)


def _between(name: str, role: str, junction: int, links: list[str], mtu: int, window: int) -> Host:
    """A host between two links."""
    before, behind = junction, junction + 1  # places of their namespaces in a row that begins with `cli`
    sends_to, hears_from = (behind, before) if role == "near" else (before, behind)
    wire = FIRST_WIRE + 4 * junction + (0 if role == "near" else 2)
    address = f"10.9.{wire + 1}.1"
    commands = [f"ip netns add {name}", f"ip netns exec {name} ip link set dev lo up"]
    for device, number, place in (("out", wire, sends_to), ("in", wire + 1, hears_from)):
        router, peer = f"mid-{links[place - 1]}", f"{name}-{device}"
        commands.append(f"ip link add {device} netns {name} type veth peer name {peer} netns {router}")
        for space, end, host in ((name, device, 1), (router, peer, 2)):
            commands += [
                f"ip netns exec {space} ip link set dev {end} mtu {mtu} txqueuelen 1000",
                f"ip netns exec {space} ethtool -K {end} tso off gso off gro off >/dev/null",
                f"ip netns exec {space} ip addr add 10.9.{number}.{host}/24 dev {end}",
                f"ip netns exec {space} ip link set dev {end} up",
            ]
    via = f"via 10.9.{wire}.2 src {address} initcwnd {window}"
    commands.append(f"ip netns exec {name} ip route add default {via}")
    for place, link in enumerate(links, start=1):
        if place != hears_from:
            neighbour = f"10.9.{place - 1}.1" if place > hears_from else f"10.9.{place}.2"
            commands.append(f"ip netns exec mid-{link} ip route add 10.9.{wire + 1}.0/24 via {neighbour}")
    return Host(name, address, "out", tuple(commands))


def tuned(document: Mapping[str, Any], among: list[Host]) -> Iterator[str]:
    """Settings of the hosts. They take whatever ECN a flow asks for; what it asks for is its own."""
    flows = [flow for flow in document.get("flow", []) if "cc" in flow]
    tables = [flow.get("tcp", document["tcp"]) for flow in flows]
    if not tables:
        return
    chosen = dict(settings(tables[0]))
    chosen["tcp_ecn"] = max(ECN[tcp["ecn"]] for tcp in tables)
    if any(tcp["ecn"] == "accecn" for tcp in tables):
        chosen["tcp_ecn_option"] = 2 if tables[0]["accecn_option"] else 0
    if any(str(flow.get("app")).startswith("short") for flow in flows):
        # Connections that come and go are not to run out of ports.
        chosen |= {"ip_local_port_range": '"20000 65535"', "tcp_tw_reuse": 1}
    for host, (key, value) in product(among, chosen.items()):
        yield f"ip netns exec {host.namespace} sysctl -qw net.ipv4.{key}={value}"
    if tables[0]["pacing"]:
        links = [link["name"] for link in document["link"]]
        sides = [(flow.get("direction") == "up", list(flow["path"])) for flow in flows]
        senders = {namespace(*_ends(path, links)[is_up], len(links)) for is_up, path in sides}
        for host in (host for host in among if host.namespace in senders):
            yield f"ip netns exec {host.namespace} tc qdisc replace dev {host.device} root fq"
