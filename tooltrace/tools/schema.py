"""Parameters of a tool: annotations, docstrings, the pydantic model and its JSON schema."""

from __future__ import annotations

import collections.abc
import copy
import functools
import inspect
import json
import operator
import sys
import types
import typing
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, Required, Union, get_args, get_origin

import typing_extensions
from pydantic import ConfigDict, Field, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from tooltrace.recording.tool_spec import describe

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo


def usable(annotation: Any) -> Any:
    """Return ``annotation`` in a form that pydantic accepts, including its type arguments."""
    # pydantic refuses typing.TypedDict before Python 3.12, and accepts that of typing_extensions.
    if sys.version_info < (3, 12) and typing.is_typeddict(annotation):
        return _extended(annotation)
    args, origin = get_args(annotation), get_origin(annotation)
    if any(each is kind for each in (annotation, origin) for kind in _ITERABLES):
        return list[usable(args[0])] if args else list  # type: ignore[misc]
    if not args or origin in (typing.Literal, collections.abc.Callable):
        return annotation
    if origin is Annotated:
        return Annotated[(usable(args[0]), *args[1:])]
    new = tuple(map(usable, args))
    if new == args:
        return annotation
    if origin in (Union, types.UnionType):
        return functools.reduce(operator.or_, new)
    return annotation.copy_with(new) if hasattr(annotation, "copy_with") else origin[new]


_ITERABLES = (collections.abc.Iterable, typing.Iterable)


@functools.cache
def _extended(kind: Any) -> Any:
    make: Any = typing_extensions.TypedDict
    if type(kind).__module__ != "typing":
        return kind
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = {name: _field(kind, name, hint) for name, hint in hints.items()}
    extended = make(kind.__name__, fields)
    extended.__doc__ = kind.__doc__
    return extended


def _field(kind: Any, name: str, hint: Any) -> Any:
    if get_origin(hint) in (Required, NotRequired):
        return get_origin(hint)[usable(get_args(hint)[0])]
    return (Required if name in kind.__required_keys__ else NotRequired)[usable(hint)]


_TYPES: dict[str, Any] = {
    "str": str, "string": str, "int": int, "integer": int, "float": float, "number": float, "bool": bool,
    "boolean": bool, "list": list, "array": list, "dict": dict, "object": dict,
}  # fmt: skip
"""Map from type names in docstrings and other descriptions to types."""


@dataclass(frozen=True, slots=True)
class ParsedDocstring:
    """The description and parameters in a function's docstring."""

    text: str | None = None
    """Text before the sections, for the model."""
    parameters: dict[str, str] = field(default_factory=dict)
    """Map from a parameter to its description."""
    types: dict[str, Any] = field(default_factory=dict)
    """Map from a parameter to its type, if the docstring names a simple one."""


def read_docstring(function: Any) -> ParsedDocstring:
    """Return the parsed docstring of ``function``. A docstring that cannot be parsed counts as a description only."""
    text = inspect.getdoc(function)
    if not text:
        return ParsedDocstring()
    from docstring_parser import parse

    try:
        parsed = parse(text)
    except Exception:  # a docstring may have any content
        return ParsedDocstring(describe(function))
    paragraphs = [part for part in (parsed.short_description, parsed.long_description) if part]
    known = {param.arg_name.lstrip("*"): param for param in parsed.params}
    return ParsedDocstring(
        "\n\n".join(paragraphs) or None,
        {name: " ".join(p.description.split()) for name, p in known.items() if p.description},
        {name: kind for name, p in known.items() if (kind := type_named(p.type_name)) is not None},
    )


def type_named(name: str | None) -> Any:
    """Return the type with the name ``name``; None if it is not a simple type."""
    return _TYPES.get(name.strip().lower()) if isinstance(name, str) else None


REQUIRED: Any = inspect.Parameter.empty
"""Default of a parameter without a default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterField:
    """One parameter of a tool."""

    name: str
    annotation: Any = Any
    unresolved: str | None = None
    """Text of the annotation, if a name in it cannot be resolved."""
    default: Any = REQUIRED
    description: str | None = None
    positional_only: bool = False

    @property
    def declares_field(self) -> bool:
        """Whether the default is pydantic's ``Field(…)``, which the function must not be called with."""
        return hasattr(self.default, "is_required") and hasattr(self.default, "get_default")


class Parameters:
    """A set of parameters, with their schema and their validation."""

    def __init__(
        self,
        fields: Iterable[ParameterField],
        *,
        extra: bool = False,
        refused: frozenset[str] = frozenset(),
        title: str = "tool",
    ) -> None:
        """``extra``: whether further parameters are allowed, with any value, except for the names in ``refused``."""
        self.fields = tuple(fields)
        self.extra = extra
        self.refused = refused
        self._title = title
        self._known = frozenset(field.name for field in self.fields)
        self._model = _model(self.fields, title)
        self._schema = {**_json_schema(self._model), "additionalProperties": extra}

    @property
    def names(self) -> list[str]:
        """The names, in the order of the signature."""
        return [field.name for field in self.fields]

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema (2020-12) of the arguments object, as a copy."""
        return copy.deepcopy(self._schema)

    def without(self, names: Iterable[str]) -> Parameters:
        """Return the parameters without ``names``."""
        removed = set(names)
        if not removed:
            return self
        remaining = [field for field in self.fields if field.name not in removed]
        return Parameters(remaining, extra=self.extra, refused=self.refused | removed, title=self._title)

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments to call with, converted to the annotated types, in the order of the signature.

        Parameters that were left out stay out, so that the function's own default applies. Raises pydantic's
        ValidationError, and any exception of the tool's own validators.
        """
        extras = {} if not self.extra else {key: value for key, value in values.items() if key not in self._known}
        valid = self._validated({key: value for key, value in values.items() if key not in extras})
        set_fields = valid.model_fields_set
        values = {
            field.name: getattr(valid, f"p{number}")
            for number, field in enumerate(self.fields)
            # A default of Field(…) is known to pydantic alone: the function itself has no usable default.
            if f"p{number}" in set_fields or field.declares_field
        }
        return values | extras

    def _validated(self, values: dict[str, Any]) -> BaseModel:
        """Validate by JSON's rules if the arguments are JSON: strict models accept a date as a string only there."""
        try:
            text = json.dumps(values)
        except (TypeError, ValueError, RecursionError):  # not JSON: the caller passed objects
            return self._model.model_validate(values)
        try:
            return self._model.model_validate_json(text)
        except ValidationError as error:
            if error.errors(include_url=False, include_input=False, include_context=False)[0]["type"] != "json_invalid":
                raise
        return self._model.model_validate(values)  # lone surrogates, or numbers beyond the parser's range


def _model(fields: tuple[ParameterField, ...], title: str) -> type[BaseModel]:
    """Return the pydantic model of ``fields``.

    Its fields are numbered, because a model cannot have fields like ``schema``, ``copy`` or ``_x``.
    """
    config = ConfigDict(extra="forbid", title=title)
    definitions: dict[str, Any] = {f"p{number}": _definition(field) for number, field in enumerate(fields)}
    return create_model("Arguments", __config__=config, **definitions)


def _definition(parameter: ParameterField) -> tuple[Any, FieldInfo]:
    name, annotation = parameter.name, usable(parameter.annotation)
    options: dict[str, Any] = {"alias": name, "validation_alias": name, "serialization_alias": name}
    if parameter.description is not None:
        options["description"] = parameter.description
    if parameter.declares_field:
        return Annotated[annotation, parameter.default], Field(**options)
    if parameter.default is not REQUIRED:
        options["default"] = parameter.default
    return annotation, Field(**options)


def _json_schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(schema_generator=_generator())
    schema.pop("title", None)
    schema.pop("description", None)
    return {"type": "object", "properties": {}, **schema}


@cache
def _generator() -> type[GenerateJsonSchema]:
    class Quiet(GenerateJsonSchema):
        """Schema generator without titles, which repeat the name, and without warnings for defaults that JSON lacks."""

        ignored_warning_kinds = {"non-serializable-default", "skipped-choice"}  # noqa: RUF012 - the base's own form

        def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
            return False

    return Quiet
