"""The cost of results for the context: tokens, carried through later turns, repeated, and saved by a cut."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tooltrace as tt
from tests.examples import examples
from tests.queries.answers import run
from tests.queries.conftest import START
from tooltrace.core.records import Message, Span


def answer(con, **given):
    relation = run(con, "footprint", **given)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


@pytest.fixture
def result(make):
    """A call of the conversation that starts at a second, takes half of one, and returns a text of a number of tokens."""

    def result(at, tokens=26, **given):
        return make(**{
            "started_at": START + timedelta(seconds=at), "duration_ms": 500.0, "conversation_id": "talk",
            "text": f"{at:02}".ljust(round(tokens / 0.26), "x"), **given,
        })  # fmt: skip

    return result


def test_a_case_to_follow_by_hand(engine, result):
    con = engine(result(0, 260), result(1, 26), result(1.2, 26), result(2, 26, tool="fetch"))
    search, fetch = answer(con, cut=60)
    # three turns: the call at 0, the two that overlap at 1, the one at 2
    assert (search["tool"], search["results"], search["characters"]) == ("search", 3, 1200)
    assert (search["tokens"], search["carried_tokens"]) == (312, 2 * 260 + 26 + 26)
    assert (fetch["tokens"], fetch["carried_tokens"]) == (26, 0)
    everything = 312 + 572 + 26
    assert (search["share"], fetch["share"]) == pytest.approx((884 / everything, 26 / everything))
    assert search["mean_tokens"] == pytest.approx(104)
    assert (search["max_tokens"], search["max_call_id"], search["mean_turns"]) == (260, "call_1", pytest.approx(4 / 3))
    assert (search["saved_tokens"], search["saved_share"]) == (600, pytest.approx(600 / 884))
    assert (search["repeated_tokens"], search["counted"], search["unknown"]) == (0, 0, 0)


def test_equal_results_of_a_conversation_are_repeated_text(engine, result):
    same = {"text": "a" * 100}
    con = engine(result(0, **same), result(1, **same), result(2, **same), result(3, conversation_id="other", **same))
    (row,) = answer(con)
    assert (row["tokens"], row["repeated_tokens"], row["repeated_share"]) == (104, 52, pytest.approx(0.5))


def test_the_message_to_the_model_counts_where_it_is_recorded(engine, result):
    attempt = result(0, 260)
    message = Message(
        call_id=attempt.call_id, span_id=attempt.span_id, text="y" * 100, sha256="0" * 64, error=False, length=100, at=START
    )  # fmt: skip
    (row,) = answer(engine(attempt, message))
    assert (row["characters"], row["tokens"], row["counted"]) == (100, 26, 0)


@pytest.mark.parametrize(
    ("fields", "tokens"),
    [
        ({"text": "z" * 100, "length": 400}, 104),  # the text was cut: in proportion
        ({"text": None, "length": 400}, 104),  # metadata alone
        ({"text": "z" * 100, "length": 400, "tokens": 7}, 7),
    ],
)
def test_a_message_that_was_cut_counts_in_full(engine, result, fields, tokens):
    attempt = result(0, text=None)
    message = Message(call_id="c", span_id=attempt.span_id, sha256="0" * 64, error=False, at=START, **fields)
    (row,) = answer(engine(attempt, message))
    assert (row["tokens"], row["characters"], row["counted"]) == (tokens, 400, int("tokens" in fields))


def test_a_result_that_was_cut_counts_in_full(engine, result):
    (row,) = answer(engine(result(0, text="z" * 100, truncated=True, full_sizes='{"text":1000,"result":1002}')))
    assert row["tokens"] == 260
    (row,) = answer(
        engine(result(0, text=None, result='"' + "z" * 98 + '"', truncated=True, full_sizes='{"result":1000}'))
    )
    assert row["tokens"] == 260


def test_the_model_reads_the_text_else_the_data_and_an_error_first(engine, result):
    data = json.dumps({"rows": [1, 2, 3]}, separators=(",", ":"))
    con = engine(
        result(0, tool="text", text="abc", result=data),
        result(0, tool="data", text="", result=data),
        result(0, tool="error", text=None, status="error", error_message="e" * 100),
        result(0, tool="nothing", text=None),
    )
    found = {row["tool"]: (row["tokens"], row["unknown"]) for row in answer(con)}
    assert found == {"text": (1, 0), "data": (round(0.37 * len(data)), 0), "error": (26, 0), "nothing": (0, 1)}


def test_only_the_last_attempt_of_a_call_reaches_the_model(engine, result):
    con = engine(result(0, 260, call_id="a"), result(1, 26, call_id="a", attempt=2), result(2, 26))
    (row,) = answer(con)
    assert (row["results"], row["tokens"], row["carried_tokens"]) == (2, 52, 26)


def test_model_calls_are_counted_where_the_store_has_their_usage(engine, result):
    calls = [result(0, 260, trace_id="t" * 32), result(10, 260, trace_id="t" * 32)]

    def model(at, attributes='{"gen_ai.usage.input_tokens":500}'):
        return Span(
            trace_id="t" * 32, span_id=f"{1000 + at:016x}", name="chat", started_at=START + timedelta(seconds=at),
            attributes=attributes,
        )  # fmt: skip

    (row,) = answer(engine(*calls))
    assert row["carried_tokens"] == 260, "one later turn"
    (row,) = answer(engine(*calls, *(model(at) for at in (1, 2, 11, 12, 13)), model(14, "{}")))
    assert row["carried_tokens"] == 4 * 260 + 2 * 260, "the first model call after a result reads it for the first time"


def test_agents_of_a_conversation_have_contexts_of_their_own(engine, result):
    con = engine(result(0, 100, agent="a"), result(1, 100, agent="b"), result(2, 100, agent="b"))
    assert {row["agent"]: row["carried_tokens"] for row in answer(con, by="agent")} == {"a": 0, "b": 100}


def test_a_tool_is_chosen_after_turns_are_counted(engine, result):
    con = engine(result(0, 100), result(1, 100, tool="fetch"), result(2, 100, tool="fetch"))
    (row,) = answer(con, tool="search")
    assert (row["carried_tokens"], row["share"]) == (200, 1.0)


def test_chinese_counts_about_one_token_a_character(engine):
    rows = engine().execute(
        "SELECT token_estimate(t) FROM (VALUES ('无法连接到数据库'), ('cannot connect'), (''), (NULL)) AS v(t)"
    ).fetchall()  # fmt: skip
    assert [value for (value,) in rows] == [8.0, pytest.approx(14 * 0.26), 0.0, None]


@settings(max_examples=examples(10), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    calls=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 90), st.sampled_from("ab")), min_size=1, max_size=12),
    cut=st.integers(1, 50),
)
def test_groups_add_up_and_a_cut_saves_at_most_everything(engine, make, calls, cut):
    attempts = [
        make(
            tool=tool,
            text="x" * (4 * size),
            started_at=START + timedelta(seconds=at),
            duration_ms=2000.0,
            conversation_id="t",
        )
        for at, size, tool in calls
    ]
    con = engine(*attempts)
    rows = answer(con, cut=cut)
    (whole,) = answer(con, cut=cut, by=[])
    for name in ("results", "characters"):
        assert sum(row[name] for row in rows) == whole[name]
    for name in ("tokens", "carried_tokens", "repeated_tokens", "saved_tokens"):
        assert sum(row[name] for row in rows) == pytest.approx(whole[name], abs=2), name
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    for row in rows:
        assert 0 <= row["repeated_share"] <= 1
        assert 0 <= row["saved_share"] <= 1
        assert row["mean_turns"] <= len(calls) - 1


def test_the_application_counts_tokens(store):
    tt.configure(store=store, tokens=lambda text: len(text.split()))

    @tt.trace_tool
    def told():
        return tt.ToolResponse.success("three short words")

    @tt.trace_tool
    def plain():
        return "two words"

    with tt.context(call_id="a"):
        told().to_message("a")
    plain()
    tt.flush()
    rows = {row["tool"]: (row["tokens"], row["counted"]) for row in tt.query("footprint", store=store).dicts()}
    assert rows == {"told": (3, 1), "plain": (2, 1)}
