"""Makes the lab's page: the engine as WebAssembly, the scripts, the scenarios, and a copy for `sojourn serve`.

What a machine lacks for it is named in one line, and nothing is made: `skipped: the lab's page (...)`. With `--require`
that is an error. Steps whose output is newer than all that they read are left out.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
WASM = WEB / "src/wasm"
TARGET = "wasm32-unknown-unknown"


class MissingError(Exception):
    """What the machine lacks, and how to get it."""


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], cwd=cwd, check=True, env={**os.environ, **(env or {})})


def said(*command: str) -> str | None:
    """What a command prints; None if it fails, or is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def is_current(output: Path, *sources: Path) -> bool:
    """Whether the output is newer than every source file."""
    if not output.exists():
        return False
    made = output.stat().st_mtime
    files = (file for source in sources for file in ([source] if source.is_file() else source.rglob("*")))
    return all(file.stat().st_mtime <= made for file in files if file.is_file())


def compiler() -> tuple[list[str], dict[str, str]]:
    """The cargo that compiles for browsers, its options and its environment.

    With the source of Rust's library this is compiled for size, too, which makes the module 5 % smaller. That is an
    option of nightly compilers, and of a stable one with RUSTC_BOOTSTRAP, as Linux's own build uses it.
    """
    small = ["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=optimize_for_size"]
    root = said("rustc", "--print", "sysroot")
    if root is not None:
        library = Path(root) / "lib/rustlib/src/rust/library"
        if library.exists() or said("rustup", "component", "add", "rust-src") is not None:
            return ["cargo", "build", *small], {"RUSTC_BOOTSTRAP": "1"}
        if (Path(root) / "lib/rustlib" / TARGET).exists() or said("rustup", "target", "add", TARGET) is not None:
            return ["cargo", "build"], {}
    if (source := os.environ.get("RUST_STD_SRC")) and said("cargo", "+nightly", "--version"):
        return ["cargo", "+nightly", "build", *small], {"__CARGO_TESTS_ONLY_SRC_ROOT": source}
    raise MissingError(
        "Rust's library for browsers: `rustup component add rust-src`, or a nightly compiler "
        "and the library's source in RUST_STD_SRC"
    )


def without_paths() -> list[str]:
    """Options by which messages of panics name no folder of this machine."""
    crates = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry/src"
    library = Path(said("rustc", "--print", "sysroot") or "/") / "lib/rustlib/src/rust"
    flags = [f"--remap-path-prefix={folder}/=" for folder in (crates, library)]
    return ["--config", f"target.{TARGET}.rustflags={flags}"]


def bindgen() -> str:
    """The program of the version that the crates are locked to."""
    lock = (ROOT / "Cargo.lock").read_text()
    found = re.search(r'name = "wasm-bindgen"\nversion = "([^"]+)"', lock)
    if found is None:
        raise MissingError("Cargo.lock names no wasm-bindgen")
    version = found[1]
    program = shutil.which("wasm-bindgen") or str(Path.home() / ".cargo/bin/wasm-bindgen")
    if (said(program, "--version") or "").split()[-1:] != [version]:
        # Without what its test runner needs.
        run(
            "cargo",
            "install",
            "wasm-bindgen-cli",
            "--version",
            version,
            "--no-default-features",
            "--bin",
            "wasm-bindgen",
        )
        program = str(Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "bin/wasm-bindgen")
    return program


def packages() -> None:
    if not is_current(WEB / "node_modules/.package-lock.json", WEB / "package-lock.json"):
        run(npm(), "ci", "--no-audit", "--no-fund", cwd=WEB)


def wasm() -> None:
    module = WASM / "sojourn_bg.wasm"
    if is_current(module, ROOT / "crates", ROOT / "Cargo.toml", ROOT / "Cargo.lock"):
        return
    build, env = compiler()
    options = ["--profile", "web", "--locked", "--target", TARGET, *without_paths()]
    run(*build, *options, "-p", "sojourn-wasm", env=env)
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    compiled = folder / TARGET / "web/sojourn_wasm.wasm"
    made = WASM.with_name("wasm.part")
    shutil.rmtree(made, ignore_errors=True)
    run(bindgen(), "--target", "web", "--out-dir", made, "--out-name", "sojourn", compiled)
    # Functions made of one generic have like names and like code: one after the other, they pack 9 % smaller. What
    # wasm-opt optimises beyond the compiler is as large when it is packed.
    order = ("--detect-features", "--reorder-functions-by-name", "--strip-debug", "--strip-producers")
    named = made / "sojourn_bg.wasm"
    run("node", WEB / "node_modules/binaryen/bin/wasm-opt", *order, named, "-o", named)
    print(f"the module: {len(gzip.compress(named.read_bytes())) / 1000:.0f} kB gzipped")
    shutil.rmtree(WASM, ignore_errors=True)
    made.rename(WASM)


def npm() -> str:
    found = shutil.which("npm")
    if found is None:
        raise MissingError("npm, of Node.js 20 or newer: `apt-get install nodejs npm`")
    return found


def scripts() -> None:
    run(npm(), "run", "--silent", "check", cwd=WEB)
    run(npm(), "run", "--silent", "build", cwd=WEB)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make.py", description=__doc__)
    parser.add_argument("--require", action="store_true", help="fail where something is missing")
    required = parser.parse_args(arguments).require
    try:
        packages()
        wasm()
        scripts()
        run(sys.executable, WEB / "scenarios.py", WEB / "dist/scenarios")
    except MissingError as error:
        print(f"skipped: the lab's page ({error})")
        return int(required)
    except subprocess.CalledProcessError as error:
        print(f"make.py: {error.cmd[0]} failed with {error.returncode}", file=sys.stderr)
        return 1
    served = ROOT / "python/sojourn/lab"
    part = served.with_name("lab.part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(WEB / "dist", part)
    shutil.rmtree(served, ignore_errors=True)
    part.rename(served)
    print(f"the page is in {(WEB / 'dist').relative_to(ROOT)}: any static server can serve it, or `sojourn serve`")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
