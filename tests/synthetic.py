"""Small Flent documents and runs for tests, with numbers that can be worked out by hand."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn.results import Run

if TYPE_CHECKING:
    from pathlib import Path

    from sojourn.conditions import Conditions
    from sojourn.metrics import FloatArray

T0 = 1_587_806_939.0
S2 = "ect1/l4s-s2-twoflow/cubic-vs-prague/dualpi2/20ms"
S2_STEM = "l4s-s2-twoflow-ns-cubic-vs-prague-dualpi2-20ms"


def tcp_points(start: float, end: float, rate: float, rtt: float) -> list[dict[str, float]]:
    """One ss sample and one interim result every 100 ms."""
    points: list[dict[str, float]] = []
    for t in np.arange(start, end + 0.05, 0.1):
        at = T0 + float(t)
        points.append({"t": at, "tcp_rtt": rtt, "tcp_cwnd": 84.0, "tcp_delivery_rate": rate})
        points.append({"t": at, "val": rate, "dur": 0.1})
    return points


def flent_document(cubic: float = 16.0, prague: float = 32.0, rtt: float = 20.5) -> dict[str, Any]:
    """CUBIC from 5 s and Prague from 15 s, both to 45 s; constant rates and RTTs."""
    return {
        "version": 4,
        "x_values": [0.0, 0.05],
        "results": {"TCP upload::1": [None, None], "TCP upload sum": [None, 1.5]},
        "raw_values": {
            "TCP upload::1": tcp_points(5, 45, cubic, 35.0),
            "TCP upload::2": tcp_points(15, 45, prague, rtt),
            "TCP upload sum": [],
            "Ping (ms) ICMP": [{"t": T0 + 0.2 * i, "val": 30.0 + i % 2, "seq": float(i)} for i in range(250)],
        },
        "metadata": {
            "NAME": "tcp_2up",
            "TITLE": "two flows",
            "T0": "2020-04-25T09:28:59.000000Z",
            "TEST_PARAMETERS": {"cc_algos": "cubic,prague"},
        },
    }


def write_flent(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    return path


class Made:
    """A source with given series, and with a path the run of that folder."""

    #: What it was read from, if a test says so.
    origin: Any

    def __init__(self, run_id: str, series: dict[str, tuple[FloatArray, FloatArray]]) -> None:
        self.id = run_id
        self.path: Path | None = None
        self.conditions: Conditions | None = None
        self._series = series

    def __getattr__(self, name: str) -> Any:
        """What only a run has, of the folder `path`."""
        if name not in ("files", "document", "scenario", "summary", "queues") or not self.path:
            raise AttributeError(name)
        return getattr(Run(self.path), name)

    def names(self) -> list[str]:
        return list(self._series)

    def series(self, name: str) -> tuple[FloatArray, FloatArray]:
        return self._series[name]


def made_run(run_id: str, rates: dict[str, float], rtts: dict[str, float]) -> Made:
    """A run sampled every 50 ms: the first flow from 5 s, each next 10 s later, to 45 s."""
    series: dict[str, tuple[FloatArray, FloatArray]] = {}
    t = np.arange(0, 50, 0.05)
    for index, (flow, rate) in enumerate(rates.items()):
        start = 5.0 + 10 * index
        alive = np.clip(t - start, 0, 45 - start)
        running = (t >= start) & (t <= 45)
        series[f"flow.{flow}.goodput_bytes"] = t, alive * rate * 1e6 / 8
        series[f"flow.{flow}.delivery_rate"] = t[running], np.full(int(running.sum()), rate)
        series[f"flow.{flow}.rtt"] = t[running], np.full(int(running.sum()), rtts[flow])
        series[f"flow.{flow}.cwnd"] = t[running], np.full(int(running.sum()), 84.0)
    series["ping.icmp.rtt"] = t[::4], np.full(t[::4].size, 21.0)
    return Made(run_id, series)
