"""Errors in the spelling that str() gives a dict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.normalize.shapes import CERTAIN, lost, read
from tooltrace.normalize import normalize
from tooltrace.normalize.heuristics.python_literal import parsed

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
)


@given(VALUES)
def test_the_str_of_a_dict_is_read_back(value: object) -> None:
    assert parsed(str({"a": value})) == {"a": value}


@given(st.text(alphabet="{}[]():,'\"\\ux0dTrueNone1.e- \n") | st.text())
def test_any_text_is_accepted(text: str) -> None:
    assert read("{'" + text).text == "{'" + text


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"success": False, "error": "no such id", "took": None}, "NOT_FOUND"),
        ({"status": "error", "message": "can't open it: timed out"}, "TIMEOUT"),
        ({"error": {"type": "not_found_error", "message": "no model"}}, "NOT_FOUND"),
        ({"error": "line\nbreak — forbidden"}, "PERMISSION_DENIED"),
    ],
)
def test_an_error_in_pythons_spelling(value: dict, code: str) -> None:
    found = read(str(value))
    assert (found.status, found.code, found.text) == ("error", code, str(value))
    assert (found.meta.rule, found.meta.rule_grade) == ("python_text", "heuristic")
    assert lost(value, found) == []
    assert normalize(str(value), rules=CERTAIN).status == "success"


@pytest.mark.parametrize(
    "result",
    [
        "{'name': 'error', 'value': 3}",
        "{'error': None}",
        "{'error': 0.03}",
        "{'id': 3, 'error': 'late', 'created_at': 1}",
        "{'ok': True, 'rows': [1]}",
        "{'error': 'x'} is what it prints",
        "{'error': 'x', 'at': datetime.date(2026, 1, 1)}",
        "{'error': '\\ud800'}",
        "{'error': '\\Uffffffff'}",
        "{'error'}",
    ],
)
def test_other_literals_are_not_errors(result: str) -> None:
    assert read(result).status == "success"
