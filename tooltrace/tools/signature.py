"""Read a function's signature and docstring as parameters."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Optional, get_args, get_origin

from tooltrace.errors import ConfigError
from tooltrace.recording.tool_spec import signature_of
from tooltrace.tools import schema
from tooltrace.tools.schema import REQUIRED, ParameterField

_EMPTY = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters and the description of a function."""

    parameters: tuple[ParameterField, ...]
    extra: bool
    """Whether the function accepts ``**kwargs``."""
    description: str | None


def read(function: Callable[..., Any]) -> Signature:
    """Return the signature of ``function``, without ``*args``. Raises ConfigError if it has none."""
    found = list(_signature(function).parameters.values())
    code = code_of(function)
    docstring = schema.read_docstring(code)
    hints = _hints(code, found)
    named = [p for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return Signature(
        tuple(_parameter(p, hints.get(p.name, p.annotation), docstring) for p in named),
        any(p.kind is p.VAR_KEYWORD for p in found),
        docstring.text,
    )


def code_of(function: Any) -> Any:
    """Return the function that holds the code: behind partials, and behind a callable object's ``__call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return signature_of(function)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"{function!r} has no signature to read; wrap it in a function with named parameters"
        ) from error


def _hints(code: Any, parameters: list[inspect.Parameter]) -> dict[str, Any]:
    """Return the resolved annotations; an annotation that cannot be resolved stays as written."""
    try:
        return typing.get_type_hints(code, include_extras=True)
    except Exception:  # an annotation may run any code
        return {p.name: _hint(code, p.annotation) for p in parameters if p.annotation is not _EMPTY}


def _hint(code: Any, annotation: Any) -> Any:
    alone = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        names = getattr(inspect.unwrap(code), "__globals__", {})
        return typing.get_type_hints(alone, globalns=names, include_extras=True)["it"]
    except Exception:
        return annotation


def _parameter(parameter: inspect.Parameter, annotation: Any, docstring: schema.ParsedDocstring) -> ParameterField:
    unresolved = _written(annotation)
    if annotation is _EMPTY:
        annotation = docstring.types.get(parameter.name, Any)
    elif unresolved is not None:
        annotation = Any
    if parameter.default is None:
        annotation = _optional(annotation)
    return ParameterField(
        name=parameter.name,
        annotation=annotation,
        unresolved=unresolved,
        default=REQUIRED if parameter.default is _EMPTY else parameter.default,
        description=_description_of(annotation, parameter.default) or docstring.parameters.get(parameter.name),
        positional_only=parameter.kind is parameter.POSITIONAL_ONLY,
    )


def _written(annotation: Any) -> str | None:
    """Return the text of an annotation that cannot be resolved, as a whole or in a part; None if all is resolved."""
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, typing.ForwardRef):
        return annotation.__forward_arg__
    if get_origin(annotation) is typing.Literal:
        return None
    inner = get_args(annotation)[:1] if get_origin(annotation) is Annotated else get_args(annotation)
    return next((text for part in inner if (text := _written(part)) is not None), None)


def _optional(annotation: Any) -> Any:
    """Return ``annotation`` with None allowed, for parameters such as ``x: int = None``."""
    if get_origin(annotation) is Annotated:
        base, *more = get_args(annotation)
        return Annotated[(Optional[base], *more)]  # noqa: UP045 - `|` is not in every annotation's power
    return Optional[annotation]  # noqa: UP045


def _description_of(annotation: Any, default: Any) -> str | None:
    """Return the description in ``Field(description=…)``, in ``Annotated[int, "words"]`` or in PEP 727's ``Doc``."""
    for part in (default, *reversed(getattr(annotation, "__metadata__", ()))):
        text = part if isinstance(part, str) and part is not default else None
        text = text or getattr(part, "description", None) or getattr(part, "documentation", None)
        if isinstance(text, str) and text:
            return text
    return None
