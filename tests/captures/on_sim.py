"""Makes one capture of the corpus with the simulator."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from draws import Case, Flow

HERE = Path(__file__).parent
POINTS = {"sender": '{ host = "cli" }', "receiver": '{ host = "srv" }', "behind": '{ link = "bneck", at = ["out"] }'}
TOS = {"ect0": "0x02", "ect1": "0x01"}
LIMIT_S = 300


def flow(number: int, flow: Flow) -> str:
    head = f'[[flow]]\nname = "flow{number + 1}"\nstart = "{flow.start_s}s"\n'
    if flow.cc == "udp":
        tos = f'tos = "{TOS[flow.ecn]}"\n' if flow.ecn != "off" else ""
        return f'{head}app = "cbr rate {flow.size}kbit size 1400"\n{tos}'
    cc = f"fixed window {flow.size}" if flow.cc == "fixed" else flow.cc
    return f'{head}cc = "{cc}"\ntcp = {{ ecn = "{flow.ecn}" }}\n'


def scenario(case: Case) -> str:
    """Bottleneck, then the rest of the way with its random losses; half of the delay on each."""
    delay = f"{case.rtt_ms / 4:.4f}ms"
    loss = f'ingress = ["netem loss {case.loss * 100:.6f}% limit 1000000"]\n' if case.loss else ""
    return f"""name = "case"
duration = "{case.duration_s}s"
seed = {case.index + 1}

[[link]]
name = "bneck"
rate = "{case.rate_kbps}kbit"
shaper = "htb"
qdisc = "{case.qdisc}"
delay = "{delay}"
reverse = {{ rate = "none", shaper = "none", qdisc = "pfifo" }}

[[link]]
name = "way"
delay = "{delay}"
{loss}reverse = {{ ingress = [] }}

[[capture]]
name = "case"
snaplen = {case.snap}
comments = false
points = [{POINTS[case.point]}]

""" + "\n".join(flow(number, each) for number, each in enumerate(case.flows))


def make(case: Case, to: Path) -> str:
    """Writes the capture; the answer is what went wrong, empty if nothing did."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.joinpath("case.toml").write_text(scenario(case))
        command = [os.environ.get("SOJOURN", Path(sys.executable).with_name("sojourn")), "run", folder / "case.toml"]
        command += ["--out", folder / "out", "--load", HERE / "fixed.py"]
        done = subprocess.run(["/usr/bin/nice", *command], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        made = folder / "out/case/case.pcapng"
        if done.returncode or not made.is_file():
            return f"exit {done.returncode}: {done.stderr.strip()}"
        part = to.with_suffix(".part")
        shutil.copyfile(made, part)
        part.replace(to)
    return ""
