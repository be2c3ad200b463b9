"""What a Flent file says about hosts: for a run the simulated end points, never the machine that simulated them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sojourn import _core
from sojourn.logs import statistics
from sojourn.results import ResultsError, Run

OFFLOADS = (("segmentation", "gso"), ("receive", "gro"))
#: `tcp_ecn` of a host by the feedback that its connections ask for.
ECN = {"off": 0, "rfc3168": 1, "dctcp": 1, "sce": 1, "accecn": 3}
#: Bytes of the units of sizes.
SIZE = {"b": 1, "Kb": 1 << 10, "Mb": 1 << 20, "Gb": 1 << 30}
#: The kernel that an era of `tcp` is modelled after.
ERAS = {
    "2019": "Linux 5.1 to 5.3",
    "2020": "Linux 5.4",
    "5.15": "Linux 5.15",
    "6.x": "Linux 6.6 to 6.12",
    "7.x": "Linux 7.0 to 7.2",
}


def kernel(run: Run, tables: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Flent's names of the kernel: a real one for the engine `linux`, else the model and its eras."""
    if release := run.manifest.get("kernel"):
        return {"KERNEL_NAME": "Linux", "KERNEL_RELEASE": str(release)}
    eras = dict.fromkeys(str(table["era"]) for table in tables.values() if "era" in table)
    like = ", ".join(f"{era}: TCP of {ERAS[era]}" if era in ERAS else era for era in eras)
    version = run.manifest.get("version", "")
    return {
        "KERNEL_NAME": "Sojourn",
        "KERNEL_RELEASE": f"{version} (simulated; tcp.era {like})" if like else f"{version} (simulated)".strip(),
    }


def sysctls(tables: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Settings of the end points that all flows share, and by flow those that differ, under the kernel's names."""
    each = {flow: _sysctls(table) for flow, table in tables.items()}
    first = next(iter(each.values()), {})
    common = {key: value for key, value in first.items() if all(own.get(key) == value for own in each.values())}
    return common, {flow: {k: v for k, v in own.items() if k not in common} for flow, own in each.items()}


def _sysctls(table: Mapping[str, Any]) -> dict[str, Any]:
    if not table:
        return {}
    try:
        found: dict[str, Any] = {
            "tcp_ecn": ECN[table["ecn"]],
            "tcp_timestamps": int(table["timestamps"]),
            "tcp_rmem": f"4096\t{_bytes(table['rmem_default'])}\t{_bytes(table['rmem_max'])}",
            "tcp_wmem": f"4096\t16384\t{_bytes(table['wmem_max'])}",
            "tcp_pacing_ss_ratio": table["pacing_ss_ratio"],
            "tcp_pacing_ca_ratio": table["pacing_ca_ratio"],
        }
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}  # a table that no reader has checked
    # What the model always does.
    found |= {"tcp_no_metrics_save": 1, "tcp_sack": 1, "tcp_window_scaling": 1}
    if table.get("ecn") == "sce":
        found["tcp_sce"] = 1
    if "cc" in table:
        found["tcp_congestion_control"] = str(table["cc"]).split(" ")[0]
    return {f"net.ipv4.{key}": value for key, value in sorted(found.items())}


def _bytes(size: str) -> int:
    """A resolved size."""
    unit = size.lstrip("0123456789.")
    return round(float(size.removesuffix(unit)) * SIZE[unit])


def tables(run: Run, flows: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """By flow over TCP its `tcp` of the scenario, with its `cc`."""
    try:
        common = run.document.get("tcp")
    except ResultsError:
        return {}
    found = {}
    for name, flow in flows.items():
        table = flow.get("tcp", common)
        if isinstance(table, Mapping) and "era" in table and "cc" in flow:
            found[name] = {**table, "cc": flow["cc"]}
    return found


def egress(run: Run, flow: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any] | None:
    """The first queue of a flow's path, which its packets meet as they leave the simulated sender."""
    path = flow.get("path")
    links = list(path) if isinstance(path, list) else []
    if links and isinstance(links[0], list):  # the first of several paths
        links = links[0]
    if not links:
        return None
    port = f"{links[-1]}.reverse" if str(flow.get("direction")) == "up" else links[0]
    queue = next((queue for queue in run.queues if queue.get("name") == port), None)
    if queue is None:
        return None
    texts = str(queue.get("qdisc", "")).split("; ")
    offloads = {f"generic-{what}-offload": bool(table.get(key)) for what, key in OFFLOADS}
    places = ["root", *(f"{n}:1" for n in range(1, len(texts)))]
    return {
        "iface": port,
        "driver": "sojourn",
        "src": "sender",
        "target": "receiver",
        "nexthop": None,
        "bql": {},
        "classes": None,
        "link_params": {"mtu": table.get("mtu")} if "mtu" in table else {},
        "offloads": offloads,
        "qdiscs": [
            {"id": f"{n}:", "name": text.split(" ")[0], "parent": place, "params": _words(text)}
            for n, (text, place) in enumerate(zip(texts, places, strict=True), 1)
        ],
        "tc_stats_pre": [],
        "tc_stats_post": ["\n".join(statistics(queue))],
    }


def _words(text: str) -> dict[str, str | None]:
    """The parameters of a discipline with their values, as Flent keeps them."""
    name, *words = text.split()
    rows = [row for row in json.loads(_core.qdiscs()) if row["name"] == name]
    known = {w: p["value"] for row in rows for p in row["parameters"] for w in p["name"].split("|")}
    found: dict[str, str | None] = {}
    key = ""
    for word in words:
        if word in known or not key:
            found[word] = None
            key = word if known.get(word) else ""
        else:  # a value, of one word or several
            found[key] = f"{found[key] or ''} {word}".strip()
    return found
