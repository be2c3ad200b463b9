"""Flent data files (versions 1 to 4): read as untrusted input, imported as ordinary runs.

The format is described by its files: one JSON object with `x_values`, `results`, `raw_values` and
`metadata`. A raw point of a TCP series is either a netperf interim result `{t, val, dur}` (Mbit/s
over the `dur` seconds that end at `t`) or an `ss` sample `{t, tcp_rtt, tcp_cwnd, ...}`; a ping
point is `{t, val, seq}`. Files without raw values (version 1) are read from the grid.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import math
import re
import shutil
import tempfile
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sojourn import metrics

if TYPE_CHECKING:
    from sojourn.metrics import FloatArray

MAX_FILE_BYTES = 16 << 20
MAX_JSON_BYTES = 32 << 20
MAX_OBJECTS = 1_000_000
MAX_VALUES = 4_000_000
SUFFIXES = (".flent", ".flent.gz", ".flent.bz2", ".flnt", ".flnt.gz", ".flnt.bz2")

#: ss fields of a raw point and the series they become.
SS_SERIES = {
    "tcp_delivery_rate": "delivery_rate",
    "tcp_rtt": "rtt",
    "tcp_cwnd": "cwnd",
    "tcp_pacing_rate": "pacing_rate",
    "tcp_ssthresh": "ssthresh",
}

UNITS = {
    "delivery_rate": "Mbit/s",
    "rtt": "ms",
    "cwnd": "segments",
    "pacing_rate": "Mbit/s",
    "ssthresh": "segments",
    "interim": "Mbit/s",
    "interim_duration": "s",
    "goodput_bytes": "bytes",
}


class FlentError(ValueError):
    """One line: the file, the key, what was expected there."""


def stem(path: Path) -> str:
    """The file name without its endings and without Flent's `batch-`."""
    name = next(
        (path.name[: -len(s)] for s in sorted(SUFFIXES, key=len, reverse=True) if path.name.endswith(s)),
        path.stem,
    )
    return name.removeprefix("batch-")


_CC = r"[a-z0-9]+(?:-sce)?"
_LABEL = r"[A-Za-z0-9][A-Za-z0-9_.]*"
_STEM = re.compile(rf"((?:l4s|sce)-s\d-[a-z-]+?)-ns-({_CC}(?:-vs-{_CC})?)-({_LABEL}(?:-{_LABEL})*)")


def run_id_of(file_stem: str) -> str | None:
    """The ect1 run id of `l4s-s2-twoflow-ns-cubic-vs-prague-dualpi2-20ms`; None for other names."""
    match = _STEM.fullmatch(file_stem)
    if match is None:
        return None
    scenario, cc, rest = match.groups()
    # The scripts wrote `codel1q(20ms)` and `pie(100p/5ms)` with every bracket and slash as `_`.
    labels = [label[:-1].replace("_", "-") if label.endswith("_") else label for label in rest.split("-")]
    return "/".join(["ect1", scenario, cc, *labels])


def stem_of(run_id: str) -> str | None:
    """The Flent stem of an ect1 run id; None if it is not one."""
    suite, _, rest = run_id.partition("/")
    scenario, _, labels = rest.partition("/")
    cc, _, labels = labels.partition("/")
    if suite != "ect1" or not labels:
        return None
    written = [f"{label.replace('-', '_')}_" if "-" in label else label for label in labels.split("/")]
    return f"{scenario}-ns-{cc}-{'-'.join(written)}"


def files(folder: Path) -> list[Path]:
    """The Flent files of a folder (or the file itself), by name."""
    if folder.is_file():
        return [folder]
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(path for path in found if path.name.endswith(SUFFIXES))


class FlentFile:
    """One Flent file as a `Source`, in seconds after its T0."""

    def __init__(self, path: Path) -> None:
        document = _load(path)
        fail = _failer(path)
        self.path = path
        self.metadata: dict[str, Any] = _object(document, "metadata", fail)
        self.title = str(self.metadata.get("TITLE") or "")
        self.id = run_id_of(stem(path)) or re.sub(r"[^A-Za-z0-9_.-]+", "-", stem(path)).strip(".-") or "unnamed"
        self._series: dict[str, tuple[FloatArray, FloatArray]] = {}

        raw = _object(document, "raw_values", fail) if "raw_values" in document else {}
        grid = _grid(document, fail)
        points = {name: _points(name, values, fail) for name, values in raw.items()}
        origin = _origin(self.metadata, points, fail)
        uploads = [name for name in {**raw, **grid} if _is_flow(name, points.get(name), grid.get(name))]
        uploads.sort(key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])
        for name, flow in zip(uploads, _flow_names(self.metadata, uploads), strict=True):
            if points.get(name):
                self._take_raw(flow, points[name], origin, name, fail)
            else:
                self._take_grid(flow, name, grid)
        for name in (n for n in {**raw, **grid} if n.startswith("Ping (ms)") and not n.endswith(" avg")):
            label = _slug(name.removeprefix("Ping (ms)"))
            t, values = _column(points.get(name, []), "val", origin) if points.get(name) else grid.get(name, _EMPTY)
            if t.size:
                self._series[f"ping.{label}.rtt"] = t, values
        if not self._series:
            raise fail("raw_values", "at least one TCP or ping series with data")

    def names(self) -> list[str]:
        """Names of the series."""
        return list(self._series)

    def series(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Times in seconds after T0, and values."""
        return self._series[name]

    def _take_raw(self, flow: str, points: list[dict[str, float]], origin: float, name: str, fail: Fail) -> None:
        interim = [p for p in points if "val" in p and p.get("dur", 0.0) > 0]
        if interim:
            t, rate = _column(interim, "val", origin)
            _, duration = _column(interim, "dur", origin)
            if (rate < 0).any():
                raise fail(f"raw_values[{name!r}]", "rates that are not negative")
            self._series[f"flow.{flow}.interim"] = t, rate
            self._series[f"flow.{flow}.interim_duration"] = t, duration
            self._series[f"flow.{flow}.goodput_bytes"] = _cumulative(t, rate, duration)
        for field, series in SS_SERIES.items():
            t, values = _column(points, field, origin)
            if t.size:
                self._series[f"flow.{flow}.{series}"] = t, values

    def _take_grid(self, flow: str, name: str, grid: dict[str, tuple[FloatArray, FloatArray]]) -> None:
        t, rate = grid.get(name, _EMPTY)
        if t.size > 1:
            duration = np.full(t.size, float(np.median(np.diff(t))))
            self._series[f"flow.{flow}.interim"] = t, rate
            self._series[f"flow.{flow}.interim_duration"] = t, duration
            self._series[f"flow.{flow}.goodput_bytes"] = _cumulative(t, rate, duration)
            self._series[f"flow.{flow}.delivery_rate"] = t, rate
        for field, series in SS_SERIES.items():
            t, values = grid.get(f"{name}::{field}", _EMPTY)
            if t.size:
                self._series[f"flow.{flow}.{series}"] = t, values


def import_file(path: Path, out: Path) -> Path:
    """Write a Flent file as an ordinary run folder `out/<run id>`; whole or not at all."""
    source = FlentFile(path)
    summary = metrics.summarise(source)
    folder = out / source.id
    if folder.exists():
        raise FlentError(f"{path}: {folder} exists already; remove it or choose another folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=".in-progress-", dir=folder.parent))
    try:
        manifest = {
            "id": source.id,
            "origin": "flent",
            "file": path.name,
            "title": source.title,
            "test": str(source.metadata.get("NAME") or ""),
            "kernel": str(source.metadata.get("KERNEL_RELEASE") or ""),
            "complete": True,
        }
        _write_json(building / "manifest.json", manifest)
        _write_json(building / "summary.json", _summary_document(source.id, summary))
        _write_json(building / "queue.json", [])
        import polars as pl  # for this alone

        columns = [(name, *source.series(name)) for name in source.names()]
        pl.DataFrame(
            {
                "series": [name for name, t, _ in columns for _ in range(t.size)],
                "unit": [UNITS[name.rpartition(".")[2]] for name, t, _ in columns for _ in range(t.size)],
                "t_s": np.concatenate([t for _, t, _ in columns]),
                "value": np.concatenate([values for _, _, values in columns]),
            },
            schema={"series": pl.String, "unit": pl.String, "t_s": pl.Float64, "value": pl.Float64},
        ).write_parquet(building / "series.parquet", compression="zstd")
        building.chmod(0o755)
        building.rename(folder)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return folder


def _summary_document(run_id: str, summary: metrics.RunSummary | None) -> dict[str, Any]:
    if summary is None:
        return {
            "schema": "sojourn/summary/1",
            "id": run_id,
            "window_s": None,
            "flows": {},
            "ping_ms": None,
        }
    return {
        "schema": "sojourn/summary/1",
        "id": run_id,
        "window_s": list(summary.window_s),
        "flows": {
            flow.name: {
                "goodput_mbps": flow.goodput_mbps,
                "delivery_rate_mbps": flow.delivery_rate_mbps and flow.delivery_rate_mbps.rounded(),
                "tcp_rtt_ms": flow.tcp_rtt_ms and flow.tcp_rtt_ms.rounded(),
            }
            for flow in summary.flows
        },
        "ping_ms": summary.ping_ms and summary.ping_ms.rounded(),
    }


def _write_json(path: Path, document: dict[str, Any] | list[object]) -> None:
    path.write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")


# Reading, with every step bounded.

Fail = Callable[[str, str], FlentError]
_EMPTY: tuple[FloatArray, FloatArray] = (np.empty(0), np.empty(0))


def _failer(path: Path) -> Fail:
    shown = "".join(c if c.isprintable() else "?" for c in path.name)
    return lambda key, expected: FlentError(f"{shown}: {key[:120]}: expected {expected}")


def _load(path: Path) -> dict[str, Any]:
    fail = _failer(path)
    try:
        if not path.is_file():
            raise fail("file", "a regular file")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise fail("file", f"at most {MAX_FILE_BYTES >> 20} MiB")
        packed = path.read_bytes()
    except OSError as error:
        raise fail("file", f"a readable file ({error.strerror})") from None
    try:
        text = _unpack(packed).read(MAX_JSON_BYTES + 1)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
        raise fail("file", "an intact gzip or bzip2 stream") from None
    if len(text) > MAX_JSON_BYTES:
        raise fail("file", f"at most {MAX_JSON_BYTES >> 20} MiB when unpacked")
    # Two bytes of JSON can cost a hundred of memory once parsed, so what is in it is counted first.
    if text.count(b"{") + text.count(b"[") > MAX_OBJECTS or text.count(b",") > MAX_VALUES:
        raise fail("file", f"at most {MAX_OBJECTS} objects and arrays and {MAX_VALUES} values")
    try:
        document = json.loads(text, parse_int=float)
    except RecursionError:
        raise fail("file", "JSON that is not nested this deeply") from None
    except json.JSONDecodeError as error:
        raise fail("file", f"JSON ({error.msg} at line {error.lineno})") from None
    except ValueError:
        raise fail("file", "JSON in UTF-8") from None
    if not isinstance(document, dict):
        raise fail("file", "a JSON object")
    version = document.get("version", 1.0)
    if not isinstance(version, float) or not 1 <= version <= 4:
        raise fail("version", f"1 to 4, found {str(version)[:20]}")
    return document


def _unpack(packed: bytes) -> gzip.GzipFile | bz2.BZ2File | io.BytesIO:
    if packed.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=io.BytesIO(packed))
    if packed.startswith(b"BZh"):
        return bz2.BZ2File(io.BytesIO(packed))
    return io.BytesIO(packed)


def _object(document: dict[str, Any], key: str, fail: Fail) -> dict[str, Any]:
    value = document.get(key)
    if not isinstance(value, dict):
        raise fail(key, "an object")
    return value


def _number(value: object) -> float:
    """A JSON number, with null and NaN as a gap; TypeError for anything else."""
    if value is None:
        return math.nan
    if isinstance(value, float):
        return value if math.isfinite(value) else math.nan
    raise TypeError


def _grid(document: dict[str, Any], fail: Fail) -> dict[str, tuple[FloatArray, FloatArray]]:
    x_values, results = document.get("x_values"), _object(document, "results", fail)
    if not isinstance(x_values, list):
        raise fail("x_values", "an array of numbers")
    try:
        x = np.array([_number(value) for value in x_values], dtype=np.float64)
    except TypeError:
        raise fail("x_values", "an array of numbers") from None
    if not np.isfinite(x).all() or (np.diff(x) < 0).any():
        raise fail("x_values", "seconds in order, without gaps")
    grid = {}
    for name, values in results.items():
        if not isinstance(values, list) or len(values) != x.size:
            raise fail(f"results[{name!r}]", f"an array of {x.size} values, as in x_values")
        try:
            column = np.array([_number(value) for value in values], dtype=np.float64)
        except TypeError:
            raise fail(f"results[{name!r}]", "numbers or null") from None
        keep = np.isfinite(column)
        grid[name] = x[keep], column[keep]
    return grid


def _points(name: str, values: object, fail: Fail) -> list[dict[str, float]]:
    """The raw points of a series, their numbers only, in time order."""
    if not isinstance(values, list):
        raise fail(f"raw_values[{name!r}]", "an array of points")
    points = []
    for index, value in enumerate(values):
        where = f"raw_values[{name!r}][{index}]"
        if not isinstance(value, dict):
            raise fail(where, "an object")
        time = value.get("t")
        if not isinstance(time, float) or not math.isfinite(time):
            raise fail(f"{where}.t", "a Unix time in seconds")
        point = {"t": time}
        for key in ("val", "dur", *SS_SERIES):
            if key in value:
                try:
                    number = _number(value[key])
                except TypeError:
                    raise fail(f"{where}.{key}", "a number") from None
                if math.isfinite(number):
                    point[key] = number
        points.append(point)
    points.sort(key=lambda point: point["t"])
    return points


def _origin(metadata: dict[str, Any], points: dict[str, list[dict[str, float]]], fail: Fail) -> float:
    """T0 in Unix seconds; the first sample where the file does not say or says nonsense."""
    first = min((series[0]["t"] for series in points.values() if series), default=math.nan)
    last = max((series[-1]["t"] for series in points.values() if series), default=math.nan)
    if last - first > 7 * 86400:
        raise fail("raw_values", "points within one week")
    try:
        stated = datetime.fromisoformat(str(metadata.get("T0")))
        origin = stated.replace(tzinfo=stated.tzinfo or UTC).timestamp()
    except (ValueError, OverflowError):
        return first
    return origin if 0 <= first - origin + 1e-3 <= 60 else first


def _is_flow(name: str, points: list[dict[str, float]] | None, grid: tuple[FloatArray, FloatArray] | None) -> bool:
    is_stream = re.fullmatch(r"TCP (?:up|down)load(?: (?!avg$|sum$|fairness$).*?)?(?:::\d+)?", name) is not None
    return is_stream and (bool(points) or (grid is not None and grid[0].size > 0))


def _flow_names(metadata: dict[str, Any], series: list[str]) -> list[str]:
    """Flows are called by their congestion control where the file names one for each."""
    parameters = metadata.get("TEST_PARAMETERS")
    given = parameters if isinstance(parameters, dict) else {}
    spoken = given.get("cc_algos") or given.get("cc_algo") or given.get("tcp_cong_control") or ""
    algorithms = [_slug(part) for part in str(spoken).split(",")] if spoken else []
    names = algorithms if len(algorithms) == len(series) else [_slug(name.removeprefix("TCP ")) for name in series]
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    count = dict.fromkeys(seen, 0)
    unique = []
    for name in names:
        count[name] += 1
        unique.append(name if seen[name] == 1 else f"{name}-{count[name]}")
    return unique


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "unnamed"


def _column(points: list[dict[str, float]], key: str, origin: float) -> tuple[FloatArray, FloatArray]:
    kept = [(point["t"] - origin, point[key]) for point in points if key in point]
    if not kept:
        return _EMPTY
    t, values = np.array(kept, dtype=np.float64).T
    return t, values


def _cumulative(t: FloatArray, rate: FloatArray, duration: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bytes delivered so far, each interim result spread evenly over the interval it covers."""
    begins = np.maximum(t - duration, np.concatenate([[t[0] - duration[0]], t[:-1]]))
    total = np.cumsum(rate * duration) * 1e6 / 8
    before = np.concatenate([[0.0], total[:-1]])
    return np.column_stack([begins, t]).ravel(), np.column_stack([before, total]).ravel()
