"""Adapter for objects that carry a function and its options, as Agno's ``Function`` does."""

from __future__ import annotations

import inspect
import logging
from typing import Any

from tooltrace.tools.options import ToolOptions, settle

_HOOKS = ("tool_hooks", "pre_hook", "post_hook")
"""Attributes with Agno's hooks, which accept Agno's own call."""

logger = logging.getLogger("tooltrace")


def is_agno_function(found: Any) -> bool:
    """Whether ``found`` is an object with a name and an ``entrypoint`` to call."""
    return (
        not isinstance(found, type)
        and callable(getattr(found, "entrypoint", None))
        and isinstance(getattr(found, "name", None), str)
    )


def agno_functions(found: Any) -> list[Any]:
    """Return the Agno functions of a toolkit, which has bound them to itself; coroutine functions are included."""
    by_name: dict[Any, Any] = {}
    for attribute in ("async_functions", "functions"):
        functions = getattr(found, attribute, None)
        if isinstance(functions, dict) and all(map(is_agno_function, functions.values())):
            by_name |= functions
    return list(by_name.values())


def approval_of(function: Any) -> ToolOptions:
    """Return the options of a function that Agno's ``approval`` decorates but its ``tool`` does not."""
    kind = getattr(function, "_agno_approval_type", None)
    return ToolOptions(approval_type=kind if isinstance(kind, str) else None)  # type: ignore[arg-type]


def options_of(found: Any) -> ToolOptions:
    """Return the options that the object declares for its function.

    Its gates for a person and its cache apply here as well; its hooks do not, which is logged.
    """
    if hooks := [name for name in _HOOKS if getattr(found, name, None)]:
        logger.warning("the registry does not run %s of the tool %r: use add_hook", " and ".join(hooks), found.name)
    seconds = getattr(found, "cache_ttl", None)
    names = getattr(found, "user_input_fields", None)
    description = getattr(found, "description", None)
    documented = inspect.getdoc(found.entrypoint) or ""
    asks = bool(getattr(found, "requires_user_input", None))
    return settle(
        ToolOptions(),
        {
            "name": found.name,
            "description": description
            if isinstance(description, str) and description.strip() not in documented
            else None,
            "requires_confirmation": bool(getattr(found, "requires_confirmation", None)),
            "requires_user_input": asks,
            "user_input_fields": tuple(names) if asks and names else (),
            "external_execution": bool(getattr(found, "external_execution", None)),
            "approval_type": getattr(found, "approval_type", None),
            "cache": bool(getattr(found, "cache_results", None)) and (seconds or True),
            "stop_after_tool_call": bool(getattr(found, "stop_after_tool_call", None)),
        },
    )
