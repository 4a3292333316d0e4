"""Agno's data about a call, in the form that the recorder uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any

from tooltrace.faults import report_fault
from tooltrace.integrations.framework_call import text_or_none
from tooltrace.recording import context
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.call_identity import model_name
from tooltrace.recording.context import CallContext, CallId
from tooltrace.recording.recorder import Recorder
from tooltrace.recording.tool_spec import ToolSpec, named_spec

RUN_ID = "agno.run_id"
"""Attribute: id of the run that the call belongs to."""
TEAM = "agno.team"
"""Attribute: name of the team that the calling agent is a member of."""


class AgnoContext:
    """The tool, the call id and the surrounding context of a call.

    ``owner`` is the agent or the team; ``run`` is its run, or that run's context.
    """

    __slots__ = ("_context", "call_id", "run_id", "spec")

    def __init__(self, spec: ToolSpec, call_id: Any, owner: Any = None, run: Any = None, team: Any = None) -> None:
        self.spec = spec
        self.call_id = text_or_none(call_id)
        self.run_id = text_or_none(getattr(run, "run_id", None))
        identity = {RUN_ID: self.run_id, TEAM: text_or_none(getattr(team, "name", None))}
        outer = context.current.get()
        self._context = CallContext(
            call=outer.call if self.call_id is None else CallId(self.call_id),
            conversation_id=text_or_none(getattr(run, "session_id", None)) or outer.conversation_id,
            agent=text_or_none(getattr(owner, "name", None)) or outer.agent,
            model=model_name(getattr(owner, "model", None)) or outer.model,
            attributes={**_other_attributes(outer), **{key: text for key, text in identity.items() if text}} or None,
        )

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Assign the calls inside the block to this conversation and this agent."""
        token = context.current.set(self._context)
        try:
            yield
        finally:
            context.current.reset(token)

    def begin(
        self, recorder: Recorder, arguments: Any, *, number: int | None = None, span_id: int = 0
    ) -> Attempt | None:
        """Begin an attempt now; return None if it cannot be recorded.

        ``number`` and ``span_id`` are as in ``Recorder.begin``.
        """
        try:
            with self.entered():
                named = _named(arguments)
                return recorder.begin(self.spec, named, call_id=self.call_id, number=number, span_id=span_id)
        except Exception:
            report_fault("begin")
            return None


def span_id(attempt: Attempt) -> str:
    """Return the attempt's span id, in hex."""
    return attempt.hex_id


def context_for_function(function: Any, call_id: Any) -> AgnoContext:
    """Return the context of a call of ``function``, an ``agno.tools.function.Function``."""
    return _context_for(_spec(function.name, function.description), call_id, function)


def context_for_sibling(name: str, call_id: Any, function: Any) -> AgnoContext:
    """Return the context of a call of the tool ``name``, which the agent of ``function`` does not have."""
    return _context_for(_spec(name, None), call_id, function)


def context_by_name(name: str, call_id: Any, owner: Any = None, run: Any = None) -> AgnoContext:
    """Return the context of a call of the tool ``name`` if its function is not available."""
    return AgnoContext(_spec(name, None), call_id, owner, run)


def _context_for(spec: ToolSpec, call_id: Any, function: Any) -> AgnoContext:
    agent, team = getattr(function, "_agent", None), getattr(function, "_team", None)
    run = getattr(function, "_run_context", None)
    return AgnoContext(spec, call_id, team, run) if agent is None else AgnoContext(spec, call_id, agent, run, team)


def _other_attributes(outer: CallContext) -> dict[str, Any]:
    """Return the attributes of the outer context without those of another run."""
    return {key: value for key, value in (outer.attributes or {}).items() if key not in (RUN_ID, TEAM)}


@lru_cache(maxsize=1024)
def _spec(name: str, description: str | None) -> ToolSpec:
    retry = import_module("agno.exceptions").RetryAgentRun
    text = " ".join(description.split()) if description else None
    return named_spec(name, description=text or None, retryable=retry)


def _named(arguments: Any) -> dict[str, Any]:
    """Return the model's arguments by name; arguments that are not a dict go under ``value``."""
    if arguments is None:
        return {}
    return dict(arguments) if isinstance(arguments, dict) else {"value": arguments}
