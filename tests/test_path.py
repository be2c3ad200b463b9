from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sojourn import path
from synthetic import S2, Made

SCENARIO = """
name = "mine"
duration = "10s"

[[link]]
name = "m1"
rate = "10Gbit"
shaper = "none"
qdisc = "pfifo_fast"
ingress = []
delay = "37500ns"
reverse = { rate = "10Gbit", shaper = "none", qdisc = "pfifo_fast", ingress = [], delay = "37500ns" }

[[link]]
name = "m2"
rate = "50Mbit"
shaper = "htb"
qdisc = "fq_codel"
ingress = ["netem delay 40ms limit 1000000"]
delay = "100us"
reverse = { rate = "50Mbit", shaper = "htb", qdisc = "fq_codel", ingress = ["netem delay 40ms"], delay = "100us" }

[[link]]
name = "m3"
rate = "10Gbit"
shaper = "none"
qdisc = "cake bandwidth 200Mbit flows sce"
ingress = []
delay = "0ns"
reverse = { rate = "10Gbit", shaper = "none", qdisc = "pfifo_fast", ingress = [], delay = "0ns" }

[[link]]
name = "elsewhere"
rate = "1Mbit"
shaper = "htb"
qdisc = "pie"
ingress = []
delay = "1s"
reverse = { rate = "1Mbit", shaper = "htb", qdisc = "pie", ingress = [], delay = "1s" }

[[flow]]
name = "a"
cc = "cubic"
path = ["m1", "m2", "m3"]

[[flow]]
name = "near"
cc = "cubic"
path = ["m1", "m3"]

[[ping]]
name = "l4s"
protocol = "icmp"
tos = "0x01"

[[ping]]
name = "ef"
protocol = "udp"
tos = "0xba"

[[ping]]
name = "a-plain"
protocol = "icmp"
tos = "0x00"
"""


def run(folder: Path, text: str, *pings: str) -> Made:
    made = Made("mine", {f"ping.{ping}.rtt": (np.arange(2.0), np.ones(2)) for ping in pings})
    (folder / "scenario.toml").write_text(text)
    made.path = folder
    return made


def test_a_path_is_the_configured_queues_on_the_way_of_the_flows(tmp_path: Path) -> None:
    told = path.of(run(tmp_path, SCENARIO))
    assert told.queues == "htb(50Mbit)+fq_codel → cake bandwidth 200Mbit flows sce"
    assert str(told).endswith(", rate 50 Mbit/s, RTT 0.075 to 80.28 ms")  # 2 x (37.5 us + 100 us + 40 ms)


def test_a_graph_is_its_links_with_their_nodes(tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "scenarios/two-bottlenecks.toml").read_text(encoding="utf-8")
    assert path.of(run(tmp_path, text)).queues == (
        "near from client to server: fq_codel; far from client to relay: fq_codel; onward from relay to server"
    )


def test_a_rate_that_changes_is_a_range(tmp_path: Path) -> None:
    change = '\n[[schedule]]\nat = "5s"\nset = { "link.m2.forward.rate" = "5Mbit" }\n'
    assert path.of(run(tmp_path, SCENARIO + change)).rates_mbps == (5.0, 50.0)
    back = change.replace("forward", "reverse")
    assert path.of(run(tmp_path, SCENARIO + back)).rates_mbps == (50.0,)


def test_without_a_scenario_the_id_tells(tmp_path: Path) -> None:
    assert str(path.of(Made(S2, {}))) == "rate 50 Mbit/s, RTT 20 ms"
    assert str(path.of(Made("mine", {}))) == ""
    broken = SCENARIO.replace('delay = "100us"', 'delay = "soon"', 1)
    assert str(path.of(run(tmp_path, broken))) == ""


@pytest.mark.parametrize("extra", ["", "icmp"])
def test_pings_are_in_the_scenarios_order_and_say_how_they_are_marked(tmp_path: Path, extra: str) -> None:
    labels = path.pings(run(tmp_path, SCENARIO, "a-plain", "ef", "l4s", *filter(None, [extra])))
    expected = ["l4s, ECT(1)", "ef, UDP, DSCP 46, ECT(0)", "a-plain"]
    assert list(labels.values()) == expected + ([extra] if extra else [])
