"""Runs the stages of the gate, all of them or those that are named, and prints what each took.

The last line counts the tests that passed, failed and were skipped. A stage before the tests that fails ends the gate;
the Rust and the Python tests both run, whatever the others gave.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = str(ROOT / ".venv/bin/python")
MAKE = ["make", "--no-print-directory", "PROFILE=gate"]
STAGES = {
    **{target: [*MAKE, target] for target in ("build", "lint", "demo", "fuzz")},
    "rust": ["cargo", "test", "--profile", "gate", "--workspace", "--locked", "--no-fail-fast"],
    # Work is stolen because a few tests, those with a real kernel, take nearly all the time.
    "python": [PYTHON, "-m", "pytest", "--numprocesses", "auto", "--dist", "worksteal"],
}
TESTS = ("rust", "python")
RUST_RESULT = re.compile(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")
RUST_SKIP = re.compile(r"test (\S+) .*\.\.\. ignored(?:, (.*))?")
PYTHON_RESULT = re.compile(r"(\d+) (passed|failed|error|skipped)")
KINDS = {"passed": 0, "failed": 1, "error": 1, "skipped": 2}


def run(command: list[str]) -> tuple[int, list[str]]:
    """The exit code, and the lines that were printed meanwhile."""
    print("$", " ".join(command), flush=True)
    lines = []
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode, lines


def counts(rust: Iterable[str], python: list[str]) -> list[int]:
    """Tests that passed, failed and were skipped, by what cargo and pytest print."""
    total = [0, 0, 0]
    for line in rust:
        if found := RUST_RESULT.match(line):
            total = [sum(pair) for pair in zip(total, map(int, found.groups()), strict=True)]
    for number, kind in PYTHON_RESULT.findall(python[-1] if python else ""):
        total[KINDS[kind]] += int(number)
    return total


def main(names: list[str]) -> int:
    if unknown := [name for name in names if name not in STAGES]:
        print(f"usage: gate.py [{'|'.join(STAGES)}]...: unknown stage {unknown[0]}", file=sys.stderr)
        return 2
    # The gate judges the change, not the dice: explore with another seed and more cases by hand.
    os.environ.setdefault("PROPTEST_RNG_SEED", "1")
    os.environ.setdefault("PYO3_PYTHON", PYTHON)
    seconds: dict[str, float] = {}
    lines: dict[str, list[str]] = {}
    failed = False
    for name in names or STAGES:
        began = time.monotonic()
        code, lines[name] = run(STAGES[name])
        seconds[name] = time.monotonic() - began
        print(f"stage {name}: {seconds[name]:.0f} s", flush=True)
        failed = failed or code != 0
        if failed and name not in TESTS:
            break
    for skip in filter(None, map(RUST_SKIP.match, lines.get("rust", []))):
        print(f"SKIPPED {skip[1]}: {skip[2] or 'no reason given'}")
    print("stages:", ", ".join(f"{name} {time:.0f} s" for name, time in seconds.items()), end="; ")
    print(f"{sum(seconds.values()):.0f} s in all")
    total = counts(lines.get("rust", []), lines.get("python", []))
    # A run that dies without counting (a compile error, a crash) is a failure too.
    total[1] = total[1] or int(failed)
    print("{} passed, {} failed, {} skipped".format(*total))
    return int(total[1] != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
