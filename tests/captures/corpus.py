"""Makes the corpus of captures, and measures what `sojourn pcap` says of them.

    python tests/captures/corpus.py make FOLDER [linux|sim]
    python tests/captures/corpus.py list

Cases that are there already are left alone, so an interrupted run goes on.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import kernel
from draws import COUNT, Case, draw


def make(folder: Path, engine: str) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for case in map(draw, range(COUNT)):
        to = folder / f"{case.index:03}.pcap"
        if case.engine != engine or to.exists():
            continue
        fault = kernel.make(case, to)
        failed += bool(fault)
        print(f"{case.index:03}", fault or "made", flush=True)
    return failed


def text(case: Case) -> str:
    return json.dumps(dataclasses.asdict(case))


def main(command: str, *words: str) -> int:
    if command == "list":
        print(*map(text, map(draw, range(COUNT))), sep="\n")
        return 0
    return int(make(Path(words[0]), words[1]) > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
