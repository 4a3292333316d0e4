"""Every attribute name that tooltrace writes, and where it is defined.

``gen_ai.*`` and ``error.type`` are OpenTelemetry's semantic conventions for generative AI (status:
Development); ``tooltrace.*`` is for what those conventions lack.
"""

from __future__ import annotations

SCHEMA_URL = "https://opentelemetry.io/schemas/gen-ai/1.42.0"
"""The conventions that our spans, metric and log events keep."""

OPERATION_NAME = "gen_ai.operation.name"
"""Required. Always :data:`EXECUTE_TOOL`."""
EXECUTE_TOOL = "execute_tool"

TOOL_NAME = "gen_ai.tool.name"
"""Required."""
TOOL_TYPE = "gen_ai.tool.type"
"""Recommended: ``function``, ``extension`` or ``datastore``."""
TOOL_DESCRIPTION = "gen_ai.tool.description"
"""Recommended."""
TOOL_CALL_ID = "gen_ai.tool.call.id"
"""Recommended; only where the agent gave one."""
TOOL_CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
"""Opt-in: JSON text."""
TOOL_CALL_RESULT = "gen_ai.tool.call.result"
"""Opt-in: JSON text."""
AGENT_NAME = "gen_ai.agent.name"
CONVERSATION_ID = "gen_ai.conversation.id"
ERROR_TYPE = "error.type"
"""On failure only: the error's class, else its code, else ``_OTHER``."""
ERROR_TYPE_OTHER = "_OTHER"

DURATION_METRIC = "gen_ai.execute_tool.duration"
"""Histogram, seconds."""
DURATION_BUCKETS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)

EVALUATION_EVENT = "gen_ai.evaluation.result"
"""Log event: what somebody says of a result, parented to the span that is judged."""
EVALUATION_NAME = "gen_ai.evaluation.name"
"""What was judged: always :data:`CORRECTNESS`."""
CORRECTNESS = "correctness"
EVALUATION_SCORE_VALUE = "gen_ai.evaluation.score.value"
"""How right it was, 0 to 1."""
EVALUATION_SCORE_LABEL = "gen_ai.evaluation.score.label"
"""``correct`` or ``incorrect``."""
EVALUATION_EXPLANATION = "gen_ai.evaluation.explanation"
"""Why, redacted."""
JUDGED_SPAN_ID = "tooltrace.judged.span_id"
"""Hex id of the attempt that is judged, where one is: its trace is not always known."""
LABELER = "tooltrace.labeler"
"""Who judged."""
SAID = "tooltrace.said"
"""Array of ``correct`` and ``score``: which of the two the labeler gave; the other is made of it."""

EXCEPTION_EVENT = "gen_ai.execute_tool.exception"
"""Log event: an exception that ended an attempt, parented to the attempt's span."""
EXCEPTION_TYPE = "exception.type"
EXCEPTION_MESSAGE = "exception.message"

GATE_EVENT = "tooltrace.gate"
"""Log event: a stop for a person, as it stands."""
MESSAGE_EVENT = "tooltrace.message"
"""Log event: what the model was given of an attempt."""
LOSS_EVENT = "tooltrace.loss"
"""Log event: records that could not be kept."""
AT = "tooltrace.at"
"""When the event was, in ISO form, where its own timestamp cannot say that: before 1970, after 2262."""

SERVICE_NAME = "service.name"
HOST_NAME = "host.name"
PROCESS_PID = "process.pid"

FIELDS: dict[str, str] = {
    "tool": TOOL_NAME,
    "tool_version": "tooltrace.tool.version",
    "tool_type": TOOL_TYPE,
    "tool_description": TOOL_DESCRIPTION,
    "conversation_id": CONVERSATION_ID,
    "agent": AGENT_NAME,
    "attempt": "tooltrace.attempt",
    "duration_ms": "tooltrace.duration_ms",
    "first_item_ms": "tooltrace.first_item_ms",
    "consumer_ms": "tooltrace.consumer_ms",
    "status": "tooltrace.status",
    "ending": "tooltrace.ending",
    "code": "tooltrace.code",
    "error_type": "tooltrace.error.type",
    "error_message": "tooltrace.error.message",
    "retryable": "tooltrace.retryable",
    "suggestion": "tooltrace.suggestion",
    "user_message": "tooltrace.user_message",
    "confidence": "tooltrace.confidence",
    "signals": "tooltrace.signals",
    "next_action": "tooltrace.next_action",
    "cached": "tooltrace.cached",
    "explanation": "tooltrace.explanation",
    "sources": "tooltrace.sources",
    "text": "tooltrace.text",
    "seen_text": "tooltrace.seen_text",
    "arguments": TOOL_CALL_ARGUMENTS,
    "result": TOOL_CALL_RESULT,
    "stats": "tooltrace.stats",
    "context": "tooltrace.context",
    "rule": "tooltrace.rule",
    "rule_grade": "tooltrace.rule_grade",
    "truncated": "tooltrace.truncated",
    "full_sizes": "tooltrace.full_sizes",
    "redacted": "tooltrace.redacted",
    "flags": "tooltrace.flags",
    "recorder_version": "tooltrace.version",
}
"""Field of a ``ToolCall`` to the span attribute that carries it, unchanged."""

GATE_FIELDS: dict[str, str] = {
    "call_id": TOOL_CALL_ID,
    "span_id": "tooltrace.gate.span_id",
    "kind": "tooltrace.gate.kind",
    "decision": "tooltrace.gate.decision",
    "asked_at": "tooltrace.gate.asked_at",
    "answered_at": "tooltrace.gate.answered_at",
    "answered_by": "tooltrace.gate.answered_by",
    "note": "tooltrace.gate.note",
    "changed": "tooltrace.gate.changed",
    "resumed_span_id": "tooltrace.gate.resumed_span_id",
}
"""Field of a ``Gate`` to the attribute of its event; times in ISO form."""

MESSAGE_FIELDS: dict[str, str] = {
    "call_id": TOOL_CALL_ID,
    "span_id": "tooltrace.message.span_id",
    "style": "tooltrace.message.style",
    "text": "tooltrace.message.text",
    "sha256": "tooltrace.message.sha256",
    "length": "tooltrace.message.length",
    "error": "tooltrace.message.error",
}
"""Field of a ``Message`` to the attribute of its event."""

LOSS_FIELDS: dict[str, str] = {
    "reason": "tooltrace.loss.reason",
    "count": "tooltrace.loss.count",
    "detail": "tooltrace.loss.detail",
}
"""Field of a ``Loss`` to the attribute of its event."""

RESOURCE_FIELDS: dict[str, str] = {"service": SERVICE_NAME, "host": HOST_NAME, "pid": PROCESS_PID}
"""Field of a record to the attribute of the resource."""

RESULT_IS_TEXT = "tooltrace.result.is_text"
"""True where the result on the span is the text of a response that has no data: other backends show results alone."""

RESERVED = frozenset(FIELDS.values()) | {OPERATION_NAME, TOOL_CALL_ID, ERROR_TYPE, RESULT_IS_TEXT}
"""What the recorder itself writes; a tool that sets one of these does not displace it."""
