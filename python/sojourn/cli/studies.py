"""Verbs that draw parameter studies: heat maps, interaction plots, Pareto fronts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from sojourn.cli.common import LATEST, Json, Output, expect, written

if TYPE_CHECKING:
    from collections.abc import Callable

    from sojourn.study.chart import Chart
    from sojourn.study.points import Study

Results = Annotated[Path, Parameter(name="RESULTS")]


def heat(
    results_: Results = LATEST,
    /,
    *,
    value: str = "sojourn_p99",
    x: str | None = None,
    y: str | None = None,
    panels: str | None = None,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Draw a quantity over two swept names as a heat map: cells of a sweep, dots of a sample.

    Names are those of [sweep] and [sample], or their last part. Quantities are goodput, utilisation, rtt_p50, rtt_p99,
    sojourn_p50, sojourn_p99, drops, marks, retransmits: means over the seeds of a point.

    Example: `sojourn plot heat results/latest --value rtt_p99 --x rate --y delay --panels qdisc -o heat.png`

    Args:
        results_: Results folder of a scenario with a sweep or a sample.
        value: Quantity that the colours show.
        x: Swept name across; default the first with numbers.
        y: Swept name up; default the next.
        panels: Swept name with a panel for each value.
        output: Picture to write; .svg, .png or .pdf chooses the format.
        as_json: Print one JSON document.
    """
    from sojourn.precision import quantity
    from sojourn.study import charts

    column = quantity(value)
    return _draw(results_, lambda study: charts.heat(study, column, x, y, panels), output, as_json=as_json)


def lines(
    results_: Results = LATEST,
    /,
    *,
    value: str = "sojourn_p99",
    x: str | None = None,
    by: str | None = None,
    panels: str | None = None,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Draw a quantity over one swept name, a line for each value of another one, with 95 % intervals over the seeds.

    Lines that are not parallel say that the two names interact. Names and quantities are those of `sojourn plot heat`.

    Example: `sojourn plot lines results/latest --value goodput --x rate --by qdisc -o lines.png`

    Args:
        results_: Results folder of a scenario with a sweep or a sample.
        value: Quantity up.
        x: Swept name across; default the first with numbers.
        by: Swept name with a line for each value; default the first with words.
        panels: Swept name with a panel for each value.
        output: Picture to write; .svg, .png or .pdf chooses the format.
        as_json: Print one JSON document.
    """
    from sojourn.precision import quantity
    from sojourn.study import charts

    column = quantity(value)
    return _draw(results_, lambda study: charts.lines(study, column, x, by, panels), output, as_json=as_json)


def pareto(
    results_: Results = LATEST,
    /,
    *,
    x: str = "sojourn_p99",
    y: str = "utilisation",
    by: str | None = None,
    panels: str | None = None,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Draw two quantities of all points of a study, and the Pareto front: where no other point is better in both.

    Names and quantities are those of `sojourn plot heat`. The points of the front have their ids.

    Example: `sojourn plot pareto results/latest --x sojourn_p99 --y goodput --by qdisc -o pareto.png`

    Args:
        results_: Results folder of a scenario with a sweep or a sample.
        x: Quantity across.
        y: Quantity up.
        by: Swept name with a colour for each value; default the first with words.
        panels: Swept name with a panel for each value.
        output: Picture to write; .svg, .png or .pdf chooses the format.
        as_json: Print one JSON document.
    """
    from sojourn.precision import quantity
    from sojourn.study import charts

    across, up = quantity(x), quantity(y)
    return _draw(results_, lambda study: charts.pareto(study, across, up, by, panels), output, as_json=as_json)


def _draw(folder: Path, make: Callable[[Study], Chart], output: Path | None, *, as_json: bool) -> int:
    from sojourn.pictures import draw_study

    expect(folder)
    return written(draw_study(folder, make, output), as_json=as_json)
