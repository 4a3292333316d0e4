"""A call that waits for a person, as data that an application keeps until the answer."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

GateKind = Literal["confirmation", "input", "external", "review"]
"""The answer that a paused call waits for.

``confirmation``: a person approves or declines. ``input``: a person fills in arguments. ``external``: somebody else
does the work and supplies the result. ``review``: the tool was run, and a person approves, corrects or declines its result.
"""


ApprovalType = Literal["required", "audit"]
"""``required``: the call waits for an approval. ``audit``: the decision of another gate is on record for an audit."""


class PausedCall(BaseModel):
    """A call that waits for a person: before it is executed, or with its result.

    A paused call can be resumed later: ``model_dump_json`` and ``model_validate_json`` carry it over a restart or
    to another machine that has the same tools. It holds the true arguments; the store has them redacted.
    """

    model_config = ConfigDict(frozen=True, defer_build=True, ser_json_inf_nan="constants")

    tool: str
    tool_version: str | None = None
    kind: GateKind
    arguments: dict[str, Any]
    """The model's arguments, validated; those that ``input`` is to supply are absent."""
    wanted: dict[str, Any] = Field(default_factory=dict)
    """For ``input``: the JSON schema of each argument that the person is to supply, by name."""
    result: dict[str, Any] | None = None
    """For ``review``: the tool's response, as JSON data."""
    call_id: str
    """The model's id of the call; the span id where the model sent none."""
    first_span_id: str | None = Field(default=None, pattern="^[0-9a-f]{16}$")
    """Span id of the call's first attempt, where its id had named another call before."""
    attempt: int = Field(default=1, ge=1)
    span_id: str = Field(pattern="^[0-9a-f]{16}$")
    """The attempt that stopped; it identifies the gate."""
    trace_id: str = Field(pattern="^[0-9a-f]{32}$")
    conversation_id: str | None = None
    agent: str | None = None
    asked_at: AwareDatetime
    expires_at: AwareDatetime | None = None
    """Time from which an answer is too late; None: no limit."""
    approval_type: ApprovalType | None = None
    """As in the tool's options, for an application that sends the two kinds to different people."""
