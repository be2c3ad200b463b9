"""What reading many results takes: CPU time and memory of whole commands over a results folder.

    sojourn run bakeoff ect1 hackathon linux72 scream-2024-10-31 --out results/many      # 515 runs, as a dataset
    python benches/report.py results/many [--rounds 3]

Runs in folders of their own are the other form (`--store folders`). Measurements are those that are shipped, unless
`SOJOURN_REFERENCE` names others. Peak memory is that of the process itself.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from measured import MeasureError, Spent, Spread, spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="results folder")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    environment = {"SOJOURN_REFERENCE": os.environ.get("SOJOURN_REFERENCE", os.devnull)}
    with tempfile.TemporaryDirectory() as scratch:
        page = ["-o", str(Path(scratch) / "page.html")]
        calls = {"report": page, "compare": [], "show": []}
        found: dict[str, list[Spent]] = {verb: [] for verb in calls}
        try:
            for _ in range(asked.rounds):
                for verb, options in calls.items():
                    command = [sys.executable, "-m", "sojourn", verb, str(asked.results), *options]
                    found[verb].append(spent(command, environment))
        except MeasureError as error:
            sys.exit(str(error))
    print(f"load {os.getloadavg()[0]:.1f}\n\n| command | CPU s, median (least-most) | most memory, MB |\n|---|---|---|")
    for verb, runs in found.items():
        print(
            f"| `{verb}` | {Spread.of([one.cpu_s for one in runs]).text()} | {max(one.peak_mb for one in runs):.0f} |"
        )


if __name__ == "__main__":
    main()
