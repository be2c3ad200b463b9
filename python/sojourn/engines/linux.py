"""Hosts of a real Linux kernel: one of its own for each run, in virtual time, or this machine's.

Their packets pass the kernel's own queues, or those of the simulator in a middlebox between them: `linux` and
`linux:sojourn` in virtual time, `live:kernel` and `live` on this machine.

`SOJOURN_LINUX` names a folder that holds `run`, or a User-Mode Linux binary. `run --out DIR SCRIPT
ARG...` runs a script inside, with the host's files to read and `DIR` to write as `/run/out`.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import ClassVar

from sojourn import _core
from sojourn.engines import names
from sojourn.engines.interface import Difference, EngineError, Name, Options
from sojourn.files import write_whole
from sojourn.scenario import Resolved

VARIABLE = "SOJOURN_LINUX"
LIMIT_VARIABLE = "SOJOURN_LINUX_LIMIT_S"
STALL_S = 120
LIMIT_S = 3600
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
    return Kernel(("bash", str(data("run")), "--kernel", str(place)), _identity(place))


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


def data(name: str) -> Path:
    """A file of the package that goes with a kernel."""
    return Path(str(resources.files("sojourn").joinpath("data/linux", name)))


def this_machine() -> Kernel:
    """The kernel that runs this program."""
    return Kernel((), platform.release())


@dataclass(frozen=True, slots=True)
class _Options:
    """As `_core.KernelOptions`."""

    bound_s: float | None
    super_packets: bool
    keep_awake: bool
    names: str | None
    allows_exec: bool


@dataclass(frozen=True)
class Linux:
    """A kernel, and what carries the packets between its hosts. It draws its own random numbers."""

    repeats: ClassVar[bool] = False
    least_s: ClassVar[float] = 3.0
    kernel: Kernel
    capabilities: _core.Capabilities
    stall_s: int = STALL_S
    limit_s: int = field(default_factory=limit_s)
    name: Name = "linux"
    options: Options = Options()  # noqa: RUF009 (frozen)

    @classmethod
    def find(cls, name: Name, options: Options) -> Linux:
        """The engine of this name; raises `EngineError` if there is no such kernel, or it does not answer."""
        if name.startswith("live"):
            if options.is_visible:
                names.check()
            kernel = this_machine()
            return cls(kernel, capabilities(kernel, fresh=True), name=name, options=options)
        kernel = find()
        return cls(kernel, capabilities(kernel), name=name, options=options)

    @property
    def is_real_time(self) -> bool:
        return not self.kernel.launcher

    @property
    def packets_per_s(self) -> float:
        return 200_000 if self.is_real_time else 2_000

    @property
    def has_middlebox(self) -> bool:
        """Whether the packets pass our queues."""
        return self.name in ("live", "linux:sojourn")

    @cached_property
    def _engine(self) -> _core.Engine:
        kernel, bounds, options = self.kernel, (self.stall_s, self.limit_s), self.options
        bound = f" {options.bound_s:g} s" if self.has_middlebox else ""
        carried = " super-packets" if options.super_packets else ""
        carried += " awake" if options.keep_awake else ""
        return _core.Engine.linux(
            f"{self.name} {kernel.identity}{bound}{carried}",
            self.capabilities,
            list(kernel.launcher),
            agent(),
            *bounds,
            _Options(
                bound_s=options.bound_s if self.has_middlebox else None,
                super_packets=options.super_packets,
                keep_awake=options.keep_awake,
                names=names.prefix() if options.is_visible else None,
                allows_exec=options.allow_exec,
            ),
        )

    @property
    def version(self) -> str:
        return self._engine.version

    def check(self, scenario: Resolved) -> None:
        try:
            self._engine.check(scenario.text)
        except ValueError as error:
            raise LinuxError(str(error)) from None

    def nearest(self, scenario: Resolved) -> tuple[Resolved, tuple[Difference, ...]]:
        if self.has_middlebox:
            # Our queues and end points do what the kernel cannot.
            return scenario, ()
        text, differences = self.capabilities.nearest(scenario.text)
        return replace(scenario, text=text), tuple(Difference(**row) for row in json.loads(differences))

    def commands(self, scenario: Resolved) -> list[str]:
        try:
            return self._engine.commands(scenario.text)
        except ValueError as error:
            raise LinuxError(str(error)) from None

    def names(self, scenario: Resolved) -> list[str]:
        return self._engine.names(scenario.text)

    def start(self, scenario: Resolved, captures: Path | None = None) -> _core.Run:
        return self._engine.start(scenario.text, captures)
