"""What a capture says, for people and programs: the core reads and analyses, here it is shown.

`read` gives a `Capture` with its flows (`flow`), `series` makes curves of their packets; `page`, `tables` and
`xplot` are printers; `source` is a capture as a `metrics.Source`, and `draft` a scenario made of one.
"""

from sojourn.captures.flow import Flow, Packets
from sojourn.captures.read import Capture, CaptureError, copy, of, read

__all__ = ["Capture", "CaptureError", "Flow", "Packets", "copy", "of", "read"]
