"""Measuring windows with names, and the time in a queue by flow and by L and C queue, read from a run's folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from sojourn import metrics, results
from sojourn.cli import call
from synthetic import Made

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.engine

SCENARIO = """
name = "windows"
duration = "6s"
[measure]
from = "1s"
[measure.start]
to = "2s"
[measure.late]
from = "3s"
to = "5s"
[[link]]
name = "bneck"
rate = "20Mbit"
qdisc = "dualpi2"
delay = "5ms"
[[flow]]
name = "prague"
cc = "prague"
[[flow]]
name = "cubic"
cc = "cubic"
tcp = { ecn = "rfc3168" }
[[ping]]
name = "ping"
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> results.Run:
    folder: Path = tmp_path_factory.mktemp("windows")
    file = folder / "windows.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    assert call(["run", str(file), "--out", str(folder / "out")]) == 0
    return results.Run(folder / "out/windows")


def test_windows_are_read_by_name(run: results.Run) -> None:
    assert metrics.windows(run) == {"": (1.0, 6.0), "late": (3.0, 5.0), "start": (0.0, 2.0)}
    assert metrics.measuring_window(run) == (1.0, 6.0)
    assert metrics.measuring_window(run, "late") == (3.0, 5.0)
    assert metrics.measuring_window(run, "never") is None
    flows = results.flatten(run.summary)
    goodput = metrics.goodput(run, "cubic", (3.0, 5.0))
    assert flows["windows.late.flows.cubic.goodput_mbps"] == pytest.approx(goodput)


def test_time_in_a_queue_is_told_by_flow_side_and_window(run: results.Run) -> None:
    whole, prague = metrics.sojourn(run, "bneck"), metrics.sojourn(run, "bneck", flow="prague")
    low, classic = (metrics.sojourn(run, "bneck", side=side) for side in ("L", "C"))
    assert whole and prague and low and classic
    assert whole["n"] == low["n"] + classic["n"]
    assert prague["n"] == low["n"], "nothing else is L4S here"
    assert prague["p99"] < classic["p50"]
    assert low["p50"] <= low["p90"] <= low["p99"] <= low["p999"] <= low["max"]
    late = metrics.sojourn(run, "bneck", flow="ping", window="late")
    assert late is not None and late["n"] == 10, "one in 200 ms"
    assert metrics.sojourn(run, "bneck", flow="nobody") is None
    assert metrics.sojourn(run, "bneck.reverse", side="L", window="late") is not None
    with pytest.raises(ValueError, match="a flow or a side"):
        metrics.sojourn(run, "bneck", flow="a", side="L")


def test_the_last_second_of_a_rate_is_whole() -> None:
    """A flow of 8 Mbit/s that ends 0.6 s into a second has 8 in every interval, not 4.8 in a last one."""
    t = np.arange(0, 4.65, 0.05)
    run = Made("short", {"flow.a.goodput_bytes": (t, 1e6 * t)})
    at, rates = metrics.rate_over_time(run, "a")
    assert at == pytest.approx([0.5, 1.5, 2.5, 3.5])
    assert rates == pytest.approx([8.0, 8.0, 8.0, 8.0])
