"""Helpers of the tests of endings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tooltrace as tt
from tooltrace.core.records import ToolCall

Calls = Callable[[], list[ToolCall]]


R = tt.ToolResponse


def one(calls: Calls) -> ToolCall:
    (call,) = calls()
    return call


def raises(error: BaseException) -> Any:
    def tool() -> None:
        raise error

    return tool
