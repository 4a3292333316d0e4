"""Values that do not fit the field of a response for which a tool gave them: mended, because no tool may fail for them.

What a tool computed is kept: a text is made of it where the field is a text, otherwise ``context`` has it under the name
of the field, as for a response that arrives as data. ``meta.flags`` has ``invalid_`` and that name. An unknown name, a
missing one and a contradiction are mistakes in the call itself, and are refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from tooltrace.core.codes import ToolErrorCode
from tooltrace.errors import ConfigError, UnknownOption, near
from tooltrace.faults import faults, pass_on_signal

_POSITIONS = ("status", "text", "data", "error_info", "stats", "context")
"""Fields that can be passed by position, as those of HelloAgents' dataclass."""


_ROUNDS = 3
"""Times that values are mended: a mended value may be checked against others, such as an error against the status."""


class Lenient(type(BaseModel)):  # type: ignore[misc]
    """The class of a model whose constructor mends values that do not fit, where a parser of data refuses them."""

    def __call__(cls, *args: Any, **values: Any) -> Any:
        if args:
            raise TypeError(f"{cls.__name__}() takes its fields by name, such as {next(iter(cls.model_fields))}=…")
        try:
            return super().__call__(**values)
        except ValidationError as error:
            fault = error
        values = with_field_names(values)
        for _ in range(_ROUNDS):
            values = mended(cls, values, fault)
            try:
                return super().__call__(**values)
            except ValidationError as error:
                fault = error
        raise fault


class ByPosition(Lenient):
    """The same, of a model that accepts arguments by position."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) > len(_POSITIONS):
            raise TypeError(f"ToolResponse() takes at most {len(_POSITIONS)} arguments by position, got {len(args)}")
        if twice := [name for name in _POSITIONS[: len(args)] if name in kwargs]:
            raise TypeError(f"ToolResponse() got {twice[0]!r} by position and by name")
        return super().__call__(**dict(zip(_POSITIONS, args, strict=False)), **kwargs)


OTHER_NAMES = {"error_info": "error", "source": "sources", "nextAction": "next_action"}
"""Names that the protocols have for arguments of the constructors, with ours."""


def with_field_names(values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a constructor under our names. A source may stand alone, and may be a text."""
    named = dict(values)
    for other, name in OTHER_NAMES.items():
        if other not in named:
            continue
        if named.get(name) is not None:
            raise ConfigError(f"{other} and {name} are the same: pass one of them")
        named[name] = named.pop(other)
    if "source" in values:
        sources = named["sources"]
        alone = isinstance(sources, str | Mapping | BaseModel) or not isinstance(sources, Iterable)
        listed = [] if sources is None else [sources] if alone else sources
        named["sources"] = [{"label": each} if isinstance(each, str) else each for each in listed]
    return named


Fault = Mapping[str, Any]
"""An error of pydantic about one value."""

_TEXT, _OWN = ("string_type", "string_unicode"), ("value_error", "assertion_error")
"""Kinds of faults: a value that is no text, and one that a validator of an application found."""
_ERROR_KEYWORDS = ("retryable", "suggestion", "user_message", "type", "message")
"""Keywords that ``ToolResponse.error`` has besides the fields."""


def mended(model: type[BaseModel], values: Mapping[str, Any], error: ValidationError) -> dict[str, Any]:
    """Return ``values`` for the constructor of ``model`` after those were mended that ``error`` reports.

    Raises UnknownOption for an unknown field, TypeError for a missing one, ConfigError for a contradiction, and ``error``
    where a validator of a subclass refused the values.
    """
    found = error.errors(include_url=False, include_context=False)
    for fault in found:
        _require_a_good_call(model, values, fault)
    by_name: dict[str, list[Fault]] = {}
    for fault in found:
        if fault["type"] in _OWN:
            raise error
        name = str(fault["loc"][0])
        if name in values:  # the code of a response may be that of its error
            by_name.setdefault(name, []).append(fault)
    fitting, unfit = dict(values), dict[str, Any]()
    for name, faulty in by_name.items():
        value = fitting.pop(name)
        if name in ("error", "failure"):
            fitting[name] = _error_of(value, faulty)
        elif all(len(fault["loc"]) == 1 and fault["type"] in _TEXT for fault in faulty):
            fitting[name] = text_of(value)
        else:
            kept, unfit[name] = _parted(value, {fault["loc"][1] for fault in faulty if len(fault["loc"]) > 1})
            if kept:
                fitting[name] = kept
            elif (field := model.model_fields.get(name)) is not None and field.is_required():  # of a subclass
                raise error
        faults.warn_once(
            f"{model.__name__}.{name}",
            f"a tool gave {model.__name__} a value that does not fit {name}: {faulty[0]['msg']}, got the type "
            f"{type(faulty[0]['input']).__name__}; it is recorded as far as it fits"
            + (f", with the flag invalid_{name}" if "meta" in model.model_fields else ""),
            counted=False,
        )
    return _flagged(fitting, unfit, by_name) if "meta" in model.model_fields else fitting


def _require_a_good_call(model: type[BaseModel], values: Mapping[str, Any], fault: Fault) -> None:
    """Raise the error of a mistake that is in the call itself."""
    title, place = model.__name__, fault["loc"]
    if not place:
        raise ConfigError(str(fault["msg"]).removeprefix("Value error, ")) from None
    if len(place) == 1 and fault["type"] == "extra_forbidden":
        known = {field.alias or name for name, field in model.model_fields.items() if not name.endswith("_advised")}
        known |= {*_ERROR_KEYWORDS} if values.get("status") == "error" else set()
        advice = near(str(place[0]), known) or f"; its fields are {', '.join(sorted(known))}"
        raise UnknownOption(f"{title} has no field {place[0]!r}{advice}") from None
    if len(place) == 1 and fault["type"] == "missing":
        raise TypeError(f"{title}() needs {place[0]}=, which was left out") from None
    if place == ("status",):
        raise ConfigError(
            f"status must be 'success', 'partial' or 'error', got {values['status']!r}: use {title}.success(), "
            f"partial() or error()"
        ) from None


def _error_of(value: Any, faulty: Sequence[Fault]) -> dict[str, Any]:
    """Return the members of an error: those of ``value`` that fit, or a text of it as the message."""
    if not isinstance(value, Mapping):
        return {"code": ToolErrorCode.EXECUTION_ERROR.value, "message": text_of(value)}
    wrong = {fault["loc"][1] for fault in faulty if len(fault["loc"]) > 1}
    texts = {fault["loc"][1] for fault in faulty if fault["type"] in _TEXT}
    members = {str(key): each for key, each in value.items() if key not in wrong}
    members |= {str(key): text_of(value[key]) for key in texts if key in value}
    return {"message": text_of(value.get("code", "")), **members}


def _parted(value: Any, wrong: set[Any]) -> tuple[Any, Any]:
    """Return the parts of a list or a dict that fit, and the ``wrong`` ones; None and ``value`` where it has no parts."""
    if wrong and isinstance(value, Mapping):
        parts = [{key: each for key, each in value.items() if (key in wrong) is bad} for bad in (False, True)]
        return parts[0], parts[1]
    if wrong and isinstance(value, list | tuple):
        listed = [[each for place, each in enumerate(value) if (place in wrong) is bad] for bad in (False, True)]
        return listed[0], listed[1]
    return None, value


def _flagged(fitting: dict[str, Any], unfit: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with a flag for each of ``names``, and with those that do not fit in ``context``."""
    meta = fitting.get("meta") or {}
    known = meta if isinstance(meta, Mapping) else meta.model_dump(exclude_unset=True)
    flags = dict.fromkeys((*known.get("flags", ()), *(f"invalid_{name}" for name in names)))
    fitting["meta"] = {**known, "flags": tuple(flags)}
    if unfit:
        context = dict(fitting.get("context") or {})
        for name, value in unfit.items():
            while name in context:
                name += "_"  # noqa: PLW2901 - the next free name
            context[name] = value
        fitting["context"] = context
    return fitting


def text_of(value: Any) -> str:
    """Return a text of any ``value``: JSON of a dict or a list, else its ``str``. Never raises."""
    try:
        if isinstance(value, bytes | bytearray):
            text = bytes(value).decode("utf-8", "replace")
        elif isinstance(value, dict | list | tuple):
            text = json.dumps(value, ensure_ascii=False, default=str)
        else:
            text = "" if value is None else str(value)
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    except BaseException as error:  # of a foreign class
        pass_on_signal(error)
        return f"<{type(value).__name__}>"
