"""Convention of the Vercel AI SDK's own telemetry: ``ai.operationId`` is ``ai.toolCall``.

Observed with ai 5.0.277, ai 6.0.326, and ``LegacyOpenTelemetry`` of @ai-sdk/otel with ai 7.0.173. The agent is the
``functionId`` of the telemetry settings, as in the SDK's newer spans, which follow OpenTelemetry's conventions.
"""

from __future__ import annotations

from tooltrace.ingest.spans.conventions.attributes import AI_OPERATION, AI_TOOL_CALL, READS
from tooltrace.ingest.spans.conventions.base import SpanConvention

CONVENTION = SpanConvention(
    "ai_sdk",
    lambda _name, attributes: attributes.get(AI_OPERATION) == AI_TOOL_CALL,
    READS["ai_sdk"],
)
