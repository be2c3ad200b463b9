"""Instructions per data packet beside those that were recorded: `make bench-check`.

    python benches/check.py [--bless]

Counts of valgrind do not depend on what else the machine does, nor much on which machine it is. They do depend on the
compiler, so they are compared only under the one that made benches/baseline.json. A case fails with more than 5 %
more instructions. `--bless` (`make bench-check BLESS=1`) records what was counted, to be committed with the change
that explains it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from measured import ROOT, MeasureError, bench, compiler, spent

BASELINE = ROOT / "benches/baseline.json"
#: Few and short: a minute of valgrind.
CASES = ("prague-1", "cubic-1", "hops-10", "flows-100", "dense-1000")
#: Relative; a rebuild of the same source moves a count by about a thousandth.
ALLOWED = 0.05
PROFILE = "bench"
ACCEPT = "make bench-check BLESS=1"


@dataclass(frozen=True)
class Baseline:
    """What was recorded, and what it was compiled with."""

    rustc: str
    profile: str
    #: By name of the case.
    instructions_per_packet: Mapping[str, float]

    @classmethod
    def read(cls, text: str) -> Baseline:
        """Raises ValueError with one line if it is not what `--bless` writes."""
        found = json.loads(text)
        expected = 'expected {"rustc": ..., "profile": ..., "instructions_per_packet": {"CASE": NUMBER}}'
        if not isinstance(found, dict) or found.keys() != {"rustc", "profile", "instructions_per_packet"}:
            raise ValueError(expected)
        counts = found["instructions_per_packet"]
        if not isinstance(counts, dict) or not all(isinstance(n, int | float) and n > 0 for n in counts.values()):
            raise ValueError(expected)
        return cls(str(found["rustc"]), str(found["profile"]), counts)

    def text(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"


@dataclass(frozen=True)
class Verdict:
    """A case beside what was recorded of it."""

    case: str
    now: float
    #: None if nothing was.
    before: float | None

    @property
    def change(self) -> float:
        """Relative; 0 where there is nothing to compare with."""
        return 0.0 if self.before is None else self.now / self.before - 1

    @property
    def failed(self) -> bool:
        return self.change > ALLOWED

    @property
    def stale(self) -> bool:
        """Whether it got so much better that the record no longer guards it."""
        return self.change < -ALLOWED

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.case:<12} {self.now:8.0f} instructions per packet, nothing recorded"
        said = "FAILED" if self.failed else "better, record it" if self.stale else "ok"
        return (
            f"{self.case:<12} {self.now:8.0f} instructions per packet, was {self.before:.0f}: {self.change:+.1%} {said}"
        )


def judge(baseline: Baseline | None, counted: Mapping[str, float]) -> list[Verdict]:
    before = baseline.instructions_per_packet if baseline else {}
    return [Verdict(case, now, before.get(case)) for case, now in counted.items()]


def reason_to_skip(baseline: Baseline | None, rustc: str, valgrind: str | None) -> str | None:
    """Why nothing can be compared here, if so."""
    if valgrind is None:
        return "valgrind is not installed"
    if baseline and (baseline.rustc, baseline.profile) != (rustc, PROFILE):
        return f"recorded with {baseline.rustc}, profile {baseline.profile}; this is {rustc}, profile {PROFILE}"
    return None


def instructions(report: Mapping[str, Any]) -> dict[str, float]:
    """Of the benchmark's JSON."""
    return {case["name"]: case["instructions_per_packet"] for case in report["cases"]}


def conclusion(verdicts: list[Verdict]) -> str:
    """What to do next."""
    if any(one.failed for one in verdicts):
        return f"more than {ALLOWED:.0%} more instructions: find out why, or accept them with `{ACCEPT}` and say why"
    if any(one.stale or one.before is None for one in verdicts):
        return f"record the new figures with `{ACCEPT}`"
    return f"no case takes more than {ALLOWED:.0%} more instructions than recorded"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bless", action="store_true", help="record what is counted")
    given = parser.parse_args()
    try:
        baseline = Baseline.read(BASELINE.read_text(encoding="utf-8")) if BASELINE.is_file() else None
    except ValueError as error:
        print(f"{BASELINE.relative_to(ROOT)}: {error}; write it with `{ACCEPT}`", file=sys.stderr)
        return 2
    # A new record may come from another compiler.
    if why := reason_to_skip(None if given.bless else baseline, compiler(), shutil.which("valgrind")):
        print(f"skipped: bench-check ({why}; to record anew: `{ACCEPT}`)")
        return 0
    try:
        program = bench("sojourn-sim", "engine")
        report = json.loads(spent([str(program), "--json", "--instructions", "--rounds", "0", *CASES]).output)
    except MeasureError as error:
        print(f"bench-check: {error}", file=sys.stderr)
        return 1
    verdicts = judge(baseline, instructions(report))
    print(*verdicts, sep="\n")
    if given.bless:
        counts = {name: round(count, 1) for name, count in instructions(report).items()}
        text = Baseline(compiler(), PROFILE, counts).text()
        fresh = BASELINE.with_suffix(".new")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(BASELINE)
        print(f"recorded: {BASELINE.relative_to(ROOT)}; commit it with the change that explains it")
        return 0
    print(conclusion(verdicts))
    return int(any(one.failed for one in verdicts))


if __name__ == "__main__":
    sys.exit(main())
