"""A tool as a registry keeps it: everything that a call needs, settled when it was registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tooltrace.registry.injection import Injected
from tooltrace.registry.options import ToolOptions
from tooltrace.registry.parameters import Parameters
from tooltrace.spec import ToolSpec

Invoke = Callable[[dict[str, Any]], Any]
"""Calls the tool with its arguments by name."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegisteredTool:
    """One tool of a registry."""

    spec: ToolSpec
    """How its calls are recorded; without ``confidence`` and ``sources``, which are in ``claims``."""
    claims: ToolSpec | None = None
    """Where ``trace_tool`` was told how to read confidence or sources from a result."""
    options: ToolOptions
    description: str | None
    parameters: Parameters
    """All that a model and a person give together."""
    asked: Parameters
    """What the model is shown and gives."""
    injected: tuple[Injected, ...] = ()
    invoke: Invoke
    asynchronous: bool = False
    """Whether ``invoke`` must be called in the event loop; else it is called in a thread."""

    @property
    def name(self) -> str:
        """The name that the model calls."""
        return self.spec.name
