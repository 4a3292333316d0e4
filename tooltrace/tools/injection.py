"""Parameters that the model neither sees nor provides: the registry fills them in."""

from __future__ import annotations

import enum
import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from tooltrace.errors import ConfigError
from tooltrace.recording import injected_parameters
from tooltrace.tools.schema import REQUIRED, ParameterField

ALWAYS = frozenset({"run_context", "session_state"})
"""Parameter names that are always injected."""

UNLESS_SIMPLE = frozenset({"agent", "audios", "cls", "ctx", "files", "images", "self", "team", "videos"})
"""Parameter names that frameworks or the language fill in, except for plain types: ``team: str`` is a team's name, and
``files: list[str]`` are paths."""

CONTEXTS = frozenset[str]().union(*injected_parameters.CONTEXTS.values())
"""Names of the classes with which frameworks pass a run to a tool.

Only the name counts here, not the module of the class: no framework is there to fill in the parameter.
"""

Provided = Mapping[str | type, Any]
"""Map from a parameter's name or class to its value, or to a function that makes the value for each call."""


@dataclass(frozen=True, slots=True)
class Injected:
    """A parameter that the registry fills in."""

    parameter: ParameterField
    key: str | type | None
    """Key of the value in the registry; None if the registry has no value."""


class MissingInjection(LookupError):
    """The registry has no value for an injected parameter without a default."""


def split(
    parameters: Iterable[ParameterField], provided: Provided, hidden: Iterable[str] = ()
) -> tuple[list[ParameterField], list[Injected]]:
    """Split the parameters into those that the model provides and those that are injected."""
    from_model: list[ParameterField] = []
    filled: list[Injected] = []
    hidden = set(hidden)
    for parameter in parameters:
        key = _key(parameter, provided)
        if key is not None or parameter.name in hidden or _by_convention(parameter):
            filled.append(Injected(parameter, key))
        else:
            from_model.append(parameter)
    return from_model, filled


def values(filled: Iterable[Injected], provided: Provided) -> dict[str, Any]:
    """Return the injected arguments. Raises MissingInjection, and the exceptions of factories."""
    found: dict[str, Any] = {}
    for each in filled:
        name = each.parameter.name
        if each.key is not None:
            found[name] = _create(provided[each.key])
        elif each.parameter.declares_field and not each.parameter.default.is_required():
            found[name] = each.parameter.default.get_default(call_default_factory=True)
        elif each.parameter.default is REQUIRED or each.parameter.declares_field:
            raise MissingInjection(_missing(each.parameter))
    return found


def check(provided: Provided) -> dict[str | type, Any]:
    """Return a copy of the user's ``inject=``. Raises ConfigError for a key that is neither a name nor a class."""
    for key in provided:
        if not isinstance(key, str | type):
            raise ConfigError(f"the keys of inject must be parameter names or classes, got {key!r}")
    return dict(provided)


def _missing(parameter: ParameterField) -> str:
    written = parameter.unresolved or getattr(parameter.annotation, "__name__", None)
    kind = f" ({written})" if written and parameter.annotation is not Any else ""
    return f"parameter {parameter.name!r}{kind} must be injected, and the registry has no value for it: pass inject="


def _create(value: Any) -> Any:
    """Return the value for one call.

    Functions are called; any other value, also a callable object, is used as it is.
    """
    factory: Callable[[], Any] = value
    return factory() if inspect.isroutine(value) or isinstance(value, functools.partial) else value


def _key(parameter: ParameterField, provided: Provided) -> str | type | None:
    if parameter.name in provided:
        return parameter.name
    for kind in _kinds(parameter.annotation):
        if isinstance(kind, type) and kind in provided:
            return kind
    return None


def _by_convention(parameter: ParameterField) -> bool:
    if parameter.name in ALWAYS or _is_context(parameter):
        return True
    if injected_parameters.is_injected(parameter.annotation):
        return True
    return parameter.name in UNLESS_SIMPLE and not _is_simple(parameter.annotation)


def _is_context(parameter: ParameterField) -> bool:
    if parameter.unresolved is not None:
        names = re.findall(r"\w+", parameter.unresolved.partition("[")[0])
        return bool(names) and names[-1] in CONTEXTS
    return any(getattr(kind, "__name__", None) in CONTEXTS for kind in _kinds(parameter.annotation))


def _is_simple(annotation: Any) -> bool:
    """Whether every value that the annotation allows is a text, a number, a choice, or a list of these."""
    found = list(_kinds(annotation))
    return bool(found) and all(
        kind is Literal
        or kind is type(None)
        or (isinstance(kind, type) and issubclass(kind, str | int | float | enum.Enum))
        or (kind in (list, tuple, set) and all(map(_is_simple, get_args(_bare(annotation)))))
        for kind in found
    )


def _kinds(annotation: Any) -> Iterable[Any]:
    """Return the classes that an annotation names, without Annotated, Optional and type arguments."""
    annotation = _bare(annotation)
    if get_origin(annotation) in (Union, types.UnionType):
        return [kind for part in get_args(annotation) for kind in _kinds(part)]
    return [get_origin(annotation) or annotation]


def _bare(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated or isinstance(annotation, typing.NewType):
        annotation = annotation.__supertype__ if isinstance(annotation, typing.NewType) else get_args(annotation)[0]
    return annotation
