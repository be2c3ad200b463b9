"""A real Linux kernel in virtual time; a kernel of its own for each run."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import ClassVar

from sojourn import _core, linux
from sojourn.engines import Difference, Name
from sojourn.scenario import Resolved

STALL_S = 120


@dataclass(frozen=True, slots=True)
class Linux:
    """The kernel that `SOJOURN_LINUX` names. It draws its own random numbers."""

    name: ClassVar[Name] = "linux"
    repeats: ClassVar[bool] = False
    packets_per_s: ClassVar[float] = 2_000
    least_s: ClassVar[float] = 3.0
    kernel: linux.Kernel
    capabilities: _core.Capabilities
    stall_s: int = STALL_S
    limit_s: int = field(default_factory=linux.limit_s)

    @classmethod
    def find(cls) -> Linux:
        """The kernel that `SOJOURN_LINUX` names; raises `LinuxError` if there is none, or it does not answer."""
        kernel = linux.find()
        return cls(kernel, linux.capabilities(kernel))

    @property
    def version(self) -> str:
        return f"{_core.version()} linux {self.kernel.identity}"

    def check(self, scenario: Resolved) -> None:
        linux.check(scenario, self.capabilities)

    def nearest(self, scenario: Resolved) -> tuple[Resolved, tuple[Difference, ...]]:
        text, differences = self.capabilities.nearest(scenario.text)
        return replace(scenario, text=text), tuple(Difference(**row) for row in json.loads(differences))

    def start(self, scenario: Resolved) -> _core.Run:
        launcher, bounds = list(self.kernel.launcher), (self.stall_s, self.limit_s)
        engine = _core.Engine.linux(self.kernel.identity, self.capabilities, launcher, linux.agent(), *bounds)
        return engine.start(scenario.text)
