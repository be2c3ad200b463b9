"""What is in the folders of results, as the page reads it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from sojourn import compare, report, results
from sojourn.compare import Comparison
from sojourn.results import FILES, MANIFEST, ResultsError, ResultSet, Run
from sojourn.results.dataset import Dataset, is_dataset
from sojourn.results.run import numbers
from sojourn.serve.errors import RequestError
from sojourn.serve.events import column
from sojourn.serve.places import Places, shown
from sojourn.text import harmless, in_one_line

#: Runs of a set that one answer lists.
MOST_ROWS = 500


class Results:
    """Sets, runs, series, reports and comparisons below the folders of `places`."""

    def __init__(self, places: Places, jobs: Path) -> None:
        self._places = places
        #: Each folder in it is a set of its own.
        self._jobs = jobs

    def sets(self) -> list[dict[str, Any]]:
        """What holds runs: a line for each folder, the newest first."""
        found = [self._set(folder) for root in self._places.roots.values() for folder in self._folders(root)]
        return sorted(
            (one for one in found if one["runs"] or "error" in one), key=lambda one: one["changed"], reverse=True
        )

    def show(self, name: str, start: int = 0) -> dict[str, Any]:
        """A run, or a row of numbers for each run of a set, from number `start` on."""
        path, errors = self._there(name), list[str]()
        if results.is_one(path):
            return {"path": name, "shown": shown(path), **self._run(path)}
        runs = ResultSet.open(path, errors)
        rows = [{"path": self._places.name(run.path), **run.swept, **row} for run, row in _rows(runs, start, errors)]
        about = {"path": name, "shown": shown(path), "count": len(runs), "start": start}
        return {**about, "runs": rows, "errors": [harmless(error) for error in errors]}

    def series(self, name: str, wanted: str | None) -> dict[str, Any]:
        """Columns of a run: those whose names are listed, with * for anything, or all."""
        table = self._one(self._there(name)).table()
        if wanted is not None:
            patterns = "|".join(re.escape(word).replace(r"\*", ".*") for word in wanted.split(","))
            table = table.filter(pl.col("series").str.contains(f"^(?:{patterns})$"))
        parts = table.partition_by("series", maintain_order=True)
        return {
            "series": [
                column((part["series"][0], part["unit"][0] or "", part["t_s"].to_numpy(), part["value"].to_numpy()))
                for part in parts
            ]
        }

    def file(self, name: str, wanted: str) -> Path | bytes:
        """One of a run's files: its place, or of a run in a dataset its content."""
        path = self._there(name)
        run = self._one(path)
        if wanted in {capture.name for capture in run.captures}:
            place = run.path / wanted
            if place.is_file():
                return place
        elif wanted in (*FILES, MANIFEST):
            if kept := run.files.place(wanted):
                return kept
            with suppress(OSError):
                return run.files.read(wanted)
        raise RequestError(f"{name}: has no file {wanted!r}", 404)

    def report(self, name: str, beside: str | None) -> str:
        """The report as JSON: over measured data, or over other results."""
        path = self._there(name)
        if beside is None:
            return report.to_json(report.of_results(path, path, None))
        comparison = self._compared(path, self._there(beside))
        return report.to_json(report.of_comparison(comparison, path, title=f"Sojourn: {name} beside {beside}"))

    def comparison(self, a: str, b: str) -> dict[str, Any]:
        """What `sojourn compare A B --json` prints."""
        return self._compared(self._there(a), self._there(b)).document()

    def _compared(self, a: Path, b: Path) -> Comparison:
        comparison = compare.collect(a, b)
        comparison.sides = compare.names_of(a, b) or ("A", "B")
        return comparison

    def _there(self, name: str) -> Path:
        path = self._places.find(name)
        if not results.exists(path):
            raise RequestError(f"{name!r}: no such results", 404)
        return path

    def _folders(self, root: Path) -> Iterator[Path]:
        if (root / MANIFEST).is_file() or is_dataset(root):
            yield root
            return
        with suppress(OSError):  # none yet
            for folder in sorted(root.iterdir()):
                if folder.is_symlink() or not folder.is_dir() or folder.name.startswith("."):
                    continue
                if folder == self._jobs:
                    yield from self._folders(folder)
                else:
                    yield folder

    def _set(self, folder: Path) -> dict[str, Any]:
        count, changed, error = 0, 0.0, {}
        for place, below, files in os.walk(folder):
            below[:] = [name for name in below if not name.startswith(".")]
            if MANIFEST in files:
                count += 1
                changed = max(changed, Path(place, MANIFEST).lstat().st_mtime)
            if is_dataset(Path(place)):
                changed = max(changed, Path(place).lstat().st_mtime)
                try:
                    self._places.find(self._places.name(Path(place)))
                    count += len(Dataset(Path(place), []).kept)
                except (RequestError, ResultsError) as refused:
                    error = {"error": in_one_line(refused)}
        when = datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds")
        return {"path": self._places.name(folder), "shown": shown(folder), "runs": count, "changed": when, **error}

    def _one(self, path: Path) -> Run:
        if not results.is_one(path):
            raise RequestError(f"{self._places.name(path)}: expected one run", 404)
        return ResultSet.open(path)[0]

    def _run(self, path: Path) -> dict[str, Any]:
        run = self._one(path)
        return {
            "run": {
                "id": run.id,
                "complete": run.complete,
                "numbers": numbers(run),
                "manifest": run.manifest,
                "summary": run.summary,
                "queues": run.queues,
                "scenario": run.scenario,
                "series": run.names(),
                "captures": [capture.name for capture in run.captures if capture.is_file()],
            }
        }


def _rows(runs: ResultSet, start: int, errors: list[str]) -> Iterator[tuple[Run, dict[str, Any]]]:
    """Runs and their numbers; nothing is kept of one after its row."""
    for run in list(runs)[start : start + MOST_ROWS]:
        try:
            yield run, numbers(run.again())
        except ResultsError as error:
            errors.append(str(error))


def as_json(document: object) -> bytes:
    """JSON as a page reads it, which has no infinities: results from anywhere may."""
    try:
        return json.dumps(document, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    except ValueError:
        return json.dumps(_finite(document), ensure_ascii=False).encode("utf-8", "replace")


def _finite(part: Any) -> Any:
    match part:
        case float():
            return part if part - part == 0 else None
        case dict():
            return {key: _finite(value) for key, value in part.items()}
        case list() | tuple():
            return [_finite(value) for value in part]
    return part
