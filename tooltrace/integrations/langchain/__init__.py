"""Recording of LangChain's and LangGraph's tools by a callback handler, without instrumentation or changes to a tool.

::

    from tooltrace.integrations import langchain

    langchain.install()      # every run of this process
    ...
    langchain.remove()

or for single runs::

    agent.invoke(question, config={"callbacks": [langchain.ToolTraceCallbackHandler()]})

A run that has its own handler is recorded by that one only. If OpenInference or Traceloop already instruments
LangChain, add ``TooltraceSpanProcessor`` to their provider instead.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tooltrace.integrations.langchain.handler import ToolTraceCallbackHandler

__all__ = ["FRAMEWORK", "ToolTraceCallbackHandler", "install", "remove"]

FRAMEWORK = "langchain_core"
_HANDLER = f"{__name__}.handler"


def install() -> None:
    """Record the tools of every run; a second call has no effect. Raises ImportError if LangChain is not installed."""
    import_module(_HANDLER).process_handler().on = True


def remove() -> None:
    """Stop recording. LangChain cannot unregister a handler: it remains, and ignores every run."""
    if _HANDLER in sys.modules:
        sys.modules[_HANDLER].process_handler().on = False


def __getattr__(name: str) -> Any:
    """Import the handler, which needs LangChain, on first access."""
    if name == "ToolTraceCallbackHandler":
        return import_module(_HANDLER).ToolTraceCallbackHandler
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
