"""Values that cannot be used: refused when they are given, or unknown in the record with a flag and one warning.

A tool never fails for a value that it computed, and no value is dropped in silence.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import tooltrace as tt
from tests.conftest import Calls
from tooltrace.errors import BadParameter, ConfigError, LabelError, MessageError, UnknownOption, UnknownQuery
from tooltrace.faults import faults

respond = tt.ToolResponse


@pytest.fixture(autouse=True)
def nothing_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "_warned", {})


def decorate(**options: Any) -> Callable[[], object]:
    return lambda: tt.trace_tool(**options)(lambda: 1)


def configure(**options: Any) -> Callable[[], object]:
    return lambda: tt.configure(store=None, **options)


def enter(**options: Any) -> Callable[[], object]:
    return lambda: tt.context(**options).__enter__()


@pytest.mark.parametrize(
    ("misuse", "error", "message"),
    [
        (decorate(confidence="high"), ConfigError, "confidence must be a number in .*, got 'high' for the tool"),
        (decorate(confidence=1.5), ConfigError, "got 1.5"),
        (decorate(confidence=True), ConfigError, "got True"),
        (decorate(confidence=math.nan), ConfigError, "got nan"),
        (decorate(sources="manual"), ConfigError, "sources must be a list of tooltrace.Source, .* got 'manual'"),
        (decorate(sources=[{"type": "web"}]), ConfigError, r"got \[\{'type': 'web'\}\]"),
        (decorate(retryable="OSError"), ConfigError, "retryable must be exception classes, or functions .* 'OSError'"),
        (decorate(retryable=int), ConfigError, "got <class 'int'>"),
        (decorate(retryable=[OSError, 503]), ConfigError, "got 503"),
        (decorate(name=""), ConfigError, "the name of a tool must be a text that is not empty, got ''"),
        (decorate(capture="none"), ConfigError, "capture must be 'full' or 'metadata', got 'none'"),
        (decorate(redact=5), ConfigError, "redact must be a Redaction, .* got 5"),
        (decorate(redact=[5]), ConfigError, "names of keys"),
        (lambda: tt.TraceLogger(confidence="high"), ConfigError, "got 'high'"),  # type: ignore[arg-type]
        (configure(tracer_provider="x"), ConfigError, "tracer_provider must be a TracerProvider .* got 'x'"),
        (configure(service=5), ConfigError, "service must be a text, or None, got 5"),
        (configure(block_seconds="1"), ConfigError, "block_seconds must be a number of seconds .* got '1'"),
        (configure(wait=math.nan), ConfigError, "wait must be a number of seconds .* got nan"),
        (configure(queue_size=True), ConfigError, "queue_size must be a whole number"),
        (configure(redact=5), ConfigError, "redact must be"),
        (enter(attributes="x"), ConfigError, "attributes must be a dict with texts as keys, .* got 'x'"),
        (enter(attributes={1: "a"}), ConfigError, "got {1: 'a'}"),
        (lambda: tt.Redaction(keys=5), ConfigError, "keys must be texts, got 5"),  # type: ignore[arg-type]
        (lambda: tt.rule(5), ConfigError, "the name of a rule must be a text, got 5"),  # type: ignore[arg-type]
        (lambda: respond.error("x"), TypeError, r"needs a code and a message, got only the code 'x': such as ToolResponse.error\('NOT_FOUND'"),  # type: ignore[call-arg]
        (lambda: respond.error(message="x"), TypeError, "got only the message"),  # type: ignore[call-arg]
        (lambda: respond.error(), TypeError, "got neither"),  # type: ignore[call-arg]
        (lambda: respond(status="error"), ConfigError, r"needs an error: use ToolResponse.error\(code, message\)"),
        (lambda: respond(status="success", error=tt.ErrorInfo(code="X", message="no")), ConfigError, "carries no error"),
        (lambda: respond.success("x", error="boom"), ConfigError, "carries no error"),  # type: ignore[arg-type]
        (lambda: respond(status="ok"), ConfigError, r"must be 'success', .* got 'ok': use ToolResponse.success\(\)"),  # type: ignore[arg-type]
        (lambda: respond(), TypeError, r"ToolResponse\(\) needs status=, which was left out"),  # type: ignore[call-arg]
        (lambda: respond.success("x", confidance=0.5), UnknownOption, "no field 'confidance'; did you mean 'confidence'"),  # type: ignore[call-arg]
        (lambda: respond.error("X", "m", retriable=True), UnknownOption, "no field 'retriable'; did you mean 'retryable'"),  # type: ignore[call-arg]
        (lambda: tt.Source(typ="api"), UnknownOption, "Source has no field 'typ'; did you mean 'type'"),  # type: ignore[call-arg]
        (lambda: tt.ErrorInfo(code="X"), TypeError, r"ErrorInfo\(\) needs message="),  # type: ignore[call-arg]
        (lambda: tt.Source("api"), TypeError, r"Source\(\) takes its fields by name, such as type="),  # type: ignore[misc]
        (lambda: respond.from_dict(5), TypeError, "needs the dict that to_dict"),  # type: ignore[arg-type]
        (lambda: respond.success("x").to_message("c", notes=5), MessageError, "no note 5: pass True"),  # type: ignore[call-overload]
        (lambda: tt.resolve_next_step(5), TypeError, "needs a ToolResponse, got int"),  # type: ignore[arg-type]
        (lambda: tt.flush("x"), ConfigError, "timeout must be a number of seconds of at least 0, got 'x'; None waits"),  # type: ignore[arg-type]
        (lambda: tt.flush(-1), ConfigError, "got -1"),
        (lambda: tt.shutdown("x"), ConfigError, "timeout must be a number of seconds"),  # type: ignore[arg-type]
        (lambda: tt.ConfidenceRules(5), ConfigError, "must be a dict from the names of signals to numbers, .* got 5"),  # type: ignore[arg-type]
        (lambda: tt.ConfidenceRules({"a": 0.1}).score(5), ConfigError, "needs the names of the signals .* got 5"),  # type: ignore[arg-type]
        (lambda: tt.install(5), ConfigError, "an integration is named by a text, .* got 5"),  # type: ignore[arg-type]
        (lambda: tt.ToolRegistry(5), ConfigError, r"tools must be a list of tools, got 5: pass \[5\]"),  # type: ignore[arg-type]
        (lambda: tt.query(5), UnknownQuery, "the name of a query is a text, .* got 5"),  # type: ignore[call-overload]
        (lambda: tt.query("failure_rate", by=5), BadParameter, "'by' must be the name of a dimension, .* got 5"),  # type: ignore[call-overload]
        (lambda: tt.query("failure_rate", store=5), ConfigError, "store must be the path of a DuckDB file, .* got 5"),  # type: ignore[call-overload]
        (lambda: tt.briefing(5), BadParameter, "tools must be a list of names; got 5"),  # type: ignore[arg-type]
        (lambda: tt.label(call_id="c", score=1.5), LabelError, "must be from 0 to 1; got 1.5"),
    ],
)  # fmt: skip
def test_a_misuse_is_refused_when_it_is_made(
    misuse: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        misuse()


@pytest.mark.parametrize(
    ("stated", "known"),
    [
        (1.0000000000000002, 1.0), (0.7 + 0.2 + 0.1 + 1e-7, 1.0), (-1e-9, 0.0), (1, 1.0), (Decimal("0.5"), 0.5), (np.float32(0.5), 0.5),
        (1.5, None), (-0.1, None), (math.nan, None), (math.inf, None), ("high", None), ("0.9", None), (True, None), ([0.9], None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("way", ["response", "function"])
def test_a_computed_confidence_never_fails(
    stated: Any, known: float | None, way: str, calls: Calls, caplog: pytest.LogCaptureFixture
) -> None:
    if way == "response":
        tool = tt.trace_tool(name="t")(lambda: respond.success("x", confidence=stated))
    else:
        tool = tt.trace_tool(name="t", confidence=lambda result: stated)(lambda: "x")
    with caplog.at_level(logging.WARNING, "tooltrace"):
        tool()
        tool()
        tt.flush()
    flags = '["confidence_out_of_range"]' if known is None else None
    assert [(call.confidence, call.flags) for call in calls()] == [(known, flags)] * 2
    warned = [record.message for record in caplog.records if "confidence" in record.message]
    assert len(warned) == (known is None)
    if way == "response":
        assert respond.success(confidence=stated, meta={"flags": ("mine",)}).meta.flags == (
            ("mine",) if known is not None else ("mine", "confidence_out_of_range")
        )


class Silent:
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("made", "flag", "expected"),
    [
        (lambda: respond(status="success", text=5), "text", {"text": "5"}),  # type: ignore[arg-type]
        (lambda: respond.success({"a": [1]}), "text", {"text": '{"a": [1]}'}),  # type: ignore[arg-type]
        (lambda: respond.partial(b"x", reason=7), "reason", {"text": "x", "reason": "7"}),  # type: ignore[arg-type]
        (lambda: respond.success(None), "text", {"text": ""}),  # type: ignore[arg-type]
        (lambda: respond.success(Silent()), "text", {"text": "<Silent>"}),  # type: ignore[arg-type]
        (lambda: respond.success("x", code=404), "code", {"code": "404"}),  # type: ignore[arg-type]
        (lambda: respond.success("x", stats=5), "stats", {"stats": None, "context": {"stats": 5}}),  # type: ignore[arg-type]
        (lambda: respond.success("x", context={1: 2}), "context", {"context": {"context": {1: 2}}}),  # type: ignore[dict-item]
        (lambda: respond.success("x", next_action="go"), "next_action", {"context": {"next_action": "go"}}),  # type: ignore[arg-type]
        (lambda: respond.success("x", signals={"a": 0.5, "b": [1]}), "signals", {"signals": {"a": 0.5}, "context": {"signals": {"b": [1]}}}),  # type: ignore[dict-item]
        (lambda: respond.success("x", source=[{"label": "a"}, {"type": "web"}]), "sources", {"sources": (tt.Source(label="a"),), "context": {"sources": [{"type": "web"}]}}),
        (lambda: respond.success("x", source=5), "sources", {"sources": (), "context": {"sources": [5]}}),  # type: ignore[arg-type]
        (lambda: respond.success("x", meta={"attempt": 0, "cached": True}), "meta", {"context": {"meta": {"attempt": 0}}}),
        (lambda: respond.error("X", 5, suggestion=["a"], retryable="maybe"), "error", {"text": "5", "failure": tt.ErrorInfo(code="X", message="5", suggestion='["a"]')}),  # type: ignore[arg-type]
        (lambda: respond("error", "t", {}, "boom"), "error", {"code": "EXECUTION_ERROR", "text": "t"}),  # type: ignore[misc]
        (lambda: respond("error", "t", {}, {"code": 5, "odd": 1}), "error", {"code": "5", "failure": tt.ErrorInfo(code="5", message="5")}),  # type: ignore[misc]
    ],
)  # fmt: skip
def test_a_value_that_a_tool_computed_never_fails_its_response(
    made: Callable[[], tt.ToolResponse],
    flag: str,
    expected: dict[str, Any],
    calls: Calls,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "tooltrace"):
        for _ in range(2):
            found = tt.trace_tool(name="t")(made)()
        tt.flush()
    assert {name: getattr(found, name) for name in expected} == expected
    assert f"invalid_{flag}" in found.meta.flags
    assert [f"invalid_{flag}" in (call.flags or "") for call in calls()] == [True] * 2
    assert len([each for each in caplog.records if f"does not fit {flag}:" in each.message]) == 1


def test_a_part_of_a_response_is_mended_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tooltrace"):
        assert tt.ErrorInfo(code="X", message=5).message == "5"  # type: ignore[arg-type]
        assert tt.Source(type="web", label=5) == tt.Source(label="5")  # type: ignore[arg-type]
    assert len(caplog.records) == 3


@pytest.mark.parametrize(("name", "value"), [("duration_ms", "1"), ("duration_ms", -1), ("duration_ms", True), ("attempt", "2"), ("attempt", 0)])  # fmt: skip
def test_a_value_of_a_logged_call_that_cannot_be_used_is_unknown(
    name: str, value: Any, calls: Calls, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "tooltrace"):
        for _ in range(2):
            tt.TraceLogger().record("t", OSError("no"), call_id=7, **{name: value})  # type: ignore[arg-type]
    assert [each.message for each in caplog.records if f"as {name}, which must be" in each.message]
    assert sorted((call.call_id, call.attempt, call.duration_ms) for call in calls()) == [
        ("7", 1, None),
        ("7", 2, None),
    ]


class GoneError(Exception):
    status = 404


class BusyError(Exception):
    status = 503


def busy(outcome: Any) -> bool | None:
    """Whether to try again, as for ``stamina.retry(on=…)``; also of a response."""
    return outcome.error.code == "BUSY" if isinstance(outcome, respond) else outcome.status >= 500


@pytest.mark.parametrize(
    ("retryable", "outcome", "stored"),
    [
        (Exception, GoneError(), True),
        (busy, GoneError(), False), (busy, BusyError(), True), ([OSError, busy], GoneError(), False), ([OSError, busy], OSError(), True),
        (lambda error: None, GoneError(), None), (lambda error: 0.0, GoneError(), True), (lambda error: 1 / 0, GoneError(), None),
        (busy, respond.error("BUSY", "later"), True), (busy, respond.error("OTHER", "no"), False),
        (busy, respond.error("BUSY", "never", retryable=False), False), (OSError, respond.error("OTHER", "no"), None),
    ],
)  # fmt: skip
def test_retryable_is_what_classes_and_predicates_say(
    retryable: Any, outcome: Any, stored: bool | None, calls: Calls
) -> None:
    @tt.trace_tool(retryable=retryable)
    async def fetch() -> Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    try:
        assert asyncio.run(fetch()) is outcome
    except (GoneError, BusyError, OSError) as error:
        assert error is outcome
    registry = tt.ToolRegistry()
    registry.register(fetch)
    answer = asyncio.run(registry.aexecute("fetch", "{}"))
    assert answer.error is not None
    assert stored is None or answer.error.retryable is stored
    assert [call.retryable for call in calls()] == [stored] * 2


def test_a_paused_call_is_not_ok() -> None:
    registry = tt.ToolRegistry()
    registry.register(lambda: 1, name="pay", requires_confirmation=True)
    paused = registry.execute("pay", "{}")
    assert paused.paused is not None
    assert not paused.ok
    assert registry.resume(paused.paused, approve=True, answered_by="ann").ok
