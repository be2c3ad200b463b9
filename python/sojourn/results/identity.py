"""What a run is called and recognised by."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from sojourn import _core
from sojourn.scenario import head

RUN_ID = re.compile(r"[A-Za-z0-9_+@~-][A-Za-z0-9_.+@~-]*(/[A-Za-z0-9_+@~-][A-Za-z0-9_.+@~-]*)*")
SEED = re.compile(r"(.*)@seed([0-9]{1,18})")


def digest(resolved: str, version: str, algorithms: Mapping[str, str] | None = None) -> str:
    """What a run is recognised by: its resolved scenario, seed included, and the engine version.

    Algorithms from outside the engine count with the digests of their sources.
    """
    lines = [version, *(f"{name} {source}" for name, source in (algorithms or {}).items()), resolved]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def check_id(run_id: str) -> None:
    """Raises `ScenarioError` unless `run_id` can be a folder below the results."""
    if not RUN_ID.fullmatch(run_id):
        raise _core.ScenarioError(
            f"run name {run_id!r}: expected letters, digits and _ . + @ ~ - in parts separated by /, "
            "no part starting with a dot"
        )


def by_case_and_seed(run_id: str) -> tuple[str, int]:
    """The order of the runs of a dataset: the first seed of a case, then the others as numbers."""
    found = SEED.fullmatch(run_id)
    return (found[1], int(found[2])) if found else (run_id, -1)


def seed_of(resolved: str) -> int:
    """The seed in a resolved scenario."""
    return int(str(head(resolved).get("seed", 1)))
