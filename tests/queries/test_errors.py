"""Errors by code, type and kind of message, the most frequent first."""

from __future__ import annotations

from datetime import datetime

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from tests.examples import examples
from tests.queries.answers import run
from tooltrace.store.database.macros import create_macros


def answer(con, **params):
    relation = run(con, "errors", **params)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def column(rows, *names):
    return [tuple(row[name] for name in names) if len(names) > 1 else row[names[0]] for row in rows]


def test_errors_are_counted_shared_and_dated(engine, make):
    def error(day, **fields):
        return make(status="error", started_at=datetime(2026, 3, day), **fields)

    timeout = {"code": "TIMEOUT", "error_type": "TimeoutError"}
    con = engine(
        error(1, **timeout, retryable=True),
        error(3, **timeout, retryable=True, call_id="last"),
        error(2, **timeout, retryable=False),
        error(4, code="NOT_FOUND"),
        make(), make(status=None, ending="cancelled", error_type="CancelledError"), make(status="partial", code="NO_MATCH"),
        make(status="error", ending="declined", code="TIMEOUT"),
    )  # fmt: skip
    rows = answer(con)
    assert column(rows, "tool", "code", "type", "n", "share", "message") == [
        ("search", "TIMEOUT", "TimeoutError", 3, 0.75, None), ("search", "NOT_FOUND", None, 1, 0.25, None),
    ]  # fmt: skip
    assert column(rows, "first_seen", "last_seen", "example_call_id") == [
        (datetime(2026, 3, 1), datetime(2026, 3, 3), "last"), (datetime(2026, 3, 4), datetime(2026, 3, 4), "call_4"),
    ]  # fmt: skip
    assert column(rows, "retryable_share", "unsaid") == [(2 / 3, 0), (None, 1)]
    assert column(rows, "retryable_low", "retryable_high")[1] == (None, None)
    for row, n in zip(rows, (3, 1), strict=True):
        expected = proportion_confint(n, 4, method="wilson")
        assert (row["share_low"], row["share_high"]) == pytest.approx(expected, abs=1e-12)
    expected = proportion_confint(2, 3, method="wilson")
    assert (rows[0]["retryable_low"], rows[0]["retryable_high"]) == pytest.approx(expected, abs=1e-12)


def test_rare_errors_are_left_out_without_changing_the_shares(engine, make):
    con = engine(*(make(status="error", code=code) for code in "AAAB"))
    assert column(answer(con, min_n=2), "code", "n", "share") == [("A", 3, 0.75)]


@pytest.mark.parametrize(
    ("messages", "alike"),
    [
        (["no answer from host 7", "no answer from host 12345678", "no answer from host 1,234.5"], "no answer from host <n>"),
        (["took 3.1e-05 s", "took 12 s"], "took <n> s"),
        (["can't open 'a.txt'", "can't open 'b c.txt'", "can't open 'it's'"], "can't open <text>"),
        (['KeyError: "x"', 'KeyError: "two words, 3"', "KeyError: `z`"], "KeyError: <text>"),
        (["bad byte b'\\xff'", "bad byte b'\\x00 '"], "bad byte <text>"),
        (["文件「甲」打不开", "文件「乙」打不开"], "文件<text>打不开"),
        (["文件“甲”, 第3行", "文件“乙”, 第12行"], "文件<text>, 第<n>行"),
        (["no file /tmp/a-1/b.txt", "no file C:\\Users\\bob\\x.txt", "no file ./x", "no file ~/y/", "no file src/a.py"],
         "no file <path>"),
        (["GET https://api.example.com/v1/x?q=1#y failed", "GET http://localhost:80 failed"], "GET <url> failed"),
        (["order 550e8400-e29b-41d4-a716-446655440000", "order 0x7f3a", "order deadbeefcafe", "order 1234567a",
          "order req_8f3k2j1", "order 01HXYZ9ABC3"], "order <id>"),
    ],
)  # fmt: skip
def test_messages_that_differ_in_names_and_numbers_are_one_kind(engine, make, messages, alike):
    con = engine(*(make(status="error", error_message=message) for message in messages))
    (row,) = answer(con)
    assert (row["n"], row["pattern"]) == (len(messages), alike)
    assert row["message"] in messages, "the real text is not lost"


@pytest.mark.parametrize(
    "message",
    ["don't know what it's about", "and/or", "I/O error", "application/json is not supported", "rate limit", "", "<n>",
     "not found: bob@example.com", "'unbalanced", "错误: 超时"],
)  # fmt: skip
def test_plain_words_stay_as_they_are(engine, make, message):
    assert column(answer(engine(make(status="error", error_message=message))), "message", "pattern") == [
        (message, message)
    ]


def test_other_words_other_codes_and_other_tools_are_other_errors(engine, make):
    con = engine(
        *(make(status="error", error_message=f"host {i} is down") for i in range(3)),
        *(make(status="error", error_message=f"host {i} is up") for i in range(2)),
        make(status="error", code="TIMEOUT", error_message="host 1 is down"),
        make(status="error", tool="fetch", error_message="host 1 is down"),
    )
    rows = answer(con)
    assert column(rows, "tool", "code", "n", "pattern")[:2] == [
        ("search", None, 3, "host <n> is down"), ("search", None, 2, "host <n> is up"),
    ]  # fmt: skip
    assert sorted(column(rows, "tool", "n")[2:]) == [("fetch", 1), ("search", 1)]
    assert sum(column(rows, "share")) == pytest.approx(1.0)


def test_a_long_message_counts_by_its_beginning(engine, make):
    con = engine(*(make(status="error", error_message="x " * 250 + tail) for tail in ("end", "another end")))
    assert column(answer(con), "n", "message") == [(2, "x " * 250)]


@settings(max_examples=examples(10))
@given(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60),
    st.integers(0),
    st.integers(0),
)
def test_messages_that_differ_in_numbers_are_one_kind(text, first, second):
    con = duckdb.connect(":memory:", config={"threads": 1})
    create_macros(con)
    messages = [f"{text} {first} ", f"{text} {second} "]
    assert con.execute("SELECT message_pattern($1) = message_pattern($2)", messages).fetchone() == (True,)
    con.close()


def test_grouped_by_code_the_code_is_one_column(engine, make):
    con = engine(*(make(status="error", code=code, tool=tool) for code in ("A", "A", "B") for tool in ("x", "y")))
    rows = run(con, "errors", by=["code"])
    assert rows.columns[:4] == ["code", "type", "n", "share"]
    assert [(row["code"], row["n"], row["share"]) for row in answer(con, by="code")] == [
        ("A", 4, 4 / 6),
        ("B", 2, 2 / 6),
    ]
    assert [row["n"] for row in answer(con, by="status")] == [4, 2]


def test_errors_that_only_a_heuristic_rule_found_can_be_left_out(engine, make):
    con = engine(*(make(status="error", code=grade, rule_grade=grade) for grade in ("heuristic", "certain", None)))
    assert {row["code"] for row in answer(con)} == {"heuristic", "certain", None}
    assert {row["code"] for row in answer(con, rules="certain")} == {"certain", None}


def test_the_example_of_simultaneous_errors_is_the_last_attempt(engine, make):
    failed = [
        make(call_id=f"call_{i}", attempt=i, status="error", conversation_id=f"talk_{i % 2}") for i in (2, 5, 1, 4, 3)
    ]
    (row,) = answer(engine(*failed))
    assert (row["n"], row["example_call_id"]) == (5, "call_5")


@pytest.mark.parametrize(("failed", "conversations", "too_few"), [(20, 20, False), (19, 19, True), (40, 5, False), (40, 4, True)])  # fmt: skip
def test_shares_of_few_failures_or_few_conversations_are_marked(engine, make, failed, conversations, too_few):
    con = engine(
        *(make(status="error", code="AB"[n % 2], conversation_id=f"c{n % conversations}") for n in range(failed))
    )
    assert column(answer(con), "too_few") == [too_few, too_few]
