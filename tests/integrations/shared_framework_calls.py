"""Helpers of the tests of real frameworks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.errors import ConfigError

Calls = Callable[[], list[ToolCall]]


def identity(call: ToolCall) -> tuple[str, str | None, str | None]:
    return call.call_id, call.agent, call.conversation_id


def is_refused(tool: Any) -> None:
    for decorate in (tt.trace_tool, tt.trace_tool(name="other")):
        with pytest.raises(ConfigError, match="put @trace_tool below the framework's decorator"):
            decorate(tool)
