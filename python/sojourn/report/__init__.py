"""The report: `page` makes it as data (`model`), and `html`, `markdown` and JSON print it.

`card` is the report card of a controller, the same data; `template` fills in a page of the user's.
"""

from sojourn.report.card import of_controller
from sojourn.report.model import to_json
from sojourn.report.page import of_comparison, of_results, write, write_comparison
from sojourn.report.template import write as write_template

__all__ = ["of_comparison", "of_controller", "of_results", "to_json", "write", "write_comparison", "write_template"]
