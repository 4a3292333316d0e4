"""A call that waits for a person: all that is needed to go on with it, in another process too."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

GateKind = Literal["confirmation", "input", "external"]
"""A person says yes or no; a person fills in arguments; somebody else does the work and brings the result."""


class PausedCall(BaseModel):
    """A call that was asked for and not executed.

    Whoever holds it can go on with the call: ``model_dump_json`` and ``model_validate_json`` carry it over a restart or
    to another machine that has the same tools. It has the true arguments; the store has them redacted.
    """

    model_config = ConfigDict(frozen=True, defer_build=True, ser_json_inf_nan="constants")

    tool: str
    tool_version: str | None = None
    kind: GateKind
    arguments: dict[str, Any]
    """As the model gave them, checked; what is missing for ``input`` is left out."""
    wanted: dict[str, Any] = Field(default_factory=dict)
    """For ``input``: the JSON schema of each argument that the person is to give, by name."""
    call_id: str
    """The model's; the span id where it gave none."""
    attempt: int = Field(default=1, ge=1)
    span_id: str = Field(pattern="^[0-9a-f]{16}$")
    """The attempt that stopped. A gate is known by it."""
    trace_id: str = Field(pattern="^[0-9a-f]{32}$")
    conversation_id: str | None = None
    agent: str | None = None
    asked_at: AwareDatetime
    expires_at: AwareDatetime | None = None
    """When an answer comes too late; None: never."""
