from __future__ import annotations

from sojourn.groups import groups, written_out


def test_copies_are_one_group_and_other_flows_stay_alone() -> None:
    names = ["call", *(f"p-{n}" for n in range(1, 51)), "c-1", "c-2", "rrul-up-be", "rrul-up-ef"]
    assert {label: len(members) for label, members in groups(names).items()} == {
        "call": 1, "p-* (50)": 50, "c-1": 1, "c-2": 1, "rrul-up-be": 1, "rrul-up-ef": 1,
    }  # fmt: skip


def test_a_group_has_its_members_in_their_order_and_no_name_twice() -> None:
    found = groups(["b-2", "a", "b-10", "b-1", "b-3"])
    assert found == {"b-* (4)": ["b-2", "b-10", "b-1", "b-3"], "a": ["a"]}


def test_the_parts_of_a_test_are_grouped_only_where_too_many_names_are_left() -> None:
    names = [f"rrul-{way}-{dscp}" for way in ("up", "down") for dscp in ("be", "bk", "cs5", "ef")]
    assert list(groups(names, most=8)) == names
    assert list(groups([*names, "call"], most=8)) == ["rrul-up-* (4)", "rrul-down-* (4)", "call"]


def test_tables_of_a_scenario_are_written_out_flow_by_flow() -> None:
    tables = [{"name": "web", "cc": "cubic", "flows": 2, "interarrival": "10ms"}, {"name": "call", "app": "voip"}]
    assert written_out(tables) == [
        {"name": "web-1", "cc": "cubic"}, {"name": "web-2", "cc": "cubic"}, {"name": "call", "app": "voip"},
    ]  # fmt: skip


def test_what_is_no_list_of_tables_has_no_flows() -> None:
    assert written_out(None) == written_out({"name": "a"}) == written_out(["a", 3]) == []
    assert len(written_out([{"name": "a", "flows": 10**9}])) == 10_000
    assert written_out([{"name": "a", "flows": True}]) == [{"name": "a", "flows": True}]
