"""`make docs`: writes the figures of the pages of `docs/algorithms` and `docs/guide`, all or those that are named."""

from __future__ import annotations

import sys
from pathlib import Path

from plots import catalogue

IMAGES = Path(__file__).resolve().parent.parent / "images"


def main() -> int:
    """Exit code 2 if a controller has no figure, or a name is none."""
    try:
        catalogue.check()
        for path in catalogue.make(IMAGES, sys.argv[1:] or catalogue.names()):
            print(f"{path.relative_to(IMAGES.parent.parent)}  {path.stat().st_size / 1000:.0f} kB")
    except catalogue.CatalogueError as error:
        print(f"plots: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
