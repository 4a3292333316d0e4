"""The cost of results for the context: tokens, carried through later turns, repeated, and saved by a cut."""

from __future__ import annotations

import json
import random
from datetime import timedelta

import pytest
from hypothesis import given, settings
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


def test_by_call_lists_the_largest_single_results(engine, result):
    con = engine(result(0, 26), result(1, 260), result(2, 130, tool="fetch"))
    rows = answer(con, by=["tool", "call"])
    assert [(row["tool"], row["call"], row["tokens"], row["carried_tokens"]) for row in rows] == [
        ("search", "call_2", 260, 260),
        ("fetch", "call_3", 130, 0),
        ("search", "call_1", 26, 52),
    ]


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


INPUT, OUTPUT = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
CONVENTIONS = {
    "GenAI": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", INPUT: "in", OUTPUT: "out"},
    "OpenInference": {
        "openinference.span.kind": "LLM", "llm.model_name": "m", "llm.token_count.prompt": "in",
        "llm.token_count.completion": "out", "llm.token_count.completion_details.reasoning": 0,
    },
    "OpenLLMetry": {
        "gen_ai.system": "openai", "gen_ai.usage.prompt_tokens": "in", "gen_ai.usage.completion_tokens": "out",
        "llm.usage.total_tokens": 9,
    },
    "AI SDK": {"ai.model.id": "m", "ai.usage.promptTokens": "in", "ai.usage.completionTokens": "out"},
}  # fmt: skip
TRACE = "7" * 32


def model_call(at, read, written, *, duration_ms=500.0, convention="GenAI", parent=None, trace=TRACE, **more):
    """A model call that starts at a second, with its usage: tokens that it read and wrote."""
    numbers = {"in": read, "out": written}
    attributes = {key: numbers.get(value, value) for key, value in CONVENTIONS[convention].items()} | more
    return Span(
        trace_id=trace, span_id=f"{100_000 + round(1000 * at):016x}", parent_span_id=parent, name="chat",
        started_at=START + timedelta(seconds=at), duration_ms=duration_ms, attributes=json.dumps(attributes),
    )  # fmt: skip


@pytest.fixture
def traced(result):
    """A result of the trace whose model calls have usage."""

    def traced(at, tokens=26, **given):
        return result(at, tokens, **{"trace_id": TRACE, **given})

    return traced


def exact(con, *names, **given):
    (row,) = answer(con, **given)
    return tuple(row[name] for name in names or ("tokens", "tokens_by"))


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_growth_of_the_models_input_is_the_exact_size_of_a_result(engine, traced, convention):
    calls = [model_call(at, read, 20, convention=convention) for at, read in ((0, 1000), (2, 1000 + 20 + 31))]
    con = engine(traced(1, 26), *calls)
    assert exact(con, "tokens", "tokens_by", "by_usage", "counted") == (31, "usage", 1, 0)


def test_results_of_one_turn_share_its_growth_by_their_estimates(engine, traced):
    con = engine(
        model_call(0, 1000, 20), traced(1, 78), traced(1.2, 26, tool="fetch"), model_call(2, 1000 + 20 + 120, 20)
    )
    rows = {row["tool"]: (row["tokens"], row["tokens_by"], row["by_turn"]) for row in answer(con)}
    assert rows == {"search": (90, "turn", 1), "fetch": (30, "turn", 1)}


def test_a_result_that_was_counted_keeps_its_count_and_leaves_the_rest_to_the_others(engine, traced):
    con = engine(
        model_call(0, 1000, 20), traced(1, 78, result_tokens=70), traced(1.2, 26, tool="fetch"), model_call(2, 1120, 20)
    )
    rows = {row["tool"]: (row["tokens"], row["tokens_by"]) for row in answer(con)}
    assert rows == {"search": (70, "counted"), "fetch": (30, "usage")}


def test_a_result_of_which_nothing_is_recorded_is_known_by_usage(engine, traced):
    con = engine(model_call(0, 1000, 20), traced(1, text=None), model_call(2, 1420, 20))
    assert exact(con, "tokens", "tokens_by", "results", "unknown") == (400, "usage", 1, 0)


NOT_ATTRIBUTED = {
    "reasoning may be left out of the next input": (
        model_call(0, 1000, 20, **{"gen_ai.usage.reasoning.output_tokens": 8}), model_call(2, 1050, 20)),
    "the conversation was summarised": (model_call(0, 1000, 20), model_call(2, 300, 20)),
    "a long message came too": (model_call(0, 1000, 20), model_call(2, 1500, 20)),
    "part of the history was dropped": (model_call(0, 1000, 20), model_call(2, 1022, 20)),
    "another model": (model_call(0, 1000, 20), model_call(2, 1050, 20, **{"gen_ai.request.model": "n"})),
    "another trace": (model_call(0, 1000, 20, trace="8" * 32), model_call(2, 1050, 20)),
    "the tool ran while the model wrote": (model_call(0, 1000, 20, duration_ms=1200.0), model_call(2, 1050, 20)),
    "the tool ran on while the model read": (model_call(0, 1000, 20), model_call(1.2, 1050, 20)),
    "embeddings": tuple(
        model_call(at, read, 20, **{"gen_ai.operation.name": "embeddings"}) for at, read in ((0, 1000), (2, 1050))),
    "the usage is not known": (model_call(0, 1000, None), model_call(2, 1050, 20)),
}  # fmt: skip


@pytest.mark.parametrize("spans", NOT_ATTRIBUTED.values(), ids=NOT_ATTRIBUTED)
def test_an_estimate_remains_where_the_growth_may_be_of_something_else(engine, traced, spans):
    assert exact(engine(traced(1, 26), *spans)) == (26, "estimate")


@pytest.mark.parametrize("ending", ["declined", "paused"])
def test_a_call_that_waited_for_a_person_leaves_estimates(engine, traced, ending):
    refused = traced(1.6, 26, tool="delete", status=None, ending=ending)
    con = engine(model_call(0, 1000, 20), traced(1, 26), refused, model_call(2, 1050, 20))
    assert exact(con) == (26, "estimate")


def test_spans_around_model_calls_and_model_calls_inside_tools_are_left_out(engine, traced):
    first = model_call(0, 1000, 20, parent=f"{7:016x}")
    agent = Span(
        trace_id=TRACE, span_id=f"{7:016x}", name="run", started_at=START, duration_ms=9000.0,
        attributes=json.dumps({INPUT: 2051, OUTPUT: 40}),
    )  # fmt: skip
    invoked = model_call(0.001, 2051, 40, **{"gen_ai.operation.name": "invoke_agent"})
    inside = model_call(1.1, 700, 20, duration_ms=100.0)
    last = model_call(2, 1051, 20)
    con = engine(agent, invoked, first, traced(1, 26), inside, last, model_call(3, 1080, 20))
    assert exact(con, "tokens", "tokens_by", "carried_tokens") == (31, "usage", 31), "two later model calls"


def test_groups_name_all_sources_of_their_tokens(engine, traced, result):
    con = engine(
        model_call(0, 1000, 20), traced(1, 26), model_call(2, 1050, 20), result(1, 26), traced(4, result_tokens=9)
    )
    assert exact(con, "tokens_by", "by_usage", "counted", "results") == ("counted, usage, estimate", 1, 1, 3)


def test_tokens_of_a_tokenizer_are_found_again(engine, traced):
    """The truth: a model that counts words, reads the whole history, and frames each message by four tokens."""
    draws = random.Random(5)
    history, at, truth, records = 500, 0.0, {}, []
    for turn in range(40):
        written = draws.randint(5, 40)
        records.append(model_call(at, history, written))
        history += written
        words = draws.randint(30, 900)
        tool = draws.choice(["search", "fetch"])
        records.append(traced(at + 1, tool=tool, text=" ".join(f"word{turn}" for _ in range(words))))
        truth[tool] = truth.get(tool, 0) + words + 4
        history += words + 4
        at += 2
    records.append(model_call(at, history, 7))
    con = engine(*records)
    assert {row["tool"]: row["tokens"] for row in answer(con)} == truth
    assert {row["tokens_by"] for row in answer(con)} == {"usage"}


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


@pytest.mark.long
@settings(max_examples=examples(10))
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
    def with_message():
        return tt.ToolResponse.success("three short words")

    @tt.trace_tool
    def plain():
        return "two words"

    with tt.context(call_id="a"):
        with_message().to_message("a")
    plain()
    tt.flush()
    rows = {row["tool"]: (row["tokens"], row["counted"]) for row in tt.query("footprint", store=store).dicts()}
    assert rows == {"with_message": (3, 1), "plain": (2, 1)}
