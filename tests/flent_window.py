"""Opens a Flent file in flent-gui's main window, without a screen: `flent_window.py FILE PICTURE`.

Ends with 0 and prints a JSON object once the file's tab is there: the tab's text and what Flent logged
from warnings on. The picture is the window.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Any

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from importlib import import_module

# By name, since neither has types.
gui, settings = import_module("flent.gui"), import_module("flent.settings")
QTimer = import_module("qtpy.QtCore").QTimer

LOOK_MS = 1500
LOOKS = 30


class Log(logging.Handler):
    """Keeps what it hears."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def main(file: str, picture: str) -> None:
    log = Log()
    logging.getLogger().addHandler(log)
    start = gui.MainWindow.__init__

    def watched(window: Any, *arguments: Any, **options: Any) -> None:
        start(window, *arguments, **options)
        window.looks = 0
        window.timer = QTimer(window)
        window.timer.timeout.connect(lambda: look(window))
        window.timer.start(LOOK_MS)

    def look(window: Any) -> None:
        window.looks += 1
        tabs = window.viewArea.count()
        # One look more, so that the plot is drawn.
        if tabs and not hasattr(window, "seen"):
            window.seen = True
        elif tabs or window.looks == LOOKS:
            window.grab().save(picture)
            texts = [window.viewArea.tabText(index) for index in range(tabs)]
            print(json.dumps({"tabs": texts, "log": log.said}), flush=True)
            # The loaders of the window are processes that nothing ends.
            os._exit(0 if tabs else 1)

    gui.MainWindow.__init__ = watched
    sys.exit(gui.run_gui(settings.load(["--new-gui-instance", "--gui-no-defer", file])))


if __name__ == "__main__":
    main(*sys.argv[1:])
