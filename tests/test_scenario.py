"""Scenario texts made in Python parse back to what they were made of."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import FakeCore
from sojourn.results import RUN_ID
from sojourn.scenario import Scenario, to_toml

text = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | text
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(text, values, max_size=5))
def test_printed_documents_parse_back(document: dict[str, object]) -> None:
    assert tomllib.loads(to_toml(document)) == document


def test_links_and_flows_print_as_people_write_them() -> None:
    document = {"flow": [{"name": "a", "tcp": {"ecn": "off"}}], "name": "x"}
    assert to_toml(document) == 'name = "x"\n\n[[flow]]\nname = "a"\ntcp = { ecn = "off" }\n'


def test_what_toml_cannot_say_is_refused() -> None:
    with pytest.raises(TypeError, match="no form in a scenario file"):
        to_toml({"rate": None})


def names(sweep: Mapping[str, object], overrides: dict[str, str] | None = None) -> list[str]:
    runs = Scenario.build({"name": "x", "sweep": sweep}).expand(overrides)
    return [str(run.document()["name"]) for run in runs]


def test_runs_of_a_sweep_are_named_by_their_values(core: FakeCore) -> None:
    queues = ["dualpi2", "pfifo limit 100"]
    assert names({"link.b.qdisc": queues}) == ["x/dualpi2", "x/pfifo-limit-100"]
    rates = {"link.a.rate": ["1Mbit", "2Mbit"], "link.b.rate": ["1Mbit"], "tcp.pacing": ["true"]}
    assert names({"link.b.qdisc": ["pie"], **rates}) == [
        "x/pie+a.rate-1Mbit+b.rate-1Mbit+pacing-true", "x/pie+a.rate-2Mbit+b.rate-1Mbit+pacing-true",
    ]  # fmt: skip
    assert names({"seed": [3, 4]}) == ["x", "x"]


def test_the_name_of_a_run_does_not_depend_on_the_runs_beside_it(core: FakeCore) -> None:
    queues = {"link.b.qdisc": ["dualpi2", "pfifo", "netem loss 1%"], "link.b.rate": ["1Mbit", "2Mbit"]}
    assert names(queues, {"link.b.qdisc": "pfifo"}) == ["x/pfifo+rate-1Mbit", "x/pfifo+rate-2Mbit"]
    assert set(names(queues, {"link.b.qdisc": "netem loss 1%"})) < set(names(queues))


def test_a_sweep_is_shown_with_the_steps_that_overrides_leave() -> None:
    product = Scenario.build({"sweep": {"link.b.rate": ["1Mbit", "2Mbit"], "seed": [1, 2]}})
    assert product.sweep({"seed": "5", "link.b.delay": "1ms"}) == {"link.b.rate": ["1Mbit", "2Mbit"], "seed": [5]}
    together = Scenario.build(
        {"sweep": [{"link.b.rate": ["1Mbit", "2Mbit"], "link.b.delay": ["1ms", "2ms"]}, {"seed": [1]}]}
    )
    assert together.sweep({"link.b.rate": "2Mbit"}) == [
        {"link.b.rate": ["2Mbit"], "link.b.delay": ["2ms"]},
        {"seed": [1]},
    ]
    assert next(iter(together.sweep({"link.b.rate": "3Mbit"}))) == {
        "link.b.rate": ["3Mbit"] * 2,
        "link.b.delay": ["1ms", "2ms"],
    }


def test_values_that_read_alike_and_long_ones_keep_names_of_their_own(core: FakeCore) -> None:
    alike = ["pie ecn", "pie  ecn", "pie/ecn", "", "..", f"htb {'class ' * 40}a", f"htb {'class ' * 40}b"]
    found = names({"link.b.qdisc": alike})
    assert len(set(found)) == len(alike)
    assert all(RUN_ID.fullmatch(name) and len(name) < 60 for name in found)
    assert found == names({"link.b.qdisc": alike})
