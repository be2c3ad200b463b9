"""Runs of the suites linux72 and linux72-prague on a real kernel, shrunk to what plots and tolerances need.

`python -m sojourn.linux_runs FOLDER...` makes the shipped file again from the results of
`sojourn run linux72 --engine linux --seeds N --out FOLDER`; traces are those of the first folder.
"""

from __future__ import annotations

import gzip
import json
import sys
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from sojourn import metrics, reference
from sojourn.metrics import FloatArray, Source
from sojourn.suites import linux72, linux72_prague

SCHEMA = "sojourn/linux-runs/2"
DATA = "data/linux72/runs.json.gz"
#: Of the start, which single flows show without each other's noise.
TRACE_S = 10.0


def shipped() -> dict[str, dict[str, Any]]:
    """Of each run and flow, an entry per kernel run: goodput, mean RTT, retransmits; of single flows early cwnd."""
    runs: dict[str, dict[str, Any]] = _document()["runs"]
    return runs


def queue(run_id: str) -> dict[str, list[int]]:
    """Packets of a whole run that its queue marked and dropped, an entry per kernel run."""
    counts: dict[str, list[int]] = _document()["queues"][run_id]
    return counts


@cache
def _document() -> dict[str, Any]:
    packed = resources.files("sojourn").joinpath(DATA).read_bytes()
    document: dict[str, Any] = json.loads(gzip.decompress(packed))
    return document


def again(run_id: str) -> dict[str, dict[str, Any]]:
    """Of each flow, with an entry per kernel run that tolerances know of: goodput and mean RTT."""
    if run_id in shipped():
        return shipped()[run_id]
    return {flow["name"]: flow["runs"] for flow in _prague()[run_id]["flows"]}


@cache
def _prague() -> dict[str, Any]:
    return reference.entries(linux72_prague.SUITE)


def cwnd(run_id: str) -> tuple[FloatArray, FloatArray]:
    """Seconds and segments of the only flow's first 10 s on the kernel."""
    t, values = next(iter(shipped()[run_id].values()))["cwnd"]
    return np.array(t, dtype=np.float64), np.array(values, dtype=np.float64)


def make(runs: dict[str, Source]) -> bytes:
    """The shipped file, from runs by id; ids of further seeds end in `@seedN`."""
    cases = {case.id: _seeds(case.id, runs) for case in linux72.cases()}
    document = {
        "schema": SCHEMA,
        "runs": {run_id: _of_case(run_id, seeds) for run_id, seeds in cases.items()},
        "queues": {run_id: _of_queue(seeds) for run_id, seeds in cases.items()},
    }
    return gzip.compress(json.dumps(document, separators=(",", ":"), allow_nan=False).encode(), 9, mtime=0)


def _seeds(run_id: str, runs: dict[str, Source]) -> list[Source]:
    return [run for name, run in runs.items() if name.partition("@")[0] == run_id]


def _of_queue(seeds: list[Source]) -> dict[str, list[int]]:
    return {what: [_last(run, f"queue.bneck.{what}") for run in seeds] for what in ("marks", "drops")}


def _last(run: Source, series: str) -> int:
    return int(metrics.finite(run, series)[1][-1])


def _of_case(run_id: str, seeds: list[Source]) -> dict[str, Any]:
    flows: dict[str, Any] = {}
    for name in metrics.flows(seeds[0]):
        window = linux72.window(run_id)
        goodputs = [metrics.goodput(run, name, window) for run in seeds]
        rtts = [metrics.inside(run, f"flow.{name}.rtt", window).mean() for run in seeds]
        flows[name] = {
            "goodput_mbps": [round(float(value), 3) for value in goodputs if value is not None],
            "rtt_ms": [round(float(value), 3) for value in rtts],
            "retransmits": [_last(run, f"flow.{name}.retransmits") for run in seeds],
        }
    if len(flows) == 1:
        (name,) = flows
        t, values = metrics.finite(seeds[0], f"flow.{name}.cwnd")
        early = t <= TRACE_S
        # A row of equal samples is told by its ends.
        keep = np.flatnonzero(np.diff(values[early], prepend=np.nan, append=np.nan)[:-1] != 0)
        keep = np.unique(np.concatenate([keep, keep[1:] - 1, [early.sum() - 1]]))
        flows[name]["cwnd"] = [np.round(t[early][keep], 2).tolist(), values[early][keep].astype(int).tolist()]
    return flows


if __name__ == "__main__":
    from sojourn.results import ResultSet

    folders = sys.argv[1:]
    if not folders:
        sys.exit("usage: python -m sojourn.linux_runs FOLDER-OF-RESULTS...")
    every: dict[str, Source] = {}
    for number, folder in enumerate(folders):
        read = ResultSet.open(Path(folder)).runs
        every |= {f"{name}{f'@folder{number}' if number else ''}": run for name, run in read.items()}
    target = Path(__file__).parent / DATA
    target.write_bytes(make(every))
    sys.stdout.write(f"{target}: {target.stat().st_size} bytes\n")
