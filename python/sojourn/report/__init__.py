"""One self-contained offline HTML page: tables first, then plots that zoom."""

from sojourn.report.report import write, write_comparison

__all__ = ["write", "write_comparison"]
