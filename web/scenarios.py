"""Writes the scenarios of every suite for the lab: `python web/scenarios.py FOLDER`.

`index.json` says what there is; the texts of a suite are one file, since its scenarios differ by a few lines and pack
a hundred times smaller together than one by one. `measured/` has what testbeds measured of them.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import measurements

from sojourn import suites
from sojourn.suites import Case

EXAMPLES = Path(__file__).resolve().parent.parent / "scenarios"


def main(folder: Path) -> None:
    """Writes the index and a file for each suite, and one for the example files."""
    folder.mkdir(parents=True, exist_ok=True)
    index = []
    for name, heading, cases in groups():
        write(folder / f"{name}.json", {case.id: case.toml for case in cases})
        index.append({"name": name, "heading": heading, "sections": sections(cases)})
    write(folder / "index.json", index)
    measurements.main(folder / "measured")


def groups() -> Iterator[tuple[str, str, list[Case]]]:
    """Name, heading and cases of the examples and of each suite."""
    yield "examples", "Example files", list(examples())
    for name in suites.NAMES:
        heading = (suites.module(name).__doc__ or name).strip().partition("\n")[0].rstrip(".")
        yield name, heading.removeprefix(f"{name}: "), suites.suite(name)


def sections(cases: list[Case]) -> list[dict[str, Any]]:
    """The cases under what they share: heading and question of their section."""
    return [
        {"heading": heading, "question": question, "cases": [stated(case) for case in shared]}
        for (heading, question), shared in groupby(cases, key=lambda case: (case.role.heading, case.question))
    ]


def stated(case: Case) -> dict[str, Any]:
    """What the index says of a case; `reference` only where a testbed has measured it."""
    document = {"id": case.id, "description": case.description, "duration_s": case.duration_s}
    return document | ({"reference": case.reference} if case.reference else {})


def examples() -> Iterator[Case]:
    """The files in `scenarios/`, without those whose traces are other files."""
    for path in sorted(EXAMPLES.glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        if "traces/" in text:
            continue
        head = tomllib.loads(text)
        duration_s = float(str(head["duration"]).removesuffix("s"))
        yield Case(f"examples/{path.stem}", head.get("description", path.stem), "", duration_s, text)


def write(path: Path, document: object) -> None:
    """A file of JSON, whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(document, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    part.replace(path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("scenarios.py: expected one folder")
    main(Path(sys.argv[1]))
