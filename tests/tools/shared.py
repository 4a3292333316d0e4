"""Helpers of the registry's tests: a tool with models as parameters, and both ways to call a registry."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

import tooltrace as tt
from tooltrace.core.records import ToolCall
from tooltrace.tools import ToolRegistry

Calls = Callable[[], list[ToolCall]]
R = tt.ToolResponse


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


class Place(BaseModel):
    city: str
    zip: int = Field(default=1, ge=1)


def forecast(place: Place, days: int = 3, unit: Unit = Unit.C, mode: Literal["short", "long"] = "short") -> str:
    """Say the weather."""
    assert isinstance(place, Place)
    assert isinstance(unit, Unit)
    return f"{place.city} {days} {unit.value} {mode}"


def run(registry: ToolRegistry, how: str, *args: Any, **kwargs: Any) -> tt.ToolResponse:
    if how == "sync":
        return registry.execute(*args, **kwargs)
    return asyncio.run(registry.aexecute(*args, **kwargs))


both = pytest.mark.parametrize("how", ["sync", "async"])


def double(n: int) -> int:
    """Twice ``n``."""
    return 2 * n


async def adouble(n: int) -> int:
    return 2 * n


class Kit:
    """A toolkit."""

    def __init__(self, factor: int = 2) -> None:
        self.factor = factor

    def times(self, n: int) -> int:
        """Times the factor."""
        return n * self.factor

    async def atimes(self, n: int) -> int:
        return n * self.factor

    @classmethod
    def kind(cls) -> str:
        return cls.__name__

    @staticmethod
    def plus(n: int) -> int:
        return n + 1

    @property
    def dangerous(self) -> Any:
        raise AssertionError("a property is not a tool and must not run")

    def _private(self) -> None: ...


def positional(n: int, /, by: int = 2, *, plus: int = 0) -> int:
    return n * by + plus
