"""Points of `[sample]`: where they are, for ever, and what they make of a scenario."""

from __future__ import annotations

from itertools import product

import pytest

from sojourn import sampling
from sojourn.planning import plan
from sojourn.scenario import Scenario

SCENARIO = """
name = "s"
duration = "1s"
[[link]]
name = "b"
rate = "5Mbit"
qdisc = "dualpi2"
[[flow]]
name = "f"
cc = "prague"
"""
RANGES = """
[sample]
method = "sobol"
points = 4
"link.b.rate" = { from = "1Mbit", to = "100Mbit", scale = "log" }
"flow.f.cc" = ["prague", "cubic"]
"""


def test_points_are_the_same_for_ever() -> None:
    """Another numpy or SciPy that gives other ones would move every study: do not edit these numbers.

    The steps between them are those of the sequence of Joe and Kuo: a half, then a quarter and three quarters.
    """
    sobol = sampling.cube("sobol", 4, 7, 2)
    assert sobol == [
        [0.6250954666174948, 0.8972138012759387],
        [0.12509546661749482, 0.39721380127593875],
        [0.3750954666174948, 0.6472138012759387],
        [0.8750954666174948, 0.14721380127593875],
    ]
    assert sampling.cube("latin-hypercube", 3, 7, 2) == [
        [0.3350884346291423, 0.9404094725226363],
        [0.9323564761628708, 0.1559783173725009],
        [0.10101080872118473, 0.4261418705185254],
    ]


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_a_latin_hypercube_has_one_point_in_each_part_of_each_range(seed: int) -> None:
    cube = sampling.cube("latin-hypercube", 50, seed, 3)
    for axis in zip(*cube, strict=True):
        assert sorted(int(50 * at) for at in axis) == list(range(50))
        assert all(0 <= at < 1 for at in axis)


@pytest.mark.parametrize("seed", [1, 2])
def test_sobol_points_fill_every_square_of_a_power_of_two(seed: int) -> None:
    cube = sampling.cube("sobol", 64, seed, 2)
    assert sorted((int(8 * x), int(8 * y)) for x, y in cube) == list(product(range(8), repeat=2))


def test_more_sobol_points_keep_those_that_are_there() -> None:
    assert sampling.cube("sobol", 100, 3, 5)[:37] == sampling.cube("sobol", 37, 3, 5)
    assert sampling.cube("sobol", 4, 1, 2) != sampling.cube("sobol", 4, 2, 2)
    assert len(sampling.cube("sobol", 1, 1, 1)) == 1


def test_points_are_named_by_their_numbers_and_their_values_are_swept() -> None:
    jobs = plan([Scenario(SCENARIO + RANGES)])
    assert [job.id for job in jobs] == ["s/p0000", "s/p0001", "s/p0002", "s/p0003"]
    assert [list(job.scenario.swept) for job in jobs] == [["link.b.rate", "flow.f.cc"]] * 4
    assert sorted(job.scenario.swept["flow.f.cc"] for job in jobs) == ["cubic", "cubic", "prague", "prague"]
    assert len({job.scenario.text for job in jobs}) == 4
    more = plan([Scenario(SCENARIO + RANGES)], {"sample.points": "8"})
    assert [job.scenario.text for job in more[:4]] == [job.scenario.text for job in jobs]


def test_a_sweep_and_seeds_multiply_the_points() -> None:
    both = SCENARIO + RANGES + '[sweep]\n"link.b.qdisc" = ["pie", "codel"]\n'
    jobs = plan([Scenario(both)], seeds=2)
    assert len(jobs) == 16
    assert [job.id for job in jobs[:3]] == ["s/pie+p0000", "s/pie+p0000@seed2", "s/pie+p0001"]
    assert jobs[0].scenario.sampled == ("link.b.rate", "flow.f.cc")


def test_an_override_fixes_a_sampled_name_and_leaves_the_others() -> None:
    scenario = Scenario(SCENARIO + RANGES)
    free, fixed = plan([scenario]), plan([scenario], {"flow.f.cc": "reno"})
    assert [job.scenario.swept["flow.f.cc"] for job in fixed] == ["reno"] * 4
    rates = [[job.scenario.swept["link.b.rate"] for job in jobs] for jobs in (free, fixed)]
    assert rates[0] == rates[1]
    assert scenario.sample({"flow.f.cc": "reno", "sample.points": "8"}) == {
        "method": "sobol", "points": 8, "flow.f.cc": ["reno"],
        "link.b.rate": {"from": "1Mbit", "to": "100Mbit", "scale": "log"},
    }  # fmt: skip
