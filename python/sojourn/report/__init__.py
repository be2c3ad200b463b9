"""One self-contained offline HTML page: tables first, then plots that zoom; or a page by a template of the user's."""

from sojourn.report.card import write as write_card
from sojourn.report.report import write, write_comparison
from sojourn.report.template import write as write_template

__all__ = ["write", "write_card", "write_comparison", "write_template"]
