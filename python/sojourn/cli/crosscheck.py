"""`sojourn crosscheck`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from sojourn.cli.common import FAILED, OK, SOME_FAILED, Json, Out, UsageError, print_json, say


def crosscheck(
    *,
    cases: str = "0:100",
    seed: int = 1,
    known: Path | None = None,
    runs: Annotated[int, Parameter(validator=Number(gte=1, lte=5))] = 5,
    fresh: bool = False,
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
        known: Records of a kernel (`kernel.jsonl` of another campaign, or packed by xz): cases in it need no kernel.
        runs: Of the kernel, of a case that is outside tolerance, the first one included.
        fresh: Run the simulator again where its runs are there.
        out: Folder of the results; default: results/crosscheck-SEED.
        jobs: Runs at once; default: one per core.
        as_json: Print one JSON document.
    """
    from sojourn.crosscheck import campaign, table
    from sojourn.run import RESULTS

    wanted = _indices(cases)

    def report(so_far: campaign.Campaign) -> None:
        agree = sum(verdict.agrees for verdict in so_far.verdicts)
        done = len(so_far.cases) + sum(so_far.refused.values())
        say(f"{done} of {len(wanted)} cases: {agree} of {len(so_far.verdicts)} quantities agree")

    out = out or RESULTS / f"crosscheck-{seed}"
    found = campaign.run(out, seed, wanted, known=known, runs=runs, jobs=jobs, fresh=fresh, report=report)
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
