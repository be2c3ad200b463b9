"""`sojourn middlebox` between two namespaces with the kernel's own TCP."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.engine,
    pytest.mark.live,
    pytest.mark.skipif(sys.platform != "linux", reason="packet sockets are Linux's"),
]
SECONDS = 60
SOJOURN = [sys.executable, "-m", "sojourn.cli"]
LEFT, RIGHT = f"sjl{os.getpid() % 100000}", f"sjr{os.getpid() % 100000}"

SERVER = """
import socket, sys
listener = socket.create_server(("10.77.0.2", 5201))
print("ready", flush=True)
taken, _ = listener.accept()
taken.sendall(b"x" * int(sys.argv[1]))
"""
CLIENT = """
import socket
taken, n = socket.create_connection(("10.77.0.2", 5201), timeout=20), 0
while part := taken.recv(1 << 16):
    n += len(part)
print(n)
"""


def ip(*words: str, check: bool = True) -> str:
    command = ["ip", *words]
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, check=check, env={**os.environ, "PATH": path}
    )
    return done.stdout


@pytest.fixture
def hosts() -> Iterator[tuple[str, str]]:
    """Two namespaces, each with a cable to this one; yields their names."""
    if shutil.which("ip", path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None:
        pytest.skip("no ip (iproute2)")
    if os.geteuid() != 0:
        pytest.skip("not root: no network namespaces")
    names = (f"sj-client-{os.getpid()}", f"sj-server-{os.getpid()}")
    try:
        for number, (name, side) in enumerate(zip(names, (LEFT, RIGHT), strict=True), start=1):
            try:
                ip("netns", "add", name)
            except subprocess.CalledProcessError as error:
                pytest.skip(f"no network namespaces: {error.stderr}")
            ip("link", "add", side, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "dev", "eth0", "up")
            ip("link", "set", "dev", side, "up")
        yield names
    finally:
        # A namespace takes its devices along some time after its end.
        for side in (LEFT, RIGHT):
            ip("link", "del", side, check=False)
        for name in names:
            ip("netns", "del", name, check=False)


def promiscuity(side: str) -> str:
    words = ip("-d", "link", "show", "dev", side).split()
    return words[words.index("promiscuity") + 1]


def ctl(socket: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [*SOJOURN, "middlebox", "ctl", str(socket), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


def transfer(hosts: tuple[str, str], size: int) -> int:
    """Bytes that TCP brings from the server to the client."""
    client, server = (["ip", "netns", "exec", name, sys.executable, "-c"] for name in hosts)
    with subprocess.Popen([*server, SERVER, str(size)], stdout=subprocess.PIPE, text=True) as sender:
        assert sender.stdout is not None
        assert sender.stdout.readline() == "ready\n"
        got = subprocess.run([*client, CLIENT], capture_output=True, text=True, timeout=SECONDS, check=True)
    return int(got.stdout)


def test_super_packets_pass_whole_and_cpus_stay_awake_if_they_are_to(hosts: tuple[str, str]) -> None:
    options = ["--left", LEFT, "--right", RIGHT, "--down", "htb rate 200mbit; pfifo limit 200", "--super-packets"]
    options.append("--keep-awake")
    command = [*SOJOURN, "middlebox", *options, "--interval", "200ms", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as box:
        assert box.stdout is not None
        assert json.loads(box.stdout.readline())["schema"] == "sojourn/middlebox/1"
        assert transfer(hosts, 5_000_000) == 5_000_000
        box.send_signal(signal.SIGTERM)
        out, _ = box.communicate(timeout=SECONDS)
    assert box.returncode == 0
    end = json.loads(out.splitlines()[-1])
    _, right = end["sides"]
    assert right["super_packets"] > 50
    assert right["frames"]["cut"] == 0
    assert "awake" in end["end"]["granted"]
    # The queue counts one as a packet with the length of all segments, and their headers.
    assert end["queues"][0]["sent_bytes"] > 2000 * end["queues"][0]["sent_packets"]
    assert end["queues"][0]["sent_bytes"] > 5_000_000 * 1514 / 1448


def test_tcp_passes_queues_change_and_nothing_stays(hosts: tuple[str, str], tmp_path: Path) -> None:
    socket = tmp_path / "control"
    options = ["--left", LEFT, "--right", RIGHT, "--down", "htb rate 50mbit; dualpi2", "--delay", "5ms"]
    options += ["--control", str(socket), "--interval", "200ms", "--json"]
    before = [promiscuity(side) for side in (LEFT, RIGHT)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*SOJOURN, "middlebox", *options], **pipes) as box:  # type: ignore[call-overload]
        assert json.loads(box.stdout.readline())["schema"] == "sojourn/middlebox/1"
        assert promiscuity(LEFT) == "1"
        assert socket.stat().st_mode & 0o777 == 0o600
        status = Path(f"/proc/{box.pid}/status").read_text()
        lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        # CAP_IPC_LOCK is all that may be left.
        assert (int(lines["CapEff"], 16) & ~(1 << 14), lines["NoNewPrivs"]) == (0, "1")
        assert transfer(hosts, 2_000_000) == 2_000_000
        for words in (
            ["rate", "down", "20mbit"],
            ["change", "down", "dualpi2 target 5ms"],
            ["replace", "up", "cake bandwidth 5mbit"],
            ["delay", "up", "1ms"],
        ):
            done = ctl(socket, *words)
            assert (done.returncode, done.stderr) == (0, ""), words
        assert transfer(hosts, 1_000_000) == 1_000_000
        wrong = ctl(socket, "replace", "down", "dualpi")
        assert wrong.returncode == 2
        assert "did you mean `dualpi2`" in wrong.stderr
        stats = json.loads(ctl(socket, "stats", "--json").stdout)
        assert {queue["name"] for queue in stats["queues"]} == {"down", "up"}
        box.send_signal(signal.SIGTERM)
        out, _ = box.communicate(timeout=SECONDS)
    assert box.returncode == 0
    end = json.loads(out.splitlines()[-1])
    down, up = end["queues"]
    assert "target 5ms" in down["qdisc"]
    assert "rate 20Mbit" in down["qdisc"]
    assert up["qdisc"].startswith("cake bandwidth 5Mbit")
    assert down["sent_bytes"] > 3_000_000
    for queue in (down, up):
        gone = queue["sent_packets"] + queue["dropped"] + queue["backlog_packets"]
        assert queue["received_packets"] == gone
    assert all(side["frames"]["overflowed"] == side["refused"] == 0 for side in end["sides"])
    assert end["end"]["verdict"] in ("on time", "late")
    assert not socket.exists()
    assert [promiscuity(side) for side in (LEFT, RIGHT)] == before


def test_the_end_of_the_time_prints_a_table(hosts: tuple[str, str]) -> None:
    del hosts
    options = ["--left", LEFT, "--right", RIGHT, "--up", "rate 1mbps; pfifo", "--duration", "500ms"]
    command = [*SOJOURN, "middlebox", *options, "--max-lateness", "1ns"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert "up: pfifo" in done.stdout
    assert "control:" in done.stderr
    assert "--up: " in done.stderr  # bytes per second


def test_a_device_that_is_removed_ends_it(hosts: tuple[str, str], tmp_path: Path) -> None:
    socket = tmp_path / "control"
    command = [*SOJOURN, "middlebox", "--left", LEFT, "--right", RIGHT, "--control", str(socket), "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as box:  # type: ignore[call-overload]
        box.stdout.readline()
        ip("-n", hosts[0], "link", "del", "eth0")
        _, err = box.communicate(timeout=SECONDS)
    assert box.returncode == 1
    assert err.endswith(f"sojourn: device: `{LEFT}` was removed or renamed\n")
    assert not socket.exists()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--left", "nic0", "--right", "nic1", "--down", "dualpi"], "--down: unknown qdisc"),
        (["--left", "nic0", "--right", "nic0"], "--right nic0: expected another device"),
        (["--left", "nic0", "--right", "tun:t0"], "expected two interfaces, or two TUN devices"),
        (["--left", "nic0", "--right", "nic1", "--interval", "0s"], "--interval 0s: expected more than zero"),
        (["--left", "nic0", "--right", "nic1", "-s", "seed=2"], "--set: expected --scenario"),
        (["ctl", "/nowhere", "stats"], "/nowhere: no middlebox answers there"),
        (["ctl", "/nowhere", "rate", "down"], "ctl rate: expected a direction and a value"),
    ],
)
def test_misuse_is_one_line_and_code_two(options: list[str], line: str) -> None:
    done = subprocess.run(
        [*SOJOURN, "middlebox", *options], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert line in done.stderr
    assert done.stderr.count("\n") == 1
