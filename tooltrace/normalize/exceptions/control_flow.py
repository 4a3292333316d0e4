"""The endings of calls that a framework's control-flow exception left, or that returned a request for input.

Frameworks pause, cancel or redirect a tool by an exception, which is not a failure of the tool. The decorator
and the reader of incoming spans use this one table. A class is recognised by its module and its name, or by a base
class, so that no framework is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, Literal

from tooltrace.redact.inspection import bases, module_of, name_of

Ending = Literal["paused", "refused", "cancelled", "abandoned", "returned", "raised"]

ENDINGS: Final[Mapping[str, Mapping[str, Ending]]] = {
    "agent_framework": {"UserInputRequiredException": "paused", "WorkflowInterrupted": "paused"},
    "agents": {"ToolInputGuardrailTripwireTriggered": "refused"},  # openai-agents: a guardrail rejected the arguments
    "agno": {"RunCancelledException": "cancelled"},
    "asyncio": {"CancelledError": "cancelled"},
    "builtins": {"GeneratorExit": "abandoned", "KeyboardInterrupt": "cancelled", "SystemExit": "cancelled"},
    "crewai": {"HumanFeedbackPending": "paused"},
    "fastmcp": {"RateLimitError": "refused"},  # of FastMCP's own middleware
    "google.adk": {"NodeInterruptedError": "paused"},
    "langgraph": {
        "GraphDrained": "cancelled",
        "GraphInterrupt": "paused",
        "NodeInterrupt": "paused",
        "ParentCommand": "returned",  # carries the Command that the tool returns to the parent graph
    },
    "pydantic_ai": {
        "ApprovalRequired": "paused",
        "CallDeferred": "paused",
        "RunCancelled": "cancelled",
        "RunTimedOut": "raised",
    },
    "tooltrace": {"CircuitOpen": "refused"},
    "strands": {"InterruptException": "paused"},
    "workflows": {"WaitingForEvent": "paused", "WorkflowCancelledByUser": "cancelled"},  # llama-index-workflows
}
"""The ending by package and class name. A class that is not listed and has no listed base is a failure."""


def ending_of(kind: type[BaseException]) -> Ending:
    """Return the ending of a call that an exception of class ``kind`` left.

    Runs no code of the class. An exception that is not an ``Exception`` and not listed cancels the call.
    """
    known = _classes.get(id(kind))
    if known is None:
        if len(_classes) >= _MAX_CLASSES:
            _classes.clear()
        known = _classes[id(kind)] = kind, _look_up(kind)
    return known[1]


_classes: dict[int, tuple[type, Ending]] = {}
"""The ending of each class, by ``id()`` of the class; the entry holds the class, so that its id stays unique."""
_MAX_CLASSES = 4096


def _look_up(kind: type[BaseException]) -> Ending:
    for base in bases(kind):
        packages = _BY_NAME.get(name_of(base))
        if packages is not None:
            module = module_of(base)
            for package, ending in packages:
                if module == package or module.startswith(package + "."):
                    return ending
    # Python reserves direct subclasses of BaseException for ending a program or a task.
    return "raised" if issubclass(kind, Exception) else "cancelled"


def ending_by_name(names: Iterable[str]) -> Ending:
    """Return the ending for an exception of which only names are known.

    ``names``: the class, and its bases where they are known, as ``module.Class`` or as the bare name of the class. A
    bare name means the listed class of that name.
    """
    for name in names:
        module, _, last = name.rpartition(".")
        for package, ending in _BY_NAME.get(last, ()):
            if not module or module == package or module.startswith(package + ".") or package in ANY_MODULE:
                return ending
    return "raised"


ANY_MODULE = frozenset({"asyncio", "builtins"})
"""Packages whose classes count under any module name, because other languages and libraries reuse these names."""


@lru_cache(maxsize=1024)
def pauses(kinds: tuple[str, ...]) -> bool:
    """Return whether a result whose class and bases have the full names ``kinds`` requests input instead of answering."""
    return any(kind.rpartition(".")[2] in _PAUSING and kind.startswith(_PAUSING_PACKAGES) for kind in kinds)


_PAUSING: Final = frozenset({"InputRequiredResult", "InputRequiredToolResult"})
_PAUSING_PACKAGES: Final = ("mcp.", "mcp_types.", "fastmcp.")


def _by_name() -> dict[str, list[tuple[str, Ending]]]:
    table: dict[str, list[tuple[str, Ending]]] = {}
    for package, classes in ENDINGS.items():
        for name, ending in classes.items():
            table.setdefault(name, []).append((package, ending))
    return table


_BY_NAME = _by_name()
