"""`sojourn crosscheck`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from sojourn.cli.common import FAILED, OK, SOME_FAILED, Json, Out, UsageError, print_json, say


def crosscheck(
    *,
    cases: str = "0:100",
    seed: int = 1,
    out: Out = None,
    jobs: Annotated[int | None, Parameter(name=["--jobs", "-j"], validator=Number(gte=1))] = None,
    as_json: Json = False,
) -> int:
    """Run random scenarios on the simulator and on a real kernel (engine `linux`), and list what differs.

    A case is a seed and an index for ever. A quantity that is outside its tolerance has the kernel run four seeds
    more, whose spread widens it. Runs that are there are not done again: an interrupted campaign goes on.

    Example: `SOJOURN_LINUX=~/linux-vt sojourn crosscheck --cases 0:20 -o check`

    Args:
        cases: Indices, from the first up to before the last: `0:100`; one alone: `17`.
        seed: Seed of the cases.
        out: Folder of the results; default: results/crosscheck-SEED.
        jobs: Runs at once; default: one per core.
        as_json: Print one JSON document.
    """
    from sojourn.crosscheck import campaign, table
    from sojourn.run import RESULTS

    found = campaign.run(out or RESULTS / f"crosscheck-{seed}", seed, _indices(cases), jobs=jobs)
    if as_json:
        print_json(table.document(found))
    else:
        print(table.markdown(found), end="")
    for line in found.failed:
        say(line)
    if not found.verdicts:
        return FAILED
    return SOME_FAILED if found.failed else OK


def _indices(text: str) -> range:
    first, separator, last = text.partition(":")
    if not (first.isdecimal() and (last.isdecimal() if separator else not last)):
        raise UsageError(f"--cases {text}: expected indices such as 0:100, or one such as 17")
    found = range(int(first), int(last) if separator else int(first) + 1)
    if not found:
        raise UsageError(f"--cases {text}: expected the last index above the first")
    return found
