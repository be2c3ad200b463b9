"""A sender that answers nothing: its window is a constant."""

from typing import Any

import sojourn


@sojourn.controller("fixed")
class Fixed:
    """Sends a constant window, whatever is marked or lost."""

    def __init__(self, window: int = 20):
        self.window = window

    def on_ack(self, now: float, ack: Any, win: Any) -> None:
        win.cwnd = self.window

    def ssthresh(self, now: float, path: Any, win: Any) -> int:
        return self.window
