"""The console script: what needs no verb is answered before anything is loaded."""

from __future__ import annotations

import sys

from sojourn import _core


def main() -> None:
    """Entry point."""
    if sys.argv[1:] == ["--version"]:
        print(_core.version())
        return
    from sojourn import cli

    cli.main()
