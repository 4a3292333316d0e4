"""The normal forms of Python and the macros of the store find the same texts equal."""

from __future__ import annotations

from itertools import combinations

import duckdb
import pytest

from tooltrace.analysis.normal_forms import answer_form, arguments_form, error_form, numberless_form
from tooltrace.store.database.macros import create_macros

TEXTS = [
    '{"q":"a"}', '{"q":"a","turn":1}', '{"q":"a","turn": 2}', '{"request_id":"x1","q":"a"}', '{"request_id":"x2","q":"a"}',
    '{"at":"2026-03-01T09:30:00"}', '{"at":"2026-03-01T09:30:07"}', '{"at":"2026-03-01T09:30:09Z"}', '{"at":1772348400,"b":1}',
    '{"at":1772348455,"b":1}', '{"n":1}', '{"n":2}', "", "took 12 ms", "took 1.5 s", "耗时 3 秒", "耗时 4 秒", "no file '/a/b.txt'",
    "no file '/c.txt'", "it's 12:00:01", "it's 12:00:02", "x" * 999 + "12:00:01", "x" * 999 + "12:00:02", "x" * 1200 + "1", "x" * 1200 + "2",
]  # fmt: skip
FORMS = {
    "arguments_key(t)": arguments_form,
    "numberless_key(t)": numberless_form,
    "answer_key('success', 'returned', NULL, t, NULL, NULL)": lambda text: answer_form(text, None),
    "answer_key('success', 'returned', NULL, NULL, t, NULL)": lambda text: answer_form(None, text),
    "error_key('A', NULL, t)": lambda text: error_form("A", None, text),
}


@pytest.mark.parametrize("macro", FORMS)
def test_python_and_the_store_find_the_same_texts_equal(macro):
    con = duckdb.connect(":memory:", config={"threads": 1})
    create_macros(con)
    keys = con.execute(f"SELECT {macro} FROM (SELECT unnest(?) AS t, unnest(?) AS place) ORDER BY place", [TEXTS, list(range(len(TEXTS)))]).fetchall()  # fmt: skip
    con.close()
    forms = [FORMS[macro](text) for text in TEXTS]
    assert [key is None for (key,) in keys] == [form is None for form in forms]
    for (a, one), (b, other) in combinations(enumerate(forms), 2):
        assert (one == other) is (keys[a] == keys[b]), (TEXTS[a][-40:], TEXTS[b][-40:])
