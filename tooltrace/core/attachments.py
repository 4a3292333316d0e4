"""Images, videos, audios and files of a result, described in words for a model that reads text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

KINDS = {"images": "image", "videos": "video", "audios": "audio", "files": "file"}
"""The members of a response's context that hold media, each with the word for one of its items."""

MAX_ATTACHMENTS = 20
"""Maximum number of media that a message describes; it only counts the others."""

MAX_URL = 500
MAX_NAME = 100
"""Maximum lengths of a URL or path, and of a name."""

_URL = re.compile(r"(?i)[a-z][a-z0-9+.-]*://\S")
_DATA_URL = re.compile(r"(?i)data:([^,;\s]*)[^,]*,")
_BASE64 = "base64:"
"""Prefix of bytes in JSON data."""


def describe(context: Mapping[str, Any] | None) -> list[str]:
    """Return words for each image, video, audio and file in ``context``: its kind, name, type, URL or size."""
    found = [(kind, words) for member, kind in KINDS.items() for words in _items((context or {}).get(member), kind)]
    described = [f"{kind}: {words}" for kind, words in found[:MAX_ATTACHMENTS]]
    more = len(found) - len(described)
    return [*described, f"{more} more"] if more else described


def _items(value: Any, kind: str) -> Iterator[str]:
    for item in value if isinstance(value, list | tuple) else (value,):
        words = _of_object(item) if isinstance(item, Mapping) else _of_text(item, kind) if isinstance(item, str) else ""
        if words:
            yield words


def _of_text(text: str, kind: str) -> str:
    """Return the words for a URL, a path or data; a bare name in ``files`` is not a file that was returned."""
    if found := _DATA_URL.match(text):
        return _joined(found[1], _size(_base64_bytes(text[found.end() :])))
    if not _URL.match(text) and len(text) > MAX_URL:
        return _size(_base64_bytes(text.removeprefix(_BASE64)))
    return "" if kind == "file" and not _URL.match(text) else _cut(text, MAX_URL)


def _of_object(item: Mapping[str, Any]) -> str:
    url, content = _first(item, "url", "filepath", "path", "uri"), _first(item, "content", "data")
    kind = _first(item, "mime_type", "mimeType", "media_type", "format")
    if data_url := _DATA_URL.match(url):
        kind, content, url = kind or data_url[1], content or f"{_BASE64}{url[data_url.end() :]}", ""
    name = _first(item, "filename", "name", "title")
    words = _joined(_cut(name, MAX_NAME), _cut(kind, MAX_NAME), _cut(url, MAX_URL), _size_of(item, content))
    return words or _cut(_first(item, "id"), MAX_NAME)


def _first(item: Mapping[str, Any], *names: str) -> str:
    """Return the first of these members that is a text with words in it; else an empty text."""
    texts = (item[name] for name in names if isinstance(item.get(name), str))
    return next((text for text in texts if text.strip()), "")


def _size_of(item: Mapping[str, Any], content: str) -> str:
    size = item.get("size")
    if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        return _size(size)
    if not content:
        return ""
    encoded = content.startswith(_BASE64)
    return _size(_base64_bytes(content[len(_BASE64) :]) if encoded else len(content.encode("utf-8", "replace")))


def _base64_bytes(encoded: str) -> int:
    return len(encoded.rstrip("=")) * 3 // 4


def _size(count: int) -> str:
    for unit, bytes_ in (("MB", 1_000_000), ("KB", 1000)):
        if count >= bytes_:
            return f"{count / bytes_:.1f} {unit}"
    return f"{count} bytes"


def _cut(text: str, length: int) -> str:
    """Return ``text`` on one line, truncated to ``length`` characters."""
    line = " ".join(text[: length * 2].split())
    return line if len(line) <= length and len(text) <= length * 2 else f"{line[:length]}…"


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))
