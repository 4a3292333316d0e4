"""Every attribute name that tooltrace writes, and where it is defined.

``gen_ai.*`` and ``error.type`` are OpenTelemetry's semantic conventions for generative AI (status:
Development); ``tooltrace.*`` is for what those conventions lack. The attributes that carry a field of a record are
declared with the field, in :mod:`tooltrace.core.records`.
"""

from __future__ import annotations

from tooltrace.core.fields import attributes_of
from tooltrace.core.records import Correction, Gate, Loss, Message, Outcome, ToolCall

FIELDS = attributes_of(ToolCall)
"""Map from a field of ``ToolCall`` to its span attribute; values are passed unchanged."""
OUTCOME_FIELDS = attributes_of(Outcome)
"""Map from a field of ``Outcome`` to the attribute of its event."""
CORRECTION_FIELDS = attributes_of(Correction)
"""Map from a field of ``Correction`` to the attribute of its event."""
GATE_FIELDS = attributes_of(Gate)
"""Map from a field of ``Gate`` to the attribute of its event; times are ISO 8601."""
MESSAGE_FIELDS = attributes_of(Message)
"""Map from a field of ``Message`` to the attribute of its event."""
LOSS_FIELDS = attributes_of(Loss)
"""Map from a field of ``Loss`` to the attribute of its event."""

SCHEMA_URL = "https://opentelemetry.io/schemas/gen-ai/0.1.0"
"""Version of the conventions for generative AI that our spans, metric and log events follow: their first own release."""

OPERATION_NAME = "gen_ai.operation.name"
"""Required. Always :data:`EXECUTE_TOOL`."""
EXECUTE_TOOL = "execute_tool"

TOOL_NAME = FIELDS["tool"]
"""Required."""
TOOL_TYPE = FIELDS["tool_type"]
"""Recommended: ``function``, ``extension`` or ``datastore``."""
TOOL_DESCRIPTION = FIELDS["tool_description"]
"""Recommended."""
TOOL_CALL_ID = GATE_FIELDS["call_id"]
"""Recommended; set only if the agent passed a call id."""
TOOL_CALL_ARGUMENTS = FIELDS["arguments"]
"""Opt-in: JSON text."""
TOOL_CALL_RESULT = FIELDS["result"]
"""Opt-in: JSON text."""
AGENT_NAME = FIELDS["agent"]
CONVERSATION_ID = FIELDS["conversation_id"]
ERROR_TYPE = "error.type"
"""Set on failure only: the error's class, else its code, else ``_OTHER``."""
ERROR_TYPE_OTHER = "_OTHER"

DURATION_METRIC = "gen_ai.execute_tool.duration"
"""Histogram, seconds."""
DURATION_BUCKETS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)

EVALUATION_EVENT = "gen_ai.evaluation.result"
"""Log event: a label of a result, parented to the labeled span."""
EVALUATION_NAME = "gen_ai.evaluation.name"
"""Name of the evaluated quality: always :data:`CORRECTNESS`."""
CORRECTNESS = "correctness"
EVALUATION_SCORE_VALUE = OUTCOME_FIELDS["score"]
"""Correctness of the result, from 0 to 1."""
EVALUATION_SCORE_LABEL = "gen_ai.evaluation.score.label"
"""``correct`` or ``incorrect``."""
EVALUATION_EXPLANATION = OUTCOME_FIELDS["reason"]
"""Reason for the label, redacted."""
JUDGED_SPAN_ID = OUTCOME_FIELDS["span_id"]
"""Hex id of the labeled attempt, if the label names one: its trace id is not always known."""
LABELER = OUTCOME_FIELDS["labeler"]
"""Name of the person or program that labeled the result."""
LABELER_KIND = OUTCOME_FIELDS["labeler_kind"]
"""``person``, ``rule`` or ``agent``."""
TARGET_KIND = OUTCOME_FIELDS["target_kind"]
"""``attempt``, ``call`` or ``conversation``."""
REPORTED = "tooltrace.said"
"""Array of ``correct`` and ``score``: the values that the labeler passed; the other value is derived."""

EXCEPTION_EVENT = "gen_ai.execute_tool.exception"
"""Log event: an exception that ended an attempt, parented to the attempt's span."""
EXCEPTION_TYPE = "exception.type"
EXCEPTION_MESSAGE = "exception.message"
EXCEPTION_STACKTRACE = "exception.stacktrace"
"""Files, lines and functions, without lines of source."""

GATE_EVENT = "tooltrace.gate"
"""Log event: the current state of a gate, where a call waits for a person."""
MESSAGE_EVENT = "tooltrace.message"
"""Log event: the text that the model received for an attempt."""
CORRECTION_EVENT = "tooltrace.correction"
"""Log event: a later reading of an attempt, in place of the recorded one."""
LOSS_EVENT = "tooltrace.loss"
"""Log event: records that could not be stored."""
AT = "tooltrace.at"
"""Time of the event, ISO 8601, if its own timestamp cannot represent it: before 1970 or after 2262."""

SERVICE_NAME = "service.name"
HOST_NAME = "host.name"
PROCESS_PID = "process.pid"
SERVICE_VERSION = "service.version"
ENVIRONMENT_NAME = "deployment.environment.name"

RESOURCE_FIELDS: dict[str, str] = {"service": SERVICE_NAME, "host": HOST_NAME, "pid": PROCESS_PID}
"""Map from a field of a record to the attribute of the resource."""
CALL_RESOURCE_FIELDS = {**RESOURCE_FIELDS, "release": SERVICE_VERSION, "environment": ENVIRONMENT_NAME}
"""The same for a call, whose record has two more."""
MODEL_NAMES = (
    *("gen_ai.request.model", "gen_ai.response.model", "llm.model_name", "ai.model.id"),
    "langfuse.observation.model.name",
)
"""Attributes in which spans of other libraries name the model; the first one present counts."""

RESULT_IS_TEXT = "tooltrace.result.is_text"
"""True if the result on the span is the text of a response without data: other backends show results alone."""

RESERVED = frozenset(FIELDS.values()) | {OPERATION_NAME, TOOL_CALL_ID, ERROR_TYPE, RESULT_IS_TEXT}
"""Attributes that the recorder writes; a tool that sets one of these does not overwrite it."""
