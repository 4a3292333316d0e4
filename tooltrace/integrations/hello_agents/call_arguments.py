"""Arguments of the package's functions, and lookups in a registry."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson


class CallArguments(NamedTuple):
    """The arguments of a call, after ``self``."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def value(self, place: int, name: str) -> Any:
        """Return one argument, positional or named; None if it was not passed."""
        return self.args[place] if len(self.args) > place else self.kwargs.get(name)


def model_arguments(sent: Any, *, parsed: bool) -> Any:
    """Return the model's arguments, from the argument of ``execute_tool``.

    ``parsed``: whether the package itself parses a JSON text; functions get the text as it is.
    """
    if not parsed or not isinstance(sent, str):
        return sent
    return json_object(sent)


def json_object(text: str) -> Any:
    """Return the object that ``text`` encodes in JSON, else the text."""
    try:
        data = orjson.loads(text)
    except ValueError:
        return text
    return data if isinstance(data, dict) else text


def tool_in(registry: Any, name: Any) -> Any:
    """Return the tool that ``registry`` stores under ``name``; None if there is none.

    The registry's methods are not called because they may be overridden.
    """
    return _dict_of(registry, "_tools").get(name)


def function_in(registry: Any, name: Any) -> Any:
    """Return the entry that ``registry`` stores for the function ``name``; None if there is none."""
    return _dict_of(registry, "_functions").get(name)


def _dict_of(registry: Any, name: str) -> dict[Any, Any]:
    found = getattr(registry, name, None)
    return found if isinstance(found, dict) else {}
