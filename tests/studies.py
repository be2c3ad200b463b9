"""Runs of a study as summaries alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class StudyRun:
    """As much of a run as a study reads."""

    id: str
    goodput_mbps: float = 10.0
    p99_ms: float | None = 20.0
    utilisation: float | None = 0.9
    swept: dict[str, str] = field(default_factory=dict)
    complete: bool = True
    scenario: str = ""

    @property
    def manifest(self) -> dict[str, Any]:
        return {"id": self.id, "seed": 1}

    @property
    def summary(self) -> dict[str, Any]:
        return {"flows": [{"name": "a", "goodput_mbps": self.goodput_mbps}]}

    @property
    def queues(self) -> list[dict[str, Any]]:
        sojourn = {"p50": 1.0, "p99": self.p99_ms}
        return [{"name": "b", "qdisc": "pie", "utilisation": self.utilisation, "sojourn_ms": sojourn}]


def grid(axes: Mapping[str, list[str]], seeds: int = 1) -> list[StudyRun]:
    """The product of these values; delay and goodput depend on all of them and on the seed."""
    import itertools

    runs = []
    for values in itertools.product(*axes.values()):
        swept = dict(zip(axes, values, strict=True))
        for seed in range(seeds):
            size = sum((at + 1) * axes[name].index(value) for at, (name, value) in enumerate(swept.items()))
            name = "grid/" + "+".join(values).replace(" ", "-") + (f"@seed{seed + 1}" if seed else "")
            delay = 10.0 + 5 * size + seed
            runs.append(StudyRun(name, 10.0 + size + 0.1 * seed, delay, min(0.8 + 0.05 * size, 1.0), swept))
    return runs
