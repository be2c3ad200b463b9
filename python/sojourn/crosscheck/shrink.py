"""The smallest form of a case that still shows a disagreement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn import shrink as general
from sojourn.shrink import MOST, STILL, Shrunk

if TYPE_CHECKING:
    from collections.abc import Callable

    from sojourn.crosscheck.verdict import Verdict
    from sojourn.jobs import Job


def shrink(
    job: Job, wanted: Verdict, judge: Callable[[Job], list[Verdict]], *, most: int = MOST, say: Callable[[str], None]
) -> Shrunk[Verdict]:
    """Leaves out of a case what its disagreement does not need.

    `judge` runs a case on both engines. A smaller case counts if the same quantity of any flow or queue disagrees
    with at least `STILL` of the excess, and at least by its tolerance.
    """
    least = max(1.0, STILL * wanted.excess)

    def still(candidate: Job) -> Verdict | None:
        found = [one for one in judge(candidate) if one.name == wanted.name and one.excess >= least]
        return max(found, key=lambda one: one.excess, default=None)

    def step(tried: int, what: str, one: Verdict) -> None:
        say(f"{tried}: {what}: {one.ours:.4g}, the kernel {one.kernel:.4g}")

    return general.shrink(job, wanted, still, most=most, say=step)
