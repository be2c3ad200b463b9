"""Captures of runs: what tshark counts in them is what the engine has counted."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import sojourn
from sojourn import results

pytestmark = pytest.mark.engine

LUA = Path(sojourn.__file__).parent / "data" / "sojourn.lua"
TEXT = """
name = "captured"
duration = "2s"
[[link]]
name = "bneck"
rate = "5Mbit"
shaper = "htb"
qdisc = "dualpi2"
ingress = ["netem loss 0.5%"]
delay = "10ms"
reverse = { rate = "none", qdisc = "pfifo", ingress = [] }
[[flow]]
name = "prague"
cc = "prague"
[[flow]]
name = "cubic"
cc = "cubic"
[[flow]]
name = "scream"
cc = "scream"
app = "video"
[[ping]]
name = "ping"
"""
CAPTURES = """
[[capture]]
name = "bneck"
points = [{ link = "bneck" }]
snaplen = 2000
[[capture]]
name = "sender"
points = [{ flow = "cubic", at = ["sender"] }]
[[capture]]
name = "media"
points = [{ flow = "scream", at = ["receiver"] }]
snaplen = 1500
"""


def tshark(file: Path, shown: str, *fields: str, lua: bool = False) -> list[list[str]]:
    """Fields of the packets that a filter shows."""
    if not shutil.which("tshark"):
        pytest.skip("tshark is not installed")
    checks = [part for name in ("ip", "tcp", "udp") for part in ("-o", f"{name}.check_checksum:TRUE")]
    script = ["-X", f"lua_script:{LUA}"] if lua else []
    wanted = [part for field in fields for part in ("-e", field)]
    command = ["tshark", *script, "-r", str(file), *checks, "-Y", shown, "-T", "fields", *wanted]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    return [line.split("\t") for line in text.splitlines()]


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> results.Run:
    return sojourn.run(sojourn.Scenario(TEXT + CAPTURES), out=tmp_path_factory.mktemp("captured"))[0]


def flow(run: results.Run, name: str) -> dict[str, dict[str, int]]:
    return next(flow for flow in run.summary["flows"] if flow["name"] == name)


def test_a_run_is_the_same_with_captures(captured: results.Run, tmp_path: Path) -> None:
    plain = sojourn.run(sojourn.Scenario(TEXT), out=tmp_path)[0]
    assert plain.captures == []
    for name in ("summary.json", "queue.json", "series.parquet"):
        assert (plain.path / name).read_bytes() == (captured.path / name).read_bytes(), name


def test_captures_are_of_the_run(captured: results.Run) -> None:
    assert [path.name for path in captured.captures] == ["bneck.pcapng", "sender.pcapng", "media.pcapng"]
    assert set(captured.manifest["files"]) == {*results.FILES, *(path.name for path in captured.captures)}
    digest = captured.manifest["hash"]
    root = captured.path.parent
    assert results.existing(root, captured.id, digest)
    changed = captured.captures[1].read_bytes()
    try:
        captured.captures[1].write_bytes(changed[:-1])
        assert results.existing(root, captured.id, digest) is None
    finally:
        captured.captures[1].write_bytes(changed)


def test_interfaces_have_the_queues_counts(captured: results.Run) -> None:
    fields = ("frame.interface_name", "frame.len", "frame.comment")
    packets, sizes, marks, drops = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for name, size, comment in tshark(captured.path / "bneck.pcapng", "frame", *fields):
        packets[name] += 1
        sizes[name] += int(size)
        facts = dict(word.split("=") for word in comment.split())
        if name == "bneck.out" and "mark" in facts:
            marks[facts["mark"]] += 1
        if name == "bneck.drop":
            drops[facts["drop"]] += 1
    queues = {queue["name"]: queue for queue in captured.queues}
    for name, queue in queues.items():
        if name != "bneck.ingress0":
            assert (packets[f"{name}.in"], sizes[f"{name}.in"]) == (queue["received_packets"], queue["received_bytes"])
            assert (packets[f"{name}.out"], sizes[f"{name}.out"]) == (queue["sent_packets"], queue["sent_bytes"])
    assert queues["bneck"]["marked"] > 0
    assert queues["bneck.ingress0"]["dropped"] > 0
    assert drops == Counter(queues["bneck"]["drops"]) + Counter(queues["bneck.ingress0"]["drops"])
    # A packet that was marked may wait in the queue at the end.
    assert sum(queues["bneck"]["marks"].values()) - marks.total() <= queues["bneck"]["backlog_packets"]


def test_checksums_are_right(captured: results.Run) -> None:
    status = ("ip.checksum.status", "tcp.checksum.status", "udp.checksum.status", "icmp.checksum.status")
    rows = tshark(captured.path / "bneck.pcapng", "frame", *status, "_ws.malformed")
    assert {value for row in rows for value in row if value} == {"1"}


def test_the_sender_has_its_own_counts(captured: results.Run) -> None:
    rows = tshark(captured.path / "sender.pcapng", "tcp.len > 0", "tcp.seq_raw")
    sender = flow(captured, "cubic")["sender"]
    assert sender["retransmits"] > 0
    assert len(rows) == sender["segments_sent"]
    assert len(rows) - len({seq for (seq,) in rows}) == sender["retransmits"]


def test_every_report_of_rfc_8888_is_decoded(captured: results.Run) -> None:
    shown = "sojourn.ccfb and ip.src == 10.0.0.2"
    rows = tshark(captured.path / "media.pcapng", shown, "sojourn.ccfb.count", lua=True)
    assert len(rows) == flow(captured, "scream")["receiver"]["reports_sent"] > 0


def test_comments_are_fields(captured: results.Run) -> None:
    file = captured.path / "bneck.pcapng"
    rows = tshark(file, "sojourn.drop", "sojourn.drop", "frame.comment", lua=True)
    assert rows
    assert all(f"drop={drop}" in comment.split() for drop, comment in rows)


def test_tcptrace_reads_a_capture(captured: results.Run) -> None:
    if not shutil.which("tcptrace"):
        pytest.skip("tcptrace is not installed")
    command = ["tcptrace", "-l", str(captured.path / "sender.pcapng")]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert "1 TCP connection traced" in text
    sent = next(line for line in text.splitlines() if "actual data pkts:" in line).split()
    assert int(sent[3]) == flow(captured, "cubic")["sender"]["segments_sent"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("points = []", "capture.c.points: expected at least one place"),
        ('points = [{ link = "bnek" }]', "capture.c.points.0.link: unknown link"),
        ('points = [{ link = "bneck", flow = "cubic" }]', "expected exactly one of link, flow and host"),
        ('points = [{ flow = "cubic", at = ["in"] }]', "expected sender and receiver of a flow"),
        ('points = [{ host = "far" }]', 'unknown host "far"; valid: cli, srv'),
        ('points = [{ host = "cli" }, { host = "cli" }]', "this place is named twice"),
        ('points = [{ host = "cli" }]\nsnaplen = 10', "capture.c.snaplen: expected 60 to 262144, got 10"),
        ('points = [{ host = "cli" }]\nflows = ["cubik"]', "capture.c.flows: unknown flow or ping"),
    ],
)
def test_a_wrong_capture_is_refused(table: str, message: str) -> None:
    with pytest.raises(sojourn.ScenarioError) as error:
        sojourn.Scenario(f'{TEXT}[[capture]]\nname = "c"\n{table}\n').resolve()
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_kernels_capture_has_the_counts_of_tcp_info(kernel: object, tmp_path: Path) -> None:
    text = """
name = "kernel"
duration = "1s"
[[link]]
name = "bneck"
rate = "5Mbit"
shaper = "htb"
qdisc = "pfifo limit 20"
delay = "5ms"
[[flow]]
name = "cubic"
cc = "cubic"
[[capture]]
name = "sender"
points = [{ flow = "cubic", at = ["sender"] }]
"""
    run = sojourn.run(sojourn.Scenario(text), out=tmp_path, engine="linux")[0]
    rows = tshark(run.path / "sender.pcapng", "tcp.len > 0 and tcp.dstport == 5201", "tcp.seq_raw")
    sender = flow(run, "cubic")["sender"]
    assert len(rows) == sender["segments_sent"] > 0
    assert len(rows) - len({seq for (seq,) in rows}) == sender["retransmits"]
