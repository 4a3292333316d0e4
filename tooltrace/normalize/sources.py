"""A protocol's sources and its ``meta``, in the fields of ``Source`` and ``ResponseMeta``."""

from __future__ import annotations

from typing import Any, get_args

from tooltrace.normalize.taken import Taken
from tooltrace.normalize.words import snake
from tooltrace.response import Source, SourceType

_SOURCE_TYPES = frozenset(get_args(SourceType))
_SOURCE_KEYS = {
    "type": ("type", "kind"),
    "id": ("id", "doc_id", "document_id", "file_id"),
    "label": ("label", "title", "name"),
    "url": ("url", "uri", "link", "href", "path"),
    "section": ("section", "page", "anchor", "heading"),
}


def sources_of(value: Any) -> tuple[tuple[Source, ...], Any]:
    """The sources that a list, an object or a text names; and what could not be read as one."""
    if value in (None, "", [], {}):
        return (), None
    found: list[Source] = []
    other = []
    for item in value if isinstance(value, list) else [value]:
        source, whole = _source(item)
        if source is not None:
            found.append(source)
        if not whole:
            other.append(item)
    return tuple(found), other or None


def _source(item: Any) -> tuple[Source | None, bool]:
    """The source that ``item`` names, and whether that says all of it."""
    if isinstance(item, str) and item:
        return _source_called(item), True
    if not isinstance(item, dict):
        return None, item is None
    taken = Taken(item)
    named = {key: taken.first(*names, only=(str, int)) for key, names in _SOURCE_KEYS.items()}
    said = named.pop("type")
    kind = snake(str(said or "document"))
    known = {key: str(value) for key, value in named.items() if value is not None}
    if not known and kind not in _SOURCE_TYPES:
        return None, False
    source = Source(type=kind if kind in _SOURCE_TYPES else "other", **known)  # type: ignore[arg-type]
    return source, not taken.rest() and said in (None, source.type)


def _source_called(name: str) -> Source:
    if "://" in name:
        return Source(type="api", url=name)
    kind = snake(name)
    return Source(type=kind if kind in _SOURCE_TYPES else "document", label=name)  # type: ignore[arg-type]


_META_KEYS: dict[str, tuple[str, ...]] = {
    "tool_name": ("tool_name",),
    "tool_version": ("tool_version", "version"),
    "trace_id": ("trace_id",),
    "span_id": ("span_id",),
    "call_id": ("call_id", "tool_call_id"),
    "duration_ms": ("duration_ms", "elapsed_ms", "latency_ms", "time_ms", "duration"),
}


def meta_of(value: Any) -> tuple[dict[str, Any], Any]:
    """What of a protocol's ``meta`` the fields of ``ResponseMeta`` say, and the rest. A duration without its unit
    is in milliseconds, as the protocols with such a member count."""
    if not isinstance(value, dict):
        return {}, value
    taken = Taken(value)
    out = {
        field: taken.first(*names, only=(int, float) if field == "duration_ms" else str)
        for field, names in _META_KEYS.items()
    }
    out["cached"] = taken.first("cached", "from_cache", "cache_hit", only=bool)
    return {field: said for field, said in out.items() if said is not None}, taken.rest()
