"""The engine `live`: kernel hosts of this machine, whose packets pass the simulator's queues in real time."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sojourn import Scenario, engines, start, suites
from sojourn.cli import call
from sojourn.engines import names as host_names
from sojourn.glance import Glance
from sojourn.results import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.engine, pytest.mark.live]

LINE = """
name = "line"
duration = "2s"
measure.from = "500ms"
[tcp]
ecn = "rfc3168"
[[link]]
name = "bneck"
rate = "20Mbit"
shaper = "htb"
qdisc = "fq_codel"
delay = "5ms"
reverse = { rate = "none", qdisc = "pfifo" }
[[flow]]
name = "a"
cc = "cubic"
"""
#: Every kind of flow whose packets have to be told apart, and a queue that no kernel has.
MANY = (
    LINE.replace("fq_codel", "lfq_cobalt")
    + """
[[flow]]
name = "up"
cc = "reno"
direction = "up"
[[flow]]
name = "voice"
app = "voip"
[[flow]]
name = "web"
app = "short load 2Mbit"
cc = "cubic"
[[ping]]
name = "icmp"
[[ping]]
name = "udp"
protocol = "udp"
"""
)
GRAPH = """
name = "graph"
duration = "2s"
tcp.ecn = "rfc3168"
[[link]]
name = "left"
from = "a"
to = "m"
rate = "20Mbit"
qdisc = "codel"
delay = "2ms"
[[link]]
name = "right"
from = "m"
to = "b"
rate = "10Mbit"
qdisc = "codel"
delay = "2ms"
[[flow]]
name = "short"
cc = "cubic"
path = ["left"]
[[flow]]
name = "long"
cc = "cubic"
path = ["left", "right"]
"""


@pytest.fixture(scope="session")
def live() -> engines.Engine:
    """The engine, or a skipped test that names what the machine lacks."""
    if sys.platform != "linux":
        pytest.skip("not Linux")
    lacking = [tool for tool in ("ip", "tc", "setpriv", "timeout") if not shutil.which(tool)]
    if lacking:
        pytest.skip(f"no {', '.join(lacking)}")
    try:
        engine = engines.named("live")
        engines.complete(engine.start(Scenario(LINE).resolve({"duration": "100ms", "measure.from": "0s"})))
    except (engines.EngineError, RuntimeError) as error:
        pytest.skip(str(error))
    return engine


def run_live(text: str, folder: Path, *options: str) -> Run:
    file = folder / "scenario.toml"
    file.write_text(text)
    assert call(["run", str(file), "--out", str(folder / "results"), "--quiet", *options]) == 0
    (run,) = (Run(path.parent) for path in (folder / "results").rglob("summary.json"))
    return run


def hosts(run: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run.summary["middlebox"]["hosts"]
    return found


def assert_accounts(run: Run) -> None:
    """All that the hosts sent is in the queues' accounts, or was not let in for a reason that is counted."""
    for queue in run.queues:
        gone = queue["sent_packets"] + queue["dropped"] + queue["backlog_packets"]
        assert queue["received_packets"] + queue["duplicated"] == gone
    for host in hosts(run):
        assert (host["strays"], host["refused"], host["overrun"]) == (0, 0, 0)
        assert sum(host["received"].values()) == host["received"]["whole"]


@pytest.mark.usefixtures("live")
def test_kernel_tcp_through_our_queue_on_this_machine(tmp_path: Path) -> None:
    run = run_live(LINE, tmp_path, "--engine", "live")
    assert run.manifest["engine"] == "live"
    assert run.manifest["kernel"] == os.uname().release
    assert_accounts(run)
    (flow,) = run.summary["flows"]
    (queue, reverse) = run.queues
    assert queue["name"] == "bneck"
    assert "fq_codel" in queue["qdisc"]
    # What the sender's kernel counts went through our queue.
    assert queue["received_packets"] >= flow["sender"]["segments_sent"] > 500
    assert reverse["sent_packets"] > 0
    # No faster than the link: 20 Mbit/s of frames carry at most this much payload.
    assert 5 < flow["goodput_mbps"] <= 20 * 1448 / 1514 * 1.01
    assert flow["rtt_ms"]["p50"] >= 10
    # The queue's own series and those of the kernel's sockets are both there.
    names = set(run.names())
    assert {"flow.a.cwnd", "flow.a.rtt", "queue.bneck.backlog_packets"} <= names
    assert Glance.of(run).punctuality is not None


@pytest.mark.usefixtures("live")
@pytest.mark.parametrize("text", [MANY, GRAPH], ids=["many", "graph"])
def test_packets_are_of_the_flow_that_they_belong_to(text: str, tmp_path: Path) -> None:
    run = run_live(text, tmp_path, "--engine", "live")
    assert_accounts(run)
    passed = {row["name"] for queue in run.queues for row in queue.get("flows", [])}
    expected = {flow["name"] for flow in run.summary["flows"]} | {ping["name"] for ping in run.summary["pings"]}
    assert passed == expected
    for flow in run.summary["flows"]:
        assert flow["goodput_mbps"] > 0, flow["name"]
    for ping in run.summary["pings"]:
        assert ping["totals"]["received"] > 0, ping["name"]


SCREAM = LINE.replace('cc = "cubic"', 'app = "scream-bw"\ncc = "scream init_rate 5Mbit"')


@pytest.mark.parametrize(
    "text",
    [
        LINE.replace("fq_codel", "deltic"),
        SCREAM.replace("fq_codel", "dualpi2"),
        SCREAM.replace("fq_codel", "pfifo limit 100"),
    ],
    ids=["tcp", "media-marked", "media-unmarked"],
)
@pytest.mark.usefixtures("kernel")
def test_a_kernel_in_virtual_time_agrees_with_the_simulator(text: str, tmp_path: Path) -> None:
    run = run_live(text, tmp_path, "--engine", "linux:sojourn")
    assert_accounts(run)
    # In virtual time nothing but looking at the clock takes time, 256 ns each (arch/um/kernel/time.c, timer_read).
    assert all(host["lateness_ms"]["max"] < 0.1 for host in hosts(run))
    file = tmp_path / "scenario.toml"
    simulated = engines.complete(engines.named("sim").start(Scenario(file.read_text()).resolve()))
    (theirs,), (ours,) = (json.loads(text)["flows"] for text in (simulated.summary, json.dumps(run.summary)))
    assert ours["goodput_mbps"] == pytest.approx(theirs["goodput_mbps"], rel=0.03)
    assert ours["rtt_ms"]["p50"] == pytest.approx(theirs["rtt_ms"]["p50"], abs=1)
    waited = [queues[0]["sojourn_ms"]["mean"] for queues in (run.queues, json.loads(simulated.queues))]
    assert waited[0] == pytest.approx(waited[1], abs=1)


@pytest.mark.usefixtures("live")
def test_super_packets_pass_as_one_and_are_charged_for_all(tmp_path: Path) -> None:
    text = LINE.replace("fq_codel", "pfifo limit 100")
    run = run_live(text, tmp_path, "--engine", "live", "--super-packets")
    assert_accounts(run)
    assert max(host["super_packets"] for host in hosts(run)) > 100
    queue = run.queues[0]
    # Most have several full segments, and none passes faster than the link.
    assert queue["sent_bytes"] > 2000 * queue["sent_packets"]
    assert run.summary["flows"][0]["goodput_mbps"] <= 20 * 1448 / 1514 * 1.01


@pytest.mark.usefixtures("live")
def test_cpus_are_kept_awake_if_they_are_to_be(tmp_path: Path) -> None:
    run = run_live(LINE, tmp_path, "--engine", "live", "--keep-awake")
    assert_accounts(run)
    assert "awake" in run.summary["middlebox"]["granted"]
    with pytest.raises(engines.EngineError, match=r"^--keep-awake: only with --engine live, not linux:sojourn$"):
        engines.named("linux:sojourn", engines.Options(keep_awake=True))


def test_what_it_cannot_do_is_refused_in_one_line(
    live: engines.Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.toml"
    file.write_text(LINE.replace("cubic", "prague") + 'stack = "kernel"\n')
    assert live.name == "live"
    assert call(["run", str(file), "--engine", "live", "--out", str(tmp_path / "r")]) == 2
    assert "flow.a.cc: not on this engine: `prague` is" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()
    assert call(["run", str(file), "--engine", "live", "--max-lateness", "soon"]) == 2
    assert "--max-lateness soon: expected a time of 1us or more, such as 500us" in capsys.readouterr().err
    assert call(["run", str(file), "--qdisc", "kernel"]) == 2
    assert "--qdisc kernel: expected --engine linux or live, not sim" in capsys.readouterr().err


@pytest.mark.usefixtures("live")
def test_a_user_without_rights_gets_the_same_with_what_was_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("not root: the other tests here are those of a user without rights")
    if not Path("/dev/net/tun").stat().st_mode & 0o002:
        pytest.skip("/dev/net/tun may be opened by root only")
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    if subprocess.run([*nobody, sys.executable, "-c", "import sojourn"], capture_output=True, check=False).returncode:
        pytest.skip("another user cannot run this Python")
    folder = Path("/tmp") / f"sojourn-test-{os.getpid()}"  # noqa: S108
    folder.mkdir(mode=0o777)
    try:
        folder.chmod(0o777)
        (folder / "s.toml").write_text(LINE)
        command = [*nobody, sys.executable, "-m", "sojourn", "run", "s.toml", "--engine", "live", "--out", "r"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, "HOME": str(folder)})
        run = Run(folder / "r" / "line")
        assert_accounts(run)
        assert any(line.startswith("SCHED_FIFO") for line in run.summary["middlebox"]["refused"])
    finally:
        shutil.rmtree(folder)


CLIENT = """
import json, os, pathlib, sys, urllib.request
pipes = [file.name for file in pathlib.Path("/proc/self/fd").iterdir() if file.is_fifo() or file.is_socket()]
proxies = [name for name in os.environ if name.lower().endswith("_proxy")]
got = len(urllib.request.urlopen(sys.argv[1]).read())
status = dict(line.split(":", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines())
kept = {key: value.strip() for key, value in status.items() if key in ("CapEff", "CapBnd", "NoNewPrivs")}
print(json.dumps({"got": got, "pipes": sorted(pipes), "proxies": proxies, **kept}))
"""


@pytest.fixture
def exec_tools(live: engines.Engine) -> None:
    lacking = [tool for tool in ("unshare", "mount") if not shutil.which(tool)]
    if lacking:
        pytest.skip(f"no {', '.join(lacking)}")


@pytest.mark.usefixtures("exec_tools")
def test_programs_are_end_points_if_they_are_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "client.py").write_text(CLIENT)
    (tmp_path / "big").write_bytes(bytes(1_000_000))
    python = sys.executable
    server = f"{python} -m http.server {{port}} --bind {{server}} --directory {tmp_path}"
    client = f"{python} {tmp_path}/client.py http://{{server}}:{{port}}/big"
    text = LINE.replace('cc = "cubic"', f'app = "exec pulls"\nexec = {{ client = "{client}", server = "{server}" }}')
    text = text.replace('"2s"', '"4s"').replace("exec =", 'start = "500ms"\nexec =')
    # Sockets that are there when the client starts.
    text += '[[flow]]\nname = "b"\ncc = "reno"\nbytes = "10000b"\n[[ping]]\nname = "p"\n'
    file = tmp_path / "refused.toml"
    file.write_text(text)
    for engine, reason in (("live", "expected `sojourn run --allow-exec`"), ("sim", "run with --engine live only")):
        assert call(["run", str(file), "--engine", engine, "--out", str(tmp_path / "r")]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "flow.a.exec: " in line
        assert reason in line
    with pytest.raises(engines.EngineError, match="expected `sojourn run --allow-exec`"):
        start(file, engine="live")
    for variable in ("http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    # The programs do not get what sojourn has got.
    ends = os.pipe()
    os.set_inheritable(ends[1], True)
    try:
        run = run_live(text, tmp_path, "--engine", "live", "--allow-exec")
    finally:
        for end in ends:
            os.close(end)
    assert_accounts(run)
    flow, other = run.summary["flows"]
    at_client, at_server = flow["programs"]
    assert [program["end"] for program in flow["programs"]] == ["client", "server"]
    assert (at_client["exit_code"], at_client["was_stopped"], at_client["stderr"]) == (0, False, [])
    assert at_server["was_stopped"]
    assert json.loads(at_client["stdout"][0]) == {
        "got": 1_000_000,
        "pipes": ["1", "2"],
        "proxies": [],
        "CapEff": "0" * 16,
        "CapBnd": "0" * 16,
        "NoNewPrivs": "1",
    }
    # The client opened it: bytes of the file and the header of the response, and no packet of the other flow.
    assert 1_000_000 < flow["sender"]["delivered_bytes"] < 1_100_000
    assert 0 < flow["receiver"]["delivered_bytes"] < 10_000
    assert other["receiver"]["delivered_bytes"] == 10_000
    assert flow["goodput_mbps"] > 0
    assert "flow.a.goodput_bytes" in run.names()


@pytest.mark.usefixtures("exec_tools")
def test_iperf3_runs_at_both_ends(tmp_path: Path) -> None:
    if not shutil.which("iperf3"):
        pytest.skip("no iperf3")
    commands = 'client = "iperf3 -c {server} -p {port} -n 1M -J", server = "iperf3 -s -1 -p {port} -B {server}"'
    text = LINE.replace('cc = "cubic"', f'app = "exec"\nexec = {{ {commands} }}')
    run = run_live(text, tmp_path, "--engine", "live", "--allow-exec")
    assert_accounts(run)
    (flow,) = run.summary["flows"]
    assert flow["programs"][0]["exit_code"] == 0
    # The middlebox counts the connection by which its ends agree as well. What was received was counted before all was.
    report = json.loads("".join(flow["programs"][0]["stdout"]).replace(r"\t", ""))
    sent, received = (report["end"][f"sum_{side}"]["bytes"] for side in ("sent", "received"))
    assert sent >= 1_000_000
    assert 0 < received <= flow["receiver"]["delivered_bytes"] < 1.1 * sent + 100_000


SERVER = """
import socket, sys
own = socket.socket(type=socket.SOCK_DGRAM)
own.bind((sys.argv[1], int(sys.argv[2])))
while True:
    own.sendto(*own.recvfrom(65535))
"""
ASKING = """
import socket, sys
own = socket.socket(type=socket.SOCK_DGRAM)
own.settimeout(2)
sent = bytes(range(250)) * 16
own.sendto(sent, (sys.argv[1], int(sys.argv[2])))
print(own.recv(65535) == sent)
"""


@pytest.mark.usefixtures("exec_tools")
def test_fragments_of_programs_pass(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(ASKING)
    server, client = (f"{sys.executable} {tmp_path}/{end}.py {{server}} {{port}}" for end in ("server", "client"))
    text = LINE.replace('cc = "cubic"', f'app = "exec"\nexec = {{ client = "{client}", server = "{server}" }}')
    text += '[[flow]]\nname = "b"\ncc = "reno"\nbytes = "10000b"\n'
    run = run_live(text, tmp_path, "--engine", "live", "--allow-exec")
    flow, other = run.summary["flows"]
    assert flow["programs"][0]["stdout"] == ["True"]
    # With the UDP header, which is in the first of its fragments.
    assert [flow[end]["delivered_bytes"] for end in ("sender", "receiver")] == [4008, 4008]
    assert other["receiver"]["delivered_bytes"] == 10_000


@pytest.mark.usefixtures("exec_tools")
def test_a_dry_run_prints_programs_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "long.toml"
    command = f"sh -c 'true {'x' * 1000}\u202e; touch {tmp_path}/ran; true {'y' * 1000}'"
    file.write_text(LINE.replace('cc = "cubic"', f'exec = "{command}"'))
    assert call(["run", str(file), "--engine", "live", "-v", "--dry"]) == 0
    out, err = capsys.readouterr()
    assert out == "line\n"
    (line,) = (line for line in err.splitlines() if "touch" in line)
    assert line.endswith(command.replace("\u202e", "\\u202e"))
    assert call(["show", str(file)]) == 0
    shown = capsys.readouterr().out
    assert command.replace("\u202e", "\\u202e") in shown
    assert not (tmp_path / "ran").exists()
    assert call(["compare", "--engines", "live,sim", str(file), "--out", str(tmp_path / "r")]) == 2
    assert "expected `sojourn run --allow-exec`" in capsys.readouterr().err
    file.write_text(LINE.replace('cc = "cubic"', f'exec = "{file}"'))
    assert call(["run", str(file), "--engine", "live", "--dry"]) == 2
    assert f"flow.a.exec: no program `{file}`" in capsys.readouterr().err


def test_names_that_are_no_namespaces_yet_are_found_when_they_are_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    from sojourn.engines import names

    monkeypatch.setattr(names, "FOLDER", tmp_path)
    for name in ("sojourn-1-held", "sojourn-2-left", "sojourn-x-other", "sojourn-5-made"):
        (tmp_path / name).touch()
        if name != "sojourn-5-made":
            os.utime(tmp_path / name, (0, 0))
    # As one that goes between the list of the folder and its opening.
    (tmp_path / "sojourn-3-gone").symlink_to(tmp_path / "gone")
    with (tmp_path / "sojourn-1-held").open() as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        assert names.left() == ["sojourn-2-left"]
    assert names.left() == ["sojourn-1-held", "sojourn-2-left"]
    # Not to be opened as a name, by root neither.
    (tmp_path / "sojourn-4-folder").mkdir()
    with pytest.raises(engines.EngineError, match="sojourn-4-folder: "):
        names.left()


@pytest.mark.usefixtures("live")
def test_clean_removes_what_a_run_left_and_no_namespace_of_the_user(capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() != 0:
        pytest.skip("not root: no names")
    own, left = (f"sojourn-{os.getpid()}-{name}" for name in ("lab", "left"))
    commands = [f"netns add {own}", f"netns add {left}", f"-n {left} link set dev lo alias {left}"]  # as a run marks it
    try:
        for command in commands:
            subprocess.run(f"ip {command}".split(), check=True)
        assert call(["clean", "--live"]) == 0
        printed = capsys.readouterr().out.splitlines()
        assert left in printed
        assert own not in printed
        assert [Path("/run/netns", name).exists() for name in (own, left)] == [True, False]
    finally:
        for name in (own, left):
            subprocess.run(f"ip netns delete {name}".split(), capture_output=True, check=False)


@pytest.mark.usefixtures("live")
def test_a_run_with_names_removes_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("not root: no names")
    monkeypatch.setattr("sojourn.engines.names.FOLDER", tmp_path)
    left = tmp_path / "sojourn-2026-lab"
    left.touch()
    os.utime(left, (0, 0))
    file = tmp_path / "scenario.toml"
    file.write_text(LINE)
    short = ["-s", "duration=600ms", "-s", "measure.from=0s", "--out", str(tmp_path / "r")]
    assert call(["run", str(file), "--engine", "live", "--named", *short]) == 0
    assert "`sojourn clean --live` removes sojourn-2026-lab" in capsys.readouterr().err
    assert left.exists()


STATE = (
    ["ip", "-d", "-j", "link"],
    ["ip", "-d", "-j", "addr"],
    ["ip", "-d", "-j", "route"],
    ["ip", "-d", "-j", "rule"],
    ["tc", "-j", "qdisc"],
    ["sysctl", "net.ipv4", "net.core"],
)


@pytest.fixture
def alone() -> Iterator[list[str]]:
    """What runs a command in a network of this test's own, which no test beside it changes."""
    rights = [] if os.geteuid() == 0 else ["--map-root-user"]
    into = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
    command = ["unshare", *rights, "--net", "sleep", "600"]
    with subprocess.Popen(command) as holder:
        mine = Path("/proc/self/ns/net").readlink()
        try:
            until(lambda: Path(f"/proc/{holder.pid}/ns/net").readlink() != mine, "a network of its own")
            yield ["nsenter", "--target", str(holder.pid), *into, "--net"]
        finally:
            holder.kill()


def state(alone: list[str], folder: Path) -> list[str]:
    """What a run might leave behind: in its network, in its folder of temporary files, and as names of namespaces."""
    found = [subprocess.run([*alone, *ask], capture_output=True, text=True, check=True).stdout for ask in STATE]
    # Counters and caches, which change by themselves.
    settings = "\n".join(line for line in found.pop().splitlines() if "random" not in line and "lock" not in line)
    names = [name for name in ("cli", "srv") if Path("/run/netns", name).exists()]
    return [*found, settings, *sorted(path.name for path in folder.iterdir()), *names]


def processes(mark: str) -> list[int]:
    """The processes that have this in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


@pytest.mark.usefixtures("live")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_killed_leaves_nothing_behind(how: signal.Signals, tmp_path: Path, alone: list[str]) -> None:
    file = tmp_path / "scenario.toml"
    # Its program leaves others behind as well.
    program = """[[flow]]\nname = "own"\nexec = "sh -c 'sleep 300 & exec sleep 300'"\n"""
    file.write_text(LINE + program)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    draw = random.Random(int(how))  # noqa: S311
    before = state(alone, temporary)
    for _ in range(int(os.environ.get("SOJOURN_KILLS", "3"))):
        mark = f"SOJOURN_TEST_MARK={draw.getrandbits(64):x}"
        name, _, value = mark.partition("=")
        command = [sys.executable, "-m", "sojourn", "run", str(file), "--engine", "live", "--out", str(tmp_path / "r")]
        run = subprocess.Popen(
            [*alone, *command, "--allow-exec", "--quiet", "--fresh"],
            env={**os.environ, name: value, "TMPDIR": str(temporary)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(draw.uniform(0.1, 4.5))
        run.send_signal(how)
        run.wait(timeout=60)
        until(lambda mark=mark: not processes(mark), "no process is left")  # type: ignore[misc]
        until(lambda: state(alone, temporary) == before, "the machine is as before")


@pytest.mark.usefixtures("live")
def test_hosts_with_names_are_seen_while_a_run_lasts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(LINE)
    command = [sys.executable, "-m", "sojourn", "run", str(file), "--engine", "live", "--named", "--out"]
    if os.geteuid() != 0:
        assert call([*command[3:], str(tmp_path / "r")]) == 2
        assert "--named: expected root" in capsys.readouterr().err
        pytest.skip("not root: no names")
    place = Path("/run/netns")

    def names(run: subprocess.Popen[bytes]) -> list[str]:
        return sorted(path.name for path in place.glob(f"sojourn-{run.pid}-*"))

    for how in ("end", "all"):
        mark = f"SOJOURN_TEST_MARK=named{os.getpid()}{how}"
        name, _, value = mark.partition("=")
        settings = ["-s", "duration=600ms", "-s", "measure.from=0s"] if how == "end" else []
        run = subprocess.Popen(
            [*command, str(tmp_path / how), "--quiet", *settings],
            env={**os.environ, name: value},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        expected = [f"sojourn-{run.pid}-{host}" for host in ("cli", "srv")]
        until(lambda: names(run) == expected, "the hosts have their names")  # noqa: B023
        ask = ["ip", "netns", "exec", expected[0], "ip", "-j", "addr"]
        seen = subprocess.run(ask, capture_output=True, check=True)
        assert {"lo", "uplink"} == {row["ifname"] for row in json.loads(seen.stdout)}
        assert call(["clean", "--live", "--dry"]) == 0
        assert capsys.readouterr().out == "0 would be removed\n"
        if how == "all":
            # A stopped process cannot remove the names when it sees that others are gone.
            for deed in (signal.SIGSTOP, signal.SIGKILL):
                for process in processes(mark):
                    with suppress(ProcessLookupError):
                        os.kill(process, deed)
        assert run.wait(timeout=60) == {"end": 0, "all": -9}[how]
        if how == "all":
            until(lambda: not processes(mark), "no process is left")  # noqa: B023
            # A process that ends has no environment some time before its locks are gone.
            until(lambda: host_names.left() == expected, "nobody holds the names")  # noqa: B023
            assert call(["clean", "--live"]) == 0
            assert capsys.readouterr().out == "\n".join([*expected, "2 removed\n"])
        until(lambda: not names(run), "no name is left")  # noqa: B023


def until(is_so: Callable[[], bool], what: str) -> None:
    """Waits at most ten seconds."""
    end = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.05)


#: Media of three controllers beside TCP; SCReAM once over the kernel's UDP and once with all headers.
MEDIA = (
    LINE.replace("fq_codel", "dualpi2")
    + """
[[flow]]
name = "s"
app = "scream-bw"
cc = "scream max_rate 8Mbit"
[[flow]]
name = "t"
app = "video"
cc = "scream"
stack = "sojourn"
[[flow]]
name = "g"
app = "video"
cc = "gcc"
[[flow]]
name = "u"
cc = "udp-prague"
direction = "up"
"""
)


@pytest.mark.usefixtures("live")
def test_media_run_on_real_packets(tmp_path: Path) -> None:
    run = run_live(MEDIA, tmp_path, "--engine", "live")
    assert_accounts(run)
    flows = {flow["name"]: flow for flow in run.summary["flows"]}
    stacks = {name: flow["stack"] for name, flow in flows.items()}
    assert stacks == {"a": "kernel", "s": "scream", "t": "sojourn", "g": "scream", "u": "scream"}
    for name in "stgu":
        flow = flows[name]
        assert flow["goodput_mbps"] > 0, name
        sent, received = flow["sender"]["packets_sent"], flow["receiver"]["packets_received"]
        assert 0 <= sent - received < 0.1 * sent + 50, name
    for name in "stg":
        flow = flows[name]
        assert flow["media"]["frames"]["complete"] > 20, name
        # No less than the path's delay, and no queue of seconds.
        assert 5 <= flow["one_way"]["min_ms"] < 50, name
        assert {f"flow.{name}.target_rate", f"flow.{name}.sender_delay"} <= set(run.names())
    # Only what was sent as ECT(1) meets the queue's L4S marks; what is marked arrives so (RFC 9331 4.1).
    assert flows["s"]["receiver"]["ce_received"] > 0
    assert flows["g"]["receiver"]["ce_received"] == 0


def test_suites_with_media_can_run(live: engines.Engine) -> None:
    cases = [case for case in suites.every() if 'cc = "scream' in case.toml]
    assert len(cases) > 100
    for case in cases[::10]:
        live.check(Scenario(case.toml).resolve())


@pytest.mark.usefixtures("live")
def test_a_controller_that_the_kernel_lacks_runs_on_our_end_points(tmp_path: Path) -> None:
    text = LINE.replace('ecn = "rfc3168"', "").replace("cubic", "prague").replace("fq_codel", "dualpi2")
    run = run_live(text + '[[flow]]\nname = "k"\ncc = "reno"\ntcp.ecn = "rfc3168"\n', tmp_path, "--engine", "live")
    assert_accounts(run)
    assert [flow["stack"] for flow in run.summary["flows"]] == ["sojourn", "kernel"]
    prague, reno = run.summary["flows"]
    # Its ECN is Accurate: the sender counts the marks that its receiver got, but for those on their way.
    assert prague["receiver"]["ce_received"] > 10
    assert prague["sender"]["ce_reported"] == pytest.approx(prague["receiver"]["ce_received"], rel=0.1)
    assert min(prague["goodput_mbps"], reno["goodput_mbps"]) > 0
    assert {"flow.a.cwnd", "flow.k.cwnd", "queue.bneck.backlog_packets"} <= set(run.names())
