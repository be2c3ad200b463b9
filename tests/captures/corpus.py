"""Makes the corpus of captures, and measures what the analysis says of their senders.

    python tests/captures/corpus.py make FOLDER linux|sim [SEED]
    python tests/captures/corpus.py score SEED FOLDER SEED FOLDER...
    python tests/captures/corpus.py list

Cases that are there already are left alone, so an interrupted run goes on. A kernel is found through SOJOURN_LINUX, the
command through SOJOURN or beside this Python. `score` writes docs/results/captures.md; the seed that was held back
comes first. It wants the example `inspect`: `cargo build --profile gate -p sojourn-inspect --example inspect`.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import on_linux
import on_sim
import score
from draws import SEED, Case, cases

MAKERS = {"linux": (on_linux.make, "pcap"), "sim": (on_sim.make, "pcapng")}


def make(folder: Path, engine: str, seed: int = SEED) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    maker, suffix = MAKERS[engine]
    failed = 0
    for case in cases(seed):
        to = folder / f"{case.index:03}.{suffix}"
        if case.engine != engine or to.exists():
            continue
        fault = maker(case, to)
        failed += bool(fault)
        print(f"{case.index:03}", fault or "made", flush=True)
    return failed


def text(case: Case) -> str:
    return json.dumps(dataclasses.asdict(case))


def main(command: str, *words: str) -> int:
    if command == "list":
        print(*map(text, cases()), sep="\n")
        return 0
    if command == "score":
        pairs = zip(words[::2], words[1::2], strict=True)
        held_back, *development = [(int(seed), Path(folder)) for seed, folder in pairs]
        return score.write(held_back, *development)
    return int(make(Path(words[0]), words[1], *map(int, words[2:])) > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
