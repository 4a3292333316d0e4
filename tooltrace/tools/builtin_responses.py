"""What a registry answers by itself, where the tool was not run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tooltrace.core.codes import NextAction, ToolErrorCode
from tooltrace.core.response import PausedCall, ResponseMeta, ToolResponse
from tooltrace.errors import near as did_you_mean

RULE = "registry"
"""The rule of an answer that the registry made."""

CALL_LIMIT = "CALL_LIMIT"
"""The code of a call beyond the limit."""

PAUSED = "PAUSED"
"""The code of a call that waits for a person."""
DECLINED = "DECLINED"
EXPIRED = "EXPIRED"
"""The codes of a call that nobody let through."""

_MOST_NAMES = 20
_LONGEST_NAME = 100


def registry_error(
    code: str, message: str, *, suggestion: str | None = None, next_action: NextAction | None = None, **error: Any
) -> ToolResponse:
    """An error of the registry's own."""
    meta = ResponseMeta(rule=RULE, rule_grade="certain")
    return ToolResponse.error(code, message, suggestion=suggestion, next_action=next_action, meta=meta, **error)


def not_found(name: str, names: Sequence[str]) -> ToolResponse:
    """No tool of that name; which there are."""
    return registry_error(
        ToolErrorCode.NOT_FOUND,
        f"no tool named {truncate_name(name)!r}{did_you_mean(name, names)}",
        suggestion=f"Call one of the tools that there are: {quoted(names)}."
        if names
        else "There are no tools; answer without.",
        next_action="continue",
    )


def over_limit(limit: int, tool: str | None) -> ToolResponse:
    """No more calls, of ``tool`` or of any tool."""
    of = f"of {tool!r}" if tool else "of tools"
    return registry_error(
        CALL_LIMIT,
        f"the limit of {limit} {'call' if limit == 1 else 'calls'} {of} is reached; this call was not run",
        retryable=False,
        suggestion=f"Do not call {tool or 'tools'} again. Answer with what you have, and say what is missing.",
        next_action="stop",
    )


def not_injected(why: str) -> ToolResponse:
    """What the application had to give is not there."""
    return registry_error(
        ToolErrorCode.INTERNAL_ERROR,
        why,
        retryable=False,
        suggestion="Do not call this tool again: the application that offers it is not set up for it.",
    )


def hook_failed(hook: Any, what: str, error: BaseException | None = None) -> ToolResponse:
    """A hook raised, or answered with what is no response."""
    name = getattr(hook, "__qualname__", None) or type(hook).__qualname__
    kind = None if error is None else type(error).__qualname__
    return registry_error(ToolErrorCode.INTERNAL_ERROR, f"the hook {name} {what}", type=kind)


def paused(held: PausedCall, meta: ResponseMeta) -> ToolResponse:
    """A call that waits for a person: no failure, and no answer yet."""
    for_what = {"confirmation": "allow it", "input": "give what is missing", "external": "do it, and bring the result"}
    return ToolResponse.partial(
        f"{held.tool!r} was not run yet: a person has to {for_what[held.kind]} first.",
        code=PAUSED,
        reason=f"waits for a person ({held.kind})",
        next_action="ask_user" if held.kind == "input" else "human_review",
        paused=held,
        meta=_made_here(meta),
    )


def not_run(decision: str, note: str | None) -> ToolResponse:
    """A call that nobody let through: no failure of the tool, and nothing for the model to try again."""
    said = f": {note}" if note else "."
    text = f"A person declined this call{said}" if decision == "declined" else "Nobody answered in time."
    return ToolResponse.partial(
        f"{text} The tool was not run." if text.endswith(".") else f"{text} (the tool was not run)",
        code=DECLINED if decision == "declined" else EXPIRED,
        reason=f"the call was {decision}",
        next_action="ask_user",
        meta=_made_here(ResponseMeta()),
    )


def unrecorded(tool: str) -> ToolResponse:
    """A call that has to wait, and cannot: nothing holds it."""
    return registry_error(
        ToolErrorCode.INTERNAL_ERROR, f"{tool!r} has to wait for a person, and the recorder could not hold it"
    )


def _made_here(meta: ResponseMeta) -> ResponseMeta:
    return meta.model_copy(update={"rule": RULE, "rule_grade": "certain"})


def truncate_name(name: str) -> str:
    """A name that somebody else made up, as far as it is one."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def quoted(names: Sequence[str]) -> str:
    """The names, as far as they are few."""
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
