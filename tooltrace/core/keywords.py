"""Keyword arguments of public functions: suggestions for misspelled names, and signatures to read.

A decorated function keeps its type for type checkers and its signature for ``help``. Only the names of the arguments are
checked at a call, not the values.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, Unpack, cast, get_args, get_origin, get_type_hints

from tooltrace.errors import UnknownOption, near

F = TypeVar("F", bound=Callable[..., Any])


def checked_keywords(*, hint: str = "") -> Callable[[F], F]:
    """Let a function raise UnknownOption, with a suggestion, for a keyword argument that it does not have.

    ``hint``: a sentence at the end of the message, in which ``{name}`` is the unknown name.
    """

    def decorate(func: F) -> F:
        signature = _readable_signature(func)
        known = {p.name for p in signature.parameters.values() if p.kind in _BY_NAME} - {"self"}
        title = func.__qualname__.removesuffix(".__init__")

        def checked(kwargs: dict[str, Any]) -> dict[str, Any]:
            _require_known(title, kwargs, known, hint)
            return kwargs

        def call(*args: Any, **kwargs: Any) -> Any:
            # a call with known names pays for one comparison
            return func(*args, **(kwargs if kwargs.keys() <= known else checked(kwargs)))

        async def acall(*args: Any, **kwargs: Any) -> Any:
            return await func(*args, **(kwargs if kwargs.keys() <= known else checked(kwargs)))

        checking = functools.wraps(func)(acall if inspect.iscoroutinefunction(func) else call)
        checking.__signature__ = signature  # type: ignore[attr-defined]
        return cast("F", checking)

    return decorate


def named_options(func: F) -> F:
    """Show the members of ``**options: Unpack[…]`` as parameters of their own in the signature of ``func``."""
    func.__signature__ = _readable_signature(func)  # type: ignore[attr-defined]
    return func


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _require_known(title: str, kwargs: Mapping[str, Any], known: set[str], hint: str) -> None:
    for name in kwargs:
        if name not in known:
            advice = near(name, known) or f"; its options are {', '.join(sorted(known))}."
            raise UnknownOption(f"{title}() has no option {name!r}{advice} {hint.format(name=name)}".rstrip(". "))


def _readable_signature(func: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of ``func`` with the members of ``**options: Unpack[…]`` as parameters of their own."""
    signature = inspect.signature(func)
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        parameters += (
            list(_members(func, parameter)) if parameter.kind is inspect.Parameter.VAR_KEYWORD else [parameter]
        )
    return signature.replace(parameters=parameters)


def _members(func: Callable[..., Any], parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """Yield a keyword parameter for each key of the TypedDict that ``parameter`` unpacks."""
    namespace = vars(sys.modules[func.__module__])
    hint = parameter.annotation
    if isinstance(hint, str):
        hint = eval(hint, namespace)  # noqa: S307 - an annotation of our own module
    if get_origin(hint) is not Unpack:
        raise TypeError(f"{func.__qualname__} must declare the options of **{parameter.name} by Unpack[…]")
    options = get_args(hint)[0]
    for name in get_type_hints(options):
        annotation = options.__annotations__[name]
        annotation = getattr(annotation, "__forward_arg__", annotation)
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=UNSET, annotation=annotation)


class _Unset:
    """The default of an option that keeps another value where it is left out."""

    def __repr__(self) -> str:
        return "…"


UNSET: Any = _Unset()
"""Default of an option that keeps another value, such as that of the environment, where it is left out."""
