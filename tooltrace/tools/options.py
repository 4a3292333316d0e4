"""Options of one tool in a registry, set at registration or beforehand with ``tool``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypedDict, TypeVar, Unpack, get_args, overload

from tooltrace.core.keywords import named_options, require_known
from tooltrace.core.paused_call import ApprovalType, GateKind
from tooltrace.errors import ConfigError
from tooltrace.recording.retryable import Retryable
from tooltrace.recording.tool_spec import Capture
from tooltrace.redact.redaction import Redact, Redaction

T = TypeVar("T")

MARK = "__tooltrace_tool__"
"""Attribute that ``tool`` sets on a function or method to hold its options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    """Options of a tool. An option that is not set keeps the tool's own value."""

    name: str | None = None
    """Name under which the model calls the tool; default: the function's name."""
    description: str | None = None
    """Description for the model; default: the docstring."""
    version: str | None = None
    cache: bool | float = False
    """True: a success is returned again for the same arguments. A number: the same, for that many seconds."""
    call_limit: int | None = None
    """Maximum number of calls that are run; the response beyond it is CALL_LIMIT."""
    requires_confirmation: bool = False
    requires_user_input: bool = False
    """Whether a person provides parameters: those of ``user_input_fields``, else all. The model does not see them."""
    user_input_fields: tuple[str, ...] = ()
    external_execution: bool = False
    approval_type: ApprovalType | None = None
    """``required``: a person approves the call, by the tool's gate or else by confirmation. ``audit``: the decision of
    the tool's gate is needed for an audit. The PausedCall has it."""
    expires_after: float | None = None
    """Seconds after which a person's decision is too late; None: never."""
    stop_after_tool_call: bool = False
    """Whether a call that did not fail advises the agent to stop."""
    hidden: tuple[str, ...] = ()
    """Further parameters that the model neither sees nor provides."""
    capture: Capture | None = None
    """As in ``trace_tool``; the same holds for ``redact`` and ``retryable``."""
    redact: Redaction | Redact | Iterable[str] | None = None
    retryable: Retryable = ()

    @property
    def gate(self) -> GateKind | None:
        """The kind of decision that a person has to make before a call continues; None if no person is needed."""
        if self.requires_user_input:
            return "input"
        if self.external_execution:
            return "external"
        return "confirmation" if self.requires_confirmation or self.approval_type == "required" else None


class OptionWords(TypedDict, total=False):
    """The fields of :class:`ToolOptions`, as keyword arguments."""

    name: str | None
    description: str | None
    version: str | None
    cache: bool | float
    call_limit: int | None
    requires_confirmation: bool
    requires_user_input: bool
    user_input_fields: Iterable[str]
    external_execution: bool
    approval_type: ApprovalType | None
    expires_after: float | None
    stop_after_tool_call: bool
    hidden: Iterable[str]
    capture: Capture | None
    redact: Redaction | Redact | Iterable[str] | None
    retryable: Retryable


@overload
def tool(func: T, /, **options: Unpack[OptionWords]) -> T: ...
@overload
def tool(**options: Unpack[OptionWords]) -> Callable[[T], T]: ...
@named_options(OptionWords)
def tool(func: Any = None, /, **options: Unpack[OptionWords]) -> Any:
    """Mark a function or a toolkit's method as a tool, with options for the registry that it is added to.

    Used bare or with options, which are those of ``ToolRegistry.register``. Returns the function itself, with unchanged
    behaviour. If any method of a toolkit is marked, only the marked methods are its tools.
    """
    settled = settle(ToolOptions(), options)
    if func is None:
        return lambda later: _mark(later, settled)
    return _mark(func, settled)


def _mark(func: Any, options: ToolOptions) -> Any:
    inner = func.__func__ if isinstance(func, classmethod | staticmethod) else func
    if isinstance(inner, type) or not callable(inner):
        raise ConfigError(f"tool() must decorate a function or a method, got {func!r}")
    setattr(inner, MARK, options)
    return func


def marked(func: Any) -> ToolOptions | None:
    """Return the options that ``tool`` set on ``func``; None if it is not marked."""
    options = getattr(func, MARK, None)
    return options if isinstance(options, ToolOptions) else None


def settle(base: ToolOptions, words: OptionWords | Mapping[str, Any]) -> ToolOptions:
    """Return ``base`` with the options in ``words``. Raises ConfigError for invalid options."""
    require_known(words, OptionWords.__annotations__)
    values = dict(words)
    for key in ("hidden", "user_input_fields"):
        if key in values and not isinstance(values[key], bool):
            values[key] = _names(key, values[key])
    options = replace(base, **values)
    _check_gate(options)
    check_limit(options.call_limit)
    _check_cache(options.cache)
    return options


def _names(key: str, value: Any) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(name, str) for name in names):
        raise ConfigError(f"{key} must be a list of parameter names, got {value!r}")
    return names


def _check_gate(options: ToolOptions) -> None:
    gates = ("requires_confirmation", "requires_user_input", "external_execution")
    set_options = [name for name in gates if getattr(options, name)]
    if len(set_options) > 1:
        raise ConfigError(f"{' and '.join(set_options)} exclude each other: pass one of them")
    if options.user_input_fields and not options.requires_user_input:
        raise ConfigError("user_input_fields needs requires_user_input=True")
    kind = options.approval_type
    if kind not in (None, *get_args(ApprovalType)):
        raise ConfigError(f"approval_type must be 'required', 'audit' or None, got {kind!r}")
    if kind == "audit" and options.gate is None:
        raise ConfigError(f"approval_type='audit' needs a gate to audit: pass one of {', '.join(gates)} too")
    wait = options.expires_after
    if wait is not None and (isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 < wait < math.inf):
        raise ConfigError(f"expires_after must be a number of seconds above 0, or None; got {wait!r}")


def check_limit(limit: Any) -> None:
    """Raise ConfigError if ``limit`` is not a number of calls from 1 on, or None."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise ConfigError(f"call_limit must be an integer of at least 1, or None for no limit; got {limit!r}")


def _check_cache(cache: Any) -> None:
    usable = isinstance(cache, bool) or (isinstance(cache, int | float) and cache > 0 and math.isfinite(cache))
    if not usable:
        raise ConfigError(f"cache must be True, False or a number of seconds above 0, got {cache!r}")
