"""The picture of the tutorial: what `sojourn plot` draws of its runs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from matplotlib.figure import Figure

import sojourn

HOME = Path(__file__).resolve().parents[2] / "scenarios/home.toml"


def tutorial() -> Figure:
    """Three queues of a home link, one above the other."""
    with tempfile.TemporaryDirectory() as folder:
        return sojourn.run(HOME, out=folder).plot("rate", "rtt", "queue_delay")


FIGURES = {"tutorial": tutorial}
