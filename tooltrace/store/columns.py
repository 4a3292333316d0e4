"""The tables and views of a store, with the words that describe them: the only place for both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its DuckDB type and what it means."""

    name: str
    type: str
    comment: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """One table: what a row is, its columns, and the column that says when."""

    name: str
    comment: str
    columns: tuple[Column, ...]
    time: str = ""
    view: str = ""
    """The view under which its rows are asked for, where that is not the table itself."""

    @property
    def public(self) -> str:
        """The name that users know."""
        return self.view or self.name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


TEXT, WHOLE, REAL, TRUTH, TIME, JSON = "VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP", "JSON"


def _c(name: str, type_: str, comment: str, *, required: bool = False) -> Column:
    return Column(name, type_, comment, required)


ATTEMPTS: Final = Table(
    "attempts",
    "One row per attempt: one execution of a call. NULL is unknown. The view tool_calls adds what the model saw.",
    (
        _c("tool", TEXT, "Name of the tool.", required=True),
        _c("tool_version", TEXT, "Version of the tool."),
        _c("tool_type", TEXT, "function, extension or datastore."),
        _c("call_id", TEXT, "What the model asked for, once; the span_id where nobody gave an id.", required=True),
        _c("attempt", WHOLE, "1 for the first execution of the call, 2 for the first retry.", required=True),
        _c("trace_id", TEXT, "OpenTelemetry trace, 32 hex digits.", required=True),
        _c("span_id", TEXT, "OpenTelemetry span, 16 hex digits; unique: the identity of the row.", required=True),
        _c("parent_span_id", TEXT, "The span that was current when the tool was called."),
        _c("conversation_id", TEXT, "The conversation or session that the call belongs to."),
        _c("agent", TEXT, "Name of the agent that called."),
        _c("started_at", TIME, "When the attempt began; UTC.", required=True),
        _c("duration_ms", REAL, "Milliseconds in the tool, monotonic; without what a stream's consumer held."),
        _c("first_item_ms", REAL, "Streams: milliseconds from the start to the first item."),
        _c("consumer_ms", REAL, "Streams: milliseconds that the consumer held the stream between items."),
        _c("status", TEXT, "What the tool reported: success, partial or error; NULL where it reported nothing."),
        _c(
            "ending", TEXT,
            "How it ended: returned, raised, cancelled, abandoned, paused, declined or expired.", required=True,
        ),
        _c("code", TEXT, "Error code, such as TIMEOUT."),
        _c("error_type", TEXT, "Class of the exception, or the error type that the response names."),
        _c("error_message", TEXT, "What went wrong, redacted."),
        _c("retryable", TRUTH, "Whether the tool said that trying again may help."),
        _c("suggestion", TEXT, "What the tool advised to do about the error."),
        _c("confidence", REAL, "How sure the tool was, 0 to 1."),
        _c("signals", JSON, "Object: name of each signal that made the confidence, and its value."),
        _c("next_action", TEXT, "What the tool advised to do next."),
        _c("cached", TRUTH, "Whether the result came from a cache."),
        _c("text", TEXT, "The result as text."),
        _c("seen_text", TEXT, "What the model was given."),
        _c("arguments", JSON, "Object: the arguments, redacted and bounded."),
        _c("result", JSON, "The result, redacted and bounded."),
        _c("stats", JSON, "Object: numbers that the tool reported about its work."),
        _c("context", JSON, "Object: what the response carried about its surroundings."),
        _c("attributes", JSON, "Object: what the tool or its surroundings set on the span."),
        _c("rule", TEXT, "The rule that read the result."),
        _c("rule_grade", TEXT, "certain or heuristic: how far the rule can be trusted."),
        _c("truncated", TRUTH, "True where a field was longer than the limit."),
        _c("redacted", TRUTH, "True where a secret was taken out, or a field dropped for want of redaction."),
        _c("service", TEXT, "Name of the service that recorded it."),
        _c("host", TEXT, "Machine that recorded it."),
        _c("pid", WHOLE, "Process that recorded it."),
        _c("recorder_version", TEXT, "Version of tooltrace that recorded it."),
        _c("tool_description", TEXT, "What the tool says about itself."),
        _c("user_message", TEXT, "What a person may be told about the error."),
        _c("explanation", TEXT, "Why the tool gave this result, in its own words."),
        _c("sources", JSON, "Array of where the result came from; the view sources has them as rows."),
        _c("full_sizes", JSON, "Object: name of each truncated field, and its true size in bytes, where that is known."),
        _c("flags", JSON, "Array of what was wrong with what the tool gave."),
    ),
    time="started_at",
    view="tool_calls",
)  # fmt: skip

OUTCOMES: Final = Table(
    "outcomes",
    "One row per later judgement: was the result right?",
    (
        _c("call_id", TEXT, "The call that is judged."),
        _c("span_id", TEXT, "The attempt that is judged; NULL where the whole call is."),
        _c("correct", TRUTH, "Whether the result was right."),
        _c("score", REAL, "How right it was, 0 to 1."),
        _c("labeler", TEXT, "Who judged: human, or the name of a check.", required=True),
        _c("reason", TEXT, "Why."),
        _c("labeled_at", TIME, "When it was judged; UTC.", required=True),
    ),
    time="labeled_at",
)

MESSAGES: Final = Table(
    "messages",
    "One row per message about a result that the model was given.",
    (
        _c("call_id", TEXT, "The call.", required=True),
        _c("span_id", TEXT, "The attempt; NULL where the process did not know it."),
        _c("style", TEXT, "Form of the message: openai, anthropic, plain, or a framework's name."),
        _c("text", TEXT, "The message, redacted and bounded."),
        _c("sha256", TEXT, "Hash of the whole text after redaction, hex.", required=True),
        _c("length", WHOLE, "Characters of the whole text after redaction.", required=True),
        _c("error", TRUTH, "Whether the text tells of an error.", required=True),
        _c("at", TIME, "When it was made; UTC.", required=True),
    ),
    time="at",
)

GATE_EVENTS: Final = Table(
    "gate_events",
    "Each stop for a person when it was asked for, and again when it was answered. The view gates has each once.",
    (
        _c("call_id", TEXT, "The call that was stopped.", required=True),
        _c("span_id", TEXT, "The attempt that was stopped.", required=True),
        _c("kind", TEXT, "confirmation, input or external.", required=True),
        _c("decision", TEXT, "approved, declined or expired; NULL while it waits."),
        _c("asked_at", TIME, "When the person was asked; UTC.", required=True),
        _c("answered_at", TIME, "When the person answered; UTC."),
        _c("answered_by", TEXT, "Who answered."),
        _c("note", TEXT, "What they said."),
        _c("changed", JSON, "Object: name of each argument that they changed, and its new value."),
        _c("resumed_span_id", TEXT, "The attempt that went on with the answer."),
    ),
    time="asked_at",
    view="gates",
)

LOSSES: Final = Table(
    "losses",
    "Records that were made and could not be kept, counted by reason.",
    (
        _c("reason", TEXT, "Why, such as queue_full, write_failed, torn_line, damaged_line.", required=True),
        _c("count", WHOLE, "How many.", required=True),
        _c("at", TIME, "When it was noticed; UTC.", required=True),
        _c("detail", TEXT, "Where: file and byte, where that is known."),
        _c("service", TEXT, "Service that lost them."),
        _c("host", TEXT, "Machine that lost them."),
        _c("pid", WHOLE, "Process that lost them."),
    ),
    time="at",
)

SPANS: Final = Table(
    "spans",
    "One row per span that is no tool call, of any library: what stands around the calls in their traces.",
    (
        _c("trace_id", TEXT, "OpenTelemetry trace, 32 hex digits.", required=True),
        _c("span_id", TEXT, "OpenTelemetry span, 16 hex digits; unique.", required=True),
        _c("parent_span_id", TEXT, "The span that it was made in."),
        _c("name", TEXT, "Name of the span.", required=True),
        _c("span_kind", TEXT, "internal, server, client, producer or consumer."),
        _c("started_at", TIME, "When it began; UTC.", required=True),
        _c("duration_ms", REAL, "Milliseconds that it took."),
        _c("status", TEXT, "ok or error; NULL where the span says neither."),
        _c("status_message", TEXT, "What the status says, redacted."),
        _c("attributes", JSON, "Object: its attributes, redacted and bounded."),
        _c("events", JSON, "Array of what happened in it: name, at, attributes."),
        _c("links", JSON, "Array of the spans that it is linked to: trace_id, span_id, attributes."),
        _c("scope", TEXT, "Name of the instrumentation that made it."),
        _c("scope_version", TEXT, "Version of the instrumentation."),
        _c("service", TEXT, "Name of the service that made it."),
        _c("host", TEXT, "Machine that made it."),
        _c("pid", WHOLE, "Process that made it."),
    ),
    time="started_at",
)

JOURNALS: Final = Table(
    "journals",
    "How far each journal that is still there has been folded in.",
    (
        _c("name", TEXT, "File name of the journal.", required=True),
        _c("folded_bytes", WHOLE, "Bytes from its beginning that are in the tables.", required=True),
    ),
)

META: Final = Table(
    "meta",
    "Facts about the store itself.",
    (
        _c("key", TEXT, "What: schema_version.", required=True),
        _c("value", TEXT, "Its value.", required=True),
    ),
)

RECORDS: Final = {
    "call": ATTEMPTS,
    "outcome": OUTCOMES,
    "gate": GATE_EVENTS,
    "message": MESSAGES,
    "loss": LOSSES,
    "span": SPANS,
}
"""The table of each kind of journal line."""
TABLES: Final = (*RECORDS.values(), JOURNALS, META)
