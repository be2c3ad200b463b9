"""`sojourn crosscheck`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from sojourn.cli.common import FAILED, OK, SOME_FAILED, Json, Out, UsageError, print_json, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sojourn.crosscheck.verdict import Verdict
    from sojourn.jobs import Job


def crosscheck(
    *,
    cases: str | None = None,
    seed: int = 1,
    known: Path | None = None,
    runs: Annotated[int, Parameter(validator=Number(gte=1, lte=5))] = 5,
    attribute: bool = False,
    means: bool = False,
    shrink: str | None = None,
    quantity: str | None = None,
    replay: str | None = None,
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
        cases: Indices, from the first up to before the last: `0:100`; one alone: `17`. Default: 0:100, or all
            of --known.
        seed: Seed of the cases.
        known: Records of a kernel (`kernel.jsonl` of another campaign, or packed by xz): cases in it need no kernel,
            and have the runs that are in it.
        runs: Of the kernel, of a case that is outside tolerance, the first one included.
        attribute: Where a case is outside, run the kernel's end points over our queue as well, which shows whether the
            queue or the end points make the difference.
        means: Run the simulator as often as the kernel has run a case, too, with the same further seeds and starts, and
            compare the means as well: what is outside then is not by chance. Also judge our further runs as the
            kernel's own are.
        shrink: A case, such as case-1-17: leave out what its largest disagreement does not need; writes CASE.toml.
        quantity: Which disagreement --shrink keeps, such as "RTT mean"; default: the largest.
        replay: A case: the first packets that differ between both engines, and a picture of their series.
        fresh: Run the simulator again where its runs are there.
        out: Folder of the results; default: results/crosscheck-SEED.
        jobs: Runs at once; default: one per core.
        as_json: Print one JSON document.
    """
    from sojourn.crosscheck import campaign, table
    from sojourn.execution import RESULTS

    out = out or RESULTS / f"crosscheck-{seed}"
    if quantity and not shrink:
        raise UsageError("--quantity: expected with --shrink")
    if replay is not None:
        return _replay(replay, out)
    if shrink is not None:
        return _shrink(shrink, quantity, out)
    wanted = campaign.indices(known, seed) if known and cases is None else _indices("0:100" if cases is None else cases)

    def report(so_far: campaign.Campaign) -> None:
        agree = sum(verdict.agrees for verdict in so_far.verdicts)
        done = len(so_far.cases) + sum(so_far.refused.values())
        say(f"{done} of {len(wanted)} cases: {agree} of {len(so_far.verdicts)} quantities agree")

    found = campaign.run(
        out,
        seed,
        wanted,
        known=known,
        runs=runs,
        attribute=attribute,
        means=means,
        jobs=jobs,
        fresh=fresh,
        report=report,
    )
    if as_json:
        print_json(table.document(found))
    else:
        print(table.markdown(found), end="")
    for line in found.failed:
        say(line)
    if not found.verdicts:
        return FAILED
    return SOME_FAILED if found.failed else OK


def _replay(name: str, out: Path) -> int:
    from sojourn.crosscheck import campaign
    from sojourn.crosscheck.replay import replay

    for line in replay(campaign.named(name).job, out).lines():
        print(line)
    return OK


def _shrink(name: str, quantity: str | None, out: Path) -> int:
    from sojourn.crosscheck import campaign
    from sojourn.crosscheck.shrink import shrink
    from sojourn.files import write_whole

    def judge(job: Job) -> list[Verdict]:
        return campaign.judge_once(job, out / "shrink")

    job = campaign.named(name).job
    found = [one for one in judge(job) if not one.agrees and quantity in (None, one.name)]
    if not found:
        say(f"{name}: {quantity or 'every quantity'} is within tolerance: nothing to shrink")
        return FAILED
    shrunk = shrink(job, max(found, key=lambda one: one.excess), judge, say=say)
    file = out / f"{name}.toml"
    write_whole(file, shrunk.text)
    one = shrunk.finding
    print(f"{file}: {one.name} of {one.of}: {one.ours:.4g}, the kernel {one.kernel:.4g} ({shrunk.tried} cases tried)")
    return OK


def _indices(text: str) -> Sequence[int]:
    first, separator, last = text.partition(":")
    if not (first.isdecimal() and (last.isdecimal() if separator else not last)):
        raise UsageError(f"--cases {text}: expected indices such as 0:100, or one such as 17")
    found = range(int(first), int(last) if separator else int(first) + 1)
    if not found:
        raise UsageError(f"--cases {text}: expected the last index above the first")
    return found
