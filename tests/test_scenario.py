"""Scenario texts made in Python parse back to what they were made of."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.scenario import to_toml

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
