"""Runs the stages of the gate, all of them or those that are named, and prints what each took of time and of CPU.

Stages run side by side where none needs what another makes, and print one after another. The last line counts the tests
that passed, failed and were skipped. A stage does not run if one that it comes after failed; the others do.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PYTHON = str(ROOT / ".venv/bin/python")
MAKE = ["make", "--no-print-directory", "PROFILE=gate"]
WHOLE = ["--profile", "gate", "--workspace", "--locked"]


class Stage(NamedTuple):
    command: list[str]
    #: Those that make what it needs; one cargo at a time compiles, and no more than two cores can be busy.
    after: tuple[str, ...] = ()


STAGES = {
    # Beside each other, since pip leaves a core idle and cargo does not.
    "compile": Stage(["cargo", "build", *WHOLE, "--bins", "--examples", "--tests"]),
    "build": Stage([*MAKE, "build"]),
    "lint": Stage([*MAKE, "lint"], ("compile", "build")),
    "demo": Stage([*MAKE, "demo"], ("build",)),
    "fuzz": Stage([*MAKE, "fuzz"], ("lint",)),
    "rust": Stage(["cargo", "test", *WHOLE, "--no-fail-fast"], ("fuzz",)),
    # Where the compiler, Node.js or a browser is missing, it says so, and so do the tests that need them.
    "web": Stage([*MAKE, "web"], ("lint",)),
    # Work is stolen because a few tests, those with a real kernel, take nearly all the time.
    "python": Stage(
        [PYTHON, "-m", "pytest", "--numprocesses", "auto", "--dist", "worksteal"], ("compile", "demo", "web")
    ),
}
RUST_RESULT = re.compile(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")
RUST_SKIP = re.compile(r"test (\S+) .*\.\.\. ignored(?:, (.*))?")
PYTHON_RESULT = re.compile(r"(\d+) (passed|failed|error|skipped)")
KINDS = {"passed": 0, "failed": 1, "error": 1, "skipped": 2}


class Result(NamedTuple):
    code: int
    seconds: float
    #: Seconds of processor time of all its processes, which others at work on the machine change little.
    cpu: float

    def __str__(self) -> str:
        return f"{self.seconds:.0f} s ({self.cpu:.0f} s of CPU)"


def run(stage: Stage, before: Iterable[Future[Result]], lines: SimpleQueue[str | None]) -> Result:
    """Its result once those before it are over; `lines` gets what it prints, and None at the end."""
    try:
        if any(result.result().code for result in before):
            lines.put("not run, since a stage before it failed\n")
            return Result(1, 0.0, 0.0)
        began = time.monotonic()
        lines.put(f"$ {' '.join(stage.command)}\n")
        with subprocess.Popen(
            stage.command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process:
            for line in process.stdout or ():
                lines.put(line)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        return Result(process.returncode, time.monotonic() - began, used.ru_utime + used.ru_stime)
    finally:
        lines.put(None)


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
    # The tests start the command a hundred times; each would compile its modules.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.monotonic()
    chosen = [name for name in STAGES if not names or name in names]
    printed: defaultdict[str, list[str]] = defaultdict(list)
    results: dict[str, Future[Result]] = {}
    with ThreadPoolExecutor(len(chosen)) as pool:
        queues: dict[str, SimpleQueue[str | None]] = {name: SimpleQueue() for name in chosen}
        for name in chosen:
            before = [results[other] for other in STAGES[name].after if other in results]
            results[name] = pool.submit(run, STAGES[name], before, queues[name])
        for name in chosen:
            for line in iter(queues[name].get, None):
                print(line, end="", flush=True)
                printed[name].append(line)
            print(f"stage {name}: {results[name].result()}", flush=True)
    for skip in filter(None, map(RUST_SKIP.match, printed["rust"])):
        print(f"SKIPPED {skip[1]}: {skip[2] or 'no reason given'}")
    whole = Result(0, time.monotonic() - began, sum(result.result().cpu for result in results.values()))
    print("stages:", ", ".join(f"{name} {result.result()}" for name, result in results.items()), end="; ")
    print(f"{whole} in all")
    total = counts(printed["rust"], printed["python"])
    # A run that dies without counting (a compile error, a crash) is a failure too.
    total[1] = total[1] or int(any(result.result().code for result in results.values()))
    print("{} passed, {} failed, {} skipped".format(*total))
    return int(total[1] != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
