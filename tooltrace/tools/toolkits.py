"""Find the tools in an object, a class or a module."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any

from tooltrace.errors import ConfigError
from tooltrace.tools.adapters.agno_function import agno_functions, is_agno_function
from tooltrace.tools.adapters.hello_agents_tool import is_run_tool
from tooltrace.tools.options import marked

_BASE_PACKAGES = frozenset({"abc", "builtins", "enum", "pydantic", "typing"})
"""Packages whose base classes have methods that are not tools."""


def tools_of(found: Any) -> Iterator[Any]:
    """Yield the functions, methods, tool objects and definitions in ``found``: itself, or its members.

    The tools of a toolkit are those that its ``tools`` or ``__all__`` lists, by name or as objects; else the methods
    marked by ``tool``; else its public methods. A class is instantiated without arguments.
    """
    if isinstance(found, staticmethod | classmethod):
        raise ConfigError(f"register {found!r} through its class: registry.register(TheClass)")
    if (
        isinstance(found, dict)
        or inspect.isroutine(found)
        or isinstance(found, functools.partial)
        or is_run_tool(found)
        or is_agno_function(found)
    ):
        yield found
        return
    if isinstance(found, type):
        found = _instance(found)
        if is_run_tool(found):
            yield found
            return
    listed = agno_functions(found) or _listed(found)
    if listed is not None:
        for each in listed:
            yield from tools_of(getattr(found, each) if isinstance(each, str) else each)
    elif methods := _methods(found):
        yield from methods
    elif callable(found):
        yield found
    else:
        raise ConfigError(
            f"{found!r} is not a tool and contains none: expected a function, or an object with public methods"
        )


def _instance(kind: type) -> Any:
    try:
        return kind()
    except Exception as error:
        raise ConfigError(
            f"{kind.__qualname__}() cannot be called without arguments ({error}): register an instance"
        ) from error


def _listed(found: Any) -> list[Any] | None:
    for attribute in ("tools", "__all__"):
        listed = getattr(found, attribute, None)
        if isinstance(listed, list | tuple) and listed:
            return list(listed)
    return None


def _methods(found: Any) -> list[Any]:
    names = vars(found) if inspect.ismodule(found) else dict.fromkeys(_class_names(type(found)))
    methods = [getattr(found, name) for name in names if not name.startswith("_") and _is_method(found, name)]
    return [method for method in methods if marked(method)] or [m for m in methods if not callable_object(found)]


def callable_object(found: Any) -> bool:
    """Whether ``found`` itself is callable and therefore one tool; its methods are then not tools."""
    return not inspect.ismodule(found) and callable(found)


def _class_names(kind: type) -> Iterator[str]:
    """Yield the attribute names of the class and its bases in the order of definition, the bases' first."""
    for base in reversed(kind.__mro__):
        if base.__module__.partition(".")[0] not in _BASE_PACKAGES:
            yield from vars(base)


def _is_method(found: Any, name: str) -> bool:
    """Whether the attribute is a function or method, determined without running a property."""
    if inspect.ismodule(found):
        return inspect.isfunction(vars(found)[name]) and vars(found)[name].__module__ == found.__name__
    raw = inspect.getattr_static(type(found), name, None)
    return inspect.isroutine(raw) or isinstance(raw, classmethod | staticmethod)
