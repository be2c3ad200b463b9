"""Builds a Linux kernel that runs in virtual time, from its source archive."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from sojourn.engines.linux import LinuxError, data

BINARY = "linux"
HZ = 1000


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
            target.write_bytes(data(name).read_bytes())
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
    fragment = data("config").read_text()
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
