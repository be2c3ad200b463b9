"""The engine that is a real Linux kernel: what it refuses, how it fails, and what it measures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sojourn import Scenario, _core, engines, kernel_build
from sojourn.cli import call
from sojourn.engines import linux
from sojourn.engines.linux import Linux
from sojourn.results import Run
from sojourn.scenario import Resolved

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.engine
ROOT = Path(__file__).parent.parent
#: What Linux 7.2 has.
LINUX72 = (ROOT / "crates/linux/src/check/linux72.json").read_text()
#: A kernel that is only asked what it would refuse.
MAINLINE = Linux(linux.Kernel(("none",), "none"), _core.Capabilities(LINUX72))

LINE = """
name = "line"
duration = "4s"
measure.from = "1s"
[tcp]
ecn = "rfc3168"
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "fq_codel flows 1"
delay = "10ms"
reverse = { rate = "none", qdisc = "pfifo" }
[[flow]]
name = "a"
cc = "cubic"
[[ping]]
name = "p"
"""


def resolved(text: str) -> Resolved:
    return Scenario(text).resolve()


def test_a_kernel_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(linux.VARIABLE, raising=False)
    with pytest.raises(linux.LinuxError, match="set SOJOURN_LINUX"):
        linux.find()
    monkeypatch.setenv(linux.VARIABLE, str(tmp_path))
    with pytest.raises(linux.LinuxError, match="expected a folder that holds `run`"):
        linux.find()


def test_a_binary_is_started_by_our_own_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    binary = tmp_path / "linux"
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    monkeypatch.setenv(linux.VARIABLE, str(binary))
    words = linux.find().launcher
    assert (words[0], words[2:]) == ("bash", ("--kernel", str(binary)))
    assert Path(words[1]).read_text().startswith("#!/usr/bin/env bash\n")


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with a `run` that says what `LINUX72` says, and counts in `asked` how often."""
    folder = tmp_path / "stub"
    folder.mkdir()
    (folder / "answer").write_text(LINUX72)
    run = folder / "run"
    asked = tmp_path / "asked"
    run.write_text(f'#!/bin/sh\necho >> {asked}\ncp {folder}/answer "$2/samples"\n')
    run.chmod(0o755)
    monkeypatch.setenv(linux.VARIABLE, str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return asked


def test_a_kernel_is_asked_once_what_it_has(stub: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["kernel", "show"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Linux 7.2.13, 1000 Hz, with AccECN\ncontrollers: bbr, cdg, cubic 2.3, dctcp, ")
    assert "queue cake without nat|nonat, sce-thresh\n" in shown
    assert call(["kernel", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema": "sojourn/kernel/1", **json.loads(LINUX72)}
    assert stub.read_text().count("\n") == 1
    assert call(["kernel", "show", "--fresh"]) == 0
    assert stub.read_text().count("\n") == 2
    (kept,) = (tmp_path / "cache" / "sojourn" / "linux").iterdir()
    kept.write_text(kept.read_text()[:-9])
    assert call(["kernel", "show"]) == 0
    assert stub.read_text().count("\n") == 3
    assert json.loads(kept.read_text()) == json.loads(LINUX72)


@pytest.mark.usefixtures("stub")
@pytest.mark.parametrize(
    ("ours", "theirs", "line"),
    [
        ('cc = "cubic"', 'cc = "bbr"', "flow.a.cc: not on this engine: Linux 7.2.13 has `bbr version v1` only"),
        (
            'delay = "10ms"',
            'delay = "10ms"\ningress = ["netem loss 1%", "police rate 9Mbit burst 9kb"]',
            "line: not on ",
        ),
    ],
)
def test_what_the_kernel_cannot_do_is_refused_before_anything_is_written(
    ours: str, theirs: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "line.toml"
    file.write_text(LINE.replace(ours, theirs, 1))
    out = tmp_path / "out"
    assert call(["run", str(file), "--engine", "linux", "--out", str(out)]) == 2
    (reported,) = capsys.readouterr().err.strip().splitlines()
    assert reported.startswith(f"sojourn: {line}")
    assert not out.exists()


@pytest.mark.usefixtures("stub")
def test_differences_of_the_nearest_scenario_are_printed_once_per_class(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "one.toml", tmp_path / "two.toml"]
    wanted = LINE.replace("fq_codel flows 1", "dualpi2 version 2020").replace("[tcp]", "[tcp]\ngso = true")
    for file in files:
        file.write_text(wanted.replace('name = "line"', f'name = "{file.stem}"'))
    run = ["run", *map(str, files), "--engine", "linux", "--dry"]
    assert call(run) == 2
    capsys.readouterr()
    assert call([*run, "--nearest"]) == 0
    printed = capsys.readouterr().err.splitlines()
    assert printed == [
        "sojourn: nearest: qdisc: dualpi2 for dualpi2 version 2020: what Linux 7.2.13 has of `dualpi2` (2 runs)",
        "sojourn: nearest: gso: false for true: as the kernel is built (2 runs)",
    ]
    files[0].write_text(LINE.replace("cubic", "prague"))
    assert call([*run, "--nearest"]) == 0
    both = capsys.readouterr()
    assert "sojourn: left out: 1 run: not on this engine: `prague` is in only the tree" in both.err
    assert both.out == "two\n"
    assert call(["run", str(files[0]), "--engine", "linux", "--nearest", "--dry"]) == 2
    assert "flow.a.cc: not on this engine: `prague` is in only the tree" in capsys.readouterr().err


def test_the_manifest_states_what_differs(kernel: linux.Kernel, tmp_path: Path) -> None:
    file = tmp_path / "line.toml"
    file.write_text(LINE.replace('duration = "4s"', 'duration = "2s"').replace("[tcp]", "[tcp]\ngso = true"))
    run = ["run", str(file), "--engine", "linux", "--nearest", "--out", str(tmp_path / "out"), "--quiet"]
    assert call(run) == 0
    ran = Run(tmp_path / "out" / "line")
    why = "as the kernel is built"
    assert ran.manifest["nearest"] == [{"key": "flow.a.tcp.gso", "wanted": "true", "used": "false", "why": why}]
    assert ran.manifest["kernel"] == json.loads(linux.capabilities(kernel).json)["release"]
    started = ran.manifest["started"]
    assert call(run) == 0
    assert Run(tmp_path / "out" / "line").manifest["started"] == started


def test_a_kernel_that_does_not_answer_is_reported(stub: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path(os.environ[linux.VARIABLE], "run").write_text("#!/bin/sh\necho no memory >&2\nexit 3\n")
    assert call(["kernel", "show"]) == 2
    assert capsys.readouterr().err == "sojourn: the kernel failed: no memory\n"
    assert not stub.exists()


def test_a_real_kernel_says_what_it_has(kernel: linux.Kernel) -> None:
    found = json.loads(linux.capabilities(kernel, fresh=True).json)
    assert {"cubic", "reno"} <= found["controllers"].keys()
    assert found["hz"] == kernel_build.HZ
    assert {"htb", "netem", "pfifo"} <= found["qdiscs"].keys()
    assert not found["qdiscs"]["netem"]


THREE = """
name = "three"
duration = "4s"
measure.from = "1s"
[tcp]
ecn = "rfc3168"
initial_cwnd = 4
[[link]]
name = "a"
rate = "20Mbit"
shaper = "htb"
qdisc = "fq_codel"
delay = "5ms"
[[link]]
name = "b"
rate = "10Mbit"
shaper = "htb"
qdisc = "fq_codel"
delay = "7ms"
[[link]]
name = "c"
rate = "16Mbit"
shaper = "htb"
qdisc = "fq_codel"
delay = "11ms"
[[flow]]
name = "down"
cc = "cubic"
path = ["b", "c"]
[[flow]]
name = "up"
cc = "cubic"
path = ["b"]
direction = "up"
[[ping]]
name = "first"
path = ["a"]
[[ping]]
name = "middle"
path = ["b"]
protocol = "udp"
"""


def test_a_path_that_the_network_cannot_have_is_refused() -> None:
    with pytest.raises(linux.LinuxError) as refused:
        MAINLINE.check(resolved(THREE.replace('path = ["b", "c"]', 'path = ["a", "c"]', 1)))
    assert str(refused.value) == "flow.down.path: not on this engine: expected links that follow one another"


def start(*launcher: str, stall_s: int = 30, limit_s: int = 30) -> _core.RunResult:
    engine = Linux(linux.Kernel(launcher, "none"), _core.Capabilities(LINUX72), stall_s, limit_s)
    return engines.complete(engine.start(resolved(LINE)))


def test_a_guest_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match="the kernel failed: no memory"):
        start("sh", "-c", "echo no memory >&2; exit 1")


def test_a_guest_that_ends_without_results_is_a_failure() -> None:
    with pytest.raises(RuntimeError, match="the kernel failed: it printed nothing"):
        start("sh", "-c", "exit 0")


def test_a_guest_that_stands_still_is_ended() -> None:
    with pytest.raises(RuntimeError, match="clock stands at"):
        start("sh", "-c", "exec sleep 60", stall_s=1)


def test_a_guest_has_a_bound_in_any_case() -> None:
    with pytest.raises(RuntimeError, match="did not end within 1 s"):
        start("sh", "-c", "exec sleep 60", limit_s=1)


def test_an_archive_without_user_mode_linux_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["kernel", "build", str(tmp_path / "none.tar.xz")]) == 2
    assert "expected a kernel source archive" in capsys.readouterr().err


def guests(token: str) -> list[int]:
    """Processes that have this text in their command or environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue
        if token.encode() in text and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def wait_for(what: Callable[[], object], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False


def test_after_kill_9_no_guest_and_no_folder_is_left(tmp_path: Path) -> None:
    """A guest that never ends, started by a `run` that takes its guest with it on SIGTERM."""
    vt, scratch = tmp_path / "vt", tmp_path / "scratch"
    vt.mkdir()
    scratch.mkdir()
    (vt / "run").write_text(f"#!/bin/sh\n# {tmp_path}\nsleep 300 &\ntrap 'kill $!; exit 143' TERM\nwait\n")
    (vt / "run").chmod(0o755)
    file = tmp_path / "line.toml"
    file.write_text(LINE)
    environment = {**os.environ, linux.VARIABLE: str(vt), "TMPDIR": str(scratch)}
    command = [sys.executable, "-m", "sojourn.cli", "run", str(file), "--engine", "linux", "--out", str(tmp_path / "o")]
    killed = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert wait_for(lambda: len(guests(str(vt))) >= 4), "sojourn, timeout, run and its guest"
    (folder,) = scratch.iterdir()
    killed.kill()
    killed.wait()
    assert wait_for(lambda: not guests(str(vt)))
    assert folder.is_dir()
    # The next run removes it, and not its own or another living one's.
    living = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert wait_for(lambda: not folder.exists())
    assert wait_for(lambda: len(list(scratch.iterdir())) == 1)
    (own,) = scratch.iterdir()
    other = tmp_path / "other"
    other.mkdir()
    (other / "run").write_text("#!/bin/sh\nexit 1\n")
    (other / "run").chmod(0o755)
    environment[linux.VARIABLE] = str(other)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "the kernel failed" in done.stderr
    assert own.is_dir()
    living.terminate()
    living.wait()
    assert wait_for(lambda: not guests(str(vt)))


@pytest.mark.timeout(300)
def test_the_kernel_gives_the_series_of_the_simulator(kernel: linux.Kernel, tmp_path: Path) -> None:
    """Two flows of which one ends, a later ECN setting, a control connection, a rate change."""
    second = """
[[flow]]
name = "b"
cc = "reno"
start = "500ms"
stop = "3s"
bytes = "300kb"
control_rtts = 2
tcp = { ecn = "off" }
[[schedule]]
at = "2s"
set = { "link.bneck.forward.rate" = "5Mbit" }
"""
    file = tmp_path / "line.toml"
    file.write_text(LINE.replace('measure.from = "1s"', 'measure = { from = "3s", to = "4s" }') + second)
    assert call(["run", str(file), "--engine", "linux", "--out", str(tmp_path / "linux")]) == 0
    assert call(["run", str(file), "--out", str(tmp_path / "sim")]) == 0
    ran, simulated = Run(tmp_path / "linux" / "line"), Run(tmp_path / "sim" / "line")
    assert ran.complete
    assert ran.manifest["engine"] == "linux"
    of_simulator = {name for name in simulated.names() if ".cc." not in name and not name.startswith("queue.")}
    assert of_simulator - {"flow.a.lost"} <= set(ran.names())
    assert {q["name"] for q in ran.queues} == {q["name"] for q in simulated.queues}
    # 5 Mbit/s but for headers, after the change and after the other flow's end.
    flow = ran.summary["flows"][0]
    assert 4.0 < flow["goodput_mbps"] < 4.8
    assert flow["sender"]["ce_reported"] > 0
    assert ran.summary["flows"][1]["sender"]["ce_reported"] == 0, "without ECN there are no marks"
    t, read = ran.series("flow.b.goodput_bytes")
    # Three round trips before the first sample, and one sample of the end.
    assert 0.56 <= t[0] <= 0.7
    assert t[-1] < 2.5
    assert read[-1] == 300 << 10
    assert max(read[:-1]) < 300 << 10
    assert ran.summary["pings"][0]["rtt_ms"]["p05"] >= 20.0
    assert ran.summary["pings"][0]["totals"]["received"] >= 18
    bottleneck = next(q for q in ran.queues if q["name"] == "bneck")
    assert bottleneck["marked"] > 0
    assert 0.9 < bottleneck["utilisation"] < 1.05, "of the rate at the end"
    # The same scenario again is already there.
    assert call(["run", str(file), "--engine", "linux", "--out", str(tmp_path / "linux")]) == 0


@pytest.mark.timeout(300)
def test_paths_over_some_links_pass_these_and_no_others(kernel: linux.Kernel, tmp_path: Path) -> None:
    file = tmp_path / "three.toml"
    file.write_text(THREE)
    assert call(["run", str(file), "--engine", "linux", "--out", str(tmp_path)]) == 0
    ran = Run(tmp_path / "three")
    first, middle = (ping["rtt_ms"] for ping in ran.summary["pings"])
    # Twice the delay of the one link, and at most a few packets of its queues.
    assert 10.0 <= first["p05"] < 11.0
    assert 14.0 <= middle["p05"] < 20.0
    # One flow each way of `b`, which is the narrowest of both: neither takes from the other.
    down, up = ran.summary["flows"]
    assert all(7.5 < flow["goodput_mbps"] < 9.7 for flow in (down, up))
    packets = {queue["name"]: queue["received_packets"] for queue in ran.queues}
    # 20 pings over `a`, and nothing of `b`'s.
    assert 19 <= packets["a"] <= 21
    assert 19 <= packets["a.reverse"] <= 21
    # Over `c` go the data and ACKs of the one flow; of the data some are still under way.
    assert 0 <= packets["c"] - down["receiver"]["segments_received"] <= 40
    assert abs(packets["c.reverse"] - down["receiver"]["acks_sent"]) <= 5


MIX = """
name = "mix"
duration = "5s"
measure.from = "1s"
[[link]]
name = "bneck"
rate = "12Mbit"
shaper = "htb"
qdisc = "fq_codel"
delay = "10ms"
ingress = ["netem loss 1%", "pfifo"]
reverse = { rate = "10Mbit", ingress = [] }
[[flow]]
name = "off"
cc = "cubic"
tcp = { ecn = "off" }
[[flow]]
name = "on"
cc = "cubic"
[[flow]]
name = "up"
cc = "reno"
direction = "up"
flows = 2
[[flow]]
name = "web"
cc = "cubic"
app = "short arrivals 20 sizes 10kb"
[[flow]]
name = "read"
cc = "cubic"
app = "request think 100ms sizes 10kb,50kb"
direction = "up"
[[flow]]
name = "call"
app = "cbr rate 4Mbit size 1000"
tos = "0x01"
start = "1s"
stop = "4s"
[[ping]]
name = "icmp"
[[ping]]
name = "udp"
protocol = "udp"
[[schedule]]
at = "3s"
replace = { "link.bneck.forward.qdisc" = "pie ecn" }
"""


@pytest.mark.timeout(300)
def test_the_kernel_carries_what_the_simulator_carries(
    kernel: linux.Kernel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both directions, every kind of application, pings over UDP, losses, and a queue that is replaced."""
    file = tmp_path / "mix.toml"
    file.write_text(MIX)
    out = tmp_path / "both"
    assert call(["compare", "--engines", "sim,linux", str(file), "--out", str(out), "--json"]) == 0
    assert {flow["name"] for flow in json.loads(capsys.readouterr().out)["runs"][0]["flows"]} >= {"web", "call", "up-2"}
    simulated, ran = Run(out / "sim" / "mix"), Run(out / "linux" / "mix")
    of_simulator = {name for name in simulated.names() if ".cc." not in name and not name.startswith("queue.")}
    assert of_simulator <= set(ran.names())
    theirs = {flow["name"]: flow for flow in simulated.summary["flows"]}
    ours = {flow["name"]: flow for flow in ran.summary["flows"]}
    # The same random streams: sizes and arrivals are those of the simulator.
    assert abs(ours["web"]["sender"]["arrived"] - theirs["web"]["sender"]["arrived"]) <= 1
    assert ours["web"]["completions"]["size_bytes"]["mean"] == 10240
    assert ours["read"]["completions"]["size_bytes"]["max"] == 50 << 10
    assert 20 <= ours["read"]["completions"]["fct_ms"]["p05"] < 100
    # Three seconds of 500 packets, of which one in a hundred is lost before the queue.
    assert ours["call"]["sender"]["packets_sent"] == 1500
    # PIE drops some more of what does not answer its marks.
    assert 0.0 < ours["call"]["one_way"]["loss"] < 0.3
    assert ours["call"]["one_way"]["min_ms"] >= 10.0
    assert ours["call"]["receiver"]["ect1_received"] + ours["call"]["receiver"]["ce_received"] > 1000
    assert ours["off"]["sender"]["ce_reported"] == 0
    assert ours["on"]["receiver"]["ce_received"] == ours["on"]["sender"]["ce_reported"] > 0
    fairness = ran.summary["metrics"]["fairness"]
    assert (fairness["flows"], fairness["jain"] < 1.0) == (4, True)
    pings = {ping["name"]: ping for ping in ran.summary["pings"]}
    assert all(pings[name]["totals"]["received"] > 15 for name in ("icmp", "udp"))
    assert all(pings[name]["rtt_ms"]["p05"] >= 20.0 for name in ("icmp", "udp"))
    queues = {queue["name"]: queue for queue in ran.queues}
    lossy, behind, bottleneck = (queues[name] for name in ("bneck.ingress0", "bneck.ingress1", "bneck"))
    assert lossy["drops"]["loss"] > 20
    # What leaves one of them arrives at the next. A command takes tens of microseconds, and what the replaced
    # queue counted during that is not known.
    assert lossy["sent_packets"] == behind["received_packets"]
    assert 0 <= behind["sent_packets"] - bottleneck["received_packets"] < 10
    assert set(bottleneck["drops"]) <= {"codel", "flow_overlimit", "purge", "pi", "tail_limit"}
    assert sum(bottleneck["drops"].values()) == bottleneck["dropped"]
    assert {"codel", "pi"} >= set(bottleneck["marks"])
    assert bottleneck["marks"]["codel"] > 0


@pytest.mark.timeout(300)
def test_engines_are_compared_over_the_scenarios_window(
    kernel: linux.Kernel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "line.toml"
    file.write_text(LINE)
    words = ["compare", "--engines", "sim,linux", str(file), "--seeds", "2", "--out", str(tmp_path / "both"), "--json"]
    assert call(words) == 0
    document = json.loads(capsys.readouterr().out)
    run = document["runs"][0]
    assert run["window_s"] == [1.0, 4.0]
    goodput = run["flows"][0]["goodput_mbps"]
    assert abs(goodput["diff"]) < 0.1 * goodput["b"], goodput
    assert [run["id"] for run in document["runs"]] == ["line", "line@seed2"]
    assert document["flows"][0]["seeds"] == 2
    assert run["queues"]["bneck"]["marks"]["b"] > 0
    assert run["flows"][0]["retransmits"]["b"] is not None


# Two paths between the same nodes, of which the longer one has the smaller rate.
RING = """
name = "ring"
duration = "4s"
measure.from = "1s"
[tcp]
era = "7.x"
ecn = "off"
[[link]]
name = "direct"
from = "x"
to = "y"
rate = "20Mbit"
shaper = "htb"
qdisc = "fq_codel"
delay = "10ms"
[[link]]
name = "first"
from = "x"
to = "m"
rate = "8Mbit"
shaper = "htb"
qdisc = "fq_codel"
delay = "5ms"
[[link]]
name = "second"
from = "m"
to = "y"
delay = "15ms"
[[flow]]
name = "short"
cc = "cubic"
path = ["direct"]
[[flow]]
name = "long"
cc = "cubic"
path = ["first", "second"]
[[ping]]
name = "p"
from = "x"
to = "y"
path = ["first", "second"]
"""


@pytest.mark.timeout(300)
def test_flows_between_nodes_take_their_own_path(kernel: linux.Kernel, tmp_path: Path) -> None:
    file = tmp_path / "ring.toml"
    file.write_text(RING)
    assert call(["run", str(file), "--engine", "linux", "--out", str(tmp_path), "--quiet"]) == 0
    summary = Run(tmp_path / "ring").summary
    goodput = {flow["name"]: flow["goodput_mbps"] for flow in summary["flows"]}
    assert 17.0 < goodput["short"] < 20.0
    assert 6.5 < goodput["long"] < 8.0
    assert 40.0 <= summary["pings"][0]["rtt_ms"]["p05"] < 41.0


POLICED = """
name = "policed"
duration = "4s"
tcp = { era = "7.x", ecn = "off" }
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "pfifo"
delay = "10ms"
ingress = ["police rate 4Mbit burst 20kb drop", "netem loss 1%"]
reverse = { rate = "none", shaper = "none", qdisc = "pfifo", ingress = [] }
[[link]]
name = "second"
rate = "3Mbit"
shaper = "police burst 20kb drop"
qdisc = "pfifo limit 50"
reverse = { rate = "none", shaper = "none", qdisc = "pfifo" }
[[flow]]
name = "a"
cc = "cubic"
[[schedule]]
at = "2s"
replace = { "link.bneck.forward.ingress0" = "police rate 2Mbit burst 20kb drop" }
"""


def test_a_policer_is_no_place_for_a_queue() -> None:
    text = POLICED.replace('"police rate 2Mbit burst 20kb drop"', '"netem loss 1%"')
    with pytest.raises(linux.LinuxError, match="a policer is an action, which no discipline can replace"):
        MAINLINE.check(resolved(text))


@pytest.mark.timeout(300)
def test_policers_have_accounts(kernel: linux.Kernel, tmp_path: Path) -> None:
    file = tmp_path / "policed.toml"
    file.write_text(POLICED)
    assert call(["run", str(file), "--engine", "linux", "--out", str(tmp_path)]) == 0
    ran = Run(tmp_path / "policed")
    policer, lossy, queue, second = (
        next(queue for queue in ran.queues if queue["name"] == name)
        for name in ("bneck.ingress0", "bneck.ingress1", "bneck", "second")
    )
    assert policer["drops"] == {"police": policer["dropped"]}
    # How many is the kernel's draw: netem's losses slow the flow down.
    assert policer["dropped"] > 5
    assert policer["received_packets"] == policer["sent_packets"] + policer["dropped"]
    assert policer["sent_packets"] == lossy["received_packets"]
    assert lossy["drops"]["loss"] > 0
    assert queue["dropped"] == 0
    assert second["drops"]["police"] > 5
    assert second["sent_packets"] + second["dropped"] == second["received_packets"]
    assert 0 <= queue["sent_packets"] - second["received_packets"] <= 20, "some are under way"
    t, drops = ran.series("queue.bneck.ingress0.drops")
    assert drops[-1] == policer["dropped"] > drops[t.searchsorted(2.0)], "the policer is changed, and counts on"
    assert ran.summary["flows"][0]["goodput_mbps"] < 2.5
