"""Response of a tool: one frozen model with the fields of all tool protocols."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tooltrace.core.codes import NextAction, ToolErrorCode, advice_for, next_step
from tooltrace.core.confidence import OUT_OF_RANGE, Score, valid_confidence, warn_of_unknown
from tooltrace.core.keywords import UNSET, named_options
from tooltrace.core.message import Note, Style, answer_text, message_of
from tooltrace.core.paused_call import PausedCall
from tooltrace.core.unfit_values import OTHER_NAMES, ByPosition, Lenient, with_field_names
from tooltrace.redact.inspection import is_subclass

Status = Literal["success", "partial", "error"]
"""Status that a tool reports. ``partial``: usable but incomplete (truncated, one of three sources down)."""


class ToolStatus(StrEnum):
    """The statuses under HelloAgents' names; each equals its text, which is what ``ToolResponse.status`` has."""

    SUCCESS = "success"
    PARTIAL = "partial"
    ERROR = "error"


SourceType = Literal["document", "file", "api", "database", "user_input", "other"]


Confidence = Annotated[float, Field(ge=0.0, le=1.0)]
"""The tool's confidence that its answer is right, in [0, 1]."""


_R = TypeVar("_R", bound="ToolResponse")
_R_co = TypeVar("_R_co", bound="ToolResponse", covariant=True)


if TYPE_CHECKING:  # type checkers read the constructors from the fields only without the metaclasses
    _LenientModel = BaseModel
else:

    class _LenientModel(BaseModel, metaclass=Lenient):
        pass


class _Part(_LenientModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True, defer_build=True
    )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy; a value in ``update`` is stated, and no longer the advice of the table of codes."""
        fields = type(self).model_fields
        named = {_FIELD_OF.get(name, name): value for name, value in (update or {}).items()}
        stated = {f"{name}_advised": False for name in named if f"{name}_advised" in fields}
        return super().model_copy(update={**stated, **named}, deep=deep)


_FIELD_OF = {"data": "payload", "error": "failure", "error_info": "failure"}
"""Fields of a response by the names that the protocols have for them."""


class Source(_Part):
    """A source of a result."""

    type: SourceType = "document"
    id: str | None = None
    """Stable id among sources of the same type: a document id, a table name, an endpoint."""
    label: str | None = None
    """Name for people."""
    url: str | None = None
    section: str | None = None
    """Place inside the source: a heading, a page, a line range."""


class ErrorInfo(_Part):
    """An error, in a form that a model can act on."""

    code: str = ToolErrorCode.EXECUTION_ERROR.value
    message: str
    type: str | None = None
    """Class of the exception, or the protocol's own category of the error."""
    retryable: bool | None = None
    """Whether the same call may succeed later; None where neither the tool nor the code states it."""
    retryable_advised: bool = False
    """Whether ``retryable`` is the advice of the table of codes. The tool did not state it, and no row has it."""
    suggestion: str | None = None
    user_message: str | None = None
    """Message for the person, where it differs from that for the model."""

    @property
    def stated_retryable(self) -> bool | None:
        """What the tool stated; None where ``retryable`` is only advised."""
        return None if self.retryable_advised else self.retryable


class ResponseMeta(_Part):
    """Facts about the attempt that made the response, set by the recorder or the tool's framework."""

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
    rule_grade: Literal["certain", "heuristic", "unread"] | None = None
    """Reliability of that reading; ``unread``: the tool returned, and nothing states whether it worked."""
    flags: tuple[str, ...] = ()
    """Defects of the tool's response, such as ``confidence_out_of_range``."""


class ResponseFields(TypedDict, total=False):
    """Fields of a response that its constructors accept by name."""

    code: str | None
    confidence: float | None
    signals: Mapping[str, float | bool | str] | None
    sources: Iterable[Source | Mapping[str, Any]]
    source: Source | Mapping[str, Any] | str | Iterable[Source | Mapping[str, Any] | str] | None
    next_action: NextAction | None
    nextAction: NextAction | None
    error: ErrorInfo | Mapping[str, Any] | None
    error_info: ErrorInfo | Mapping[str, Any] | None
    explanation: str | None
    system: str | None
    paused: PausedCall | None
    meta: ResponseMeta | Mapping[str, Any]


class ErrorFields(TypedDict, total=False):
    """Fields of an error's response that :meth:`ToolResponse.error` accepts by name."""

    data: Any
    reason: str | None
    confidence: float | None
    signals: Mapping[str, float | bool | str] | None
    sources: Iterable[Source | Mapping[str, Any]]
    source: Source | Mapping[str, Any] | str | Iterable[Source | Mapping[str, Any] | str] | None
    nextAction: NextAction | None
    stats: dict[str, Any] | None
    context: dict[str, Any] | None
    explanation: str | None
    system: str | None
    paused: PausedCall | None
    meta: ResponseMeta | Mapping[str, Any]


class _ErrorBuilder(Protocol[_R_co]):
    """The type of ``ToolResponse.error``, as :func:`_error` declares it."""

    def __call__(
        self,
        code: str,
        message: str,
        retryable: bool | None = None,
        suggestion: str | None = None,
        *,
        type: str | None = None,  # noqa: A002 - the name that the protocols use
        user_message: str | None = None,
        next_action: NextAction | None = None,
        text: str | None = None,
        **fields: Unpack[ErrorFields],
    ) -> _R_co: ...


class _ErrorAccess:
    """A descriptor: ``ToolResponse.error(code, message)`` builds a response; ``response.error`` is its error.

    The protocols use the same name for both: on the class for the constructor, on an instance for the error.
    """

    @overload
    def __get__(self, instance: None, owner: type[_R]) -> _ErrorBuilder[_R]: ...
    @overload
    def __get__(self, instance: ToolResponse, owner: type[_R]) -> ErrorInfo | None: ...
    def __get__(self, instance: ToolResponse | None, owner: type[_R]) -> _ErrorBuilder[_R] | ErrorInfo | None:
        return partial(_error, owner) if instance is None else instance.failure


if TYPE_CHECKING:
    _Positional = _Part
else:

    class _Positional(_Part, metaclass=ByPosition):
        pass


class ToolResponse(_Positional):
    """A tool's response to one call.

    Build one with :meth:`success`, :meth:`partial` or :meth:`error`. A value that does not fit its field never fails the
    tool: a text is made of it, or ``context`` has it; ``meta.flags`` says so, and the log once. A misspelt field raises
    UnknownOption. ``model_dump_json`` and ``model_validate_json`` are inverse for JSON data, and refuse other data;
    ``model_json_schema`` describes the form.
    """

    status: Status
    code: str | None = None
    """Code of the error, or the tool's own code for a success (``NO_MATCH``)."""
    text: str = ""
    """The answer in words, for the model."""
    payload: Any = Field(default=None, alias="data")
    """The answer as JSON data, for programs; serialized as ``data``. None where there is none."""
    reason: str | None = None
    """Reason why a partial result is incomplete."""
    confidence: Confidence | None = None
    signals: dict[str, float | bool | str] | None = None
    """Signals behind the confidence: the value or weight of each, by name."""
    sources: tuple[Source, ...] = ()
    next_action: NextAction | None = None
    next_action_advised: bool = False
    """Whether ``next_action`` is the advice of the table of codes. The tool did not state it, and no row has it."""
    failure: ErrorInfo | None = Field(default=None, alias="error")
    """The error; serialized as ``error``, and available as :attr:`error` on an instance."""
    stats: dict[str, Any] | None = None
    """Figures about the work: rows read, tokens used, ``time_ms``."""
    context: dict[str, Any] | None = None
    """Other values of the tool's protocol, including unknown keys."""
    explanation: str | None = None
    """Reason for the call, or how the tool arrived at the answer."""
    system: str | None = None
    """A note beside the output for the application, such as the working directory; the message has it beside its content."""
    paused: PausedCall | None = None
    """The paused call, to be resumed later, where the call waits for a person and has no answer yet."""
    # the constructor would build the validators during the import
    meta: ResponseMeta = ResponseMeta.model_construct()

    error: ClassVar[_ErrorAccess] = _ErrorAccess()

    @model_validator(mode="before")
    @classmethod
    def _copy_code_and_signals(cls, values: Any) -> Any:
        """Copy the error's code and the score's signals to the response, where the response has none.

        A confidence that is not a number in [0, 1] becomes unknown: a tool that computed it must not fail.
        """
        if not isinstance(values, dict):
            return values
        if not OTHER_NAMES.keys().isdisjoint(values):
            values = with_field_names(values)
        score = values.get("confidence")
        if score is not None and (type(score) is not float or not 0.0 <= score <= 1.0):
            values = _with_valid_confidence(values, score)
        if isinstance(score, Score) and values.get("signals") is None:
            values = {**values, "signals": score.signals or None}
        if values.get("code") is not None:
            return values
        error = values.get("error", values.get("failure"))
        code = error.get("code") if isinstance(error, dict) else getattr(error, "code", None)
        return values if code is None else {**values, "code": code}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        error = self.failure
        if self.status == "error" and error is None:
            raise ValueError("status 'error' needs an error: use ToolResponse.error(code, message)")
        if self.status == "success" and error is not None:
            raise ValueError("status 'success' carries no error: use partial() or error()")
        if error is not None and error.code != self.code:
            raise ValueError(f"code {self.code!r} and error.code {error.code!r} differ: pass only one of them")
        return self

    @property
    def data(self) -> Any:
        """The answer as JSON data; an empty dict where there is none, as in HelloAgents."""
        return {} if self.payload is None else self.payload

    @property
    def error_info(self) -> dict[str, Any] | None:
        """The error as HelloAgents' dict; None where there is none."""
        if self.failure is None:
            return None
        advised = {"retryable"} if self.failure.retryable_advised else set()
        return self.failure.model_dump(exclude_none=True, exclude={"retryable_advised", *advised})

    @property
    def stated_next_action(self) -> NextAction | None:
        """What the tool stated; None where ``next_action`` is only advised."""
        return None if self.next_action_advised else self.next_action

    @property
    def ok(self) -> bool:
        """Whether the tool answered and reported no error. The answer may still be wrong; a paused call has none yet."""
        return self.status != "error" and self.paused is None

    @overload
    def to_message(
        self,
        call_id: str,
        style: Literal["openai", "anthropic"] = "openai",
        *,
        is_internal: bool = False,
        notes: bool | Collection[Note] = True,
    ) -> dict[str, Any]: ...
    @overload
    def to_message(
        self, call_id: str, style: Literal["plain", "json"], *, notes: bool | Collection[Note] = True
    ) -> str: ...
    def to_message(
        self,
        call_id: str,
        style: Style = "openai",
        *,
        is_internal: bool = False,
        notes: bool | Collection[Note] = True,
    ) -> dict[str, Any] | str:
        """Return the message that answers the model's call ``call_id``, and record it with the call.

        ``style``: ``openai`` for a tool message, ``anthropic`` for a tool_result block, ``plain`` for the text alone,
        ``json`` for the text as a JSON object with the names of the envelope. The error comes first, with the advice for
        the model; images, videos, audios and files of the context are described at the end. ``notes``: whether to add
        an uncertain confidence, the next action that the tool stated, and the sources; or the names of those to add.
        ``is_internal`` marks a message that the application does not show; it and ``system`` are members beside the
        content, for the application, which removes them before it sends the message.

        The message is never empty: an empty text is replaced by a placeholder, and a warning is logged. Raises
        MessageError, a ValueError, where ``call_id`` is not a non-empty string, or an option is unknown.
        """
        return message_of(self, call_id, style, is_internal, notes)  # type: ignore[no-any-return]

    def to_envelope(self) -> dict[str, Any]:
        """Return the response as the envelope of success, data, confidence, source, nextAction, error and meta.

        It is JSON data with all members of that protocol; what is unknown is null. ``nextAction`` is what
        ``resolve_next_step`` says, and a text without data is the data. ``normalize`` reads it back.
        """
        from tooltrace.core.envelope import envelope_of

        return envelope_of(self)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Return the fields by the names that the constructors have for them."""
        for name, value in super().__repr_args__():
            yield {"payload": "data", "failure": "error"}.get(name or "", name), value

    def __str__(self) -> str:
        """Return the answer in words; for an error ``Error: …``."""
        return answer_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the response in the serialized form of HelloAgents; ``model_dump`` has all fields."""
        members = {"status": self.status, "text": self.text, "data": self.data}
        known = (("error", self.error_info), ("stats", self.stats), ("context", self.context))
        return members | {name: value for name, value in known if value}

    def to_json(self) -> str:
        """Return :meth:`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, default=str)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the response that :meth:`to_dict`, or ``to_dict`` of HelloAgents, serialized."""
        if not isinstance(data, Mapping):
            raise TypeError(f"from_dict() needs the dict that to_dict() returned, got {type(data).__name__}")
        found = data.get("data")
        members = {"status": "success", **data, "data": None if found == {} else found}
        error = data.get("error")
        if error or members["status"] == "error":
            known = {"code": ToolErrorCode.EXECUTION_ERROR.value, "message": data.get("text", ""), **(error or {})}
            members["error"] = {name: value for name, value in known.items() if name in ErrorInfo.model_fields}
        return cls.model_validate({name: value for name, value in members.items() if name in _MEMBERS})

    @classmethod
    def from_json(cls, json_str: str) -> Self:
        """Return the response that :meth:`to_json` serialized."""
        return cls.from_dict(json.loads(json_str))

    @classmethod
    @named_options(ResponseFields)
    def success(
        cls,
        text: str = "",
        data: Any = None,
        stats: dict[str, Any] | None = None,
        context: dict[str, Any] | None = None,
        **fields: Unpack[ResponseFields],
    ) -> Self:
        """Return the response of a tool that succeeded. ``fields``: any other field of the model."""
        return cls(status="success", text=text, data=data, stats=stats, context=context, **cast("Any", fields))

    @classmethod
    @named_options(ResponseFields)
    def partial(
        cls,
        text: str = "",
        data: Any = None,
        stats: dict[str, Any] | None = None,
        context: dict[str, Any] | None = None,
        *,
        reason: str | None = None,
        **fields: Unpack[ResponseFields],
    ) -> Self:
        """Return a usable but incomplete response.

        ``reason``: what is missing. ``fields``: any other field of the model.
        """
        return cls(
            status="partial", text=text, data=data, stats=stats, context=context, reason=reason, **cast("Any", fields)
        )


def _with_valid_confidence(values: dict[str, Any], stated: Any) -> dict[str, Any]:
    """Return the members of a response with ``stated`` as its confidence, or without one and with a flag."""
    confidence = valid_confidence(stated)
    if confidence is not None:
        return {**values, "confidence": confidence}
    warn_of_unknown(stated)
    meta = values.get("meta") or {}
    if isinstance(meta, ResponseMeta):
        return {**values, "confidence": None, "meta": meta.model_copy(update={"flags": (*meta.flags, OUT_OF_RANGE)})}
    if isinstance(meta, Mapping):
        meta = {**meta, "flags": (*meta.get("flags", ()), OUT_OF_RANGE)}
    return {**values, "confidence": None, "meta": meta}


_MEMBERS = ("status", "text", "data", "error", "stats", "context")
"""The members of HelloAgents' serialized response."""


def is_response(value: Any) -> bool:
    """Whether ``value`` is a ToolResponse.

    Uses the type only: ``isinstance`` would read ``value.__class__``, which may run code of the value.
    """
    return is_subclass(ToolResponse, type(value))


@named_options(ErrorFields)
def _error(
    cls: type[_R],
    code: str = UNSET,
    message: str = UNSET,
    retryable: bool | None = None,
    suggestion: str | None = None,
    *,
    type: str | None = None,  # noqa: A002 - the name that the protocols use
    user_message: str | None = None,
    next_action: NextAction | None = None,
    text: str | None = None,
    **fields: Unpack[ErrorFields],
) -> _R:
    """Return the response of a tool that failed.

    Where left out, ``retryable`` and ``next_action`` come from the table of codes, and are marked as advised; ``text`` is
    the message. An error with a suggestion continues: the model acts on it.
    ``fields``: any other field of the model.
    """
    if code is UNSET or message is UNSET:
        given = "neither" if code is message else f"only the code {code!r}" if message is UNSET else "only the message"
        raise TypeError(
            f"ToolResponse.error() needs a code and a message, got {given}: such as "
            f"ToolResponse.error({ToolErrorCode.NOT_FOUND.value!r}, 'no such file')"
        )
    known = advice_for(code)
    next_action = next_action or cast("Any", fields).pop("nextAction", None)
    error = {
        "code": str(code),
        "message": message,
        "type": type,
        "retryable": known.retryable if retryable is None else retryable,
        "retryable_advised": retryable is None and known.retryable is not None,
        "suggestion": suggestion,
        "user_message": user_message,
    }
    return cls(
        status="error",
        text=message if text is None else text,
        error=cast("Any", error),
        next_action=next_action or next_step(str(code), retryable, suggestion),
        next_action_advised=next_action is None,
        **cast("Any", fields),
    )
