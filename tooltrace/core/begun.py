"""The record of a call that runs: what is known before its end, so that a process that is killed leaves a trace of it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Struct

from tooltrace.core.fields import About
from tooltrace.redact.snapshot import Json


class Begun(Struct, frozen=True, kw_only=True):
    """A call that had run for ``configure(begun_after=…)`` seconds, and whose end was not recorded yet.

    The fields are those of the attempt that it becomes: with its end, or lost where its process is gone. No exporter sends it.
    """

    tool: Annotated[str, About("Name of the tool.")]
    tool_version: Annotated[str | None, About("Version of the tool.")] = None
    tool_type: Annotated[str | None, About("function, extension or datastore.")] = None
    tool_description: Annotated[str | None, About("Description of the tool.", prose=True)] = None
    call_id: Annotated[str, About("The model's id of the call; the span_id where there is none.")]
    attempt: Annotated[int, About("1 for the first execution of the call, 2 for the first retry.")] = 1
    first_span_id: Annotated[
        str | None,
        About("Span id of the call's first attempt, where its call_id had named another call before.", made=True),
    ] = None
    linked_by: Annotated[
        str | None, About("How an attempt after the first is known to belong to its call.", made=True)
    ] = None
    trace_id: Annotated[str, About("OpenTelemetry trace id, 32 hex digits.", made=True)]
    span_id: Annotated[str, About("Span id of the attempt, 16 hex digits; unique, the key of the row.", made=True)]
    parent_span_id: Annotated[
        str | None, About("Id of the span that was current when the tool was called.", made=True)
    ] = None
    conversation_id: Annotated[str | None, About("Id of the conversation or session of the call.")] = None
    agent: Annotated[str | None, About("Name of the agent that made the call.")] = None
    model: Annotated[str | None, About("Name of the model that asked for the call, where it is known.")] = None
    started_at: Annotated[datetime, About("Start of the attempt, UTC.")]
    arguments: Annotated[Json | None, About("Object: the arguments, redacted and bounded.", content=True)] = None
    truncated: Annotated[bool | None, About("True where a field was longer than the limit.")] = None
    full_sizes: Annotated[
        Json | None, About("Object: full size in bytes of each truncated field, by name.", made=True)
    ] = None
    redacted: Annotated[bool | None, About("True where a secret was removed.")] = None
    service: Annotated[str | None, About("Name of the service that records the call.")] = None
    release: Annotated[str | None, About("Release of that service, as its operator names it.")] = None
    environment: Annotated[str | None, About("Where that service runs, such as staging or production.")] = None
    host: Annotated[str | None, About("Name of the machine that records the call.")] = None
    pid: Annotated[int | None, About("Process id of the recorder.")] = None
    recorder_version: Annotated[str | None, About("Version of tooltrace that records the call.", made=True)] = None
