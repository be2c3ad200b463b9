"""One flow of the simulator over one bottleneck, and what the analysis says of its capture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sojourn.cli import call

SCENARIO = """\
name = "case"
duration = "{duration}"

[[link]]
name = "bneck"
rate = "{rate}"
shaper = "htb"
qdisc = "{qdisc}"
delay = "10ms"
ingress = ["netem loss {loss} limit 10000"]
reverse = {{ rate = "none", shaper = "none", qdisc = "pfifo", ingress = [] }}

[[flow]]
name = "flow"
cc = "{cc}"
tcp = {{ ecn = "{ecn}" }}

[[capture]]
name = "case"
comments = false
points = [{{ host = "{host}" }}]
"""
USUAL = {"duration": "10s", "rate": "20Mbit", "ecn": "accecn", "loss": "0%", "host": "cli"}


def analysed(file: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The flow of a capture."""
    capsys.readouterr()
    assert call(["pcap", str(file), "--json"]) == 0
    (flow,) = json.loads(capsys.readouterr().out)["flows"]
    assert isinstance(flow, dict)
    return flow


def captured(
    folder: Path, capsys: pytest.CaptureFixture[str], *options: str, cc: str, qdisc: str, **settings: str
) -> dict[str, Any]:
    """The flow of a run with `settings` in the place of the usual ones, and these options of `run`."""
    folder.mkdir(exist_ok=True)
    scenario = folder / "case.toml"
    scenario.write_text(SCENARIO.format(cc=cc, qdisc=qdisc, **{**USUAL, **settings}))
    assert call(["run", str(scenario), "--out", str(folder / "out"), *options]) == 0
    return analysed(folder / "out/case/case.pcapng", capsys)


def kinds(flow: dict[str, Any]) -> set[str]:
    """What is diagnosed."""
    return {each["kind"] for each in flow["diagnoses"]}
