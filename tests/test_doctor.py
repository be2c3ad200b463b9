"""Every check of the doctor on recorded inputs: with the fault and without it.

`doctor/devices.json` is what tc, ip and ethtool say of a router's two devices in Linux 7.2: a healthy testbed (htb and
dualpi2 towards the receiver, netem on the way back, no offloads), the same AQM without a shaper behind a slower link,
netem around fq_codel with offloads on, a policer before a short FIFO, and CUBIC over dualpi2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doctor_table
from sojourn import doctor
from sojourn.cli import call
from sojourn.doctor import Finding, Kind, Severity, aqm, clock, cpu, netem, offload, path, queues, rights, runs, tcp
from sojourn.doctor.devices import Device, judge
from sojourn.doctor.outcomes import of_host

pytestmark = pytest.mark.engine

DATA = Path(__file__).parent / "doctor"
RECORDED: dict[str, dict[str, dict[str, Any]]] = json.loads((DATA / "devices.json").read_text(encoding="utf-8"))
STAT = "cpu  {user} 0 1000 5000 100 0 50 {steal} 0 0\ncpu0 1 2 3\n"
Output = pytest.CaptureFixture[str]


def device(case: str, name: str = "rb", **changes: Any) -> Device:
    return Device(name, **{**RECORDED[case][name], **changes})


def judged(
    *devices: Device, rate: float | None = None, rtt: float | None = None, forwards: bool = True
) -> list[Finding]:
    return list(judge(devices, rate, rtt, forwards=forwards))


def qdisc(kind: str, *, under: str | None = None, handle: str = "10:", **counters: Any) -> dict[str, Any]:
    place = {"root": True} if under is None else {"parent": under}
    return {"kind": kind, "handle": handle, "options": {}, "packets": 20_000, **place, **counters}


HTB = qdisc("htb", handle="1:", overlimits=19_000)
L4S_COUNTS: dict[str, Any] = {"pkts-in-l": 7, "pkts-in-c": 7, "maxq": 9, "step-mark": 2}
FIFO = qdisc("pfifo", under="1:1")
CLASS = "class htb 1:1 root leaf 10: prio 0 rate 50Mbit ceil 50Mbit burst 1600b cburst 1600b \n"


def under_htb(kind: str, classes: str = CLASS, **counters: Any) -> Device:
    """A device with an htb that is the bottleneck, and a discipline in its class."""
    return device("healthy", qdiscs=[HTB, qdisc(kind, under="1:1", **counters)], classes=classes)


def alone(kind: str, info: str = "veth", *, name: str = "x", **counters: Any) -> Device:
    """A device with one discipline."""
    return Device(name, {"mtu": 1500, "linkinfo": {"info_kind": info}}, [qdisc(kind, **counters)], "", [])


def lateness(p99: float, most: float = 0.5, refused: Iterable[str] = ()) -> str:
    return json.dumps({"refused": list(refused), "lateness_ms": {"n": 3300, "p50": 0.01, "p99": p99, "max": most}})


SETTINGS = {
    **{name: str(value) for name, value in tcp.DEFAULTS.items()},
    "tcp_ecn": "3",
    "tcp_ecn_fallback": "0",
    "tcp_congestion_control": "cubic",
    "tcp_available_congestion_control": "reno cubic dctcp",
    "tcp_allowed_congestion_control": "reno cubic dctcp",
    "tcp_timestamps": "1",
    "tcp_sack": "1",
    "tcp_window_scaling": "1",
    "tcp_slow_start_after_idle": "0",
    "tcp_no_metrics_save": "1",
    "tcp_moderate_rcvbuf": "1",
    "tcp_rmem": "4096 131072 33554432",
    "tcp_wmem": "4096 16384 33554432",
    "tcp_limit_output_bytes": "4194304",
}


def settings(
    rate: float | None = 100e6, rtt: float | None = 0.04, accecn: bool = True, **changed: str
) -> list[Finding]:
    known = {**SETTINGS, **changed}
    return [
        *tcp.ecn(known, accecn),
        *tcp.controllers(known, None),
        *tcp.switches(known),
        *tcp.defaults(known),
        *tcp.buffers(known, rate, rtt),
    ]


def user(mask: int, **forbidding: str) -> Iterator[Finding]:
    found = {key.replace("_", "/", 1): value for key, value in forbidding.items()}
    return rights.capabilities(f"Name:\tx\nCapEff:\t{mask:016x}\n", found)


#: Keys that are looked at.
KEYS = (
    "kind", "handle", "parent", "options", "packets", "drops", "overlimits", "maxq", "maxpacket", "tins",
    "limit", "delay", "jitter", "rate", "burst", "bandwidth", "target", "ce_threshold", "ecn", "linkinfo",
    "info_kind", "txqlen", "mtu", "tx", "stats64", "dropped", "actions", "stats", "gso_max_segs",
    "net.ipv4.tcp_rmem", "net.ipv4.tcp_limit_output_bytes",
)  # fmt: skip

#: Of each kind: findings where the fault is there, and where it is not.
CASES: dict[Kind, tuple[Callable[[], Iterable[Finding]], Callable[[], Iterable[Finding]]]] = {
    clock.CLOCK_TICK: (lambda: clock.source("jiffies\n", "jiffies\n"), lambda: clock.source("tsc\n", "tsc hpet\n")),
    clock.CLOCK_SLOW: (
        lambda: clock.source("hpet\n", "tsc hpet\n"),
        lambda: clock.source("kvm-clock\n", "kvm-clock\n"),
    ),
    clock.SLACK: (lambda: clock.slack("4000000\n"), lambda: clock.slack("50000\n")),
    clock.LATE: (lambda: clock.lateness(lateness(0.3), lateness(0.3)), lambda: clock.lateness(*[lateness(0.06)] * 2)),
    clock.HIDDEN: (lambda: clock.lateness(lateness(1.2), lateness(0.3)), lambda: clock.lateness(*[lateness(0.3)] * 2)),
    clock.STALL: (
        lambda: clock.lateness(*[lateness(0.01, 7.3)] * 2),
        lambda: clock.lateness(*[lateness(0.01, 4.9)] * 2),
    ),
    clock.ORDINARY: (
        lambda: clock.lateness(lateness(0.06), lateness(3)),
        lambda: clock.lateness(*[lateness(0.09)] * 2),
    ),
    clock.REFUSED: (
        lambda: clock.lateness(lateness(0.06, refused=["SCHED_FIFO: not permitted"]), lateness(0.06)),
        lambda: clock.lateness(*[lateness(0.06)] * 2),
    ),
    cpu.STOLEN: (
        lambda: cpu.steal(STAT.format(user=1000, steal=10), STAT.format(user=1100, steal=20)),
        lambda: cpu.steal(STAT.format(user=1000, steal=10), STAT.format(user=1200, steal=11)),
    ),
    cpu.LOADED: (lambda: cpu.load("2.46 1 1 3/90 7\n", 2), lambda: cpu.load("1.9 1 1 3/90 7\n", 2)),
    cpu.ONE: (lambda: cpu.load("0.1 0 0 1/9 7\n", 1), lambda: cpu.load("0.1 0 0 1/9 7\n", 2)),
    cpu.GOVERNOR: (
        lambda: cpu.governors({"cpu0": "powersave\n", "cpu1": "performance\n"}),
        lambda: cpu.governors({"cpu0": "performance\n", "cpu1": "performance\n"}),
    ),
    cpu.IDLE: (
        lambda: cpu.idle({"POLL": ("0\n", "0\n"), "C6": ("133\n", "0\n")}),
        lambda: cpu.idle({"POLL": ("0\n", "0\n"), "C6": ("133\n", "1\n")}),
    ),
    cpu.THROTTLED: (lambda: cpu.throttling("500000\n", "1000000\n"), lambda: cpu.throttling("-1\n", "1000000\n")),
    rights.NO_NAMESPACE: (lambda: user(0, user_max_user_namespaces="0\n"), lambda: user(0)),
    rights.NO_RAW: (lambda: user(0), lambda: user(1 << 13)),
    rights.NO_TUN: (lambda: rights.tun("No such file or directory"), lambda: rights.tun(None)),
    rights.NO_TOOL: (lambda: rights.tools({"ip": "/sbin/ip"}), lambda: rights.tools(dict.fromkeys(rights.TOOLS, "/x"))),
    tcp.NO_ECN: (lambda: settings(tcp_ecn="2"), settings),
    tcp.NO_ACCECN: (lambda: settings(accecn=False), settings),
    tcp.ACCECN_OFF: (lambda: settings(tcp_ecn="1"), settings),
    tcp.FALLBACK: (lambda: settings(tcp_ecn_fallback="1"), settings),
    tcp.CONTROLLER: (lambda: settings(tcp_congestion_control="bbr"), settings),
    tcp.NOT_ALLOWED: (lambda: settings(tcp_allowed_congestion_control="reno"), settings),
    tcp.NO_SCALABLE: (lambda: settings(tcp_available_congestion_control="reno cubic"), settings),
    tcp.NO_TIMESTAMPS: (lambda: settings(tcp_timestamps="0"), settings),
    tcp.NO_SACK: (lambda: settings(tcp_sack="0"), settings),
    tcp.NO_SCALING: (lambda: settings(tcp_window_scaling="0"), settings),
    tcp.IDLE_RESTART: (lambda: settings(tcp_slow_start_after_idle="1"), settings),
    tcp.METRICS: (lambda: settings(tcp_no_metrics_save="0"), settings),
    tcp.CHANGED: (lambda: settings(tcp_reordering="30"), settings),
    tcp.FIXED_BUFFER: (lambda: settings(tcp_moderate_rcvbuf="0"), settings),
    tcp.WINDOW: (lambda: settings(rate=1e9, rtt=0.2), settings),
    tcp.TIGHT: (lambda: settings(rate=1e9, rtt=0.1), settings),
    tcp.SMALL_QUEUE: (lambda: settings(tcp_limit_output_bytes="4096"), settings),
    offload.TRAINS: (
        lambda: judged(device("healthy", features="tcp-segmentation-offload: on\n", qdiscs=[HTB, FIFO], classes=CLASS)),
        lambda: judged(device("healthy", qdiscs=[HTB, FIFO], classes=CLASS)),
    ),
    offload.SEEN: (lambda: judged(device("netem")), lambda: judged(under_htb("fq_codel", maxpacket=1514, drops=3))),
    offload.GRO: (
        lambda: judged(device("netem", "ra", features="generic-receive-offload: on\n"), under_htb("pfifo")),
        lambda: judged(device("netem", "ra", features="generic-receive-offload: on\n"), device("healthy")),
    ),
    offload.LRO: (
        lambda: judged(device("healthy", features="large-receive-offload: on\n")),
        lambda: judged(device("healthy")),
    ),
    offload.CHECKSUM: (
        lambda: judged(device("healthy", features="tx-checksumming: on\n")),
        lambda: judged(device("healthy", features="tx-checksumming: off\n")),
    ),
    offload.COALESCING: (
        lambda: judged(device("healthy", coalescing="Adaptive RX: on  TX: off\nrx-usecs: 20\n")),
        lambda: judged(device("healthy", coalescing="Adaptive RX: off  TX: off\nrx-usecs: 20\n")),
    ),
    offload.TUN_SHORT: (
        lambda: judged(Device("t", {"linkinfo": {"info_kind": "tun"}, "txqlen": 500}, [], "", [])),
        lambda: judged(Device("t", {"linkinfo": {"info_kind": "tun"}, "txqlen": 10000}, [], "", [])),
    ),
    offload.NO_BQL: (
        lambda: judged(Device("eth0", {}, [qdisc("fq_codel")], "", [])),
        lambda: judged(Device("eth0", {}, [qdisc("fq_codel")], "", [], bql=True)),
    ),
    offload.LOST: (
        lambda: judged(Device("x", {"stats64": {"tx": {"dropped": 7}}}, [], "", [])),
        lambda: judged(device("healthy")),
    ),
    queues.EMPTY: (lambda: judged(device("empty")), lambda: judged(device("healthy"))),
    queues.NO_SHAPER: (lambda: judged(alone("fq_codel", packets=9)), lambda: judged(device("healthy"))),
    queues.UNSHAPED: (
        lambda: judged(device("healthy", qdiscs=[{**HTB, "options": {"direct_packets_stat": 900}}])),
        lambda: judged(device("healthy")),
    ),
    queues.BURST: (lambda: judged(device("policer")), lambda: judged(device("healthy"))),
    aqm.STEP: (
        lambda: judged(device("healthy", classes=CLASS.replace("50Mbit", "10Mbit"))),
        lambda: judged(device("healthy")),
    ),
    aqm.NEVER: (lambda: judged(under_htb("codel")), lambda: judged(under_htb("codel", ecn_mark=9))),
    aqm.ONLY_DROPS: (lambda: judged(under_htb("codel", drops=9)), lambda: judged(under_htb("codel", ecn_mark=9))),
    aqm.ALL: (lambda: judged(under_htb("red", marked=19_900)), lambda: judged(under_htb("red", marked=900))),
    aqm.NO_L4S: (
        lambda: judged(device("cubic")),
        lambda: judged(device("healthy", qdiscs=[HTB, qdisc("dualpi2", under="1:1", **L4S_COUNTS)])),
    ),
    aqm.NO_ECN: (
        lambda: judged(under_htb("pie", options={"ecn": False})),
        lambda: judged(under_htb("pie", options={"ecn": True})),
    ),
    aqm.CE_LATE: (
        lambda: judged(under_htb("fq_codel", options={"target": 4999, "ce_threshold": 9999})),
        lambda: judged(under_htb("fq_codel", options={"target": 4999, "ce_threshold": 999})),
    ),
    aqm.TARGET: (
        lambda: judged(under_htb("codel", CLASS.replace("50Mbit", "1Mbit"), options={"target": 4999})),
        lambda: judged(under_htb("codel", options={"target": 4999})),
    ),
    aqm.LIMIT: (lambda: judged(under_htb("fq_codel", drop_overlimit=5)), lambda: judged(under_htb("fq_codel"))),
    queues.SHORT: (
        lambda: judged(under_htb("pfifo", options={"limit": 10}), rtt=0.04),
        lambda: judged(under_htb("pfifo", options={"limit": 1000}), rtt=0.04),
    ),
    queues.INSTANCES: (
        lambda: judged(Device("e", {}, [qdisc("mq", handle="1:"), qdisc("fq_codel", under="1:1")], "", [])),
        lambda: judged(device("healthy")),
    ),
    queues.FQ_OFF: (lambda: judged(alone("fq", options={"pacing": False})), lambda: judged(device("cubic", "ra"))),
    queues.FQ_BELOW: (lambda: judged(under_htb("fq")), lambda: judged(alone("fq"))),
    queues.AT_SENDER: (
        lambda: judge([device("healthy")], None, None, forwards=False),
        lambda: judge([device("healthy", link={"master": "br0"})], None, None, forwards=False),
    ),
    queues.POLICER: (lambda: judged(device("policer", "ra")), lambda: judged(device("healthy", "ra"))),
    netem.WITH_AQM: (lambda: judged(device("netem")), lambda: judged(device("healthy", "ra"))),
    netem.WITH_SHAPER: (lambda: judged(under_htb("netem")), lambda: judged(device("healthy", "ra"))),
    netem.REORDERS: (
        lambda: judged(alone("netem", options={"delay": {"delay": 0.02, "jitter": 0.005}})),
        # With a rate it keeps the order.
        lambda: judged(device("netem")),
    ),
    netem.OVERFLOWS: (lambda: judged(device("netem")), lambda: judged(device("healthy", "ra"))),
    netem.SHORT: (
        lambda: judged(alone("netem", options={"limit": 1000, "delay": {"delay": 0.1}}), rate=1e9),
        lambda: judged(alone("netem", options={"limit": 1000, "delay": {"delay": 0.1}}), rate=1e8),
    ),
    netem.LOSES: (
        lambda: judged(alone("netem", options={"loss-random": {"loss": 0.01}})),
        lambda: judged(device("healthy", "ra")),
    ),
}


@pytest.mark.parametrize("kind", CASES, ids=lambda kind: kind.name)
def test_each_kind_is_found_where_it_is_and_nowhere_else(kind: Kind) -> None:
    wrong, right = CASES[kind]
    found = [finding for finding in wrong() if finding.kind == kind.name and finding.severity]
    assert found
    assert all(finding.severity is kind.severity and finding.effect and finding.fix for finding in found)
    assert not any("{" in finding.fix for finding in found)
    assert not [finding for finding in right() if finding.kind == kind.name and finding.severity]


def test_every_kind_has_a_case_and_a_name_of_its_own() -> None:
    declared = [kind for modules in doctor.GROUPS.values() for module in modules for kind in doctor.kinds(module)]
    assert set(declared) == {*CASES, *doctor.kinds(path), *doctor.kinds(runs)}  # these have tests of their own
    assert len({kind.name for kind in declared}) == len(declared)


def test_the_guide_has_the_findings_that_there_are() -> None:
    page = doctor_table.PAGE.read_text(encoding="utf-8")
    assert page == doctor_table.written(page)


def test_nothing_is_wrong_with_a_healthy_testbed_but_what_it_is_not_for() -> None:
    found = judged(device("healthy", "ra"), device("healthy"), rate=50e6, rtt=0.02)
    assert {finding.kind for finding in found if finding.severity > Severity.NOTE} == {"dualpi2-no-l4s"}


def test_what_comes_from_a_file_reaches_no_terminal_as_more_than_text() -> None:
    evil = "tsc\x1b]0;x\x07 $(id)"
    (finding,) = clock.source(evil, f"{evil} tsc")
    assert finding.found.isprintable()
    assert finding.fix.startswith("echo tsc |")


@pytest.mark.parametrize(
    "broken", [None, {}, [], [[]], [{"handle": 3}], [{"handle": "1:", "kind": None, "options": 1}]]
)
def test_answers_of_another_form_are_left_out(broken: Any) -> None:
    for case in (
        Device("x", {"linkinfo": 1, "stats64": 2}, broken, "", broken),
        Device("x", {}, broken, "class htb", []),
    ):
        assert not [finding for finding in judged(case, rate=1e6, rtt=1) if finding.severity]
    circle = [qdisc("htb", handle="1:", under="2:1"), qdisc("htb", handle="2:", under="1:1")]
    judged(Device("x", {}, circle, "", []))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["1:", "2:", "1:1", "netem", "htb", "cake"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=30,
)


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES), max_size=4), VALUES, VALUES)
def test_no_answer_of_a_tool_ends_it(rows: list[dict[str, Any]], link: Any, filters: Any) -> None:
    rows = [{"handle": f"{number}:", "kind": "fq_codel", **row} for number, row in enumerate(rows)]
    judged(Device("x", link if isinstance(link, dict) else {}, rows, CLASS, filters), rate=1e8, rtt=0.02)
    found = of_host("x", {"SYSCTLS": link, "EGRESS_INFO": {"qdiscs": rows, "offloads": link}}, 1e8, 0.02)
    assert all(finding.found.isprintable() for finding in found)


@pytest.mark.parametrize("text", ["", "9" * 5000, "²", "cpu", "cpu a b c d e f g h", "-", "\x00"])
def test_unreadable_files_make_no_findings(text: str) -> None:
    found = [*cpu.steal(text, text), *cpu.load(text, 2), *cpu.throttling(text, text), *cpu.idle({"C1": (text, text)})]
    found += [*clock.slack(text), *rights.capabilities(text, {}), *tcp.buffers({"tcp_rmem": text}, 1e6, 1)]
    assert not [finding for finding in found if finding.severity]


def test_the_command_prints_findings_and_ends_with_1_for_a_fault(capsys: Output) -> None:
    code = call(["doctor", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "sojourn/doctor/1"
    assert {"timer-late", "tcp-sack-off"} & {finding["kind"] for finding in document["findings"]}
    assert code == any(finding["severity"] == "fault" for finding in document["findings"])
    assert all(finding["fix"] for finding in document["findings"] if finding["severity"] != "ok")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--device", "none0"], "--device none0: no such device"),
        (["--rate", "fast"], "--rate fast: expected a rate such as 100Mbit"),
        (["--rate", "100"], "--rate 100: expected a rate"),
        (["--rtt", "40"], "--rtt 40: expected a time such as 40ms"),
    ],
)
def test_misuse_is_one_line(arguments: list[str], said: str, capsys: Output) -> None:
    assert call(["doctor", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1
