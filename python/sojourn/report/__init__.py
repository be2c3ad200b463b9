"""The report: `page` makes it as data (`model`), and `html`, `markdown` and JSON print it.

`card` is the report card of a controller, the same data; `template` fills in a page of the user's, with pictures: it
alone loads what draws them.
"""

from sojourn.report.card import of_controller
from sojourn.report.model import to_json
from sojourn.report.page import of_comparison, of_results, write, write_comparison

__all__ = ["of_comparison", "of_controller", "of_results", "to_json", "write", "write_comparison"]
