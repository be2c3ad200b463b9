"""The report: `page` makes it as data (`model`), and `html`, `markdown` and JSON print it.

`card` is the report card of a controller, the same data; `template` fills in a page of the user's.
"""

from sojourn.report.card import write as write_card
from sojourn.report.page import write, write_comparison
from sojourn.report.template import write as write_template

__all__ = ["write", "write_card", "write_comparison", "write_template"]
