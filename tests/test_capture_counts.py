"""Captures of runs, analysed: what `sojourn pcap` counts is what the engine has counted, and what tshark counts."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

import sojourn
from sojourn import captures, results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.engine

#: Payload of the segments here: Ethernet's 1500 bytes less headers and timestamps.
MSS = 1448
HEAD = """
name = "counted"
duration = "{duration}"
[[link]]
name = "bneck"
rate = "{rate}"
shaper = "htb"
qdisc = "{qdisc}"
ingress = [{ingress}]
delay = "10ms"
reverse = {{ {reverse} }}
[[capture]]
name = "cli"
points = [{{ host = "cli" }}]
comments = false
[[capture]]
name = "srv"
points = [{{ host = "srv" }}]
comments = false
"""
DROPS = """
[[capture]]
name = "drops"
points = [{ link = "bneck", at = ["drop"] }]
"""
OPEN = 'rate = "none", shaper = "none", qdisc = "pfifo", ingress = []'


def flow(name: str, cc: str, ecn: str = "off", more: str = "") -> str:
    return f'[[flow]]\nname = "{name}"\ncc = "{cc}"\ntcp = {{ ecn = "{ecn}" }}\n{more}\n'


@dataclass(frozen=True)
class Case:
    """A bottleneck and its flows."""

    flows: str
    rate: str = "10Mbit"
    qdisc: str = "pfifo limit 40"
    ingress: str = ""
    reverse: str = OPEN

    def text(self, duration: str, captures: str = "") -> str:
        head = HEAD.format(
            duration=duration, rate=self.rate, qdisc=self.qdisc, ingress=self.ingress, reverse=self.reverse
        )
        return head + captures + self.flows


SIM = {
    "losses": Case(flow("cubic", "cubic") + flow("reno", "reno"), ingress='"netem loss 1%"'),
    "timeouts and probes": Case(
        flow("cubic", "cubic") + flow("web", "reno", more='app = "request think 100ms sizes 20kb"'),
        rate="5Mbit",
        ingress='"netem loss 12%"',
    ),
    "lost acknowledgements": Case(
        flow("cubic", "cubic", "rfc3168") + flow("prague", "prague", "accecn") + flow("dctcp", "dctcp", "accecn"),
        qdisc="codel ecn",
        reverse=OPEN.replace("[]", '["netem loss 10%"]'),
    ),
    "reordering": Case(
        flow("cubic", "cubic") + flow("bbr", "bbr version v3"),
        qdisc="fq_codel",
        ingress='"netem delay 3ms 2ms loss 0.5%"',
    ),
    "duplicates": Case(flow("cubic", "cubic"), ingress='"netem duplicate 2% loss 0.5%"'),
    "L4S beside classic": Case(
        flow("prague", "prague", "accecn") + flow("cubic", "cubic", "accecn") + flow("dctcp", "dctcp", "rfc3168"),
        rate="30Mbit",
        qdisc="dualpi2",
    ),
    "SCE": Case(
        flow("reno-sce", "reno-sce", "sce") + flow("cubic-sce", "cubic-sce", "sce"),
        qdisc="fq_codel sce_threshold 1ms",
        ingress='"netem loss 0.3%"',
    ),
    "both directions": Case(
        flow("down", "cubic", "accecn") + flow("up", "prague", "accecn", 'direction = "up"'),
        qdisc="fq_codel",
        reverse="",
    ),
    "many flows": Case(
        "".join(flow(f"flow{n}", "cubic", ("off", "rfc3168", "accecn")[n % 3]) for n in range(6)), qdisc="pie"
    ),
    "datagrams": Case(
        '[[flow]]\nname = "scream"\ncc = "scream"\napp = "video"\n'
        '[[flow]]\nname = "cbr"\napp = "cbr rate 1Mbit size 900"\ntos = "0x01"\n'
        '[[flow]]\nname = "udp-prague"\ncc = "udp-prague"\n',
        rate="4Mbit",
        qdisc="dualpi2",
        ingress='"netem loss 0.5%"',
    ),
}


@dataclass(frozen=True)
class Seen:
    """A flow of a run as both captures have it, by the direction of its data."""

    name: str
    sender: Counter[str]
    receiver: Counter[str]
    sent: dict[str, Any]
    answered: dict[str, Any]
    arrived: dict[str, Any]
    acked: dict[str, Any]
    connection: dict[str, Any] | None


def seen(run: results.Run) -> Iterator[Seen]:
    """The connection of each flow in which most data is, at its sender's host and at its receiver's."""
    hosts = [captures.read([run.path / f"{name}.pcapng"]).document["flows"] for name in ("cli", "srv")]
    for port, summary in enumerate(run.summary["flows"], 5201):
        ours = [[each for each in flows if port in (each["opener"]["port"], each["peer"]["port"])] for flows in hosts]
        here, there = (max(flows, key=payload) for flows in (ours if summary["name"] != "up" else reversed(ours)))
        way, back = sorted(("forward", "backward"), key=lambda way: -int(here[way]["data_bytes"]))
        # Who asks is a flow's sender, and who answers sends the data.
        sender, receiver = sorted(
            (Counter(summary[end]) for end in ("sender", "receiver")), key=lambda end: "acks_sent" in end
        )
        yield Seen(summary["name"], sender, receiver, here[way], here[back], there[way], there[back], here["tcp"])


def payload(flow: dict[str, Any]) -> int:
    return int(flow["forward"]["data_bytes"] + flow["backward"]["data_bytes"])


def total(run: results.Run, name: str) -> int:
    return sum(int(queue[name]) for queue in run.queues)


@pytest.fixture(scope="module", params=SIM)
def simulated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> results.Run:
    text = SIM[request.param].text("3s", DROPS)
    return sojourn.run(sojourn.Scenario(text), out=tmp_path_factory.mktemp("counted"))[0]


def of_tcp(flow: Seen) -> dict[str, tuple[object, object]]:
    """Pairs that must be equal: by the engine, and by the captures."""
    sender, receiver = flow.sender, flow.receiver
    sent, heard, acks = (way["tcp"] for way in (flow.sent, flow.answered, flow.acked))
    pairs: dict[str, tuple[object, object]] = {
        "segments sent": (sender["segments_sent"], flow.sent["data_packets"]),
        "retransmissions": (sender["retransmits"], sent["retransmissions"]["all"]),
        "acked bytes": (sender["acked_bytes"], heard["acked_bytes"]),
        "segments received": (receiver["segments_received"], flow.arrived["data_packets"]),
        "CE received": (receiver["ce_received"], flow.arrived["data_ecn"]["ce"]),
        "ACKs sent": (receiver["acks_sent"], acks["pure_acks"]),
    }
    if heard["accecn"]:
        pairs["CE reported"] = (sender["ce_reported"], heard["accecn"]["ce_packets"])
    else:
        pairs["CE reported"] = (sender["ce_reported"], heard["ece_acked_packets"])
    if "sce_received" in receiver:
        pairs["SCE received"] = (receiver["sce_received"], flow.arrived["data_ecn"]["ect1"])
        pairs["SCE reported"] = (sender["sce_reported"] * MSS, heard["esce_acked_bytes"])
    return pairs


def of_datagrams(flow: Seen) -> dict[str, tuple[object, object]]:
    sender, receiver = flow.sender, flow.receiver
    return {
        "packets sent": (sender["packets_sent"], flow.sent["data_packets"]),
        "packets received": (receiver["packets_received"], flow.arrived["data_packets"]),
        "CE received": (receiver["ce_received"], flow.arrived["data_ecn"]["ce"]),
    }


def unequal(
    flows: Iterator[Seen], of_connection: Callable[[Seen], dict[str, tuple[object, object]]] = of_tcp
) -> list[str]:
    wrong = []
    for flow in flows:
        pairs = of_connection(flow) if flow.connection else of_datagrams(flow)
        wrong += [f"{flow.name}: {what} {ours} {theirs}" for what, (ours, theirs) in pairs.items() if ours != theirs]
    return wrong


def test_a_simulated_run_has_the_engines_counters(simulated: results.Run) -> None:
    assert unequal(seen(simulated)) == []
    drops = captures.read([simulated.path / "drops.pcapng"]).document
    assert drops["packets"] == total(simulated, "dropped")


FIELDS = ("tcp.srcport", "tcp.dstport", "tcp.seq_raw", "tcp.len", "tcp.flags", "ip.dsfield.ecn")
SYN, ECE, CWR, AE = 0x2, 0x40, 0x80, 0x100


def by_tshark(file: Path) -> dict[tuple[int, int], Counter[str]]:
    """Counts from the fields that tshark prints, by source and destination port; its own analysis is off."""
    if not shutil.which("tshark"):
        pytest.skip("tshark is not installed")
    wanted = [part for field in FIELDS for part in ("-e", field)]
    command = ["tshark", "-n", "-o", "tcp.analyze_sequence_numbers:FALSE", "-Y", "tcp", "-T", "fields", *wanted]
    text = subprocess.run([*command, "-r", str(file)], capture_output=True, text=True, check=True, timeout=120).stdout
    counts: dict[tuple[int, int], Counter[str]] = {}
    behind: dict[tuple[int, int], int] = {}
    for line in text.splitlines():
        source, destination, seq, size, flags, ecn = (int(word, 0) for word in line.split("\t"))
        ports = (source, destination)
        of = counts.setdefault(ports, Counter())
        of.update(packets=1, ce=ecn == 3, ect1=ecn == 1)
        if not flags & SYN:
            of.update(ece=bool(flags & ECE), cwr=bool(flags & CWR), ae=bool(flags & AE))
        if size:
            of.update(data=1, bytes=size, below=seq < behind.get(ports, 0))
            behind[ports] = max(behind.get(ports, 0), seq + size)
    return counts


def by_us(file: Path) -> dict[tuple[int, int], Counter[str]]:
    counts = {}
    for flow in captures.read([file]).document["flows"]:
        if not flow["tcp"]:
            continue
        ports = (flow["opener"]["port"], flow["peer"]["port"])
        for way, key in ((flow["forward"], ports), (flow["backward"], ports[::-1])):
            tcp = way["tcp"]
            below = tcp["retransmissions"]["all"] + tcp["probes"] + tcp["captured_twice"] + tcp["reordered"]
            codepoints = {name: way["ecn"][name] for name in ("ce", "ect1")}
            flags = {name: tcp[name] for name in ("ece", "cwr", "ae")}
            sums = {"packets": way["packets"], "data": way["data_packets"], "bytes": way["data_bytes"], "below": below}
            counts[key] = Counter({**sums, **codepoints, **flags})
    return counts


@pytest.mark.parametrize("host", ["cli", "srv"])
def test_a_simulated_run_has_tsharks_counts(simulated: results.Run, host: str) -> None:
    file = simulated.path / f"{host}.pcapng"
    # A Counter that lacks a key equals one that has none of it.
    assert by_us(file) == by_tshark(file)


#: A connection that stays open when all is delivered, so that what TCP_INFO says last is what the whole capture has.
ONCE = 'app = "request think 60s sizes {size}"'
KERNEL = {
    "losses": Case(
        flow("cubic", "cubic", more=ONCE.format(size="900kb")) + flow("reno", "reno", more=ONCE.format(size="600kb")),
        ingress='"netem loss 1%"',
    ),
    "timeouts": Case(flow("cubic", "cubic", more=ONCE.format(size="150kb")), ingress='"netem loss 12%"'),
    "marks": Case(
        flow("cubic", "cubic", "rfc3168", ONCE.format(size="600kb"))
        + flow("dctcp", "dctcp", "accecn", ONCE.format(size="900kb")),
        qdisc="codel ecn",
        reverse=OPEN.replace("[]", '["netem loss 5%"]'),
    ),
    "both directions": Case(
        flow("down", "cubic", "accecn", ONCE.format(size="1Mb"))
        + flow("up", "bbr version v1", "off", ONCE.format(size="1Mb") + '\ndirection = "up"'),
        qdisc="fq_codel",
        reverse="",
    ),
}


def of_tcp_info(flow: Seen) -> dict[str, tuple[object, object]]:
    """The same of a kernel's flow whose server sends the data: `tcpi_total_retrans` has its SYN/ACKs, too."""
    pairs = of_tcp(flow)
    # Here it counts segments with data and the handshake, too.
    del pairs["ACKs sent"]
    assert flow.connection
    repeated = flow.connection["syn_ack_retransmissions"]
    ours, theirs = pairs["retransmissions"]
    pairs["retransmissions"] = (ours, int(str(theirs)) + repeated)
    return pairs


@pytest.mark.parametrize("case", KERNEL)
def test_a_kernels_capture_has_the_counters_of_tcp_info(kernel: object, case: str, tmp_path: Path) -> None:
    run = sojourn.run(sojourn.Scenario(KERNEL[case].text("6s")), out=tmp_path, engine="linux")[0]
    flows = list(seen(run))
    assert all(flow.sender["acked_bytes"] > 100_000 for flow in flows)
    assert unequal(iter(flows), of_tcp_info) == []
    for host in ("cli", "srv"):
        assert by_us(run.path / f"{host}.pcapng") == by_tshark(run.path / f"{host}.pcapng")
