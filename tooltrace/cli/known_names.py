"""The check that the tools and versions of a command line exist, with the nearest names where they do not."""

from __future__ import annotations

from collections.abc import Iterable

from tooltrace.analysis.sides import Comparison
from tooltrace.cli.errors import UsageError
from tooltrace.cli.sanitize import clean
from tooltrace.core.visible import shortened, visible_name
from tooltrace.errors import near
from tooltrace.store.base import Store, open_store
from tooltrace.store.result import Statement

_LISTED = 8
"""Maximum number of names that a message lists where none of them is similar."""
_MOST_VALUES = 10_000
"""Number of values of a dimension from which on they are not compared with those of a command line."""
_RECORDED = Statement(name="known_names", sql="SELECT DISTINCT tool, tool_version FROM attempts")


def require_known(store: Store, *, tools: Iterable[str | None] = (), versions: Iterable[str | None] = ()) -> None:
    """Raise UsageError where no attempt of one of ``tools``, or with one of ``versions``, was ever recorded.

    With one tool, its own versions are meant. Asks nothing without a name; None stands for a name that was not given.
    Raises StoreError where the store cannot be read.
    """
    tools, versions = (list(filter(None, names)) for names in (tools, versions))
    if not tools and not versions:
        return
    found = open_store(store)
    rows = found.query(_RECORDED).rows
    recorded = {tool for tool, _ in rows}
    for tool in tools:
        _require("tool", "", tool, recorded, str(found))
    of_tool = {version for tool, version in rows if version and (len(tools) != 1 or tool == tools[0])}
    owner = f" of {tools[0]}" if len(tools) == 1 else ""
    for version in versions:
        _require("version", owner, version, of_tool, str(found))


def require_sides(store: Store, comparison: Comparison) -> None:
    """Raise UsageError where no attempt has the value of a side. Raises StoreError where the store cannot be read."""
    dimension = comparison.dimension
    if dimension is None:
        return
    if comparison.after.dimension == "version":
        versions = [side.value for side in (comparison.before, comparison.after)]
        require_known(store, tools=[comparison.tool], versions=versions)
        return
    found = open_store(store)
    sql = f"SELECT DISTINCT CAST({dimension.expression} AS VARCHAR) FROM attempts LIMIT {_MOST_VALUES}"
    known = {value for (value,) in found.query(Statement(sql=sql)).rows if value is not None}
    if len(known) < _MOST_VALUES:
        for side in (comparison.before, comparison.after):
            _require(str(side.dimension), "", str(side.value), known, str(found))


def _require(kind: str, owner: str, name: str, recorded: set[str], store: str) -> None:
    if name in recorded:
        return
    hint = near(name, recorded)
    if not hint:
        names = [shortened(visible_name(each)) for each in sorted(recorded)]
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        hint = f"; recorded are {', '.join(names[:_LISTED])}{more}" if names else "; none has been recorded"
    raise UsageError(clean(f"no {kind} {name!r}{owner} in {store}{hint}"))
