"""A sender that answers nothing: its window is a constant."""

import sojourn


@sojourn.controller("fixed")
class Fixed:
    """Sends a constant window, whatever is marked or lost."""

    def __init__(self, window: int = 20):
        self.window = window

    def on_ack(self, now, ack, win):
        win.cwnd = self.window

    def ssthresh(self, now, path, win):
        return self.window
