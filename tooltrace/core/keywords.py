"""Keyword arguments of public functions that a TypedDict declares: refusal of unknown names, and signatures to read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from tooltrace.errors import UnknownOption, near

F = TypeVar("F", bound=Callable[..., Any])


def require_known(names: Iterable[str], known: Iterable[str]) -> None:
    """Raise UnknownOption for one of ``names`` that is not among the ``known`` options of a tool."""
    known = set(known)
    for name in names:
        if name not in known:
            advice = near(name, known) or f"; its options are {', '.join(sorted(known))}"
            raise UnknownOption(f"a tool has no option {name!r}{advice}")


def named_options(options: type[Mapping[str, Any]]) -> Callable[[F], F]:
    """Show the members of ``options``, the TypedDict of ``**options``, in the signature of the decorated function."""

    def decorate(func: F) -> F:
        signature = inspect.signature(func)
        *named, _ = signature.parameters.values()
        for name, hint in options.__annotations__.items():
            shown = getattr(hint, "__forward_arg__", hint)
            named.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=UNSET, annotation=shown))
        func.__signature__ = signature.replace(parameters=named)  # type: ignore[attr-defined]
        return func

    return decorate


class _Unset:
    """The default of an option that keeps another value where it is left out."""

    def __repr__(self) -> str:
        return "…"


UNSET: Any = _Unset()
"""Default of an option that keeps another value, such as that of the environment, where it is left out."""
