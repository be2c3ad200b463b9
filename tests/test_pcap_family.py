"""Which congestion control a capture of the simulator shows, and what is diagnosed."""

from __future__ import annotations

from pathlib import Path

import pytest

import one_flow

pytestmark = pytest.mark.engine


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
    settings = {"duration": "20s", "rate": rate, "ecn": ecn, "host": host}
    flow = one_flow.captured(tmp_path, capsys, cc=cc, qdisc=qdisc, **settings)
    assert flow["family"] is not None
    assert flow["family"]["family"] == family, flow["family"]
    found = one_flow.kinds(flow)
    assert diagnosis is None or diagnosis in found, found
    assert "l4s-works" not in found or cc == "prague"
