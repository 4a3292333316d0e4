"""The envelope of success, confidence, source, nextAction, error and meta."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tooltrace as tt
from tests.normalize.shapes import CERTAIN, anything, read
from tooltrace.normalize import normalize
from tooltrace.normalize.protocols.envelope import RULE

FOUND = {
    "success": True,
    "data": {"title": "Leave"},
    "confidence": 0.9,
    "source": {"type": "document", "id": "d1", "label": "Handbook", "url": "https://x/d1", "section": "3"},
    "nextAction": "continue",
    "meta": {"toolVersion": "1.2", "traceId": "t1", "durationMs": 12.5, "cached": True, "region": "eu"},
}
FAILED = {
    "success": False,
    "data": None,
    "confidence": 0,
    "nextAction": "ask_user",
    "error": {"type": "not_found", "message": "no page", "retryable": False, "userMessage": "Which page?", "tries": 3},
}


def snaked(value: Any) -> Any:
    words = {"nextAction": "next_action", "toolVersion": "tool_version", "traceId": "trace_id"}
    words |= {"durationMs": "duration_ms", "userMessage": "user_message"}
    return {words.get(n, n): snaked(v) for n, v in value.items()} if isinstance(value, dict) else value


def test_a_success() -> None:
    found = read(FOUND)
    assert (found.status, found.data, found.confidence, found.next_action) == (
        "success",
        {"title": "Leave"},
        0.9,
        "continue",
    )
    assert found.sources == (tt.Source(type="document", id="d1", label="Handbook", url="https://x/d1", section="3"),)
    meta = found.meta
    assert (meta.tool_version, meta.trace_id, meta.duration_ms, meta.cached) == ("1.2", "t1", 12.5, True)
    assert (meta.rule, meta.rule_grade, found.context) == ("envelope", "certain", {"meta": {"region": "eu"}})


def test_a_failure() -> None:
    found = read(FAILED)
    error = found.error
    assert (found.status, found.code, error.type, error.message) == ("error", "NOT_FOUND", "not_found", "no page")
    assert (error.retryable, error.user_message, found.next_action, found.confidence) == (
        False,
        "Which page?",
        "ask_user",
        0,
    )
    assert found.context == {"error": {"tries": 3}}


@pytest.mark.parametrize("value", [FOUND, FAILED])
def test_both_spellings_read_the_same(value: dict) -> None:
    assert read(snaked(value)) == read(value)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("timeout", "TIMEOUT"),
        ("rate_limit_error", "RATE_LIMIT"),
        ("RateLimited", "RATE_LIMIT"),
        ("validation_error", "INVALID_PARAM"),
        ("permission", "PERMISSION_DENIED"),
        ("AUTH_ERROR", "ACCESS_DENIED"),
        ("network", "NETWORK_ERROR"),
        ("external_api", "API_ERROR"),
        ("internal", "INTERNAL_ERROR"),
        ("conflict", "CONFLICT"),
    ],
)
def test_the_type_gives_the_code_and_is_recorded(kind: str, code: str) -> None:
    found = read({"success": False, "error": {"type": kind, "message": "it went wrong"}})
    assert (found.code, found.error.type, found.meta.rule) == (code, kind, "envelope")


def test_the_message_gives_the_code_for_an_unknown_type() -> None:
    found = read({"success": False, "error": {"type": "weather", "message": "the station timed out"}})
    assert (found.code, found.error.type) == ("TIMEOUT", "weather")


@pytest.mark.parametrize(
    ("source", "sources"),
    [
        ("handbook", [tt.Source(label="handbook")]),
        ("database", [tt.Source(type="database", label="database")]),
        ("https://x/y", [tt.Source(type="api", url="https://x/y")]),
        ([{"type": "file", "path": "a.py"}, "b"], [tt.Source(type="file", url="a.py"), tt.Source(label="b")]),
        ([], []),
        (None, []),
    ],
)
def test_a_source_is_a_list_an_object_or_a_text(source: Any, sources: list) -> None:
    assert list(read({"success": True, "data": 1, "source": source}).sources) == sources


def test_further_members_of_a_source_are_preserved() -> None:
    item = {"type": "web page", "title": "T", "rank": 3}
    found = read({"success": True, "data": 1, "source": [item]})
    assert found.sources == (tt.Source(type="other", label="T"),)
    assert found.context == {"source": [item]}


@pytest.mark.parametrize("bad", [1.7, -0.1, "high", True, [0.5]])
def test_an_invalid_confidence_is_preserved_and_flagged(bad: Any) -> None:
    found = read({"success": True, "data": 1, "confidence": bad})
    assert (found.confidence, found.context) == (None, {"confidence": bad})
    assert "confidence_out_of_range" in found.meta.flags


@pytest.mark.parametrize(
    "extra",
    [
        {"confidence": 0.75, "signals": ["exact_title"]},
        {"confidence": {"score": 0.75, "signals": ["exact_title"]}},
        {"confidence": 0.75, "confidenceSignals": {"exact_title": True}},
    ],
)
def test_signals(extra: dict) -> None:
    found = read({"success": True, "data": 1, **extra})
    assert (found.confidence, found.signals) == (0.75, {"exact_title": True})


def test_success_with_an_error_is_partial_with_both() -> None:
    found = read(
        {"success": True, "data": [1], "confidence": 0.4, "error": {"type": "timeout", "message": "page 2 late"}}
    )
    assert (found.status, found.code, found.data, found.confidence) == ("partial", "TIMEOUT", [1], 0.4)
    assert (found.reason, found.meta.flags) == ("page 2 late", ("error_in_success",))


@pytest.mark.parametrize("error", [None, "", {}, []])
def test_an_empty_error_is_none(error: Any) -> None:
    assert read({"success": True, "data": 1, "confidence": 1, "error": error}).status == "success"


def test_a_failure_in_its_data_is_found_unless_words_do_not_count() -> None:
    value = {"success": True, "confidence": 0.9, "data": "timeout", "source": "api"}
    assert (read(value).status, read(value).meta.rule) == ("error", "envelope/hidden")
    assert normalize(value, rules=CERTAIN).status == "success"


@pytest.mark.parametrize("error", ["no page", {"message": "no page"}, ["no page"]])
def test_every_form_of_an_error_is_read(error: Any) -> None:
    found = read({"success": False, "confidence": 0.1, "error": error})
    assert (found.status, found.error.message) == ("error", "no page")


@given(st.dictionaries(st.sampled_from(["data", "confidence", "nextAction", "source", "error", "meta"]), anything))
def test_success_decides_the_status(members: dict) -> None:
    assert read({"success": False, **members}).status == "error"
    assert normalize({"success": True, **members}, rules=[RULE]).status != "error"
