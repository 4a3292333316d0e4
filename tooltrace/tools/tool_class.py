"""HelloAgents' base class of tools, for classes that are moved from that package."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from tooltrace.recording.logger import TraceLogger

_running: ContextVar[Any] = ContextVar("tooltrace_running_tool", default=None)
"""The tool whose ``run`` runs: what the tool calls of itself belongs to the same call."""

_RUN = "__tooltrace_run__"
"""Attribute of a recorded ``run`` with the function that the class defines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolParameter:
    """A parameter that a tool declares."""

    name: str
    type: str
    """Type in the words of JSON Schema, such as ``string``."""
    description: str = ""
    required: bool = True
    default: Any = None


class Tool(ABC):
    """A tool as an object: a name, a description, ``run(parameters)`` and the parameters that it declares.

    Register it with ``ToolRegistry.register_tool``. A direct call of ``run`` is recorded as well.
    """

    def __init__(self, name: str, description: str, expandable: bool = False) -> None:
        """Set what the registry offers to the model.

        ``expandable``: whether to register the tools of ``get_expanded_tools`` instead of this one.
        """
        self.name = name
        self.description = description
        self.expandable = expandable

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        run = vars(cls).get("run")
        if inspect.isfunction(run) and not hasattr(run, _RUN):
            cls.run = _recorded(run)  # type: ignore[method-assign]

    @abstractmethod
    def run(self, parameters: dict[str, Any]) -> Any:
        """Run the tool, and return a ToolResponse or any other result."""

    @abstractmethod
    def get_parameters(self) -> list[ToolParameter]:
        """Return the parameters that the tool declares."""


def unrecorded(run: Any) -> Any:
    """Return the bound method ``run`` of a tool, for a caller that records the call itself."""
    inner = getattr(run, _RUN, None)
    return run if inner is None else functools.partial(_wrapped(inner, _unrecorded), run.__self__)


def _recorded(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method ``run``, recorded as a call of the tool's name with the parameters as arguments."""
    log = TraceLogger()

    @contextmanager
    def record(tool: Any, parameters: Any) -> Iterator[Callable[[Any], None]]:
        if _running.get() is tool:
            yield lambda _: None
            return
        with _unrecorded(tool, parameters), log.call(tool.name, parameters) as call:
            yield call.finish

    wrapper = _wrapped(run, record)
    setattr(wrapper, _RUN, run)
    return wrapper


@contextmanager
def _unrecorded(tool: Any, _parameters: Any) -> Iterator[Callable[[Any], None]]:
    token = _running.set(tool)
    try:
        yield lambda _: None
    finally:
        _running.reset(token)


def _wrapped(run: Callable[..., Any], enter: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method ``run`` inside the context manager of ``enter``, which gives a function for the result."""
    if inspect.iscoroutinefunction(run):

        @functools.wraps(run)
        async def arun(tool: Any, parameters: Any) -> Any:
            with enter(tool, parameters) as finish:
                result = await run(tool, parameters)
                finish(result)
            return result

        return arun

    @functools.wraps(run)
    def run_(tool: Any, parameters: Any) -> Any:
        with enter(tool, parameters) as finish:
            result = run(tool, parameters)
            finish(result)
        return result

    return run_
