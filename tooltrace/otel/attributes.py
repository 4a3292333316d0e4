"""Every attribute name that tooltrace writes, and where it is defined.

``gen_ai.*`` and ``error.type`` are OpenTelemetry's semantic conventions for generative AI (status:
Development); ``tooltrace.*`` is for what those conventions lack.
"""

from __future__ import annotations

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
"""Who judged: the labeler."""
EVALUATION_SCORE_VALUE = "gen_ai.evaluation.score.value"
"""How right it was, 0 to 1."""
EVALUATION_SCORE_LABEL = "gen_ai.evaluation.score.label"
"""``correct`` or ``incorrect``."""
EVALUATION_EXPLANATION = "gen_ai.evaluation.explanation"
"""Why, redacted."""
JUDGED_SPAN_ID = "tooltrace.judged.span_id"
"""Hex id of the attempt that is judged, where one is: its trace is not always known."""

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

RESERVED = frozenset(FIELDS.values()) | {OPERATION_NAME, TOOL_CALL_ID, ERROR_TYPE}
"""What the recorder itself writes; a tool that sets one of these does not displace it."""
