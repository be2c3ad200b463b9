"""The SCReAM tool as console scripts; what it does on a network is tested beside its Rust source."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(sys.platform != "linux", reason="the tool needs Linux"),
]
SECONDS = 60


def command(end: str, *args: str) -> list[str]:
    """What the console script of this end does."""
    script = f"import sys; from sojourn.scream_tool import {end}; sys.exit({end}())"
    return [sys.executable, "-c", script, *args]


def free_port() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.mark.parametrize("end", ["tx", "rx"])
def test_help_names_the_command_and_errors_are_one_line_and_code_two(end: str) -> None:
    help_page = subprocess.run(command(end, "--help"), capture_output=True, text=True, timeout=SECONDS, check=True)
    assert f"Usage:   scream-bw-test-{end}" in help_page.stdout
    wrong = subprocess.run(
        command(end, "-nosuch", "h", "1"), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr == f"scream-bw-test-{end}: unknown option -nosuch; -help lists all\n"


def test_a_run_ends_by_time_at_one_end_and_by_ctrl_c_at_the_other() -> None:
    port = free_port()
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command("rx", port), **pipe) as rx:  # type: ignore[call-overload]
        for line in rx.stderr:
            if line.startswith("Listen on port"):
                break
        sender = command("tx", "-fixedrate", "1000", "-time", "2.5", "127.0.0.1", port)
        tx = subprocess.run(sender, capture_output=True, text=True, timeout=SECONDS, check=False)
        rx.send_signal(signal.SIGINT)
        out, _ = rx.communicate(timeout=SECONDS)
    assert (tx.returncode, rx.returncode) == (0, 0), tx.stderr
    assert "Transmit rate = " in tx.stdout
    assert "Bitrate min/max/avg" in tx.stdout
    assert "Packets / payload bytes" in out
