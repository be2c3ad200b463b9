"""The SCReAM bandwidth test tool as console scripts: `pip install` builds no native binaries of it.

`make build` puts native ones in their place, which start faster and need less memory.
"""

import signal
import sys
from typing import Literal

from sojourn._core import scream_tool


def tx() -> int:
    """`scream-bw-test-tx`: sends generated media under SCReAM."""
    return _run("tx")


def rx() -> int:
    """`scream-bw-test-rx`: receives them and reports."""
    return _run("rx")


def _run(end: Literal["tx", "rx"]) -> int:
    # Python's own handlers would only set a flag that nobody looks at meanwhile.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    return scream_tool(end, sys.argv[1:])
