"""A wheel whose code is laid out by a profile of runs, and what that gains: `make pgo`.

    python benches/pgo.py [--out target/pgo] [--plain FOLDER]

1. The native module is compiled with counters (`-Cprofile-generate`).
2. It does the shipped scenarios and the L4S runs of the suite ect1.
3. It is compiled again with what was counted (`-Cprofile-use`): OUT/wheels.
4. Both modules do runs that are not among those of step 2, in turn; the ratios of the engine's CPU times are printed.

FOLDER holds the package without a profile (default: `python`, after `make build`). Results of both are the same to the
byte, which step 4 checks. Needs llvm-profdata of rustc's LLVM: `rustup component add llvm-tools`, or Debian's llvm-NN.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from measured import ROOT, MeasureError, Spread, paired_ratios, rustc, spent

#: What the profile is of.
TRAINING = ("^ect1/l4s", *(str(path) for path in sorted((ROOT / "scenarios").glob("*.toml"))))
#: What it is judged by: none of these is in the training.
LINK = '[[link]]\nname = "bneck"\ndelay = "10ms"\n'
JUDGED = {
    "one CUBIC over pfifo, 100 Mbit/s": 'duration = "60s"\n' + LINK + 'rate = "100Mbit"\n'
    '[[flow]]\nname = "f"\ncc = "cubic"\n',
    "100 flows, Prague and CUBIC, dualpi2, 1 Gbit/s": 'duration = "5s"\n' + LINK + 'rate = "1Gbit"\nqdisc = "dualpi2"\n'
    '[[flow]]\nname = "c"\ncc = "cubic"\nflows = 50\n[[flow]]\nname = "p"\ncc = "prague"\nflows = 50\n',
    "4 BBR over fq_codel, 200 Mbit/s": 'duration = "20s"\n' + LINK + 'rate = "200Mbit"\nqdisc = "fq_codel"\n'
    '[[flow]]\nname = "f"\ncc = "bbr"\nflows = 4\n',
    "2 SCE CUBIC over cake, 50 Mbit/s": 'duration = "60s"\n' + LINK + 'rate = "50Mbit"\nqdisc = "cake sce"\n'
    '[[flow]]\nname = "f"\ncc = "cubic-sce"\nflows = 2\n',
}
ROUNDS = 5
#: A run in the thread that holds it.
ENGINE = """
import json, sys, time
import sojourn
run = sojourn.start(sys.argv[1])
begin = time.thread_time()
while run.advance() != "ended":
    pass
result = run.finish()
print(json.dumps([time.thread_time() - begin, result.summary]))
"""


def about(key: str) -> str:
    """A line of `rustc -vV`."""
    return dict(line.split(": ", 1) for line in rustc("-vV").splitlines()[1:])[key]


def profdata() -> Path:
    """llvm-profdata that reads what this rustc writes.

    Raises:
        MeasureError: there is none.
    """
    if found := sorted(Path(rustc("--print", "sysroot")).glob("lib/rustlib/*/bin/llvm-profdata")):
        return found[0]
    major = about("LLVM version").partition(".")[0]
    if in_path := shutil.which(f"llvm-profdata-{major}"):
        return Path(in_path)
    raise MeasureError(
        f"no llvm-profdata of LLVM {major}: `rustup component add llvm-tools`, or install Debian's llvm-{major}"
    )


def build(out: Path, name: str, flag: str) -> Path:
    """Compiles the wheel with a compiler flag, and unpacks it: the folder that holds the package."""
    maturin = shutil.which("maturin", path=str(Path(sys.executable).parent)) or "maturin"
    wheels = out / "wheels" if name == "use" else out / f"wheels-{name}"
    shutil.rmtree(wheels, ignore_errors=True)
    # With --target, build scripts and macros are compiled without the flag.
    command = [maturin, "build", "--release", "--locked", "--target", about("host"), "--target-dir", str(out / name)]
    # MeasureError has the last line of what the compiler said.
    spent([*command, "-m", str(ROOT / "crates/py/Cargo.toml"), "-o", str(wheels)], {"RUSTFLAGS": flag})
    package = out / f"package-{name}"
    shutil.rmtree(package, ignore_errors=True)
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(package)
    return package


def train(package: Path, out: Path) -> None:
    command = [sys.executable, "-m", "sojourn", "run", *TRAINING, "--fresh", "--jobs", "1", "--out", str(out)]
    spent(command, {"PYTHONPATH": str(package)})


def engine_s(package: Path, scenario: Path) -> tuple[float, str]:
    """CPU seconds of the engine alone, and the summary of the run."""
    found = spent([sys.executable, "-c", ENGINE, str(scenario)], {"PYTHONPATH": str(package)})
    seconds, summary = json.loads(found.output)
    return seconds, summary


def gain(plain: Path, trained: Path) -> dict[str, Spread]:
    """CPU time of the engine with the profile as a ratio to that without, of each judged run.

    Raises:
        MeasureError: the results are not the same.
    """
    ratios = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in JUDGED.items():
            file = Path(scratch) / "judged.toml"
            file.write_text(f'name = "judged"\n{text}', encoding="utf-8")
            rounds = [(engine_s(trained, file), engine_s(plain, file)) for _ in range(ROUNDS)]
            if any(with_it[1] != without[1] for with_it, without in rounds):
                raise MeasureError(f"{name}: the profile changed the results")
            ratios[name] = paired_ratios([one[0][0] for one in rounds], [one[1][0] for one in rounds])
    return ratios


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "target/pgo")
    parser.add_argument("--plain", type=Path, default=ROOT / "python")
    given = parser.parse_args()
    out: Path = given.out.resolve()
    try:
        tool = profdata()
    except MeasureError as error:
        print(f"skipped: profile-guided build ({error})")
        return 0
    try:
        raw = out / "raw"
        shutil.rmtree(raw, ignore_errors=True)
        raw.mkdir(parents=True)
        print("compiling with counters", flush=True)
        counting = build(out, "generate", f"-Cprofile-generate={raw}")
        for file in raw.iterdir():
            file.unlink()
        print("running what the profile is of", flush=True)
        train(counting, out / "runs")
        profile = out / "merged.profdata"
        spent([str(tool), "merge", "-o", str(profile), *(str(file) for file in raw.glob("*.profraw"))])
        print("compiling with the profile", flush=True)
        trained = build(out, "use", f"-Cprofile-use={profile}")
        for name, ratio in gain(given.plain.resolve(), trained).items():
            print(f"{name}: CPU time {ratio.text()} of that without the profile")
    except MeasureError as error:
        print(f"pgo: {error}", file=sys.stderr)
        return 1
    print(*(out / "wheels").glob("*.whl"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
