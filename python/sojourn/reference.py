"""Real measurements to hold a simulation against.

The full Flent files are used where they can be found: `SOJOURN_REFERENCE`, or `../shared/reference`
beside the repository or the current folder. Otherwise the summaries and thinned series that are
shipped in `data/ect1` stand in for them; the numbers are the same, the curves have fewer points.

`python -m sojourn.reference FOLDER` makes that shipped file again from a folder of Flent files.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from dataclasses import asdict
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn import metrics
from sojourn.interop import flent
from sojourn.metrics import FloatArray, FlowSummary, RunSummary, Source, Stats
from sojourn.suites import ect1

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = "L4STeam/l4steam.github.io, ect1-tests: sce-l4s-ect1 suite, Linux 5.4 with TCP Prague, 25 April 2020"
SCHEMA = "sojourn/measured/1"
POINTS = 300

#: The measured runs: shipped with the package.
RUN_IDS: tuple[str, ...] = tuple(case.id for case in ect1.cases() if case.reference)


class Shipped:
    """A measured run of the package: the summary of the full file, and thinned series."""

    def __init__(self, run_id: str, entry: dict[str, Any]) -> None:
        self.id = run_id
        self.summary = RunSummary(
            (entry["window_s"][0], entry["window_s"][1]),
            tuple(
                FlowSummary(
                    flow["name"],
                    flow["goodput_mbps"],
                    Stats(**flow["delivery_rate_mbps"]),
                    Stats(**flow["tcp_rtt_ms"]),
                )
                for flow in entry["flows"]
            ),
            Stats(**entry["ping_ms"]),
        )
        self._series = entry["series"]

    def names(self) -> list[str]:
        """Names of the series."""
        return list(self._series)

    def series(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Times in seconds and values, thinned."""
        t, values = self._series[name]
        return np.array(t, dtype=np.float64), np.array(values, dtype=np.float64)


def summary_of(source: Source, over: metrics.Window | None = None) -> RunSummary | None:
    """The summary of any source; that of shipped data is the one of the full file."""
    return source.summary if isinstance(source, Shipped) else metrics.summarise(source, over)


def folder() -> Path | None:
    """Where the full reference data are; None if they are not on this machine."""
    told = os.environ.get("SOJOURN_REFERENCE")
    repository = Path(__file__).resolve().parents[2]
    places = [Path(told)] if told else [base.parent / "shared" / "reference" for base in (repository, Path.cwd())]
    return next((place for place in places if (place / "ect1" / "flent").is_dir()), None)


@cache
def shipped() -> dict[str, Shipped]:
    """The measured runs of the package by id."""
    packed = resources.files("sojourn").joinpath("data/ect1/measured.json.gz").read_bytes()
    document = json.loads(gzip.decompress(packed))
    return {run_id: Shipped(run_id, entry) for run_id, entry in document["runs"].items()}


def find(run_id: str) -> Source | None:
    """The measurement of a run: the full file if there is one, else the shipped data, else None."""
    base = folder()
    name = flent.stem_of(run_id)
    if base is not None and name is not None:
        path = base / "ect1" / "flent" / f"{name}.flent.gz"
        if path.is_file():
            return flent.FlentFile(path)
    return shipped().get(run_id)


def make(files: Path) -> bytes:
    """The content of `data/ect1/measured.json.gz`, from the Flent files of a folder."""
    runs = dict(_entries(files))
    document = {"schema": SCHEMA, "source": SOURCE, "runs": runs}
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    return gzip.compress(text.encode(), 9, mtime=0)


def _entries(files: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for run_id in RUN_IDS:
        source = flent.FlentFile(files / f"{flent.stem_of(run_id)}.flent.gz")
        summary = metrics.summarise(source)
        if summary is None:
            raise flent.FlentError(f"{source.path.name}: raw_values: expected a flow that lives longer than its window")
        entry = _rounded(asdict(summary))
        for flow in entry["flows"]:
            del flow["one_way_ms"], flow["completion_ms"]  # TCP has none
        entry["series"] = {
            name: [np.round(column, 2).tolist() for column in points]
            for name in source.names()
            if name.endswith((".delivery_rate", ".rtt"))
            for points in [metrics.thin(*source.series(name), POINTS)]
        }
        yield run_id, entry


def _rounded(value: Any) -> Any:
    """Window edges to 1 us, so that both sides take the same samples; everything else to 0.001."""
    if isinstance(value, dict):
        return {k: [round(t, 6) for t in v] if k == "window_s" else _rounded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return round(value, 3) if isinstance(value, float) else value


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m sojourn.reference FOLDER-OF-FLENT-FILES")
    target = Path(__file__).parent / "data" / "ect1" / "measured.json.gz"
    target.write_bytes(make(Path(sys.argv[1])))
    sys.stdout.write(f"{target}: {target.stat().st_size} bytes\n")
