"""Response of a tool: one frozen model with the fields of all tool protocols."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, overload

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from tooltrace.core.codes import NextAction, ToolErrorCode, advice_for, next_step
from tooltrace.core.confidence import Score
from tooltrace.core.message import Style, message_of
from tooltrace.redact.inspection import is_subclass

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


Status = Literal["success", "partial", "error"]
"""``partial``: usable, but something is missing (truncated, one of three sources down)."""

SourceType = Literal["document", "file", "api", "database", "user_input", "other"]


def _unit_interval(value: float) -> float:
    """Refuse what is no confidence, saying so in the user's words."""
    if not 0.0 <= value <= 1.0:  # nor does NaN
        raise ValueError(f"confidence must lie in [0, 1], got {value!r}; leave it out where it is unknown")
    return value


Confidence = Annotated[float, AfterValidator(_unit_interval)]
"""How sure the tool is that its answer is right, in [0, 1]."""


_R = TypeVar("_R", bound="ToolResponse")


class _Part(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True, defer_build=True
    )


class Source(_Part):
    """Where a result came from."""

    type: SourceType = "document"
    id: str | None = None
    """Stable id within its kind: a document id, a table name, an endpoint."""
    label: str | None = None
    """What a person would call it."""
    url: str | None = None
    section: str | None = None
    """The place inside it: a heading, a page, a line range."""


class ToolError(_Part):
    """What went wrong, in the form that a model can act on."""

    code: str = ToolErrorCode.EXECUTION_ERROR.value
    message: str
    type: str | None = None
    """The class of the error: of the exception, or the protocol's own category."""
    retryable: bool | None = None
    """Whether the same call may succeed later; None where the tool did not say and the code does not tell."""
    suggestion: str | None = None
    user_message: str | None = None
    """Words for the person, where they differ from those for the model."""


class ResponseMeta(_Part):
    """What the recorder, or the tool's framework, knows about the attempt that made the response."""

    tool_name: str | None = None
    tool_version: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    call_id: str | None = None
    attempt: int | None = Field(default=None, ge=1)
    duration_ms: float | None = None
    cached: bool | None = None
    rule: str | None = None
    """Name of the rule that read the tool's result."""
    rule_grade: Literal["certain", "heuristic"] | None = None
    flags: tuple[str, ...] = ()
    """What was wrong with what the tool gave: ``confidence_out_of_range``, …"""


class _ErrorAccess:
    """``ToolResponse.error(code, message)`` builds; ``response.error`` is what went wrong.

    The protocols use one word for both, on the class and on its instances.
    """

    @overload
    def __get__(self, instance: None, owner: type[_R]) -> Callable[..., _R]: ...
    @overload
    def __get__(self, instance: ToolResponse, owner: type[_R]) -> ToolError | None: ...
    def __get__(self, instance: ToolResponse | None, owner: type[_R]) -> Callable[..., _R] | ToolError | None:
        return partial(_error, owner) if instance is None else instance.error_info


class ToolResponse(_Part):
    """A tool's answer.

    Build one with :meth:`success`, :meth:`partial` or :meth:`error`. ``model_dump_json`` and
    ``model_validate_json`` are inverse for JSON data; ``model_json_schema`` describes the form.
    """

    status: Status
    code: str | None = None
    """The error's code; or a tool's own code for a success (``NO_MATCH``)."""
    text: str = ""
    """The answer in words, for the model."""
    data: Any = None
    """The answer as JSON data, for programs."""
    reason: str | None = None
    """Why a partial result is only partial."""
    confidence: Confidence | None = None
    signals: dict[str, float | bool | str] | None = None
    """What made the confidence: name of each signal, and its value or weight."""
    sources: tuple[Source, ...] = ()
    next_action: NextAction | None = None
    error_info: ToolError | None = Field(default=None, alias="error")
    """What went wrong; ``error`` on the wire, and :attr:`error` on an instance."""
    stats: dict[str, Any] | None = None
    """Figures about the work: rows read, tokens used, ``time_ms``."""
    context: dict[str, Any] | None = None
    """What else the tool's protocol carried; unknown keys are kept here."""
    explanation: str | None = None
    """Why the tool was called, or how it came to the answer."""
    system: str | None = None
    """A note for the agent's loop, which the model does not see as the tool's output."""
    paused: PausedCall | None = None
    """The call waits for a person; this is what to go on with, and there is no answer yet."""
    meta: ResponseMeta = ResponseMeta()

    error: ClassVar[_ErrorAccess] = _ErrorAccess()

    @model_validator(mode="before")
    @classmethod
    def _said_once(cls, values: Any) -> Any:
        """What is said once holds in both places: an error's code is the response's, a score's signals are its."""
        if not isinstance(values, dict):
            return values
        sure = values.get("confidence")
        if isinstance(sure, Score) and values.get("signals") is None:
            values = {**values, "signals": sure.signals or None}
        if values.get("code") is not None:
            return values
        error = values.get("error", values.get("error_info"))
        code = error.get("code") if isinstance(error, dict) else getattr(error, "code", None)
        return values if code is None else {**values, "code": code}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        error = self.error_info
        if self.status == "error" and error is None:
            raise ValueError("status 'error' needs an error: ToolResponse.error(code, message)")
        if self.status == "success" and error is not None:
            raise ValueError("status 'success' carries no error; use partial() or error()")
        if error is not None and error.code != self.code:
            raise ValueError(f"code {self.code!r} and error.code {error.code!r} differ; give one")
        return self

    @property
    def ok(self) -> bool:
        """True unless the tool reported an error. It says nothing about whether the answer is right."""
        return self.status != "error"

    @overload
    def to_message(self, call_id: str, style: Literal["openai", "anthropic"] = "openai") -> dict[str, Any]: ...
    @overload
    def to_message(self, call_id: str, style: Literal["plain"]) -> str: ...
    def to_message(self, call_id: str, style: Style = "openai") -> dict[str, Any] | str:
        """The message that answers the model's call: ``openai``'s tool message, ``anthropic``'s tool_result block, or
        the text alone.

        What went wrong comes first, with what the model can do about it. It is never empty: a placeholder stands for
        nothing, and a warning is logged. What the model was given is recorded with the call.
        Raises MessageError, a ValueError, where ``call_id`` is none.
        """
        return message_of(self, call_id, style)  # type: ignore[no-any-return]

    @classmethod
    def success(cls, text: str = "", data: Any = None, **fields: Any) -> Self:
        """The tool did what it was asked. ``fields``: any other field of the model."""
        return cls(status="success", text=text, data=data, **fields)

    @classmethod
    def partial(cls, text: str = "", data: Any = None, *, reason: str | None = None, **fields: Any) -> Self:
        """Usable, but something is missing; ``reason`` says what. ``fields``: any other field of the model."""
        return cls(status="partial", text=text, data=data, reason=reason, **fields)


def is_response(value: Any) -> bool:
    """Whether ``value`` is a ToolResponse. ``isinstance`` would ask the value itself for its ``__class__``."""
    return is_subclass(ToolResponse, type(value))


def _error(
    cls: type[_R],
    code: str,
    message: str,
    *,
    type: str | None = None,  # noqa: A002 - the protocols' word
    retryable: bool | None = None,
    suggestion: str | None = None,
    user_message: str | None = None,
    next_action: NextAction | None = None,
    text: str | None = None,
    **fields: Any,
) -> _R:
    """The tool failed and says so. Unsaid, ``retryable`` and ``next_action`` come from the table of codes,
    and ``text`` is the message. ``fields``: any other field of the model."""
    known = advice_for(code)
    error = ToolError(
        code=str(code),
        message=message,
        type=type,
        retryable=known.retryable if retryable is None else retryable,
        suggestion=suggestion,
        user_message=user_message,
    )
    return cls(
        status="error",
        text=message if text is None else text,
        error=error,
        next_action=next_action or next_step(str(code), error.retryable),
        **fields,
    )
