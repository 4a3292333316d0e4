"""Responses of the registry itself, for calls whose tool was not run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tooltrace.core.codes import CALL_LIMIT, NextAction, ToolErrorCode
from tooltrace.core.paused_call import PausedCall
from tooltrace.core.response import ResponseMeta, ToolResponse
from tooltrace.errors import near

RULE = "registry"
"""Name of the rule in responses that the registry made."""

PROVIDER_TOOL = "PROVIDER_TOOL"
"""Code of a call to a tool that the provider of the model runs."""

PAUSED = "PAUSED"
"""Code of a call that waits for a person."""
DECLINED = "DECLINED"
EXPIRED = "EXPIRED"
"""Codes of a call that was declined, or that nobody decided in time."""

_MAX_NAMES = 20
_MAX_NAME_LENGTH = 100


def registry_error(
    code: str, message: str, *, suggestion: str | None = None, next_action: NextAction | None = None, **error: Any
) -> ToolResponse:
    """Return an error response of the registry itself."""
    meta = ResponseMeta(rule=RULE, rule_grade="certain")
    return ToolResponse.error(code, message, suggestion=suggestion, next_action=next_action, meta=meta, **error)


def not_found(name: str, names: Sequence[str]) -> ToolResponse:
    """Return the response to an unknown tool name, with the names that exist."""
    return registry_error(
        ToolErrorCode.NOT_FOUND,
        f"no tool named {truncate_name(name)!r}{near(name, names)}",
        suggestion=f"Call one of the tools that there are: {quoted(names)}."
        if names
        else "There are no tools; answer without.",
        next_action="continue",
    )


def provider_tool(name: str) -> ToolResponse:
    """Return the response to a call of a tool that was registered as a dict."""
    return registry_error(
        PROVIDER_TOOL,
        f"the provider of the model runs the tool {name!r}: this registry has only its definition and cannot run it",
        retryable=False,
        suggestion="Do not call this tool as a function.",
        next_action="continue",
    )


def over_limit(limit: int, tool: str | None) -> ToolResponse:
    """Return the response to a call beyond the limit of ``tool``, or of all tools together."""
    of = f"of {tool!r}" if tool else "of tools"
    return registry_error(
        CALL_LIMIT,
        f"the limit of {limit} {'call' if limit == 1 else 'calls'} {of} is reached; this call was not run",
        retryable=False,
        suggestion=f"Do not call {tool or 'tools'} again. Answer with what you have, and say what is missing.",
        next_action="stop",
    )


def not_injected(why: str) -> ToolResponse:
    """Return the response to a call for which a value to inject is missing."""
    return registry_error(
        ToolErrorCode.INTERNAL_ERROR,
        why,
        retryable=False,
        suggestion="Do not call this tool again: the application that offers it is not set up for it.",
    )


def hook_failed(hook: Any, what: str, error: BaseException | None = None) -> ToolResponse:
    """Return the response to a call whose hook raised, or returned a value that is not a ToolResponse."""
    name = getattr(hook, "__qualname__", None) or type(hook).__qualname__
    kind = None if error is None else type(error).__qualname__
    return registry_error(ToolErrorCode.INTERNAL_ERROR, f"the hook {name} {what}", type=kind)


def paused(pause: PausedCall, meta: ResponseMeta) -> ToolResponse:
    """Return the response to a call that waits for a person: neither a failure nor an answer yet."""
    for_what = {"confirmation": "allow it", "input": "give what is missing", "external": "do it, and bring the result"}
    return ToolResponse.partial(
        f"{pause.tool!r} was not run yet: a person has to {for_what[pause.kind]} first.",
        code=PAUSED,
        reason=f"waits for a person ({pause.kind})",
        next_action="ask_user" if pause.kind == "input" else "human_review",
        paused=pause,
        meta=_made_here(meta),
    )


def held(pause: PausedCall, meta: ResponseMeta) -> ToolResponse:
    """Return the response to a call whose result waits for a person's review."""
    return ToolResponse.partial(
        f"{pause.tool!r} was run; a person has to review its result first.",
        code=PAUSED,
        reason="waits for a person (review)",
        next_action="human_review",
        paused=pause,
        meta=_made_here(meta),
    )


def not_passed_on(decision: str, note: str | None, meta: ResponseMeta) -> ToolResponse:
    """Return the response to a call whose result a person declined, or nobody reviewed in time."""
    text = (
        "A person declined the result of this call" if decision == "declined" else "Nobody reviewed the result in time"
    )
    return ToolResponse.partial(
        f"{text}{f': {note}' if note else '.'}",
        code=DECLINED if decision == "declined" else EXPIRED,
        reason=f"the result was {decision}",
        next_action="ask_user",
        meta=_made_here(meta),
    )


def not_run(decision: str, note: str | None) -> ToolResponse:
    """Return the response to a declined or expired call.

    The tool did not fail, and the model has nothing to retry.
    """
    reason = f": {note}" if note else "."
    text = f"A person declined this call{reason}" if decision == "declined" else "Nobody answered in time."
    return ToolResponse.partial(
        f"{text} The tool was not run." if text.endswith(".") else f"{text} (the tool was not run)",
        code=DECLINED if decision == "declined" else EXPIRED,
        reason=f"the call was {decision}",
        next_action="ask_user",
        meta=_made_here(ResponseMeta()),
    )


def unrecorded(tool: str) -> ToolResponse:
    """Return the response to a call that must wait for a person but could not be recorded."""
    return registry_error(
        ToolErrorCode.INTERNAL_ERROR, f"{tool!r} has to wait for a person, and the recorder could not hold it"
    )


def _made_here(meta: ResponseMeta) -> ResponseMeta:
    return meta.model_copy(update={"rule": RULE, "rule_grade": "certain"})


def truncate_name(name: str) -> str:
    """Return a name that the model sent, truncated."""
    return name if len(name) <= _MAX_NAME_LENGTH else f"{name[:_MAX_NAME_LENGTH]}…"


def quoted(names: Sequence[str]) -> str:
    """Return the names as a list in words; beyond the maximum number, only how many more there are."""
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
