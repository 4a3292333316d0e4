"""Recording of LangChain's and LangGraph's tools by a callback handler, without instrumentation or changes to a tool.

::

    from tooltrace.integrations import langchain

    langchain.install()      # every run of this process
    ...
    langchain.remove()

or for single runs::

    agent.invoke(question, config={"callbacks": [langchain.ToolTraceCallbackHandler()]})

``ReviewMiddleware`` pauses an agent before its model reads a result that a person has to review.

A run that has its own handler is recorded by that one only. If OpenInference or Traceloop already instruments
LangChain, add ``TooltraceSpanProcessor`` to their provider instead.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tooltrace.integrations.langchain.handler import ToolTraceCallbackHandler
    from tooltrace.integrations.langchain.review import ReviewMiddleware

__all__ = ["FRAMEWORK", "ReviewMiddleware", "ToolTraceCallbackHandler", "install", "remove"]

FRAMEWORK = "langchain_core"
_HANDLER = f"{__name__}.handler"
_TOOL_NODE = f"{__name__}.tool_node"


def install() -> None:
    """Record the tools of every run; a second call has no effect. Raises ImportError if LangChain is not installed."""
    import_module(_HANDLER).process_handler().on = True
    import_module(_TOOL_NODE).install()


def remove() -> None:
    """Stop recording. LangChain cannot unregister a handler: it remains, and ignores every run."""
    if _HANDLER in sys.modules:
        sys.modules[_HANDLER].process_handler().on = False
    if _TOOL_NODE in sys.modules:
        sys.modules[_TOOL_NODE].remove()


def __getattr__(name: str) -> Any:
    """Import what needs LangChain on first access."""
    if name == "ToolTraceCallbackHandler":
        return import_module(_HANDLER).ToolTraceCallbackHandler
    if name == "ReviewMiddleware":
        return import_module(f"{__name__}.review").ReviewMiddleware
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
