"""What a server serves."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

#: Jobs that are not finished, and finished ones whose events are kept.
MOST_JOBS, KEPT_JOBS = 50, 200
#: Runs of a job.
MOST_RUNS = 1000
#: Of the body of a request.
MOST_BYTES = 4 << 20


def page_folder() -> Path:
    """Where `make web` puts the page."""
    return Path(str(resources.files("sojourn").joinpath("lab")))


@dataclass(frozen=True, slots=True)
class Setup:
    """Folders and bounds; all paths are absolute."""

    #: The one that it was started in: a text of the page reads no file outside of it.
    folder: Path
    #: Where results are looked for.
    results: Path
    #: Where those of the page's jobs go.
    out: Path
    #: The scenario that the page begins with; below `folder`.
    scenario: Path | None
    page: Path
    #: Runs at a time.
    at_once: int
