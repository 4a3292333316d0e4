"""Parse the arguments that a model sent, and describe their errors in words that the model can act on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse
from tooltrace.errors import near
from tooltrace.tools.builtin_responses import quoted, registry_error, truncate_name
from tooltrace.tools.schema import REQUIRED, Parameters

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

MayQuote = Callable[[str], bool]

_MAX_QUOTE_LENGTH = 40
"""Maximum characters of a value that an answer quotes."""
_MAX_FAULTS = 10
_JSON_WORDS = (
    (type(None), "null"), (bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (Mapping, "object"),
    (list | tuple, "array"),
)  # fmt: skip


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON: use null or a number")


# Python's decoder accepts NaN and Infinity, which are not JSON.
_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def parse(sent: Any) -> tuple[dict[str, Any], ToolResponse | None]:
    """Return the arguments in a model's JSON text or in a mapping; no arguments are ``{}``.

    If they are invalid, return the values to record and the response that describes the error.
    """
    if isinstance(sent, bytes | bytearray):
        sent = sent.decode(errors="replace")
    if sent is None or (isinstance(sent, str) and not sent.strip()):
        return {}, None
    if isinstance(sent, Mapping):
        return _members(sent)
    if not isinstance(sent, str):
        return {"value": sent}, _format(f"got {kind_of(sent)}")
    try:
        found = _DECODER.decode(sent)
    except json.JSONDecodeError as error:
        return {"value": sent}, _format(f"it breaks at line {error.lineno} column {error.colno}: {error.msg}")
    except RecursionError:
        return {"value": sent}, _format("it is nested too deeply")
    except ValueError as error:  # NaN, or an integer of thousands of digits
        return {"value": sent}, _format(str(error))
    if not isinstance(found, dict):
        return {"value": found}, _format(f"got {kind_of(found)}")
    return found, None


def _members(sent: Mapping[Any, Any]) -> tuple[dict[str, Any], ToolResponse | None]:
    try:
        return {str(key): value for key, value in sent.items()}, None
    except Exception:  # the caller's own mapping may raise anything
        return {"value": sent}, _format(f"the {type(sent).__name__} that was passed cannot be read")


def faults(error: ValidationError, sent: dict[str, Any], parameters: Parameters, may_quote: MayQuote) -> list[str]:
    """Return one message per wrong parameter, with the expected and the received type, from pydantic's ``error``.

    ``may_quote`` returns whether a message may quote the parameter's value, if the value is short.
    """
    found = error.errors(include_url=False)
    return list(dict.fromkeys(_fault(fault, sent, parameters, may_quote) for fault in found))


def unknown(name: str, parameters: Parameters) -> str:
    """Return the message for a parameter that the tool does not have."""
    return f"unknown parameter {truncate_name(name)!r}{near(name, parameters.names)}"


def refused(found: list[str], parameters: Parameters) -> ToolResponse:
    """Return an INVALID_PARAM response with the messages ``found``."""
    shown = found[:_MAX_FAULTS]
    if len(found) > len(shown):
        shown.append(f"and {len(found) - len(shown)} more")
    return registry_error(
        ToolErrorCode.INVALID_PARAM, "; ".join(shown), suggestion=f"Call again with {_parameters_text(parameters)}."
    )


def kind_of(value: Any) -> str:
    """Return the JSON type name of ``value``; the class name if JSON has no such type."""
    return next((word for kind, word in _JSON_WORDS if isinstance(value, kind)), type(value).__name__)


def _format(what: str) -> ToolResponse:
    return registry_error(
        ToolErrorCode.INVALID_FORMAT,
        f"expected the arguments as one JSON object; {what}",
        suggestion='Call again with the arguments as a JSON object, such as {"name": "value"}, and nothing around it.',
    )


def _fault(fault: ErrorDetails, sent: dict[str, Any], parameters: Parameters, may_quote: MayQuote) -> str:
    kind, loc, message = fault["type"], fault["loc"], fault["msg"]
    if kind == "extra_forbidden" and len(loc) == 1:
        return unknown(str(loc[0]), parameters)
    path = _path(loc, sent)
    if kind == "missing":
        return f"missing parameter {path!r}" + _description_text(path, parameters)
    if kind == "extra_forbidden":
        return f"parameter {path!r}: not expected here"
    if kind == "union_tag_invalid":  # pydantic's own message quotes the tag that was sent
        message = f"Input should be one of the kinds {fault['ctx']['expected_tags']}"
    expected = message.removeprefix("Input should be ").removeprefix("Value error, ")
    described = f"expected {expected}" if message.startswith("Input should be ") else expected
    return f"parameter {path!r}: {described}, got {_value_text(fault['input'], quote=may_quote(path))}"


def _value_text(value: Any, *, quote: bool) -> str:
    kind = kind_of(value)
    if not quote or value is None or not isinstance(value, str | int | float):
        return kind
    spelled = json.dumps(value, ensure_ascii=False)
    return f"{kind} {spelled}" if len(spelled) <= _MAX_QUOTE_LENGTH else kind


def _path(loc: tuple[int | str, ...], sent: Any) -> str:
    """Return the dotted path of ``loc`` within the arguments.

    pydantic's ``loc`` also names the union members that it tried; those are left out because they are not in the data.
    """
    path: list[str] = []
    here = sent
    for number, part in enumerate(loc):
        if _contains(here, part):
            here = here[part]
        elif number and (number < len(loc) - 1 or not isinstance(here, Mapping)):
            continue
        path.append(truncate_name(str(part)))
    return ".".join(path)


def _contains(here: Any, part: int | str) -> bool:
    if isinstance(here, Mapping):
        return part in here
    return isinstance(here, list | tuple) and isinstance(part, int) and 0 <= part < len(here)


def _description_text(path: str, parameters: Parameters) -> str:
    description = next((field.description for field in parameters.fields if field.name == path), None)
    return f" ({description})" if description and len(description) <= 100 else ""


def _parameters_text(parameters: Parameters) -> str:
    """Summarize the parameters: ``query (string, required), limit (integer)``."""
    if not parameters.fields:
        return "any parameters" if parameters.extra else "no parameters: {}"
    properties = parameters.schema()["properties"]
    words = [
        f"{field.name} ({_type_words(properties.get(field.name, {}))}{', required' if field.default is REQUIRED else ''})"
        for field in parameters.fields
    ]
    return quoted(words)


def _type_words(schema: dict[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, str):
        return kind
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type_words(each) for each in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return "choice"
    return "object" if "$ref" in schema else "any"
