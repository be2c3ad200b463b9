"""Makes one capture of the corpus on a Linux kernel in virtual time."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from draws import Case, Flow

SCRIPT = Path(__file__).with_name("kernel.sh")
SYSCTL = {"off": 0, "rfc3168": 1, "accecn": 3}
TOS = {"off": 0, "ect1": 1, "ect0": 2}
# Real seconds after which a case is given up: many times what the longest takes.
LIMIT_S = 240


def options(flow: Flow) -> str:
    """What `start` of the script takes."""
    return f"udp {flow.size} {TOS[flow.ecn]}" if flow.cc == "udp" else flow.cc


def settings(case: Case) -> dict[str, str]:
    host = next((flow.ecn for flow in case.flows if flow.cc != "udp"), "off")
    first, *others = case.flows
    return {
        "rate": str(case.rate_kbps),
        "oneway": str(round(case.rtt_ms * 500)),
        "qdisc": case.qdisc,
        "loss": f"loss {case.loss * 100:.6f}%" if case.loss else "",
        "ecn": str(SYSCTL[host]),
        "point": case.point,
        "snap": str(case.snap),
        "duration": str(case.duration_s),
        "offload": str(int(case.offload)),
        "first": options(first),
        "second": options(others[0]) if others else "",
        "second_at": str(others[0].start_s) if others else "",
    }


def make(case: Case, to: Path) -> str:
    """Writes the capture; the answer is what went wrong, empty if nothing did."""
    place = os.environ.get("SOJOURN_LINUX")
    if not place:
        return "SOJOURN_LINUX is not set"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        out.mkdir()
        out.joinpath("settings").write_text("".join(f"{k}={shlex.quote(v)}\n" for k, v in settings(case).items()))
        command: list[str | Path] = [Path(place, "run"), "--mem", "1024M", "--out", out, SCRIPT, "/run/out/settings"]
        command = ["/usr/bin/nice", *command]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            try:
                said, _ = process.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                process.terminate()
                return f"no end after {LIMIT_S} s"
        made = out / "case.pcap"
        if process.returncode or not made.is_file():
            return f"exit {process.returncode}: {said.strip()}"
        if "0 packets dropped by kernel" not in said:
            return f"incomplete: {said.strip()}"
        part = to.with_suffix(".part")
        shutil.copyfile(made, part)
        part.replace(to)
    return ""
