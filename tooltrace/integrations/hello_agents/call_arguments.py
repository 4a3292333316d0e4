"""What a function of the package was given, and what a registry has by that name."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson


class CallArguments(NamedTuple):
    """The arguments of a call, after ``self``."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def value(self, place: int, name: str) -> Any:
        """One argument, however it was passed; None where it was not."""
        return self.args[place] if len(self.args) > place else self.kwargs.get(name)


def model_arguments(given: Any, *, parsed: bool) -> Any:
    """What the model asked for, of what ``execute_tool`` was given. ``parsed``: the package itself reads a text that is
    JSON; a function gets it as it is."""
    if not parsed or not isinstance(given, str):
        return given
    return json_object(given)


def json_object(text: str) -> Any:
    """The object that ``text`` is in JSON, else the text."""
    try:
        data = orjson.loads(text)
    except ValueError:
        return text
    return data if isinstance(data, dict) else text


def tool_in(registry: Any, name: Any) -> Any:
    """The tool that ``registry`` keeps under ``name``, or None. Its methods may be overridden, and are not asked."""
    return _kept(registry, "_tools").get(name)


def function_in(registry: Any, name: Any) -> Any:
    """What ``registry`` keeps of the function ``name``, or None."""
    return _kept(registry, "_functions").get(name)


def _kept(registry: Any, name: str) -> dict[Any, Any]:
    kept = getattr(registry, name, None)
    return kept if isinstance(kept, dict) else {}
