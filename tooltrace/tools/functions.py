"""Register a function, method, partial or callable object as a tool, by its signature and docstring."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FunctionType, MethodType
from typing import Annotated, Any, Optional, get_args, get_origin

from pydantic import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

from tooltrace.errors import ConfigError
from tooltrace.recording import decorator, generators
from tooltrace.recording.tool_spec import ToolSpec, describe, named_spec, signature_of
from tooltrace.tools import injection, schema
from tooltrace.tools.options import ToolOptions
from tooltrace.tools.registered_tool import Invoke, RegisteredTool
from tooltrace.tools.schema import REQUIRED, ParameterField, Parameters

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


_TRACERS = (vars(decorator), vars(generators))
"""Globals of the wrappers that ``trace_tool`` puts around functions."""


def from_function(tool: Callable[..., Any], options: ToolOptions, provided: injection.Provided) -> RegisteredTool:
    """Return ``tool`` as a registered tool, with its schema.

    A function that ``trace_tool`` already wraps is called without the wrapper but with the wrapper's spec, because the
    registry records the call. Raises ConfigError for a function that cannot be offered to a model.
    """
    function, traced = untraced(tool)
    found = read(function)
    spec, description = _spec(function, traced, options, found.description)
    from_model, injected = injection.split(found.parameters, provided, {*options.hidden, *spec.injected})
    hidden = frozenset(each.parameter.name for each in injected) | frozenset(options.hidden)
    parameters, more = _offered(spec.name, from_model, found.extra, hidden)
    code = code_of(function)
    claims = spec.confidence is not None or spec.sources is not None
    return RegisteredTool(
        spec=replace(spec, confidence=None, sources=None) if claims else spec,
        claims=spec if claims else None,
        options=options,
        description=description,
        parameters=parameters,
        from_model=for_model(parameters, options, spec.name),
        injected=(*injected, *more),
        invoke=_invoke(function, found.parameters),
        asynchronous=inspect.iscoroutinefunction(code) or inspect.isasyncgenfunction(code),
    )


def untraced(tool: Any) -> tuple[Any, ToolSpec | None]:
    """Return the callable behind ``trace_tool``, bound and partial as ``tool`` is, and the spec of the wrapper."""
    if isinstance(tool, functools.partial):
        inner, spec = untraced(tool.func)
        return (tool, None) if spec is None else (functools.partial(inner, *tool.args, **tool.keywords), spec)
    if isinstance(tool, MethodType):
        inner, spec = untraced(tool.__func__)
        return (tool, None) if spec is None else (MethodType(inner, tool.__self__), spec)
    if isinstance(tool, FunctionType) and any(tool.__globals__ is names for names in _TRACERS):
        spec = getattr(tool, "__tooltrace__", None)
        if isinstance(spec, ToolSpec):
            return untraced(tool.__wrapped__)[0], spec  # type: ignore[attr-defined]
    return tool, None


def for_model(parameters: Parameters, options: ToolOptions, name: str) -> Parameters:
    """Return the parameters without those that a person provides."""
    if not options.requires_user_input:
        return parameters
    by_person = options.user_input_fields or parameters.names
    unknown = sorted(set(by_person) - set(parameters.names))
    if unknown:
        raise ConfigError(
            f"user_input_fields must name parameters of the tool {name!r}: {', '.join(unknown)} is not one"
        )
    return parameters.without(by_person)


def spec_with(spec: ToolSpec, options: ToolOptions) -> ToolSpec:
    """Return ``spec`` with the options set at registration."""
    overrides = {key: getattr(options, key) for key in ("name", "version", "description", "capture", "redact")}
    overrides = {key: value for key, value in overrides.items() if value is not None}
    if options.retryable:
        overrides["retryable"] = options.retryable
    if not overrides:
        return spec
    name = overrides.pop("name", spec.name)
    checked = named_spec(name, **overrides)
    return replace(spec, name=checked.name, **{key: getattr(checked, key) for key in overrides})


def _spec(
    function: Any, traced: ToolSpec | None, options: ToolOptions, docstring: str | None
) -> tuple[ToolSpec, str | None]:
    """Return the spec and the description for the model.

    The description comes from registration, else from ``trace_tool``, else from the docstring.
    """
    first = describe(code_of(function))
    base = traced or ToolSpec(name=options.name or _name_of(function), description=first)
    tracer_description = traced.description if traced is not None and traced.description != first else None
    return spec_with(base, options), options.description or tracer_description or docstring


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None) or type(function).__name__
    if name == "<lambda>":
        raise ConfigError("a lambda has no name for a model to call: register it with name=…")
    return str(name)


def _offered(
    name: str, from_model: list[ParameterField], extra: bool, refused: frozenset[str]
) -> tuple[Parameters, list[injection.Injected]]:
    """Return the parameters that JSON can represent; the others can only be injected."""
    try:
        return Parameters(from_model, extra=extra, refused=refused, title=name), []
    except Exception:  # one of the parameters failed: test them one by one
        describable = [parameter for parameter in from_model if _describable(name, parameter)]
    undescribable = [injection.Injected(parameter, None) for parameter in from_model if parameter not in describable]
    refused |= {each.parameter.name for each in undescribable}
    return Parameters(describable, extra=extra, refused=refused, title=name), undescribable


def _describable(name: str, parameter: ParameterField) -> bool:
    try:
        Parameters([parameter])
    except (PydanticInvalidForJsonSchema, PydanticSchemaGenerationError):
        return False
    except Exception as error:
        raise ConfigError(f"parameter {parameter.name!r} of the tool {name!r} cannot be described: {error}") from error
    return True


def _invoke(function: Callable[..., Any], parameters: tuple[ParameterField, ...]) -> Invoke:
    leading = [parameter for parameter in parameters if parameter.positional_only]
    if not leading:
        return lambda values: function(**values)

    def invoke(values: dict[str, Any]) -> Any:
        rest = dict(values)
        last = max((n for n, p in enumerate(leading) if p.name in rest), default=-1)
        args = [rest.pop(p.name, p.default) for p in leading[: last + 1]]
        return function(*args, **rest)

    return invoke
