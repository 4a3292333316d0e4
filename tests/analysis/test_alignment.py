"""Two sequences of calls, aligned by their tools."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tooltrace.analysis.alignment import COMPARED, align


def call(tool, **given):
    return {"tool": tool, **dict.fromkeys(COMPARED), **given}


def kinds(a, b):
    return [(pair.kind, (pair.a or pair.b)["tool"]) for pair in align(a, b)]


def test_an_added_call_does_not_shift_the_rest():
    a, b = [call("search"), call("fetch")], [call("search"), call("login"), call("fetch")]
    assert kinds(a, b) == [("same", "search"), ("added", "login"), ("same", "fetch")]


def test_another_tool_is_a_removed_and_an_added_call():
    assert kinds([call("search")], [call("fetch")]) == [("removed", "search"), ("added", "fetch")]


def test_the_values_that_differ_are_named():
    (pair,) = align([call("pay", arguments="1", status="success")], [call("pay", arguments="2", status="error")])
    assert (pair.kind, pair.changes) == ("changed", ("arguments", "status"))


tools = st.lists(st.sampled_from("abc").map(call), max_size=12)


@given(tools, tools)
def test_every_call_is_in_one_row_in_its_order(a, b):
    pairs = align(a, b)
    assert [pair.a for pair in pairs if pair.a is not None] == a
    assert [pair.b for pair in pairs if pair.b is not None] == b


@given(tools)
def test_a_conversation_beside_itself_is_the_same(a):
    assert {pair.kind for pair in align(a, a)} <= {"same"}
