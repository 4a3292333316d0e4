"""Facts about a call that an agent's loop has only in local variables."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, NamedTuple

_MAX_FRAMES = 16
"""Maximum number of frames searched for an agent: its loop may run in a helper."""


class CallerInfo(NamedTuple):
    """The caller of a tool, as far as it is known."""

    call_id: str | None = None
    """The model's id of the call."""
    agent: str | None = None
    session: str | None = None
    tool: str | None = None
    """The tool name that the model used."""
    model: str | None = None
    """The agent's model."""


UNKNOWN_CALLER = CallerInfo()


def caller(function: str, tool: str, agent_class: type, target: Any = None) -> CallerInfo:
    """Return the caller of ``function`` for ``tool``, which is the object ``target``.

    The loops of the package keep the model's call id in a local variable, which is read here, because neither
    ``_execute_tool_call`` nor ``arun_with_timing`` receives it. Returns UNKNOWN_CALLER if the caller is not such a loop.
    """
    frame = _calling(function)
    if frame is None:
        return UNKNOWN_CALLER
    known = frame.f_locals
    named = known.get("tool_name", tool)
    if "tool_call_id" not in known or (named != tool and known.get("tool") is not target):
        return UNKNOWN_CALLER
    agent = _agent(frame, agent_class)
    return CallerInfo(
        _text(known["tool_call_id"]), name_of(agent), _session(known) or session_of(agent), named, model_of(agent)
    )


def _calling(function: str) -> FrameType | None:
    """Return the frame that called ``function``, skipping our own frames and overrides of the function."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the only way to the caller's variables
    while frame is not None and (_is_own_frame(frame) or frame.f_code.co_name == function):
        frame = frame.f_back
    return frame


def _is_own_frame(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("tooltrace.")


def _agent(frame: FrameType | None, agent_class: type) -> Any:
    """Return the nearest agent on the stack. PlanSolveAgent lets an executor run the loop, so it may be further up."""
    for _ in range(_MAX_FRAMES):
        if frame is None:
            break
        found = frame.f_locals.get("self")
        if isinstance(found, agent_class):
            return found
        frame = frame.f_back
    return None


def name_of(agent: Any) -> str | None:
    """Return the agent's name."""
    return _text(getattr(agent, "name", None))


def model_of(agent: Any) -> str | None:
    """Return the name of the agent's model."""
    return _text(getattr(getattr(agent, "llm", None), "model", None))


def session_of(agent: Any) -> str | None:
    """Return the session of the agent's own trace; None if tracing is off."""
    return _session(vars(agent)) if hasattr(agent, "__dict__") else None


def _session(names: Any) -> str | None:
    """Return the session id among ``names``. SimpleAgent starts a session per run, in a local variable of its loop."""
    return _text(getattr(names.get("trace_logger"), "session_id", None))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
