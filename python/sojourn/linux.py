"""The engine that is a real Linux kernel in virtual time: finding it, refusing, starting, building.

`SOJOURN_LINUX` names a folder that holds `run`, or a User-Mode Linux binary. `run --out DIR SCRIPT
ARG...` runs a script inside, with the host's files to read and `DIR` to write as `/run/out`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from sojourn import _core
from sojourn.engines import EngineError
from sojourn.files import write_whole
from sojourn.scenario import Resolved

VARIABLE = "SOJOURN_LINUX"
LIMIT_VARIABLE = "SOJOURN_LINUX_LIMIT_S"
BINARY = "linux"
LIMIT_S = 3600
HZ = 1000
# Loads the native module alone: the inside needs nothing else of Python.
INSIDE = (
    "import sys; from importlib.util import module_from_spec as m, spec_from_file_location as s; "
    "p = s('_core', sys.argv[1]); c = m(p); p.loader.exec_module(c); c.linux_inside(sys.argv[2])"
)


class LinuxError(EngineError):
    """What the kernel cannot do, or that there is none; one line for the user."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel in virtual time: the command that starts it, and what distinguishes it from others."""

    launcher: tuple[str, ...]
    identity: str


def find() -> Kernel:
    """The kernel that `SOJOURN_LINUX` names; raises `LinuxError` if there is none."""
    named = os.environ.get(VARIABLE)
    if not named:
        raise LinuxError(
            f"no Linux kernel in virtual time: set {VARIABLE} to a folder that holds `run`, or to a User-Mode Linux "
            "binary; `sojourn kernel build SOURCE.tar.xz` makes one"
        )
    limit_s()
    place = Path(named).resolve()
    if place.is_dir():
        if not (place / "run").is_file():
            raise LinuxError(f"{VARIABLE}={named}: expected a folder that holds `run`, or a User-Mode Linux binary")
        return Kernel((str(place / "run"),), _identity(place))
    if not (place.is_file() and os.access(place, os.X_OK)):
        raise LinuxError(f"{VARIABLE}={named}: expected a folder that holds `run`, or a User-Mode Linux binary")
    return Kernel(("bash", str(_data("run")), "--kernel", str(place)), _identity(place))


def capabilities(kernel: Kernel, *, fresh: bool = False) -> _core.Capabilities:
    """What the kernel has: asked once per kernel, or again if `fresh`, and kept in the user's cache.

    Raises `LinuxError` with one line if the kernel fails.
    """
    kept = _cache() / f"{kernel.identity}-{_core.version()}.json"
    if not fresh:
        with suppress(OSError, ValueError):
            return _core.Capabilities(kept.read_text())
    try:
        found = _core.Capabilities.ask(list(kernel.launcher), agent(), limit_s())
    except RuntimeError as error:
        raise LinuxError(str(error)) from None
    # Without a place to keep it, the next run asks again.
    with suppress(OSError):
        write_whole(kept, found.json)
    return found


def _cache() -> Path:
    """Where capabilities are kept (XDG Base Directory Specification: a relative path does not count)."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".cache") / "sojourn" / "linux"


def agent() -> list[str]:
    """The command that calls the native module inside; the folder is its last argument."""
    return [sys.executable, "-I", "-S", "-c", INSIDE, _core.__file__]


def check(resolved: Resolved, found: _core.Capabilities) -> None:
    """Raises `LinuxError` with key and reason if the kernel that has these capabilities cannot do this scenario."""
    try:
        found.check(resolved.text)
    except ValueError as error:
        raise LinuxError(str(error)) from None


def limit_s() -> int:
    """Wall time after which a guest is ended; raises `LinuxError` if `SOJOURN_LINUX_LIMIT_S` is no number."""
    text = os.environ.get(LIMIT_VARIABLE, str(LIMIT_S))
    if not (text.isdecimal() and int(text) > 0):
        raise LinuxError(f"{LIMIT_VARIABLE}={text}: expected seconds, a whole number above 0")
    return int(text)


@cache
def _identity(place: Path) -> str:
    """A hash of the kernel's files."""
    files = [place] if place.is_file() else sorted(file for file in place.iterdir() if file.is_file())
    sums = hashlib.sha256()
    for file in files:
        sums.update(file.name.encode() + b"\0" + file.read_bytes())
    return sums.hexdigest()[:16]


def _data(name: str) -> Path:
    return Path(str(resources.files("sojourn").joinpath("data/linux", name)))


def build(source: Path, output: Path, *, jobs: int | None = None, say: Callable[[str], None] = print) -> Path:
    """Builds a kernel from a source archive into a folder that holds `run`; returns the folder.

    Needs make, a C compiler, flex, bison and bc; about 5 minutes on two cores. Raises `LinuxError`.
    """
    if not source.is_file():
        raise LinuxError(f"{source}: expected a kernel source archive, such as linux-7.2.tar.xz")
    missing = [tool for tool in ("make", "gcc", "flex", "bison", "bc", "strip") if not shutil.which(tool)]
    if missing:
        raise LinuxError(f"kernel build: not installed: {', '.join(missing)}")
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sojourn-kernel-") as scratch:
        say(f"unpacking {source.name}")
        try:
            with tarfile.open(source) as archive:
                archive.extractall(scratch, filter="tar")
        except (tarfile.TarError, OSError) as error:
            raise LinuxError(f"{source}: {error}") from None
        found = [folder for folder in Path(scratch).glob("*") if (folder / "arch" / "um" / "Kconfig").is_file()]
        if not found:
            raise LinuxError(f"{source}: expected a kernel source tree with arch/um")
        tree = found[0]
        _configure(tree, say)
        say("compiling")
        _make(tree, f"-j{jobs or os.cpu_count() or 1}", "linux")
        for name, mode in (("run", 0o755), ("init", 0o755)):
            target = output / name
            target.write_bytes(_data(name).read_bytes())
            target.chmod(mode)
        binary = output / BINARY
        building = output / f".{BINARY}"
        shutil.copy2(tree / "linux", building)
        subprocess.run(["strip", str(building)], check=True)  # noqa: S607
        building.replace(binary)
    for tool in ("ip", "tc", "ethtool"):
        if not shutil.which(tool, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"):
            say(f"warning: {tool} is not installed; runs need it (packages iproute2 and ethtool)")
    return output


def _configure(tree: Path, say: Callable[[str], None]) -> None:
    say("configuring")
    # The tick rate has no question of its own on this architecture.
    kconfig = tree / "arch" / "um" / "Kconfig"
    default = re.compile(r"(config HZ\b[^\n]*\n(?:[ \t]+[^\n]*\n)*?[ \t]+default )\d+")
    text, changes = default.subn(rf"\g<1>{HZ}", kconfig.read_text())
    if changes != 1:
        raise LinuxError(f"{kconfig.relative_to(tree.parent)}: expected one default of HZ, found {changes}")
    kconfig.write_text(text)
    _make(tree, "defconfig")
    fragment = _data("config").read_text()
    with (tree / ".config").open("a") as config:
        config.write(fragment)
    _make(tree, "olddefconfig")
    chosen = set((tree / ".config").read_text().splitlines())
    absent = [line for line in fragment.splitlines() if line.startswith("CONFIG_") and line not in chosen]
    if "CONFIG_UML_TIME_TRAVEL_SUPPORT=y" in absent:
        raise LinuxError("this source has no time travel for User-Mode Linux (5.4 and later)")
    for line in absent:
        say(f"warning: this source has no {line.removesuffix('=y')}")


def _make(tree: Path, *words: str) -> None:
    command = ["make", "-s", "-C", str(tree), "ARCH=um", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise LinuxError(f"make {' '.join(words)}: {said[-1] if said else f'exit status {done.returncode}'}")
