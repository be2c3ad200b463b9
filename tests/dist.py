"""Builds what a release consists of into dist/, and tries each file in an environment of its own; `make dist`.

An sdist, wheels for glibc and for musl where the toolchain has its target, and SHA256SUMS. What cannot be built or
tried here is named. Nothing is published.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
BIN = ROOT / ".venv/bin"
GLIBC, MUSL = "x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl"
#: manylinux2014 is glibc 2.17, the oldest that Rust has.
PLATFORMS = {GLIBC: "manylinux2014", MUSL: "musllinux_1_2"}
SCENARIO = ROOT / "scenarios/prague-vs-cubic.toml"


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """A command that has to succeed."""
    print("+", *command, flush=True)
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done: subprocess.CompletedProcess[str] = subprocess.run(
        command,
        check=False,
        text=True,
        env=environment,
        **options,  # type: ignore[call-overload]
    )
    if done.returncode:
        raise SystemExit(f"dist: {Path(command[0]).name} ended with {done.returncode}\n{done.stderr or ''}".rstrip())
    return done


def targets() -> tuple[list[str], list[str]]:
    """Targets of wheels that this toolchain can build, and lines about the others."""
    rustup = shutil.which("rustup")
    listed = (
        subprocess.run([rustup, "target", "list", "--installed"], capture_output=True, text=True) if rustup else None
    )
    installed = listed.stdout.split() if listed else [GLIBC]
    skipped = [] if MUSL in installed else [f"skipped: musllinux wheel (rustup target add {MUSL})"]
    return [target for target in (GLIBC, MUSL) if target in installed], skipped


def build() -> list[str]:
    """The sdist and the wheels; lines about what was left out."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(BIN / "maturin", "sdist", "--out", DIST, cwd=ROOT)
    found, skipped = targets()
    for target in found:
        run(
            BIN / "maturin", "build", "--release", "--locked", "--zig", "--target", target,
            "--compatibility", PLATFORMS[target], "--out", DIST, cwd=ROOT,
        )  # fmt: skip
    return skipped


def try_out(artifact: Path, expected: Sequence[str]) -> None:
    """Installs one file into a clean environment and runs a scenario there; version and bytes are `expected`."""
    with tempfile.TemporaryDirectory(prefix="sojourn-dist-") as folder:
        venv = Path(folder, "venv")
        run(sys.executable, "-m", "venv", venv)
        run(venv / "bin/pip", "install", "-q", "--disable-pip-version-check", artifact)
        got = evidence(venv / "bin/sojourn", Path(folder))
        if got != expected:
            raise SystemExit(f"dist: {artifact.name}: expected {list(expected)}, found {list(got)}")
        for page in ("sojourn.1", "sojourn-run.1"):
            if not list(venv.rglob(page)):
                raise SystemExit(f"dist: {artifact.name}: the man page {page} is missing")
        print(f"{artifact.name}: installed, runs, same bytes as here", flush=True)


def evidence(sojourn: Path, folder: Path) -> Sequence[str]:
    """What an installation says its version is, and the digest of the series of a run."""
    # Outside of the repository, whose package would be found first.
    version = run(sojourn, "--version", cwd=folder, capture_output=True).stdout.strip()
    out = folder / "results"
    run(sojourn, "run", SCENARIO, "--out", out, "--fresh", cwd=folder, capture_output=True)
    (series,) = out.rglob("series.parquet")
    (manifest,) = out.rglob("manifest.json")
    engine = json.loads(manifest.read_text(encoding="utf-8")).get("version", "")
    return version, engine, hashlib.sha256(series.read_bytes()).hexdigest()


def sums() -> Path:
    """SHA256SUMS, as sha256sum reads it."""
    files = sorted(file for file in DIST.iterdir() if file.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (DIST / "SHA256SUMS").write_text("".join(lines), encoding="ascii")
    return DIST / "SHA256SUMS"


def main() -> int:
    """Ends with what was left out, and why."""
    skipped = build()
    with tempfile.TemporaryDirectory(prefix="sojourn-dist-") as folder:
        expected = evidence(BIN / "sojourn", Path(folder))
    for artifact in sorted(DIST.iterdir()):
        if "musllinux" in artifact.name:
            skipped.append(f"not tried: {artifact.name} (this system has glibc; release.yml installs it on Alpine)")
        else:
            try_out(artifact, expected)
    print(sums().read_text(encoding="ascii"), end="")
    print("\n".join(skipped))
    print("not built: the container (no engine is called from here; podman build .)")
    print(f"next: look at {DIST.relative_to(ROOT)}, then docs/guide/release.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
