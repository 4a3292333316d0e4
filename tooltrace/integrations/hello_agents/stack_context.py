"""What the loop of an agent knows of the call that it makes, and hands to nobody."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, NamedTuple

_FAR = 16
"""How many frames up an agent is looked for: its loop may run in a helper of its own."""


class CallerInfo(NamedTuple):
    """Who calls a tool, as far as it is known."""

    call_id: str | None = None
    """The model's id of the call."""
    agent: str | None = None
    session: str | None = None
    tool: str | None = None
    """What the model called the tool."""


NOBODY = CallerInfo()


def caller(function: str, tool: str, agent_class: type, target: Any = None) -> CallerInfo:
    """Who called ``function`` for ``tool``, which is the object ``target``.

    The loops of the package keep the model's id in a local variable, which is read here: neither
    ``_execute_tool_call`` nor ``arun_with_timing`` is given it. A caller that is no such loop is nobody.
    """
    frame = _calling(function)
    if frame is None:
        return NOBODY
    known = frame.f_locals
    named = known.get("tool_name", tool)
    if "tool_call_id" not in known or (named != tool and known.get("tool") is not target):
        return NOBODY
    agent = _agent(frame, agent_class)
    return CallerInfo(_text(known["tool_call_id"]), name_of(agent), _session(known) or session_of(agent), named)


def _calling(function: str) -> FrameType | None:
    """The frame that called ``function``: not ours, and none of its overrides."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the only way to the caller's variables
    while frame is not None and (_ours(frame) or frame.f_code.co_name == function):
        frame = frame.f_back
    return frame


def _ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("tooltrace.")


def _agent(frame: FrameType | None, agent_class: type) -> Any:
    """The nearest agent at work. PlanSolveAgent lets an executor run the loop."""
    for _ in range(_FAR):
        if frame is None:
            break
        found = frame.f_locals.get("self")
        if isinstance(found, agent_class):
            return found
        frame = frame.f_back
    return None


def name_of(agent: Any) -> str | None:
    """The agent's name."""
    return _text(getattr(agent, "name", None))


def session_of(agent: Any) -> str | None:
    """The session of the agent's own trace; None where tracing is off."""
    return _session(vars(agent)) if hasattr(agent, "__dict__") else None


def _session(names: Any) -> str | None:
    """SimpleAgent begins a session with each run, and keeps it in a variable of its loop."""
    return _text(getattr(names.get("trace_logger"), "session_id", None))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
