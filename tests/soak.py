"""What takes longer than the gate may: runs the stages that are named, or all, and prints what each took.

    make soak                                 # all stages, about two hours of two cores
    make soak STAGES="cases fuzz"
    make soak STAGES=cases FROM=100000 COUNT=100000

A stage whose tools are missing is skipped by name. `cases` and `release` go through drawn scenarios (`FROM`, `COUNT`),
with debug assertions and without; a case that fails is printed with the command that repeats it. `fuzz` is guided by
coverage, for `SECONDS` seconds a target; what it has learnt is kept in `fuzz/corpus`, and an input that fails in
`fuzz/artifacts`. `asan` runs the tests of the crates with `unsafe` code under AddressSanitizer, `miri` those of core
under Miri.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "fuzz"
CASES = ["-p", "sojourn-draw", "--test", "it", "every_small_case", "--", "--nocapture"]
#: Folders whose files a target begins with, besides what it has learnt.
SEEDS = {
    "scenario": ["scenarios"],
    "sweep": ["scenarios"],
    "trace": ["scenarios/traces"],
    "capture": ["crates/capture/src/read/tests"],
}
STATISTICS = re.compile(r"^stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb):\s+(\d+)", re.MULTILINE)


class MissingError(Exception):
    """Why a stage cannot run here."""


def setting(name: str, default: int) -> str:
    return os.environ.get(name) or str(default)


def call(command: list[str], **more: str) -> None:
    print(f"$ {' '.join(command)}", flush=True)
    subprocess.run(command, cwd=ROOT, env=os.environ | more, check=True)


def output(command: list[str]) -> tuple[int, str]:
    """How it ends, and all that it prints."""
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False
    )
    return done.returncode, done.stdout


def cases(count: int, *profile: str) -> None:
    chosen = {"SOJOURN_FROM": setting("FROM", 0), "SOJOURN_CASES": setting("COUNT", count)}
    call(["cargo", "test", "--locked", *profile, *CASES], **chosen)


def nightly(component: str = "") -> str:
    """The target of this machine, where there is a nightly compiler with this component."""
    if not shutil.which("rustup"):
        raise MissingError("no rustup")
    code, told = output(["rustc", "+nightly", "-vV"])
    if code:
        raise MissingError("no nightly compiler: rustup toolchain install nightly")
    if component:
        _, installed = output(["rustup", "component", "list", "--toolchain", "nightly", "--installed"])
        if component not in installed:
            raise MissingError(f"no {component}: rustup component add --toolchain nightly {component}")
    host = re.search(r"^host: (\S+)", told, re.MULTILINE)
    return host[1] if host else ""


def fuzz() -> None:
    nightly()
    if not shutil.which("cargo-fuzz"):
        raise MissingError("no cargo-fuzz: cargo install cargo-fuzz")
    if not shutil.which("c++"):
        raise MissingError("no C++ compiler, which libFuzzer needs")
    chosen = os.environ.get("TARGETS", "").split() or sorted(path.stem for path in (FUZZ / "targets").glob("*.rs"))
    call(["cargo", "+nightly", "fuzz", "build"])
    failed = []
    print("| target | inputs | inputs/s | MB |\n|---|---|---|---|", flush=True)
    for target in chosen:
        folders = [FUZZ / "corpus" / target, *(ROOT / folder for folder in SEEDS.get(target, ()))]
        folders[0].mkdir(parents=True, exist_ok=True)
        options = [f"-max_total_time={setting('SECONDS', 300)}", "-max_len=4000", "-timeout=20", "-rss_limit_mb=2048"]
        command = [
            "cargo",
            "+nightly",
            "fuzz",
            "run",
            target,
            *map(str, folders),
            "--",
            *options,
            "-print_final_stats=1",
        ]
        code, printed = output(command)
        found = dict(STATISTICS.findall(printed))
        numbers = [found.get(name, "?") for name in ("number_of_executed_units", "average_exec_per_sec", "peak_rss_mb")]
        print(f"| {target} | {' | '.join(numbers)} |", flush=True)
        if code:
            failed.append(target)
            print(printed[-4000:], flush=True)
    if failed:
        raise SystemExit(f"fuzz: {', '.join(failed)}: see fuzz/artifacts")


def asan() -> None:
    target = nightly()
    packages = ["-p", "sojourn-live", "-p", "sojourn-scream"]
    # Leaks of the test harness's threads are not ours.
    call(
        ["cargo", "+nightly", "test", "--locked", "--target", target, "--target-dir", "target/asan", *packages],
        RUSTFLAGS="-Zsanitizer=address",
        ASAN_OPTIONS="detect_leaks=0",
    )


def miri() -> None:
    nightly("miri")
    call(
        ["cargo", "+nightly", "miri", "test", "--locked", "--target-dir", "target/miri", "-p", "sojourn-core", "--lib"],
        MIRIFLAGS="-Zmiri-disable-isolation",
        PROPTEST_CASES="4",
    )


STAGES: dict[str, Callable[[], None]] = {
    "cases": lambda: cases(100_000, "--profile", "gate"),
    "release": lambda: cases(1_000_000, "--release"),
    "fuzz": fuzz,
    "asan": asan,
    "miri": miri,
}


def main(names: list[str]) -> int:
    if unknown := [name for name in names if name not in STAGES]:
        print(f"usage: soak.py [{'|'.join(STAGES)}]...: unknown stage {unknown[0]}", file=sys.stderr)
        return 2
    failed = []
    for name in names or STAGES:
        began = time.monotonic()
        try:
            STAGES[name]()
            end = "passed"
        except MissingError as why:
            end = f"SKIPPED ({why})"
        except (subprocess.CalledProcessError, SystemExit) as error:
            failed.append(name)
            end = f"FAILED ({error})"
        print(f"stage {name}: {end}, {time.monotonic() - began:.0f} s", flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
