"""Which congestion control a capture of the simulator shows, and what is diagnosed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sojourn.cli import call

pytestmark = pytest.mark.engine

SCENARIO = """\
name = "case"
duration = "20s"

[[link]]
name = "bneck"
rate = "{rate}"
shaper = "htb"
qdisc = "{qdisc}"
delay = "10ms"
reverse = {{ rate = "none", shaper = "none", qdisc = "pfifo" }}

[[flow]]
name = "flow"
cc = "{cc}"
tcp = {{ ecn = "{ecn}" }}

[[capture]]
name = "case"
comments = false
points = [{{ host = "{host}" }}]
"""


@pytest.mark.parametrize("host", ["cli", "srv"])
@pytest.mark.parametrize(
    ("cc", "ecn", "rate", "qdisc", "family", "diagnosis"),
    [
        ("cubic", "off", "20Mbit", "codel", "classic", None),
        ("reno", "accecn", "20Mbit", "pfifo limit 40", "classic", "bottleneck-without-ecn"),
        ("prague", "accecn", "50Mbit", "dualpi2", "scalable", "l4s-works"),
        ("reno-sce", "sce", "20Mbit", "fq_codel sce_threshold 1ms", "sce", None),
    ],
)
def test_a_capture_shows_the_family(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    cc: str,
    ecn: str,
    rate: str,
    qdisc: str,
    family: str,
    diagnosis: str | None,
    host: str,
) -> None:
    scenario = tmp_path / "case.toml"
    scenario.write_text(SCENARIO.format(cc=cc, ecn=ecn, rate=rate, qdisc=qdisc, host=host))
    assert call(["run", str(scenario), "--out", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert call(["pcap", str(tmp_path / "out/case/case.pcapng"), "--json"]) == 0
    (flow,) = json.loads(capsys.readouterr().out)["flows"]
    assert flow["family"] is not None
    assert flow["family"]["family"] == family, flow["family"]
    found = {each["kind"] for each in flow["diagnoses"]}
    assert diagnosis is None or diagnosis in found, found
    assert "l4s-works" not in found or cc == "prague"
