"""The script that builds a scenario on Linux: what it says, and that a real kernel takes it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from sojourn import Scenario, _core
from sojourn.cli import call

if TYPE_CHECKING:
    from sojourn.engines.linux import Kernel

pytestmark = pytest.mark.engine

# Every kind of element and of change that mainline has.
EVERYTHING = """
name = "everything"
description = "two links"
duration = "3s"
[[link]]
name = "tree"
stab = "overhead 38 mpu 84"
qdisc = "htb default 20 class 1:1 rate 60Mbit class 1:10 parent 1:1 rate 5Mbit ceil 60Mbit leaf { codel } class 1:20 \
parent 1:1 rate 50Mbit ceil 60Mbit leaf { pie ecn } filter match ip tos 0x10 0xfc flowid 1:10"
reverse = { stab = "none", qdisc = "pfifo" }
[[link]]
name = "access"
rate = "100Mbit"
qdisc = "fq_codel flows 16"
ingress = ["netem delay 5ms limit 1000000", "netem delay 200us slot 800us 10ms packets 42 limit 512"]
[link.reverse]
shaper = "tbf burst 20kb latency 50ms"
qdisc = "pfifo limit 100"
ingress = ["police rate 90Mbit burst 50kb"]
[[link]]
name = "bneck"
rate = "50Mbit"
shaper = "htb burst 3000b"
qdisc = "dualpi2 memlimit 100kb step_thresh 2ms"
delay = "10ms"
reverse = { rate = "none", qdisc = "cake bandwidth 50Mbit besteffort no-sce" }
[[flow]]
name = "f"
cc = "cubic"
start = "1s"
tcp = { ecn = "rfc3168" }
[[ping]]
name = "p"
[[schedule]]
at = "1s"
[schedule.set]
"link.bneck.forward.rate" = "5Mbit"
"link.bneck.forward.qdisc" = "dualpi2 target 5ms"
"link.bneck.delay" = "20ms"
"link.access.reverse.rate" = "50Mbit"
[[schedule]]
at = "2s"
[schedule.replace]
"link.bneck.forward.qdisc" = "dualpi2"
"link.access.forward.ingress0" = "netem delay 1ms"
"link.bneck.reverse.qdisc" = "pie ecn"
"""

DUALPI2 = "dualpi2 memlimit 102400 step_thresh 2ms"

SLOT = "netem limit 512 delay 200us slot 800us 10ms packets 42"

# Policers on what arrives and on what leaves, both ways.
POLICED = """
name = "policed"
duration = "2s"
[[link]]
name = "bneck"
rate = "100Mbit"
shaper = "htb"
qdisc = "pfifo limit 1000"
ingress = ["police rate 10Mbit burst 30kb drop"]
delay = "10ms"
[[flow]]
name = "f"
cc = "cubic"
"""

# Words whose spelling differs between us and tc, and the larger grammars.
MAINLINE = [
    "bfifo limit 20kb", "cake bandwidth 20Mbit ack-filter ingress overhead 22 ptm diffserv4 dual-srchost",
    "codel limit 30p ecn target 200us interval 2ms", "dualpi2 version 2020 limit 60",
    "dualpi2 any_ect overflow drop_enqueue memlimit 60kb step_thresh 3p classic_protection 20%",
    "fq_codel limit 50p ce_threshold 1ms ce_threshold_selector 0x1/0x3 memory_limit 60kb drop_batch 3",
    "fq_pie flows 3000 ecn ecn_prob 100 quantum 300 tupdate 2ms", "htb rate 50Mbit ceil 50Mbit overhead 24",
    "netem delay 5ms 4ms 30% distribution paretonormal limit 25",
    "netem delay 4ms loss gemodel 5% 30% 90% 1% reorder 20% 10% gap 3",
    "netem loss state 10% 30% 5% 60% 2% delay 1ms rate 20Mbit -14 48 5", "pfifo limit 20p", "pfifo_fast",
    "pfifo_head_drop limit 7", "pie limit 50 target 500us tupdate 2ms alpha 32 ecn dq_rate_estimator",
    "red limit 400000 avpkt 1000 adaptive bandwidth 50Mbit ecn gentle idle exact",
    "sfb limit 30p max 10 target 3 increment 0.3 penalty_rate 50",
    "sfq limit 30 depth 9 divisor 64 perturb 10 headdrop redflowlimit 40000 min 3000 avpkt 500 probability 0.1 ecn",
    "tbf rate 10Mbit burst 5kb latency 20ms peakrate 50Mbit mtu 1514",
]  # fmt: skip


class Script(NamedTuple):
    text: str
    commands: list[tuple[float, str]]
    limits: list[str]


def script(text: str, on: str | None = None, ingress: str | None = None) -> Script:
    return Script(*_core.tc_script(Scenario(text).resolve().text, on, ingress))


def inside(kernel: Kernel, tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "script.sh"
    file.write_text(text)
    command = ["timeout", "120", *kernel.launcher, str(file)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_htb_holds_the_queue_and_ifbs_hold_what_comes_before_it() -> None:
    text = script(EVERYTHING).text
    for command in (
        "mid-bneck tc qdisc add dev right root handle 1: htb default 1",
        "mid-bneck tc class add dev right parent 1: classid 1:1 htb burst 3000b rate 50Mbit ceil 50Mbit",
        f"mid-bneck tc qdisc add dev right parent 1:1 handle 2: {DUALPI2}",
        "mid-bneck tc qdisc add dev left root handle 1: cake bandwidth 50Mbit besteffort",
        "srv tc qdisc add dev ifb-left root handle 1: netem delay 10ms limit 1000000",
        f"mid-access tc qdisc add dev ifb-left parent 1:1 handle 2: {SLOT}",
        "mid-bneck tc class change dev right parent 1: classid 1:1 htb burst 3000b rate 5Mbit ceil 5Mbit",
        "mid-bneck tc qdisc change dev right parent 1:1 handle 2: dualpi2 target 5ms",
        "mid-bneck tc qdisc replace dev right parent 1:1 handle 3: dualpi2",
        "srv tc qdisc change dev ifb-left root handle 1: netem delay 20ms limit 1000000",
    ):
        assert f"ip netns exec {command}\n" in text, command
    assert "#   ip netns exec cli iperf3 -c 10.9.3.2 -p 5201 -C cubic -t 2\n" in text


def test_a_tree_of_classes_becomes_commands_for_each_class_leaf_and_filter() -> None:
    text = script(EVERYTHING).text
    for command in (
        "tc qdisc add dev right root handle 1: stab mpu 84 overhead 38 htb default 0x20",
        "tc class add dev right parent 1:1 classid 1:10 htb rate 5Mbit ceil 60Mbit",
        "tc filter add dev right parent 1: protocol ip prio 4 u32 match ip tos 0x10 0xfc flowid 1:10",
    ):
        assert f"ip netns exec mid-tree {command}\n" in text
    assert "ip netns exec mid-tree tc qdisc add dev right parent 1:20 pie limit 1000 " in text


def test_a_replaced_element_gets_those_below_it_back() -> None:
    lines = script(EVERYTHING).text.splitlines()
    at = next(i for i, line in enumerate(lines) if "replace dev ifb-left root" in line)
    again = f"parent 3:1 handle 4: {SLOT}"
    assert again in lines[at + 2], lines[at : at + 3]


def test_what_a_stock_kernel_lacks_is_summed_up() -> None:
    text = EVERYTHING.replace("dualpi2 memlimit 100kb", "dualpi2 version 2020").replace("pfifo limit 100", "blue")
    text = text.replace("besteffort no-sce", "besteffort sce-thresh 4").replace('"cubic"', '"prague version p2b"')
    limits = script(text).limits
    assert "link bneck forward, queue: left out `version 2020`, which is not a parameter of tc" in limits
    assert "link access reverse, queue: `blue` is in no kernel, only Sojourn; left out" in limits
    assert "link bneck reverse, queue: `cake` is in only the tree chromi/sce with `sce-thresh`" in limits
    assert "flow f: `prague` is in only the tree L4STeam/linux" in limits
    assert not [limit for limit in script(EVERYTHING).limits if "police" not in limit]


def test_command_writes_the_script_and_its_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "a.toml", tmp_path / "a.sh"
    file.write_text(EVERYTHING.replace("fq_codel flows 16", "deltic"))
    assert call(["tc", str(file), "-o", str(out), "--json"]) == 0
    stdout, stderr = capsys.readouterr()
    document = json.loads(stdout)
    assert document["schema"] == "sojourn/tc/1"
    assert {command["at_s"] for command in document["commands"]} == {0.0, 1.0, 2.0}
    assert "stock kernel: link access forward, queue: `deltic` is in only the tree chromi/sce" in stderr
    assert out.read_text() == script(file.read_text()).text
    assert subprocess.run(["/bin/bash", "-n", str(out)], check=False).returncode == 0


def test_a_real_kernel_takes_every_command_and_carries_the_flow(kernel: Kernel, tmp_path: Path) -> None:
    text = script(EVERYTHING).text
    server, client = (line.removeprefix("#   ") for line in text.splitlines() if "iperf3" in line)
    flow = f"{server} >/dev/null; sleep 0.5; {client} -J"
    show = "echo QUEUES; ip netns exec mid-bneck tc qdisc show"
    done = inside(kernel, tmp_path, text.replace('if [ "${1-}" = build ]; then exit; fi', flow) + show)
    assert done.returncode == 0, done.stdout + done.stderr
    carried, queues = done.stdout.split("QUEUES")
    end = json.loads(carried[carried.index("{") :])["end"]
    # 5 ms and a slot of 0.8 to 10 ms at the access link, 10 ms each way at the bottleneck.
    assert 25.8 <= end["streams"][0]["sender"]["min_rtt"] / 1000 < 45
    assert 10e6 < end["sum_received"]["bits_per_second"] < 50e6
    assert "qdisc pie" in queues
    assert "qdisc dualpi2 3:" in queues


def test_a_real_tc_reads_every_spelling(kernel: Kernel, tmp_path: Path) -> None:
    lines = ["set -e", "ip link add v0 type veth peer name v1"]
    for text in MAINLINE:
        scenario = f'name = "a"\nduration = "1s"\n[[link]]\nname = "bneck"\nqdisc = "{text}"\n'
        lines += [command for _, command in script(scenario, "v0").commands]
        lines += [f"echo read {text}", "tc qdisc del dev v0 root"]
    done = inside(kernel, tmp_path, "\n".join(lines) + "\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("read ") == len(MAINLINE)


def test_a_size_table_stands_at_the_root() -> None:
    text = EVERYTHING.replace('shaper = "htb burst 3000b"', 'shaper = "htb burst 3000b"\nstab = "overhead 38 mpu 84"')
    commands = script(text).text
    assert "mid-bneck tc qdisc add dev right root handle 1: stab mpu 84 overhead 38 htb default 1\n" in commands
    assert "parent 1:1 handle 2: stab" not in commands


def test_the_bottleneck_on_an_interface_is_what_arrives_at_it_with_the_whole_delay_on_its_egress() -> None:
    lines = script(EVERYTHING, "eth0", "ifb0").text.splitlines()
    for command in (
        # 10 ms each way at the bottleneck, 5 ms before the access link.
        "tc qdisc add dev eth0 root handle 1: netem delay 25ms limit 1000000",
        "tc qdisc add dev eth0 parent 1:1 handle 2: cake bandwidth 50Mbit besteffort",
        "tc class add dev ifb0 parent 1: classid 1:1 htb burst 3000b rate 50Mbit ceil 50Mbit",
        f"tc qdisc add dev ifb0 parent 1:1 handle 2: {DUALPI2}",
        "tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev ifb0",
        "tc class change dev ifb0 parent 1: classid 1:1 htb burst 3000b rate 5Mbit ceil 5Mbit",
        "tc qdisc change dev eth0 root handle 1: netem delay 45ms limit 1000000",
    ):
        assert command in lines, command
    sending = script(EVERYTHING, "eth0").text.splitlines()
    assert f"tc qdisc add dev eth0 parent 2:1 handle 3: {DUALPI2}" in sending
    assert not any("ifb" in line for line in sending if not line.startswith("#"))


def test_a_real_kernel_takes_the_commands_for_an_interface(kernel: Kernel, tmp_path: Path) -> None:
    setup = "set -e\nip link add eth9 type veth peer name peer9\nip link set eth9 up\nip link set peer9 up\n"
    text = setup
    for scenario in (EVERYTHING, POLICED):
        for ingress in ("ifb9", None):
            built = script(scenario, "eth9", ingress).text
            text += "\n".join(line for line in built.splitlines() if "then exit" not in line) + "\n"
            text += "tc qdisc show dev eth9\n" + ("tc qdisc show dev ifb9\n" if ingress else "") + "echo BUILT\n"
    # A policer on what leaves a device, and an ifb for what arrives at it.
    both = POLICED.replace('rate = "100Mbit"\nshaper = "htb"', "").replace(
        "pfifo limit 1000", "police rate 9Mbit burst 9kb"
    )
    text += script(both).text.replace('if [ "${1-}" = build ]; then exit; fi', "echo BUILT")
    done = inside(kernel, tmp_path, text)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("BUILT") == 5
    assert "qdisc clsact" in done.stdout
