"""Conversion of records other than spans to log events, and back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import FIELD, records_of
from tooltrace.core.records import Correction, Gate, Loss, Message, Outcome, ToolCall
from tooltrace.otel.log_codec import exception_log, from_log, rejection_reason, to_log
from tooltrace.otel.span_data import LogData

NOW = datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=UTC)
TRACE, SPAN = "ab" * 16, "cd" * 8

texts = st.text(min_size=1)
maybe = st.none() | texts
moments = st.datetimes(timezones=st.just(UTC))
span_ids = st.integers(1, 2**64 - 1).map("{:016x}".format)
objects = st.dictionaries(st.text(), st.integers(-9, 9) | st.text(), max_size=3).map(lambda v: orjson.dumps(v).decode())
whole = st.integers(-(2**63), 2**63 - 1)

PERSONS = st.sampled_from(["person", "rule", "agent"])
OWN: dict[str, st.SearchStrategy[Any]] = {
    "call_id": texts, "span_id": span_ids, "labeler": texts, "reason": texts, "labeler_kind": PERSONS, "sha256": texts, "kind": texts,
    "score": st.floats(0.0, 1.0), "status": st.sampled_from(["success", "partial", "error"]), "text": texts, "decision": texts,
    "target_kind": st.sampled_from(["attempt", "call", "conversation"]), "changed": objects, "length": whole, "count": whole,
}  # fmt: skip
"""Values of fields that have rules of their own."""
outcomes, corrections, gates, messages, losses = (
    records_of(kind, OWN, FIELD | {"str": texts}) for kind in (Outcome, Correction, Gate, Message, Loss)
)
records = st.one_of(outcomes, corrections, gates, messages, losses)


@given(record=records, known=st.booleans())
def test_an_event_encodes_the_complete_record(record: Any, known: bool) -> None:
    form = to_log(record, trace_id=TRACE, span_id=SPAN) if known else to_log(record)
    assert from_log(form) == record
    assert rejection_reason(form) is None
    assert 0 <= form.time_ns < 2**63
    assert (form.trace_id, form.span_id) in ((TRACE, SPAN), (None, None))
    assert None not in form.attributes.values()


@given(record=st.one_of(gates, messages), trace_id=st.just(TRACE))
def test_an_event_belongs_to_the_span_of_its_record(record: Any, trace_id: str) -> None:
    form = to_log(record, trace_id=trace_id)
    assert form.span_id == record.span_id
    assert (form.trace_id is None) == (record.span_id is None)


def test_a_call_without_an_id_of_its_own_gets_none_from_its_event() -> None:
    gate = Gate(call_id=SPAN, span_id=SPAN, kind="input", asked_at=NOW)
    form = to_log(gate)
    assert "gen_ai.tool.call.id" not in form.attributes
    assert from_log(form) == gate


def test_a_label_is_the_conventions_evaluation() -> None:
    outcome = Outcome(call_id="c", span_id=SPAN, correct=False, labeler="ann", reason="stale", labeled_at=NOW)
    form = to_log(outcome, trace_id=TRACE)
    assert (form.event_name, form.trace_id, form.span_id) == ("gen_ai.evaluation.result", TRACE, SPAN)
    assert form.time_ns == 1795262400123456000
    assert form.attributes == {
        "gen_ai.evaluation.name": "correctness",
        "gen_ai.evaluation.score.value": 0.0,
        "gen_ai.evaluation.score.label": "incorrect",
        "gen_ai.evaluation.explanation": "stale",
        "gen_ai.tool.call.id": "c",
        "tooltrace.judged.span_id": SPAN,
        "tooltrace.labeler": "ann",
        "tooltrace.said": ["correct"],
    }


# evaluations of others


def evaluation(span_id: str | None = SPAN, *, scope: str | None = None, **values: Any) -> LogData:
    names = {"name": "name", "value": "score.value", "label": "score.label", "explanation": "explanation"}
    attributes = {f"gen_ai.evaluation.{names[key]}": value for key, value in values.items()}
    return LogData(
        event_name="gen_ai.evaluation.result",
        time_ns=1_795_262_400_123_456_789,
        attributes=attributes,
        trace_id=span_id and TRACE,
        span_id=span_id,
        scope=scope,
    )


@pytest.mark.parametrize(
    ("values", "correct", "score"),
    [
        ({"label": "pass"}, True, None),
        ({"label": "Failed"}, False, None),
        ({"label": "correct", "value": 0.9}, True, 0.9),
        ({"label": "Not Correct"}, False, None),
        ({"label": "somewhat relevant", "value": 0.4}, None, 0.4),
        ({"value": 1}, None, 1.0),
        ({"value": 0.0}, None, 0.0),
    ],
)
def test_an_external_evaluation_becomes_an_outcome(values: Any, correct: Any, score: Any) -> None:
    assert from_log(evaluation(name="Relevance", explanation="why", **values)) == Outcome(
        span_id=SPAN, correct=correct, score=score, labeler="Relevance", reason="why", labeled_at=NOW
    )


def test_a_score_out_of_range_is_part_of_the_reason() -> None:
    found = from_log(evaluation(name="Quality", label="pass", value=4, explanation="fine"))
    assert isinstance(found, Outcome)
    assert (found.correct, found.score, found.reason) == (True, None, "fine (score 4)")


def test_a_score_that_contradicts_its_label_is_not_a_score() -> None:
    found = from_log(evaluation(name="Groundedness", label="fail", value=0.9))
    assert isinstance(found, Outcome)
    assert (found.correct, found.score, found.reason) == (False, None, "score 0.9")


@pytest.mark.parametrize(
    ("form", "cause"),
    [
        (evaluation(name="Quality", value=4), "[0, 1]"),
        (evaluation(name="Quality", value=4, label="ok-ish"), "ok-ish"),
        (evaluation(name="Quality"), "neither a score nor a label"),
        (evaluation(name="Toxicity", value=0.9), "a higher Toxicity may be worse"),
        (evaluation(None, name="Quality", value=0.9), "neither a span id, a call id nor a conversation id"),
        (evaluation(name="Quality", value="0.9"), "must be a finite number"),
        (evaluation(name="Quality", value=float("nan")), "must be a finite number"),
        (evaluation(name="Quality", value=True), "must be a finite number"),
        (evaluation(name=["Quality"], value=0.9), "must be a text"),
    ],
)
def test_an_evaluation_without_a_verdict_is_refused_with_a_reason(form: LogData, cause: str) -> None:
    assert from_log(form) is None
    assert cause in (rejection_reason(form) or "")


def test_the_instrumentation_is_the_labeler_where_the_event_names_no_metric() -> None:
    found = from_log(evaluation(value=0.9, scope="judge-lib"))
    assert isinstance(found, Outcome)
    assert found.labeler == "judge-lib"


@pytest.mark.parametrize("span_id", [None, SPAN])
def test_an_evaluation_judges_the_call_that_it_names_and_the_span_that_it_belongs_to(span_id: str | None) -> None:
    form = evaluation(span_id, value=0.9)
    form.attributes["gen_ai.tool.call.id"] = "call_7"
    found = from_log(form)
    assert isinstance(found, Outcome)
    assert (found.call_id, found.span_id) == ("call_7", span_id)


def test_a_name_in_an_attribute_is_a_name() -> None:
    form = LogData(time_ns=0, attributes={"event.name": "tooltrace.loss", "tooltrace.loss.reason": "r"})
    assert rejection_reason(form) == "tooltrace.loss: count is missing"
    form.attributes["tooltrace.loss.count"] = 3
    assert from_log(form) == Loss(reason="r", count=3, at=datetime(1970, 1, 1, tzinfo=UTC))


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
KEYS = (
    *("tooltrace.gate.span_id", "tooltrace.gate.kind", "tooltrace.gate.asked_at", "tooltrace.gate.changed"),
    *("tooltrace.message.sha256", "tooltrace.message.length", "tooltrace.message.error", "tooltrace.loss.reason"),
    *("tooltrace.loss.count", "tooltrace.labeler", "tooltrace.said", "tooltrace.at", "gen_ai.tool.call.id"),
    *("gen_ai.evaluation.name", "gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"),
)
EVENTS = (
    "gen_ai.evaluation.result",
    "tooltrace.correction",
    "tooltrace.gate",
    "tooltrace.message",
    "tooltrace.loss",
    "other",
    None,
)


@given(
    form=st.builds(
        LogData,
        event_name=st.sampled_from(EVENTS),
        time_ns=st.integers(-(2**70), 2**70),
        attributes=st.dictionaries(st.sampled_from(KEYS), junk),
        span_id=st.none() | span_ids,
        resource=st.dictionaries(st.sampled_from(["service.name", "host.name", "process.pid"]), junk),
    )
)
def test_any_log_is_a_record_or_is_refused_with_a_reason(form: LogData) -> None:
    found = from_log(form)
    if form.event_name in (None, "other"):
        assert (found, rejection_reason(form)) == (None, None)
    else:
        assert (found is None) == (rejection_reason(form) is not None)


# exceptions


def call(**fields: Any) -> ToolCall:
    known = {"tool": "t", "call_id": "c", "trace_id": TRACE, "span_id": SPAN, "started_at": NOW}
    return ToolCall(**{**known, **fields})


def test_an_exception_is_an_event_at_the_end_of_its_span() -> None:
    form = exception_log(
        call(
            ending="raised",
            status="error",
            error_type="httpx.ReadTimeout",
            error_message="late",
            duration_ms=1.5,
            attempt=2,
            conversation_id="chat",
            agent="clerk",
            tool_type="function",
            code="TIMEOUT",
            service="shop",
            result='"secret"',
        )
    )
    assert form is not None
    assert (form.event_name, form.severity) == ("gen_ai.execute_tool.exception", 13)
    assert (form.trace_id, form.span_id) == (TRACE, SPAN)
    assert form.time_ns == 1_795_262_400_124_956_000
    assert form.resource == {"service.name": "shop"}
    assert form.attributes == {
        "exception.type": "httpx.ReadTimeout",
        "exception.message": "late",
        "error.type": "httpx.ReadTimeout",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "t",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c",
        "gen_ai.agent.name": "clerk",
        "gen_ai.conversation.id": "chat",
        "tooltrace.attempt": 2,
    }


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "success"},
        {"status": "error", "ending": "returned", "code": "TIMEOUT"},
        {"ending": "cancelled", "error_type": "asyncio.exceptions.CancelledError"},
        {"ending": "abandoned"},
        {"ending": "paused"},
    ],
)
def test_calls_without_an_exception_have_no_exception_event(fields: Any) -> None:
    assert exception_log(call(**fields)) is None


@given(duration=st.floats(0, 1e9), consumer=st.none() | st.floats(0, 1e6))
def test_the_exception_is_where_the_span_ends(duration: float, consumer: float | None) -> None:
    from tooltrace.otel.span_codec import encode

    made = call(ending="raised", status="error", duration_ms=duration, consumer_ms=consumer)
    form = exception_log(made)
    assert form is not None
    assert abs(form.time_ns - encode(made).end_ns) <= 1000
