"""Rule for GraphQL responses with errors, with or without data (section 7.1 of GraphQL's specification)."""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.response_builders import MemberReader, build_error, build_partial
from tooltrace.normalize.rule import Matches, ResultView, builtin

_MEMBERS = frozenset({"data", "errors", "extensions"})
_ERROR = frozenset({"message", "locations", "path", "extensions"})


@builtin("graphql", "certain", Matches(members=("errors",)))
def RULE(view: ResultView) -> ToolResponse | None:
    """Read errors that have messages.

    An error if the data beside them is null or absent; partial if some data is present.
    """
    data = view.data
    if not isinstance(data, dict) or not _are_errors(data):
        return None
    beside = [value for name, value in data.items() if name not in _MEMBERS]
    coded = all(isinstance(error.get("extensions"), dict) and "code" in error["extensions"] for error in data["errors"])
    # GitHub and others add members of their own; they are allowed beside errors that have a code.
    if beside and not (coded and not any(isinstance(value, dict | list) for value in beside)):
        return None
    first = data["errors"][0]
    extensions = first.get("extensions")
    extension = MemberReader(extensions if isinstance(extensions, dict) else {})
    reading = {
        "message": first["message"],
        "code": extension.pop("code", only=str),
        "type": extension.pop("classification"),
    }
    context = {"errors": data["errors"], **{name: data[name] for name in ("extensions",) if data.get(name)}}
    if _is_empty(data.get("data")):
        return build_error(**reading, data=data.get("data"), context=context)
    return build_partial(reading, "", data["data"], context=context)


def _are_errors(data: dict[str, Any]) -> bool:
    """Whether ``data`` holds a list of GraphQL errors.

    A linter's findings have messages too, but neither data beside them nor a path into it.
    """
    errors = data.get("errors")
    if not isinstance(errors, list) or not errors:
        return False
    if not all(isinstance(error, dict) and isinstance(error.get("message"), str) for error in errors):
        return False
    names = set().union(*errors)
    return "data" in data or (names <= _ERROR and bool({"locations", "extensions"} & names))


def _is_empty(data: Any) -> bool:
    """Whether nothing was resolved: the data is null, or an object of nulls."""
    return data is None or (isinstance(data, dict) and all(value is None for value in data.values()))
