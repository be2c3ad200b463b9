"""Writes what testbeds measured, for the lab: `scenarios.py` does it, and `python web/measurements.py FOLDER`.

A file for each measured run of the suites, loaded when that run is looked at, and `index.json` with their ids. They are
the summaries and thinned series of the package, whose sources `sojourn.reference` names.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sojourn import reference


def main(folder: Path) -> None:
    """Writes a file `ID.json` for each run, and the index."""
    ids = []
    for suite, source in reference.SOURCES.items():
        for run_id, entry in reference.entries(suite).items():
            write(folder / f"{run_id}.json", {"source": source, **entry})
            ids.append(run_id)
    write(folder / "index.json", ids)


def write(path: Path, document: Any) -> None:
    """A file of JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(document, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    part.replace(path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("measurements.py: expected one folder")
    main(Path(sys.argv[1]))
