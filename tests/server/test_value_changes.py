"""The part of a value in which two calls differ."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrace.analysis.alignment import COMPARED, AlignedPair
from tooltrace.server.value_changes import CONTEXT, LONGEST, MarkedText, mark, value_changes


def pair(a: dict, b: dict) -> AlignedPair:
    known = {"tool": "pay", "duration_ms": 10.0, **dict.fromkeys(COMPARED)}
    return AlignedPair({**known, **a}, {**known, **b})


def changes(a: dict, b: dict) -> list[tuple]:
    return [
        (one.name, one.member, *(None if text is None else text.part for text in (one.a, one.b)))
        for one in value_changes(pair(a, b))
    ]


def test_only_the_members_of_an_object_that_differ_are_named():
    a, b = '{"sum": 1, "currency": "EUR", "note": null}', '{"currency": "EUR", "sum": 1.5, "to": "ada"}'
    assert changes({"arguments": a}, {"arguments": b}) == [
        ("arguments", "sum", "1", "1.5"),
        ("arguments", "note", "null", None),
        ("arguments", "to", None, "ada"),
    ]


def test_true_and_1_differ():
    assert changes({"arguments": '{"all": true}'}, {"arguments": '{"all": 1}'}) == [("arguments", "all", "true", "1")]


def test_a_value_that_one_side_lacks_is_none():
    assert changes({"error": None}, {"error": "declined"}) == [("error", None, None, "declined")]
    assert changes({"result": "null"}, {"result": None}) == [("result", None, "null", None)]


def test_status_and_code_are_left_to_the_head():
    assert changes({"status": "success", "code": None}, {"status": "error", "code": "X"}) == []


def test_an_answer_that_is_the_text_of_the_result_is_not_repeated():
    a, b = ({"result": json.dumps(text), "answer": text} for text in ("Monday", "Friday"))
    assert [one[0] for one in changes(a, b)] == ["result"]
    assert [one[0] for one in changes(a, {**b, "answer": "on Friday"})] == ["result", "answer"]


def test_whole_words_are_marked_with_the_text_around_them():
    a, b = mark("it will arrive on Wednesday, by post", "it will arrive on Monday, by post")
    assert a == MarkedText("it will arrive on ", "Wednesday", ", by post")
    assert b == MarkedText("it will arrive on ", "Monday", ", by post")


def test_long_texts_are_cut_around_the_difference():
    a, b = mark("a " * 5000 + "one" + " b" * 5000, "a " * 5000 + "2" * 5000 + " b" * 5000)
    assert a is not None
    assert b is not None
    assert (a.part, b.part) == ("one", "2" * LONGEST + "…")
    assert (len(a.before), len(a.after)) == (CONTEXT + 1, CONTEXT + 1)


@given(st.text("ab ", max_size=30), st.text("ab ", max_size=30))
def test_the_parts_make_up_the_texts(one, other):
    a, b = mark(one, other)
    assert a is not None
    assert b is not None
    assert (a.before, a.after) == (b.before, b.after)
    assert (a.before + a.part + a.after, b.before + b.part + b.after) == (one, other)


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_that_differ_have_a_part_that_differs(one, other):
    a, b = mark(one, other)
    assert a is not None
    assert b is not None
    assert (a.part != b.part) == (one != other)


@pytest.mark.parametrize(
    ("a", "b", "factor"),
    [(100.0, 300.0, 3.0), (300.0, 100.0, 1 / 3), (100.0, 190.0, None), (1.0, 50.0, None), (0.0, 200.0, 200.0),
     (None, 500.0, None), (float("nan"), 500.0, None)],
)  # fmt: skip
def test_a_duration_differs_by_a_factor_and_by_an_amount(a, b, factor):
    found = pair({"duration_ms": a}, {"duration_ms": b}).duration_factor
    assert found is None if factor is None else found == pytest.approx(factor)
