"""The corpus of the gate: 40 small drawn cases with what Linux 7.2 gave, and which quantities differ today.

    python tests/kernel_cases.py choose RECORDS   # from a campaign's kernel.jsonl: cases of few packets, of all strata
    python tests/kernel_cases.py note             # writes the disagreements of today

A disagreement that is new fails the gate, and so does one that is gone but still noted.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from sojourn.crosscheck import campaign, records

FOLDER = Path(__file__).parent / "kernel-cases"
RECORDS, NOTED = FOLDER / "linux-7.2.jsonl.xz", FOLDER / "disagreements.json"
CASES = 40


def disagreements(out: Path) -> tuple[dict[str, list[str]], int]:
    """Of each case the quantities outside tolerance, and how many were compared."""
    found = campaign.Campaign()
    for index in sorted({int(case.split("-")[2]) for case, _ in records.read(RECORDS)}):
        one = campaign.run(out, 1, [index], known=RECORDS, runs=1, jobs=1)
        found.verdicts += one.verdicts
    outside: dict[str, list[str]] = defaultdict(list)
    for verdict in found.disagreements:
        outside[verdict.case].append(f"{verdict.of} {verdict.name}")
    return {case: sorted(names) for case, names in sorted(outside.items())}, len(found.verdicts)


def choose(source: Path) -> None:
    """Of each stratum the cases with the fewest packets that the kernel ran, as many of one as of another."""
    kept = records.read(source)
    by_stratum: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for case, run in kept:
        if run == 1:
            events = sum(value.events for value in kept[case, 1].values if value.name == "goodput")
            if events:
                by_stratum[campaign.named(case).stratum].append((events, case))
    ranked = [sorted(cases) for cases in by_stratum.values()]
    chosen: list[str] = []
    for place in range(max(map(len, ranked))):
        chosen += [cases[place][1] for cases in ranked if place < len(cases)]
    names = set(chosen[:CASES])
    records.write(RECORDS, (record for record in kept.values() if record.case in names))


def note() -> None:
    """Writes what differs today."""
    with tempfile.TemporaryDirectory() as folder:
        outside, count = disagreements(Path(folder))
    NOTED.write_text(json.dumps({"compared": count, "outside": outside}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["choose", source]:
            choose(Path(source))
        case ["note"]:
            note()
        case _:
            sys.exit(__doc__)
