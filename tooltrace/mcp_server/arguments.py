"""Arguments of the server's tools: their declaration, their JSON Schema and their check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from tooltrace.errors import BadParameter, near

ArgumentKind = Literal["text", "integer", "flag", "texts", "object"]

_SCHEMAS: Final[dict[ArgumentKind, dict[str, Any]]] = {
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "flag": {"type": "boolean"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "object": {"type": "object"},
}
_TYPES: Final[dict[ArgumentKind, type]] = {"text": str, "integer": int, "flag": bool, "texts": list, "object": dict}
MAX_TEXT: Final = 20_000
"""Characters of one text argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolArgument:
    """One argument of a tool of the server."""

    name: str
    kind: ArgumentKind = "text"
    meaning: str = ""
    """Description in the schema; empty where the name is enough."""
    required: bool = False
    choices: tuple[str, ...] = ()
    most: int | None = None
    """Largest accepted number."""
    default: Any = None

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value."""
        schema = dict(_SCHEMAS[self.kind])
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.most is not None:
            schema |= {"minimum": 0 if self.default in (0, None) else 1, "maximum": self.most}
        if self.meaning:
            schema["description"] = self.meaning
        return schema

    def checked(self, tool: str, value: Any) -> Any:
        """Return ``value``, or the default for None. Raises BadParameter."""
        if value is None:
            if self.required:
                raise BadParameter(f"{tool} needs the argument {self.name!r}")
            return self.default
        kind = _TYPES[self.kind]
        wrong = not isinstance(value, kind) or (isinstance(value, bool) and kind is int)
        if self.kind == "texts" and not wrong:
            wrong = not all(isinstance(each, str) for each in value)
        if wrong:
            raise BadParameter(f"argument {self.name!r} of {tool} must be {_article(self.kind)}; got {_shown(value)}")
        if self.choices and value not in self.choices:
            hint = near(value, self.choices) or f": it must be one of {', '.join(self.choices)}"
            raise BadParameter(f"argument {self.name!r} of {tool} cannot be {_shown(value)}{hint}")
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise BadParameter(f"argument {self.name!r} of {tool} has more than {MAX_TEXT} characters")
        if self.most is not None and not self.schema["minimum"] <= value <= self.most:
            raise BadParameter(
                f"argument {self.name!r} of {tool} must be from {self.schema['minimum']} to {self.most}; got {value}"
            )
        return value


def input_schema(arguments: Sequence[ToolArgument]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {argument.name: argument.schema for argument in arguments},
    }
    if required := [argument.name for argument in arguments if argument.required]:
        schema["required"] = required
    return {**schema, "additionalProperties": False}


def checked_arguments(tool: str, declared: Sequence[ToolArgument], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value for each declared argument. Raises BadParameter for an unknown name or an invalid value."""
    names = [argument.name for argument in declared]
    for name in given:
        if name not in names:
            raise BadParameter(
                f"{tool} has no argument {_shown(name)}: its arguments are {', '.join(names)}{near(name, names)}"
            )
    return {argument.name: argument.checked(tool, given.get(argument.name)) for argument in declared}


def _article(kind: ArgumentKind) -> str:
    return {
        "text": "text",
        "integer": "a whole number",
        "flag": "true or false",
        "texts": "a list of texts",
        "object": "an object",
    }[kind]


def _shown(value: Any) -> str:
    return repr(value)[:80]
