"""Real measurements to hold a simulation against.

The full Flent files are used where they can be found: `SOJOURN_REFERENCE`, or `../shared/reference`
beside the repository or the current folder. Otherwise the summaries and thinned series that are
shipped in `data/SUITE` take their place; the numbers are the same, the curves have fewer points.

`python -m sojourn.reference FOLDER` makes the shipped file of ect1 again from a folder of Flent files, or that of
dualpi2-overload or l4s-tests from the folder of its results; `python -m sojourn.reference GRID.json` that of the suite
whose cases the grid has, as it was measured.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tomllib
from dataclasses import asdict
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn import metrics, suites
from sojourn.interop import flent
from sojourn.metrics import FloatArray, FlowSummary, RunSummary, Source, Stats
from sojourn.suites import dualpi2_overload, l4s_tests, linux72

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Of the measurements that are shipped, by the suite that has run them again.
SOURCES: dict[str, str] = {name: text for name in suites.NAMES if (text := getattr(suites.module(name), "SOURCE", ""))}
SCHEMA = "sojourn/measured/1"
FILE = "measured.json.gz"
POINTS = 300
#: Payload of a segment on the wires of the grid, bytes.
MSS = 1448

#: The measured runs that are shipped, and have Flent files.
RUN_IDS: tuple[str, ...] = tuple(case.id for case in suites.suite("ect1") if case.reference)


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
                    _stats(flow["delivery_rate_mbps"]),
                    _stats(flow["tcp_rtt_ms"]),
                )
                for flow in entry["flows"]
            ),
            _stats(entry["ping_ms"]),
        )
        #: Segments of the whole run, of flows whose measurement has them.
        self.retransmits = {f["name"]: f["retransmits"] for f in entry["flows"] if "retransmits" in f}
        #: What each flow's packets waited, ms, where the measurement has it: number, mean, median and p99.
        self.sojourn: dict[str, dict[str, float]] = {
            f["name"]: f["sojourn_ms"] for f in entry["flows"] if "sojourn_ms" in f
        }
        #: Packets of the whole run that the queue marked and dropped, where the measurement has them.
        self.queue: dict[str, int] = entry.get("queue", {})
        self._series = entry["series"]

    def names(self) -> list[str]:
        """Names of the series."""
        return list(self._series)

    def series(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Times in seconds and values, thinned."""
        t, values = self._series[name]
        return np.array(t, dtype=np.float64), np.array(values, dtype=np.float64)


def _stats(entry: dict[str, Any] | None) -> Stats | None:
    return None if entry is None else Stats(**entry)


def summary_of(source: Source, over: metrics.Window | None = None) -> RunSummary | None:
    """The summary of any source; that of shipped data is the one of the full file."""
    return source.summary if isinstance(source, Shipped) else metrics.summarise(source, over)


def folder() -> Path | None:
    """Where the full reference data are; None if they are not on this machine."""
    named = os.environ.get("SOJOURN_REFERENCE")
    repository = Path(__file__).resolve().parents[2]
    places = [Path(named)] if named else [base.parent / "shared" / "reference" for base in (repository, Path.cwd())]
    return next((place for place in places if (place / "ect1" / "flent").is_dir()), None)


@cache
def shipped() -> dict[str, Shipped]:
    """The measured runs of the package by id."""
    runs: dict[str, Shipped] = {}
    for suite in SOURCES:
        runs |= {run_id: Shipped(run_id, entry) for run_id, entry in entries(suite).items()}
    return runs


def entries(suite: str) -> dict[str, Any]:
    """The measured runs of a suite's file, as they are written there."""
    packed = resources.files("sojourn").joinpath("data", suite, FILE).read_bytes()
    runs: dict[str, Any] = json.loads(gzip.decompress(packed))["runs"]
    return runs


def sources(run_ids: Iterable[str]) -> str:
    """Where the measurements of these runs come from."""
    sources = {SOURCES.get(run_id.partition("/")[0], "") for run_id in run_ids}
    return "; ".join(sorted(filter(None, sources))) or "source not known"


def find(run_id: str) -> Source | None:
    """The measurement of a run: the full file if there is one, else the shipped data, else None."""
    if (base := folder()) and (case := suites.find(run_id)) and case.id == run_id:
        path = base / case.suite / "flent" / f"{case.reference}.flent.gz"
        if path.is_file():
            return flent.FlentFile(path)
    return shipped().get(run_id)


def make(files: Path) -> bytes:
    """The content of `data/ect1/measured.json.gz`, from the Flent files of a folder."""
    return _packed(SOURCES["ect1"], dict(_entries(files)))


def make_overload(results: Path) -> bytes:
    """The content of `data/dualpi2-overload/measured.json.gz`, from the folder of the published results."""
    cases = suites.suite(dualpi2_overload.SUITE)
    return _packed(dualpi2_overload.SOURCE, {case.id: _overload_entry(results, case) for case in cases})


def _overload_entry(results: Path, case: suites.Case) -> dict[str, Any]:
    """Goodput of each receiver's iperf3, whose server writes an object for every 0.1 s, and what packets waited."""
    place, _, stem = str(case.reference).partition("/")
    low, high = dualpi2_overload.WINDOW_S
    _, mix, load = dualpi2_overload.parts_of(case.id)
    flows: list[dict[str, Any]] = []
    series: dict[str, Any] = {}
    for number, name in enumerate(("prague", "cubic", *dualpi2_overload.UDP_TOS), start=1):
        udp = name in dualpi2_overload.UDP_TOS
        if udp and name not in mix:
            continue
        file = results / place / f"iperf_s{number}_{stem}{f'_{name}_{load}M' if udp else ''}.json"
        each = [interval["streams"][0] for interval in json.loads(file.read_text())["intervals"]]
        within = [one for one in each if one["start"] >= low - 0.05 and one["end"] <= high + 0.05]
        seconds = sum(one["seconds"] for one in within)
        flow = {"name": name, "goodput_mbps": round(sum(one["bytes"] for one in within) * 8e-6 / seconds, 3)}
        flow |= {"delivery_rate_mbps": None, "tcp_rtt_ms": None}
        waits = results / place / f"qdelay_s{number}_{stem}.qdelay"
        if waits.is_file() and (waited := _waited(waits)):
            flow["sojourn_ms"] = waited
        flows.append(flow)
        bits = np.zeros(dualpi2_overload.LENGTH_S)
        for one in each:
            bits[min(int(one["start"]), dualpi2_overload.LENGTH_S - 1)] += one["bytes"] * 8
        t = list(range(1, dualpi2_overload.LENGTH_S + 1))
        series[f"flow.{name}.delivery_rate"] = [t, np.round(bits / 1e6, 3).tolist()]
    return {"window_s": [low, high], "flows": flows, "ping_ms": None, "series": series}


def _waited(file: Path) -> dict[str, float] | None:
    """Sojourn times in the window that the published queue wrote into its packets, in steps of 32 us and more."""
    packets = json.loads(file.read_text())["results"]
    at = np.array([float(packet["ts-us"]) for packet in packets]) / 1e6
    waited = np.array([packet["delay-us"] for packet in packets]) / 1e3
    low, high = dualpi2_overload.WINDOW_S
    waited = waited[(at - at[:1] > low) & (at - at[:1] < high)]
    if not waited.size:
        return None
    numbers = {"mean": waited.mean(), "p50": np.percentile(waited, 50), "p99": np.percentile(waited, 99)}
    return {"n": int(waited.size), **{key: round(float(value), 3) for key, value in numbers.items()}}


def make_grid(grid: Path) -> tuple[str, bytes]:
    """A suite and the content of its file, from the grid as it was measured."""
    measured = {case["case"]: case for case in json.loads(grid.read_text())}
    for suite, source in SOURCES.items():
        cases = {str(case.reference): case.id for case in suites.suite(suite)}
        if cases.keys() == measured.keys():
            return suite, _packed(source, {run_id: _grid_entry(measured[name]) for name, run_id in cases.items()})
    raise ValueError(f"{grid}: case: expected the cases of one of {', '.join(SOURCES)}")


def make_tables(folder: Path) -> bytes:
    """The content of `data/l4s-tests/measured.json.gz`, from the folder of the published tables."""
    cases = {case.reference: case for case in suites.suite(l4s_tests.SUITE) if case.reference}
    rows = {row: rates for name in l4s_tests.TABLES for row, rates in _table(folder / name)}
    if rows.keys() != cases.keys():
        raise ValueError(f"{folder}: expected the rows {', '.join(sorted(rows.keys() ^ cases.keys()))} in both")
    return _packed(l4s_tests.SOURCE, {case.id: _table_entry(case, rows[row]) for row, case in cases.items()})


def _table(file: Path) -> Iterator[tuple[str, list[float]]]:
    """Rate, queue and both flows of each row, and the delivery rate of each flow."""
    for line in file.read_text().splitlines():
        rate, queue, first, delivered, second, delivered_2, _ = (cell.strip() for cell in line.strip("| ").split("|"))
        if rate.endswith("Mbit"):
            yield f"{rate} {queue} {first} {second}", [float(delivered), float(delivered_2)]


def _table_entry(case: suites.Case, rates: list[float]) -> dict[str, Any]:
    document = tomllib.loads(case.toml)
    unknown = dict.fromkeys(("p05", "p50", "p95", "p99", "max"))
    flows = [
        {
            "name": flow["name"],
            "goodput_mbps": None,
            "delivery_rate_mbps": {"n": 0, "mean": rate, **unknown},
            "tcp_rtt_ms": None,
        }
        for flow, rate in zip(document["flow"], rates, strict=True)
    ]
    window = [float(document["measure"][edge].removesuffix("s")) for edge in ("from", "to")]
    return {"window_s": window, "flows": flows, "ping_ms": None, "series": {}}


def _packed(source: str, runs: dict[str, Any]) -> bytes:
    document = {"schema": SCHEMA, "source": source, "runs": runs}
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
            for absent in ("one_way_ms", "completion_ms", "goodput_over_time_mbps"):
                del flow[absent]  # TCP has no delay of that kind; what was shipped has no rates over time
        entry["series"] = {
            name: [np.round(column, 2).tolist() for column in points]
            for name in source.names()
            if name.endswith((".delivery_rate", ".rtt"))
            for points in [metrics.thin(*source.series(name), POINTS)]
        }
        yield run_id, entry


def _grid_entry(measured: dict[str, Any]) -> dict[str, Any]:
    """Means of `ss` and iperf3 over the case's window, and iperf3's values of each second."""
    flows: list[dict[str, Any]] = []
    series: dict[str, Any] = {}
    names = linux72.flow_names([flow["cc"] for flow in measured["flows"]])
    for name, flow in zip(names, measured["flows"], strict=True):
        flows.append(
            {
                "name": name,
                "goodput_mbps": flow["goodput_window_mbps"],
                "delivery_rate_mbps": None,
                "tcp_rtt_ms": {**flow["tcp_rtt_ms"], "p99": None},
                "cwnd_segments": flow["cwnd_segs"],
                "retransmits": flow["retransmits"],
                **(_medians(flow) if "runs" in flow else {}),
            }
        )
        t = [flow["start_s"] + second for second in range(1, len(flow["per_second_mbps"]) + 1)]
        per_second = {
            "delivery_rate": flow["per_second_mbps"],
            "rtt": [us / 1000 for us in flow.get("rtt_us_per_second", ())],
            "cwnd": [round(size / MSS, 2) for size in flow.get("cwnd_bytes_per_second", ())],
        }
        series |= {f"flow.{name}.{what}": [t, values] for what, values in per_second.items() if values}
    counts = {"queue": _counts(measured["qdisc_stats"])}
    return {"window_s": measured["window_s"], "flows": flows, "ping_ms": None, **counts, "series": series}


def _counts(tc: Any) -> dict[str, int]:
    """Marks and drops in the JSON of `tc -s qdisc`, where each discipline has a name of its own for its marks."""
    queue: dict[str, Any] = tc[-1] if isinstance(tc, list) else tc
    tiers = [queue, *queue.get("tins", ())]
    marks = sum(tier.get(key, 0) for tier in tiers for key in ("ecn_mark", "ecn-mark", "marked", "ce_mark"))
    return {"marks": marks, "drops": queue["drops"]}


def _medians(flow: dict[str, Any]) -> dict[str, Any]:
    """Where a case was run several times: medians in the place of the first run's means, and each run's means."""
    return {
        "goodput_mbps": flow["goodput_median_mbps"],
        "tcp_rtt_ms": {**flow["tcp_rtt_ms"], "p99": None, "mean": flow["tcp_rtt_mean_median_ms"]},
        "runs": {
            "goodput_mbps": [run["goodput_window_mbps"] for run in flow["runs"]],
            "rtt_ms": [run["tcp_rtt_mean_ms"] for run in flow["runs"]],
            "retransmits": [run["retransmits"] for run in flow["runs"]],
        },
    }


def _rounded(value: Any) -> Any:
    """Window edges to 1 us, so that both sides take the same samples; everything else to 0.001."""
    if isinstance(value, dict):
        return {k: [round(t, 6) for t in v] if k == "window_s" else _rounded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return round(value, 3) if isinstance(value, float) else value


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m sojourn.reference FOLDER | GRID.json")
    given, data = Path(sys.argv[1]), Path(__file__).parent / "data"
    if any(given.glob("*/test_cfg.json")):
        suite, content = dualpi2_overload.SUITE, make_overload(given)
    elif (given / l4s_tests.TABLES[0]).is_file():
        suite, content = l4s_tests.SUITE, make_tables(given)
    elif given.is_dir():
        suite, content = "ect1", make(given)
    else:
        suite, content = make_grid(given)
    target = data / suite / FILE
    target.write_bytes(content)
    sys.stdout.write(f"{target}: {target.stat().st_size} bytes\n")
