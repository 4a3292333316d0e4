"""Every sent attribute is in the catalog with its level and type, and on the documentation page."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.otel.test_log_codec import corrections, gates, losses, messages, outcomes
from tooltrace.core.fields import fields_of
from tooltrace.core.records import Correction, Gate, Loss, Message, Outcome, ToolCall
from tooltrace.otel import attributes as names
from tooltrace.otel import catalog
from tooltrace.otel.catalog import ATTRIBUTES, Signal
from tooltrace.otel.log_codec import exception_log, to_log
from tooltrace.otel.metrics import duration_attributes
from tooltrace.otel.span_codec import encode

KINDS: dict[str, Any] = {
    "text": lambda value: type(value) is str,
    "number": lambda value: type(value) in (int, float),
    "integer": lambda value: type(value) is int,
    "boolean": lambda value: type(value) is bool,
    "JSON text": lambda value: type(value) is str and orjson.loads(value) is not None,
    "texts": lambda value: type(value) is list and all(type(one) is str for one in value),
}
NOW = datetime(2026, 11, 21, tzinfo=UTC)
VALUES: dict[str, Any] = {
    "str": st.text(min_size=1),
    "int": st.integers(1, 99),
    "float": st.floats(0, 1),
    "bool": st.booleans(),
    "Json": st.sampled_from(['{"a":1}', "[1]", '"x"']),
    "datetime": st.just(NOW),
}


@st.composite
def calls(draw: Any, every: bool = False) -> ToolCall:
    """Any record; with ``every`` field known."""
    given_: dict[str, Any] = {}
    for field in fields_of(ToolCall):
        value = VALUES[field.type_name]
        given_[field.name] = draw(value if every or not field.nullable else st.none() | value)
    given_ |= {"trace_id": "1" * 32, "span_id": "2" * 16, "attributes": None}
    given_ |= {"status": draw(st.sampled_from(["error"] if every else ["success", "partial", "error", None]))}
    given_ |= {"ending": "raised" if every else draw(st.sampled_from(["returned", "raised", "cancelled"]))}
    return ToolCall(**given_)


def check(signal: Signal, sent: dict[str, Any]) -> None:
    """Check that all attributes in ``sent`` are known, have their type, and that no required one is missing."""
    known = catalog.of(signal)
    assert set(sent) <= set(known)
    wrong = {key: value for key, value in sent.items() if not KINDS[known[key].kind](value)}
    assert not wrong
    assert {name for name, attribute in known.items() if attribute.level == "required"} <= set(sent)


@given(calls())
def test_span_attributes_match_the_catalog(call: ToolCall) -> None:
    form = encode(call)
    check("span", form.attributes)
    assert ("error.type" in form.attributes) == (call.status == "error")
    assert ("gen_ai.agent.name" in form.attributes) == (call.agent is not None)
    assert ("gen_ai.conversation.id" in form.attributes) == (call.conversation_id is not None)
    assert form.status == ("error" if call.status == "error" else "unset")
    assert (form.name, form.kind) == (f"execute_tool {call.tool}", "internal")


@given(calls())
def test_metric_attributes_match_the_catalog(call: ToolCall) -> None:
    sent = duration_attributes(call)
    check("metric", sent)
    assert sent.items() <= encode(call).attributes.items()


@given(calls())
def test_exception_attributes_match_the_catalog(call: ToolCall) -> None:
    form = exception_log(call)
    assert (form is None) == (call.ending != "raised" or call.status != "error")
    if form is not None:
        check("exception", form.attributes)
        assert form.attributes["error.type"] == encode(call).attributes["error.type"]
        assert {"exception.type", "exception.message"} & set(form.attributes)


@given(outcomes)
def test_evaluation_attributes_match_the_catalog(outcome: Outcome) -> None:
    check("evaluation", to_log(outcome).attributes)


@given(st.one_of(corrections, gates, messages, losses))
def test_attributes_of_our_events_match_the_catalog(record: Correction | Gate | Message | Loss) -> None:
    signal: Any = type(record).__name__.lower()
    check(signal, to_log(record).attributes)


@given(calls(every=True))
def test_every_catalogued_attribute_is_sent(call: ToolCall) -> None:
    words = replace(call, status="success", result=None)  # an answer without data, which is not a failure
    assert set(encode(call).attributes) | set(encode(words).attributes) == set(catalog.of("span"))
    assert set(encode(call).resource) == set(catalog.of("resource"))
    assert set(duration_attributes(call)) == set(catalog.of("metric"))
    event = exception_log(call)
    assert event is not None
    assert set(event.attributes) == set(catalog.of("exception"))


def test_every_name_of_an_event_is_sent_by_some_record() -> None:
    old = datetime(1901, 1, 1, tzinfo=UTC)
    full: dict[Any, Any] = {
        "evaluation": Outcome(
            call_id="c",
            span_id="s",
            score=0.5,
            labeler="a",
            reason="r",
            labeled_at=old,
            labeler_kind="agent",
            target_kind="attempt",
            conversation_id="d",
        ),
        "correction": Correction(
            call_id="c",
            span_id="s",
            status="error",
            code="TIMEOUT",
            rule="r",
            rule_grade="certain",
            reason="r",
            corrected_at=old,
        ),
        "gate": Gate(
            call_id="c",
            span_id="s",
            kind="input",
            decision="approved",
            asked_at=old,
            answered_at=old,
            answered_by="ann",
            note="n",
            changed='{"a":1}',
            resumed_span_id="t",
        ),
        "message": Message(
            call_id="c", span_id="s", style="x", text="t", sha256="f", length=1, error=False, at=old, tokens=3
        ),
        "loss": Loss(reason="r", count=1, at=old, detail="d"),
    }
    for signal, record in full.items():
        assert set(to_log(record).attributes) == set(catalog.of(signal)), signal


def test_a_name_is_unique_per_signal_and_has_a_source() -> None:
    places = [(attribute.signal, attribute.name) for attribute in ATTRIBUTES]
    assert len(set(places)) == len(places)
    for attribute in ATTRIBUTES:
        assert (attribute.source == catalog.TOOLTRACE) == (attribute.level == "custom"), attribute
        assert attribute.source in (catalog.TOOLTRACE, *catalog.SOURCES)
        assert attribute.meaning.endswith(".")


def test_custom_names_are_not_names_of_the_conventions() -> None:
    """A custom attribute has a prefix of ours, or is the conventions' own on another signal."""
    defined = {attribute.name for attribute in ATTRIBUTES if attribute.level != "custom"}
    for attribute in ATTRIBUTES:
        assert attribute.name in defined or attribute.name.startswith("tooltrace."), attribute


def test_a_tool_cannot_overwrite_any_attribute_of_its_span() -> None:
    assert set(catalog.of("span")) == names.RESERVED


def test_every_constant_of_the_names_is_in_the_catalogue() -> None:
    known = {attribute.name for attribute in ATTRIBUTES}
    apart = {names.EXECUTE_TOOL, names.ERROR_TYPE_OTHER, names.CORRECTNESS, names.SCHEMA_URL, names.DURATION_METRIC}
    apart |= {
        names.EVALUATION_EVENT,
        names.EXCEPTION_EVENT,
        names.CORRECTION_EVENT,
        names.GATE_EVENT,
        names.MESSAGE_EVENT,
        names.LOSS_EVENT,
    }
    constants = {value for key, value in vars(names).items() if key.isupper() and isinstance(value, str)}
    assert constants - apart <= known


@pytest.mark.parametrize("signal", get_args(Signal))
def test_every_signal_has_attributes(signal: Signal) -> None:
    assert catalog.of(signal)


def test_the_page_names_every_event_the_metric_and_the_schema() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "telemetry.md").read_text()
    named = [value for key, value in vars(names).items() if key.endswith("_EVENT")]
    for name in (*named, names.DURATION_METRIC, names.SCHEMA_URL):
        assert f"`{name}`" in page
